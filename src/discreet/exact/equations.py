"""Positive definite equations in integer units of 2**-bits: doubles propose corrections, integers judge them."""

from __future__ import annotations

from typing import Final

import numpy as np

from discreet.exact.arrays import FloatArray
from discreet.exact.blas_threads import one_blas_thread
from discreet.exact.linear import Int, factors, solution

# a correction must be smaller than the one before by this many bits, or doubles are not good enough for the matrix
_GAINED_BITS: Final = 4
# numbers of so many bits, and their products, are far inside the range of doubles
_RANGE_BITS: Final = 400
# doubles hold integers up to 2**53, integers of one word up to 2**63
_EXACT_BITS: Final = 53
_WORD_BITS: Final = 62
# with fewer unknowns integers are faster
_SMALL: Final = 20


class Equations:
    """Equations A x = right with a symmetric positive definite A, in units of 2**-bits.

    A is factored in doubles, once, which takes time by the cube of its size. Each correction of a solution takes time
    by the square: the residual is exact, through sums of doubles that are integers below 2**53. Where that does not
    end at a residual as small as rounding leaves, A is factored in integers, which takes longer; so are small ones, for
    which it does not.

    Parameters
    ----------
    matrix
        A in units of 2**-bits.
    bits
        Bits after the point of all numbers.

    Examples
    --------
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
        """Close to the solution, within a number of units that does not depend on the bits."""
        found = None if self._doubles is None else self._refined(self._doubles, right)
        if found is not None:
            return found
        if self._factors is None:
            self._factors = factors(self._matrix, self._bits)
        return solution(self._factors, right, self._bits)

    def _refined(self, doubles: _Doubles, right: Int) -> Int | None:
        """Corrections until they are at most one unit; none if they, or what they leave, do not become small."""
        residual = right << self._bits
        found: Int = np.zeros(len(right), dtype=object)
        before: int | None = None
        while before is None or before > 1:
            numbers, exponent = doubles.correction(residual)
            step = numbers.astype(np.int64).astype(object) << exponent
            size = _bit_length(step)
            if before is not None and size > max(before - _GAINED_BITS, 1):
                return None
            found = found + step
            residual = residual - doubles.product(numbers, exponent, step)
            before = size
        # twice what a solution rounded to units would leave
        allowed = 2 * len(right) * int(max(np.diagonal(self._matrix)))
        return found if max(map(abs, residual)) <= allowed else None  # [P:small-residual]


class _Doubles:
    """A matrix in doubles: its inverse, roughly, and its product with integers, exactly."""

    def __init__(self, matrix: Int, inverse: FloatArray, scale: FloatArray, shift: int) -> None:
        self._inverse = inverse
        self._scale = scale
        self._shift = shift
        self._diagonal = np.diagonal(matrix)
        off = matrix.copy()
        np.fill_diagonal(off, 0)
        # off the diagonal numbers often end with zeros in common
        joint = int(np.bitwise_or.reduce(abs(off), axis=None))
        self._zeros = max((joint & -joint).bit_length() - 1, 0)
        self._width = (_EXACT_BITS - len(matrix).bit_length()) // 2
        self._limbs = _limbs(off >> self._zeros, joint.bit_length() - self._zeros, self._width)

    @classmethod
    def of(cls, matrix: Int) -> _Doubles | None:
        """None if the matrix is not positive definite as far as doubles show."""
        lengths = [int(value).bit_length() for value in np.diagonal(matrix)]
        shift = max(max(lengths) - _RANGE_BITS, 0)
        # powers of two that bring a diagonal of positive numbers to [1/4, 1], so that no entry is larger
        scale = np.ldexp(1.0, [-((length - shift + 1) // 2) for length in lengths])
        with one_blas_thread():
            try:
                factor = np.linalg.cholesky((matrix >> shift).astype(np.float64) * scale[:, None] * scale)
                inverse = np.linalg.inv(factor)
            except np.linalg.LinAlgError:
                return None
        return cls(matrix, inverse, scale, shift)

    def correction(self, residual: Int) -> tuple[FloatArray, int]:
        """The solution for a residual, roughly, as integers of at most 2 `width` bits times a power of two."""
        beyond = max(_bit_length(residual) - _RANGE_BITS, 0)
        part = (residual >> beyond).astype(np.float64) * self._scale
        with one_blas_thread():
            step = self._inverse.T @ (self._inverse @ part) * self._scale
        # numbers below 2**above, in units of 2**(beyond - shift)
        above = int(np.frexp(np.abs(step).max())[1])
        exponent = max(above + beyond - self._shift - 2 * self._width, 0)
        return np.rint(np.ldexp(step, beyond - self._shift - exponent)), exponent

    def product(self, numbers: FloatArray, exponent: int, step: Int) -> Int:
        """The matrix times a step, exactly; the step is `numbers` times a power of two."""
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
    """Integers below 2**bits in size as digits of `width` bits, lowest first; the highest carries the sign."""
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
    """Bits of the largest of some integers."""
    return int(max(map(abs, values))).bit_length()
