"""Bars on stderr for reads that last and for parts of long work, and nothing otherwise."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE: Final = 1.0  # seconds of silence


class ReadProgress:
    """Shows the share of the input that is read, or that work goes on, once that lasts longer than a second.

    Behind the reading it moves by the clock alone, whatever is done meanwhile.
    """

    def __init__(self) -> None:
        self._wanted = sys.stderr is not None and sys.stderr.isatty()
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._share: float | None = 0.0
        self._ended = False
        self._lock = threading.RLock()
        self._timer = threading.Timer(PATIENCE, self._show)
        self._timer.daemon = True

    def __call__(self, share: float | None) -> None:
        """Move the bar; `share` is 0 to 1, or none where it is not known how much is left."""
        with self._lock:
            changed = (share is None) != (self._share is None)
            self._share = share
            if self._bar is None:
                return
            if changed and self._task is not None:
                # a bar of known length gives way to one of unknown length, or the other way round
                self._bar.remove_task(self._task)
                self._task = None
            self._draw(self._bar)

    def _show(self) -> None:
        with self._lock:
            if self._ended:
                return
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

            columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._draw(self._bar)

    def _draw(self, bar: Progress) -> None:
        if self._task is None:
            label, total = ("reading", 1.0) if self._share is not None else ("working", None)
            self._task = bar.add_task(label, total=total)
        if self._share is not None:
            bar.update(self._task, completed=self._share)

    def __enter__(self) -> ReadProgress:
        if self._wanted:
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        with self._lock:
            self._ended = True
            if self._bar is not None:
                self._bar.stop()


@contextmanager
def counting_bar() -> Iterator[Callable[[str, int, int], None]]:
    """A bar of parts that are done, with the time that is left, on a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda name, done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None)
        yield lambda name, done, total: bar.update(task, description=name, completed=done, total=total)
