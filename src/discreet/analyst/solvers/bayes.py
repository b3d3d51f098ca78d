r"""The best predictor from noisy sums: a posterior mean that knows the noise of the release.

With G = X'X and b = X'y of the coefficients that are shrunk, the release holds G + E and b + e, and the model says
b = G theta + X'eta. Let H be an estimate of G. Under a prior theta ~ N(0, T), what was released for b is Gaussian with

    C = H T H + s^2 H + V(T),

V(T) being the covariance of e - (G - H) theta averaged over the prior: the noise of the Gram as errors in the
variables. The posterior mean is T H C^{-1} (b + e).

H is G + E with its entries off the diagonal shrunk to 0 and those on it to their mean, each by the share of its
noise in what is seen of their spread, and with negative eigenvalues set to 0. V uses what is left of the noise then.

The prior is diagonal in the eigenvectors of H and proportional to a power (0, 1/2, 1) of the eigenvalues. Its size is
counted by the share of y'y that it expects to explain, tr(H T) = share y'y, and leaves s^2 = (1 - share) y'y / n for
the residuals. Shares up to 1 are equally likely beforehand; larger sizes, for signals along small eigenvalues, are
equally likely in logarithm. Each of these priors is weighted by its marginal likelihood, the density of the released
b under N(0, C), and the posterior means are averaged. Nothing is tuned, and nothing but the release is used.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from discreet.analyst.equations.noise_covariance import EntryNoise, averaged_covariance
from discreet.analyst.equations.normal import NormalEquations
from discreet.analyst.solvers.least_squares import Solution
from discreet.analyst.solvers.penalised_gram import PenalisedGram, penalised_gram
from discreet.exact.arrays import FloatArray

_POWERS: Final = (0.0, 0.5, 1.0)
_SIZES: Final = 2.0 ** np.arange(-10.0, 4.5, 0.5)  # shares of y'y
_FLATTEST: Final = 1e-6  # no direction's prior falls further below that of the largest eigenvalue
_LEAST_RESIDUAL: Final = 2.0**-6  # of y'y: a prior that explains all of it would leave the errors no variance
_FEWEST: Final = 3  # entries on the diagonal from which a spread can be estimated
_JITTER: Final = 1e-12  # of the largest diagonal entry: exact columns may be combinations of each other


def posterior_solution(equations: NormalEquations, digest: str) -> Solution:
    """Give all k coefficients: the posterior mean, and an intercept through the noisy means where it is not shrunk."""
    # released centres put the origin where the intercept is small, so that it is shrunk like any coefficient
    about = penalised_gram(equations, digest, whole=equations.weighted)
    theta = posterior_mean(about, equations)
    if equations.intercept and not about.penalised[0]:
        means = -about.noise_map[:, 0]
        theta = np.concatenate([[means[-1] - means[:-1] @ theta], theta])
    return Solution(tuple(Fraction(value) for value in theta.tolist()))


def posterior_mean(about: PenalisedGram, equations: NormalEquations) -> FloatArray:
    """Posterior mean of the coefficients that are shrunk, shape (m,); see the head of the module."""
    size = len(about.gram)
    gram, noise_left = shrunk_gram(about.gram, gram_variance(about.noise_map[:-1, :-1], equations.noise.without_last()))
    values, axes = np.linalg.eigh(gram)
    values = np.maximum(values, 0.0)
    if size == 0 or values[-1] <= 0:
        return np.zeros(size)
    gram = (axes * values) @ axes.T
    noise = equations.noise
    variance, shared = noise.variance.copy(), noise.shared.copy()
    lead = variance.shape[0] - 1 - size
    variance[lead:-1, lead:-1] *= noise_left
    # shrunk by the share k, a square has the error (1 - k) signal - k noise, of which k is what it shares with its sum
    shared[lead:-1] *= noise_left.diagonal()
    square = _sum_of_squares(about, equations)
    target_only = np.zeros((size + 1, size + 1))
    target_only[-1, -1] = 1.0
    right_noise = _averaged(about.noise_map, variance, shared, target_only)
    logs, means = [], []
    for power in _POWERS:
        spread = np.maximum(values / values[-1], _FLATTEST) ** power
        spread *= square / (values @ spread)
        prior = np.zeros_like(target_only)
        prior[:-1, :-1] = (axes * spread) @ axes.T
        explained = (axes * (values**2 * spread)) @ axes.T + _averaged(about.noise_map, variance, shared, prior)
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


def gram_variance(noise_map: FloatArray, noise: EntryNoise) -> FloatArray:
    """Variances of the entries of M E M', E symmetric noise, shape (m, m).

    Every row of M is a unit vector, plus a multiple of the first one. For such rows, i and j different, no entry of E
    is counted twice; on the diagonal the entry between both is, and the square of an indicator is that entry again.

    >>> gram_variance(np.array([[2.0, 1.0]]), EntryNoise(np.array([[1.0, 1.0], [1.0, 1.0]])))
    array([[33.]])
    """
    variance, squares = noise.variance, noise_map**2
    out: FloatArray = squares @ variance @ squares.T
    if noise_map.shape[1] > len(out):
        twice = 2 * squares[:, 0] * variance[0, 1:] + 4 * noise_map[:, 0] * noise.shared[1:]
        out.flat[:: len(out) + 1] += twice
    return out


def shrunk_gram(gram: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Shrink a noisy Gram towards its mean diagonal, and give the share of each entry's noise that is left in it."""
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
    """Share of the signal in what is seen; all of it where nothing is noise."""
    total = max(signal, 0.0) + noise
    return np.divide(max(signal, 0.0), total, out=np.ones_like(noise), where=noise > 0)


def _sum_of_squares(about: PenalisedGram, equations: NormalEquations) -> float:
    """Give y'y, not below its noise nor above what the bounds allow, which it is where it was not released."""
    largest = max(equations.nobs, 1.0) * (1 + abs(float(equations.shift[-1]))) ** 2
    if not equations.has_square:
        return largest
    noise = float(np.sqrt(gram_variance(about.noise_map, equations.noise)[-1, -1]))
    return float(np.clip(about.square, max(noise, largest * _JITTER), largest)) if noise < largest else largest


def _averaged(noise_map: FloatArray, variance: FloatArray, shared: FloatArray, second: FloatArray) -> FloatArray:
    """Covariance of M F M't without its last entry, averaged over t with these second moments, shape (m, m)."""
    covariance = averaged_covariance(variance, shared, noise_map.T @ second @ noise_map)
    kept = noise_map[:-1]
    out: FloatArray = kept @ covariance @ kept.T
    return out
