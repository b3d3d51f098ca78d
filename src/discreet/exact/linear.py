"""Linear equations in integers: exact by elimination, or in units of 2**-bits, where only divisions round."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.exact.arrays import BigIntArray

# integers without limit of size
Int: TypeAlias = npt.NDArray[Any]


def eliminate(table: list[list[int]]) -> list[int] | None:
    """Elimination without fractions [Bareiss 1968] of a symmetric matrix, in place; its pivots, or None.

    Every entry on and right of the diagonal becomes a minor of the matrix, so no division leaves a remainder. The
    pivots are positive if the matrix is positive definite, and some are 0 if it is semidefinite only; None if it is
    neither.

    Parameters
    ----------
    table
        Rows of the matrix, which may go on with entries of right-hand sides. What is left of the diagonal is not read.

    Examples
    --------
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
    """The exact solution x of matrix x = right for a symmetric positive definite matrix of integers, else None.

    The time grows with the fourth power of the number of columns.

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
        known = sum(table[i][j] * solved[j] for j in range(i + 1, size))
        solved[i] = (table[i][-1] * determinant - known) // table[i][i]
    return tuple(Fraction(value, determinant) for value in solved)


def factors(matrix: Int, bits: int) -> tuple[Int, list[int]]:
    """L and d with L diag(d) L' close to the matrix, in units of 2**-bits; below the diagonal of L only."""
    rest = matrix.copy()
    pivots: list[int] = []
    for j in range(len(rest)):
        # a pivot that rounding left at nothing makes a poor solution, which is then not certified
        pivot = max(int(rest[j, j]), 1)
        column = rest[j + 1 :, j].copy()
        rest[j + 1 :, j] = (column << bits) // pivot
        rest[j + 1 :, j + 1 :] -= np.multiply.outer(rest[j + 1 :, j], column) >> bits
        pivots.append(pivot)
    return rest, pivots


def solution(factored: tuple[Int, list[int]], right: Int, bits: int) -> Int:
    """Close to the solution x of L diag(d) L' x = right, in units of 2**-bits.

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
