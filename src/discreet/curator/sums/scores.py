"""Sums that depend on residuals at released coefficients: score vectors, and products of down-weighted rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import numpy as np

from discreet.curator.sums.gram import ExactGram
from discreet.curator.sums.protocol import MadeAnew
from discreet.curator.sums.residuals import scaled_residuals, usable
from discreet.design.domain import RowDomain
from discreet.exact.arrays import FloatArray

# doubles hold integers up to 2**53 and no grid has more than 26 bits: sums over so many rows are exact in any order
_EXACT_ROWS: Final = 2 ** (53 - 26)
# from scaled residuals to numbers of at most 1 in size, each a function of its own residual alone
Weight: TypeAlias = Callable[[FloatArray], FloatArray]


class ScoreSum(MadeAnew):
    """Running exact sum of score vectors v = weight(residual) * (1, x), rounded to integer numbers of grid steps.

    No coordinate of v is larger than that of (1, x) itself, so |v|^2 is at most `norm2_bound + unit**2`, exactly, or
    `norm2_bound` without intercept.

    Parameters
    ----------
    domain
        Public geometry of a row.
    size
        Number of columns (1, x).
    coefficients
        Released scaled coefficients at which residuals are taken, shape (size,).
    weight
        From residuals, in scaled units of the target, to numbers in [-1, 1]: a bounded score divided by its bound. It
        must treat each residual alone and give the same bits wherever it is in the array: arithmetic, comparisons,
        square roots and `design.elementary` do. What leaves [-1, 1] is clipped, and what is no number counts as 0.
    intercept
        Whether the constant takes part; without it the first sum is 0.

    Examples
    --------
    >>> domain = RowDomain(1, 0, 0, None, False, 8)
    >>> scores = ScoreSum(domain, 2, [0.0, 0.5], lambda r: np.clip(r / 0.5, -1.0, 1.0))
    >>> scores.add(np.array([[256.0], [128.0], [256.0]]))
    >>> scores.totals()
    (256, 128)
    """

    def __init__(
        self, domain: RowDomain, size: int, coefficients: Sequence[float], weight: Weight, *, intercept: bool = True
    ) -> None:
        self._rows = _ResidualRows(domain, coefficients, weight, least=-1.0, intercept=intercept)
        self._unit = domain.unit
        self._totals = [0] * size

    @property
    def unit(self) -> int:
        """Steps in one scaled unit: those of the grid of a row."""
        return self._unit

    def add(self, chunk: FloatArray) -> None:
        """Add a chunk of rows (1, x, y) in grid steps, shape (size + 1, rows)."""
        for start in range(0, chunk.shape[1], _EXACT_ROWS):
            summed = self.rows(chunk[:, start : start + _EXACT_ROWS]).sum(axis=1).tolist()  # [P:exact-score-sum]
            self._totals = [total + int(part) for total, part in zip(self._totals, summed, strict=True)]

    def totals(self) -> tuple[int, ...]:
        """The exact sum of the vectors, in grid steps."""
        return tuple(self._totals)

    def rows(self, chunk: FloatArray) -> FloatArray:
        """The whole-number vectors v of a chunk, shape (size, rows)."""
        return self._rows.weighted(chunk, chunk[:-1])


class WeightedGram(MadeAnew):
    """Running exact sum of v v' over rows v = root(residual) * (1, x, y), rounded to integer numbers of grid steps.

    With root = the square root of a weight it is the weighted second moment that reweighted least squares needs. No
    coordinate of v is larger than that of (1, x, y) itself.

    Parameters
    ----------
    domain
        Public geometry of a row.
    size
        Number of columns (1, x).
    coefficients
        Released scaled coefficients at which residuals are taken, shape (size,).
    root
        From residuals to numbers in [0, 1], under the same conditions as the weight of `ScoreSum`.
    intercept
        Whether the constant takes part; without it the first row and column are 0.

    Examples
    --------
    >>> gram = WeightedGram(RowDomain(1, 0, 0, None, False, 8), 2, [0.0, 0.0], lambda r: np.full_like(r, 0.5))
    >>> gram.add(np.array([[256.0], [128.0], [256.0]]))
    >>> gram.totals()
    (16384, 8192, 16384, 4096, 8192, 16384)
    """

    def __init__(
        self, domain: RowDomain, size: int, coefficients: Sequence[float], root: Weight, *, intercept: bool = True
    ) -> None:
        self._rows = _ResidualRows(domain, coefficients, root, least=0.0, intercept=intercept)
        self._gram = ExactGram(size + 1, domain.grid_bits)

    @property
    def unit(self) -> int:
        """Steps in one scaled unit: those of the product grid."""
        return self._gram.unit

    def add(self, chunk: FloatArray) -> None:
        """Add a chunk of rows (1, x, y) in grid steps, shape (size + 1, rows)."""
        self._gram.add(self.rows(chunk))

    def totals(self) -> tuple[int, ...]:
        """Upper triangle of the exact sum, row by row, in steps of the product grid."""
        return self._gram.totals()

    def rows(self, chunk: FloatArray) -> FloatArray:
        """The whole-number vectors v of a chunk, shape (size + 1, rows)."""
        return self._rows.weighted(chunk, chunk)


class _ResidualRows:
    """Rows multiplied by a number in [least, 1] that their residual decides."""

    def __init__(
        self, domain: RowDomain, coefficients: Sequence[float], weight: Weight, *, least: float, intercept: bool
    ) -> None:
        self._coefficients = usable(coefficients)
        self._unit = float(domain.unit)
        self._weight = weight
        self._least = least
        self._intercept = intercept

    def weighted(self, chunk: FloatArray, columns: FloatArray) -> FloatArray:
        """Each of `columns` times the weight of its row of the chunk, rounded to integers."""
        residual = scaled_residuals(chunk, self._coefficients, self._unit)
        weight = np.clip(self._weight(residual), self._least, 1.0)
        unknown = np.isnan(weight)
        if unknown.any():
            weight[unknown] = 0.0
        v: FloatArray = weight * columns
        np.rint(v, out=v)  # [P:weighted-row]
        if not self._intercept:
            v[0] = 0.0
        return v
