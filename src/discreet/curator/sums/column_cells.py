"""Counts of rows by narrow cells of single columns, which answer every comparison with a threshold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from discreet.curator.sums.protocol import MadeAnew
from discreet.design.domain import RowDomain
from discreet.exact.arrays import FloatArray, IntArray

# cells in one scaled unit: a column in [-1, 1] has twice as many and one for -1 itself
CELLS: Final = 4096


class ColumnCells(MadeAnew):
    """Running exact number of rows in each cell of some columns.

    A value v, in scaled units, is in the cell `ceil(4096 v)`, so that the counts up to a cell are those of rows with
    `v <= cell / 4096`. Cells run from -4096 to 4096.

    Parameters
    ----------
    domain
        Public geometry of a row.
    columns
        Which columns of the rows (1, x, y) are counted.

    Examples
    --------
    >>> counts = ColumnCells(RowDomain(1, 0, 0, None, False, 8), [1])
    >>> counts.add(np.array([[256.0, 256.0, 256.0], [-256.0, 128.0, 128.0], [0.0, 0.0, 0.0]]))
    >>> [(int(cell) - 4096, int(counts.cells()[0, cell])) for cell in np.flatnonzero(counts.cells()[0])]
    [(-4096, 1), (2048, 2)]
    """

    def __init__(self, domain: RowDomain, columns: Sequence[int]) -> None:
        self._columns = tuple(columns)
        self._in_unit = CELLS / domain.unit
        self._counts = np.zeros((len(self._columns), 2 * CELLS + 1), dtype=np.int64)

    @property
    def unit(self) -> int:
        """Steps in one row."""
        return 1

    def add(self, chunk: FloatArray) -> None:
        """Add a chunk of rows (1, x, y) in grid steps."""
        for counts, column in zip(self._counts, self._columns, strict=True):
            cells = np.ceil(chunk[column] * self._in_unit).astype(np.int64) + CELLS  # [P:one-cell-a-column]
            counts += np.bincount(cells, minlength=2 * CELLS + 1)

    def totals(self) -> tuple[int, ...]:
        """Nothing: the counts are in `cells`."""
        return ()

    def cells(self) -> IntArray:
        """The count of every cell, shape (columns, 8193)."""
        return self._counts.copy()
