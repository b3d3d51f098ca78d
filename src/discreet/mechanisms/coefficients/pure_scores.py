"""Laplace noise for a Gram matrix once and for sums of scores in every iteration, under epsilon alone.

Proof: irls.proof.md.
"""

from __future__ import annotations

from typing import Final

from discreet.design.domain import RowDomain
from discreet.design.model import Design
from discreet.losses.sensitivity.scores import gram_l1_sensitivity, score_l1_sensitivity
from discreet.mechanisms.calibration.blocks import in_steps
from discreet.privacy.budget import PrivacyBudget, as_pair
from discreet.releases import NoiseLaw

# share of epsilon for the Gram, which sets how fast iterates move and not where they come to rest
PURE_GRAM_SHARE: Final = 0.3


def pure_score_law(design: Design, domain: RowDomain, budget: PrivacyBudget, iterations: int) -> NoiseLaw:
    """Scales of discrete Laplace noise under which the Gram and all scores together keep epsilon.

    The scale of the Gram is that of its diagonal; off the diagonal it may be smaller by sqrt(2).

    >>> design = Design("y", {"y": (-1, 1), "x": (-1, 1)}, intercept=False)
    >>> law = pure_score_law(design, RowDomain.of(design), PrivacyBudget(1.0), 9)
    >>> [round(scale / law.unit, 6) for scale in law.sigma.values()]
    [3.333333, 12.857143]
    """
    epsilon, _ = as_pair(budget, wanted="epsilon, and delta if any,")
    gram = gram_l1_sensitivity(design, domain) / (PURE_GRAM_SHARE * epsilon)  # [P:gram-epsilon]
    score = iterations * score_l1_sensitivity(design, domain) / ((1 - PURE_GRAM_SHARE) * epsilon)  # [P:score-epsilon]
    steps = {name: in_steps(name, scale, domain) for name, scale in (("gram", gram), ("score", score))}
    return NoiseLaw(domain.grid_bits, steps, "pure", "discrete-laplace")
