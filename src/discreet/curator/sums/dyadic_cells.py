"""Counts of rows by dyadic cell of the columns whose bounds are to be found. Proof: mechanisms/discovery.proof.md."""

from __future__ import annotations

import numpy as np

from discreet.curator.sums.protocol import MadeAnew
from discreet.design.dyadic import cell_edges
from discreet.design.model import Design
from discreet.exact.arrays import FloatArray
from discreet.exact.halves import doubles


class DyadicCells(MadeAnew):
    """Running exact number of rows in each cell of each searched column, and of all rows.

    A row is in one cell of every column: the one that its settled cell lies in, or the nearest one where that lies
    outside the public range. A cell has its lower end, the last one of a column both.

    Parameters
    ----------
    design
        Whose columns are searched; rows are their settled cells, as pairs of integers.

    Examples
    --------
    >>> from discreet.curator.rows import SettledRows
    >>> from discreet.design.domain import RowDomain
    >>> design = Design("y", {"y": (0, 1), "x": {"bounds": "private", "within": (1, 2)}})
    >>> cells = DyadicCells(design)
    >>> rows = SettledRows(design, RowDomain.of(design), 4)
    >>> cells.add(rows.encoded([np.array([0.5, 0.5]), np.array([1.75, 1e9])]))
    >>> cells.totals()[-2:]
    (2, 2)
    """

    def __init__(self, design: Design) -> None:
        self.searched = design.searched
        places = list(design.table_columns)
        self._columns = [(places.index(name), np.array(cell_edges(*design.ranges[name]))) for name in design.searched]
        self._counts = [np.zeros(len(edges) - 1, dtype=np.int64) for _, edges in self._columns]
        self._rows = 0

    @property
    def unit(self) -> int:
        """Steps in one row."""
        return 1

    def add(self, chunk: FloatArray) -> None:
        """Add a chunk of rows of settled cells."""
        for counts, (place, edges) in zip(self._counts, self._columns, strict=True):
            values = doubles(chunk[1 + 2 * place : 3 + 2 * place])
            cells = np.searchsorted(edges[1:-1], values, side="right")  # [P:one-cell-a-row]
            counts += np.bincount(cells, minlength=len(counts))
        self._rows += chunk.shape[1]

    def totals(self) -> tuple[int, ...]:
        """The count of every cell, column after column, and the number of rows."""
        return *(int(count) for counts in self._counts for count in counts), self._rows
