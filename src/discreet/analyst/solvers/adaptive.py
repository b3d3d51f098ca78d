"""Ridge penalties for noisy sums: the adaptive rule, repairs, and the posterior mean."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve

from discreet.analyst.confidence_sets import NotEstimableError
from discreet.analyst.equations.noise import (
    MISS,
    MappedNoise,
    Noise,
    averaged_covariance,
    noise_norm_quantile,
)
from discreet.analyst.equations.normal import NormalEquations
from discreet.analyst.solvers.least_squares import Solution
from discreet.design.model_columns import SubModel
from discreet.exact.arrays import FloatArray
from discreet.releases.release import Release

# -- penalised gram ----------------------------------------------------------------------------------------------------
# The Gram that a penalty acts on: intercept partialled out, with its smallest eigenvalue and its noise.

_ROWS_IN_SDS: Final = 3  # a noisy count below this many standard deviations of its noise is not used


@dataclass(frozen=True, eq=False)
class PenalisedGram:
    """Normal equations of the m coefficients, out of k, that a penalty may shrink to 0."""

    gram: FloatArray  # sums of products of their columns, shape (m, m)
    right: FloatArray  # sums of products of their columns with the target, shape (m,)
    square: float  # sum of squares of the target
    # their columns and the target as combinations of (1, features, target), to first order, shape (m+1, k+1)
    noise_map: FloatArray
    noise_norm: float  # 95% quantile of the operator norm of the noise in `gram`, or 0 without noise
    smallest: float  # smallest eigenvalue of `gram`, or infinity if m = 0
    penalised: npt.NDArray[np.bool_]  # mask of the m coefficients among all k

    def beyond(self, theta: FloatArray) -> PenalisedGram:
        """Return the equations for a target from which the line with some coefficients was subtracted."""
        noise_map, times = self.noise_map.copy(), self.gram @ theta
        noise_map[-1] -= theta @ noise_map[:-1]
        square = self.square - float(theta @ (2 * self.right - times))
        return replace(self, right=self.right - times, square=square, noise_map=noise_map)


def penalised_gram(equations: NormalEquations, digest: str) -> PenalisedGram:
    """Partial the intercept out, and compute the smallest eigenvalue of the Gram matrix and the size of its noise.

    With m the noisy means of the features, the Gram matrix is A - n m m'. Its noise, to first order, is
    E - e m' - m e' + e_n m m'. If the noisy number of rows is below three standard deviations of its noise, the means
    are unusable, and the intercept stays among the coefficients that are shrunk to 0. `digest` seeds the simulated
    quantile.
    """
    count = equations.A[0, 0] if equations.intercept else 0.0
    penalised = np.ones(len(equations.A), dtype=np.bool_)
    if not equations.intercept:
        moments = equations.moments
        noise_map = np.column_stack([equations.shift, np.eye(len(moments))])
    elif count > _ROWS_IN_SDS * equations.block_sd[0, 0]:
        penalised[0] = False
        moments = _partialled(equations)
        means = equations.moments[0, 1:] / count
        # the true means lie in the public range; noisy means outside it would overstate the noise
        noise_map = np.column_stack([-np.clip(means, equations.low, equations.high), np.eye(len(moments))])
    else:
        moments = equations.moments
        noise_map = np.eye(len(moments))
    gram, right, square = moments[:-1, :-1], moments[:-1, -1], float(moments[-1, -1])
    if len(gram) == 0:
        return PenalisedGram(gram, right, square, noise_map, 0.0, math.inf, penalised)
    feature_map = noise_map[:-1, :-1]
    noise_norm = noise_norm_quantile(equations.noise.without_last(), feature_map, digest, equations.distribution)
    smallest = float(np.linalg.eigvalsh(gram)[0])
    return PenalisedGram(gram, right, square, noise_map, noise_norm, smallest, penalised)


def _partialled(equations: NormalEquations) -> FloatArray:
    """Subtract the means in integers. In doubles a narrow column inside wide bounds would lose its digits."""
    whole = equations.whole
    count = whole[0, 0]
    times_count = whole[1:, 1:] * count - np.outer(whole[1:, 0], whole[0, 1:])
    moments: FloatArray = (times_count / (count * equations.unit)).astype(np.float64)
    return moments


# -- adaptive ----------------------------------------------------------------------------------------------------------
# The smallest ridge that the noise requires: a corrected version of the adaptive rule of AdaSSP.

EIGENVALUE: Final = "smallest_eigenvalue"  # name in the release
_Z: Final = NormalDist().inv_cdf(float(1 - MISS))


@dataclass(frozen=True, eq=False)
class AdaptiveRidge:
    """The adaptive ridge, and the quantities that determine it."""

    ridge: float  # added to the diagonal
    noise_norm: float  # 95% quantile of the operator norm of the noise in the penalised Gram
    smallest: float  # smallest eigenvalue of the noisy Gram
    at_least: float  # lower bound of the smallest eigenvalue of the Gram without noise
    penalised: npt.NDArray[np.bool_]  # mask of the shrunk coefficients


def adaptive_ridge(equations: NormalEquations, digest: str, released: float = -math.inf) -> AdaptiveRidge:
    """Compute the smallest ridge that keeps the noise in the Gram matrix below half of the penalised Gram matrix.

    Let q be the 95% quantile of the operator norm of the noise in the penalised Gram, and l its smallest noisy
    eigenvalue. If the noise is below q, as the rule assumes, l - q is a lower bound of the true eigenvalue. If an
    eigenvalue was released, `released` is its lower bound from `released_bound`. With m the larger of the two bounds,
    ridge = max(0, 2q - max(0, m)) [Wang 2018]. If l is below -q, which is very unlikely, the ridge grows to q - l, so
    that the solved system is always positive definite.

    The intercept is not penalised, except in the case described at `penalised_gram`.
    """
    about = penalised_gram(equations, digest)
    q, smallest = about.noise_norm, about.smallest
    at_least = max(smallest - q, released)
    ridge = max(0.0, 2 * q - max(0.0, at_least))
    if q > 0:
        ridge = max(ridge, q - smallest)
    return AdaptiveRidge(ridge, q, smallest, at_least, about.penalised)


def released_bound(release: Release, model: SubModel) -> float:
    """Return a 95% lower bound of the smallest eigenvalue of a penalised Gram matrix, from a released eigenvalue.

    The released eigenvalue is that of M, the Gram of (1, x), or of x if no model of the release can have an intercept.
    Every penalised Gram is a submatrix of M, or is C M C' with C = (v, I) on the features of the model, where v is
    minus their means or the shift to the origin. Such a C never shortens a vector: |C'a| >= |a|. So the smallest
    eigenvalue is at least that of M.

    The bound is minus infinity if no eigenvalue was released, or if the model uses the design's target as a feature,
    because the target is not part of M.
    """
    if EIGENVALUE not in release.scalars or release.design.target in model.features:
        return -math.inf
    value = release.scalars[EIGENVALUE] / release.noise.unit
    return float(value - _Z * release.noise.sd(EIGENVALUE))


# -- repair ------------------------------------------------------------------------------------------------------------
# Convex repair: normal equations of the slopes whose smallest eigenvalue is at least as large as their noise.
#
# Noise can make sums of products indefinite, and then no penalised model has a minimum. If the smallest eigenvalue is
# below the 95% quantile of the norm of the noise, the diagonal is shifted until it reaches that quantile. A smaller
# shift, such as a tiny floor for the eigenvalues, would divide by noise.


def shift_above_noise(noise_norm: float, smallest: float, ridge: float) -> float:
    """Return the diagonal shift that raises the smallest eigenvalue to the noise quantile.

    Without noise it is 0, because a negative eigenvalue is then rounding error.

    >>> shift_above_noise(3.0, -1.0, 0.5), shift_above_noise(3.0, 1.0, 5.0), shift_above_noise(0.0, -1e-17, 0.0)
    (3.5, 0.0, 0.0)
    """
    return max(0.0, noise_norm - smallest - ridge) if noise_norm > 0 else 0.0


@dataclass(frozen=True, eq=False)
class SlopeEquations:
    """Normal equations of the m slopes, and the repair of their diagonal."""

    equations: NormalEquations  # of the whole model
    # with the intercept partialled out, shapes (m, m) and (m,)
    gram: FloatArray
    right: FloatArray
    noise_norm: float  # 95% quantile of the norm of the noise
    smallest: float  # smallest eigenvalue
    # shift of the diagonal before the intercept was partialled out, included in `gram`; 0 unless the noisy number of
    # rows is too small to use
    intercept_shift: float

    @property
    def rows(self) -> float:
        """Number of rows by which a strength is multiplied, noisy or public, and at least 1."""
        return max(self.equations.nobs, 1.0)

    def missing(self, ridge: float) -> float:
        """Return the further shift of the diagonal of `gram` that is needed with this ridge."""
        return shift_above_noise(self.noise_norm, self.smallest, ridge)

    def repair(self, ridge: float) -> float:
        """Return the total added to the diagonal beyond this ridge."""
        return self.intercept_shift + self.missing(ridge)

    def repaired(self, ridge: float) -> FloatArray:
        """Return the Gram matrix of the slopes with the ridge and the repair on its diagonal, shape (m, m)."""
        gram = self.gram.copy()
        gram.flat[:: len(gram) + 1] += ridge + self.missing(ridge)
        return gram

    def penalty_diagonal(self, ridge: float) -> FloatArray:
        """Return the total added to the diagonal of the Gram matrix of all k coefficients, shape (k,)."""
        penalty_diagonal = np.full(len(self.equations.A), ridge + self.repair(ridge))
        if self.equations.intercept:
            penalty_diagonal[0] = self.intercept_shift
        return penalty_diagonal


def slope_equations(equations: NormalEquations, digest: str) -> SlopeEquations:
    """Form the normal equations of the slopes and their repair.

    The repair shifts the diagonal of the slopes by as much as a requested ridge does not already provide. If the noisy
    number of rows is too small to use, the whole diagonal, including the intercept, is shifted without deducting the
    ridge, because no penalty shrinks the intercept.
    """
    about = penalised_gram(equations, digest)
    if not (equations.intercept and about.penalised[0]):
        return SlopeEquations(equations, about.gram, about.right, about.noise_norm, about.smallest, 0.0)
    shift = shift_above_noise(about.noise_norm, about.smallest, 0.0)
    whole = about.gram + shift * np.eye(len(about.gram))
    count = whole[0, 0]
    if count <= 0:
        raise NotEstimableError.at_strength(shift)
    gram = whole[1:, 1:] - np.outer(whole[1:, 0], whole[0, 1:]) / count
    right = about.right[1:] - whole[1:, 0] * about.right[0] / count
    # the smallest eigenvalue of a Schur complement is at least that of its matrix
    return SlopeEquations(equations, gram, right, about.noise_norm, about.smallest + shift, shift)


# -- bayes -------------------------------------------------------------------------------------------------------------
# The best predictor from noisy sums: a posterior mean under the noise distribution of the release.
#
# With G = X'X and b = X'y of the shrunk coefficients, the release holds G + E and b + e, and the model is
# b = G theta + X'eta. Let H be an estimate of G. Under a prior theta ~ N(0, T), the released b is Gaussian with
#
#     C = H T H + s^2 H + V(T),
#
# where V(T) is the covariance of e - (G - H) theta averaged over the prior, so the noise of the Gram is treated as
# errors in variables. The posterior mean is T H C^{-1} (b + e).
#
# H is G + E with its off-diagonal entries shrunk to 0 and its diagonal entries shrunk to their mean, each by the
# fraction of noise in its observed variance, and with negative eigenvalues set to 0. V uses the remaining noise.
#
# The prior is diagonal in the eigenvectors of H and proportional to a power (0, 1/2, 1) of the eigenvalues. Its size is
# the fraction of y'y that it expects to explain, tr(H T) = share y'y, and it leaves s^2 = (1 - share) y'y / n for the
# residuals. Shares up to 1 have a uniform prior. Larger sizes, for signals along small eigenvalues, have a prior that
# is uniform in the logarithm. Each prior is weighted by its marginal likelihood, the density of the released b under
# N(0, C), and the posterior means are averaged. Nothing is tuned, and only the release is used.
#
# A release by `staged` also has a line close to least squares. The noise of its Gram acts on the distance from this
# line alone, so the prior is for that distance.

_POWERS: Final = (0.0, 0.5, 1.0)
_SIZES: Final = 2.0 ** np.arange(-10.0, 4.5, 0.5)  # fractions of y'y
_FLATTEST: Final = 1e-6  # smallest prior variance of a direction, relative to that of the largest eigenvalue
_LEAST_RESIDUAL: Final = 2.0**-6  # smallest residual fraction of y'y, so that the errors keep some variance
_FEWEST: Final = 3  # smallest number of diagonal entries whose spread can be estimated
_JITTER: Final = 1e-12  # relative to the largest diagonal entry, for columns that are exact combinations of others


def posterior_solution(equations: NormalEquations, digest: str) -> Solution:
    """Compute all k coefficients: posterior means and, unless it is shrunk too, an intercept from the noisy means."""
    about = penalised_gram(equations, digest)
    pilot = pilot_coefficients(equations)[about.penalised]
    theta = pilot + posterior_mean(about.beyond(pilot), equations)
    if equations.intercept and not about.penalised[0]:
        means = -about.noise_map[:, 0]
        theta = np.concatenate([[means[-1] - means[:-1] @ theta], theta])
    return Solution(tuple(Fraction(value) for value in theta.tolist()))


def pilot_coefficients(equations: NormalEquations) -> FloatArray:
    """Return the coefficients of the line released by `staged`, shape (k,), and zeros for other releases and targets.

    They are zeros as well if the declared target is a feature.
    """
    noise, size = equations.mapped_noise, len(equations.A)
    if noise is None:
        return np.zeros(size)
    features, target = noise.mapping[-1 - size : -1], noise.mapping[-1]
    if target[-1] == 0 or features[:, -1].any():
        return np.zeros(size)
    # every feature is a single column of (1, z)
    line: FloatArray = target[np.argmax(features != 0, axis=1)]
    return line


def posterior_mean(about: PenalisedGram, equations: NormalEquations) -> FloatArray:
    """Compute the posterior mean of the shrunk coefficients, shape (m,)."""
    size = len(about.gram)
    gram, noise_left = shrunk_gram(about.gram, gram_variance(about.noise_map[:-1, :-1], equations.noise.without_last()))
    values, axes = np.linalg.eigh(gram)
    values = np.maximum(values, 0.0)
    if size == 0 or values[-1] <= 0:
        return np.zeros(size)
    gram = (axes * values) @ axes.T
    averaged_over = _noise_left(equations.noise, noise_left)
    square = _sum_of_squares(about, equations)
    target_only = np.zeros((size + 1, size + 1))
    target_only[-1, -1] = 1.0
    right_noise = _averaged(about.noise_map, averaged_over, target_only)
    logs, means = [], []
    for power in _POWERS:
        spread = np.maximum(values / values[-1], _FLATTEST) ** power
        spread *= square / (values @ spread)
        prior = np.zeros_like(target_only)
        prior[:-1, :-1] = (axes * spread) @ axes.T
        explained = (axes * (values**2 * spread)) @ axes.T + _averaged(about.noise_map, averaged_over, prior)
        for share in _SIZES:
            residual = max(1 - share, _LEAST_RESIDUAL) * square / max(equations.nobs, 1.0)
            C = share * explained + residual * gram + right_noise
            C.flat[:: size + 1] += _JITTER * C.diagonal().max()
            factor, lower = cho_factor(C, lower=True)
            solved = cho_solve((factor, lower), about.right)
            likelihood = -0.5 * float(about.right @ solved) - float(np.log(factor.diagonal()).sum())
            logs.append(likelihood + min(float(np.log(share)), 0.0))
            means.append(share * (prior[:-1, :-1] @ (gram @ solved)))
    weights = np.exp(np.array(logs) - max(logs))
    averaged: FloatArray = weights @ np.array(means) / weights.sum()
    return averaged


def _noise_left(noise: Noise, left: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Return a function that averages the noise covariance after the entries between features are shrunk by `left`."""
    lead = len(noise.sd) - 1 - len(left)
    if isinstance(noise, MappedNoise):
        return noise.shrunk(left, lead).averaged
    variance, shared = noise.variance.copy(), noise.shared.copy()
    variance[lead:-1, lead:-1] *= left
    # a square shrunk by the factor k has the error (1 - k) signal - k noise, so its covariance with the sum
    # scales by k
    shared[lead:-1] *= left.diagonal()
    return lambda moments: averaged_covariance(variance, shared, moments)


