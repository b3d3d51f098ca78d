"""Release all moments with joint Gaussian noise. Proof: gaussian.proof.md.

The mechanism has options, each with its own proof: row weights, robust standard errors, counts of clipped rows, and
noise that is shared by several curators.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Final, Literal

from discreet.accounting.curator_shares import HONEST, PERSON_PARTS, check_share, share_steps
from discreet.accounting.moment_queries import gaussian_queries
from discreet.accounting.noise_distribution import (
    CLIPPED,
    RATIO_BLOCK,
    ROWS,
    SHARES,
    WEIGHT_STEPS,
    Columns,
    NoiseDistribution,
    Settings,
)
from discreet.accounting.privacy_maps import VERSION
from discreet.accounting.queries import GramQuery, MomentsQuery, VectorQuery
from discreet.curator.sums.gram import ExactGram, Totals, row_products
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import GridTooFineError, SpecError
from discreet.exact.linear import size_of
from discreet.mechanisms.calibration import (
    FURTHER_SHARE,
    RATIO_SHARE,
    ROBUST_SHARE,
    Share,
    noise_distribution,
    residual_shares,
    shares_by_design,
)
from discreet.mechanisms.protocol import MechanismInfo, NoisyMoments, Passes, RunContext
from discreet.mechanisms.sampler import MAX_SIGMA, Sampler, rounded_up
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.lattice import ROUNDING

# -- clip counts -------------------------------------------------------------------------------------------------------
# Noisy counts of clipped rows, calibrated jointly with the moments. They only serve as a warning, so their share of the
# budget is small: the moments get 2% more noise, or 3% with robust standard errors. Proof: clip_counts.proof.md.

# share of mu^2 for clip counts: the noise of the moments grows by 1 / sqrt(0.96) = 1.021
CLIP_MU2_SHARE: Final = 0.04
# share of epsilon for clip counts: the noise of the moments grows by 1 / 0.98 = 1.020
CLIP_EPSILON_SHARE: Final = Fraction(1, 50)
# share of mu^2 for the number of rows in a design with weights, unless that number is public
ROWS_SHARE: Final = 0.01
# shares of mu^2 of queries with one block
_SHARES: Final = {CLIPPED: CLIP_MU2_SHARE, RATIO_BLOCK: RATIO_SHARE, ROWS: ROWS_SHARE}


def clip_columns(design: Design) -> int:
    """Return the number of columns that can be clipped. Reject a design without such a column."""
    if not design.clippable:
        raise SpecError("clip_counts needs a numeric column, but the design declares none; leave out clip_counts")
    return len(design.clippable)


def on_product_grid(counts: Sequence[int], noise: Sequence[int], distribution: NoiseDistribution) -> tuple[int, ...]:
    """Add an independent noise variate to each exact count, and return the noisy counts in product-grid steps."""
    # [P:clip-noise]
    return tuple(count * distribution.unit + variate for count, variate in zip(counts, noise, strict=True))


# -- gaussian ----------------------------------------------------------------------------------------------------------
# The joint Gaussian release of all moments of (1, x, y). Proofs: gaussian.proof.md, and weighted.proof.md for weights.


@dataclass(frozen=True, slots=True)
class GaussianMoments:
    """Independent discrete Gaussian noise on the exact moments, calibrated jointly over all blocks.

    The sum of an indicator equals its sum of squares, so it is released only once. In a design with weights, the
    products of each row are multiplied by its weight divided by the largest possible weight.

    Attributes
    ----------
    robust
        Whether part of the budget is reserved for the sums that robust standard errors need (residuals.proof.md).
    clip_counts
        Whether part of the budget is used for a noisy count of clipped rows in each numeric column.
    models
        Columns of each additional model with robust standard errors.
    """

    robust: bool = False
    clip_counts: bool = False
    models: tuple[Columns, ...] = ()

    name: ClassVar[str] = "gaussian"
    version: ClassVar[str] = VERSION
    kind: ClassVar[Literal["moments"]] = "moments"
    info: ClassVar[MechanismInfo] = MechanismInfo(
        summary="Joint Gaussian release of all moments; any model and valid intervals from one release.",
        document="suggested by the thesis of Kalaja and the notebook of Neunhoeffer; the papers cited",
        notion="approximate",
        numerics="exact",
        references=("Balle & Wang 2018", "Canonne, Kamath & Steinke 2020", "Dong, Roth & Su 2022"),
        clip_counts=True,
    )

    def noise_model(
        self, design: Design, domain: RowDomain, budget: PrivacyBudget, settings: Settings
    ) -> NoiseDistribution:
        """Calibrate the noise to the budget, from public quantities only."""
        if self.clip_counts:
            clip_columns(design)
        weighted = design.weights is not None
        others, share = self.other_shares(design, domain)
        return noise_distribution(
            MomentsQuery(design, domain, exact_entries=True),
            budget,
            shares_by_design(
                domain,
                design.unit.neighbours,
                len(design.released) - 2,
                count_public=design.count_public,  # [P:weights-as-absence]
                factors=design.factors,
                indicators=design.indicators,
            ),
            others,
            share=share,
            margin=ROUNDING if weighted else 1.0,  # [P:weighted-rows]
            parameters={WEIGHT_STEPS: domain.weight_bits} if weighted else {},
            models=self.models,
        )

    def other_shares(self, design: Design, domain: RowDomain) -> tuple[list[Share], float]:
        """Return all queries except the moments with their shares of mu^2, and the share left for the moments."""
        queries = gaussian_queries(design, domain, robust=self.robust, models=self.models, clip_counts=self.clip_counts)
        grams = residual_shares([query for query in queries if isinstance(query, GramQuery)])
        single = [(query, _SHARES[query.block]) for query in queries if isinstance(query, VectorQuery)]
        if design.weights is not None:
            spent = math.fsum(share for _, share in (*grams, *single))  # [P:weighted-residual-share]
        else:
            spent = ROBUST_SHARE + (FURTHER_SHARE if self.models else 0.0) if self.robust else 0.0
            spent += CLIP_MU2_SHARE if self.clip_counts else 0.0
        return [*grams, *single], 1 - spent

    def passes(self, context: RunContext) -> Passes:
        """Compute the exact moments in one pass, and add noise to every entry."""
        design, distribution, sampler = context.design, context.distribution, context.sampler
        size = len(design.released)
        if design.weights is not None:
            totals = yield row_products(size, context.domain)
            return weighted_moments(totals, design, distribution, sampler)
        moments = yield ExactGram(size, context.domain.grid_bits)
        noisy = self.randomise(moments, distribution, sampler)
        noise = sampler.draw([distribution.sigma[CLIPPED]] * len(moments.counts.clipped)) if self.clip_counts else ()
        return NoisyMoments(noisy, clipped=on_product_grid(moments.counts.clipped, noise, distribution))

    def randomise(self, moments: Totals, distribution: NoiseDistribution, sampler: Sampler) -> tuple[int, ...]:
        """Add an independent noise variate to each exact total, in unbounded integers.

        Entries that are 0 in every row get no noise. The square of an indicator is a copy of its noisy sum.
        """
        exact = moments.on_grid(distribution.unit)
        size = size_of(len(exact))
        return plus_noise(exact, sampler.draw(distribution.steps(size)), distribution, size)


def plus_noise(
    exact: Sequence[int], noise: Sequence[int], distribution: NoiseDistribution, size: int
) -> tuple[int, ...]:
    """Add noise to the exact entries of an upper triangle. The exact squares of indicators are not used.

    >>> plus_noise((3, 1, 2, 9, 2, 2), (1, 2, 3, 0, 5, 6), NoiseDistribution(8, {}, "none", indicators=((1, 1),)), 3)
    (4, 3, 5, 3, 7, 8)
    """
    copies = distribution.copies(size)
    noisy = [
        0 if index in copies else total + variate  # [P:moments-noise]
        for index, (total, variate) in enumerate(zip(exact, noise, strict=True))
    ]
    return tuple(distribution.with_copies(noisy, size))  # [P:copied-squares]


def weighted_moments(
    moments: Totals, design: Design, distribution: NoiseDistribution, sampler: Sampler
) -> NoisyMoments:
    """Add noise to the totals of weighted rows, and to the number of rows unless it is public."""
    *exact, rows = moments.on_grid(distribution.unit)
    size = len(design.released)
    noisy = plus_noise(exact, sampler.draw(distribution.steps(size)), distribution, size)  # [P:weighted-noise]
    if design.rows_public:
        return NoisyMoments(noisy)
    (more,) = sampler.draw([distribution.sigma[ROWS]])
    return NoisyMoments(noisy, {ROWS: rows + more})  # [P:weighted-rows-noise]


# -- residuals ---------------------------------------------------------------------------------------------------------
# Sums over residuals, from a second pass of a release with robust standard errors. Proof: residuals.proof.md.


def residuals_with_noise(sums: Totals, distribution: NoiseDistribution, size: int, sampler: Sampler) -> tuple[int, ...]:
    """Add an independent noise variate to each total of a `ResidualPass`, in unbounded integers.

    `size` is the number of released columns.
    """
    exact = sums.on_grid(distribution.unit)
    noise = sampler.draw(distribution.residual_steps(size))
    return tuple(total + variate for total, variate in zip(exact, noise, strict=True))  # [P:residual-noise]


# -- shares ------------------------------------------------------------------------------------------------------------
# The joint Gaussian release of federated parts, each of which adds a share of the noise. Proof: shares.proof.md.


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianShares(GaussianMoments):
    """Noise shares on the exact moments of federated parts, calibrated so that the honest shares are sufficient.

    Attributes
    ----------
    shares
        Number of parts that add a noise share, or 1 if the noise is added to the pooled moments.
    honest
        Smallest number of noise shares that no other party can subtract.
    parts_per_person
        Largest number of parts that hold rows of the same person.
    """

    shares: int
    honest: int
    parts_per_person: int

    def noise_model(
        self, design: Design, domain: RowDomain, budget: PrivacyBudget, settings: Settings
    ) -> NoiseDistribution:
        """Calibrate a single noise share to the budget, from public quantities only."""
        # super() without arguments fails in a dataclass with slots
        whole = GaussianMoments.noise_model(self, design, domain, budget, settings)
        sigma = {block: self._share(block, steps) for block, steps in whole.sigma.items()}
        terms = {SHARES: self.shares, HONEST: self.honest, PERSON_PARTS: self.parts_per_person}
        return replace(whole, sigma=sigma, parameters=terms)

    def _share(self, block: str, steps: int) -> int:
        share = share_steps(steps, self.honest, self.parts_per_person)
        if share > MAX_SIGMA:
            raise GridTooFineError(
                f"a share of the noise on '{block}' needs a scale of {share:.3g} grid steps, which the 64-bit sampler "
                "cannot draw"
            )
        check_share(block, share)
        return rounded_up(share)  # [P:share-rounded-up]


MECHANISM: Final = GaussianMoments()
