"""Iterative Hessian mixing (Lev, Shenfeld, Srinivasan, Ligett and Wilson 2026) with exact accounting.

A noisy lower bound on the smallest eigenvalue of X'X determines how much noise is mixed into Gaussian sketches of X, so
that their covariance is at least gamma. Each of T rounds uses a new sketch to solve for the clipped residuals. The
paper adds up Renyi divergences and uses the classical Gaussian formula, which holds up to epsilon 1. Here delta is an
integral over the exact loss of the sketches (hessian_mixing.proof.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr
from scipy.stats import chi2

from discreet_papers.baselines.boxed_rows import BoxedRegressor

if TYPE_CHECKING:
    from discreet.exact.arrays import FloatArray

ROUNDS: Final = 3
SKETCH_FACTOR: Final = 6  # ratio of sketch rows to max(d, log(4 T / failure probability)), as in the paper's code
FAILURE_SHARE: Final = 0.1  # part of delta that covers an eigenvalue bound that is too high
_PANELS: Final = 400  # cells of the integral, of equal width on a normal scale


def sketch_rows(size: int, delta: float, rounds: int = ROUNDS) -> int:
    """Return the number of rows of a sketch: six times max(number of columns, log(4 T / (delta / 10)))."""
    return int(SKETCH_FACTOR * max(size, math.log(4 * rounds * 10 / delta)))


def mixed_delta(epsilon: float, mu: float, degrees: int, gamma: float) -> float:
    """Return delta at epsilon for a Gaussian mechanism with this mu together with sketches of `degrees` rows in total.

    One row changes the covariance of a sketch row along one direction, by a factor between 1 - 1/gamma and 1 or its
    inverse. So the joint loss of all sketches is linear in one chi-square variate.

    >>> from discreet.privacy import delta_from
    >>> abs(mixed_delta(1.0, 0.3, 60, 1e9) / delta_from(1.0, 0.3) - 1) < 1e-3
    True
    """
    return max(_one_way(epsilon, mu, degrees, gamma, 1), _one_way(epsilon, mu, degrees, gamma, -1))


def _one_way(epsilon: float, mu: float, degrees: int, gamma: float, side: int) -> float:
    """Return delta if the row is present (1) or absent (-1): the Gaussian delta averaged over the chi-square loss."""
    drawn, weights = _chi_square_cells(degrees)
    log_ratio = math.log1p(-1 / gamma)
    # row present: the variate has scale 1, and the neighbour's has scale 1 - 1/gamma; row absent: the reverse
    loss = (
        degrees / 2 * log_ratio + drawn / 2 / (gamma - 1) if side > 0 else -degrees / 2 * log_ratio - drawn / 2 / gamma
    )
    left = epsilon - loss
    # Phi(-e/mu + mu/2) - exp(e) Phi(-e/mu - mu/2), also for negative e
    first, second = log_ndtr(-left / mu + mu / 2), left + log_ndtr(-left / mu - mu / 2)
    return float(weights @ np.maximum(np.exp(first) - np.exp(np.minimum(second, first)), 0.0))


@lru_cache(maxsize=16)
def _chi_square_cells(degrees: int) -> tuple[FloatArray, FloatArray]:
    """Return points and weights for means over a chi-square variate, by Gauss-Legendre cells on a normal scale."""
    nodes, shares = np.polynomial.legendre.leggauss(8)
    edges = np.linspace(-12.0, 12.0, _PANELS + 1)
    half = (edges[1] - edges[0]) / 2
    z = ((edges[:-1] + half)[:, None] + half * nodes).ravel()
    # the Wilson-Hilferty approximation is nearly chi-square, and its density is smooth in z
    spread = math.sqrt(2 / (9 * degrees))
    cube = np.maximum(1 - spread**2 + spread * z, 0.0)
    drawn = degrees * cube**3
    jacobian = 3 * degrees * cube**2 * spread
    density = np.where(cube > 0, chi2.pdf(drawn, degrees) * jacobian, 0.0)
    return drawn, density * half * np.tile(shares, _PANELS)


@lru_cache(maxsize=256)
def calibrated(epsilon: float, delta: float, size: int, rounds: int = ROUNDS) -> tuple[float, float]:
    """Return gamma of the sketches and the noise of X'r.

    To first order, X'r gets as much of the budget as sketches and eigenvalue together.

    >>> gamma, sd = calibrated(1.0, 1e-6, 5)
    >>> round(gamma), round(sd, 1)
    (102, 10.6)
    """
    rows = sketch_rows(size, delta, rounds)

    def excess(log_gamma: float) -> float:
        gamma = math.exp(log_gamma)
        total = mixed_delta(epsilon, _gaussian_mu(gamma, rows, rounds), rows * rounds, gamma)
        return math.log(max(total, 1e-300)) - math.log((1 - FAILURE_SHARE) * delta)  # [P:mixing-failure-share]

    low, high = math.log(1.01), math.log(1e9)
    gamma = math.exp(low if excess(low) <= 0 else brentq(excess, low, high, xtol=1e-9) + 1e-8)
    return gamma, math.sqrt(rounds) / math.sqrt(_sketch_mu_squared(gamma, rows, rounds))  # [P:mixing-sums-noise]


def _sketch_mu_squared(gamma: float, rows: int, rounds: int) -> float:
    """Return the squared mu of sketches and eigenvalue to first order. It only affects how the budget is divided."""
    return rows * (1 + rounds / 2) / gamma**2


def _gaussian_mu(gamma: float, rows: int, rounds: int) -> float:
    """Return mu of the Gaussian parts: the eigenvalue with noise gamma / sqrt(rows), and the sums of all rounds."""
    return math.sqrt(rows / gamma**2 + _sketch_mu_squared(gamma, rows, rounds))  # [P:mixing-gaussian-pieces]


@dataclass(eq=False)
class HessianMixing(BoxedRegressor):
    """Iterative Hessian mixing. `rounds` is the number of sketches, and of sums of clipped residuals."""

    rounds: int = ROUNDS

    def coefficients(self, a: FloatArray, v: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Iterate, with the residuals of every round clipped to [-1, 1]."""
        size = a.shape[1]
        gamma, sum_sd = calibrated(self.epsilon, self.delta, size, self.rounds)
        rows = sketch_rows(size, self.delta, self.rounds)
        gram = a.T @ a
        tail = math.sqrt(2 * math.log(1 / (FAILURE_SHARE * self.delta)))
        noisy = np.linalg.eigvalsh(gram)[0] + gamma / math.sqrt(rows) * (rng.standard_normal() - tail)
        mixed = max(0.0, gamma - max(0.0, noisy))  # [P:mixing-eigenvalue]
        # rows of S X + sqrt(mixed) N are independent and normal with this covariance
        lower = np.linalg.cholesky(gram + mixed * np.eye(size) + 1e-9 * np.eye(size))
        theta = np.zeros(size)
        for _ in range(self.rounds):
            sketch = rng.standard_normal((rows, size)) @ lower.T  # [P:mixing-sketch]
            sums = a.T @ np.clip(v - a @ theta, -1.0, 1.0) + sum_sd * rng.standard_normal(size)  # [P:mixing-sums]
            theta = theta + np.linalg.solve(sketch.T @ sketch / rows, sums)
        return theta
