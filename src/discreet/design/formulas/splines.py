"""Clamped B-spline basis with declared knots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from discreet.exact.arrays import FloatArray

# 2**40 steps per unit: far below the grid of a release, far above what rounding can add to a sum
_STEPS: Final = 2.0**40


def basis(x: FloatArray, knots: Sequence[float], degree: int, bounds: tuple[float, float]) -> FloatArray:
    """All basis functions, the first included, shape (knots + degree + 1, rows).

    The recursion of Cox and de Boor [de Boor 1978, chapter X, eq. (8)] with both weights of a step divided separately:
    no term is negative and both ends are exact. The functions sum to 1 up to a relative rounding error of at most
    6 * degree units of 2**-53. Each value is then rounded down to a multiple of 2**-40: the sum of a row is now a
    multiple of 2**-40 below 1 + 2**-40, so at most 1. Values in [0, 1] with a sum of at most 1 have a sum of squares of
    at most 1, exactly and not only up to rounding.

    Parameters
    ----------
    x
        Values, shape (rows,); moved to the nearer bound where they lie outside.
    knots
        Increasing inner knots, strictly inside the bounds.
    degree
        Degree of the pieces.
    bounds
        Ends of the range, where the outer knots are.

    Examples
    --------
    >>> basis(np.array([0.0, 0.5, 2.0]), [1.0], 1, (0.0, 2.0))
    array([[1. , 0.5, 0. ],
           [0. , 0.5, 0. ],
           [0. , 0. , 1. ]])
    """
    low, high = bounds
    x = np.where(x < low, low, np.where(x > high, high, x))
    every = np.array([low] * (degree + 1) + list(knots) + [high] * (degree + 1))
    span = np.zeros(len(x), np.intp)
    for knot in knots:
        span += x >= knot
    active = [np.ones(len(x))]
    for step in range(1, degree + 1):
        following = [np.zeros(len(x)) for _ in range(step + 1)]
        for index, value in enumerate(active):
            left = every[span + (degree + 1 + index - step)]
            right = every[span + (degree + 1 + index)]
            width = right - left
            following[index] = following[index] + value * ((right - x) / width)
            following[index + 1] = value * ((x - left) / width)
        active = following
    out = np.zeros((len(knots) + degree + 1, len(x)))
    rows = np.arange(len(x))
    for index, value in enumerate(active):
        out[span + index, rows] = np.floor(value * _STEPS) / _STEPS
    return out
