"""Bounded rows: declared columns to whole numbers on the public grid, every row inside its declared domain."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from discreet.design.derived import completed
from discreet.design.domain import RowDomain
from discreet.tables.encoder import write_scaled
from discreet.design.model import Design

FloatArray = npt.NDArray[np.float64]

# a relative step far above the rounding of three double operations and far below one grid step
_INWARDS = 1 - 2**-40


class GridRows:
    """Fills a reusable column-major buffer with rows (1, x, y) in grid steps and gives it away when full.

    Every element is a whole number of at most `2**grid_bits` in size, stored as a double. What stands in a row depends
    on that row of the table and on public numbers only.
    """

    def __init__(self, design: Design, domain: RowDomain, chunk_rows: int) -> None:
        self._design = design
        self._columns = {name: design.columns[name] for name in (*design.regressors, design.target)}
        self._domain = domain
        self._buffer: FloatArray = np.empty((len(design.released), chunk_rows))
        self._buffer[0] = domain.unit
        self._used = 0

    def completed(self, settled: Sequence[FloatArray]) -> list[FloatArray]:
        """Arrays of the released columns, regressors first, from those of the table's columns."""
        base = dict(zip(self._design.table_columns, settled, strict=True))
        return completed(self._design.columns, self._columns, base)

    @property
    def capacity(self) -> int:
        """Rows in a full chunk."""
        return int(self._buffer.shape[1])

    def encoded(self, arrays: Sequence[FloatArray]) -> FloatArray:
        """The rows (1, x, y) of one batch of settled arrays, in an array of their own."""
        place = np.empty((self._buffer.shape[0], arrays[-1].shape[-1]))
        place[0] = self._domain.unit
        self._write(arrays, place)
        return place

    def add(self, arrays: Sequence[FloatArray]) -> Iterator[FloatArray]:
        """Take settled arrays of one batch; give each chunk as it fills, valid until the next one is asked for."""
        rows = arrays[-1].shape[-1]
        start = 0
        while start < rows:
            taken = min(rows - start, self.capacity - self._used)
            place = self._buffer[:, self._used : self._used + taken]
            self._write([values[..., start : start + taken] for values in arrays], place)
            self._used += taken
            start += taken
            if self._used == self.capacity:
                yield self._buffer
                self._used = 0

    def rest(self) -> FloatArray:
        """The rows left over after the last full chunk, perhaps none."""
        return self._buffer[:, : self._used]

    def _write(self, arrays: Sequence[FloatArray], place: FloatArray) -> None:
        write_scaled(self._columns, arrays, place[1:], unit=float(self._domain.unit))
        np.rint(place[1:], out=place[1:])  # [P1]
        ball = self._domain.ball_norm2
        if ball is not None and ball < self._domain.box_norm2:
            shrink_to_ball(place[1:-1], ball)


def shrink_to_ball(x: FloatArray, norm2: int) -> None:
    """Shrink the columns of `x` (whole numbers) in place so that no squared norm exceeds `norm2`, exactly.

    A column outside is scaled onto the ball and rounded to the nearest grid point; the few that rounding pushes out
    again are cut towards zero instead. Norms are whole-number arithmetic, so no summation order matters.

    >>> x = np.array([[3.0], [4.0]]); shrink_to_ball(x, 16); x.ravel().tolist()
    [2.0, 3.0]
    """
    outside = np.flatnonzero(_norm2(x) > norm2)
    if outside.size == 0:
        return
    rows = x[:, outside]
    scale = math.sqrt(norm2) / np.sqrt(_norm2(rows).astype(np.float64)) * _INWARDS
    scaled = rows * scale
    rounded = np.rint(scaled)
    still_outside = _norm2(rounded) > norm2
    # truncation never lengthens, and the scaled column is inside by _INWARDS
    x[:, outside] = np.where(still_outside, np.trunc(scaled), rounded)  # [P2]


def _norm2(x: FloatArray) -> npt.NDArray[np.int64]:
    whole = x.astype(np.int64)
    total: npt.NDArray[np.int64] = np.einsum("ij,ij->j", whole, whole)
    return total
