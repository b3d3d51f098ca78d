"""Cells outside their declared bounds: marked row by row before they are clipped, and counted exactly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from discreet.design.derived import outside_bounds
from discreet.design.model import Design
from discreet.exact.arrays import FloatArray


class ClipCounter:
    """Running exact number of rows in which the cell of each numeric column was outside its bounds.

    >>> counter = ClipCounter(Design("y", {"y": (0, 1), "x": (0, 5)}))
    >>> counter.add(counter.marks([np.array([0.5, 1.5]), np.array([-1.0, 7.0])]))
    >>> counter.totals()
    (1, 2)
    """

    def __init__(self, design: Design) -> None:
        self._design = design
        self._totals = [0] * len(design.clippable)

    def marks(self, settled: Sequence[FloatArray]) -> npt.NDArray[np.bool_]:
        """Which cells are outside, from settled arrays of the columns of the table, shape (clippable, rows kept).

        A mark is a function of its own row and of public numbers. A missing cell was filled, with a value inside the
        bounds, or its row dropped.
        """
        base = dict(zip(self._design.table_columns, settled, strict=True))
        return outside_bounds(self._design.columns, self._design.clippable, base)  # [P:clip-marks]

    def add(self, marks: npt.NDArray[np.generic]) -> None:
        """Take marks of some rows, as true and false or as 1 and 0."""
        self._totals = [total + int(found) for total, found in zip(self._totals, marks.sum(axis=1), strict=True)]

    def totals(self) -> tuple[int, ...]:
        """Number of rows by column, in the order of `Design.clippable`."""
        return tuple(self._totals)
