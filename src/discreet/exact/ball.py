"""Rows of integers shrunk into a ball, exactly."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from discreet.exact.arrays import FloatArray

# a relative step far above the rounding of three double operations and far below one grid step
_INWARDS = 1 - 2**-40
# a relative step far above the rounding of a sum of squares in doubles
_SURELY = 1 - 2**-30


def shrink_to_ball(x: FloatArray, norm2: int) -> None:
    """Shrink the columns of `x` (integers) in place so that no squared norm exceeds `norm2`, exactly.

    A column outside is scaled onto the ball and rounded to the nearest grid point; the few that rounding pushes out
    again are cut towards zero instead. Norms that decide are whole-number arithmetic, so no summation order matters;
    most columns are further inside than a sum of fewer than 2**20 squares in doubles can be wrong.

    >>> x = np.array([[3.0], [4.0]]); shrink_to_ball(x, 16); x.ravel().tolist()
    [2.0, 3.0]
    """
    near = np.flatnonzero(np.einsum("ij,ij->j", x, x) > norm2 * _SURELY)
    if near.size == 0:
        return
    exact = _norm2(x[:, near])
    beyond = exact > norm2
    outside = near[beyond]
    rows = x[:, outside]
    scale = math.sqrt(norm2) / np.sqrt(exact[beyond].astype(np.float64)) * _INWARDS
    scaled = rows * scale
    rounded = np.rint(scaled)
    still_outside = _norm2(rounded) > norm2
    # truncation never lengthens, and the scaled column is inside by _INWARDS
    x[:, outside] = np.where(still_outside, np.trunc(scaled), rounded)  # [P:inside-ball]


def _norm2(x: FloatArray) -> npt.NDArray[np.int64]:
    whole = x.astype(np.int64)
    total: npt.NDArray[np.int64] = np.einsum("ij,ij->j", whole, whole)
    return total
