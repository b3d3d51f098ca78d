"""Rows that count, set aside in several files: as many workers read them at once, each its own file."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.curator.kept_rows import KeptRows


class KeptParts:
    """Rows as `KeptRows` has them, the rows of a person in one file; a file is made when rows are there for it.

    Parameters
    ----------
    new
        Makes an empty file.
    count
        How many files `add` makes at most.

    Examples
    --------
    >>> with KeptParts(lambda: KeptRows(2, 8, 9), count=2) as kept:
    ...     kept.add(np.array([True, False]), np.array([[5, 6]]))
    ...     kept.add(np.array([False, True]), np.array([[7, 8]]))
    ...     [[chunk[1].tolist() for chunk in part.chunks()] for part in kept.parts]
    [[[5.0, 6.0, 7.0]], [[8.0]]]
    """

    def __init__(self, new: Callable[[], KeptRows], count: int) -> None:
        self._new = new
        self._count = count
        self._next = 0
        self.parts: list[KeptRows] = []

    def __enter__(self) -> KeptParts:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the rows up."""
        for part in self.parts:
            part.close()

    def own(self) -> KeptRows:
        """One more file, to which one worker adds rows by itself."""
        made = self._new()
        self.parts.append(made)
        return made

    def add(self, first: npt.NDArray[np.bool_], values: npt.NDArray[Any]) -> None:
        """Take rows (x, y) as columns of `values`, and which of them are the first of a person.

        The rows go on where those before them are up to the first new person, and with it to the next file.
        """
        starts = np.flatnonzero(first)
        cut = int(starts[0]) if len(starts) else len(first)  # [P:whole-persons]
        if cut:
            self.parts[self._next - 1].add(first[:cut], values[:, :cut])
        if cut < len(first):
            if self._next == self._count:
                self._next = 0
            if self._next == len(self.parts):
                self.own()
            self._next += 1
            self.parts[self._next - 1].add(first[cut:], values[:, cut:])
