"""Exact solutions of least squares and ridge equations, and residual sums."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
import numpy.typing as npt

from discreet.analyst.confidence_sets import NotEstimableError
from discreet.analyst.equations.normal import NormalEquations
from discreet.exact.arrays import BigIntArray, FloatArray
from discreet.exact.linear import exact_solution

# -- least squares -----------------------------------------------------------------------------------------------------
# Solve the normal equations of least squares and ridge to the last digit of the released sums.
#
# Sums of products square the condition number of the data, so a plain double-precision solve loses digits that the
# release holds. The solution is therefore refined with integer residuals until nothing changes. If double precision
# fails from the start, small systems are eliminated in integers.

_EXACT_COLUMNS: Final = 40  # integer elimination grows with the fourth power of the number of columns
_SMALLEST_PIVOT: Final = 2.0**-40  # smaller pivots of the unit-diagonal matrix may be rounding error
_SOLUTION_BITS: Final = 120
_AGREED_BITS: Final = 90
_PENALTY_BITS: Final = 64


@dataclass(frozen=True, eq=False)
class Solution:
    """Exact coefficients of normal equations.

    They need more digits than a double, because an intercept in original units is often a small difference of large
    terms.
    """

    exact: tuple[Fraction, ...]

    @property
    def coefficients(self) -> FloatArray:
        """Coefficients rounded to double precision, shape (k,)."""
        return np.array([float(value) for value in self.exact])


def solve_ols(A: npt.NDArray[np.generic], b: npt.NDArray[np.generic]) -> Solution:
    """Solve A theta = b for a positive definite A. Entries may be floats or integers.

    >>> solve_ols(np.array([[4.0, 2.0], [2.0, 3.0]]), np.array([8.0, 8.0])).coefficients
    array([1., 2.])
    """
    gram, right, _ = _integers(A, b)
    coefficients = _solved(gram, right)
    if coefficients is None:
        raise NotEstimableError.at_strength(None)
    return Solution(coefficients)


def solve_ridge(
    A: npt.NDArray[np.generic],
    b: npt.NDArray[np.generic],
    penalty_diagonal: FloatArray,
    *,
    unit: int = 1,
) -> Solution:
    """Solve (A/unit + diag(penalty)) theta = b/unit, where the matrix on the left must be positive definite.

    Entries of A and b may be floats or integers. The penalty of the intercept is usually 0.

    >>> solve_ridge(np.array([[4.0, 0.0], [0.0, 3.0]]), np.array([8.0, 8.0]), np.array([0.0, 1.0])).coefficients
    array([2., 2.])
    """
    gram, right, factor = _integers(A, b)
    fine = 2**_PENALTY_BITS
    added = np.array(
        [round(Fraction(entry) * (unit * factor * fine)) for entry in penalty_diagonal.tolist()], dtype=object
    )
    coefficients = _solved(gram * fine + np.diag(added), right * fine)
    if coefficients is None:
        raise NotEstimableError.at_strength(float(penalty_diagonal.max()))
    return Solution(coefficients)


def _integers(A: npt.NDArray[np.generic], b: npt.NDArray[np.generic]) -> tuple[BigIntArray, BigIntArray, int]:
    """Convert the system to integers, and return it with the factor by which it was multiplied."""
    if A.dtype == object:
        return A.astype(object), b.astype(object), 1
    exact_gram = np.vectorize(Fraction, otypes=[object])(A)
    exact_b = np.vectorize(Fraction, otypes=[object])(b)
    # a double is an integer over a power of two, so the largest denominator is a common denominator
    factor = max(value.denominator for value in (*exact_gram.flat, *exact_b.flat))
    whole = np.vectorize(int, otypes=[object])
    return whole(exact_gram * factor), whole(exact_b * factor), factor


def _solved(A: BigIntArray, b: BigIntArray) -> tuple[Fraction, ...] | None:
    """Return the solution, or None if A is not positive definite."""
    if any(value <= 0 for value in np.diag(A)):
        return None
    solution = _refined(A, b)
    if solution is None and len(b) <= _EXACT_COLUMNS:
        return exact_solution(A, b)
    return solution


def _refined(A: BigIntArray, b: BigIntArray) -> tuple[Fraction, ...] | None:
    """Solve by Cholesky in double precision and refine with exact residuals. Return None if A is near singular."""
    approximate = A.astype(np.float64)
    scale = 1 / np.sqrt(np.diag(approximate))
    try:
        factor = np.linalg.cholesky(approximate * np.outer(scale, scale))
    except np.linalg.LinAlgError:
        return None
    if np.diag(factor).min() ** 2 < len(b) * _SMALLEST_PIVOT:
        return None
    inverse = np.linalg.inv(factor) * scale

    def correction(residual: FloatArray) -> FloatArray:
        step: FloatArray = inverse.T @ (inverse @ residual)
        return step

    step = correction(b.astype(np.float64))
    size = float(np.abs(step).max())
    if size == 0:
        return (Fraction(0),) * len(b)
    # keep the solution as integers over 2**bits, with more than the 53 bits of a double
    bits = max(0, _SOLUTION_BITS - math.frexp(size)[1])
    whole = 1 << bits
    solution = _rounded(step, bits)
    previous = math.inf
    while (moved := float(np.abs(step).max())) > 2.0**-_AGREED_BITS * size:
        if moved > previous / 2:
            return None
        previous = moved
        residual = b * whole - A @ solution
        step = correction((residual / whole).astype(np.float64))
        solution = solution + _rounded(step, bits)
    return tuple(Fraction(value, whole) for value in solution)


def _rounded(values: FloatArray, bits: int) -> BigIntArray:
    return np.array([round(math.ldexp(value, bits)) for value in values.tolist()], dtype=object)


# -- residual ----------------------------------------------------------------------------------------------------------
# Residual sums and the inverse of a Gram, to more digits than plain double precision.

_GOOD_PIVOT: Final = 2.0**-20  # of a unit-diagonal matrix: its inverse in double precision then has ten digits


def residual_sum(equations: NormalEquations, theta: Sequence[Fraction]) -> float:
    """Compute RSS = c - 2 b'theta + theta'A theta of the released sums, rounded once.

    It is often a small difference of large sums. In doubles a good fit would have a residual sum of 0.
    """
    divisor = math.lcm(*(value.denominator for value in theta))
    whole: BigIntArray = np.array([value.numerator * (divisor // value.denominator) for value in theta], dtype=object)
    A, b, c = equations.integer_gram, equations.integer_b, equations.whole[-1, -1]
    total = c * divisor**2 - 2 * divisor * (b @ whole) + whole @ (A @ whole)
    return float(Fraction(int(total), equations.unit * divisor**2))


def total_sum(equations: NormalEquations) -> float:
    """Compute the sum of squares of the target, around its mean if the model has an intercept, rounded once."""
    c = Fraction(int(equations.whole[-1, -1]))
    if equations.intercept:
        c -= Fraction(int(equations.whole[0, -1]) ** 2, int(equations.whole[0, 0]))
    return float(c / equations.unit)


def inverse_gram(equations: NormalEquations, penalty_diagonal: FloatArray) -> FloatArray:
    """Compute the inverse of A + diag(penalty_diagonal), which must be positive definite, shape (k, k).

    Nearly collinear columns leave few correct digits in double precision, so up to 40 columns are then solved exactly.
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
        out: FloatArray = np.column_stack([solution.coefficients for solution in solved])
        return (out + out.T) / 2
    half = np.linalg.inv(factor) * scale
    out = half.T @ half
    return out
