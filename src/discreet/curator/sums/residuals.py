"""Sum scores and squared residuals at released coefficients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.curator.sums.gram import ExactGram, MadeAnew, common_unit
from discreet.design.domain import RowDomain
from discreet.exact.arrays import FloatArray, shrink_to_ball

# -- residuals ---------------------------------------------------------------------------------------------------------
# Robust standard errors need sums over residuals, from a second pass over the table.

# larger scaled coefficients are pure noise, and could make a residual infinity minus infinity
_LARGEST_COEFFICIENT: Final = 1e6


def usable(coefficients: Sequence[float]) -> list[float]:
    """Replace coefficients that are not finite by 0, and clip those with which a residual could overflow.

    >>> usable([0.5, float("nan"), -1e300])
    [0.5, 0.0, -1000000.0]
    """
    finite = np.nan_to_num(np.asarray(coefficients, dtype=np.float64), nan=0.0)
    inside: list[float] = np.clip(finite, -_LARGEST_COEFFICIENT, _LARGEST_COEFFICIENT).tolist()
    return inside


def scaled_residuals(chunk: FloatArray, coefficients: Sequence[float], unit: float) -> FloatArray:
    """Compute the residuals of rows (1, x, y) in grid steps, shape (rows,), in scaled units of the target.

    The bits of a residual do not depend on its index. Columns are added one by one, because the rounding of a matrix
    product could depend on the index. `unit` is a power of two, so that the final division is exact.
    """
    residual: FloatArray = chunk[-1].copy()
    part = np.empty_like(residual)
    for coefficient, column in zip(coefficients, chunk[:-1], strict=True):
        np.multiply(column, coefficient, out=part)
        residual -= part
    residual *= 1 / unit
    return residual


class ResidualGram(MadeAnew):
    """Running exact sum of v v' over rows, where v = (clipped residual / bound) * (1, features) on the grid.

    If rows have weights, each residual is multiplied by its weight divided by the largest weight before it is clipped.
    `bound` is public or released, and is in scaled units of the target. `coefficients` are released and in scaled
    units. `rows_per_person` is the cap on the rows of an individual. The vectors v of an individual are summed and
    divided by this number, so that errors of the same individual may be correlated. `columns` holds the indices of the
    features, followed by that of the target, in a row (1, x, y). The default is all columns.
    """

    def __init__(
        self,
        domain: RowDomain,
        size: int,
        coefficients: Sequence[float],
        bound: float,
        rows_per_person: int = 1,
        columns: Sequence[int] | None = None,
    ) -> None:
        self._gram = ExactGram(size, domain.grid_bits)
        self._coefficients = usable(coefficients)
        self._unit = float(domain.unit)
        self._bound = bound
        self._weight_unit = float(domain.weight_unit) if domain.weight_bits else None
        self._norm2 = domain.norm2_bound + domain.unit**2
        self._rows_per_person = rows_per_person
        self._columns = None if columns is None else [0, *columns]

    @property
    def unit(self) -> int:
        """Number of product-grid steps in one scaled unit."""
        return self._gram.unit

    def add(self, chunk: FloatArray) -> None:
        """Add a chunk of shape (columns, rows), with rows (1, x, y) in grid steps, followed by any weights."""
        self._gram.add(self.rows(chunk))

    def add_persons(self, chunk: FloatArray, starts: npt.NDArray[np.intp]) -> None:
        """Add a chunk of complete individuals. `starts` holds the index of the first row of each."""
        summed = np.add.reduceat(self.rows(chunk), starts, axis=1)
        averaged: FloatArray = np.rint(summed / self._rows_per_person)  # [P:person-row]
        shrink_to_ball(averaged, self._norm2)
        self._gram.add(averaged)

    def totals(self) -> tuple[int, ...]:
        """Return the upper triangle of the exact sum, row by row."""
        return self._gram.totals()

    def rows(self, chunk: FloatArray) -> FloatArray:
        """Compute the vectors v in grid steps, and shrink those that are longer than any possible (1, features)."""
        weights = None
        if self._weight_unit is not None:
            chunk, weights = chunk[:-1], chunk[-1] / self._weight_unit
        chunk = chunk if self._columns is None else chunk[self._columns]  # [P:residual-columns]
        residual = scaled_residuals(chunk, self._coefficients, self._unit)
        if weights is not None:
            residual *= weights  # [P:residual-weight]
        np.clip(residual / self._bound, -1.0, 1.0, out=residual)
        v: FloatArray = residual * chunk[:-1]
        np.rint(v, out=v)  # [P:residual-row]
        shrink_to_ball(v, self._norm2)  # [P:residual-ball]
        return v


class RatioSquares(MadeAnew):
    """Running exact sum of q^2 over rows, from which an interval for R^2 is computed.

    Here q = (residual^2 - ratio (target - mean)^2) / bound, clipped to [-1, 1] and rounded to the grid. The sum
    estimates the sampling variance of the residual variance minus `ratio` times the target variance. `ratio` is the
    released ratio of the residual variance to the target variance, from 0 to 1, and `mean` the released mean of the
    scaled target. `bound` is public or released, and is in squared scaled units of the target. `rows_per_person` is as
    for `ResidualGram`.
    """

    def __init__(
        self,
        domain: RowDomain,
        coefficients: Sequence[float],
        ratio: float,
        mean: float,
        bound: float,
        rows_per_person: int = 1,
    ) -> None:
        self._gram = ExactGram(1, domain.grid_bits)
        self._coefficients = usable(coefficients)
        self._unit = float(domain.unit)
        self._ratio, self._mean = usable([ratio, mean])
        self._bound = bound
        self._rows_per_person = rows_per_person

    @property
    def unit(self) -> int:
        """Number of product-grid steps in one scaled unit."""
        return self._gram.unit

    def add(self, chunk: FloatArray) -> None:
        """Add a chunk of rows (1, x, y) in grid steps."""
        self._gram.add(self.rows(chunk))

    def add_persons(self, chunk: FloatArray, starts: npt.NDArray[np.intp]) -> None:
        """Add a chunk of complete individuals. `starts` holds the index of the first row of each."""
        summed = np.add.reduceat(self.rows(chunk), starts, axis=1)
        self._gram.add(np.rint(summed / self._rows_per_person))  # [P:person-ratio]

    def totals(self) -> tuple[int, ...]:
        """Return the exact sum as the only total."""
        return self._gram.totals()

    def rows(self, chunk: FloatArray) -> FloatArray:
        """Compute q in grid steps for each row, shape (1, rows)."""
        residual = scaled_residuals(chunk, self._coefficients, self._unit)
        around = chunk[-1] / self._unit - self._mean
        q = np.clip((residual * residual - self._ratio * (around * around)) / self._bound, -1.0, 1.0)
        out: FloatArray = np.rint(q * self._unit)[None, :]  # [P:ratio-row]
        return out


class ResidualPass:
    """All sums over residuals, computed in one pass: a Gram matrix for each model, and any sum of q^2."""

    def __init__(self, grams: Sequence[ResidualGram], squares: RatioSquares | None = None) -> None:
        self._grams, self._squares = tuple(grams), squares
        self._parts: tuple[ResidualGram | RatioSquares, ...] = (*grams, *(() if squares is None else (squares,)))

    @property
    def unit(self) -> int:
        """Number of product-grid steps in one scaled unit."""
        return common_unit(self._parts)

    def empty(self) -> ResidualPass:
        """Return sums with the same settings and no rows."""
        squares = None if self._squares is None else self._squares.empty()
        return ResidualPass([gram.empty() for gram in self._grams], squares)

    def add(self, chunk: FloatArray) -> None:
        """Add a chunk of rows (1, x, y) in grid steps."""
        for part in self._parts:
            part.add(chunk)

    def add_persons(self, chunk: FloatArray, starts: npt.NDArray[np.intp]) -> None:
        """Add a chunk of complete individuals. `starts` holds the index of the first row of each."""
        for part in self._parts:
            part.add_persons(chunk, starts)

    def totals(self) -> tuple[int, ...]:
        """Return the upper triangle of each Gram matrix, row by row, followed by any sum of q^2."""
        return tuple(total for part in self._parts for total in part.totals())


# -- scores ------------------------------------------------------------------------------------------------------------
# Score vectors and products of down-weighted rows depend on residuals at released coefficients.

# doubles hold integers up to 2**53 and grids have at most 26 bits, so sums over this many rows are exact in any order
_EXACT_ROWS: Final = 2 ** (53 - 26)
# maps scaled residuals to numbers of absolute value at most 1, each residual independently
Weight: TypeAlias = Callable[[FloatArray], FloatArray]


class ScoreSum(MadeAnew):
    """Running exact sum of score vectors v = weight(residual) * (1, x), rounded to grid steps.

    No coordinate of v exceeds that of (1, x) in absolute value, so |v|^2 is at most `norm2_bound + unit**2`, without
    any rounding error. Without an intercept, the first coordinate of v is 0, so |v|^2 is at most `norm2_bound`.

    `weight` maps residuals, in scaled units of the target, to numbers in [-1, 1], such as a bounded score divided by
    its bound. The bits of a result must not depend on other residuals or on the index in the array. This holds for
    arithmetic, comparisons, square roots and the functions of `exact.elementary`. Results outside [-1, 1] are clipped,
    and NaN becomes 0.

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
        """Number of row-grid steps in one scaled unit."""
        return self._unit

    def add(self, chunk: FloatArray) -> None:
        """Add a chunk of rows (1, x, y) in grid steps, shape (size + 1, rows)."""
        for start in range(0, chunk.shape[1], _EXACT_ROWS):
            summed = self.rows(chunk[:, start : start + _EXACT_ROWS]).sum(axis=1).tolist()  # [P:exact-score-sum]
            self._totals = [total + int(part) for total, part in zip(self._totals, summed, strict=True)]

    def totals(self) -> tuple[int, ...]:
        """Return the exact sum of the score vectors, in grid steps."""
        return tuple(self._totals)

    def rows(self, chunk: FloatArray) -> FloatArray:
        """Compute the score vectors v of a chunk, shape (size, rows)."""
        return self._rows.weighted(chunk, chunk[:-1])


