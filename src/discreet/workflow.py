"""Make a release: source, encoded rows, exact sums, mechanism, release. Start reading here."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar, Unpack

from discreet.curator.sums.cell_counts import DyadicCells
from discreet.curator.sums.gram import Sums, Totals
from discreet.curator.sums.residuals import RatioSquares, ResidualGram, ResidualPass
from discreet.curator.table import Table
from discreet.design.design import Design
from discreet.design.domain import RowDomain, model_domain
from discreet.errors import AfterSpendError, ColumnNotice, DiscreetError, SpecError
from discreet.exact.linear import entry_count
from discreet.mechanisms.gaussian import residuals_with_noise
from discreet.mechanisms.guard import bounds_record, guard_record, how_to_stop, stop_of, stops
from discreet.mechanisms.protocol import Published, run_passes
from discreet.mechanisms.sampler import ExactSampler, Sampler
from discreet.options import DEFAULT_OPTIONS, ReleaseKeywords, ReleaseOptions, options_of, takes_options
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.spend import AdvisingHook, SpendHook, check_books, checked_receipt, untracked
from discreet.release_request import ReleaseRequest, check_design, checked_budget
from discreet.releases.fields import RatioPart, ResidualPart
from discreet.releases.release import Release
from discreet.releases.verification import SigningKey
from discreet.spark.dataframe import open_table
from discreet.tables.csv_format import ReadOptions, checked_reading
from discreet.tables.frames import position_notice
from discreet.tables.source import ComputeOptions, checked_options

if TYPE_CHECKING:
    from discreet.analyst.residual_plan import ResidualPlan

# -- workflow ----------------------------------------------------------------------------------------------------------
# The main sequence: source, encoded rows, exact sums, mechanism, release.

Made = TypeVar("Made")

_LATER: Final = "failed after the budget was spent, and nothing was published:"


@takes_options()
def release(
    data: object,
    design: Design,
    *,
    epsilon: float,
    delta: float = 0.0,
    reading: ReadOptions | None = None,
    compute: ComputeOptions | None = None,
    spend: SpendHook = untracked,
    sign: str | Path | None = None,
    **options: Unpack[ReleaseKeywords],
) -> Release:
    """Release differentially private statistics of a table. Only this step reads rows and spends budget.

    Parameters
    ----------
    data
        A path (CSV, Parquet, Arrow, Stata, SPSS, SAS, a folder or a glob), or an in-memory table: pandas, polars,
        pyarrow, a DuckDB relation, a mapping of names to arrays or lists, or a NumPy array; or a Spark DataFrame, whose
        executors sum the rows (extra 'spark'). Each cell is read separately: text in a list is always text, and follows
        the `missing` rule of its column. An array without names is read by position, in declared order (ids last), and
        a `ColumnNotice` reports the column at each position. If the data is the result of a query, the privacy unit is
        a row of that result. A join, a window or an aggregate may let one person affect many rows, or combine many
        people in one row. For a stream, or a relation that is not a plain scan of a table, the guarantee therefore adds
        the condition that each row represents one person and depends on that person only.
    design
        Bounds, levels and rules, declared without looking at the data. Private bounds are estimated first, for 5% of
        the budget. If they are not found, the release stops with `BoundsNotFound`, and a ledger refunds the rest of the
        budget. Without a ledger, every attempt draws new counts and spends again.
    epsilon, delta
        The budget. With `delta` = 0 the guarantee is pure, and the noise is larger.
    **options
        {ReleaseOptions}
    reading
        Format of CSV files: encoding, delimiter, decimal and thousands marks; see `discreet.ReadOptions`.
    compute
        Settings of the computation, such as the number of threads. They cannot change the result.
    spend
        Function that is called with the planned spend before any noise is drawn. Pass the `Ledger.account` of a data
        set, which returns the same release for a repeated request. By default no spend is recorded.
    sign
        Path of an Ed25519 private key in PEM format, without a password, to sign the release. The key is tested before
        anything is spent.

    Returns
    -------
    Release
        Safe to publish under its guarantee. Calling again spends again, unless a ledger finds the same request.

    Examples
    --------
    >>> design = Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> table = {"x": [1.0, 2.0, 3.0], "y": [2.0, 4.0, 6.0]}
    >>> release(table, design, epsilon=1.0, delta=1e-6).columns
    ('1', 'x', 'y')
    """
    checked = options_of(release, options)
    check_design(design)
    budget = checked_budget(epsilon, delta, checked)
    return release_with(
        ExactSampler(), data, design, budget, checked, reading=reading, compute=compute, spend=spend, sign=sign
    )


def release_with(
    sampler: Sampler,
    data: object,
    design: Design,
    budget: PrivacyBudget,
    options: ReleaseOptions = DEFAULT_OPTIONS,
    *,
    reading: ReadOptions | None = None,
    compute: ComputeOptions | None = None,
    spend: SpendHook = untracked,
    sign: str | Path | None = None,
) -> Release:
    """Make a release with any source of noise. Without a private source the release has no guarantee."""
    # bounds that an earlier release published are used as declared bounds
    design = design.redeclared()
    asked = ReleaseRequest.checked(design, budget, options)
    work = checked_options(compute)
    if not callable(spend):
        raise SpecError(f"spend: expected ledger.account(name) or another callable, got {type(spend).__name__}")
    # a key that cannot sign is refused before anything is spent
    key = None if sign is None else SigningKey.load(sign)
    positions = position_notice(data, [*design.table_columns, *filter(None, [design.unit.id])])
    if positions is not None:
        warnings.warn(positions, ColumnNotice, stacklevel=3)
    source = open_table(data, reading=checked_reading(reading))
    books = spend if isinstance(spend, AdvisingHook) else None
    check_books(books, guard=options.guard)
    # the same bytes read with other options are a different request
    request = replace(asked.request, specification=asked.specification | {"read_as": dict(source.read_as)})
    if books is not None:
        books.advise(request)
    table = Table(
        source,
        design,
        asked.domain,
        work,
        again=asked.rereads,
        clip_counts=options.clip_counts,
        digest=books is not None and source.fingerprint is None,
    )
    with table:
        passes = None if design.searched else asked.mechanism.passes(asked.context(sampler))
        # an error in the table costs nothing
        first = table.sums(DyadicCells(design) if passes is None else next(passes))
        # spend before any noise is drawn, so that a crash cannot give a free answer
        fingerprint = None if books is None else source.fingerprint or table.fingerprint
        work.close_cancel()
        receipt = checked_receipt(spend(replace(request, fingerprint=fingerprint)))
        if receipt.stopped is not None:
            raise stop_of(receipt.stopped, receipt)
        if receipt.stored is not None:
            stored = Release.from_json(receipt.stored)
            if key is not None:
                key.check_signed(stored.signature, stored.digest)
            return stored

        def build() -> Release | str:
            counts = None
            if options.guard:
                stop = how_to_stop(receipt)
                counts = asked.guarded(first, receipt, sampler)
                if stops(counts, asked.distribution):
                    return stop(guard_record(counts, asked.distribution), asked.stopped())
            found = asked.searched(first, receipt, sampler) if passes is None else None
            if found is not None and (lost := asked.not_found(found)):
                spent = asked.stopped(found_nothing=True)
                record = bounds_record(lost, spent)
                return record if receipt.stop is None else receipt.stop(record, spent)
            known = asked.resolved(found)
            published = (
                _on_found_bounds(known, table, sampler) if passes is None else run_passes(passes, first, table.sums)
            )
            made = known.release(published, first, receipt.anchor, source.origin, counts, found)
            if asked.robust:
                made = with_residuals(made, known.domain, known.residual_bound, table.sums, sampler)
            made = made if key is None else replace(made, signature=key.signature(made.digest))
            # publish what the ledger recorded
            return made if receipt.commit is None else Release.from_json(receipt.commit(made.to_json()))

        made = after_spend(build, receipt.request_id)
        if isinstance(made, str):
            raise stop_of(made, receipt)
        return made if sampler.private else replace(made, guarantee=None, signature=None)


def after_spend(made: Callable[[], Made], request_id: str, name: str = "release") -> Made:
    """Run the steps after the spend. Errors state that the budget was spent, and quote no other library's message."""
    again = f"repeat request {request_id} to finish it at no additional cost" if request_id else None
    try:
        return made()
    except DiscreetError as error:
        problem = AfterSpendError(f"the {name} {_LATER} ", reason=error, remedy=again).with_traceback(
            error.__traceback__
        )
    except Exception as error:
        what = f"unexpected failure ({type(error).__name__})"
        problem = AfterSpendError(f"the {name} {_LATER} {what}", remedy=again).with_traceback(error.__traceback__)
    raise problem


