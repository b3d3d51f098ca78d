"""What iterative mechanisms share: scores, their noise, the box of the iterates. Proof: irls.proof.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from discreet.curator.sums.protocol import Totals
from discreet.design.model import Design
from discreet.exact.arrays import FloatArray
from discreet.mechanisms.interface.protocol import RunContext
from discreet.releases import Coefficients

# iterates stay in the box of this half-width, in scaled units, so that no residual overflows
LARGEST_COEFFICIENT: Final = 1e3


def fitted_indices(design: Design) -> range:
    """Which of the columns (1, x) are fitted."""
    return range(0 if design.intercept else 1, len(design.released) - 1)


def variates(context: RunContext, scales: Sequence[int]) -> list[int]:
    """One independent variate for each scale, of the family that the law of the noise names."""
    pure = context.law.family == "discrete-laplace"
    return context.sampler.laplace(scales) if pure else context.sampler.draw(scales)  # [P:variate-family]


def noisy_score(sums: Totals, context: RunContext) -> FloatArray:
    """The sums of scores of the fitted columns, with noise added on the product grid; in scaled units."""
    indices = fitted_indices(context.design)
    noise = variates(context, [context.law.sigma["score"]] * len(indices))
    exact = sums.on_grid(context.law.unit)[indices[0] :]
    return np.array([(a + b) / context.law.unit for a, b in zip(exact, noise, strict=True)])  # [P:score-noise]


def stepped(theta: FloatArray, step: FloatArray) -> FloatArray:
    """Coefficients after a step of the fitted ones, which come last, inside the box."""
    full = np.concatenate([np.zeros(len(theta) - len(step)), step])
    inside: FloatArray = np.clip(theta + full, -LARGEST_COEFFICIENT, LARGEST_COEFFICIENT)
    return inside


def published(iterates: Sequence[FloatArray], *, average: bool) -> Coefficients:
    """The last iterate, or the mean of the last half of them, and all of them as trace."""
    last = iterates[len(iterates) // 2 :] if average else iterates[-1:]
    values = np.mean(last, axis=0)
    return Coefficients(tuple(values.tolist()), tuple(tuple(theta.tolist()) for theta in iterates))
