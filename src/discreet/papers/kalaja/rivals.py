"""One posterior sample (OPS, AdaOPS) and objective perturbation, as Wang's code has them (Wang 2018), NOT PRIVATE.

The thesis compares AdaSSP with the paper in which these are rivals. Formulas and constants are those of the public
repository yuxiangw/optimal_dp_linear_regression; rows lie in the unit ball and targets in [-1, 1]. Two slips of that
code are kept, because the published errors contain them:

- the samples of OPS and AdaOPS have covariance (R R')^-1 with R'R = X'X + (1 + lambda) I, not (R'R)^-1;
- objective perturbation halves X'y but not X'X, so it shrinks its coefficients by half even without noise, and its
  noise grows with 1/epsilon^2.

Claimed (epsilon, delta); what they truly spend is not known, and the slips are outside the proofs.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.papers.kalaja.algorithms import MISS, Sums

if TYPE_CHECKING:
    from discreet.exact.arrays import FloatArray

_HALVINGS: Final = 100


def ops(sums: Sums, epsilons: FloatArray, delta: float, rng: np.random.Generator) -> FloatArray:
    """One posterior sample with the ridge that balances bias and noise for coefficients of norm 1."""
    return np.array([_ops(sums, float(epsilon), delta, rng) for epsilon in epsilons])


def _ops(sums: Sums, epsilon: float, delta: float, rng: np.random.Generator) -> FloatArray:
    size, rows, tail = len(sums.cross), sums.rows, math.log(2 / delta)
    spread = _spread(size) * tail / min(epsilon / 2, math.sqrt(epsilon / 2)) ** 2
    lam = max((spread * rows / 2) ** (1 / 3), (1 + tail) / epsilon)
    slope = 1 + min(math.sqrt(rows / (2 * lam)), rows / lam)
    root_gamma = _larger_root(slope**2 / (lam + 1), slope * math.sqrt(tail / lam), (1 + tail) / (2 * lam) - epsilon)
    return _sample(sums, lam, root_gamma, rng)


def adaops(sums: Sums, epsilons: FloatArray, delta: float, rng: np.random.Generator) -> FloatArray:
    """One posterior sample whose ridge and spread follow noisy lambda_min and a noisy bound on the residuals."""
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
    """Objective perturbation (Kifer, Smith and Thakurta 2012) over coefficients of norm at most 1, as coded."""
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
    """How long a standard normal vector is: half of a bound on its squared norm that fails with probability rho."""
    log_miss = math.log(1 / MISS)
    return size / 2 + math.sqrt(size * log_miss) + log_miss


def _larger_root(a: float, b: float, c: float) -> float:
    """The larger root of a r^2 + b r + c; positive where c is negative."""
    return (-b + math.sqrt(b**2 - 4 * a * c)) / (2 * a)


def _best_shift(spread: float, power: float) -> float:
    """The s > 0 that minimises s + spread (1 + 1/s)^power / s, whose derivative changes from minus to plus once."""
    low, high = -10.0, 30.0  # of log s
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
