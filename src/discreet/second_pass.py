"""What robust standard errors need, from one more pass over the table: sums over the residuals of declared models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from discreet.curator.sums.protocol import Sums, Totals
from discreet.curator.sums.residuals import RatioSquares, ResidualGram, ResidualPass
from discreet.curator.sums.weighted_rows import WeightedResiduals
from discreet.design.domain import RowDomain
from discreet.design.submodels import model_domain
from discreet.exact.triangle import entry_count
from discreet.mechanisms.moments.residuals import residuals_with_noise
from discreet.mechanisms.moments.scaled import gram_with_noise, weighting_of
from discreet.mechanisms.sampling.sampler import Sampler
from discreet.releases import RatioPart, Release, ResidualPart

if TYPE_CHECKING:
    from discreet.analyst.residual_plan import ResidualPlan


def with_residuals(
    made: Release, domain: RowDomain, bound: float | None, read: Callable[[Sums], Totals], sampler: Sampler
) -> Release:
    """Add what robust standard errors of the full model and of further ones need, all from one pass.

    Parameters
    ----------
    made
        With noisy moments, from which it is decided where residuals are taken and clipped.
    domain
        Public geometry of a row.
    bound
        Declared bound of a residual in scaled units of the target, if one was.
    read
        Goes over the table.
    sampler
        Source of the noise.
    """
    # only this needs the analyst's rooms, which plain releases do without
    from discreet.analyst.residual_plan import residual_plan

    plans = [residual_plan(made, bound, columns) for columns in (None, *made.noise.models)]
    full, rows = plans[0], made.design.unit.max_rows
    if made.scaling is not None:
        weighting = weighting_of(domain, made.scaling)
        sums = read(WeightedResiduals(weighting, full.coefficients, full.bound, rows))
        products = gram_with_noise(sums, made.noise, sampler)
        return replace(made, residuals=ResidualPart(full.coefficients, full.bound, products))
    squares = None
    if not made.weighted:
        squares = RatioSquares(domain, full.coefficients, full.ratio, full.mean, full.ratio_bound, rows)
    sums = read(ResidualPass(_grams(made, domain, plans), squares))
    noisy = list(residuals_with_noise(sums, made.noise, len(made.columns), sampler))
    ratio = None if squares is None else RatioPart(full.ratio, full.mean, full.ratio_bound, noisy.pop())
    first, *further = _parts(plans, noisy)
    return replace(made, residuals=replace(first, ratio=ratio, further=tuple(further)))


def _grams(made: Release, domain: RowDomain, plans: Sequence[ResidualPlan]) -> list[ResidualGram]:
    """The sum that each plan asks for, the full model first."""
    design, rows = made.design, made.design.unit.max_rows
    places = [(domain, None), *((model_domain(design, domain, columns), columns) for columns in made.noise.models)]
    return [
        ResidualGram(around, len(plan.coefficients), plan.coefficients, plan.bound, rows, columns)
        for plan, (around, columns) in zip(plans, places, strict=True)
    ]


def _parts(plans: Sequence[ResidualPlan], noisy: Sequence[int]) -> list[ResidualPart]:
    """Noisy numbers by model."""
    parts, behind = [], 0
    for plan in plans:
        first, behind = behind, behind + entry_count(len(plan.coefficients))
        parts.append(ResidualPart(plan.coefficients, plan.bound, tuple(noisy[first:behind])))
    return parts
