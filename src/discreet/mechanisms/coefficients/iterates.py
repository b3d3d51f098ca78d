"""What iterative mechanisms share: scores, their noise, the box of the iterates. Proof: irls.proof.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from discreet.curator.sums.protocol import Totals
from discreet.design.domain import RowDomain
from discreet.design.model import Design
from discreet.exact.arrays import FloatArray
from discreet.mechanisms.calibration.l2_sensitivity import norm2
from discreet.mechanisms.interface.protocol import RunContext
from discreet.releases import Coefficients

# iterates stay in the box of this half-width, in scaled units, so that no residual overflows
LARGEST_COEFFICIENT: Final = 1e3
# covers the rounding of a few double operations
ROUNDING: Final = 1 + 2**-44


def fitted_indices(design: Design) -> range:
    """Which of the columns (1, x) are fitted."""
    return range(0 if design.intercept else 1, len(design.released) - 1)


def row_norm(design: Design, domain: RowDomain) -> float:
    """Largest norm of (1, x), or of x without intercept, in scaled units, rounded up.

    >>> design = Design("y", {"y": (0, 1), "x": (0, 1), "z": (0, 1), "w": (0, 1)})
    >>> row_norm(design, RowDomain.of(design))
    2.0000000000001137
    """
    return math.sqrt(norm2(domain) + design.intercept) * ROUNDING


def score_sensitivity(design: Design, domain: RowDomain) -> float:
    """Largest change of a sum of scores psi/bound times (1, x) between neighbours, in scaled units."""
    apart = 1.0 if design.unit.neighbours == "add-remove" else 2.0
    return row_norm(design, domain) * apart * design.unit.max_rows  # [P:score-sensitivity]


def noisy_score(sums: Totals, context: RunContext) -> FloatArray:
    """The sums of scores of the fitted columns, with noise added on the product grid; in scaled units."""
    indices = fitted_indices(context.design)
    noise = context.sampler.draw([context.law.sigma["score"]] * len(indices))
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
