"""The content of a report as plain values."""

from __future__ import annotations

import csv
import io
import math
import shlex
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Final

from discreet.analyst.confidence_sets import REMEDY, SetKind, set_words
from discreet.analyst.diagnostics import Diagnostic, findings
from discreet.analyst.equations.normal import counted_rows
from discreet.analyst.fitted import Fit
from discreet.analyst.inference.robust import ROBUST_TYPES
from discreet.analyst.notes import page_notes, reasons
from discreet.analyst.plots.coefficient_plots import Effect, range_effects
from discreet.analyst.summary import penalty_line, table_columns
from discreet.design.columns import Numeric
from discreet.design.design import INTERCEPT
from discreet.design.model_columns import model_of
from discreet.errors import ModelError, OptionError
from discreet.files import checked_path
from discreet.number_text import DASH, number, rough, short_exponent, with_error
from discreet.pages.attacker import Attacker, attacker
from discreet.pages.provenance import Provenance, provenance
from discreet.privacy.checks import check_flag
from discreet.privacy.guarantee import Guarantee
from discreet.releases.reference_distribution import DEFAULT_LEVEL, checked_level, known, reason_of
from discreet.releases.release import NOT_PRIVATE_SUFFIX, Release

# -- trace -------------------------------------------------------------------------------------------------------------
# Coefficients after each pass over the table, as small line plots.

WIDTH: Final = 180
HEIGHT: Final = 28
_MARGIN: Final = 3


@dataclass(frozen=True, slots=True)
class CoefficientTrace:
    """One scaled coefficient after each pass, and its released value."""

    name: str
    values: tuple[float, ...]
    released: float

    @property
    def points(self) -> str:
        """Points of an SVG polyline in a plot of `WIDTH` by `HEIGHT` pixels that includes 0."""
        drawn = (*self.values, 0.0)
        low, high = min(drawn), max(drawn)
        tall = (HEIGHT - 2 * _MARGIN) / ((high - low) or 1.0)
        wide = (WIDTH - 2 * _MARGIN) / max(len(self.values) - 1, 1)
        indices = ((_MARGIN + wide * k, HEIGHT - _MARGIN - tall * (value - low)) for k, value in enumerate(self.values))
        return " ".join(f"{x:.4g},{y:.4g}" for x, y in indices)


def coefficient_traces(release: Release) -> tuple[CoefficientTrace, ...]:
    """Return the trace of every coefficient, intercept first, or () if the mechanism published none."""
    fitted = release.coefficients
    if fitted is None or not fitted.trace:
        return ()
    names = (INTERCEPT, *release.columns[1:-1])
    first = 0 if release.design.intercept else 1
    return tuple(
        CoefficientTrace(names[index], tuple(step[index] for step in fitted.trace), fitted.values[index])
        for index in range(first, len(names))
    )


# -- usage -------------------------------------------------------------------------------------------------------------
# Commands and Python code that reproduce the model.

_ABOUT: Final = {
    "moments": "Any number of models can be fitted from the release at no additional privacy cost.",
    "coefficients": (
        "The release contains only the declared model. Using it has no additional privacy cost. Another model needs "
        "another release."
    ),
}
_WITH_ERRORS: Final = (
    "fit.params, fit.bse, fit.conf_int(0.95), fit.pvalues",
    "fit.get_prediction(new_rows).conf_int()",
)
_READ: Final = {"moments": _WITH_ERRORS, "coefficients": ("fit.params", "fit.predict(new_rows)")}


@dataclass(frozen=True, slots=True)
class Usage:
    """Shell commands and Python code that use the release."""

    about: str
    commands: tuple[str, ...]
    python: tuple[str, ...]


def usage(release: Release, fit: Fit | None, file: str | None = None) -> Usage:
    """Return commands and code that fit this model again and predict with it."""
    file = file or ("R.json" if release.private else f"R{NOT_PRIVATE_SUFFIX}")
    flags, arguments = ([], []) if fit is None else (_flags(fit), _arguments(fit))
    # clustered standard errors are the default
    kind = "" if fit is None or fit.cov_type not in ROBUST_TYPES else fit.cov_type
    arguments += [f"cov_type={kind!r}"] if kind else []
    robust = ["--robust"] if kind == "HC1" else []
    # if least squares has no solution, only a penalised model predicts
    predicting = flags if fit is None or fit.estimable else [*_flags(fit, penalty=False), "--penalty", REMEDY]
    commands = [
        ["discreet", "fit", file, *flags, *(["--cov-type", kind] if kind == "HC0" else robust)],
        ["discreet", "predict", file, "new.csv", *predicting, "-o", "predictions.csv"],
    ]
    if kind != "HC0":
        commands += [
            ["discreet", "plot", file, *flags, *robust, "-o", "coefficients.svg"],
            ["discreet", "report", file, *flags, *robust, "-o", "R.html"],
        ]
    read = _READ[release.kind]
    if fit is not None and not fit.estimable:
        again = ", ".join(["release", *_arguments(fit, penalty=False), f"penalty={REMEDY!r}"])
        read = (_WITH_ERRORS[0], f"discreet.fit({again}).predict(new_rows)")
    python = (
        "import discreet",
        f"release = discreet.Release.load({file!r})",
        f"fit = discreet.fit({', '.join(['release', *arguments])})",
        *read,
    )
    return Usage(_ABOUT[release.kind], tuple(shlex.join(words) for words in commands), python)


