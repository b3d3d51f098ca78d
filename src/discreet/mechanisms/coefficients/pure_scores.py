"""Laplace noise for a Gram matrix once and for sums of scores in every iteration, under epsilon alone.

Proof: irls.proof.md.
"""

from __future__ import annotations

import math
from typing import Final

from discreet.design.domain import RowDomain
from discreet.design.model import Design
from discreet.mechanisms.calibration.blocks import in_steps
from discreet.mechanisms.calibration.l1_sensitivity import L1Geometry, l1_sensitivity
from discreet.privacy.budget import PrivacyBudget, as_pair
from discreet.releases import NoiseLaw

# share of epsilon for the Gram, which sets how fast iterates move and not where they come to rest
PURE_GRAM_SHARE: Final = 0.3
# what an entry off the diagonal weighs: the square root of 2, rounded up
OFF_WEIGHT: Final = math.nextafter(math.sqrt(2), 2.0)


def pure_score_law(design: Design, domain: RowDomain, budget: PrivacyBudget, iterations: int) -> NoiseLaw:
    """Scales of discrete Laplace noise under which the Gram and all scores together keep epsilon.

    The scale of the Gram is that of its diagonal; off the diagonal it may be smaller by sqrt(2).

    >>> design = Design("y", {"y": (-1, 1), "x": (-1, 1)}, intercept=False)
    >>> law = pure_score_law(design, RowDomain.of(design), PrivacyBudget(1.0), 9)
    >>> [round(scale / law.unit, 6) for scale in law.sigma.values()]
    [3.333333, 12.857143]
    """
    epsilon, _ = as_pair(budget, wanted="epsilon, and delta if any,")
    gram = gram_sensitivity(design, domain) / (PURE_GRAM_SHARE * epsilon)  # [P:gram-epsilon]
    score = iterations * score_sensitivity(design, domain) / ((1 - PURE_GRAM_SHARE) * epsilon)  # [P:score-epsilon]
    steps = {name: in_steps(name, scale, domain) for name, scale in (("gram", gram), ("score", score))}
    return NoiseLaw(domain.grid_bits, steps, "pure", "discrete-laplace")


def gram_sensitivity(design: Design, domain: RowDomain) -> float:
    """Largest L1 change of the upper triangle of the Gram of (1, x), entries off the diagonal weighed with sqrt(2)."""
    constant = 1.0 if design.intercept else 0.0
    weights = {
        "count": constant,
        "sum_x": OFF_WEIGHT * constant,
        "gram_diagonal": 1.0,
        "gram_off_diagonal": OFF_WEIGHT,
    }
    return l1_sensitivity(design, domain, weights)  # [P:gram-l1]


def score_sensitivity(design: Design, domain: RowDomain) -> float:
    """Largest L1 change of a sum of scores between neighbouring tables, in scaled units, rounded up.

    >>> design = Design("y", {"y": (-1, 1), "x": (-1, 1), "z": (-1, 1)}, unit={"neighbours": "replace"})
    >>> score_sensitivity(design, RowDomain.of(design))
    6.0
    """
    geometry = L1Geometry.of(design, domain)
    longest = min(geometry.box, geometry.ball) + (1 if design.intercept else 0)
    apart = 1 if design.unit.neighbours == "add-remove" else 2
    exact = longest * apart * design.unit.max_rows  # [P:score-l1]
    near = float(exact)
    return near if near >= exact else math.nextafter(near, math.inf)
