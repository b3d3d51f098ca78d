"""Sums of squares around a line and the inverse of a Gram, to more digits than a plain double-precision pass keeps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np

from discreet.analyst.equations.normal import NormalEquations
from discreet.analyst.solvers.least_squares import solve_ridge
from discreet.exact.arrays import BigIntArray, FloatArray

_EXACT_COLUMNS: Final = 40  # beyond this a solve for every column takes too long
_GOOD_PIVOT: Final = 2.0**-20  # of a unit-diagonal matrix: an inverse in double precision then keeps ten digits


def residual_sum(equations: NormalEquations, theta: Sequence[Fraction]) -> float:
    """RSS = c - 2 b'theta + theta'A theta of the released sums, rounded once.

    It is often a small difference of large sums, so that in doubles a good fit would have no residual variance.

    Parameters
    ----------
    equations
        Of the model.
    theta
        Coefficients of z, shape (k,).
    """
    divisor = math.lcm(*(value.denominator for value in theta))
    whole: BigIntArray = np.array([value.numerator * (divisor // value.denominator) for value in theta], dtype=object)
    A, b, c = equations.integer_gram, equations.integer_b, equations.whole[-1, -1]
    total = c * divisor**2 - 2 * divisor * (b @ whole) + whole @ (A @ whole)
    return float(Fraction(int(total), equations.unit * divisor**2))


def total_sum(equations: NormalEquations) -> float:
    """Sum of squares of the target, around its mean if the model has an intercept, rounded once."""
    c = Fraction(int(equations.whole[-1, -1]))
    if equations.intercept:
        c -= Fraction(int(equations.whole[0, -1]) ** 2, int(equations.whole[0, 0]))
    return float(c / equations.unit)


def inverse_gram(equations: NormalEquations, penalty_diagonal: FloatArray) -> FloatArray:
    """Give the inverse of A + diag(penalty_diagonal), which must be positive definite, shape (k, k).

    Columns that are nearly combinations of each other leave double precision few digits; up to 40 of them are then
    solved for one by one as the coefficients are.

    Parameters
    ----------
    equations
        Of the model.
    penalty_diagonal
        What a penalty adds to the diagonal, shape (k,).
    """
    gram = equations.A + np.diag(penalty_diagonal)
    size = len(gram)
    scale = 1 / np.sqrt(gram.diagonal())
    try:
        factor = np.linalg.cholesky(gram * np.outer(scale, scale))
        smallest = float(np.diag(factor).min()) ** 2
    except np.linalg.LinAlgError:
        factor, smallest = np.eye(size), 0.0
    if smallest < _GOOD_PIVOT and size <= _EXACT_COLUMNS:
        columns = np.diag(np.full(size, equations.unit, dtype=object))
        solved = [
            solve_ridge(equations.integer_gram, column, penalty_diagonal, unit=equations.unit) for column in columns
        ]
        out: FloatArray = np.column_stack([one.coefficients for one in solved])
        return (out + out.T) / 2
    half = np.linalg.inv(factor) * scale
    out = half.T @ half
    return out
