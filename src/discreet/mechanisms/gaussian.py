"""Release all moments with joint Gaussian noise. Proof: gaussian.proof.md.

Weights, robust sums, clip counts and shares of several curators are options of this mechanism, each with a proof.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Final, Literal

from discreet.accounting.moments import clips_l2_sensitivity
from discreet.accounting.noise_distribution import (
    CLIPPED,
    SHARES,
    WEIGHT_STEPS,
    Calibration,
    Columns,
    NoiseLaw,
    Settings,
)
from discreet.accounting.noise_shares import HONEST, PERSON_PARTS, check_share, share_steps
from discreet.accounting.scaling import ROWS
from discreet.curator.sums.gram import ExactGram, Totals, row_products
from discreet.design.columns import Numeric
from discreet.design.design import Design
from discreet.design.domain import RowDomain, model_domain
from discreet.errors import GridTooFineError, SpecError, shown
from discreet.exact.linear import entry_count, size_of
from discreet.mechanisms.calibration import (
    ExtraStatistic,
    block_sigmas,
    by_block,
    gram_shares,
    in_steps,
    noise_law,
    residual_steps,
    shares_by_design,
)
from discreet.mechanisms.protocol import MechanismInfo, NoisyMoments, Passes, RunContext
from discreet.mechanisms.sampler import MAX_SIGMA, Sampler, rounded_up
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.checks import is_number
from discreet.privacy.lattice import ROUNDING, gaussian_mu

# -- clip counts -------------------------------------------------------------------------------------------------------
# Noisy counts of clipped rows beside the moments, under the same calibration.
#
# The counts are there to warn, so they get a share of the budget that costs the moments 2% more noise, 3% beside a
# robust part. Proof: clip_counts.proof.md.

# of mu^2: the moments keep sqrt(0.96) of mu, so their noise grows by 1 / sqrt(0.96) = 1.021
CLIP_MU2_SHARE: Final = 0.04
# of epsilon: the moments keep 0.98 of it, so their noise grows by 1 / 0.98 = 1.020
CLIP_EPSILON_SHARE: Final = Fraction(1, 50)


def clip_columns(design: Design) -> int:
    """How many columns are counted; a design in which nothing can be clipped is refused."""
    if not design.clippable:
        raise SpecError("got clip_counts, but no declared column is numeric, so nothing is clipped; leave it out")
    return len(design.clippable)


def clip_counts_statistic(design: Design) -> ExtraStatistic:
    """The counts as one more part of a Gaussian release: one statistic with a sensitivity of its own."""
    columns = clip_columns(design)
    return ExtraStatistic(CLIPPED, clips_l2_sensitivity(design), CLIP_MU2_SHARE, columns)


def on_product_grid(counts: Sequence[int], noise: Sequence[int], law: NoiseLaw) -> tuple[int, ...]:
    """Exact counts in steps of the product grid plus one independent variate each, in unlimited integers."""
    # [P:clip-noise]
    return tuple(count * law.unit + variate for count, variate in zip(counts, noise, strict=True))


# -- gaussian ----------------------------------------------------------------------------------------------------------
# The joint Gaussian release of all moments of (1, x, y). Proof: gaussian.proof.md.


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


# -- weighted ----------------------------------------------------------------------------------------------------------
# The joint Gaussian release of all moments of rows with declared weights. Proof: weighted.proof.md.

# share of mu^2 of the number of rows, unless it is public; sums over residuals have theirs, the moments get the rest
ROWS_SHARE: Final = 0.01


@dataclass(frozen=True, slots=True)
class WeightedMoments:
    """Adds independent discrete Gaussian noise to the exact moments of rows times their weights over the largest one.

    Attributes
    ----------
    robust
        Whether a share of the budget is kept for what robust standard errors need.
    models
        Columns of further models that get what robust standard errors need.
    """

    robust: bool = False
    models: tuple[Columns, ...] = ()

    name: ClassVar[str] = "gaussian"
    version: ClassVar[str] = "weighted-2"
    kind: ClassVar[Literal["moments"]] = "moments"
    info: ClassVar[MechanismInfo] = MechanismInfo(
        summary="Joint Gaussian release of all moments of rows with declared weights.",
        document="this library; the papers cited",
        notion="approximate",
        numerics="exact",
        references=("Balle & Wang 2018", "Canonne, Kamath & Steinke 2020", "Dong, Roth & Su 2022"),
    )

    def noise_model(self, design: Design, domain: RowDomain, budget: PrivacyBudget, settings: Settings) -> NoiseLaw:
        """The law of the noise: design and budget in, no data."""
        if design.weights is None:
            raise SpecError("expected a design with weights, got one without")
        models = {columns: model_domain(design, domain, columns) for columns in self.models}
        domains = [domain, *models.values()] if self.robust else []

        def law(mu: float, calibration: Calibration) -> NoiseLaw:
            return replace(weighted_law(design, domain, domains, mu, calibration), models=tuple(models))

        mu, rule = gaussian_mu(budget, lambda mu: variates(law(mu, "gaussian"), design))
        return law(mu, rule)

    def passes(self, context: RunContext) -> Passes:
        """One pass: exact moments of weighted rows and the number of rows, then noise on every entry."""
        totals = yield row_products(len(context.design.released), context.domain)
        return self.randomise(totals, context.design, context.law, context.sampler)

    def randomise(self, moments: Totals, design: Design, law: NoiseLaw, sampler: Sampler) -> NoisyMoments:
        """Exact totals plus one independent variate each, added in unlimited integers.

        None where all rows have 0; squares of indicators are copies of their noisy sums.
        """
        *exact, rows = moments.on_grid(law.unit)
        size = len(design.released)
        noisy = plus_noise(exact, sampler.draw(law.steps(size)), law, size)  # [P:weighted-noise]
        if design.rows_public:
            return NoisyMoments(noisy)
        (more,) = sampler.draw([law.sigma[ROWS]])
        return NoisyMoments(noisy, {ROWS: rows + more})  # [P:weighted-rows-noise]


def weighted_law(
    design: Design, domain: RowDomain, residuals: Sequence[RowDomain], mu: float, calibration: Calibration
) -> NoiseLaw:
    """Noise under which all releases together are mu-Gaussian-private: everything has its share of mu^2.

    Parameters
    ----------
    design, domain
        What was declared, and the domain of its rows.
    residuals
        Domains of the rows of all models with residual Grams; none without robust standard errors.
    mu
        What all releases together cost.
    calibration
        By which rule that keeps the promise.
    """
    rows_share = 0.0 if design.rows_public else ROWS_SHARE
    spent = math.fsum((rows_share, *gram_shares(residuals, design.unit.neighbours)))
    neighbours, size = design.unit.neighbours, len(design.released)
    sigmas = block_sigmas(
        domain,
        neighbours,
        mu * math.sqrt(1 - spent),
        shares_by_design(
            domain, neighbours, size - 2, count_public=False, factors=design.factors, indicators=design.indicators
        ),
        count_public=False,  # [P:weights-as-absence]
        rows_per_unit=design.unit.max_rows,
        indicators=design.indicators,
    )
    scaled = by_block(sigmas)
    if rows_share:
        scaled[ROWS] = design.unit.max_rows * ROUNDING / (mu * math.sqrt(rows_share))  # [P:weighted-rows]
    steps = {block: in_steps(block, sigma, domain) for block, sigma in scaled.items()}
    steps |= residual_steps(residuals, neighbours, mu)  # [P:weighted-residual-share]
    return NoiseLaw(
        domain.grid_bits,
        steps,
        calibration,
        parameters={WEIGHT_STEPS: domain.weight_bits},
        factors=design.factors,
        indicators=design.indicators,
    )


def variates(law: NoiseLaw, design: Design) -> list[tuple[int, int]]:
    """How many variates of a law have which standard deviation."""
    x = len(design.released) - 2
    entries = {
        "sum_x": x, "gram_diagonal": x - len(law.indicator_columns),
        "gram_off_diagonal": entry_count(x) - x - law.zeros, "cross": x,
    } | law.residual_entries(x + 2)  # fmt: skip
    return [(entries.get(block, 1), sigma) for block, sigma in law.sigma.items()]


# -- residuals ---------------------------------------------------------------------------------------------------------
# The second part of a release with robust standard errors: sums over residuals. Proof: residuals.proof.md.


def residuals_with_noise(sums: Totals, law: NoiseLaw, size: int, sampler: Sampler) -> tuple[int, ...]:
    """Exact totals of a `ResidualPass` plus one independent variate each, added in unlimited integers.

    Parameters
    ----------
    sums
        Exact totals.
    law
        Of the noise.
    size
        Number of released columns.
    sampler
        Source of the noise.
    """
    exact = sums.on_grid(law.unit)
    noise = sampler.draw(law.residual_steps(size))
    return tuple(total + variate for total, variate in zip(exact, noise, strict=True))  # [P:residual-noise]


def checked_bound(design: Design, moments: str, residual_bound: float | None) -> float | None:
    """The declared bound of a residual in scaled units of the target, if there is one."""
    if not isinstance(moments, str) or moments not in ("plain", "robust"):
        raise SpecError.unknown_name("moments", moments, ("plain", "robust"))
    if moments == "plain":
        if residual_bound is not None:
            raise SpecError('got a residual bound without moments "robust" (--robust); leave it out')
        return None
    if not design.intercept:
        raise SpecError("robust standard errors are for a model with an intercept; leave out intercept = false")
    target = design.columns[design.target]
    half = target.half if isinstance(target, Numeric) else 1.0
    if residual_bound is None:
        return None
    if design.target in design.searched:
        raise SpecError(
            "a residual bound is judged by the target's bounds, which are private; leave it out, and it is set from "
            "the noisy sums, or declare the bounds of the target"
        )
    if not is_number(residual_bound):
        raise SpecError(f"residual bound: expected a number, got {shown(residual_bound)}")
    if not 1e-6 * half <= residual_bound <= 4 * half:
        raise SpecError(
            f"the residual bound {shown(residual_bound)} is not allowed; "
            f"choose a positive number of at most {4 * half:g}, "
            "twice the width of the target's bounds"
        )
    return float(residual_bound) / half


# -- shares ------------------------------------------------------------------------------------------------------------
# The joint Gaussian release with its noise in shares, one for each part of the table. Proof: shares.proof.md.


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianShares(GaussianMoments):
    """Adds to the exact moments of each part a share of the noise, calibrated so that the honest shares suffice.

    Attributes
    ----------
    shares
        How many parts add one; 1 where one noise is added to the pooled moments.
    honest
        How many of them nobody takes away.
    parts_per_person
        In how many parts one person may be.
    """

    shares: int
    honest: int
    parts_per_person: int

    version: ClassVar[str] = "parts-1"

    def noise_model(self, design: Design, domain: RowDomain, budget: PrivacyBudget, settings: Settings) -> NoiseLaw:
        """The law of one share, and how many there are: design and budget in, no data."""
        # zero arguments would need the class before it has slots
        whole = GaussianMoments.noise_model(self, design, domain, budget, settings)
        sigma = {block: self._share(block, steps) for block, steps in whole.sigma.items()}
        terms = {SHARES: self.shares, HONEST: self.honest, PERSON_PARTS: self.parts_per_person}
        return replace(whole, sigma=sigma, parameters=terms)

    def _share(self, block: str, steps: int) -> int:
        share = share_steps(steps, self.honest, self.parts_per_person)
        if share > MAX_SIGMA:
            raise GridTooFineError(
                f"a share of the noise of block '{block}' has {share:.3g} steps, too many for the 64-bit sampler"
            )
        check_share(block, share)
        return rounded_up(share)  # [P:share-rounded-up]
