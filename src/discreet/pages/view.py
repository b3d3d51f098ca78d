"""Collect everything that the report shows as plain values."""

from __future__ import annotations

import csv
import io
import math
import shlex
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Final

from discreet.analyst.confidence_sets import REMEDY, SetKind, decimals_for, fixed, set_words, short_exponent
from discreet.analyst.diagnostics import Diagnostic, findings
from discreet.analyst.equations.model_columns import choose
from discreet.analyst.equations.normal import counted_rows
from discreet.analyst.fitted import Fit
from discreet.analyst.inference.robust import ROBUST_TYPES
from discreet.analyst.notes import page_notes, reasons
from discreet.analyst.plots.coefficient_plots import Effect, range_effects
from discreet.analyst.summary import penalty_line, table_columns
from discreet.analyst.values import rough
from discreet.design.columns import Numeric
from discreet.design.design import INTERCEPT
from discreet.errors import SpecError, shown
from discreet.files import checked_path
from discreet.pages.attacker import Attacker, attacker
from discreet.pages.provenance import Provenance, provenance
from discreet.privacy.checks import check_flag
from discreet.privacy.guarantee import Guarantee
from discreet.releases.reference_law import DEFAULT_LEVEL, checked_level, known, reason_of
from discreet.releases.release import NOT_PRIVATE_SUFFIX, Release

# -- trace -------------------------------------------------------------------------------------------------------------
# How released coefficients went from pass to pass: a small line for each of them.

WIDTH: Final = 180
HEIGHT: Final = 28
_MARGIN: Final = 3


@dataclass(frozen=True, slots=True)
class CoefficientTrace:
    """The way of one scaled coefficient: its values after each pass, and what was published in the end."""

    name: str
    values: tuple[float, ...]
    released: float

    @property
    def points(self) -> str:
        """Corners of its line in a drawing of `WIDTH` by `HEIGHT`; its height holds 0 and every value.

        >>> CoefficientTrace("x", (0.0, 1.0), 1.0).points
        '3,25 177,3'
        """
        drawn = (*self.values, 0.0)
        low, high = min(drawn), max(drawn)
        tall = (HEIGHT - 2 * _MARGIN) / ((high - low) or 1.0)
        wide = (WIDTH - 2 * _MARGIN) / max(len(self.values) - 1, 1)
        indices = ((_MARGIN + wide * k, HEIGHT - _MARGIN - tall * (value - low)) for k, value in enumerate(self.values))
        return " ".join(f"{x:.4g},{y:.4g}" for x, y in indices)


def coefficient_traces(release: Release) -> tuple[CoefficientTrace, ...]:
    """The way of every coefficient that the design has, constant first; empty where none was published."""
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
# How to go on with a release: the command line and the Python lines that repeat a model.

_ABOUT: Final = {
    "moments": "Any number of models can be read from the release at no further cost in privacy.",
    "coefficients": (
        "The release holds the one model that was declared; reading it and predicting with it cost nothing further in "
        "privacy. Another model needs another release."
    ),
}
_WITH_ERRORS: Final = (
    "fit.params, fit.bse, fit.conf_int(0.95), fit.pvalues",
    "fit.get_prediction(new_rows).conf_int()",
)
_READ: Final = {"moments": _WITH_ERRORS, "coefficients": ("fit.params", "fit.predict(new_rows)")}


@dataclass(frozen=True, slots=True)
class Usage:
    """What can be read from the release, and the lines to copy for it: commands of a shell, and Python."""

    about: str
    commands: tuple[str, ...]
    python: tuple[str, ...]


