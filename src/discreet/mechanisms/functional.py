"""The functional mechanism: one Laplace scale for every monomial of the squared loss. Proof: functional.proof.md."""

from __future__ import annotations

from typing import Final, Literal

from discreet.accounting.noise_distribution import NoiseLaw, Settings
from discreet.accounting.settings import DECLARED
from discreet.curator.sums.gram import ExactGram
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.mechanisms.laplace import noisy_totals, pure_law
from discreet.mechanisms.protocol import MechanismInfo, NoisyMoments, Passes, RunContext
from discreet.privacy.budget import PrivacyBudget


class FunctionalMechanism:
    """Adds discrete Laplace noise of one scale to the monomial coefficients of the sum of (y - t'z)^2."""

    name: Final = "functional"
    version: Final = "1"
    kind: Final[Literal["moments"]] = "moments"
    info: Final = MechanismInfo(
        summary="Laplace noise of one scale on the polynomial of the squared loss; ridge, LASSO and elastic net of it.",
        document="technical report of Dandekar et al., corrected",
        notion="pure",
        numerics="exact",
        references=("Zhang, Zhang, Xiao, Yang & Winslett 2012", "Dandekar, Basu & Bressan 2018"),
        settings=DECLARED["functional"],
    )

    def noise_model(self, design: Design, domain: RowDomain, budget: PrivacyBudget, settings: Settings) -> NoiseLaw:
        """The law of the noise: design and budget in, no data."""
        weights = monomial_weights(sums=design.needs_sums, target_square=bool(settings["target_square"]))
        return pure_law(design, domain, budget, weights)

    def passes(self, context: RunContext) -> Passes:
        """One pass: exact moments, then noise on the entries that are coefficients of the polynomial."""
        moments = yield ExactGram(len(context.design.released), context.domain.grid_bits)
        return NoisyMoments(noisy_totals(moments, context.law, context.sampler))


def monomial_weights(*, sums: bool, target_square: bool) -> dict[str, float]:
    """How often each moment occurs in the coefficient of a monomial: squares once, mixed and linear terms twice.

    Summed over rows, (y - t'z)^2 is the sum of t_j^2 Q_jj, of t_j t_l (2 Q_jl) over j < l, of -t_j (2 q_j), and y'y.
    With `sums` z = (1, x), without z = x; the number of rows is released all the same.

    >>> monomial_weights(sums=False, target_square=False)
    {'count': 1.0, 'gram_diagonal': 1.0, 'gram_off_diagonal': 2.0, 'cross': 2.0}
    """
    weights = {"count": 1.0, "gram_diagonal": 1.0, "gram_off_diagonal": 2.0, "cross": 2.0}
    if sums:
        weights |= {"sum_x": 2.0, "sum_y": 2.0}
    if target_square:
        weights["target_square"] = 1.0
    return weights  # [P:monomial-weights]
