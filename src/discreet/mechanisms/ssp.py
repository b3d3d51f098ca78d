"""Sufficient statistics of one linear model with joint Gaussian noise. Proof: ssp.proof.md."""

from __future__ import annotations

from typing import ClassVar, Literal

from discreet.accounting.moments import Blocks
from discreet.accounting.noise_distribution import NoiseLaw, Settings, entry_blocks
from discreet.accounting.settings import DECLARED
from discreet.curator.sums.gram import ExactGram, Totals
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.exact.linear import size_of
from discreet.mechanisms.calibration import DEFAULT_SHARES, noise_law
from discreet.mechanisms.protocol import MechanismInfo, NoisyMoments, Passes, RunContext
from discreet.mechanisms.sampler import Sampler
from discreet.privacy.budget import PrivacyBudget


class SufficientStatistics:
    """Adds discrete Gaussian noise to X'X and X'y of the declared model, calibrated jointly, and releases no more."""

    name: ClassVar[str] = "ssp"
    version: ClassVar[str] = "1"
    kind: ClassVar[Literal["moments"]] = "moments"
    info: ClassVar[MechanismInfo] = MechanismInfo(
        summary="X'X and X'y of one model and nothing else; least squares, or ridge where noise outweighs signal.",
        document="thesis of Kalaja, section 3.1",
        notion="approximate",
        numerics="exact",
        references=("Vu & Slavkovic 2009", "Wang 2018", "Balle & Wang 2018"),
        settings=DECLARED["ssp"],
    )

    def noise_model(self, design: Design, domain: RowDomain, budget: PrivacyBudget, settings: Settings) -> NoiseLaw:
        """The law of the noise: design and budget in, no data."""
        return noise_law(
            domain,
            design.unit.neighbours,
            len(design.released),
            budget,
            count_public=design.count_public,
            rows_per_unit=design.unit.max_rows,
            shares=released_shares(design, target_square=bool(settings["target_square"])),  # [P:released-shares]
        )

    def passes(self, context: RunContext) -> Passes:
        """One pass: exact moments, then noise on every entry that is released."""
        moments = yield ExactGram(len(context.design.released), context.domain.grid_bits)
        return NoisyMoments(with_noise(moments, context.law, context.sampler))


def released_shares(design: Design, *, target_square: bool) -> Blocks:
    """Shares of mu^2 of the blocks that are released, before they are brought to a sum of 1; 0 for all others."""
    sums = design.needs_sums
    return Blocks(
        count=DEFAULT_SHARES.count,
        sum_x=DEFAULT_SHARES.sum_x if sums else 0.0,
        gram=DEFAULT_SHARES.gram,
        sum_y=DEFAULT_SHARES.sum_y if sums else 0.0,
        cross=DEFAULT_SHARES.cross,
        target_square=DEFAULT_SHARES.target_square if target_square else 0.0,
    )


def with_noise(moments: Totals, law: NoiseLaw, sampler: Sampler) -> tuple[int | None, ...]:
    """Exact totals plus one independent variate each where the block is released, none elsewhere."""
    exact = moments.on_grid(law.unit)
    blocks = entry_blocks(size_of(len(exact)))
    noise = iter(sampler.draw([law.sigma[block] for block in blocks if block in law.sigma]))
    return tuple(
        total + next(noise) if block in law.sigma else None  # [P:released-blocks]
        for block, total in zip(blocks, exact, strict=True)
    )
