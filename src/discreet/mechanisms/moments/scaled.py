"""All moments of privately scaled and weighted rows, with Gaussian noise. Proof: scaled.proof.md."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Literal, TypeAlias

from discreet.curator.sums.column_cells import CELLS, ColumnCells
from discreet.curator.sums.protocol import Sums, Totals
from discreet.curator.sums.scaled_rows import RowNorms, Scaling
from discreet.curator.sums.weighted_rows import WeightedMoments, Weighting
from discreet.design.domain import RowDomain
from discreet.design.model import Design
from discreet.errors import SpecError
from discreet.exact.triangle import entry_count, pairs, size_of
from discreet.losses.law import RESIDUAL_BLOCKS
from discreet.losses.sensitivity.l2_sensitivity import Blocks
from discreet.losses.sensitivity.scaled import (
    FOURTH,
    FOURTH_BLOCKS,
    RADIUS_BITS,
    RESIDUAL,
    ROWS,
    SIZE,
    TARGET_CLIPPED,
    scaled_statistics,
    target_searched,
    weighted_domain,
)
from discreet.losses.sensitivity.searches import LAST, RADIUS_QUANTILE, Statistic, searched_columns
from discreet.mechanisms.calibration.blocks import block_sigmas, in_steps
from discreet.mechanisms.interface.protocol import MechanismInfo, NoisyMoments, Passes, RunContext
from discreet.mechanisms.sampling.sampler import Sampler
from discreet.mechanisms.scaling import searches, targets
from discreet.mechanisms.scaling.columns import columns_centred
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.lattice import ROUNDING, gaussian_mu
from discreet.releases import Calibration, NoiseLaw, ScalingPart, Settings

# shares of mu^2; what a design does not need, and the rest, goes to the moments
SHARES: Final[Mapping[str, float]] = {
    ROWS: 0.005, "centre": 0.045, "spread": 0.015, "zoomed_centre": 0.025, "zoomed_spread": 0.015, SIZE: 0.03,
    "target_centre": 0.01, "target_spread": 0.01, "target_size": 0.01, TARGET_CLIPPED: 0.02, "radius": 0.01,
    FOURTH: 0.1, RESIDUAL: 0.25,
}  # fmt: skip
# of what the moments have: products of (1, z), of these with the target, and its squares
MOMENT_SHARES: Final = Blocks(count=0.0, sum_x=0.0, gram=0.3, sum_y=0.0, cross=0.65, target_square=0.05)
# an indicator is not searched: it stays where it is, twice as large
_INDICATOR_SCALE: Final = 0.5
# the largest radius that is tried is that of a row with all coordinates at so many scales
_WIDEST: Final = 4.0
# centre and bound of a boolean target, whose values then are -1 and 1
_BOOLEAN: Final = (0.5, 0.5)

_Scaled: TypeAlias = Generator[Sums, Totals, tuple[Scaling, tuple[float, float], int | None]]


@dataclass(frozen=True, slots=True)
class ScaledMoments:
    """Centres, scales and a radius by noisy searches, then the moments of rows that are scaled and weighted by them.

    Attributes
    ----------
    robust
        Whether a share of the budget is kept for what robust standard errors need, instead of one for the sums that
        plain ones need.
    """

    robust: bool = False

    name: ClassVar[str] = "gaussian"
    version: ClassVar[str] = "scaled-1"
    kind: ClassVar[Literal["moments"]] = "moments"
    info: ClassVar[MechanismInfo] = MechanismInfo(
        summary="Joint Gaussian release of all moments of privately scaled rows.",
        document="this library, from private quantiles and weighted least squares",
        notion="approximate",
        numerics="exact",
        references=("Balle & Wang 2018", "Dong, Roth & Su 2022"),
        domain="box",
        needs=("an intercept",),
        reads_again=True,
    )

    def noise_model(self, design: Design, domain: RowDomain, budget: PrivacyBudget, settings: Settings) -> NoiseLaw:
        """The law of the noise: design and budget in, no data."""
        check_scalable(design)
        statistics = scaled_statistics(design, robust=self.robust)

        def law(mu: float, calibration: Calibration) -> NoiseLaw:
            return scaled_law(design, domain, statistics, mu, calibration)

        mu, rule = gaussian_mu(budget, lambda mu: variates(law(mu, "gaussian"), design, statistics))
        return law(mu, rule)

    def passes(self, context: RunContext) -> Passes:
        """One pass for the columns, one for the radius, one for the moments of weighted rows."""
        scaling, (centre, bound), rows = yield from _scaled(context)
        radius = yield from _radius(context, scaling)
        part = ScalingPart(scaling.centres, scaling.scales, radius, centre, bound)
        totals = yield WeightedMoments(weighting_of(context.domain, part), fourth=not self.robust)
        exact = totals.on_grid(context.law.unit)
        size = len(context.design.released)
        many, more = entry_count(size), 0 if self.robust else entry_count(size - 1)
        diagonal, off = FOURTH_BLOCKS
        sigmas = context.law.steps(size)
        sigmas += [] if self.robust else [context.law.sigma[diagonal if i == j else off] for i, j in pairs(size - 1)]
        noise = context.sampler.draw(sigmas)
        # [P:scaled-noise]
        released = [total + variate for total, variate in zip(exact[: many + more], noise, strict=True)]
        part = replace(part, fourth=tuple(released[many:]))
        if target_searched(context.design):
            clipped = searches.noisy(context, TARGET_CLIPPED, list(exact[many + more : many + more + 2]))
            part = replace(part, target_clipped=tuple(clipped))
        return NoisyMoments(tuple(released[:many]), {} if rows is None else {ROWS: rows}, scaling=part)


def weighting_of(domain: RowDomain, part: ScalingPart) -> Weighting:
    """How rows are scaled and weighted by released numbers."""
    scaling = Scaling(part.centres, part.scales, math.inf, 1)
    return Weighting(domain, scaling, part.radius, part.target_centre, part.target_bound)


def gram_with_noise(sums: Totals, law: NoiseLaw, sampler: Sampler) -> tuple[int, ...]:
    """Exact totals of `WeightedResiduals` plus one independent variate each, added in unlimited integers."""
    exact = sums.on_grid(law.unit)
    diagonal, off = law.sigma["residual_diagonal"], law.sigma["residual_off_diagonal"]
    noise = sampler.draw([diagonal if i == j else off for i, j in pairs(size_of(len(exact)))])
    return tuple(total + variate for total, variate in zip(exact, noise, strict=True))  # [P:scaled-residual-noise]


def check_scalable(design: Design) -> None:
    """Refuse a design whose rows are not scaled privately: without an intercept, or in a declared ball."""
    if not design.intercept:
        raise SpecError(
            'scaling "private" moves the origin of every column, so it needs a design with an intercept; leave out '
            'intercept = false, or use scaling "declared"'
        )
    if design.radius is not None:
        raise SpecError(
            'scaling "private" finds a radius by itself, but the design declares one; leave the radius out, or use '
            'scaling "declared"'
        )


def scaled_law(
    design: Design, domain: RowDomain, statistics: Mapping[str, Statistic], mu: float, calibration: Calibration
) -> NoiseLaw:
    """Noise under which all releases together are mu-Gaussian-private: every statistic has its share of mu^2."""
    scaled = {
        name: one.sensitivity * ROUNDING * math.sqrt(one.times / SHARES[name]) / mu  # [P:scaled-shares]
        for name, one in statistics.items()
    }
    for gram, blocks in ((FOURTH, FOURTH_BLOCKS), (RESIDUAL, RESIDUAL_BLOCKS)):
        if gram in scaled:
            largest = scaled.pop(gram)
            scaled |= dict(zip(blocks, (largest, largest / math.sqrt(2)), strict=True))
    rest = 1 - math.fsum(SHARES[name] for name in statistics)
    sigmas = block_sigmas(  # [P:scaled-moments]
        weighted_domain(design, domain.grid_bits),
        design.unit.neighbours,
        mu * math.sqrt(rest),
        MOMENT_SHARES,
        count_public=design.count_public,
        rows_per_unit=design.unit.max_rows,
    )
    off = sigmas.gram / math.sqrt(2)
    moments = {
        "count": sigmas.gram, "sum_x": off, "gram_diagonal": sigmas.gram, "gram_off_diagonal": off,
        "sum_y": sigmas.cross, "cross": sigmas.cross, "target_square": sigmas.target_square,
    }  # fmt: skip
    steps = {block: in_steps(block, sigma, domain) for block, sigma in (moments | scaled).items()}
    return NoiseLaw(domain.grid_bits, steps, calibration)


def variates(law: NoiseLaw, design: Design, statistics: Mapping[str, Statistic]) -> list[tuple[int, int]]:
    """How many variates of all releases have which standard deviation."""
    x = len(design.released) - 2
    grams = {
        block: many
        for blocks in (FOURTH_BLOCKS, RESIDUAL_BLOCKS)
        for block, many in zip(blocks, (x + 1, x * (x + 1) // 2), strict=True)
    }
    entries = {"sum_x": x, "gram_diagonal": x, "gram_off_diagonal": x * (x - 1) // 2, "cross": x} | grams
    entries |= {name: one.entries * one.times for name, one in statistics.items()}
    return [(entries.get(block, 1), sigma) for block, sigma in law.sigma.items()]


def _scaled(context: RunContext) -> _Scaled:
    """Scaling of the columns, centre and bound of the target, and the number of rows unless public; from one pass."""
    design = context.design
    searched = searched_columns(design)
    totals = yield ColumnCells(context.domain, [*searched, len(design.released) - 1])
    cells = totals.cells
    if cells is None:
        raise SpecError("expected counts by cell in the totals of the first pass, got none")
    rows, released = int(cells[-1].sum()), None
    many = float(rows)
    if not design.count_public:
        (released,) = searches.noisy(context, ROWS, [rows * context.law.unit])
        many = released / context.law.unit
    size = len(design.released) - 2
    centres, scales = [0.0] * size, [_INDICATOR_SCALE] * size
    if searched:
        found, spreads = columns_centred(context, cells[:-1], rows, max(many, 20.0))
        sizes = targets.sizes(context, SIZE, cells[:-1], [round(centre * CELLS) for centre in found], max(many, 20.0))
        for column, centre, spread, root in zip(searched, found, spreads, sizes, strict=True):
            centres[column - 1], scales[column - 1] = centre, max(spread, root, searches.NARROWEST)
    target = _BOOLEAN
    if target_searched(design):
        target = targets.target_bounded(context, cells[-1], rows, max(many, 20.0))
    return Scaling(tuple(centres), tuple(scales), math.inf, 1), target, released


def _radius(context: RunContext, scaling: Scaling) -> Generator[Sums, Totals, float]:
    """Radius that four tenths of the rows seem to keep."""
    last = LAST["radius"]
    top = math.sqrt(1 + len(scaling.centres) * _WIDEST**2)
    thresholds = [top * math.pow(2, (k - last) / 6) for k in range(last + 1)]
    totals = yield RowNorms(context.domain, scaling, thresholds)
    *counts, rows = totals.values
    below = searches.in_steps(context, RADIUS_QUANTILE)
    found = searches.search(context, "radius", counts.__getitem__, rows, below)
    return max(math.ldexp(round(math.ldexp(thresholds[found], RADIUS_BITS)), -RADIUS_BITS), 1.0)
