"""Sums over residuals: what robust errors need beyond the moments, from a second pass over the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from discreet.curator.sums.gram import ExactGram
from discreet.curator.sums.protocol import MadeAnew, common_unit
from discreet.design.domain import RowDomain
from discreet.exact.arrays import FloatArray
from discreet.exact.ball import shrink_to_ball

# scaled coefficients beyond this are noise; a larger one could turn a residual into infinity minus infinity
_LARGEST_COEFFICIENT: Final = 1e6


def usable(coefficients: Sequence[float]) -> list[float]:
    """Released coefficients, finite and not so large that a residual could overflow.

    >>> usable([0.5, float("nan"), -1e300])
    [0.5, 0.0, -1000000.0]
    """
    finite = np.nan_to_num(np.asarray(coefficients, dtype=np.float64), nan=0.0)
    inside: list[float] = np.clip(finite, -_LARGEST_COEFFICIENT, _LARGEST_COEFFICIENT).tolist()
    return inside


def scaled_residuals(chunk: FloatArray, coefficients: Sequence[float], unit: float) -> FloatArray:
    """Residuals of rows (1, x, y) in grid steps, shape (rows,), in scaled units of the target.

    Each is a function of its own row with the same bits wherever it is: columns are taken one by one, because a
    matrix product could round differently from place to place. The unit is a power of two, so that dividing by it last
    rounds nothing.
    """
    residual: FloatArray = chunk[-1].copy()
    part = np.empty_like(residual)
    for coefficient, column in zip(coefficients, chunk[:-1], strict=True):
        np.multiply(column, coefficient, out=part)
        residual -= part
    residual *= 1 / unit
    return residual


class ResidualGram(MadeAnew):
    """Running exact sum of v v' over rows v = (clipped residual / bound) * (1, features) on the grid.

    Where rows have weights, a residual is multiplied with its weight over the largest one before it is clipped.

    Parameters
    ----------
    domain
        Public geometry of a row of the model.
    size
        Number of columns (1, features).
    coefficients
        Released scaled coefficients at which residuals are taken, shape (size,).
    bound
        Bound of a residual, in scaled units of the target; public or released.
    rows_per_person
        With persons, how many rows of one count: the rows of a person are then averaged over this number before they
        are squared, so that errors of one person may depend on each other.
    columns
        Positions of the features and, last, of the target in a row (1, x, y); all of them in that order unless given.
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
        """Steps in one scaled unit: those of the product grid."""
        return self._gram.unit

    def add(self, chunk: FloatArray) -> None:
        """Add a chunk of rows (1, x, y) in grid steps, shape (columns, rows), weights behind them if there are any."""
        self._gram.add(self.rows(chunk))

    def add_persons(self, chunk: FloatArray, starts: npt.NDArray[np.intp]) -> None:
        """Add a chunk of whole persons, whose rows are together from each of `starts` on."""
        summed = np.add.reduceat(self.rows(chunk), starts, axis=1)
        averaged: FloatArray = np.rint(summed / self._rows_per_person)  # [P:person-row]
        shrink_to_ball(averaged, self._norm2)
        self._gram.add(averaged)

    def totals(self) -> tuple[int, ...]:
        """Upper triangle of the exact sum, row by row."""
        return self._gram.totals()

    def rows(self, chunk: FloatArray) -> FloatArray:
        """Integers v of at most one scaled unit in every column, with a norm that (1, features) could have."""
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
    """Running exact sum of q^2, q = (residual^2 - ratio (target - mean)^2) / bound, clipped to [-1, 1], on the grid.

    It is the sampling variance of the residual variance less `ratio` times the variance of the target, which an
    interval for R^2 needs.

    Parameters
    ----------
    domain
        Public geometry of a row.
    coefficients
        Released scaled coefficients of (1, x) at which residuals are taken.
    ratio, mean
        Released: residual variance over that of the target, from 0 to 1, and the mean of the scaled target.
    bound
        Where the difference is clipped, in squared scaled units of the target; public or released.
    rows_per_person
        As for `ResidualGram`.
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
        """Steps in one scaled unit: those of the product grid."""
        return self._gram.unit

    def add(self, chunk: FloatArray) -> None:
        """Add a chunk of rows (1, x, y) in grid steps."""
        self._gram.add(self.rows(chunk))

    def add_persons(self, chunk: FloatArray, starts: npt.NDArray[np.intp]) -> None:
        """Add a chunk of whole persons, whose rows are together from each of `starts` on."""
        summed = np.add.reduceat(self.rows(chunk), starts, axis=1)
        self._gram.add(np.rint(summed / self._rows_per_person))  # [P:person-ratio]

    def totals(self) -> tuple[int, ...]:
        """The exact sum."""
        return self._gram.totals()

    def rows(self, chunk: FloatArray) -> FloatArray:
        """One integer of at most one scaled unit for each row, shape (1, rows)."""
        residual = scaled_residuals(chunk, self._coefficients, self._unit)
        around = chunk[-1] / self._unit - self._mean
        q = np.clip((residual * residual - self._ratio * (around * around)) / self._bound, -1.0, 1.0)
        out: FloatArray = np.rint(q * self._unit)[None, :]  # [P:ratio-row]
        return out


class ResidualPass:
    """All sums over residuals in one pass: a Gram for each model, and the sum of q^2 last if there is one."""

    def __init__(self, grams: Sequence[ResidualGram], squares: RatioSquares | None = None) -> None:
        self._grams, self._squares = tuple(grams), squares
        self._parts: tuple[ResidualGram | RatioSquares, ...] = (*grams, *(() if squares is None else (squares,)))

    @property
    def unit(self) -> int:
        """Steps in one scaled unit: those of the product grid."""
        return common_unit(self._parts)

    def empty(self) -> ResidualPass:
        """The same sums without rows."""
        squares = None if self._squares is None else self._squares.empty()
        return ResidualPass([gram.empty() for gram in self._grams], squares)

    def add(self, chunk: FloatArray) -> None:
        """Add a chunk of rows (1, x, y) in grid steps."""
        for part in self._parts:
            part.add(chunk)

    def add_persons(self, chunk: FloatArray, starts: npt.NDArray[np.intp]) -> None:
        """Add a chunk of whole persons, whose rows are together from each of `starts` on."""
        for part in self._parts:
            part.add_persons(chunk, starts)

    def totals(self) -> tuple[int, ...]:
        """Upper triangle of each Gram, row by row, then the sum of squares."""
        return tuple(total for part in self._parts for total in part.totals())
