"""Variances of what the noise of a release does to sums, for a symmetric F with entries of known variance.

T_ij is the variance of F_ij = F_ji. The entries are independent, but for indicators: the sum of such a column j is its
sum of squares, both were released as one number, and F_jj = F_0j. What a linear form a_0j F_0j + a_jj F_jj of both
has beside two independent entries is the covariance of the two, r_j = T_0j = T_jj:

    Cov(a, b) = independent + sum_j r_j (a_0j b_jj + a_jj b_0j).

In F t, F_0j has the weight t_j in row 0 and t_0 in row j, and F_jj the weight t_j in row j. So the entry (0, j) of the
covariance of F t gains r_j t_j^2 and the entry (j, j) gains 2 r_j t_0 t_j. In w'F s the weights of the two are
w_0 s_j + w_j s_0 and w_j s_j, in s'F s they are 2 s_0 s_j and s_j^2; the functions below put these in.

Everything here is exact whatever the size of the noise, because it is linear in F.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np

from discreet.exact.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class EntryNoise:
    """Which entries of the noise F are how large, and which are the same.

    Attributes
    ----------
    sd
        Standard deviations, shape (p, p); 0 where there is no noise.
    copies
        Columns j of indicators with F_jj = F_0j.

    Examples
    --------
    >>> EntryNoise(np.array([[1.0, 2.0], [2.0, 2.0]]), (1,)).shared
    array([0., 4.])
    """

    sd: FloatArray
    copies: tuple[int, ...] = ()

    @cached_property
    def variance(self) -> FloatArray:
        """T, shape (p, p)."""
        variance: FloatArray = self.sd**2
        return variance

    @cached_property
    def shared(self) -> FloatArray:
        """Covariance r_j of F_0j and F_jj, shape (p,)."""
        out = np.zeros(len(self.sd))
        columns = list(self.copies)
        out[columns] = self.variance[0, columns]
        return out

    def __bool__(self) -> bool:
        return bool(self.sd.any())

    def without_last(self) -> EntryNoise:
        """The noise of all columns but the last, which is the target."""
        last = len(self.sd) - 1
        return EntryNoise(self.sd[:-1, :-1], tuple(j for j in self.copies if j < last))


def product_covariance(noise: EntryNoise, t: FloatArray) -> FloatArray:
    """Covariance of F t: T_ik t_i t_k off the diagonal and sum_l T_il t_l^2 on it, shape (p, p).

    For m rows t, of shape (m, p), it is one such matrix for each. It is also the matrix K with Var(t'F s) = s'K s.

    >>> product_covariance(EntryNoise(np.sqrt([[1.0, 2.0], [2.0, 3.0]])), np.array([1.0, -1.0])).round(12)
    array([[ 3., -2.],
           [-2.,  5.]])
    """
    return averaged_covariance(noise.variance, noise.shared, t[..., :, None] * t[..., None, :])


def averaged_covariance(variance: FloatArray, shared: FloatArray, moments: FloatArray) -> FloatArray:
    """Covariance of F t, averaged over t with these second moments, shape (..., p, p).

    Parameters
    ----------
    variance
        T, shape (p, p).
    shared
        Covariance of F_0j and F_jj, shape (p,).
    moments
        Shape (..., p, p).
    """
    out: FloatArray = variance * moments
    index = np.arange(len(variance))
    squares = moments[..., index, index]
    out[..., index, index] = squares @ variance + 2 * shared * moments[..., 0, :]
    out[..., 0, :] += shared * squares
    out[..., :, 0] += shared * squares
    return out


def form_covariance(noise: EntryNoise, W: FloatArray, S: FloatArray, T: FloatArray) -> FloatArray:
    """Cov(w'F s, w'F t) for each row w, s, t of three matrices, shape (..., m).

    It is sum_i w_i^2 sum_l T_il s_l t_l + sum_{i != k} w_i w_k T_ik s_i t_k, and of indicators
    sum_j r_j w_j (2 w_0 s_j t_j + w_j (s_0 t_j + s_j t_0)).

    Parameters
    ----------
    noise
        F, shape (p, p).
    W, S, T
        Shapes (..., m, p), or (..., 1, p) for one row that serves all.

    Examples
    --------
    >>> row = np.array([[1.0, -1.0]])
    >>> form_covariance(EntryNoise(np.sqrt([[1.0, 2.0], [2.0, 3.0]])), row, row, row).round(12)
    array([12.])
    """
    variance = noise.variance
    off = variance - np.diag(variance.diagonal())
    own = (W**2 * ((S * T) @ variance)).sum(axis=-1)
    both = W * (2 * W[..., :1] * S * T + W * (S[..., :1] * T + S * T[..., :1])) @ noise.shared
    return cast("FloatArray", own + (((W * S) @ off) * (W * T)).sum(axis=-1) + both)


def square_covariance(noise: EntryNoise, s: FloatArray, t: FloatArray) -> float:
    """Cov(s'F s, t'F t) = 2 r'T r - sum_i T_ii r_i^2 with r_i = s_i t_i, and of indicators what they share.

    >>> row = np.array([1.0, -1.0])
    >>> round(square_covariance(EntryNoise(np.sqrt([[1.0, 2.0], [2.0, 3.0]])), row, row), 12)
    12.0
    """
    r = s * t
    both = 2 * noise.shared @ (r * (s[0] * t + s * t[0]))
    return float(2 * r @ noise.variance @ r - noise.variance.diagonal() @ r**2 + both)
