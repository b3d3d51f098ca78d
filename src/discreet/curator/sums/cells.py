"""Counts of rows by cell of a public partition of the box of (x, y)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.curator.sums.protocol import MadeAnew
from discreet.design.columns import Numeric, SplineBasis
from discreet.design.domain import RowDomain
from discreet.design.interactions import Interaction
from discreet.design.model import Design
from discreet.errors import SpecError
from discreet.exact.arrays import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Axis:
    """One declared column cut into cells.

    Attributes
    ----------
    columns
        How many released columns it has.
    bins
        Intervals of equal width for a number; 0 for indicators, whose cells are their states: none of them, or one.
    """

    columns: int
    bins: int = 0

    @property
    def cells(self) -> int:
        """How many cells it has."""
        return self.bins or self.columns + 1

    def indices(self, values: FloatArray, unit: int) -> IntArray:
        """The cell of each row, from integer numbers of grid steps, shape (columns, rows).

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
        """Scaled values that represent each cell, shape (cells, columns): midpoints, or indicators themselves.

        >>> Axis(1, bins=4).centres().ravel().tolist(), Axis(1).centres().ravel().tolist()
        ([-0.75, -0.25, 0.25, 0.75], [0.0, 1.0])
        """
        if self.bins:
            return ((2 * np.arange(self.bins) + 1 - self.bins) / self.bins)[:, None]
        return np.concatenate([np.zeros((1, self.columns)), np.eye(self.columns)])


@dataclass(frozen=True, slots=True)
class Partition:
    """The box of (x, y) cut into cells by cutting each column, the target last.

    >>> design = Design("y", {"x": (0, 1), "g": ["a", "b", "c"], "y": (0, 1)})
    >>> Partition.of(design, bins=8).cells
    192
    """

    axes: tuple[Axis, ...]

    @classmethod
    def of(cls, design: Design, bins: int) -> Partition:
        """Numbers in `bins` intervals; a boolean in 2 cells, a category in as many as it has levels."""
        axes = []
        for name in (*design.regressors, design.target):
            column = design.columns[name]
            if isinstance(column, SplineBasis):
                raise SpecError(
                    f"column {name!r} is a spline, whose basis functions have no cells of their own; "
                    "declare a cut of the same column instead, or use another mechanism"
                )
            if isinstance(column, Interaction) and column.signed:
                raise SpecError(
                    f"column {name!r} is an interaction with a number, which has no cells of its own; "
                    "declare an interaction with a cut of that number instead, or use another mechanism"
                )
            number = isinstance(column, Numeric)
            axes.append(Axis(1, bins) if number else Axis(len(column.released(name))))
        return cls(tuple(axes))

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return math.prod(axis.cells for axis in self.axes)

    @property
    def numbers(self) -> int:
        """How many columns are cut into intervals."""
        return sum(axis.bins > 0 for axis in self.axes)

    def indices(self, chunk: FloatArray, unit: int) -> IntArray:
        """The cell of each row of a chunk (1, x, y) in grid steps, target last and fastest."""
        index = np.zeros(chunk.shape[1], dtype=np.int64)
        row = 1
        for axis in self.axes:
            index = index * axis.cells + axis.indices(chunk[row : row + axis.columns], unit)  # [P:one-cell]
            row += axis.columns
        return index

    def regressor_centres(self) -> FloatArray:
        """Scaled (1, x) at the centre of every cell of the regressors, shape (cells, columns)."""
        centres = np.ones((1, 1))
        for axis in self.axes[:-1]:
            own = axis.centres()
            repeated = np.repeat(centres, len(own), axis=0)
            centres = np.concatenate([repeated, np.tile(own, (len(centres), 1))], axis=1)
        return centres

    def target_centres(self) -> FloatArray:
        """Scaled y at the centre of every cell of the target."""
        return self.axes[-1].centres()[:, 0]


class CellCounts(MadeAnew):
    """Running exact number of rows in each cell.

    Parameters
    ----------
    domain
        Public geometry of a row; its ball must not be smaller than its box, so that indicators are 0 or 1.
    partition
        The cells.

    Examples
    --------
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
        """Steps in one row: those of the product grid."""
        return self._unit**2

    def add(self, chunk: FloatArray) -> None:
        """Add a chunk of rows (1, x, y) in grid steps."""
        where, times = np.unique(self._partition.indices(chunk, self._unit), return_counts=True)
        self._counts[where] += times  # [P:exact-counts]

    def totals(self) -> tuple[int, ...]:
        """The count of every cell in steps of the product grid."""
        return tuple(count * self.unit for count in self._counts.tolist())  # [P:count-steps]