def _on_found_bounds(known: ReleaseRequest, table: Table, sampler: Sampler) -> Published:
    """Run the mechanism on rows clipped to the private bounds."""
    table.resolve(known.design)
    passes = known.mechanism.passes(known.context(sampler))
    return run_passes(passes, table.sums(next(passes)), table.sums)


# -- second pass -------------------------------------------------------------------------------------------------------
# Sums over the residuals of declared models for robust standard errors, from a second pass over the table.


def with_residuals(
    made: Release, domain: RowDomain, bound: float | None, read: Callable[[Sums], Totals], sampler: Sampler
) -> Release:
    """Add the sums for robust standard errors of the full and additional models, from one pass over the table.

    The noisy moments of `made` determine the coefficients and the clipping of residuals. `bound` is the declared bound
    on residuals in scaled units of the target.
    """
    # imported here because other releases do not need the analyst's packages
    from discreet.analyst.residual_plan import residual_plan

    plans = [residual_plan(made, bound, columns) for columns in (None, *made.noise.models)]
    full, rows = plans[0], made.design.unit.max_rows
    squares = None
    if not made.weighted:
        squares = RatioSquares(domain, full.coefficients, full.ratio, full.mean, full.ratio_bound, rows)
    sums = read(ResidualPass(_grams(made, domain, plans), squares))
    noisy = list(residuals_with_noise(sums, made.noise, len(made.columns), sampler))
    ratio = None if squares is None else RatioPart(full.ratio, full.mean, full.ratio_bound, noisy.pop())
    first, *further = _parts(plans, noisy)
    return replace(made, residuals=replace(first, ratio=ratio, further=tuple(further)))


def _grams(made: Release, domain: RowDomain, plans: Sequence[ResidualPlan]) -> list[ResidualGram]:
    """Create the residual sums of each plan, the full model first."""
    design, rows = made.design, made.design.unit.max_rows
    places = [(domain, None), *((model_domain(design, domain, columns), columns) for columns in made.noise.models)]
    return [
        ResidualGram(around, len(plan.coefficients), plan.coefficients, plan.bound, rows, columns)
        for plan, (around, columns) in zip(plans, places, strict=True)
    ]


def _parts(plans: Sequence[ResidualPlan], noisy: Sequence[int]) -> list[ResidualPart]:
    """Split the noisy sums by model."""
    parts, behind = [], 0
    for plan in plans:
        first, behind = behind, behind + entry_count(len(plan.coefficients))
        parts.append(ResidualPart(plan.coefficients, plan.bound, tuple(noisy[first:behind])))
    return parts
