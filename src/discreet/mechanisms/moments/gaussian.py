"""The joint Gaussian release of all moments of (1, x, y). Proof: gaussian.proof.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from discreet.curator.sums.gram import ExactGram
from discreet.curator.sums.protocol import Totals
from discreet.design.domain import RowDomain
from discreet.design.model import Design
from discreet.design.submodels import model_domain
from discreet.exact.triangle import size_of
from discreet.losses.law import Columns
from discreet.mechanisms.calibration.blocks import noise_law, shares_by_design
from discreet.mechanisms.interface.protocol import MechanismInfo, NoisyMoments, Passes, RunContext
from discreet.mechanisms.moments.clip_counts import clip_counts_statistic, on_product_grid
from discreet.mechanisms.sampling.sampler import Sampler
from discreet.privacy.budget import PrivacyBudget
from discreet.releases import CLIPPED, NoiseLaw, Settings


@dataclass(frozen=True, slots=True)
class GaussianMoments:
    """Adds independent discrete Gaussian noise to the exact moments, calibrated jointly over all blocks.

    The sum of an indicator is its sum of squares: one number, released once.

    Attributes
    ----------
    robust
        Whether a share of the budget is kept for what robust standard errors need (residuals.proof.md).
    clip_counts
        Whether a share of it pays for noisy counts of clipped rows, one for each numeric column.
    models
        Columns of further models that get what robust standard errors need.
    """

    robust: bool = False
    clip_counts: bool = False
    models: tuple[Columns, ...] = ()

    name: ClassVar[str] = "gaussian"
    version: ClassVar[str] = "3"
    kind: ClassVar[Literal["moments"]] = "moments"
    info: ClassVar[MechanismInfo] = MechanismInfo(
        summary="Joint Gaussian release of all moments; any model and valid intervals from one release.",
        document="suggested by the thesis of Kalaja and the notebook of Neunhoeffer; the papers cited",
        notion="approximate",
        numerics="exact",
        references=("Balle & Wang 2018", "Canonne, Kamath & Steinke 2020", "Dong, Roth & Su 2022"),
        clip_counts=True,
    )

    def noise_model(self, design: Design, domain: RowDomain, budget: PrivacyBudget, settings: Settings) -> NoiseLaw:
        """The law of the noise: design and budget in, no data."""
        size, neighbours = len(design.released), design.unit.neighbours
        return noise_law(
            domain,
            neighbours,
            size,
            budget,
            count_public=design.count_public,
            shares=shares_by_design(
                domain,
                neighbours,
                size - 2,
                count_public=design.count_public,
                factors=design.factors,
                indicators=design.indicators,
            ),
            rows_per_unit=design.unit.max_rows,
            robust=self.robust,
            models={columns: model_domain(design, domain, columns) for columns in self.models},
            factors=design.factors,
            indicators=design.indicators,
            beside=clip_counts_statistic(design) if self.clip_counts else None,
        )

    def passes(self, context: RunContext) -> Passes:
        """One pass: exact moments, then noise on every entry."""
        moments = yield ExactGram(len(context.design.released), context.domain.grid_bits)
        totals = self.randomise(moments, context.law, context.sampler)
        noise = context.sampler.draw([context.law.sigma[CLIPPED]] * len(moments.clipped)) if self.clip_counts else ()
        return NoisyMoments(totals, clipped=on_product_grid(moments.clipped, noise, context.law))

    def randomise(self, moments: Totals, law: NoiseLaw, sampler: Sampler) -> tuple[int, ...]:
        """Exact totals plus one independent variate each, added in unlimited integers.

        None where all rows have 0; squares of indicators are copies of their noisy sums.
        """
        exact = moments.on_grid(law.unit)
        size = size_of(len(exact))
        return plus_noise(exact, sampler.draw(law.steps(size)), law, size)


def plus_noise(exact: Sequence[int], noise: Sequence[int], law: NoiseLaw, size: int) -> tuple[int, ...]:
    """Exact entries of an upper triangle plus their noise; the squares of indicators are not looked at.

    >>> plus_noise((3, 1, 2, 9, 2, 2), (1, 2, 3, 0, 5, 6), NoiseLaw(8, {}, "none", indicators=((1, 1),)), 3)
    (4, 3, 5, 3, 7, 8)
    """
    copies = law.copies(size)
    noisy = [
        0 if place in copies else total + variate  # [P:moments-noise]
        for place, (total, variate) in enumerate(zip(exact, noise, strict=True))
    ]
    return tuple(law.with_copies(noisy, size))  # [P:copied-squares]
