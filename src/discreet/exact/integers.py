"""Linear equations in integer numbers of units of 2**-bits: no rounding but that of divisions, to any precision."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

# integers without limit of size
Int: TypeAlias = npt.NDArray[Any]


def symmetric_integers(totals: Sequence[int], size: int) -> Int:
    """The symmetric matrix of an upper triangle, row by row.

    >>> symmetric_integers([1, 2, 3], 2).tolist()
    [[1, 2], [2, 3]]
    """
    full = np.zeros((size, size), dtype=object)
    for (i, j), total in zip(itertools.combinations_with_replacement(range(size), 2), totals, strict=True):
        full[i, j] = full[j, i] = total
    return full


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