def usage(release: Release, fit: Fit | None, file: str | None = None) -> Usage:
    """Give the lines that read this model from the release again, and that predict with it; `file` is its name."""
    file = file or ("R.json" if release.private else f"R{NOT_PRIVATE_SUFFIX}")
    flags, arguments = ([], []) if fit is None else (_flags(fit), _arguments(fit))
    # clustered errors are there without being asked for
    kind = "" if fit is None or fit.cov_type not in ROBUST_TYPES else fit.cov_type
    arguments += [f"cov_type={kind!r}"] if kind else []
    robust = ["--robust"] if kind == "HC1" else []
    # where least squares has no coefficients, only a penalised model predicts
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
    """Give what differs from the model that is read when nothing is asked for."""
    spec: dict[str, object] = {}
    if fit.target != fit.release.design.target:
        spec["target"] = fit.target
    if fit.features != choose(fit.release, fit.target).features:
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
    """Write names between commas as `--features` reads them."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()


# -- view --------------------------------------------------------------------------------------------------------------
# Everything that a report shows, as plain values: the page and the machine-readable facts are made from the same.


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


# -- text --------------------------------------------------------------------------------------------------------------
# Values as text for a page: control characters made visible, numbers to the digits that people read.

_DIGITS: Final = 4
_SMALLEST_P: Final = 0.001


def number(value: float | None) -> str:
    """Give four significant digits, with thousands apart; a dash where there is no number.

    >>> number(54321.7), number(0.012345), number(1.5e-9), number(-0.0), number(None)
    ('54,322', '0.01235', '1.5e-9', '0', '–')
    """
    if value is None:
        return "–"
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if not -_DIGITS <= size < 9:
        return short_exponent(f"{value:.{_DIGITS}g}")
    return f"{value:,.{max(0, _DIGITS - 1 - size)}f}"


def plain(value: float) -> str:
    """Give a declared number as it was declared.

    >>> plain(1.0), plain(1e-6)
    ('1', '1e-6')
    """
    return short_exponent(f"{value:.6g}")


def share(value: float | None) -> str:
    """Give a probability or a share in percent.

    >>> share(0.1359).split(), share(0.5).split(), share(None)
    (['13.6%'], ['50%'], '–')
    >>> share(0.99999).split(), share(0.0004).split()
    (['more', 'than', '99.9%'], ['less', 'than', '0.1%'])
    """
    if value is None:
        return "–"
    if 0 < value < 0.001:
        return "less than 0.1%"
    if 0.999 < value < 1:
        return "more than 99.9%"
    return f"{100 * value:.1f}".removesuffix(".0") + "%"


def percent(level: float) -> str:
    """Give a confidence level as it was asked for.

    >>> percent(0.95), percent(0.9999)
    ('95%', '99.99%')
    """
    return f"{100 * level:.6g}%"


def p_value(value: float | None) -> str:
    """Give a p-value to three decimals.

    >>> p_value(0.0312), p_value(1e-9), p_value(None)
    ('0.031', '< 0.001', '–')
    """
    if value is None:
        return "–"
    return f"< {_SMALLEST_P}" if value < _SMALLEST_P else f"{value:.3f}"


def count(value: float) -> str:
    """Give a number of rows.

    >>> count(20_074.3)
    '20,074'
    """
    return f"{value:,.0f}"


def in_row(value: float | None, row: Coefficient) -> str:
    """Give a number of a row to the digits that the row's error leaves: the same decimals for all of them.

    >>> from discreet.pages.view import Coefficient
    >>> age = Coefficient("age", 793.2, 17.84, 758.5, 828.4, 1e-9, 5.4, 17.0, 0.909, None, kind="interval")
    >>> in_row(age.estimate, age), in_row(age.std_error, age), in_row(None, age)
    ('793.2', '17.8', '–')
    """
    error = row.std_error or row.privacy_sd
    if value is None or not error or not math.isfinite(error):
        return number(value)
    return fixed(value, decimals_for(error))


def estimate(row: Coefficient) -> str:
    """Give an estimate; in brackets and to two digits where the release does not bound it."""
    if row.estimate is None:
        return "not estimable"
    return f"[{short_exponent(rough(row.estimate))}]" if row.unbounded else in_row(row.estimate, row)


def confidence_set(row: Coefficient) -> str:
    """Give a confidence set in words."""
    if row.kind is None:
        return "–"
    shown = number if row.unbounded else partial(in_row, row=row)
    return set_words(row.kind, shown(row.low), shown(row.high))
