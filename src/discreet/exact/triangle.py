"""Symmetric matrices as their upper triangle, row by row: (0, 0), (0, 1), ..., (1, 1), ..."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import chain
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from discreet.exact.arrays import BigIntArray, FloatArray

_Entry = TypeVar("_Entry", bound=np.generic)


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


def upper_triangle(matrix: BigIntArray) -> tuple[int, ...]:
    """The triangle of a matrix of integers.

    >>> upper_triangle(np.array([[1, 2], [2, 3]], dtype=object))
    (1, 2, 3)
    """
    return tuple(chain.from_iterable(row[i:].tolist() for i, row in enumerate(matrix)))


def symmetric(upper: Iterable[float], size: int) -> FloatArray:
    """The symmetric matrix of a triangle, of doubles.

    >>> symmetric([1, 2, 3], 2).tolist()
    [[1.0, 2.0], [2.0, 3.0]]
    """
    return _mirrored(np.fromiter(upper, np.float64), size)


def symmetric_integers(upper: Iterable[int], size: int) -> BigIntArray:
    """The symmetric matrix of a triangle, of integers without limit of size.

    >>> symmetric_integers([1, 2, 3], 2).tolist()
    [[1, 2], [2, 3]]
    """
    return _mirrored(np.fromiter(upper, np.dtype(object)), size)


def _mirrored(upper: npt.NDArray[_Entry], size: int) -> npt.NDArray[_Entry]:
    if len(upper) != entry_count(size):
        raise ValueError(f"expected {entry_count(size)} entries of a triangle, got {len(upper)}")
    out = np.empty((size, size), dtype=upper.dtype)
    rows, columns = np.triu_indices(size)
    out[rows, columns] = out[columns, rows] = upper
    return out
