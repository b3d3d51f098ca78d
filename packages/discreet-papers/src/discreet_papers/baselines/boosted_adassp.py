"""Boosted AdaSSP (Tang, Aydore, Kearns, Rho, Roth, Wang, Wang and Wu 2023) with corrected noise.

The public script draws noise with standard deviation mu instead of 1/mu, and spends the whole budget in every round.
Here mu^2 is divided equally between the Gram matrix, its smallest eigenvalue, and all rounds together. The guarantee is
proved in boosted.proof.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.privacy import mu_from
from discreet_papers.baselines.boxed_rows import BoxedRegressor
from discreet_papers.kalaja.kalaja_methods import averaged

if TYPE_CHECKING:
    from discreet.exact.arrays import FloatArray

QUANTILE: Final = 1.96  # quantile of the noise bounds that determine the ridge, as in the script
PIECES: Final = 3


@dataclass(eq=False)
class BoostedAdaSSP(BoxedRegressor):
    """Boosted AdaSSP: one noisy Gram matrix, then rounds of least squares on clipped residuals.

    The paper uses 100 rounds. Because all rounds share a budget, 10 are better for tables as large as the public ones.
    """

    rounds: int = 10

    def noise(self) -> tuple[float, float]:
        """Return the noise sd of the Gram matrix and its eigenvalue, and of the sums of each round."""
        mu = mu_from(self.epsilon, self.delta)
        return math.sqrt(PIECES) / mu, math.sqrt(PIECES * self.rounds) / mu  # [P:boosted-shares]

    def coefficients(self, a: FloatArray, v: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Boost, with the residuals of every round clipped to [-1, 1]."""
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
