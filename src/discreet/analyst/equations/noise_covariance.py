"""Variances of what the noise of a release does to sums, for a symmetric F with independent entries of known variance.

T_ij is the variance of F_ij = F_ji. Everything here is exact whatever the size of the noise, because it is linear in F.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from discreet.exact.arrays import FloatArray


def product_covariance(variance: FloatArray, t: FloatArray) -> FloatArray:
    """Covariance of F t: T_ik t_i t_k off the diagonal and sum_l T_il t_l^2 on it, shape (p, p).

    For m rows t, of shape (m, p), it is one such matrix for each. It is also the matrix K with Var(t'F s) = s'K s.

    >>> product_covariance(np.array([[1.0, 2.0], [2.0, 3.0]]), np.array([1.0, -1.0]))
    array([[ 3., -2.],
           [-2.,  5.]])
    """
    out: FloatArray = variance * (t[..., :, None] * t[..., None, :])
    index = np.arange(len(variance))
    out[..., index, index] = (variance @ (t**2).T).T
    return out


def form_covariance(variance: FloatArray, W: FloatArray, S: FloatArray, T: FloatArray) -> FloatArray:
    """Cov(w'F s, w'F t) for each row w, s, t of three matrices, shape (m,).

    It is sum_i w_i^2 sum_l T_il s_l t_l + sum_{i != k} w_i w_k T_ik s_i t_k.

    Parameters
    ----------
    variance
        T, shape (p, p).
    W, S, T
        Shapes (m, p), or (1, p) for one row that serves all.

    Examples
    --------
    >>> row = np.array([[1.0, -1.0]])
    >>> form_covariance(np.array([[1.0, 2.0], [2.0, 3.0]]), row, row, row)
    array([12.])
    """
    off = variance - np.diag(variance.diagonal())
    own = (W**2 * ((S * T) @ variance)).sum(axis=1)
    return cast("FloatArray", own + (((W * S) @ off) * (W * T)).sum(axis=1))


def square_covariance(variance: FloatArray, s: FloatArray, t: FloatArray) -> float:
    """Cov(s'F s, t'F t) = 2 r'T r - sum_i T_ii r_i^2 with r_i = s_i t_i.

    >>> square_covariance(np.array([[1.0, 2.0], [2.0, 3.0]]), np.array([1.0, -1.0]), np.array([1.0, -1.0]))
    12.0
    """
    r = s * t
    return float(2 * r @ variance @ r - variance.diagonal() @ r**2)
