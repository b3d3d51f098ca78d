"""Define array types, project integer rows onto a ball, and limit the threads of BLAS."""

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
# Array types by element type.

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
# integers of any size
BigIntArray: TypeAlias = npt.NDArray[np.object_]


# -- ball --------------------------------------------------------------------------------------------------------------
# Exact projection of integer rows onto a ball.

# relative margin, far above the rounding error of three double operations and far below one grid step
_INWARDS = 1 - 2**-40
# relative margin, far above the rounding error of a sum of fewer than 2**20 squares in doubles
_SURELY = 1 - 2**-30


def shrink_to_ball(x: FloatArray, norm2: int) -> None:
    """Shrink columns of the integer array `x` in place until no squared norm exceeds `norm2`.

    A column outside the ball is scaled onto it and rounded to the nearest grid point. If the rounded column is outside
    again, the scaled column is truncated towards zero instead. Integer arithmetic decides which columns are outside, so
    the result does not depend on the order of summation. Columns that are clearly inside are skipped.

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
    # truncation never lengthens a column, and the scaled column is inside by _INWARDS
    x[:, outside] = np.where(still_outside, np.trunc(scaled), rounded)  # [P:inside-ball]


def _norm2(x: FloatArray) -> npt.NDArray[np.int64]:
    whole = x.astype(np.int64)
    total: npt.NDArray[np.int64] = np.einsum("ij,ij->j", whole, whole)
    return total


# -- blas threads ------------------------------------------------------------------------------------------------------
# One thread for matrix products.
#
# The matrices are small, so several threads would spend most of their time on synchronisation. The number of threads is
# a property of the process, so only the first of several concurrent callers sets and restores it.

_OTHER_BLAS: Final = ("scipy.linalg", "scipy.special")  # these load a second BLAS library
_limit_lock: Final = threading.Lock()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread inside the `with` block."""
    if not _limit_lock.acquire(blocking=False):
        # a second caller would restore the limit that the first one set
        yield
        return
    try:
        with _controller(*(name in sys.modules for name in _OTHER_BLAS)).limit(limits=1, user_api="blas"):
            yield
    finally:
        _limit_lock.release()


@cache
def _controller(*_loaded: bool) -> ThreadpoolController:
    """Find the BLAS libraries that are loaded. The result is cached because the search is slow."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
