"""Time a function inside a process."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

Seconds = dict[str, float]


def timed(work: Callable[[], object], times: int = 1, *, warm: bool = False) -> Seconds:
    """Return the median CPU and wall seconds of a call. With `warm`, an additional first call is not measured."""
    if warm:
        work()
    cpu, wall = [], []
    for _ in range(times):
        start = time.process_time(), time.perf_counter()
        work()
        cpu.append(time.process_time() - start[0])
        wall.append(time.perf_counter() - start[1])
    return {"cpu": statistics.median(cpu), "wall": statistics.median(wall)}
