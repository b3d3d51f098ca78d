"""Solve linear equations in integers, bound eigenvalues, and store symmetric matrices as triangles."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import chain
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from discreet.exact.arrays import BigIntArray, FloatArray, one_blas_thread

# -- linear ------------------------------------------------------------------------------------------------------------
# Linear equations in integers, solved exactly by elimination or in units of 2**-bits, where only divisions round.

# integers of any size
Int: TypeAlias = npt.NDArray[Any]


def eliminate(table: list[list[int]]) -> list[int] | None:
    """Eliminate a symmetric integer matrix in place without fractions [Bareiss 1968], and return its pivots.

    Each row may be extended by entries of right-hand sides. Entries to the left of the diagonal are not read. All other
    entries become minors of the matrix, so no division leaves a remainder. All pivots are positive if the matrix is
    positive definite, and some are 0 if it is only semidefinite. The result is None if the matrix is indefinite.

    >>> table = [[2, 1], [1, 2]]
    >>> eliminate(table), table[1][1], eliminate([[1, 1], [1, 1]]), eliminate([[1, 2], [2, 1]])
    ([2, 3], 3, [1, 0], None)
    """
    pivots: list[int] = []
    last = 1
    for k, top in enumerate(table):
        pivot = top[k]
        if pivot < 0 or (pivot == 0 and any(top[k + 1 :])):
            return None
        pivots.append(pivot)
        if pivot == 0:
            continue
        for i in range(k + 1, len(table)):
            row, factor = table[i], top[i]
            row[i:] = [
                (pivot * entry - factor * above) // last  # [P:exact-elimination]
                for entry, above in zip(row[i:], top[i:], strict=True)
            ]
        last = pivot
    return pivots


def exact_solution(matrix: BigIntArray, right: BigIntArray) -> tuple[Fraction, ...] | None:
    """Solve `matrix @ x = right` exactly for x. Return None if the matrix is not symmetric positive definite.

    The running time grows with the fourth power of the number of columns.

    >>> exact_solution(np.array([[4, 2], [2, 3]], dtype=object), np.array([8, 8], dtype=object))
    (Fraction(1, 1), Fraction(2, 1))
    """
    table = [[*row, last] for row, last in zip(matrix.tolist(), right.tolist(), strict=True)]
    pivots = eliminate(table)
    if pivots is None or 0 in pivots:
        return None
    size, determinant = len(table), pivots[-1]
    solved = [0] * size
    for i in reversed(range(size)):
        substituted = sum(table[i][j] * solved[j] for j in range(i + 1, size))
        solved[i] = (table[i][-1] * determinant - substituted) // table[i][i]
    return tuple(Fraction(value, determinant) for value in solved)


def factors(matrix: Int, bits: int) -> tuple[Int, list[int]]:
    """Return L and d such that L diag(d) L' approximates the matrix, in units of 2**-bits.

    Only the entries of L below the diagonal are set.
    """
    rest = matrix.copy()
    pivots: list[int] = []
    for j in range(len(rest)):
        # a pivot that rounds to zero gives a poor solution, which the caller does not certify
        pivot = max(int(rest[j, j]), 1)
        column = rest[j + 1 :, j].copy()
        rest[j + 1 :, j] = (column << bits) // pivot
        rest[j + 1 :, j + 1 :] -= np.multiply.outer(rest[j + 1 :, j], column) >> bits
        pivots.append(pivot)
    return rest, pivots


def solution(factored: tuple[Int, list[int]], right: Int, bits: int) -> Int:
    """Solve L diag(d) L' x = right approximately, in units of 2**-bits, given (L, d).

    >>> unit = 2**20
    >>> solved = solution(factors(np.array([[4 * unit]], dtype=object), 20), np.array([unit], dtype=object), 20)
    >>> solved.tolist() == [unit // 4]
    True
    """
    lower, pivots = factored
    out: Int = right.copy()
    for j in range(len(out)):
        out[j + 1 :] -= (lower[j + 1 :, j] * out[j]) >> bits
    out = (out << bits) // np.array(pivots, dtype=object)
    for j in reversed(range(len(out) - 1)):
        out[j] -= int(lower[j + 1 :, j] @ out[j + 1 :]) >> bits
    return out


# -- equations ---------------------------------------------------------------------------------------------------------
# Positive definite equations in integer units of 2**-bits. Doubles propose corrections, and integers verify them.

# bits by which each correction must be smaller than the last; otherwise doubles are too coarse for the matrix
_GAINED_BITS: Final = 4
# numbers with this many bits, and their products, fit into the range of doubles
_RANGE_BITS: Final = 400
# doubles hold integers up to 2**53, machine words up to 2**63
_EXACT_BITS: Final = 53
_WORD_BITS: Final = 62
# number of unknowns below which integer arithmetic is faster
_SMALL: Final = 20


class Equations:
    """Linear equations A x = right in units of 2**-bits, with a symmetric positive definite A.

    A is factored once in doubles, in cubic time. Each correction of a solution takes quadratic time. Residuals are
    exact, because they are computed from doubles that are integers below 2**53. If the residual does not become as
    small as rounding errors, A is factored in integers instead, which is slower. Small matrices are always factored in
    integers.

    >>> unit = 2**200
    >>> matrix = np.array([[4 * unit, 2 * unit], [2 * unit, 3 * unit]], dtype=object)
    >>> solved = Equations(matrix, 200).solution(np.array([8 * unit, 8 * unit], dtype=object))
    >>> [value / unit for value in solved]
    [1.0, 2.0]
    """

    def __init__(self, matrix: Int, bits: int) -> None:
        self._matrix = matrix
        self._bits = bits
        self._doubles = None if len(matrix) < _SMALL else _Doubles.of(matrix)
        self._factors: tuple[Int, list[int]] | None = None

    def solution(self, right: Int) -> Int:
        """Solve for one right-hand side. The error is a number of units that does not depend on `bits`."""
        refined = None if self._doubles is None else self._refined(self._doubles, right)
        if refined is not None:
            return refined
        if self._factors is None:
            self._factors = factors(self._matrix, self._bits)
        return solution(self._factors, right, self._bits)

    def _refined(self, doubles: _Doubles, right: Int) -> Int | None:
        """Correct the solution until corrections are at most one unit.

        Return None if the corrections shrink too slowly, or if the final residual is too large.
        """
        residual = right << self._bits
        solution: Int = np.zeros(len(right), dtype=object)
        last_size: int | None = None
        while last_size is None or last_size > 1:
            numbers, exponent = doubles.correction(residual)
            step = numbers.astype(np.int64).astype(object) << exponent
            size = _bit_length(step)
            if last_size is not None and size > max(last_size - _GAINED_BITS, 1):
                return None
            solution = solution + step
            residual = residual - doubles.product(numbers, exponent, step)
            last_size = size
        # twice the largest residual of a correctly rounded solution
        allowed = 2 * len(right) * int(max(np.diagonal(self._matrix)))
        return solution if max(map(abs, residual)) <= allowed else None  # [P:small-residual]


class _Doubles:
    """Approximate inverse of a matrix in doubles, and exact products of the matrix with integers."""

    def __init__(self, matrix: Int, inverse: FloatArray, scale: FloatArray, shift: int) -> None:
        self._inverse = inverse
        self._scale = scale
        self._shift = shift
        self._diagonal = np.diagonal(matrix)
        off = matrix.copy()
        np.fill_diagonal(off, 0)
        # off-diagonal entries often share trailing zero bits
        joint = int(np.bitwise_or.reduce(abs(off), axis=None))
        self._zeros = max((joint & -joint).bit_length() - 1, 0)
        self._width = (_EXACT_BITS - len(matrix).bit_length()) // 2
        self._limbs = _limbs(off >> self._zeros, joint.bit_length() - self._zeros, self._width)

    @classmethod
    def of(cls, matrix: Int) -> _Doubles | None:
        """Convert a matrix to doubles and invert it. Return None if it is not numerically positive definite."""
        lengths = [int(value).bit_length() for value in np.diagonal(matrix)]
        shift = max(max(lengths) - _RANGE_BITS, 0)
        # powers of two that scale the positive diagonal into [1/4, 1], so that no entry is larger than 1
        scale = np.ldexp(1.0, [-((length - shift + 1) // 2) for length in lengths])
        with one_blas_thread():
            try:
                factor = np.linalg.cholesky((matrix >> shift).astype(np.float64) * scale[:, None] * scale)
                inverse = np.linalg.inv(factor)
            except np.linalg.LinAlgError:
                return None
        return cls(matrix, inverse, scale, shift)

    def correction(self, residual: Int) -> tuple[FloatArray, int]:
        """Solve approximately for a residual. Return integers of at most 2 * `width` bits and a power of two."""
        beyond = max(_bit_length(residual) - _RANGE_BITS, 0)
        part = (residual >> beyond).astype(np.float64) * self._scale
        with one_blas_thread():
            step = self._inverse.T @ (self._inverse @ part) * self._scale
        # numbers below 2**above, in units of 2**(beyond - shift)
        above = int(np.frexp(np.abs(step).max())[1])
        exponent = max(above + beyond - self._shift - 2 * self._width, 0)
        return np.rint(np.ldexp(step, beyond - self._shift - exponent)), exponent

    def product(self, numbers: FloatArray, exponent: int, step: Int) -> Int:
        """Return the exact product of the matrix and a step, which is `numbers` times a power of two."""
        high = np.rint(np.ldexp(numbers, -self._width))
        halves = np.stack([high, numbers - np.ldexp(high, self._width)])
        total: Int = np.zeros(len(numbers), dtype=object)
        with one_blas_thread():
            for limb in reversed(self._limbs):
                upper, lower = (halves @ limb).astype(np.int64).astype(object)  # [P:exact-limbs]
                total = (total << self._width) + (upper << self._width) + lower
        product: Int = (total << self._zeros + exponent) + self._diagonal * step
        return product


def _limbs(matrix: Int, bits: int, width: int) -> list[FloatArray]:
    """Split integers below 2**bits in absolute value into digits of `width` bits, the lowest digit first.

    The highest digit carries the sign.
    """
    mask = (1 << width) - 1
    digits = bits // width + 1
    in_word = _WORD_BITS // width
    limbs = []
    for first in range(0, digits, in_word):
        rest = matrix >> first * width
        last = first + in_word >= digits
        word = (rest if last else rest & ((1 << in_word * width) - 1)).astype(np.int64)
        for index in range(first, min(first + in_word, digits)):
            digit = word >> (index - first) * width
            limbs.append((digit if index == digits - 1 else digit & mask).astype(np.float64))
    return limbs


def _bit_length(values: Int) -> int:
    """Return the number of bits of the largest absolute value."""
    return int(max(map(abs, values))).bit_length()


# -- eigenvalue --------------------------------------------------------------------------------------------------------
# The exact floor of the smallest eigenvalue of an integer Gram matrix. Proof: eigenvalue.proof.md.

IntMatrix: TypeAlias = Sequence[Sequence[int]]

# bits of an integer approximation of a unit vector, more than a double has
_VECTOR_BITS: Final = 62


def smallest_eigenvalue(gram: IntMatrix) -> int:
    """Return the largest integer t for which gram - t I is positive semidefinite.

    `gram` is a symmetric positive semidefinite matrix of integers, such as a sum of outer products of integer rows.
    Doubles only suggest where to search. Integer comparisons decide, so the result depends on the matrix alone and not
    on the machine.

    >>> [smallest_eigenvalue(gram) for gram in ([[2, 1], [1, 2]], [[3, 1], [1, 2]], [[4, 2], [2, 1]])]
    [1, 1, 0]
    """
    high = _rayleigh_floor(gram, _direction(gram))  # [P:rayleigh-bound]
    if high == 0 or _is_semidefinite_at(gram, high):
        return high
    step = 1
    while (low := max(high - step, 0)) > 0 and not _is_semidefinite_at(gram, low):
        high, step = low, 2 * step
    while high - low > 1:  # [P:eigenvalue-search]
        middle = (low + high) // 2
        low, high = (middle, high) if _is_semidefinite_at(gram, middle) else (low, middle)
    return low


def _direction(gram: IntMatrix) -> list[int]:
    """Approximate, as an integer vector, the eigenvector of the smallest eigenvalue.

    Any nonzero vector would be valid, but a good one makes the search short.
    """
    try:
        vectors = np.linalg.eigh(np.array(gram, dtype=np.float64))[1]
    except np.linalg.LinAlgError:
        vectors = np.eye(len(gram))
    return [round(float(value) * 2**_VECTOR_BITS) for value in vectors[:, 0]]


def _rayleigh_floor(gram: IntMatrix, vector: Sequence[int]) -> int:
    """Return the Rayleigh quotient of an integer vector, rounded down to an integer."""
    products = (sum(entry * value for entry, value in zip(row, vector, strict=True)) for row in gram)
    form = sum(value * product for value, product in zip(vector, products, strict=True))
    return form // sum(value * value for value in vector)


def _is_semidefinite_at(gram: IntMatrix, shift: int) -> bool:
    """Return whether gram - shift * I is positive semidefinite."""
    shifted = [[*row[:i], row[i] - shift, *row[i + 1 :]] for i, row in enumerate(gram)]
    return eliminate(shifted) is not None


# -- triangle ----------------------------------------------------------------------------------------------------------
# Symmetric matrices stored as their upper triangle, row by row: (0, 0), (0, 1), ..., (1, 1), ...

_Entry = TypeVar("_Entry", bound=np.generic)


def entry_count(size: int) -> int:
    """Return the number of entries in the upper triangle of a square matrix with `size` rows.

    >>> entry_count(3)
    6
    """
    return size * (size + 1) // 2


def size_of(entries: int) -> int:
    """Return the number of rows of the square matrix whose upper triangle has `entries` entries.

    >>> size_of(6)
    3
    """
    return (math.isqrt(8 * entries + 1) - 1) // 2


def pairs(size: int) -> list[tuple[int, int]]:
    """List the index pairs (i, j) with i <= j in the order in which a triangle is stored.

    >>> pairs(2)
    [(0, 0), (0, 1), (1, 1)]
    """
    return [(i, j) for i in range(size) for j in range(i, size)]


def position(i: int, j: int, size: int) -> int:
    """Return the index of entry (i, j) in a stored triangle, where i <= j.

    >>> [position(i, j, 3) for i, j in pairs(3)]
    [0, 1, 2, 3, 4, 5]
    """
    return i * size - i * (i - 1) // 2 + j - i


def upper_triangle(matrix: BigIntArray) -> tuple[int, ...]:
    """Return the upper triangle of an integer matrix, row by row.

    >>> upper_triangle(np.array([[1, 2], [2, 3]], dtype=object))
    (1, 2, 3)
    """
    return tuple(chain.from_iterable(row[i:].tolist() for i, row in enumerate(matrix)))


def symmetric(upper: Iterable[float], size: int) -> FloatArray:
    """Build a symmetric matrix of doubles from its upper triangle.

    >>> symmetric([1, 2, 3], 2).tolist()
    [[1.0, 2.0], [2.0, 3.0]]
    """
    return _mirrored(np.fromiter(upper, np.float64), size)


def symmetric_integers(upper: Iterable[int], size: int) -> BigIntArray:
    """Build a symmetric matrix of unbounded integers from its upper triangle.

    >>> symmetric_integers([1, 2, 3], 2).tolist()
    [[1, 2], [2, 3]]
    """
    return _mirrored(np.fromiter(upper, np.dtype(object)), size)


def _mirrored(upper: npt.NDArray[_Entry], size: int) -> npt.NDArray[_Entry]:
    if len(upper) != entry_count(size):
        raise ValueError(f"expected {entry_count(size)} entries in the upper triangle, got {len(upper)}")
    out = np.empty((size, size), dtype=upper.dtype)
    rows, columns = np.triu_indices(size)
    out[rows, columns] = out[columns, rows] = upper
    return out
