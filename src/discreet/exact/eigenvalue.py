"""The smallest eigenvalue of a Gram of integer rows, rounded down, exactly computed. Proof: eigenvalue.proof.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np

from discreet.exact.linear import eliminate

IntMatrix: TypeAlias = Sequence[Sequence[int]]

# a unit vector in integers: finer than the doubles it comes from
_VECTOR_BITS: Final = 62


def smallest_eigenvalue(gram: IntMatrix) -> int:
    """The largest integer t for which gram - t I is positive semidefinite.

    Doubles only propose where to look; comparisons of integers decide, so that the result is a function of the
    matrix alone, whatever the machine.

    Parameters
    ----------
    gram
        Symmetric positive semidefinite matrix of integers, such as a sum of products of whole rows.

    Examples
    --------
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
    """A whole vector close to the direction of the smallest eigenvalue; any vector but 0 would do."""
    try:
        vectors = np.linalg.eigh(np.array(gram, dtype=np.float64))[1]
    except np.linalg.LinAlgError:
        vectors = np.eye(len(gram))
    return [round(float(value) * 2**_VECTOR_BITS) for value in vectors[:, 0]]


def _rayleigh_floor(gram: IntMatrix, vector: Sequence[int]) -> int:
    """The Rayleigh quotient of a whole vector, rounded down."""
    products = (sum(entry * value for entry, value in zip(row, vector, strict=True)) for row in gram)
    form = sum(value * product for value, product in zip(vector, products, strict=True))
    return form // sum(value * value for value in vector)


def _is_semidefinite_at(gram: IntMatrix, shift: int) -> bool:
    """Whether gram - shift I is positive semidefinite."""
    moved = [[*row[:i], row[i] - shift, *row[i + 1 :]] for i, row in enumerate(gram)]
    return eliminate(moved) is not None
