"""Variances and simulated draws of the noise in a release."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Final, TypeAlias, cast

import numpy as np

from discreet.accounting.noise_distribution import NoiseDistribution
from discreet.exact.arrays import FloatArray

# -- noise covariance --------------------------------------------------------------------------------------------------
# Variances of functions of the noise matrix F, which is symmetric with entries of known variance.
#
# T_ij is the variance of F_ij = F_ji. The entries are independent, except for indicators. The sum of an indicator
# column j equals its sum of squares, both were released as one number, and so F_jj = F_0j. A linear form
# a_0j F_0j + a_jj F_jj of the two then adds their covariance r_j = T_0j = T_jj to that of independent entries:
#
#     Cov(a, b) = independent + sum_j r_j (a_0j b_jj + a_jj b_0j).
#
# In F t, F_0j has the weight t_j in row 0 and t_0 in row j, and F_jj has the weight t_j in row j. So the entry (0, j)
# of the covariance of F t gains r_j t_j^2, and the entry (j, j) gains 2 r_j t_0 t_j. In w'F s the weights of F_0j and
# F_jj are w_0 s_j + w_j s_0 and w_j s_j. In s'F s they are 2 s_0 s_j and s_j^2. The functions below use these weights.
#
# All forms are linear in F, so the results are exact for noise of any size.


@dataclass(frozen=True, eq=False)
class EntryNoise:
    """Standard deviations of the entries of the noise matrix F, and which of its entries are equal."""

    sd: FloatArray  # shape (p, p), 0 without noise
    copies: tuple[int, ...] = ()  # indicator columns j, with F_jj = F_0j

    @cached_property
    def variance(self) -> FloatArray:
        """Variances T, shape (p, p)."""
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
        """Return the noise of all columns but the last, which is the target."""
        last = len(self.sd) - 1
        return EntryNoise(self.sd[:-1, :-1], tuple(j for j in self.copies if j < last))

    def averaged(self, moments: FloatArray) -> FloatArray:
        """Compute the covariance of F t, averaged over random t with second moments `moments`, shape (..., p, p)."""
        return averaged_covariance(self.variance, self.shared, moments)

    def form_covariance(self, W: FloatArray, S: FloatArray, T: FloatArray) -> FloatArray:
        """Compute Cov(w'F s, w'F t) row by row, where w, s and t are rows of W, S and T."""
        variance = self.variance
        off = variance - np.diag(variance.diagonal())
        own = (W**2 * ((S * T) @ variance)).sum(axis=-1)
        both = W * (2 * W[..., :1] * S * T + W * (S[..., :1] * T + S * T[..., :1])) @ self.shared
        return cast("FloatArray", own + (((W * S) @ off) * (W * T)).sum(axis=-1) + both)

    def square_covariance(self, s: FloatArray, t: FloatArray) -> float:
        """Compute Cov(s'F s, t'F t)."""
        r = s * t
        both = 2 * self.shared @ (r * (s[0] * t + s * t[0]))
        return float(2 * r @ self.variance @ r - self.variance.diagonal() @ r**2 + both)

    def draws(self, distribution: NoiseDistribution, stream: np.random.PCG64, count: int) -> FloatArray:
        """Draw symmetric noise matrices with the joint distribution of the noise family, shape (count, p, p)."""
        return _entry_draws(distribution, self, stream, count)


@dataclass(frozen=True, eq=False)
class MappedNoise:
    """Noise T F T' in the sums of a model with columns T (1, z, r), where F is the noise of a release by `staged`.

    The entries of F for products of (1, z) are independent, those for products with r are correlated, and one entry
    belongs to r^2. Rows beyond the radius add an error to the products, as large as the part that their weights remove.
    This error is treated as noise with the covariance Cov(w'F s, w'F t) = (w'D w) (s'D t).

    Attributes
    ----------
    mapping
        T, shape (m, p + 1).
    products
        Standard deviations of the entries of F between columns of (1, z), shape (p, p).
    scores
        Covariance of the entries between (1, z) and r, shape (p, p).
    square
        Standard deviation of the last entry.
    weights
        D, positive semidefinite, shape (p, p).
    """

    mapping: FloatArray
    products: FloatArray
    scores: FloatArray
    square: float
    weights: FloatArray

    @property
    def copies(self) -> tuple[int, ...]:
        """Indicator columns whose sum and sum of squares have the same noise. There are none."""
        return ()

    @cached_property
    def _entries(self) -> EntryNoise:
        return EntryNoise(self.products)

    @cached_property
    def sd(self) -> FloatArray:
        """Standard deviations of the entries of T F T', shape (m, m)."""
        return np.sqrt(np.maximum(self.entry_variance(np.eye(len(self.mapping))), 0.0))

    def entry_variance(self, rows: FloatArray) -> FloatArray:
        """Compute the variances of the forms of all pairs of rows, shape (m, m), from rows of shape (m, p).

        It is `form_covariance` of r, s and s, expanded in products of matrices.
        """
        mapped = rows @ self.mapping
        z, r = mapped[:, :-1], mapped[:, -1]
        variance, squares = self._entries.variance, z**2
        scores, weights = z @ self.scores @ z.T, ((z @ self.weights) * z).sum(axis=1)
        lengths = np.outer(r**2, scores.diagonal())
        out = squares @ variance @ squares.T + lengths + lengths.T + 2 * np.outer(r, r) * scores
        out += np.outer(r, r) ** 2 * self.square**2 + np.outer(weights, weights)
        # both orders of two columns have the same noise, which matters only for rows that mix columns
        off = variance - np.diag(variance.diagonal())
        mixed = np.flatnonzero(np.count_nonzero(z, axis=1) > 1)
        for index in mixed:
            both = z[mixed] * z[index]
            out[index, mixed] += ((both @ off) * both).sum(axis=1)
        return out

    def __bool__(self) -> bool:
        return bool(self.products.any() or self.scores.any() or self.square)

    def without_last(self) -> MappedNoise:
        """Return the noise of all columns but the last, which is the target."""
        return replace(self, mapping=self.mapping[:-1])

    def shrunk(self, kept: FloatArray, lead: int) -> MappedNoise:
        """Return the noise after multiplying the variances for products of features by `kept`.

        The features are the columns from `lead` to the last but one. If one of them is the declared target, which is a
        mixture of columns, the noise is returned unchanged.
        """
        rows = self.mapping[lead:-1]
        places = np.argmax(rows != 0, axis=1)
        if not (np.count_nonzero(rows, axis=1) == 1).all() or (places == len(self.products)).any():
            return self
        products = self.products.copy()
        products[np.ix_(places, places)] *= np.sqrt(kept)
        return replace(self, products=products)

    def averaged(self, moments: FloatArray) -> FloatArray:
        """Compute the covariance of T F T't, averaged over random t with moments `moments`, shape (..., m, m)."""
        base = self.mapping.T @ moments @ self.mapping
        inner, cross, last = base[..., :-1, :-1], base[..., :-1, -1], base[..., -1, -1]
        out = np.empty_like(base)
        out[..., :-1, :-1] = (
            self._entries.averaged(inner)
            + last[..., None, None] * self.scores
            + (inner * self.weights).sum(axis=(-2, -1))[..., None, None] * self.weights
        )
        out[..., :-1, -1] = out[..., -1, :-1] = cross @ self.scores
        out[..., -1, -1] = (inner * self.scores).sum(axis=(-2, -1)) + last * self.square**2
        mapped: FloatArray = self.mapping @ out @ self.mapping.T
        return mapped

    def form_covariance(self, W: FloatArray, S: FloatArray, T: FloatArray) -> FloatArray:
        """Compute Cov(w'T F T's, w'T F T't) row by row, where w, s and t are rows of three matrices."""
        w, s, t = (rows @ self.mapping for rows in (W, S, T))
        wz, sz, tz = (rows[..., :-1] for rows in (w, s, t))
        wr, sr, tr = (rows[..., -1:] for rows in (w, s, t))
        out = self._entries.form_covariance(wz, sz, tz)
        out = out + (((sr * wz + wr * sz) @ self.scores) * (tr * wz + wr * tz)).sum(axis=-1)
        out = out + (wr**2 * sr * tr)[..., 0] * self.square**2
        weighted = ((wz @ self.weights) * wz).sum(axis=-1) * ((sz @ self.weights) * tz).sum(axis=-1)
        return cast("FloatArray", out + weighted)

    def square_covariance(self, s: FloatArray, t: FloatArray) -> float:
        """Compute Cov(s'T F T's, t'T F T't)."""
        s, t = s @ self.mapping, t @ self.mapping
        both = float(s[-1] * t[-1])
        scores = 4 * both * float(s[:-1] @ self.scores @ t[:-1])
        weighted = float(s[:-1] @ self.weights @ t[:-1]) ** 2
        return self._entries.square_covariance(s[:-1], t[:-1]) + scores + (both * self.square) ** 2 + weighted

    def draws(self, distribution: NoiseDistribution, stream: np.random.PCG64, count: int) -> FloatArray:
        """Draw symmetric noise matrices T F T' with Gaussian entries, shape (count, m, m)."""
        size = len(self.products)
        base = np.zeros((count, size + 1, size + 1))
        base[:, :-1, :-1] = self._entries.draws(distribution, stream, count)
        normals = standard_normals(stream, count, size + 1)
        base[:, :-1, -1] = base[:, -1, :-1] = normals[:, :-1] @ _root(self.scores).T
        base[:, -1, -1] = normals[:, -1] * self.square
        if self.weights.any():
            root = _root(self.weights)
            free = standard_normals(stream, count, size * size).reshape(count, size, size)
            base[:, :-1, :-1] += root @ ((free + free.transpose(0, 2, 1)) / math.sqrt(2)) @ root.T
        out: FloatArray = self.mapping @ base @ self.mapping.T
        return out


