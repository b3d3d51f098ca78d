"""Count rows by the cells of public partitions, and count clipped rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from discreet.curator.sums.gram import MadeAnew
from discreet.design.columns import Interaction, Numeric, SplineBasis
from discreet.design.declarations import outside_bounds
from discreet.design.design import Design
from discreet.design.domain import RowDomain, cell_edges
from discreet.errors import SpecError
from discreet.exact.arrays import FloatArray, IntArray
from discreet.exact.elementary import doubles

# -- cells -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Axis:
    """Declared column that is divided into cells.

    A numeric column is divided into `bins` intervals of equal width. Boolean and categorical columns have `bins` = 0
    and one cell for each level. In the cell of the reference level no indicator is 1, and in every other cell one
    indicator is.
    """

    columns: int
    bins: int = 0

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self.bins or self.columns + 1

    def indices(self, values: FloatArray, unit: int) -> IntArray:
        """Return the index of the cell of each row, given values in grid steps, shape (columns, rows).

        >>> Axis(1, bins=4).indices(np.array([[-256.0, -128.0, 0.0, 256.0]]), 256).tolist()
        [0, 1, 2, 3]
        """
        whole = values.astype(np.int64)
        if self.bins:
            interval: IntArray = np.clip((whole[0] + unit) * self.bins // (2 * unit), 0, self.bins - 1)
            return interval
        index = np.zeros(whole.shape[1], dtype=np.int64)
        for column, present in enumerate(2 * whole > unit, start=1):
            index[present] = column
        return index

    def centres(self) -> FloatArray:
        """Return the scaled values at the centre of each cell, shape (cells, columns).

        For boolean and categorical columns, these are the indicators of the level.

        >>> Axis(1, bins=4).centres().ravel().tolist(), Axis(1).centres().ravel().tolist()
        ([-0.75, -0.25, 0.25, 0.75], [0.0, 1.0])
        """
        if self.bins:
            return ((2 * np.arange(self.bins) + 1 - self.bins) / self.bins)[:, None]
        return np.concatenate([np.zeros((1, self.columns)), np.eye(self.columns)])


@dataclass(frozen=True, slots=True)
class Partition:
    """Partition of the possible values of (x, y) into cells, by dividing each column. The target is last.

    >>> design = Design("y", {"x": (0, 1), "g": ["a", "b", "c"], "y": (0, 1)})
    >>> Partition.of(design, bins=8).cells
    192
    """

    axes: tuple[Axis, ...]

    @classmethod
    def of(cls, design: Design, bins: int) -> Partition:
        """Divide numeric columns into `bins` intervals, booleans into 2 cells, and categories into their levels."""
        axes = []
        for name in (*design.regressors, design.target):
            column = design.columns[name]
            if isinstance(column, SplineBasis):
                raise SpecError(
                    f"column {name!r} is a spline, which cannot be divided into cells; "
                    "declare a cut of the same column instead, or use another mechanism"
                )
            if isinstance(column, Interaction) and column.signed:
                raise SpecError(
                    f"column {name!r} is an interaction with a number, which cannot be divided into cells; "
                    "declare an interaction with a cut of that number instead, or use another mechanism"
                )
            number = isinstance(column, Numeric)
            axes.append(Axis(1, bins) if number else Axis(len(column.released(name))))
        return cls(tuple(axes))

    @property
    def cells(self) -> int:
        """Number of cells."""
        return math.prod(axis.cells for axis in self.axes)

    @property
    def numbers(self) -> int:
        """Number of columns that are divided into intervals."""
        return sum(axis.bins > 0 for axis in self.axes)

    def indices(self, chunk: FloatArray, unit: int) -> IntArray:
        """Return the index of the cell of each row (1, x, y) in grid steps. The target varies fastest."""
        index = np.zeros(chunk.shape[1], dtype=np.int64)
        row = 1
        for axis in self.axes:
            index = index * axis.cells + axis.indices(chunk[row : row + axis.columns], unit)  # [P:one-cell]
            row += axis.columns
        return index

    def regressor_centres(self) -> FloatArray:
        """Return the scaled (1, x) at the centre of each cell of the regressors, shape (cells, columns)."""
        centres = np.ones((1, 1))
        for axis in self.axes[:-1]:
            own = axis.centres()
            repeated = np.repeat(centres, len(own), axis=0)
            centres = np.concatenate([repeated, np.tile(own, (len(centres), 1))], axis=1)
        return centres

    def target_centres(self) -> FloatArray:
        """Return the scaled y at the centre of each cell of the target."""
        return self.axes[-1].centres()[:, 0]


class CellCounts(MadeAnew):
    """Running exact number of rows in each cell of a partition.

    The domain must have no radius that shrinks rows, so that indicators are 0 or 1.

    >>> design = Design("y", {"x": (0, 1), "y": bool})
    >>> counts = CellCounts(RowDomain.of(design, 8), Partition.of(design, bins=2))
    >>> counts.add(np.array([[256.0, 256.0], [-256.0, 256.0], [0.0, 256.0]]))
    >>> [total // 4**8 for total in counts.totals()]
    [1, 0, 0, 1]
    """

    def __init__(self, domain: RowDomain, partition: Partition) -> None:
        self._unit = domain.unit
        self._partition = partition
        self._counts = np.zeros(partition.cells, dtype=np.int64)

    @property
    def unit(self) -> int:
        """Number of grid steps that represent one row, which is the unit of the product grid."""
        return self._unit**2

    def add(self, chunk: FloatArray) -> None:
        """Add a chunk of rows (1, x, y) in grid steps."""
        where, times = np.unique(self._partition.indices(chunk, self._unit), return_counts=True)
        self._counts[where] += times  # [P:exact-counts]

    def totals(self) -> tuple[int, ...]:
        """Return the number of rows in each cell, in product-grid steps."""
        return tuple(count * self.unit for count in self._counts.tolist())  # [P:count-steps]


# -- clips -------------------------------------------------------------------------------------------------------------
# Cells outside their declared bounds are marked row by row, before they are clipped, and counted exactly.


class ClipCounter:
    """Running exact number of rows in which each numeric column lies outside its bounds.

    >>> counter = ClipCounter(Design("y", {"y": (0, 1), "x": (0, 5)}))
    >>> counter.add(counter.marks([np.array([0.5, 1.5]), np.array([-1.0, 7.0])]))
    >>> counter.totals()
    (1, 2)
    """

    def __init__(self, design: Design) -> None:
        self._design = design
        self._totals = [0] * len(design.clippable)

    def marks(self, settled: Sequence[FloatArray]) -> npt.NDArray[np.bool_]:
        """Return which cells lie outside their bounds, shape (clippable columns, rows), given imputed arrays.

        The result for a row depends only on this row and on public numbers. Missing cells do not occur: they were
        filled within the bounds, or their rows were dropped.
        """
        base = dict(zip(self._design.table_columns, settled, strict=True))
        return outside_bounds(self._design.columns, self._design.clippable, base)  # [P:clip-marks]

    def add(self, marks: npt.NDArray[np.generic]) -> None:
        """Count the results of `marks` for some rows, as booleans or as 1 and 0."""
        self._totals = [total + int(count) for total, count in zip(self._totals, marks.sum(axis=1), strict=True)]

    def totals(self) -> tuple[int, ...]:
        """Return the number of clipped rows for each column, in the order of `Design.clippable`."""
        return tuple(self._totals)


# -- column cells ------------------------------------------------------------------------------------------------------
# Rows are counted by narrow cells of single columns. Cumulative counts give the number of rows up to any threshold.

# cells in one scaled unit; a column in [-1, 1] has twice as many, and one for -1 itself
CELLS: Final = 4096


class ColumnCells(MadeAnew):
    """Running exact number of rows in each cell of some columns of rows (1, x, y).

    Cells are numbered from -4096 to 4096. A scaled value v is in the cell `ceil(4096 v)`, so the cumulative count up to
    a cell is the number of rows with `v <= cell / 4096`.

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
        """Number of steps that represent one row."""
        return 1

    def add(self, chunk: FloatArray) -> None:
        """Add a chunk of rows (1, x, y) in grid steps."""
        for counts, column in zip(self._counts, self._columns, strict=True):
            cells = np.ceil(chunk[column] * self._in_unit).astype(np.int64) + CELLS  # [P:one-cell-a-column]
            counts += np.bincount(cells, minlength=2 * CELLS + 1)

    def totals(self) -> tuple[int, ...]:
        """Return an empty tuple, because the counts are returned by `cells`."""
        return ()

    def cells(self) -> IntArray:
        """Return the number of rows in each cell, shape (columns, 8193)."""
        return self._counts.copy()


# -- dyadic cells ------------------------------------------------------------------------------------------------------
# Rows are counted by the dyadic cells of the columns with private bounds. Proof: mechanisms/discovery.proof.md.


class DyadicCells(MadeAnew):
    """Running exact number of rows in each dyadic cell of the columns with private bounds, and of all rows.

    A row is in one cell of every column, which is the cell that contains its imputed value, or the nearest cell if the
    value is outside the public range. A cell includes its lower end. The last cell of a column includes both ends.

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
        """Number of steps that represent one row."""
        return 1

    def add(self, chunk: FloatArray) -> None:
        """Add a chunk of rows of imputed cells."""
        for counts, (place, edges) in zip(self._counts, self._columns, strict=True):
            values = doubles(chunk[1 + 2 * place : 3 + 2 * place])
            cells = np.searchsorted(edges[1:-1], values, side="right")  # [P:one-cell-a-row]
            counts += np.bincount(cells, minlength=len(counts))
        self._rows += chunk.shape[1]

    def totals(self) -> tuple[int, ...]:
        """Return the number of rows in each cell, column by column, followed by the number of all rows."""
        return *(int(count) for counts in self._counts for count in counts), self._rows
