"""The straight line: source, bounded rows, moments, mechanism, release, fit. Start reading here."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Final, Literal

from discreet import __version__
from discreet.curator.moments import Moments, accumulate
from discreet.curator.opening import ReadOptions, open_source
from discreet.curator.residuals import ResidualGram
from discreet.curator.source import ComputeOptions, Source
from discreet.design.columns import Numeric
from discreet.design.domain import DEFAULT_GRID_BITS, RowDomain
from discreet.design.model import Design
from discreet.errors import AfterSpendError, DataError, PrivacyNotice, SpecError
from discreet.mechanisms.noise import ExactSampler
from discreet.mechanisms.registry import mechanism_named
from discreet.privacy.budget import PrivacyBudget, check_strength
from discreet.privacy.spend import SpendHook, SpendRequest, untracked
from discreet.releases import Release, ResidualPart

_SECOND: Final = "the second reading failed after the budget was spent, and nothing was published:"


def release(
    data: object,
    design: Design,
    *,
    epsilon: float,
    delta: float = 0.0,
    mechanism: str = "gaussian",
    moments: Literal["plain", "robust"] = "plain",
    residual_bound: float | None = None,
    grid_bits: int = DEFAULT_GRID_BITS,
    allow_weak_privacy: bool = False,
    encoding: str = "utf-8",
    delimiter: str = ",",
    compute: ComputeOptions | None = None,
    spend: SpendHook = untracked,
) -> Release:
    """Publish noisy moments of a table: the one call that sees rows and spends budget.

    Parameters
    ----------
    data
        A path (CSV, Parquet, Arrow, a folder or a glob), or an in-memory table: pandas, polars, pyarrow, a DuckDB
        relation, a mapping of names to arrays, or a NumPy array whose columns stand in declared order.
    design
        Bounds, levels and rules, declared without looking at the data.
    epsilon, delta
        The budget. The Gaussian mechanism needs `delta` above 0.
    mechanism
        Name of the mechanism.
    moments
        `robust` also releases what heteroskedasticity-consistent standard errors of the full model need, from a second
        pass over the table; both passes are charged, the second with 30 % of the budget.
    residual_bound
        For `robust`: residuals beyond it are clipped, in units of the target; public. A quarter of the width of the
        target's bounds unless given.
    grid_bits
        Rows are rounded to the grid of 2**-grid_bits scaled units, 8 to 26.
    allow_weak_privacy
        Accept epsilon above 20 or delta above 1e-3.
    encoding, delimiter
        How CSV files are written.
    compute
        How the work is done; cannot change the result.
    spend
        Called with what is about to be spent, before any noise is drawn; a ledger fills it.

    Returns
    -------
    Release
        Safe to publish under its guarantee. Calling again spends again.

    Examples
    --------
    >>> design = Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> table = {"x": [1.0, 2.0, 3.0], "y": [2.0, 4.0, 6.0]}
    >>> release(table, design, epsilon=1.0, delta=1e-6).columns
    ('1', 'x', 'y')
    """
    if not isinstance(design, Design):
        raise SpecError(f"a Design is needed; {type(design).__name__} came. Use Design(...) or Design.load(path)")
    budget = PrivacyBudget(epsilon, delta)
    for notice in check_strength(budget, allow_weak_privacy):
        warnings.warn(notice, PrivacyNotice, stacklevel=2)
    chosen = mechanism_named(mechanism)
    domain = RowDomain.of(design, grid_bits)
    bound = _checked_bound(design, moments, residual_bound)
    law = chosen.noise_model(design, domain, budget, robust=bound is not None)
    options = compute or ComputeOptions()
    source = open_source(data, reading=ReadOptions(encoding=encoding, delimiter=delimiter))
    if bound is not None and not source.repeatable:
        raise SpecError("robust standard errors read the table twice; give a file or a table that can be read again")
    sums = accumulate(source, design, domain, options)
    request = SpendRequest(
        mechanism=chosen.name, budget=budget, unit=design.unit, description=f"{moments} moments of {design.target}"
    )
    # recorded before the draw: a crash must not give a free answer
    receipt = spend(request)
    made = Release(
        design=design,
        guarantee=chosen.guarantee(design, budget),
        mechanism=chosen.name,
        mechanism_version=chosen.version,
        noise=law,
        totals=chosen.randomise(sums, law, ExactSampler()),
        units_public=sums.units if design.unit.neighbours == "replace" else None,
        anchor=receipt.anchor,
        made_by=f"discreet {__version__}",
    )
    if bound is None:
        return made
    # only this needs the analyst's rooms, which plain releases do without
    from discreet.analyst.robust import residual_coefficients

    coefficients = residual_coefficients(made)
    gram = ResidualGram(domain, len(coefficients), coefficients, bound, design.unit.max_rows)
    second = _read_again(source, design, domain, options, gram)
    if second.units != sums.units:
        raise AfterSpendError(f"{_SECOND} the table gave other rows than before; give one that stays the same")
    noisy = chosen.randomise_residuals(second, law, ExactSampler())
    return replace(made, residuals=ResidualPart(coefficients, bound, noisy))


def _read_again(
    source: Source, design: Design, domain: RowDomain, options: ComputeOptions, gram: ResidualGram
) -> Moments:
    """The second pass; an error in it comes after the spend, and says so."""
    try:
        return accumulate(source, design, domain, options, gram)
    except DataError as error:
        problem = AfterSpendError(f"{_SECOND} {error}")
    raise problem


def _checked_bound(design: Design, moments: str, residual_bound: float | None) -> float | None:
    """The bound of a residual in scaled units of the target; none for plain moments."""
    if moments not in ("plain", "robust"):
        raise SpecError.unknown_name("moments", str(moments), ("plain", "robust"))
    if moments == "plain":
        if residual_bound is not None:
            raise SpecError("a residual bound came without moments='robust'; leave it out")
        return None
    if not design.intercept:
        raise SpecError("robust standard errors are for a model with an intercept; leave out intercept = false")
    target = design.columns[design.target]
    half = target.half if isinstance(target, Numeric) else 1.0
    if residual_bound is None:
        return 0.5
    if isinstance(residual_bound, bool) or not isinstance(residual_bound, int | float):
        raise SpecError(f"the residual bound is a number; {residual_bound!r} came")
    if not 1e-6 * half <= residual_bound <= 4 * half:
        raise SpecError(
            f"the residual bound {residual_bound!r} is not allowed; choose a positive number of at most {4 * half:g}, "
            "twice the width of the target's bounds"
        )
    return float(residual_bound) / half
