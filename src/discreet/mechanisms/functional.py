"""Add Laplace noise of the same scale to all monomials of the squared loss. Proof: functional.proof.md."""

from __future__ import annotations

from typing import Final, Literal

from discreet.accounting.noise_distribution import NoiseDistribution, Settings
from discreet.accounting.privacy_maps import VERSION
from discreet.accounting.settings import DECLARED
from discreet.curator.sums.gram import ExactGram
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.mechanisms.laplace import noisy_totals, pure_distribution
from discreet.mechanisms.protocol import MechanismInfo, NoisyMoments, Passes, RunContext
from discreet.privacy.budget import PrivacyBudget


class FunctionalMechanism:
    """Discrete Laplace noise of the same scale on all polynomial coefficients of the squared loss."""

    name: Final = "functional"
    version: Final = VERSION
    kind: Final[Literal["moments"]] = "moments"
    info: Final = MechanismInfo(
        summary="Laplace noise of one scale on the polynomial of the squared loss; ridge, LASSO and elastic net of it.",
        document="technical report of Dandekar et al., corrected",
        notion="pure",
        numerics="exact",
        references=("Zhang, Zhang, Xiao, Yang & Winslett 2012", "Dandekar, Basu & Bressan 2018"),
        settings=DECLARED["functional"],
    )

    def noise_model(
        self, design: Design, domain: RowDomain, budget: PrivacyBudget, settings: Settings
    ) -> NoiseDistribution:
        """Calibrate the noise to the budget, from public quantities only."""
        weights = monomial_weights(sums=design.needs_sums, target_square=bool(settings["target_square"]))
        return pure_distribution(design, domain, budget, weights)

    def passes(self, context: RunContext) -> Passes:
        """Compute the exact moments in one pass, and add noise to the polynomial coefficients."""
        moments = yield ExactGram(len(context.design.released), context.domain.grid_bits)
        return NoisyMoments(noisy_totals(moments, context.distribution, context.sampler))


def monomial_weights(*, sums: bool, target_square: bool) -> dict[str, float]:
    """Return the factor with which each moment enters the polynomial of the loss.

    It is 1 for squares, and 2 for mixed and linear terms. Let Q be the sum of z z' over rows, and q the sum of z y. The
    sum of (y - t'z)^2 is then the sum of t_j^2 Q_jj over j, plus the sum of t_j t_l (2 Q_jl) over j < l, minus the sum
    of t_j (2 q_j) over j, plus the sum of y^2. Here z = (1, x) if `sums` is True, and z = x otherwise. The number of
    rows is released in both cases.

    >>> monomial_weights(sums=False, target_square=False)
    {'count': 1.0, 'gram_diagonal': 1.0, 'gram_off_diagonal': 2.0, 'cross': 2.0}
    """
    weights = {"count": 1.0, "gram_diagonal": 1.0, "gram_off_diagonal": 2.0, "cross": 2.0}
    if sums:
        weights |= {"sum_x": 2.0, "sum_y": 2.0}
    if target_square:
        weights["target_square"] = 1.0
    return weights  # [P:monomial-weights]


MECHANISM: Final = FunctionalMechanism()
