"""Release the sufficient statistics of one linear model with joint Gaussian noise. Proof: ssp.proof.md."""

from __future__ import annotations

from typing import ClassVar, Final, Literal

from discreet.accounting.moment_queries import one_model_query
from discreet.accounting.moments import Blocks
from discreet.accounting.noise_distribution import NoiseDistribution, Settings, entry_blocks
from discreet.accounting.privacy_maps import VERSION
from discreet.accounting.settings import DECLARED
from discreet.curator.sums.gram import ExactGram, Totals
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.exact.linear import size_of
from discreet.mechanisms.calibration import DEFAULT_SHARES, noise_distribution
from discreet.mechanisms.protocol import MechanismInfo, NoisyMoments, Passes, RunContext
from discreet.mechanisms.sampler import Sampler
from discreet.privacy.budget import PrivacyBudget


class SufficientStatistics:
    """Discrete Gaussian noise on X'X and X'y of the declared model, calibrated jointly."""

    name: ClassVar[str] = "ssp"
    version: ClassVar[str] = VERSION
    kind: ClassVar[Literal["moments"]] = "moments"
    info: ClassVar[MechanismInfo] = MechanismInfo(
        summary="X'X and X'y of one model and nothing else; least squares, or ridge where noise outweighs signal.",
        document="thesis of Kalaja, section 3.1",
        notion="approximate",
        numerics="exact",
        references=("Vu & Slavkovic 2009", "Wang 2018", "Balle & Wang 2018"),
        settings=DECLARED["ssp"],
    )

    def noise_model(
        self, design: Design, domain: RowDomain, budget: PrivacyBudget, settings: Settings
    ) -> NoiseDistribution:
        """Calibrate the noise to the budget, from public quantities only."""
        target_square = bool(settings["target_square"])
        moments = one_model_query(design, domain, target_square=target_square)
        return noise_distribution(
            moments, budget, released_shares(design, target_square=target_square)
        )  # [P:released-shares]

    def passes(self, context: RunContext) -> Passes:
        """Compute the exact moments in one pass, and add noise to every released entry."""
        moments = yield ExactGram(len(context.design.released), context.domain.grid_bits)
        return NoisyMoments(with_noise(moments, context.distribution, context.sampler))


def released_shares(design: Design, *, target_square: bool) -> Blocks:
    """Return the share of mu^2 for each released block, not normalised, and 0 for all other blocks."""
    sums = design.needs_sums
    return Blocks(
        count=DEFAULT_SHARES.count,
        sum_x=DEFAULT_SHARES.sum_x if sums else 0.0,
        gram=DEFAULT_SHARES.gram,
        sum_y=DEFAULT_SHARES.sum_y if sums else 0.0,
        cross=DEFAULT_SHARES.cross,
        target_square=DEFAULT_SHARES.target_square if target_square else 0.0,
    )


def with_noise(moments: Totals, distribution: NoiseDistribution, sampler: Sampler) -> tuple[int | None, ...]:
    """Add an independent noise variate to each exact total. Entries of unreleased blocks are None."""
    exact = moments.on_grid(distribution.unit)
    blocks = entry_blocks(size_of(len(exact)))
    noise = iter(sampler.draw([distribution.sigma[block] for block in blocks if block in distribution.sigma]))
    return tuple(
        total + next(noise) if block in distribution.sigma else None  # [P:released-blocks]
        for block, total in zip(blocks, exact, strict=True)
    )


MECHANISM: Final = SufficientStatistics()
