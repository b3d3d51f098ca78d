"""The functional mechanism of the report: Laplace noise on the coefficients of the squared loss, and its repairs.

The loss of rows (x, y) is theta'Q theta - 2 q'theta + c with Q = X'X, q = X'y, c = y'y; features and target lie in
[-1, 1]. Arrays may have batch axes in front, so that many runs and budgets are one call. The noise comes from NumPy:
nothing in this module is private.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

import numpy as np

from discreet.exact.arrays import FloatArray

Noise = Literal["non-symmetric", "symmetrised", "mirrored", "monomial"]
NOISES: Final[tuple[Noise, ...]] = ("non-symmetric", "symmetrised", "mirrored", "monomial")
_DRAWS = 2_000  # of unit noise, for the quantile of its norm


@dataclass(frozen=True)
class Quadratic:
    """The loss theta'Q theta - 2 q'theta without its constant, which moves no minimum.

    Attributes
    ----------
    Q
        Matrices, shape (..., d, d); symmetric or not.
    q
        Vectors, shape (..., d).
    """

    Q: FloatArray
    q: FloatArray

    @classmethod
    def of(cls, X: FloatArray, y: FloatArray) -> Quadratic:
        """The exact loss of some rows."""
        return cls(X.T @ X, X.T @ y)

    @property
    def columns(self) -> int:
        """Number of predictors d."""
        return int(self.q.shape[-1])

    @property
    def symmetric(self) -> Quadratic:
        """The same function of theta, with a symmetric matrix."""
        return Quadratic((self.Q + self.Q.swapaxes(-1, -2)) / 2, self.q)

    @property
    def smallest(self) -> FloatArray:
        """Smallest eigenvalue of the symmetric matrix: below 0 the function has no minimum."""
        return np.asarray(np.linalg.eigvalsh(self.symmetric.Q)[..., 0], dtype=np.float64)


def claimed_sensitivity(columns: int) -> float:
    """Lemma 2 of the report for d predictors.

    >>> claimed_sensitivity(11)
    288.0
    """
    return 2.0 * (columns**2 + 2 * columns + 1)


def exact_sensitivity(columns: int) -> float:
    """Largest change of all coefficients together by one row, added, removed or exchanged: half of Lemma 2.

    >>> exact_sensitivity(11)
    144.0
    """
    return float((columns + 1) ** 2)


def true_epsilon(claimed: float, columns: int, noise: Noise) -> float:
    """What a release as written spends when one row is added or removed, if ranges and lambda were public.

    The report claims `claimed`. Ranges from the rows or a lambda chosen on the rows leave no guarantee at all.

    >>> true_epsilon(1.0, 11, "non-symmetric"), true_epsilon(1.0, 11, "mirrored")
    (0.5, 0.3090277777777778)
    """
    d = columns
    # a mirrored triangle is released once
    released = d * (d + 1) / 2 + 2 * d + 1 if noise == "mirrored" else exact_sensitivity(d)
    return claimed * released / claimed_sensitivity(d)


def noisy(exact: Quadratic, scale: float | FloatArray, rng: np.random.Generator, noise: Noise) -> Quadratic:
    """Algorithm 1 on the coefficients of the loss, NOT PRIVATE: the noise comes from NumPy.

    The report claims epsilon at scale 2 (d + 1)^2 / epsilon, with d x d entries of Q as coefficients
    (`non-symmetric`). The truth is half of epsilon, for public ranges and a public lambda; see `true_epsilon`.
    Algorithm 1 adds noise to y'y as well; no minimum depends on it, so it is not drawn here, but it is counted.

    Parameters
    ----------
    exact
        The loss of the rows.
    scale
        Of the Laplace noise of a coefficient; batch axes are broadcast against those of the loss.
    rng
        Source of noise.
    noise
        `non-symmetric`: every entry of Q by itself. `symmetrised`: the same, then (A + A')/2. `mirrored`: the upper
        triangle, copied below. `monomial`: the coefficient of theta_j theta_k, which is twice Q_jk.
    """
    d = exact.columns
    width = np.asarray(scale, dtype=float)
    shape = np.broadcast_shapes(width.shape, exact.q.shape[:-1])
    # the coefficient of theta_j is -2 q_j: half its noise is in q_j
    linear = rng.laplace(size=(*shape, d)) * width[..., None] / 2
    return Quadratic(exact.Q + unit_noise(shape, d, rng, noise) * width[..., None, None], exact.q + linear)


def unit_noise(shape: tuple[int, ...], columns: int, rng: np.random.Generator, noise: Noise) -> FloatArray:
    """Noise of the matrix Q where the coefficients of the loss have Laplace noise of scale 1."""
    entries = rng.laplace(size=(*shape, columns, columns))
    if noise == "non-symmetric":
        return entries
    if noise == "symmetrised":
        return (entries + entries.swapaxes(-1, -2)) / 2
    above = np.triu(entries, 1)
    whole = above + above.swapaxes(-1, -2)
    if noise == "monomial":
        whole = whole / 2
    diagonal = np.arange(columns)
    whole[..., diagonal, diagonal] = entries[..., diagonal, diagonal]
    return whole


@cache
def noise_norm(columns: int, noise: Noise, level: float = 0.95) -> float:
    """Quantile of the spectral norm of the symmetric part of unit noise, simulated once from a fixed seed."""
    drawn = unit_noise((_DRAWS,), columns, np.random.default_rng(1), noise)
    norms = np.abs(np.linalg.eigvalsh((drawn + drawn.swapaxes(-1, -2)) / 2)).max(axis=-1)
    return float(np.quantile(norms, level))


def shifted(loss: Quadratic, scale: float | FloatArray, noise: Noise) -> Quadratic:
    """The ridge shift: where the smallest eigenvalue is below the size of the noise, lift it to that size.

    It reads the noisy loss and public numbers only, so it costs no privacy.
    """
    symmetric = loss.symmetric
    floor = np.asarray(scale, dtype=float) * noise_norm(loss.columns, noise)
    lift = np.maximum(0.0, floor - symmetric.smallest)
    return Quadratic(symmetric.Q + lift[..., None, None] * np.eye(loss.columns), loss.q)


def projected_minimum(loss: Quadratic) -> FloatArray:
    """The least point inside the span of eigenvectors with positive eigenvalues, as Zhang et al. (2012) repair it.

    It reads the noisy loss only, so it costs no privacy.

    >>> loss = Quadratic(np.diag([2.0, -1.0]), np.array([1.0, 1.0]))
    >>> projected_minimum(loss).tolist()
    [0.5, 0.0]
    """
    values, vectors = np.linalg.eigh(loss.symmetric.Q)
    along = np.einsum("...ji,...j->...i", vectors, loss.q)
    kept = np.divide(along, values, out=np.zeros_like(along), where=values > 0)
    point: FloatArray = np.einsum("...ij,...j->...i", vectors, kept)
    return point
