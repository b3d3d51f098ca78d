"""Scores of shrunk rows, clipped in norm, through exact products. Proof: scaled_rows.proof.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from discreet.curator.sums.protocol import MadeAnew
from discreet.curator.sums.scaled_rows import TARGET_BITS, shrunk_bits
from discreet.design.domain import RowDomain
from discreet.exact.arrays import FloatArray

# coefficients of shrunk rows stay in the box of this half-width
LARGEST_BITS: Final = 8
# a relative step far above the rounding of three double operations and far below one grid step
_INWARDS: Final = 1 - 2**-40


def coefficient_bits(domain: RowDomain, size: int) -> int:
    """Bits of the grid of coefficients on which products of `size` coordinates stay below 2^53.

    >>> coefficient_bits(RowDomain(1, 0, 0, None, False, 16), 30)
    24
    """
    return 53 - shrunk_bits(domain) - LARGEST_BITS - size.bit_length()


def on_grid(theta: npt.ArrayLike, domain: RowDomain) -> list[int]:
    """Coefficients as integers of their grid, inside the box.

    >>> on_grid([0.5, -1e9], RowDomain(1, 0, 0, None, False, 16)) == [2**26, -(2**35)]
    True
    """
    values = np.asarray(theta, dtype=np.float64)
    most = 2.0**LARGEST_BITS
    bits = coefficient_bits(domain, len(values))
    inside: list[float] = np.rint(np.clip(values, -most, most) * 2.0**bits).tolist()
    return [int(value) for value in inside]


class ClippedScores(MadeAnew):
    """Running exact sum over rows (a, u) of scores v = (r / clip) a, each cut to norm 1, with r = u - a'theta.

    The factor r / clip is rounded to the grid of a row, and cut there so that the integer norm of v is at most 1.
    The totals are the sum, the number of rows that were not cut, and the number of rows, in steps of products.

    Parameters
    ----------
    domain
        Public geometry of a row.
    theta
        Released coefficients as `on_grid` gives them.
    clip
        Released, above 0, in scaled units of the target.

    Examples
    --------
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
        """Steps in one scaled unit: those of the product of two shrunk rows."""
        return self._one**2

    def add(self, chunk: FloatArray) -> None:
        """Add a chunk of rows (a, u)."""
        a = chunk[:-1]
        residual = self._residuals.of(chunk)
        wanted = np.rint(np.abs(residual) * (self._one / self._clip))
        # integers below 2^53 in any order; a row of zeros has no score
        norms = np.sqrt(np.maximum(np.einsum("ij,ij->j", a, a), 1.0))
        most = np.floor(self.unit / norms * _INWARDS)  # [P:score-norm]
        factor = np.copysign(np.minimum(wanted, most), residual)
        summed = (a @ factor).tolist()  # [P:exact-clipped-scores]
        self._sums = [total + int(part) for total, part in zip(self._sums, summed, strict=True)]
        self._below += int(np.count_nonzero(wanted <= most))
        self._rows += chunk.shape[1]

    def totals(self) -> tuple[int, ...]:
        """The sum of the scores, the number of rows that were not cut, the number of rows."""
        return (*self._sums, self._below * self.unit, self._rows * self.unit)


class OffsetSum(MadeAnew):
    """Running exact sum over rows (a, u) of e / bound, cut to [-1, 1], where e is what a row is off without its weight.

    The first coordinate of a is the weight over the radius, so that e = r / (radius a_0), r = u - a'theta.

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
        """Steps in one scaled unit: those of the grid of a shrunk row."""
        return self._one

    def add(self, chunk: FloatArray) -> None:
        """Add a chunk of rows (a, u)."""
        weight = np.maximum(chunk[0], 1.0) * (self._radius / self._one)
        part = np.clip(self._residuals.of(chunk) / weight / self._bound, -1.0, 1.0)
        self._sum += int(np.rint(part * self._one).astype(np.int64).sum())  # [P:offset-part]

    def totals(self) -> tuple[int, ...]:
        """The exact sum."""
        return (self._sum,)


class _Residuals:
    """Residuals u - a'theta of rows (a, u), with the same bits wherever a row is: products are exact integers."""

    def __init__(self, domain: RowDomain, theta: Sequence[int]) -> None:
        self._theta = tuple(theta)
        self._step = 2.0 ** -(shrunk_bits(domain) + coefficient_bits(domain, len(self._theta)))

    def of(self, chunk: FloatArray) -> FloatArray:
        """In scaled units of the target."""
        fitted = np.array(self._theta, dtype=np.float64) @ chunk[:-1]  # [P:exact-fit]
        residual: FloatArray = chunk[-1] * 2.0**-TARGET_BITS - fitted * self._step
        return residual
