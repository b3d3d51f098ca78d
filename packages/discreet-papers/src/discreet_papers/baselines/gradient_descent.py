"""Noisy gradient descent with a clip that tracks a quantile (Andrew, Thakkar, McMahan and Ramaswamy 2021).

Every step uses all rows. The clip tracks the median gradient norm: a noisy count estimates the fraction of norms below
the clip, and every step multiplies the clip by exp(-rate (fraction - target)). Quantile, rate and first clip are those
recommended in the paper, and the momentum is the usual 0.9. The guarantee is proved in gradient_descent.proof.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.privacy import mu_from
from discreet_papers.baselines.boxed_rows import BoxedRegressor

if TYPE_CHECKING:
    from discreet.exact.arrays import FloatArray

TARGET: Final = 0.5  # quantile of the norms that the clip tracks
RATE: Final = 0.2  # learning rate of the clip
FIRST_CLIP: Final = 0.1
MOMENTUM: Final = 0.9
COUNT_SHARE: Final = 0.01  # part of mu^2 for the row count
BELOW_SHARE: Final = 0.05  # part of mu^2 for the counts of norms below the clip, in all steps together


def followed(clip: float, share: float, *, target: float = TARGET, rate: float = RATE) -> float:
    """Return the next clip from the noisy fraction of norms that are at most the current clip.

    >>> followed(1.0, 0.5), round(followed(1.0, 1.0), 3)
    (1.0, 0.905)
    """
    return clip * math.exp(-rate * (min(max(share, 0.0), 1.0) - target))


@dataclass(eq=False)
class AdaptiveClipping(BoxedRegressor):
    """Noisy gradient descent with adaptive clipping.

    `step_size` multiplies the mean clipped gradient. The loss is 1-smooth on rows in the unit ball, so 1 is stable with
    momentum. `fixed_clip` replaces the adaptive clip by a public one for comparison; the budget still includes the
    counts.
    """

    steps: int = 100
    step_size: float = 1.0
    fixed_clip: float | None = None

    def noise(self) -> tuple[float, float, float]:
        """Return the noise sd of the row count, of each count below the clip, and of each gradient over the clip."""
        mu = mu_from(self.epsilon, self.delta)
        rest = 1 - COUNT_SHARE - BELOW_SHARE
        return (  # [P:descent-shares]
            1 / (mu * math.sqrt(COUNT_SHARE)),
            math.sqrt(self.steps / BELOW_SHARE) / (2 * mu),
            math.sqrt(self.steps / rest) / mu,
        )

    def coefficients(self, a: FloatArray, v: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Run gradient descent."""
        count_sd, below_sd, gradient_sd = self.noise()
        rows = max(len(v) + count_sd * rng.standard_normal(), 1.0)  # [P:descent-count]
        lengths = np.linalg.norm(a, axis=1)
        theta, velocity = np.zeros(a.shape[1]), np.zeros(a.shape[1])
        clip = self.fixed_clip or FIRST_CLIP
        for _ in range(self.steps):
            residual = v - a @ theta
            norms = np.abs(residual) * lengths
            clipped = residual * np.minimum(1.0, clip / np.maximum(norms, 1e-300))
            gradient = a.T @ clipped + clip * gradient_sd * rng.standard_normal(len(theta))  # [P:descent-gradient]
            below = np.sum((norms <= clip) - 0.5) + below_sd * rng.standard_normal()  # [P:descent-below]
            velocity = MOMENTUM * velocity + gradient / rows
            theta = theta + self.step_size * velocity
            if self.fixed_clip is None:
                clip = followed(clip, 0.5 + below / rows)
        return theta