class WeightedGram(MadeAnew):
    """Running exact sum of v v' over rows v = root(residual) * (1, x, y), rounded to grid steps.

    If `root` returns the square root of a weight, the sum is the matrix of weighted moments for reweighted least
    squares. `root` maps residuals to numbers in [0, 1], and must meet the same conditions as the `weight` of
    `ScoreSum`. No coordinate of v exceeds that of (1, x, y) in absolute value. Without an intercept, the first row and
    column are 0.

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
        """Number of product-grid steps in one scaled unit."""
        return self._gram.unit

    def add(self, chunk: FloatArray) -> None:
        """Add a chunk of rows (1, x, y) in grid steps, shape (size + 1, rows)."""
        self._gram.add(self.rows(chunk))

    def totals(self) -> tuple[int, ...]:
        """Return the upper triangle of the exact sum, row by row, in product-grid steps."""
        return self._gram.totals()

    def rows(self, chunk: FloatArray) -> FloatArray:
        """Compute the vectors v of a chunk, shape (size + 1, rows)."""
        return self._rows.weighted(chunk, chunk)


class _ResidualRows:
    """Rows multiplied by a function of their residuals, whose values lie in [least, 1]."""

    def __init__(
        self, domain: RowDomain, coefficients: Sequence[float], weight: Weight, *, least: float, intercept: bool
    ) -> None:
        self._coefficients = usable(coefficients)
        self._unit = float(domain.unit)
        self._weight = weight
        self._least = least
        self._intercept = intercept

    def weighted(self, chunk: FloatArray, columns: FloatArray) -> FloatArray:
        """Multiply `columns` by the weight of each row of the chunk, and round to integers."""
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
