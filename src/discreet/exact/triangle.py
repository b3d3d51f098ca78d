"""Symmetric matrices as their upper triangle, row by row: (0, 0), (0, 1), ..., (1, 1), ..."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from discreet.exact.arrays import BigIntArray, FloatArray


def entry_count(size: int) -> int:
    """How many entries the triangle of a matrix of this size has.

    >>> entry_count(3)
    6
    """
    return size * (size + 1) // 2


def size_of(entries: int) -> int:
    """The size of the matrix whose triangle has so many entries.

    >>> size_of(6)
    3
    """
    return (math.isqrt(8 * entries + 1) - 1) // 2


def pairs(size: int) -> list[tuple[int, int]]:
    """The indices (i, j), i <= j, in order.

    >>> pairs(2)
    [(0, 0), (0, 1), (1, 1)]
    """
    return [(i, j) for i in range(size) for j in range(i, size)]


def position(i: int, j: int, size: int) -> int:
    """Where the entry (i, j), i <= j, stands in the triangle.

    >>> [position(i, j, 3) for i, j in pairs(3)]
    [0, 1, 2, 3, 4, 5]
    """
    return i * size - i * (i - 1) // 2 + j - i


def symmetric(upper: Iterable[float], size: int) -> FloatArray:
    """The symmetric matrix of a triangle, of doubles.

    >>> symmetric([1, 2, 3], 2).tolist()
    [[1.0, 2.0], [2.0, 3.0]]
    """
    out = np.empty((size, size))
    for (i, j), value in zip(pairs(size), upper, strict=True):
        out[i, j] = out[j, i] = value
    return out


def symmetric_integers(upper: Iterable[int], size: int) -> BigIntArray:
    """The symmetric matrix of a triangle, of integers without limit of size.

    >>> symmetric_integers([1, 2, 3], 2).tolist()
    [[1, 2], [2, 3]]
    """
    out: BigIntArray = np.empty((size, size), dtype=object)
    for (i, j), value in zip(pairs(size), upper, strict=True):
        out[i, j] = out[j, i] = value
    return out
