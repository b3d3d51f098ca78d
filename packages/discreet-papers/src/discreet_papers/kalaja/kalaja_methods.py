"""Implement the algorithms of the thesis, and the methods it compares them with, as written. NOT PRIVATE."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.privacy import epsilon_from

if TYPE_CHECKING:
    from discreet.exact.arrays import FloatArray

# -- algorithms --------------------------------------------------------------------------------------------------------
# SSP and AdaSSP as written in the thesis, in the paper it follows and in that paper's code. NOT PRIVATE: NumPy noise.
#
# All need rows in the unit ball and targets in [-1, 1]. Under that condition, and with unseeded noise, each spends
# `true_epsilon`. The thesis scales rows by statistics of the data without spending budget on them.

DELTA: Final = 1e-6
MISS: Final = 0.05  # rho of AdaSSP


@dataclass(frozen=True, eq=False)
class Sums:
    """X'X and X'y over the training rows, shapes (d, d) and (d,), and the number of rows."""

    gram: FloatArray
    cross: FloatArray
    rows: int

    @classmethod
    def of(cls, x: FloatArray, y: FloatArray) -> Sums:
        """Compute the sums over rows."""
        return cls(x.T @ x, x.T @ y, len(y))


Algorithm = Callable[[Sums, "FloatArray", float, np.random.Generator], "FloatArray"]


def mirrored(rng: np.random.Generator, many: int, size: int) -> FloatArray:
    """Draw symmetric noise by Algorithm 1: an upper triangle of independent normal variates, mirrored."""
    upper = np.triu(rng.standard_normal((many, size, size)))
    return upper + np.triu(upper, 1).transpose(0, 2, 1)


def averaged(rng: np.random.Generator, many: int, size: int) -> FloatArray:
    """Draw symmetric noise as the AdaSSP code does, (Z + Z')/2, with sd 0.707 off the diagonal."""
    square = rng.standard_normal((many, size, size))
    return (square + square.transpose(0, 2, 1)) / 2


def solved(gram: FloatArray, cross: FloatArray) -> FloatArray:
    """Solve stacks of noisy sums for coefficients: shapes (k, d, d) and (k, d)."""
    return np.asarray(np.linalg.solve(gram, cross[..., None])[..., 0], dtype=np.float64)


def trivial(sums: Sums, epsilons: FloatArray, delta: float, rng: np.random.Generator) -> FloatArray:
    """Return zero coefficients, which need no data and have the trivial error."""
    return np.zeros((len(epsilons), len(sums.cross)))


def ridge(sums: Sums, epsilons: FloatArray, delta: float, rng: np.random.Generator) -> FloatArray:
    """Fit the non-private solution of the thesis: ridge regression with lambda = 1, the same at every epsilon."""
    theta = np.linalg.solve(sums.gram + np.eye(len(sums.cross)), sums.cross)
    return np.tile(theta, (len(epsilons), 1))


def paper_sigma(epsilon: float, delta: float) -> float:
    """Return the noise sd of SSP quoted in the thesis from Wang (2018), with variance 4 log(4/delta) / epsilon^2."""
    return 2 * math.sqrt(math.log(4 / delta)) / epsilon


def coded_sigma(epsilon: float, delta: float) -> float:
    """Return the noise sd of SSP in Wang's code, whose variance is a quarter of the paper's."""
    return math.sqrt(math.log(4 / delta)) / epsilon


def symmetric_sigma(epsilon: float, delta: float) -> float:
    """Return the noise sd of SSP as corrected in the thesis: Algorithm 1 at half of epsilon and delta per statistic."""
    return math.sqrt(2 * math.log(1.25 / (delta / 2))) / (epsilon / 2)


def printed_sigma(epsilon: float, delta: float) -> float:
    """Return the noise sd of AdaSSP, Algorithm 2."""
    return math.sqrt(math.log(6 / delta)) / (epsilon / 3)


def fixed_sigma(epsilon: float, delta: float) -> float:
    """Return the noise sd of AdaSSP, Algorithm 3, with the noise levels of the thesis."""
    return math.sqrt(2 * math.log(3.75 / delta)) / (epsilon / 3)


def _each(sigma: Callable[[float, float], float], epsilons: FloatArray, delta: float) -> FloatArray:
    return np.array([sigma(float(epsilon), delta) for epsilon in epsilons])


def ssp_paper(sums: Sums, epsilons: FloatArray, delta: float, rng: np.random.Generator) -> FloatArray:
    """Fit SSP with the paper's variance and symmetric noise, which is (epsilon, delta)-DP up to epsilon 10.9."""
    return _ssp(sums, _each(paper_sigma, epsilons, delta), rng)


def ssp_symmetric(sums: Sums, epsilons: FloatArray, delta: float, rng: np.random.Generator) -> FloatArray:
    """Fit SSP as corrected in the thesis: symmetric noise and the variance of Algorithm 1."""
    return _ssp(sums, _each(symmetric_sigma, epsilons, delta), rng)


def _ssp(sums: Sums, sigma: FloatArray, rng: np.random.Generator) -> FloatArray:
    size = len(sums.cross)
    gram = sums.gram + sigma[:, None, None] * mirrored(rng, len(sigma), size)
    return solved(gram, sums.cross + sigma[:, None] * rng.standard_normal((len(sigma), size)))


def ssp_coded(sums: Sums, epsilons: FloatArray, delta: float, rng: np.random.Generator) -> FloatArray:
    """Fit SSP as in Wang's code: X'X + I, asymmetric noise, half of the paper's standard deviation.

    NOT PRIVATE at the claimed epsilon: it spends 1.587 at a claimed 1.
    """
    size = len(sums.cross)
    sigma = _each(coded_sigma, epsilons, delta)
    cross = sums.cross + sigma[:, None] * rng.standard_normal((len(sigma), size))
    noise = sigma[:, None, None] * rng.standard_normal((len(sigma), size, size))
    return solved(sums.gram + np.eye(size) + noise, cross)


def adassp_printed(sums: Sums, epsilons: FloatArray, delta: float, rng: np.random.Generator) -> FloatArray:
    """Fit AdaSSP, Algorithm 2 as printed: ridge from a noisy lambda_min, mirrored noise.

    It spends 0.60 at a claimed 1.
    """
    return _adassp(sums, _each(printed_sigma, epsilons, delta), math.log(6 / delta), mirrored, rng)


def adassp_fixed(sums: Sums, epsilons: FloatArray, delta: float, rng: np.random.Generator) -> FloatArray:
    """Fit AdaSSP, Algorithm 3 of the thesis: Algorithm 2 with more noise. It spends 0.42 at a claimed 1."""
    return _adassp(sums, _each(fixed_sigma, epsilons, delta), 2 * math.log(3.75 / delta), mirrored, rng)


def adassp_coded(sums: Sums, epsilons: FloatArray, delta: float, rng: np.random.Generator) -> FloatArray:
    """Fit AdaSSP as in Wang's code: X'X + I first, and noise averaged with its transpose."""
    with_identity = Sums(sums.gram + np.eye(len(sums.cross)), sums.cross, sums.rows)
    return _adassp(with_identity, _each(printed_sigma, epsilons, delta), math.log(6 / delta), averaged, rng)


def _adassp(
    sums: Sums,
    sigma: FloatArray,
    log_term: float,
    noise: Callable[[np.random.Generator, int, int], FloatArray],
    rng: np.random.Generator,
) -> FloatArray:
    size = len(sums.cross)
    smallest = np.linalg.eigvalsh(sums.gram)[0]
    # step 2: sqrt(L)/(epsilon/3) is sigma, so L/(epsilon/3) is sigma sqrt(L)
    at_least = np.maximum(smallest + sigma * rng.standard_normal(len(sigma)) - sigma * math.sqrt(log_term), 0.0)
    lam = np.maximum(0.0, sigma * math.sqrt(size * math.log(2 * size**2 / MISS)) - at_least)
    gram = sums.gram + sigma[:, None, None] * noise(rng, len(sigma), size)
    cross = sums.cross + sigma[:, None] * rng.standard_normal((len(sigma), size))
    return solved(gram + lam[:, None, None] * np.eye(size), cross)


# number of statistics of sensitivity 1 that each algorithm publishes, and its noise
_SPENT: Final = {
    "ssp_paper": (2, paper_sigma),
    "ssp_coded": (2, coded_sigma),
    "ssp_symmetric": (2, symmetric_sigma),
    "adassp_printed": (3, printed_sigma),
    "adassp_coded": (3, printed_sigma),
    "adassp_fixed": (3, fixed_sigma),
}


def true_mu(name: str, epsilon: float, delta: float = DELTA) -> float:
    """Return the true mu of an algorithm in Gaussian differential privacy, over all its statistics together.

    The result is exact for SSP, where one row (a unit vector with target 1) moves both statistics by 1. It is an upper
    bound for AdaSSP, where the same row need not move lambda_min.
    """
    statistics, sigma = _SPENT[name]
    return math.sqrt(statistics) / sigma(epsilon, delta)


@lru_cache(maxsize=256)
def true_epsilon(name: str, epsilon: float, delta: float = DELTA) -> float:
    """Return the true epsilon of an algorithm at a claimed epsilon, under add-remove, for rows in the unit ball.

    >>> names = ("ssp_coded", "ssp_paper", "ssp_symmetric", "adassp_printed", "adassp_fixed")
    >>> [round(true_epsilon(name, 1.0), 3) for name in names]
    [1.587, 0.751, 0.527, 0.596, 0.418]
    """
    return epsilon_from(true_mu(name, epsilon, delta), delta)


# -- other methods -----------------------------------------------------------------------------------------------------
# One posterior sample (OPS, AdaOPS) and objective perturbation, as in Wang's code (Wang 2018). NOT PRIVATE.
#
# These are baselines in the paper with which the thesis compares AdaSSP. Formulas and constants are those of the public
# repository yuxiangw/optimal_dp_linear_regression. Rows lie in the unit ball and targets in [-1, 1]. Two errors of that
# code are kept, because the published results contain them:
#
# - the samples of OPS and AdaOPS have covariance (R R')^-1 with R'R = X'X + (1 + lambda) I, not (R'R)^-1;
# - objective perturbation halves X'y but not X'X, so it shrinks its coefficients by half even without noise, and its
#   noise grows with 1/epsilon^2.
#
# They claim (epsilon, delta). What they truly spend is unknown, because the proofs do not cover these errors.

_HALVINGS: Final = 100


def ops(sums: Sums, epsilons: FloatArray, delta: float, rng: np.random.Generator) -> FloatArray:
    """Draw one posterior sample, with the ridge that balances bias and noise for coefficients of norm 1."""
    return np.array([_ops(sums, float(epsilon), delta, rng) for epsilon in epsilons])


def _ops(sums: Sums, epsilon: float, delta: float, rng: np.random.Generator) -> FloatArray:
    size, rows, tail = len(sums.cross), sums.rows, math.log(2 / delta)
    spread = _spread(size) * tail / min(epsilon / 2, math.sqrt(epsilon / 2)) ** 2
    lam = max((spread * rows / 2) ** (1 / 3), (1 + tail) / epsilon)
    slope = 1 + min(math.sqrt(rows / (2 * lam)), rows / lam)
    root_gamma = _larger_root(slope**2 / (lam + 1), slope * math.sqrt(tail / lam), (1 + tail) / (2 * lam) - epsilon)
    return _sample(sums, lam, root_gamma, rng)


def adaops(sums: Sums, epsilons: FloatArray, delta: float, rng: np.random.Generator) -> FloatArray:
    """Draw one posterior sample, with ridge and spread from a noisy lambda_min and a noisy bound on the residuals."""
    return np.array([_adaops(sums, float(epsilon), delta, rng) for epsilon in epsilons])


def _adaops(sums: Sums, epsilon: float, delta: float, rng: np.random.Generator) -> FloatArray:
    size, tail = len(sums.cross), math.log(6 / delta)
    smallest = float(np.linalg.eigvalsh(sums.gram)[0]) + 1
    quarter = epsilon / 4
    at_least = max(smallest + rng.standard_normal() * math.sqrt(tail) / quarter - tail / quarter, 0.0)
    least_ridge = max((1 + tail) / 2 / (epsilon / 4) - at_least, 0.0)
    inner = _larger_root(tail / 2, 1.0, -epsilon / 4)
    lam = max(_best_shift(_spread(size) * tail / inner**2, 2 * tail / quarter) - at_least, least_ridge)
    shift = lam + at_least
    gram = sums.gram + (1 + lam) * np.eye(size)
    scale = math.log1p(1 / shift) / quarter
    length = float(np.linalg.norm(np.linalg.solve(gram, sums.cross)))
    log_slope = math.log1p(length) + rng.standard_normal() * scale * math.sqrt(tail) + scale * tail
    slope = min(math.exp(min(log_slope, 700.0)), 1 + math.sqrt(2 * math.sqrt(sums.rows) / shift))
    root_gamma = _larger_root(
        slope**2 / 2 / (shift + 1), slope * math.sqrt(tail / shift), (1 + tail) / 2 / shift - epsilon / 2
    )
    return _sample(sums, lam, root_gamma, rng)


def objective(sums: Sums, epsilons: FloatArray, delta: float, rng: np.random.Generator) -> FloatArray:
    """Fit objective perturbation (Kifer, Smith and Thakurta 2012) over coefficients of norm at most 1, as coded."""
    size = len(sums.cross)
    values, vectors = np.linalg.eigh(sums.gram)
    sd = 2 * np.sqrt(4 * math.log(2 / delta) + 2 * epsilons) / epsilons**2
    noisy = (sums.cross - sd[:, None] * rng.standard_normal((len(epsilons), size))) @ vectors / 2
    diagonal = values + (2 / epsilons**2)[:, None]
    low, high = np.zeros(len(epsilons)), np.linalg.norm(noisy, axis=1)
    inside = np.linalg.norm(noisy / diagonal, axis=1) <= 1
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        long = np.linalg.norm(noisy / (diagonal + middle[:, None]), axis=1) > 1
        low, high = np.where(long, middle, low), np.where(long, high, middle)
    multiplier = np.where(inside, 0.0, high)
    solution: FloatArray = (noisy / (diagonal + multiplier[:, None])) @ vectors.T
    return solution


def _spread(size: int) -> float:
    """Return half of a bound on the squared norm of a standard normal vector that fails with probability rho."""
    log_miss = math.log(1 / MISS)
    return size / 2 + math.sqrt(size * log_miss) + log_miss


def _larger_root(a: float, b: float, c: float) -> float:
    """Return the larger root of a r^2 + b r + c, which is positive if a > 0 > c."""
    return (-b + math.sqrt(b**2 - 4 * a * c)) / (2 * a)


def _best_shift(spread: float, power: float) -> float:
    """Return the s > 0 that minimises s + spread (1 + 1/s)^power / s. The derivative changes sign once."""
    low, high = -10.0, 30.0  # bounds of log s
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        s = math.exp(middle)
        slope = math.log(spread) + (power - 1) * math.log1p(1 / s) + math.log(power / s**3 + (1 + 1 / s) / s**2)
        low, high = (middle, high) if slope > 0 else (low, middle)
    return math.exp(high)


def _sample(sums: Sums, lam: float, root_gamma: float, rng: np.random.Generator) -> FloatArray:
    gram = sums.gram + (1 + lam) * np.eye(len(sums.cross))
    lower = np.linalg.cholesky(gram)
    noise = np.linalg.solve(lower, rng.standard_normal(len(gram)))
    sample: FloatArray = np.linalg.solve(gram, sums.cross) + noise / root_gamma
    return sample
