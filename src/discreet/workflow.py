"""Make a release: source, encoded rows, exact sums, mechanism, release. Start reading here."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeVar

from discreet import __version__
from discreet.accounting.noise_distribution import DISCOVERY, GUARD, NoiseLaw, Settings
from discreet.accounting.privacy_maps import loss_of, stopped_loss
from discreet.curator.sums.cell_counts import DyadicCells
from discreet.curator.sums.gram import Sums, Totals
from discreet.curator.sums.residuals import RatioSquares, ResidualGram, ResidualPass
from discreet.curator.sums.scaled_rows import WeightedResiduals
from discreet.curator.table import Table
from discreet.design.design import Design
from discreet.design.domain import DEFAULT_GRID_BITS, RowDomain, model_domain
from discreet.errors import AfterSpendError, ColumnNotice, DiscreetError, PrivacyNotice, SpecError
from discreet.exact.linear import entry_count
from discreet.mechanisms.gaussian import checked_bound, residuals_with_noise
from discreet.mechanisms.guard import (
    GuardCounts,
    bounds_record,
    committed_counts,
    discovered,
    discovered_law,
    guard_counts,
    guard_record,
    guarded_law,
    how_to_stop,
    part_of,
    stop_of,
    stops,
)
from discreet.mechanisms.private_scaling import gram_with_noise, weighting_of
from discreet.mechanisms.protocol import (
    Mechanism,
    NoisyMoments,
    Published,
    RunContext,
    clipped_by_name,
    run_passes,
    with_curve,
    with_origin,
)
from discreet.mechanisms.registry import AUTO, DECLARED, chosen_mechanism
from discreet.mechanisms.sampler import ExactSampler, Sampler
from discreet.privacy.budget import PrivacyBudget, check_strength
from discreet.privacy.checks import check_flag
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.spend import (
    UNTRACKED,
    AdvisingHook,
    Loss,
    SpendHook,
    SpendReceipt,
    SpendRequest,
    check_books,
    checked_receipt,
    untracked,
)
from discreet.releases.fields import DiscoveryPart, GuardPart, RatioPart, ResidualPart, found_bounds
from discreet.releases.release import Release
from discreet.releases.verification import SigningKey
from discreet.spark.dataframe import open_table
from discreet.tables.csv_format import DEFAULT_READING, ReadOptions
from discreet.tables.frames import Origin, position_notice
from discreet.tables.source import ComputeOptions, checked_options

if TYPE_CHECKING:
    from discreet.analyst.residual_plan import ResidualPlan

# -- workflow ----------------------------------------------------------------------------------------------------------
# The straight line: source, bounded rows, moments, mechanism, release, fit. Start reading here.

Made = TypeVar("Made")

_LATER: Final = "failed after the budget was spent, and nothing was published:"


def release(
    data: object,
    design: Design,
    *,
    epsilon: float,
    delta: float = 0.0,
    mechanism: str = AUTO,
    settings: Mapping[str, object] | None = None,
    moments: Literal["plain", "robust"] = "plain",
    residual_bound: float | None = None,
    robust_models: Sequence[str] | None = None,
    clip_counts: bool = False,
    grid_bits: int = DEFAULT_GRID_BITS,
    allow_weak_privacy: bool = False,
    encoding: str = "utf-8",
    delimiter: str | None = None,
    decimal: str = ".",
    thousands: str | None = None,
    quoted_line_breaks: bool = False,
    compute: ComputeOptions | None = None,
    spend: SpendHook = untracked,
    sign: str | Path | None = None,
    guard: bool = False,
    scaling: Literal["declared", "private"] = "declared",
) -> Release:
    """Publish what a mechanism makes of a table: the one call that sees rows and spends budget.

    Parameters
    ----------
    data
        A path (CSV, Parquet, Arrow, Stata, SPSS, SAS, a folder or a glob), or an in-memory table: pandas, polars,
        pyarrow, a DuckDB relation, a mapping of names to arrays or lists, or a NumPy array; or a DataFrame of Spark,
        whose executors sum the rows where they are (extra 'spark'). Each cell is read by
        itself: text in a list is text whatever it spells, and follows the `missing` rule of its column. An array
        without names is read by position, in declared order (ids last); a `ColumnNotice` says which position is read as
        which column. A query is not a table: what is hidden is a row of its result, and a join, a window or an
        aggregate may let one person touch many rows or put many persons into one. So a relation that is not a plain
        scan of a table, or a stream, adds to the guarantee the condition that each row stands for one person and
        depends on that person alone.
    design
        Bounds, levels and rules, declared without looking at the data. Bounds that are "private" are found first, for
        5% of the budget; where they are not, the release stops with `BoundsNotFound`, and a ledger gets the rest back.
        Without a ledger every run draws new counts and spends again.
    epsilon, delta
        The budget. With `delta` = 0 the promise is pure, and the noise larger.
    mechanism
        Name of the mechanism. `auto`: the joint Gaussian release, or without delta the pure one of least error.
    settings
        Public settings of the mechanism by name; `discreet mechanisms` lists them.
    moments
        `robust` also releases what heteroskedasticity-consistent standard errors (HC1) of the full model need, from a
        second pass over the table; both passes are charged, the second with 30% of the budget. With an id in the unit
        they are clustered by it.
    residual_bound
        For `robust`: residuals beyond it are clipped, in units of the target; public. Unless given, twenty residual
        standard deviations as read off the noisy moments, and at most the width of the target's bounds.
    robust_models
        For `robust`: up to 10 further models, as formulas such as `"income ~ age"`, that get robust standard errors
        too, from sums of their own in the same second pass. All such sums then take 40% of the budget.
    clip_counts
        Also release, for each numeric column, a noisy count of the rows whose value was outside its bounds and clipped;
        the other numbers get 2% more noise for it, 3% beside `robust`. With `gaussian` or `laplace` only, so without
        delta `auto` takes `laplace` where it would take `k-norm`.
    grid_bits
        Rows are rounded to the grid of 2**-grid_bits scaled units, 8 to 26; the more noise, the fewer it can be.
    allow_weak_privacy
        Accept epsilon above 20 or delta above 1e-3.
    encoding, delimiter, decimal, thousands, quoted_line_breaks
        How CSV files are written. Encodings: ascii, utf-8, utf-8-sig, utf-16 with its mark, and Python's one-byte ones.
        `delimiter`: a tab in `.tsv` files and else a comma, unless given. `decimal` and `thousands`: the characters in
        numbers such as 1.234,5. `quoted_line_breaks`: quoted cells may hold line breaks; the file is then read by RFC
        4180 to the letter, and the guarantee states that every cell is quoted correctly.
    compute
        How the work is done; cannot change the result.
    spend
        Called with what is about to be spent, before any noise is drawn: `Ledger.account` of a data set, which also
        gives the same release again where the same thing was asked before. Without it nobody counts.
    sign
        Path of an Ed25519 private key in PEM, without a password, to sign the release with; it is opened and tried
        before anything is spent.
    guard
        Spend 1% of the budget on noisy counts of the rows that fit the design and of those that its rules drop, first.
        Where far more rows do not fit, the release stops with a `GuardStop`, and the ledger gets the rest back;
        otherwise the release carries both counts. Needs a ledger, which records the counts before they are acted on.
    scaling
        `declared`: columns are scaled by their declared bounds alone. `private`: centre and scale of every column, and
        how long a row is, are first found by noisy searches, charged to the same budget, and rows that are longer than
        most get less weight. Bounds that are far too wide then cost little. Coefficients are those of weighted least
        squares. The target is clipped at bounds found in the same way, `Release.target_clipping`: where hardly any row
        is clipped there and the mean of the target is linear, they are the model's own. With `gaussian` only.

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
    check_design(design)
    budget = PrivacyBudget(epsilon, delta)
    for notice in check_strength(budget, allow_weak_privacy):
        warnings.warn(notice, PrivacyNotice, stacklevel=2)
    return release_with(
        ExactSampler(),
        data,
        design,
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,
        settings=settings,
        moments=moments,
        residual_bound=residual_bound,
        robust_models=robust_models,
        clip_counts=clip_counts,
        grid_bits=grid_bits,
        reading=ReadOptions(encoding, delimiter, decimal, thousands, quoted_line_breaks),
        compute=compute,
        spend=spend,
        sign=sign,
        guard=guard,
        scaling=scaling,
    )