# noise of the sums of a model
Noise: TypeAlias = EntryNoise | MappedNoise


def _root(covariance: FloatArray) -> FloatArray:
    """Return a square root of a positive semidefinite matrix."""
    values, axes = np.linalg.eigh(covariance)
    root: FloatArray = axes * np.sqrt(np.maximum(values, 0.0))
    return root


def product_covariance(noise: Noise, t: FloatArray) -> FloatArray:
    """Compute the covariance of F t, shape (p, p).

    It is T_ik t_i t_k off the diagonal and sum_l T_il t_l^2 on it. Rows t of shape (m, p) give one such matrix each. It
    is also the matrix K with Var(t'F s) = s'K s.

    >>> product_covariance(EntryNoise(np.sqrt([[1.0, 2.0], [2.0, 3.0]])), np.array([1.0, -1.0])).round(12)
    array([[ 3., -2.],
           [-2.,  5.]])
    """
    return noise.averaged(t[..., :, None] * t[..., None, :])


def averaged_covariance(variance: FloatArray, shared: FloatArray, moments: FloatArray) -> FloatArray:
    """Compute the covariance of F t, averaged over random t with second moments `moments`, shape (..., p, p).

    `variance` is T, shape (p, p), and `shared` the covariance of F_0j and F_jj, shape (p,).
    """
    out: FloatArray = variance * moments
    index = np.arange(len(variance))
    squares = moments[..., index, index]
    out[..., index, index] = squares @ variance + 2 * shared * moments[..., 0, :]
    out[..., 0, :] += shared * squares
    out[..., :, 0] += shared * squares
    return out


