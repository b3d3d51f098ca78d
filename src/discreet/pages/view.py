"""Everything that a report shows, as plain values: the page and the machine-readable facts are made from the same."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path

from discreet.analyst.diagnostics.diagnostics import Diagnostic, findings
from discreet.analyst.diagnostics.error_notes import reasons
from discreet.analyst.diagnostics.notes import page_notes
from discreet.analyst.equations.sums import counted_rows
from discreet.analyst.fitted import Fit
from discreet.analyst.pictures.effects import Effect, range_effects
from discreet.analyst.summary.coefficient_table import table_columns
from discreet.analyst.summary.summary import penalty_line
from discreet.analyst.values.confidence_sets import SetKind
from discreet.analyst.values.not_estimable import known, reason_of
from discreet.design.columns import Numeric
from discreet.errors import SpecError, shown
from discreet.files import checked_path
from discreet.pages.attacker import Attacker, attacker
from discreet.pages.provenance import Provenance, provenance
from discreet.pages.trace import CoefficientTrace, coefficient_traces
from discreet.pages.usage import Usage, usage
from discreet.privacy.checks import check_flag
from discreet.privacy.guarantee import Guarantee
from discreet.releases import Release
from discreet.releases.reference_law import DEFAULT_LEVEL, checked_level


@dataclass(frozen=True, slots=True)
class Promise:
    """The guarantee in words and numbers; `unit` is what one neighbour changes."""

    epsilon: float
    delta: float
    neighbours: str
    unit: str
    hidden: str
    conditions: tuple[str, ...]
    sentence: str
    mu: float | None = None
    rho: float | None = None


@dataclass(frozen=True, slots=True)
class Coefficient:
    """One line of the table; numbers are missing where the release cannot give them, and `reason` says why.

    Attributes
    ----------
    low, high
        Ends of the confidence set, those of the gap for the kind `outside`; missing where it has none.
    kind
        Of the confidence set; missing where there is none.
    table_low, table_high
        Ends of the interval for what would have been published of this very table without noise, where it is known.
    """

    name: str
    estimate: float | None
    std_error: float | None
    low: float | None
    high: float | None
    p: float | None
    sampling_sd: float | None
    privacy_sd: float | None
    privacy_share: float | None
    reason: str | None
    table_low: float | None = None
    table_high: float | None = None
    kind: SetKind | None = None

    @property
    def unbounded(self) -> bool:
        """Whether the confidence set is no interval, so that the estimate is shown in brackets."""
        return self.kind not in (None, "interval")


@dataclass(frozen=True, slots=True)
class ModelView:
    """The model in words.

    Attributes
    ----------
    penalised
        Whether its coefficients are shrunk towards 0 on purpose.
    interval_target
        What the intervals are for: `least squares`, `penalised` or `none`.
    no_intervals
        Why there are none for any coefficient, if so.
    rsquared, rsquared_low, rsquared_high, rsquared_reason
        Adjusted R^2 with its interval, and why there is none or why it excludes nothing.
    residual_sd
        Residual standard deviation in units of the target.
    """

    target: str
    features: tuple[str, ...]
    intercept: bool
    penalty: str
    penalised: bool
    interval_target: str
    no_intervals: str | None
    rsquared: float | None
    rsquared_low: float | None
    rsquared_high: float | None
    rsquared_reason: str | None
    residual_sd: float | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReportView:
    """Everything a report shows.

    Attributes
    ----------
    private
        Whether there is a promise at all.
    rows, rows_sd
        Number of rows, noisy or public, and the standard deviation of its noise; missing where it was not released.
    level
        Of the intervals.
    refusal
        Why the model has no coefficients, if the released sums do not determine them.
    model, coefficients, effects
        Missing and empty if no model can be read from the release.
    target_width
        Width of the declared range of the target, which no effect exceeds but by noise.
    trace
        How released coefficients went from pass to pass, where the mechanism publishes it.
    title, file
        What the reader calls the report, and the name of the release file without its folder; missing where not given.
    simulated
        Whether the rows behind it are nobody's.
    """

    private: bool
    rows: float | None
    rows_sd: float
    level: float
    promise: Promise | None
    attacker: Attacker | None
    refusal: str | None
    model: ModelView | None
    coefficients: tuple[Coefficient, ...]
    effects: tuple[Effect, ...]
    target_width: float
    trace: tuple[CoefficientTrace, ...]
    diagnostics: tuple[Diagnostic, ...]
    provenance: Provenance
    usage: Usage
    title: str | None = None
    file: str | None = None
    simulated: bool = False

    def to_dict(self) -> dict[str, object]:
        """Give the same facts as plain values for JSON."""
        plain = asdict(self)
        if not self.simulated:
            del plain["simulated"]
        for row in plain["coefficients"]:
            kind = row["kind"]
            row["conf_int"] = None if kind is None else {"kind": kind, "lower": row["low"], "upper": row["high"]}
        return plain


def report_view(
    release: Release,
    fit: Fit | None = None,
    *,
    level: float = DEFAULT_LEVEL,
    title: str | None = None,
    file: str | Path | None = None,
    simulated: bool = False,
) -> ReportView:
    """Gather what a report shows.

    Parameters
    ----------
    release
        What was published.
    fit
        A model read from it; none if it gives none.
    level
        Of the confidence sets, at least 0.5 and below 1.
    title
        Of the report; the name of the target unless given.
    file
        The release file; only its name is shown, in the commands too.
    simulated
        Whether the release is of simulated rows.
    """
    level = checked_level(level)
    if title is not None and (not isinstance(title, str) or not title.strip()):
        raise SpecError(f"title: expected a text, got {shown(title)}")
    name = None if file is None else checked_path(file).name
    check_flag("simulated", simulated)
    if fit is not None and fit.release.digest != release.digest:
        raise SpecError("the fit was read from another release; fit this one")
    guarantee = release.guarantee
    rows, rows_sd = counted_rows(release)
    coefficients = () if fit is None else _coefficients(fit, level)
    target = release.design.columns[release.design.target if fit is None else fit.target]
    return ReportView(
        private=release.private,
        rows=known(rows),
        rows_sd=rows_sd,
        level=level,
        promise=None if guarantee is None else _promise(guarantee),
        attacker=None if guarantee is None else attacker(guarantee),
        refusal=None if fit is None or fit.estimable else next(iter(reasons(fit, level).values())),
        model=None if fit is None else _model(fit, level),
        coefficients=coefficients,
        effects=() if fit is None else range_effects(fit, level),
        target_width=target.bounds[1] - target.bounds[0] if isinstance(target, Numeric) else 1.0,
        trace=coefficient_traces(release),
        diagnostics=findings(release, fit),
        provenance=provenance(release),
        usage=usage(release, fit, name),
        title=title,
        file=name,
        simulated=simulated,
    )


def _promise(guarantee: Guarantee) -> Promise:
    unit = guarantee.unit
    return Promise(
        epsilon=guarantee.epsilon,
        delta=guarantee.delta,
        neighbours=guarantee.neighbours,
        unit="one row" if unit.id is None else "all rows of one person",
        hidden=unit.sentence,
        conditions=guarantee.conditions,
        sentence=guarantee.sentence(),
        mu=guarantee.mu,
        rho=guarantee.rho,
    )


def _coefficients(fit: Fit, level: float) -> tuple[Coefficient, ...]:
    why = reasons(fit, level)
    columns = table_columns(fit, level)
    table = [known(one) for one in fit.table_conf_int(level).values()]
    sets = [known(one) for one in fit.conf_int(level).values()]
    return tuple(
        Coefficient(
            name=name,
            reason=why.get(name),
            **{
                field: columns[field][index]
                for field in ("estimate", "std_error", "p", "sampling_sd", "privacy_sd", "privacy_share")
            },  # type: ignore[arg-type]  # the columns of numbers hold numbers or nothing
            low=None if ends is None else _finite(ends.lower),
            high=None if ends is None else _finite(ends.upper),
            table_low=None if inside is None else inside.lower,
            table_high=None if inside is None else inside.upper,
            kind=None if ends is None else ends.kind,
        )
        for index, (name, ends, inside) in enumerate(zip(fit.names, sets, table, strict=True))
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _model(fit: Fit, level: float) -> ModelView:
    ends = fit.rsquared_conf_int(level)
    interval = known(ends)
    return ModelView(
        target=fit.target,
        features=fit.features,
        intercept=fit.model.intercept,
        penalty=penalty_line(fit),
        penalised=fit.penalised,
        interval_target=fit.interval_target,
        no_intervals=next(iter(reasons(fit, level).values())) if fit.interval_target == "none" else None,
        rsquared=known(fit.rsquared_adj),
        rsquared_low=None if interval is None else interval.lower,
        rsquared_high=None if interval is None else interval.upper,
        rsquared_reason=reason_of(fit.rsquared_adj) or ends.reason,
        residual_sd=known(fit._residual_sd),
        notes=tuple(page_notes(fit, level)),
    )