def _flags(fit: Fit, *, penalty: bool = True) -> list[str]:
    spec = _spec(fit, penalty=penalty)
    if "features" in spec:
        spec["features"] = _listed(fit.features)
    return [word for name, value in spec.items() for word in (f"--{name.replace('_', '-')}", str(value))] + (
        [] if fit.model.intercept or not fit.release.design.intercept else ["--no-intercept"]
    )


def _arguments(fit: Fit, *, penalty: bool = True) -> list[str]:
    intercept = [] if fit.model.intercept == fit.release.design.intercept else [f"intercept={fit.model.intercept}"]
    return [f"{name}={value!r}" for name, value in _spec(fit, penalty=penalty).items()] + intercept


def _spec(fit: Fit, *, penalty: bool) -> dict[str, object]:
    """Return the options in which the model differs from the default model."""
    spec: dict[str, object] = {}
    if fit.target != fit.release.design.target:
        spec["target"] = fit.target
    if fit.features != model_of(fit.release.design, fit.target).features:
        spec["features"] = list(fit.features)
    if not penalty:
        return spec
    if fit.penalised:
        spec["penalty"] = fit.penalty
    if fit.strength is not None:
        spec["strength"] = "criterion" if fit.selected else fit.strength
    if fit.l1_ratio is not None:
        spec["l1_ratio"] = fit.l1_ratio
    return spec


def _listed(names: tuple[str, ...]) -> str:
    """Format names as a comma-separated list, quoted like CSV."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()


# -- view --------------------------------------------------------------------------------------------------------------
# The HTML page and the JSON output come from the same values.


@dataclass(frozen=True, slots=True)
class Promise:
    """The privacy guarantee. `unit` is what differs between neighbouring tables."""

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
    """One row of the table of coefficients. A number that is not estimable is None, and `reason` says why.

    `low` and `high` are the ends of the confidence set, or of the gap for the kind `outside`. `table_low` and
    `table_high` are the ends of the interval for the same table without noise.
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
        """Whether the confidence set is unbounded, so that the estimate is shown in brackets."""
        return self.kind not in (None, "interval")


@dataclass(frozen=True, slots=True)
class ModelView:
    """The model and its R^2. If no coefficient has an interval, `no_intervals` is the reason."""

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
    """The content of a report."""

    private: bool
    rows: float | None  # noisy or public, or None if not released
    rows_sd: float  # noise standard deviation of `rows`
    level: float  # confidence level
    promise: Promise | None
    attacker: Attacker | None
    refusal: str | None  # why the coefficients are not estimable
    model: ModelView | None
    coefficients: tuple[Coefficient, ...]
    effects: tuple[Effect, ...]
    target_width: float  # of the declared range
    trace: tuple[CoefficientTrace, ...]  # empty unless the mechanism publishes its iterates
    diagnostics: tuple[Diagnostic, ...]
    provenance: Provenance
    usage: Usage
    title: str | None = None
    file: str | None = None
    simulated: bool = False

    def to_dict(self) -> dict[str, object]:
        """Return the content as plain values for JSON."""
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
    """Collect the content of a report. Options are as for `discreet.report`."""
    level = checked_level(level)
    if title is not None and (not isinstance(title, str) or not title.strip()):
        raise OptionError(option="title", given=title, allowed="text")
    name = None if file is None else checked_path(file).name
    check_flag("simulated", simulated)
    if fit is not None and fit.release.digest != release.digest:
        raise ModelError(
            "expected a fit of this release, got a fit of another release", option="fit", remedy="fit this release"
        )
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
    table = [known(ends) for ends in fit.table_conf_int(level).values()]
    sets = [known(ends) for ends in fit.conf_int(level).values()]
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


# -- text --------------------------------------------------------------------------------------------------------------
# Cells of the table of coefficients.


def in_row(value: float | None, row: Coefficient) -> str:
    """Format a number to as many decimals as the standard error of its row justifies.

    >>> age = Coefficient("age", 793.2, 17.84, 758.5, 828.4, 1e-9, 5.4, 17.0, 0.909, None, kind="interval")
    >>> in_row(age.estimate, age), in_row(age.std_error, age), in_row(None, age)
    ('793.2', '17.8', '–')
    """
    return with_error(value, row.std_error or row.privacy_sd)


def estimate(row: Coefficient) -> str:
    """Format an estimate. If its confidence set is unbounded, use two digits and brackets."""
    if row.estimate is None:
        return "not estimable"
    return f"[{short_exponent(rough(row.estimate))}]" if row.unbounded else in_row(row.estimate, row)


def confidence_set(row: Coefficient) -> str:
    """Format a confidence set."""
    if row.kind is None:
        return DASH
    text = number if row.unbounded else partial(in_row, row=row)
    return set_words(row.kind, text(row.low), text(row.high))