def form_covariance(noise: Noise, W: FloatArray, S: FloatArray, T: FloatArray) -> FloatArray:
    """Compute Cov(w'F s, w'F t) row by row, where w, s and t are rows of W, S and T, shape (..., m).

    It is sum_i w_i^2 sum_l T_il s_l t_l + sum_{i != k} w_i w_k T_ik s_i t_k. Indicators add
    sum_j r_j w_j (2 w_0 s_j t_j + w_j (s_0 t_j + s_j t_0)). The matrices have shape (..., m, p), or (..., 1, p) to use
    one row for all.

    >>> row = np.array([[1.0, -1.0]])
    >>> form_covariance(EntryNoise(np.sqrt([[1.0, 2.0], [2.0, 3.0]])), row, row, row).round(12)
    array([12.])
    """
    return noise.form_covariance(W, S, T)


def square_covariance(noise: Noise, s: FloatArray, t: FloatArray) -> float:
    """Compute Cov(s'F s, t'F t).

    With r_i = s_i t_i it is 2 r'T r - sum_i T_ii r_i^2, plus the covariances of indicators.

    >>> row = np.array([1.0, -1.0])
    >>> round(square_covariance(EntryNoise(np.sqrt([[1.0, 2.0], [2.0, 3.0]])), row, row), 12)
    12.0
    """
    return noise.square_covariance(s, t)


# -- seeded ------------------------------------------------------------------------------------------------------------
# Random numbers that estimate quantiles of known distributions. They protect nobody.
#
# The seed is the fingerprint of a release, so a release file gives the same result on every machine.


