"""Boosted AdaSSP (Tang, Aydore, Kearns, Rho, Roth, Wang, Wang and Wu 2023) with noise that keeps its promise.

The public script draws noise of standard deviation mu where 1/mu is needed, and gives every round the whole budget.
Here mu^2 is divided in equal parts: the Gram matrix, its smallest eigenvalue, and all rounds together. The guarantee
is proved in boosted.proof.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.papers.kalaja.algorithms import averaged
from discreet.papers.rivals.rows import BoxedRegressor
from discreet.privacy import mu_from

if TYPE_CHECKING:
    from discreet.exact.arrays import FloatArray

QUANTILE: Final = 1.96  # of the bounds on noise that set the ridge, as in the script
PIECES: Final = 3


@dataclass(eq=False)
class BoostedAdaSSP(BoxedRegressor):
    """Boosted AdaSSP: one noisy Gram matrix, then rounds of least squares on clipped residuals.

    Parameters
    ----------
    rounds
        Boosting rounds. The paper has 100; 10 is better at the sizes of public tables, because rounds share a budget.
    """

    rounds: int = 10

    def noise(self) -> tuple[float, float]:
        """Standard deviations of the noise on the Gram matrix and its eigenvalue, and on the sums of each round."""
        mu = mu_from(self.epsilon, self.delta)
        return math.sqrt(PIECES) / mu, math.sqrt(PIECES * self.rounds) / mu  # [P:boosted-shares]

    def coefficients(self, a: FloatArray, v: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Boost; the residuals of every round are cut to [-1, 1]."""
        size = a.shape[1]
        gram_sd, sum_sd = self.noise()
        gram = a.T @ a
        smallest = np.linalg.eigvalsh(gram)[0] + gram_sd * rng.standard_normal()  # [P:boosted-eigenvalue]
        at_least = max(0.0, smallest - QUANTILE * gram_sd)
        ridge = max(0.0, math.sqrt(size) * gram_sd * QUANTILE - at_least)
        noisy = gram + gram_sd * averaged(rng, 1, size)[0] + ridge * np.eye(size)  # [P:boosted-gram]
        theta = np.zeros(size)
        for _ in range(self.rounds):
            residual = np.clip(v - a @ theta, -1.0, 1.0)
            sums = a.T @ residual + sum_sd * rng.standard_normal(size)  # [P:boosted-sums]
            theta = theta + np.linalg.solve(noisy, sums)
        return theta
