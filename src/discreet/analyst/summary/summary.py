"""A fit in plain text."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from discreet.analyst.diagnostics.notes import notes
from discreet.analyst.summary.coefficient_table import cells, headers
from discreet.analyst.summary.settings import automatic_settings
from discreet.analyst.values.estimates import Interval, Number
from discreet.analyst.values.not_estimable import known, reason_of, shown_number
from discreet.releases.parts import NoisyCount
from discreet.releases.reference_law import DEFAULT_LEVEL
from discreet.text import aligned

if TYPE_CHECKING:
    from discreet.analyst.fitted import Fit

_WIDTH: Final = 88


def row_count(fit: Fit) -> str:
    """Give the number of rows as far as it is known.

    A noisy count is shown to whole rows, never as if it were exact.
    """
    rows = known(fit.nobs)
    if rows is None:
        return "not released"
    count = NoisyCount(rows, fit.nobs_sd)
    return count.words if count.sd > 0 or fit.release.units_public is None else f"{count.words} (public)"


def penalty_line(fit: Fit) -> str:
    """Say what the penalty is and how strong; for a model fitted inside, the values of its automatic settings."""
    if fit.fitted_inside:
        automatic = [f"{name} {value}" for name, value in automatic_settings(fit.release).items()]
        return ", ".join([f"as the mechanism {fit.release.mechanism!r} fitted it, before the release", *automatic])
    if not fit.penalised:
        return f"none ({'weighted' if fit.release.weighted else 'ordinary'} least squares)"
    ridge = f"ridge {fit.ridge:.6g} on the scaled columns"
    if fit.penalty == "bayes":
        return "bayes (posterior mean of the coefficients, given the noisy sums and the distribution of their noise)"
    if fit.penalty == "adaptive":
        return f"adaptive (the least ridge that the noise calls for): {ridge if fit.ridge > 0 else 'here none'}"
    strength = "" if fit.strength is None else f", strength {fit.strength:g}"
    chosen = " (by criterion)" if fit.selected else ""
    ratio = "" if fit.l1_ratio is None else f", l1_ratio {fit.l1_ratio:g}"
    return f"{fit.penalty}{strength}{chosen}{ratio}{f', {ridge}' if fit.ridge > 0 else ''}"


def summary_text(fit: Fit, level: float = DEFAULT_LEVEL) -> str:
    """Write the table that `Fit.summary` gives."""
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
        lines += _lines(paragraph)
    return "\n".join(lines) + "\n"


def _lines(text: str, indent: str = "") -> list[str]:
    """Break a text between words, never at a hyphen: an option such as --clip-counts is copied whole."""
    return textwrap.wrap(text, _WIDTH, subsequent_indent=indent, break_on_hyphens=False)


def fact_lines(fit: Fit, level: float = DEFAULT_LEVEL) -> list[str]:
    """Give rows, penalty, R^2 and residual spread in sentences, for a table that has no lines above it."""
    return [f"Rows: {row_count(fit)}. Penalty: {penalty_line(fit)}.", statistics_line(fit, level)]


def statistics_line(fit: Fit, level: float = DEFAULT_LEVEL) -> str:
    """Give adjusted R^2 with its interval, and the residual standard deviation."""
    adjusted, ends = fit.rsquared_adj, fit.rsquared_conf_int(level)
    shown, interval, reason = shown_rsquared(adjusted, ends), known(ends), reason_of(adjusted)
    if interval is not None:
        shown += f" ({100 * level:g}% interval {interval.lower:.3g} to {interval.upper:.3g})"
    spread = shown_number(fit._residual_sd, ".4g")
    if reason is not None:
        shown += f": {reason}"
    return f"Adjusted R^2: {shown}. Residual standard deviation: {spread}."


def shown_rsquared(value: Number, ends: Interval) -> str:
    """Give an R^2 to four digits, or in brackets and to two where the release excludes no value of it."""
    weak = known(value) is not None and known(ends) is not None and ends.reason
    return f"[{shown_number(value, '.2g')}]" if weak else shown_number(value, ".4g")