def check_design(design: object) -> None:
    """Refuse what is not a design."""
    if not isinstance(design, Design):
        raise SpecError(f"expected a Design, got {type(design).__name__}; use Design(...) or Design.load(path)")


def release_with(
    sampler: Sampler,
    data: object,
    design: Design,
    *,
    epsilon: float,
    delta: float,
    mechanism: str,
    settings: Mapping[str, object] | None,
    moments: Literal["plain", "robust"],
    residual_bound: float | None,
    grid_bits: int,
    robust_models: Sequence[str] | None = None,
    clip_counts: bool = False,
    reading: ReadOptions = DEFAULT_READING,
    compute: ComputeOptions | None = None,
    spend: SpendHook = untracked,
    sign: str | Path | None = None,
    guard: bool = False,
    scaling: str = DECLARED,
) -> Release:
    """The line itself, whatever the source of the noise; without a promise unless that source is private."""
    # what an earlier release found is public by now
    design = design.redeclared()
    asked = Question.checked(
        design,
        PrivacyBudget(epsilon, delta),
        mechanism,
        settings,
        moments=moments,
        residual_bound=residual_bound,
        robust_models=robust_models,
        clip_counts=clip_counts,
        grid_bits=grid_bits,
        guard=guard,
        scaling=scaling,
    )
    options = checked_options(compute)
    if not callable(spend):
        raise SpecError(f"spend: expected ledger.account(name), or a function like it, got {type(spend).__name__}")
    # a key that cannot sign costs nothing
    key = None if sign is None else SigningKey.load(sign)
    positions = position_notice(data, [*design.table_columns, *filter(None, [design.unit.id])])
    if positions is not None:
        warnings.warn(positions, ColumnNotice, stacklevel=3)
    source = open_table(data, reading=reading)
    books = spend if isinstance(spend, AdvisingHook) else None
    check_books(books, guard=guard)
    # the same bytes that are read otherwise are another question
    request = replace(asked.request, specification=asked.specification | {"read_as": dict(source.read_as)})
    if books is not None:
        books.advise(request)
    table = Table(
        source,
        design,
        asked.domain,
        options,
        again=asked.rereads,
        clip_counts=clip_counts,
        digest=books is not None and source.fingerprint is None,
    )
    with table:
        passes = None if design.searched else asked.mechanism.passes(asked.context(sampler))
        # an error in the table costs nothing
        first = table.sums(DyadicCells(design) if passes is None else next(passes))
        # recorded before the draw: a crash must not give a free answer
        fingerprint = None if books is None else source.fingerprint or table.fingerprint
        options.close_cancel()
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
            if guard:
                stop = how_to_stop(receipt)
                counts = asked.guarded(first, receipt, sampler)
                if stops(counts, asked.law):
                    return stop(guard_record(counts, asked.law), asked.stopped())
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
            # what is published is what was recorded, read back
            return made if receipt.commit is None else Release.from_json(receipt.commit(made.to_json()))

        made = after_spend(build, receipt.request_id)
        if isinstance(made, str):
            raise stop_of(made, receipt)
        return made if sampler.private else replace(made, guarantee=None, signature=None)


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a table, checked from public numbers alone before the table is opened.

    Attributes
    ----------
    budget
        What is promised: without delta where the noise keeps epsilon alone.
    settings, law
        Public settings of the mechanism, and its noise, with that of what is released before it.
    robust, residual_bound
        Whether sums over residuals are released too, and where residuals are clipped, in scaled units of the target.
    """

    design: Design
    domain: RowDomain
    budget: PrivacyBudget
    mechanism: Mechanism
    settings: Settings
    law: NoiseLaw
    robust: bool
    residual_bound: float | None

    @classmethod
    def checked(
        cls,
        design: Design,
        budget: PrivacyBudget,
        mechanism: str,
        settings: Mapping[str, object] | None,
        *,
        moments: str,
        residual_bound: float | None,
        clip_counts: bool,
        grid_bits: int,
        robust_models: object = None,
        guard: bool = False,
        scaling: str = DECLARED,
    ) -> Question:
        """The question, or a refusal that says what to change."""
        domain = RowDomain.of(design, grid_bits)
        bound = checked_bound(design, moments, residual_bound)
        check_flag("clip_counts", clip_counts)
        robust = moments == "robust"
        models: tuple[tuple[int, ...], ...] = ()
        if robust_models is not None:
            from discreet.analyst.equations.model_columns import declared_models

            models = declared_models(design, robust_models, robust=robust)
        chosen, public, law = chosen_mechanism(
            mechanism,
            design,
            domain,
            budget,
            settings,
            robust=robust,
            models=models,
            clip_counts=clip_counts,
            scaling=scaling,
        )
        if law.calibration == "pure":
            if budget.delta > 0:
                warnings.warn(
                    f"delta = {budget.delta:g} is not used by {chosen.name!r} with these settings: the release "
                    "promises delta = 0; leave delta out, or choose a mechanism that uses it",
                    PrivacyNotice,
                    stacklevel=4,
                )
            # kept without delta, so none is promised away
            budget = PrivacyBudget(budget.epsilon)
        check_flag("guard", guard)

        def law_for(part: PrivacyBudget) -> NoiseLaw:
            return chosen.noise_model(design, domain, part, public)

        def searched_law(part: PrivacyBudget) -> NoiseLaw:
            return discovered_law(design, domain, part, law_for) if design.searched else law_for(part)

        if guard or design.searched:
            law = guarded_law(design, domain, budget, searched_law) if guard else searched_law(budget)
        return cls(design, domain, budget, chosen, public, law, robust, bound)

    @property
    def rereads(self) -> bool:
        """Whether the table is summed more than once."""
        return self.robust or self.mechanism.info.rereads(self.settings)

    @property
    def request(self) -> SpendRequest:
        """What is about to be spent."""
        return SpendRequest(
            mechanism=self.mechanism.name,
            budget=self.budget,
            unit=self.design.unit,
            description=f"{self.mechanism.kind} of {self.design.target}",
            loss=self.loss,
            specification=self.specification,
        )

    @property
    def loss(self) -> Loss:
        """What is about to be spent in every currency, forwards from the noise; by itself what is promised."""
        epsilon, delta = self.budget.epsilon, self.budget.delta
        found = loss_of(
            self.mechanism.name, self.mechanism.version, self.design, self.law, self.settings, epsilon, delta
        )
        return replace(found, epsilon=epsilon, delta=delta, failure=min(found.failure, delta))

    def guarded(self, first: Totals, receipt: SpendReceipt, sampler: Sampler) -> GuardCounts:
        """The noisy counts of the guard that the ledger has committed for this request."""
        return GuardCounts(
            *committed_counts(
                receipt,
                GUARD,
                2,
                lambda: astuple(guard_counts(first.fitting, self.law, sampler)),
                lambda counts: stops(GuardCounts(*counts), self.law),
            )
        )

    def searched(self, first: Totals, receipt: SpendReceipt, sampler: Sampler) -> DiscoveryPart:
        """The noisy counts by cell that the ledger has committed for this request; new ones without a ledger."""

        def draw() -> list[int]:
            part = discovered(first, self.design, self.law, sampler)
            return [*chain.from_iterable(part.cells.values()), part.rows]

        def stops_release(counts: Sequence[int]) -> bool:
            return bool(self.not_found(part_of(counts, self.design, self.law)))

        return part_of(
            committed_counts(receipt, DISCOVERY, len(first.values), draw, stops_release), self.design, self.law
        )

    def stopped(self, *, found_nothing: bool = False) -> Loss:
        """What is spent where the counts of a guard, or of a discovery that found nothing, stop the release."""
        return stopped_loss(self.design, self.law, self.budget.epsilon, self.budget.delta, found_nothing=found_nothing)

    def not_found(self, part: DiscoveryPart) -> list[str]:
        """Columns whose bounds the noisy counts do not show."""
        found = found_bounds(part, self.design, self.law.family)
        return [name for name, ends in found.items() if ends is None]

    def resolved(self, part: DiscoveryPart | None) -> Question:
        """The question with the bounds that were found; the law of the noise does not depend on them."""
        if part is None:
            return self
        found = found_bounds(part, self.design, self.law.family)
        return replace(self, design=self.design.with_found({name: ends for name, ends in found.items() if ends}))

    @property
    def specification(self) -> dict[str, object]:
        """Everything public that decides what is published."""
        return {
            "design": self.design.to_dict() | {"order": list(self.design.columns)},
            "epsilon": self.budget.epsilon,
            "delta": self.budget.delta,
            "mechanism": self.mechanism.name,
            "mechanism_version": self.mechanism.version,
            "settings": dict(self.settings),
            "noise": self.law.to_dict(),
            "robust": self.robust,
            "residual_bound": self.residual_bound,
        }

    def context(self, sampler: Sampler) -> RunContext:
        """What the mechanism runs with."""
        return RunContext(self.design, self.domain, self.law.without_before(), self.settings, sampler)

    def release(
        self,
        published: Published,
        first: Totals,
        anchor: str,
        origin: Origin | None,
        counts: GuardCounts | None = None,
        discovery: DiscoveryPart | None = None,
    ) -> Release:
        """The published value with its promise; of the exact sums only the number of units, where it is public."""
        unit, tracked = self.design.unit, anchor != UNTRACKED
        noisy = published if isinstance(published, NoisyMoments) else None
        return Release(
            design=self.design,
            guarantee=with_curve(with_origin(Guarantee.promised(unit, self.budget, tracked=tracked), origin), self.law),
            mechanism=self.mechanism.name,
            mechanism_version=self.mechanism.version,
            noise=self.law.without_before(),
            guard=None if counts is None else GuardPart(self.law.sigma[GUARD], counts.fitting, counts.other),
            discovery=discovery,
            totals=() if noisy is None else noisy.totals,
            units_public=first.count if unit.neighbours == "replace" else None,
            anchor=anchor,
            made_by=f"discreet {__version__}",
            coefficients=None if isinstance(published, NoisyMoments) else published,
            scalars={} if noisy is None else noisy.scalars,
            settings=self.settings,
            numerics=self.mechanism.info.numerics,
            clipped=clipped_by_name(self.design, published),
            scaling=None if noisy is None else noisy.scaling,
        )


def after_spend(made: Callable[[], Made], request_id: str, name: str = "release") -> Made:
    """Make what is published; whatever fails now comes after the spend, and says so without repeating foreign words."""
    again = f". Request {request_id}: the same command finishes it at no further cost" if request_id else ""
    try:
        return made()
    except DiscreetError as error:
        problem = AfterSpendError(f"the {name} {_LATER} {error}{again}").with_traceback(error.__traceback__)
    except Exception as error:
        what = f"unexpected failure ({type(error).__name__})"
        problem = AfterSpendError(f"the {name} {_LATER} {what}{again}").with_traceback(error.__traceback__)
    raise problem


def _on_found_bounds(known: Question, table: Table, sampler: Sampler) -> Published:
    """Run the mechanism on rows clipped to the bounds that were found."""
    table.resolve(known.design)
    passes = known.mechanism.passes(known.context(sampler))
    return run_passes(passes, table.sums(next(passes)), table.sums)


# -- second pass -------------------------------------------------------------------------------------------------------
# What robust standard errors need, from one more pass over the table: sums over the residuals of declared models.


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
