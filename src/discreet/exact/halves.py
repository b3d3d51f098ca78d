"""Doubles as pairs of 32-bit integers and back, bit for bit."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.exact.arrays import FloatArray


def halves(values: FloatArray) -> npt.NDArray[np.int32]:
    """The two halves of each double, low one first, shape (2, m); -0.0 is taken as 0.0.

    >>> halves(np.array([1.0, -0.0])).tolist()
    [[0, 0], [1072693248, 0]]
    """
    plain = np.ascontiguousarray(values + 0.0, dtype="<f8")
    return plain.view("<i4").reshape(-1, 2).T.astype(np.int32)


def doubles(pair: npt.NDArray[np.generic]) -> FloatArray:
    """The doubles whose halves are given, shape (2, m), in any type that holds them.

    >>> doubles(halves(np.array([0.1, -3e300]))).tolist()
    [0.1, -3e+300]
    """
    low_first = np.ascontiguousarray(pair.T, dtype="<i4")
    return low_first.view("<f8").reshape(-1).astype(np.float64)
