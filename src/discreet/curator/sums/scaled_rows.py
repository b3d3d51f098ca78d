"""Scale and shrink rows by released numbers, and sum their products and scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from discreet.curator.sums.gram import ExactGram, MadeAnew
from discreet.design.domain import RowDomain
from discreet.exact.arrays import FloatArray, IntArray, shrink_to_ball

# -- scaled rows -------------------------------------------------------------------------------------------------------
# Rows are centred and scaled by released numbers and shrunk to a released radius. Proof: scaled_rows.proof.md.

# the finest grid of a shrunk row, on which products with coefficients are exact in doubles
FINEST_BITS: Final = 16
# grid of the target of a shrunk row, which fits in 32 bits
TARGET_BITS: Final = 24


def shrunk_bits(domain: RowDomain) -> int:
    """Return the grid bits of a shrunk row: the grid bits of a row, but at most 16."""
    return min(domain.grid_bits, FINEST_BITS)


@dataclass(frozen=True, slots=True)
class Scaling:
    """Released numbers that bring the columns of x to a common scale.

    Each column has a centre and a scale, in scaled units. A coordinate (x - centre) / scale is clipped to [-clip,
    clip]. `constant` is 1 with an intercept and 0 without one.
    """

    centres: tuple[float, ...]
    scales: tuple[float, ...]
    clip: float
    constant: int

    def rows(self, chunk: FloatArray, unit: int) -> FloatArray:
        """Compute rows (constant, z) from a chunk of rows (1, x, y) in grid steps, column by column."""
        z = np.empty((len(self.centres) + 1, chunk.shape[1]))
        z[0] = self.constant
        for out, column, centre, scale in zip(z[1:], chunk[1:-1], self.centres, self.scales, strict=True):
            np.multiply(column - centre * unit, 1 / (scale * unit), out=out)
            np.clip(out, -self.clip, self.clip, out=out)
        return z

    def ranges(self) -> tuple[tuple[float, float], ...]:
        """Return the range to which each column of x is clipped, in scaled units.

        >>> Scaling((0.5, 0.0), (0.25, 0.5), 1.0, 1).ranges()
        ((0.25, 0.75), (-0.5, 0.5))
        """
        half = [self.clip * scale for scale in self.scales]
        return tuple((max(c - h, -1.0), min(c + h, 1.0)) for c, h in zip(self.centres, half, strict=True))


def squared_norms(rows: FloatArray) -> FloatArray:
    """Compute squared norms of columns, adding coordinates in turn so that the bits do not depend on the index."""
    total: FloatArray = rows[0] * rows[0]
    for row in rows[1:]:
        total += row * row
    return total


class RowNorms(MadeAnew):
    """Running exact row counts: for each threshold the rows (constant, z) of at most that norm, then all rows.

    >>> norms = RowNorms(RowDomain(1, 0, 0, None, False, 8), Scaling((0.0,), (0.5,), 4.0, 1), [1.0, 2.0, 3.0])
    >>> norms.add(np.array([[256.0, 256.0], [0.0, 256.0], [0.0, 0.0]]))
    >>> norms.totals()
    (1, 1, 2, 2)
    """

    def __init__(self, domain: RowDomain, scaling: Scaling, thresholds: Sequence[float]) -> None:
        self._grid_unit = domain.unit
        self._scaling = scaling
        self._up_to = UpTo([threshold * threshold for threshold in thresholds])

    @property
    def unit(self) -> int:
        """Grid steps that represent one row."""
        return 1

    def add(self, chunk: FloatArray) -> None:
        """Add a chunk of rows (1, x, y) in grid steps."""
        self._up_to.add(squared_norms(self._scaling.rows(chunk, self._grid_unit)))

    def totals(self) -> tuple[int, ...]:
        """Return the number of rows up to each threshold, followed by the number of all rows."""
        return self._up_to.totals()


class UpTo:
    """Running exact counts: for each of the ascending thresholds the values up to it, then all values.

    >>> counts = UpTo([1.0, 2.0]); counts.add(np.array([0.5, 2.0, 9.0])); counts.totals()
    (1, 2, 3)
    """

    def __init__(self, thresholds: Sequence[float]) -> None:
        self._thresholds = list(thresholds)
        self._counts: IntArray = np.zeros(len(self._thresholds) + 1, dtype=np.int64)

    def add(self, values: FloatArray) -> None:
        """Count additional values."""
        where = np.searchsorted(np.array(self._thresholds), values, side="left")
        self._counts += np.bincount(where, minlength=len(self._counts))  # [P:counts-up-to]

    def totals(self) -> tuple[int, ...]:
        """Return the number of values up to each threshold, followed by the number of all values."""
        return tuple(np.cumsum(self._counts).tolist())


class ShrunkRows(MadeAnew):
    """A recoding of rows (1, x, y) as (a, u), with sums of the products of a and counts of |u| |a|.

    With N the norm of (constant, z) and w = min(1, radius / N), the new row is a = w (constant, z) / radius, rounded to
    the grid and shrunk so that its norm is at most 1, exactly, and u = w (y - centre).

    The totals are the upper triangle of the sum of a a', the number of rows with |u| |a| up to each threshold, and the
    number of rows. Thresholds are ascending, in scaled units of the target. The scaling, radius and centre are
    released.

    >>> scaling = Scaling((0.0,), (0.5,), 4.0, 1)
    >>> rows = ShrunkRows(RowDomain(1, 0, 0, None, False, 8), scaling, 2.0, 0.5, [1.0])
    >>> rows.recoded(np.array([[256.0, 256.0], [0.0, 256.0], [128.0, 256.0]])).tolist()
    [[128.0, 114.0], [0.0, 229.0], [0.0, 7502999.0]]
    """

    def __init__(
        self, domain: RowDomain, scaling: Scaling, radius: float, centre: float, thresholds: Sequence[float]
    ) -> None:
        self._grid_unit = domain.unit
        self._scaling = scaling
        self._radius = radius
        self._centre = centre
        bits = shrunk_bits(domain)
        self._one = 1 << bits
        self._gram = ExactGram(len(scaling.centres) + 1, bits)
        self._up_to = UpTo(thresholds)

    @property
    def unit(self) -> int:
        """Steps of a product of two shrunk rows in one scaled unit."""
        return self._gram.unit

    @property
    def recoded_size(self) -> int:
        """Number of coordinates of (a, u)."""
        return len(self._scaling.centres) + 2

    def recoded(self, chunk: FloatArray) -> FloatArray:
        """Compute the rows (a, u) of a chunk of rows (1, x, y), in steps of their grids."""
        z = self._scaling.rows(chunk, self._grid_unit)
        weight = self._radius / np.maximum(np.sqrt(squared_norms(z)), self._radius)
        out = np.empty((len(z) + 1, chunk.shape[1]))
        np.rint(z * (weight * (self._one / self._radius)), out=out[:-1])
        shrink_to_ball(out[:-1], self._one**2)  # [P:shrunk-row]
        np.rint(weight * (chunk[-1] / self._grid_unit - self._centre) * 2.0**TARGET_BITS, out=out[-1])
        return out

    def add(self, chunk: FloatArray) -> None:
        """Add a chunk of new rows (a, u)."""
        self._gram.add(chunk[:-1])
        # sums of integers below 2^53, so the order does not matter
        norms = np.sqrt(np.einsum("ij,ij->j", chunk[:-1], chunk[:-1]))
        self._up_to.add(np.abs(chunk[-1]) * 2.0**-TARGET_BITS * (norms / self._one))

    def totals(self) -> tuple[int, ...]:
        """Return the upper triangle of the products, the counts up to each threshold and the number of rows."""
        return (*self._gram.totals(), *(count * self.unit for count in self._up_to.totals()))


# -- clipped scores ----------------------------------------------------------------------------------------------------
# Scores of shrunk rows are clipped in norm and summed by exact products. Proof: scaled_rows.proof.md.

# coefficients of shrunk rows stay in a box with half-width 2 to this power
LARGEST_BITS: Final = 8
# a relative step far above the rounding error of three double operations and far below one grid step
_INWARDS: Final = 1 - 2**-40


def coefficient_bits(domain: RowDomain, size: int) -> int:
    """Return the bits of the coefficient grid on which products of `size` coordinates stay below 2^53."""
    return 53 - shrunk_bits(domain) - LARGEST_BITS - size.bit_length()


def on_grid(theta: npt.ArrayLike, domain: RowDomain) -> list[int]:
    """Convert coefficients to integers on the coefficient grid, inside the box."""
    values = np.asarray(theta, dtype=np.float64)
    most = 2.0**LARGEST_BITS
    bits = coefficient_bits(domain, len(values))
    inside: list[float] = np.rint(np.clip(values, -most, most) * 2.0**bits).tolist()
    return [int(value) for value in inside]


class ClippedScores(MadeAnew):
    """A running exact sum over rows (a, u) of scores v = (r / clip) a, each clipped to norm 1, where r = u - a'theta.

    The factor r / clip is rounded to the grid of a row and clipped so that the integer norm of v is at most 1. The
    totals are the sum, the number of rows that were not clipped, and the number of rows, in steps of products. `theta`
    comes from `on_grid`. `clip` is released, positive and in scaled units of the target.

    >>> domain = RowDomain(0, 0, 0, None, False, 8)
    >>> scores = ClippedScores(domain, on_grid([0.0], domain), clip=0.5)
    >>> scores.add(np.array([[128.0, 256.0], [2.0**22, 2.0**24]]))
    >>> [total / 4**8 for total in scores.totals()]
    [1.24609375, 1.0, 2.0]
    """

    def __init__(self, domain: RowDomain, theta: Sequence[int], clip: float) -> None:
        self._residuals = _Residuals(domain, theta)
        self._one = 1 << shrunk_bits(domain)
        self._clip = clip
        self._sums = [0] * len(theta)
        self._below = 0
        self._rows = 0

    @property
    def unit(self) -> int:
        """Steps of a product of two shrunk rows in one scaled unit."""
        return self._one**2

    def add(self, chunk: FloatArray) -> None:
        """Add a chunk of rows (a, u)."""
        a = chunk[:-1]
        residual = self._residuals.of(chunk)
        wanted = np.rint(np.abs(residual) * (self._one / self._clip))
        # sums of integers below 2^53, exact in any order; the maximum avoids division by 0 in a row of zeros
        norms = np.sqrt(np.maximum(np.einsum("ij,ij->j", a, a), 1.0))
        most = np.floor(self.unit / norms * _INWARDS)  # [P:score-norm]
        factor = np.copysign(np.minimum(wanted, most), residual)
        summed = (a @ factor).tolist()  # [P:exact-clipped-scores]
        self._sums = [total + int(part) for total, part in zip(self._sums, summed, strict=True)]
        self._below += int(np.count_nonzero(wanted <= most))
        self._rows += chunk.shape[1]

    def totals(self) -> tuple[int, ...]:
        """Return the sum of the scores, the number of rows that were not clipped, and the number of rows."""
        return (*self._sums, self._below * self.unit, self._rows * self.unit)


class OffsetSum(MadeAnew):
    """A running exact sum of e / bound, clipped to [-1, 1], over rows (a, u) with unweighted residuals e.

    The first coordinate of a is the weight divided by the radius, so e = r / (radius a_0) with r = u - a'theta.

    >>> domain = RowDomain(0, 0, 0, None, False, 8)
    >>> offset = OffsetSum(domain, on_grid([0.0], domain), radius=2.0, bound=1.0)
    >>> offset.add(np.array([[64.0, 128.0], [2.0**22, 2.0**25]])); offset.totals()
    (384,)
    """

    def __init__(self, domain: RowDomain, theta: Sequence[int], radius: float, bound: float) -> None:
        self._residuals = _Residuals(domain, theta)
        self._one = 1 << shrunk_bits(domain)
        self._radius = radius
        self._bound = bound
        self._sum = 0

    @property
    def unit(self) -> int:
        """Steps of the grid of a shrunk row in one scaled unit."""
        return self._one

    def add(self, chunk: FloatArray) -> None:
        """Add a chunk of rows (a, u)."""
        weight = np.maximum(chunk[0], 1.0) * (self._radius / self._one)
        part = np.clip(self._residuals.of(chunk) / weight / self._bound, -1.0, 1.0)
        self._sum += int(np.rint(part * self._one).astype(np.int64).sum())  # [P:offset-part]

    def totals(self) -> tuple[int, ...]:
        """Return the exact sum."""
        return (self._sum,)


class _Residuals:
    """Residuals u - a'theta of rows (a, u), with the same bits at any index, because products are exact integers."""

    def __init__(self, domain: RowDomain, theta: Sequence[int]) -> None:
        self._theta = tuple(theta)
        self._step = 2.0 ** -(shrunk_bits(domain) + coefficient_bits(domain, len(self._theta)))

    def of(self, chunk: FloatArray) -> FloatArray:
        """Compute the residuals in scaled units of the target."""
        fitted = np.array(self._theta, dtype=np.float64) @ chunk[:-1]  # [P:exact-fit]
        residual: FloatArray = chunk[-1] * 2.0**-TARGET_BITS - fitted * self._step
        return residual