def seeded_stream(purpose: str, digest: str) -> np.random.PCG64:
    """Return the stream of random numbers for one purpose, seeded from the fingerprint of a release."""
    seed = hashlib.sha256(f"discreet {purpose} {digest}".encode()).digest()
    # NumPy guarantees the stream of a bit generator across versions, but not its normal variates
    return np.random.PCG64(int.from_bytes(seed, "big"))


def uniforms(stream: np.random.PCG64, *shape: int) -> FloatArray:
    """Draw uniform variates in (0, 1], so that their logarithm is finite."""
    raw = stream.random_raw(math.prod(shape)).reshape(shape) >> np.uint64(11)
    return (raw.astype(np.float64) + 1) * 2.0**-53


def standard_normals(stream: np.random.PCG64, count: int, entries: int) -> FloatArray:
    """Draw standard normal variates by the Box-Muller transform (1958), shape (count, entries)."""
    pairs = (entries + 1) // 2
    uniform = uniforms(stream, count, 2, pairs)
    radius = np.sqrt(-2 * np.log(uniform[:, 0]))
    angle = 2 * np.pi * uniform[:, 1]
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], axis=1)[:, :entries]


# -- noise draws -------------------------------------------------------------------------------------------------------
# Simulated noise, seeded from the release, to estimate how large its noise may be. It protects nobody.


def noise_draws(distribution: NoiseDistribution, noise: Noise, stream: np.random.PCG64, count: int) -> FloatArray:
    """Draw symmetric noise matrices with the joint distribution of the noise family, shape (count, p, p)."""
    return noise.draws(distribution, stream, count)


def _entry_draws(distribution: NoiseDistribution, noise: EntryNoise, stream: np.random.PCG64, count: int) -> FloatArray:
    """Draw noise matrices with independent entries, or with the joint distribution of the noise family."""
    sd = noise.sd
    if distribution.family == "wishart":
        return _wishart(distribution.parameters["degrees"], sd, stream, count)
    size = len(sd)
    rows, columns = np.triu_indices(size)
    scale = sd[rows, columns]
    if distribution.family == "discrete-laplace":
        upper = scale * _laplace(stream, count, len(scale))
    elif distribution.family == "k-norm":
        noisy = scale > 0
        upper = np.zeros((count, len(scale)))
        upper[:, noisy] = scale[noisy] * _k_norm(distribution.parameters["dimension"], stream, count, int(noisy.sum()))
    else:
        upper = standard_normals(stream, count, len(scale)) * scale
    out = np.empty((count, size, size))
    out[:, rows, columns] = upper
    out[:, columns, rows] = upper
    copies = list(noise.copies)
    out[:, copies, copies] = out[:, 0, copies]
    return out


def _laplace(stream: np.random.PCG64, count: int, entries: int) -> FloatArray:
    """Draw Laplace variates with variance 1, as differences of exponential variates."""
    logs = np.log(uniforms(stream, count, 2, entries))
    out: FloatArray = (logs[:, 0] - logs[:, 1]) / math.sqrt(2)
    return out


def _k_norm(dimension: int, stream: np.random.PCG64, count: int, entries: int) -> FloatArray:
    """Draw coordinates of a vector with density proportional to exp(-|z|), each scaled to variance 1.

    The length has a gamma distribution. The direction is uniform, like that of normal variates. The sum of squares of
    the coordinates that are not needed is a chi-square variate.
    """
    from scipy.special import gammaincinv

    normals = standard_normals(stream, count, entries)
    both = uniforms(stream, count, 2)
    length = gammaincinv(dimension, both[:, 0])
    unseen = dimension - entries
    rest = 2 * gammaincinv(unseen / 2, both[:, 1]) if unseen > 0 else 0.0
    out: FloatArray = normals * (length / np.sqrt(((normals**2).sum(axis=1) + rest) * (dimension + 1)))[:, None]
    return out


