"""Define array types, projection onto a ball, and the number of BLAS threads."""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

# -- arrays ------------------------------------------------------------------------------------------------------------
# Array types by their element.

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
# integers without limit
BigIntArray: TypeAlias = npt.NDArray[np.object_]


# -- ball --------------------------------------------------------------------------------------------------------------
# Rows of integers shrunk into a ball, exactly.

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


# -- blas threads ------------------------------------------------------------------------------------------------------
# One thread for products of matrices.
#
# They are small: with several threads most of the time goes into waiting for one another, and beside other busy
# programs nearly all of it. The number of threads belongs to the whole process, so one of several that sum at once sets
# it, and the same one sets it back.

_WITH_ITS_OWN: Final = ("scipy.linalg", "scipy.special")  # these load a matrix library beside that of NumPy
_set_by_somebody: Final = threading.Lock()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit the matrix library to one thread inside the block.

    >>> with one_blas_thread():
    ...     pass
    """
    if not _set_by_somebody.acquire(blocking=False):
        # two that set it would set back what the other one found
        yield
        return
    try:
        with _controller(*(name in sys.modules for name in _WITH_ITS_OWN)).limit(limits=1, user_api="blas"):
            yield
    finally:
        _set_by_somebody.release()


@cache
def _controller(*_loaded: bool) -> ThreadpoolController:
    """The libraries that are loaded by now; looking for them takes longer than setting them."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
