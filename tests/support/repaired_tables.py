"""Tables of few rows, whose sums need repair."""

from __future__ import annotations

import numpy as np

from discreet.design.design import Design

DESIGN = Design("y", {"y": (0, 10), "a": (-1, 1), "b": (0, 4), "c": (10, 30), "flag": bool})


def table(count, seed=0):
    random = np.random.default_rng(seed)
    a, b, c = random.uniform(-1, 1, count), random.uniform(0, 4, count), random.uniform(10, 30, count)
    flag = random.random(count) < 0.5
    y = np.clip(5 + a + 0.3 * b - 0.05 * (c - 20) + flag + random.normal(0, 0.5, count), 0, 10)
    return {name: values.tolist() for name, values in {"y": y, "a": a, "b": b, "c": c, "flag": flag}.items()}


ROWS = {count: table(count) for count in (20, 80, 300)}