def _wishart(degrees: int, sd: FloatArray, stream: np.random.PCG64, count: int) -> FloatArray:
    """Draw centred Wishart matrices, scaled entry by entry to the standard deviations `sd` [Bartlett 1933]."""
    from scipy.special import gammaincinv

    size = len(sd)
    mean = degrees * np.eye(size)
    if degrees < size:
        root = standard_normals(stream, count, size * degrees).reshape(count, size, degrees)
    else:
        root = np.tril(standard_normals(stream, count, size * size).reshape(count, size, size), -1)
        halves = (degrees - np.arange(size)) / 2
        root[:, range(size), range(size)] = np.sqrt(2 * gammaincinv(halves, uniforms(stream, count, size)))
    out: FloatArray = (root @ root.transpose(0, 2, 1) - mean) * (sd / np.sqrt(degrees + mean))
    return out


# -- noise norm --------------------------------------------------------------------------------------------------------
# Size of the noise matrix: the 95% quantile of its operator norm.

MISS: Final = Fraction(1, 20)  # probability that the noise exceeds the quantile
_SIMULATED_ROWS: Final = 100
_GAUSSIAN: Final = NoiseDistribution(8, {}, "none")


def noise_norm_quantile(
    noise: Noise, noise_map: FloatArray, digest: str, distribution: NoiseDistribution = _GAUSSIAN
) -> float:
    """Simulate the 95% quantile of the operator norm of C E C', with C the noise map and E the noise.

    The result is the norm of rank 0.95 (B+1) among B simulated norms. A new norm exceeds it with probability exactly
    5%, on average over fingerprints, for any B. Large matrices get fewer draws, because their norm hardly varies unless
    the shifts or means in C single out one direction.
    """
    if not noise:
        return 0.0
    if len(noise_map) > _SIMULATED_ROWS:
        # adding the deviation of one entry covers the covariance of indicators
        return ensemble_edge(noise.sd, noise_map, distribution)
    draws = _draws(len(noise_map))
    norms = np.sort(np.concatenate(list(_norms(noise, noise_map, draws, digest, distribution))))
    rank = math.ceil((1 - MISS) * (draws + 1))
    return float(norms[rank - 1])


def ensemble_edge(sd: FloatArray, noise_map: FloatArray, distribution: NoiseDistribution = _GAUSSIAN) -> float:
    """Approximate the edge of the spectrum of C E C' for large matrices, where C is the identity or (v, identity).

    The core of E has its edge at 2r, where r^2 is the largest row sum of its variances. With (e_n, e) the first row of
    E, the first column of C adds v e' + e v' + e_n v v'. The first two terms have the eigenvalues v.e +- |v||e|. An
    eigenvalue of size t > r leaves the bulk and lies at t + r^2/t [Benaych-Georges & Nadakuditi 2011]. The last term is
    at most 1.96 deviations of e_n times |v|^2. Adding the deviation of one entry covers the fluctuation.

    The edge does not depend on the distribution of independent entries, and K-norm noise with many entries is close to
    Gaussian. Wishart noise with m degrees of freedom is skewed: its edge is at 2r + r^2 / (sqrt(m) s), where s is the
    smallest deviation off the diagonal [Marchenko & Pastur 1967, for equal deviations].
    """
    if noise_map.shape[0] == noise_map.shape[1]:
        core, spike, count = sd, 0.0, 0.0
    else:
        core = sd[1:, 1:]
        length = float(np.linalg.norm(noise_map[:, 0]))
        spike = length * float(np.linalg.norm(sd[0, 1:]) + sd[0, 1:].max())
        count = 1.96 * float(sd[0, 0]) * length**2
    radius = math.sqrt((core**2).sum(axis=1).max())
    edge = 2 * radius if spike <= radius else spike + radius**2 / spike
    if distribution.family == "wishart":
        edge += radius**2 / (
            math.sqrt(distribution.parameters["degrees"]) * float(core[np.triu_indices(len(core), 1)].min())
        )
    return edge + count + float(core.max())


def _draws(size: int) -> int:
    """Return the number B of simulated norms, such that 0.95 (B+1) is an integer."""
    return 399 if size <= 20 else 99


def _norms(
    noise: Noise, noise_map: FloatArray, draws: int, digest: str, distribution: NoiseDistribution = _GAUSSIAN
) -> Iterator[FloatArray]:
    stream = seeded_stream("noise norm", digest)
    batch = max(1, 2**21 // noise.sd.size)
    for start in range(0, draws, batch):
        E = noise_draws(distribution, noise, stream, min(batch, draws - start))
        ends = np.linalg.eigvalsh(noise_map @ E @ noise_map.T)[:, [0, -1]]
        yield np.abs(ends).max(axis=1)