def gram_variance(noise_map: FloatArray, noise: Noise) -> FloatArray:
    """Compute the variances of the entries of M E M', with E symmetric noise, shape (m, m).

    Every row of M is a unit vector plus a multiple of the first unit vector. Off the diagonal, no entry of E occurs
    twice. On the diagonal, the entry in the first row of E does, and the square of an indicator equals that entry.

    >>> from discreet.analyst.equations.noise import EntryNoise
    >>> gram_variance(np.array([[2.0, 1.0]]), EntryNoise(np.array([[1.0, 1.0], [1.0, 1.0]])))
    array([[33.]])
    """
    if isinstance(noise, MappedNoise):
        return noise.entry_variance(noise_map)
    variance, squares = noise.variance, noise_map**2
    out: FloatArray = squares @ variance @ squares.T
    if noise_map.shape[1] > len(out):
        twice = 2 * squares[:, 0] * variance[0, 1:] + 4 * noise_map[:, 0] * noise.shared[1:]
        out.flat[:: len(out) + 1] += twice
    return out


def shrunk_gram(gram: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Shrink the off-diagonal entries of a noisy Gram matrix towards 0, and its diagonal entries towards their mean.

    Return the matrix with the fraction of noise that each entry keeps.
    """
    size = len(gram)
    if size < _FEWEST:
        return gram, np.ones_like(gram)
    diagonal, noise = gram.diagonal(), variance.diagonal()
    middle = max(float(diagonal.mean()), 0.0)
    off = ~np.eye(size, dtype=np.bool_)
    kept = _signal_share(float((gram[off] ** 2).mean() - variance[off].mean()), variance)
    kept_diagonal = _signal_share(float(diagonal.var() - noise.mean()), noise)
    np.fill_diagonal(kept, kept_diagonal)
    shrunk = gram * kept
    np.fill_diagonal(shrunk, middle + kept_diagonal * (diagonal - middle))
    return shrunk, kept


def _signal_share(signal: float, noise: FloatArray) -> FloatArray:
    """Return the fraction of signal in the observed variance, or 1 without noise."""
    total = max(signal, 0.0) + noise
    return np.divide(max(signal, 0.0), total, out=np.ones_like(noise), where=noise > 0)


def _sum_of_squares(about: PenalisedGram, equations: NormalEquations) -> float:
    """Return y'y, clipped between its noise and the maximum that the bounds allow, or that maximum if not released."""
    largest = max(equations.nobs, 1.0) * (1 + abs(float(equations.shift[-1]))) ** 2
    if not equations.has_square:
        return largest
    noise = float(np.sqrt(gram_variance(about.noise_map, equations.noise)[-1, -1]))
    return float(np.clip(about.square, max(noise, largest * _JITTER), largest)) if noise < largest else largest


def _averaged(noise_map: FloatArray, averaged: Callable[[FloatArray], FloatArray], second: FloatArray) -> FloatArray:
    """Compute the covariance of M F M't without its last entry, averaged over t with moments `second`, shape (m, m)."""
    covariance = averaged(noise_map.T @ second @ noise_map)
    kept = noise_map[:-1]
    out: FloatArray = kept @ covariance @ kept.T
    return out
