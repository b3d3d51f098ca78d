"""A bar on stderr for reads that last, and nothing otherwise."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE: Final = 1.0  # seconds of silence


class ReadProgress:
    """Shows the share of the input that is read, or that work goes on, once that lasts longer than a second."""

    def __init__(self) -> None:
        self._wanted = sys.stderr is not None and sys.stderr.isatty()
        self._begin = time.monotonic()
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._measured = False

    def __call__(self, share: float | None) -> None:
        """Move the bar; `share` is 0 to 1, or none where it is not known how much is left."""
        if not self._wanted or time.monotonic() - self._begin < PATIENCE:
            return
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

            columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
        if self._task is not None and self._measured == (share is None):
            # a bar of known length gives way to one of unknown length, or the other way round
            self._bar.remove_task(self._task)
            self._task = None
        if self._task is None:
            self._measured = share is not None
            label, total = ("reading", 1.0) if self._measured else ("working", None)
            self._task = self._bar.add_task(label, total=total)
        if share is not None:
            self._bar.update(self._task, completed=share)

    def __enter__(self) -> ReadProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
