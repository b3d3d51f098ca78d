"""Rows of a made-up table on the grid, kept in memory, and sums over them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from discreet.curator.rows import row_size
from discreet.curator.sums.protocol import CellSums, MadeAnew, PersonSums, RecodedSums, Sums, Totals
from discreet.curator.table import accumulate
from discreet.design.domain import RowDomain
from discreet.design.model import Design
from discreet.exact.arrays import FloatArray
from discreet.tables.files.opening import open_source
from discreet.tables.source import ComputeOptions


class MadeUpRows:
    """The rows (1, x, y) of a made-up table in grid steps, read by the reader of production and kept.

    >>> from discreet.curator.sums.gram import ExactGram
    >>> design = Design("y", {"y": (-1, 1), "x": (-1, 1)})
    >>> rows = MadeUpRows({"x": [1.0, 0.5], "y": [1.0, 1.0]}, design, RowDomain.of(design, 8))
    >>> rows.sums(ExactGram(3, 8)).values[0] / 4**8
    2.0
    """

    def __init__(self, table: object, design: Design, domain: RowDomain, *, clip_counts: bool = False) -> None:
        kept = _Kept()
        # one worker, so that all rows are in one place
        options = ComputeOptions(workers=1)
        self._read = accumulate(open_source(table), design, domain, options, kept, clip_counts=clip_counts)
        self.grid: FloatArray = np.concatenate([np.empty((row_size(design), 0)), *kept.chunks], axis=1)
        # where the rows of each person begin
        self._starts = None if design.unit.id is None else np.array(kept.starts, dtype=np.intp)

    def sums(self, wanted: Sums) -> Totals:
        """The exact sums over the rows as they were read."""
        return self.reader()(wanted)

    def reader(self) -> Callable[[Sums], Totals]:
        """One run's way to the sums that a mechanism asks for: once it has rows written anew, it reads those."""
        rows = self.grid

        def read(wanted: Sums) -> Totals:
            nonlocal rows
            if isinstance(wanted, RecodedSums):
                rows = wanted.recoded(rows)
            if self._starts is None or not isinstance(wanted, PersonSums):
                wanted.add(rows)
            elif len(self._starts):
                wanted.add_persons(rows, self._starts)
            cells = wanted.cells() if isinstance(wanted, CellSums) else None
            read_as = self._read
            return Totals(wanted.totals(), wanted.unit, read_as.count, read_as.clipped, read_as.fitting, cells)

        return read


class _Kept(MadeAnew):
    """Takes the place of sums, and keeps the rows themselves."""

    unit = 1

    def __init__(self) -> None:
        self.chunks: list[FloatArray] = []
        self.starts: list[int] = []

    def add(self, chunk: FloatArray) -> None:
        self.chunks.append(chunk.copy())

    def add_persons(self, chunk: FloatArray, starts: npt.NDArray[np.intp]) -> None:
        before = sum(one.shape[1] for one in self.chunks)
        self.starts += (starts + before).tolist()
        self.add(chunk)

    def totals(self) -> tuple[int, ...]:
        return ()
