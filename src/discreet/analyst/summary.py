"""The text summary of a fit."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from discreet.analyst.confidence_sets import ConfidenceSet, mapped, split_words
from discreet.analyst.inference.contrasts import noise_known_beforehand
from discreet.analyst.notes import notes, reasons
from discreet.analyst.values import (
    Interval,
    NamedValues,
    Number,
    all_beside,
    beside_set,
    numbers_by_name,
    shown_estimate,
)
from discreet.number_text import percent
from discreet.releases.fields import NoisyCount
from discreet.releases.reference_distribution import DEFAULT_LEVEL, NotEstimable, known, reason_of, shown_number
from discreet.releases.release import Release
from discreet.text import aligned
from discreet.wording import PYTHON, Wording, worded

if TYPE_CHECKING:
    from pyarrow import Table

    from discreet.analyst.fitted import Fit
    from discreet.analyst.inferred import InferenceMixin

# -- coefficient table -------------------------------------------------------------------------------------------------
# The table of coefficients as Arrow columns, as plain values for JSON, and as text.

HEADERS: Final = ("", "coef", "std err", "t", "p", "[{low:g}", "{high:g}]", "privacy")
NOISE_HEADERS: Final = ("", "coef", "privacy sd", "this table [{low:g}", "{high:g}]")


def table_columns(
    fit: InferenceMixin, level: float = DEFAULT_LEVEL
) -> dict[str, list[str] | list[str | None] | list[float | None]]:
    """Return the columns of the table by name, with None for numbers that are not estimable.

    `low`, `high` and `kind` describe the confidence sets. The ends of unbounded sets are infinite. A coefficient with
    an unbounded set has no standard error and no t value.
    """
    intervals = fit.conf_int(level)
    sets = [known(ends) for ends in intervals.values()]
    return {
        "coefficient": list(fit.names),
        "estimate": _plain(estimates(fit)),
        "std_error": _plain(all_beside(fit.bse, intervals)),
        "t": _plain(all_beside(fit.tvalues, intervals)),
        "score_z": _plain(fit.score_z),
        "p": _plain(fit.pvalues),
        "low": [None if ends is None else ends.lower for ends in sets],
        "high": [None if ends is None else ends.upper for ends in sets],
        "kind": [None if ends is None else str(ends.kind) for ends in sets],
        "sampling_sd": _plain(all_beside(fit.sampling_sd, intervals)),
        "privacy_sd": _plain(all_beside(fit.privacy_sd, intervals)),
        "privacy_share": _plain(fit.privacy_share),
    }


def estimates(fit: InferenceMixin) -> NamedValues[Number]:
    """Return the coefficients in original units by name, or the reason why they are not estimable."""
    return numbers_by_name(fit.names, mapped(fit._line, lambda line: line.original))


def arrow_table(fit: InferenceMixin, level: float) -> Table:
    """Return the table, with a column of reasons, as an Arrow table."""
    import pyarrow as pa

    why = reasons(fit, level)
    columns = table_columns(fit, level)
    arrays = {
        name: pa.array(values, type=pa.string() if name in ("coefficient", "kind") else pa.float64())
        for name, values in columns.items()
    }
    return pa.table(arrays | {"reason": pa.array([why.get(name) for name in fit.names], type=pa.string())})


def plain_values(fit: InferenceMixin, level: float = DEFAULT_LEVEL) -> dict[str, object]:
    """Return inference results as plain values for JSON, with null and a reason for numbers that are not estimable."""
    rsquared_ends = fit.rsquared_conf_int(level)
    table, columns = fit.table_conf_int(level), table_columns(fit, level)

    def by_name(column: str) -> dict[str, object]:
        return dict(zip(fit.names, columns[column], strict=True))

    return {
        "interval_level": level,
        "interval_target": fit.interval_target,
        "bse": by_name("std_error"),
        "tvalues": by_name("t"),
        "score_z": by_name("score_z"),
        "pvalues": by_name("p"),
        "conf_int": {name: plain_set(ends) for name, ends in fit.conf_int(level).items()},
        "sampling_sd": by_name("sampling_sd"),
        "privacy_sd": by_name("privacy_sd"),
        "privacy_share": by_name("privacy_share"),
        "table_conf_int": {name: plain_set(ends) for name, ends in table.items()},
        "table_conf_int_reason": next(filter(None, map(reason_of, table.values())), None),
        "reasons": reasons(fit, level),
        "df_resid": known(fit.df_resid),
        "s2": known(fit.s2),
        "s2_reason": reason_of(fit.s2),
        "rsquared": known(fit.rsquared),
        "rsquared_adj": known(fit.rsquared_adj),
        "rsquared_conf_int": plain_set(rsquared_ends),
        "rsquared_reason": reason_of(fit.rsquared) or rsquared_ends.reason,
    }


def headers(fit: InferenceMixin, level: float = DEFAULT_LEVEL) -> tuple[str, ...]:
    """Return the column titles of `cells`, which differ if only the noise of the coefficients is known."""
    titles = NOISE_HEADERS if noise_known_beforehand(fit.release.noise) else HEADERS
    return tuple(title.format(low=(1 - level) / 2, high=(1 + level) / 2) for title in titles)


def cells(fit: InferenceMixin, level: float = DEFAULT_LEVEL) -> list[tuple[str, ...]]:
    """Return the rows of the table as text. Estimates with unbounded sets are in brackets."""
    if noise_known_beforehand(fit.release.noise):
        return _noise_cells(fit, level)
    sets = fit.conf_int(level)
    return [
        (
            name,
            shown_estimate(value, sets[name]),
            _cell(beside_set(fit.bse[name], sets[name]), ".4g"),
            _cell(beside_set(fit.tvalues[name], sets[name]), ".4g"),
            _cell(fit.pvalues[name], ".3f"),
            *set_cells(sets[name]),
            _cell(fit.privacy_share[name], ".0%"),
        )
        for name, value in estimates(fit).items()
    ]


def _noise_cells(fit: InferenceMixin, level: float) -> list[tuple[str, ...]]:
    sds, sets = fit.privacy_sd, fit.table_conf_int(level)
    return [
        (name, shown_estimate(value, sets[name]), _cell(sds[name], ".4g"), *set_cells(sets[name]))
        for name, value in estimates(fit).items()
    ]


def set_cells(ends: Interval) -> tuple[str, str]:
    """Format a confidence set for the two columns of lower and upper ends."""
    if isinstance(ends, NotEstimable):
        return "not", "estimable"
    low, high = f"{ends.lower:.5g}", f"{ends.upper:.5g}"
    return (low, high) if ends.bounded else split_words(ends.kind, low, high)


def _cell(value: Number, digits: str) -> str:
    """Format a number, or return a dash if it is not estimable."""
    return "-" if isinstance(value, NotEstimable) else f"{value:{digits}}"


def plain_set(ends: Interval) -> dict[str, str | float | None] | None:
    """Return the kind and ends of a set, or None without a set."""
    return ends.to_dict() if isinstance(ends, ConfidenceSet) else None


def _plain(values: NamedValues[float | NotEstimable]) -> list[float | None]:
    return [known(value) for value in values.values()]


# -- settings ----------------------------------------------------------------------------------------------------------
# Settings of a release as text, with the chosen values of automatic settings.

_STEPS: Final = ("strength",)  # noise parameters in units of the product grid


def settings_used(release: Release) -> tuple[tuple[str, str], ...]:
    """Return the name and value of every setting. If 0 means automatic, include the chosen value."""
    return tuple((name, _shown(release, name, value)) for name, value in sorted(release.settings.items()))


def automatic_settings(release: Release) -> dict[str, str]:
    """Return the values that the mechanism chose for automatic settings."""
    return {name: f"0 (here {chosen})" for name in release.settings for chosen in _chosen(release, name)}


def _shown(release: Release, name: str, value: bool | int | float | str) -> str:
    if isinstance(value, bool):
        return ("no", "yes")[value]
    return automatic_settings(release).get(name, f"{value:g}" if isinstance(value, float) else str(value))


def _chosen(release: Release, name: str) -> list[str]:
    """Return the value chosen for an automatic setting, or [] if it is not automatic or not recorded."""
    value = release.settings[name]
    if isinstance(value, bool | str) or value != 0:
        return []
    if name in release.noise.parameters:
        return [f"{release.noise.parameters[name] / (release.noise.unit if name in _STEPS else 1):.6g}"]
    trace = () if release.coefficients is None else release.coefficients.trace
    return [str(len(trace))] if name == "iterations" and trace else []


# -- summary -----------------------------------------------------------------------------------------------------------
# A fit as plain text.

_WIDTH: Final = 88


def row_count(fit: Fit) -> str:
    """Format the number of rows, and say whether it is noisy or public."""
    rows = known(fit.nobs)
    if rows is None:
        return "not released"
    count = NoisyCount(rows, fit.nobs_sd)
    return count.words if count.sd > 0 or fit.release.units_public is None else f"{count.words} (public)"


def penalty_line(fit: Fit) -> str:
    """Describe the penalty and its strength, or the mechanism that fitted the model."""
    if fit.fitted_inside:
        automatic = [f"{name} {value}" for name, value in automatic_settings(fit.release).items()]
        return ", ".join([f"fitted by the mechanism {fit.release.mechanism!r}", *automatic])
    if not fit.penalised:
        return f"none ({'weighted' if fit.release.weighted else 'ordinary'} least squares)"
    ridge = f"ridge {fit.ridge:.6g} on the scaled columns"
    if fit.penalty == "bayes":
        return "bayes (posterior mean)"
    if fit.penalty == "adaptive":
        return f"adaptive (the smallest ridge that the noise requires): {ridge if fit.ridge > 0 else 'none needed'}"
    strength = "" if fit.strength is None else f", strength {fit.strength:g}"
    chosen = " (by criterion)" if fit.selected else ""
    ratio = "" if fit.l1_ratio is None else f", l1_ratio {fit.l1_ratio:g}"
    return f"{fit.penalty}{strength}{chosen}{ratio}{f', {ridge}' if fit.ridge > 0 else ''}"


def summary_text(fit: Fit, level: float = DEFAULT_LEVEL, wording: Wording = PYTHON) -> str:
    """Return the text of `Fit.summary`, in the wording of a front end."""
    guarantee = fit.release.guarantee
    lines = [
        "Linear regression from a release" + ("" if guarantee is not None else " -- NOT PRIVATE"),
        f"Rows:     {row_count(fit)}",
        f"Target:   {fit.target}",
        *_lines(f"Penalty:  {penalty_line(fit)}", " " * 10),
        "-" * _WIDTH,
        *aligned([headers(fit, level), *cells(fit, level)]),
        "-" * _WIDTH,
    ]
    promise = "NOT PRIVATE: this release carries no privacy guarantee." if guarantee is None else guarantee.sentence()
    for paragraph in (statistics_line(fit, level), promise, *notes(fit, level)):
        lines += _lines(worded(paragraph, wording))
    return "\n".join(lines) + "\n"


def _lines(text: str, indent: str = "") -> list[str]:
    """Wrap a text between words, never at a hyphen, so that command-line options can be copied."""
    return textwrap.wrap(text, _WIDTH, subsequent_indent=indent, break_on_hyphens=False)


def fact_lines(fit: Fit, level: float = DEFAULT_LEVEL) -> list[str]:
    """Return the row count, the penalty, R^2 and the residual standard deviation as sentences."""
    return [f"Rows: {row_count(fit)}. Penalty: {penalty_line(fit)}.", statistics_line(fit, level)]


def statistics_line(fit: Fit, level: float = DEFAULT_LEVEL) -> str:
    """Format adjusted R^2 with its interval, and the residual standard deviation."""
    adjusted, ends = fit.rsquared_adj, fit.rsquared_conf_int(level)
    text, interval, reason = shown_rsquared(adjusted, ends), known(ends), reason_of(adjusted)
    if interval is not None:
        text += f" ({percent(level)} interval {interval.lower:.3g} to {interval.upper:.3g})"
    spread = shown_number(fit._residual_sd, ".4g")
    if reason is not None:
        text += f": {reason}"
    return f"Adjusted R^2: {text}. Residual standard deviation: {spread}."


def shown_rsquared(value: Number, ends: Interval) -> str:
    """Format R^2 to four digits, or to two in brackets if the release excludes no value."""
    weak = known(value) is not None and known(ends) is not None and ends.reason
    return f"[{shown_number(value, '.2g')}]" if weak else shown_number(value, ".4g")
