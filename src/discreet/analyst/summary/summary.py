"""A fit in plain text."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from discreet.analyst.diagnostics.clips import clipping_note
from discreet.analyst.diagnostics.convergence import noise_dominates, not_converged
from discreet.analyst.diagnostics.piles import piled_up
from discreet.analyst.equations.selection import has_all_regressors
from discreet.analyst.inference.coefficient_noise import known_before
from discreet.analyst.inference.reference_law import DEFAULT_LEVEL
from discreet.analyst.inference.robust import (
    clipped_residuals,
    has_clusters,
    has_ratio_spread,
    independent_rows,
    residual_bound,
)
from discreet.analyst.summary.coefficient_table import cells, headers, reasons
from discreet.analyst.summary.settings import automatic_settings
from discreet.analyst.values.estimates import Interval, Number
from discreet.analyst.values.not_estimable import NotEstimable

if TYPE_CHECKING:
    from discreet.analyst.fitted import Fit

SHRUNK: Final = "Rows outside the declared radius were shrunk to it, so the coefficients describe the shrunk rows."
SHRUNK_TOO: Final = "Predictions shrink new rows in the same way."
NOT_SHRUNK: Final = (
    "This model does not have all columns that the radius applies to, so its predictions do not shrink new rows."
)
PENALISED: Final = (
    "Penalised coefficients: shrunk towards 0 on purpose, for prediction; they do not estimate those of least squares."
)
REPAIRED: Final = (
    "Repaired: the noise left the sums of products too close to indefinite, so {shift:.6g} was added to their "
    "diagonal; fewer features, more rows or a larger epsilon would avoid that."
)
PRIVACY_PART: Final = "Column 'privacy': share of the variance due to privacy noise"
PENALISED_INTERVALS: Final = (
    "The intervals are for the penalised coefficients, which the same ridge would give without noise, not for those of "
    "least squares."
)
BRACKETS: Final = (
    "In brackets: the release does not bound these coefficients, so the number means little; read their sets instead."
)
SCORE: Final = (
    "Column 't' is coef / std err. P>|t| and the sets come from the score statistic (score_z), whose variance is the "
    "one under the hypothesis."
)
SCORE_PAGE: Final = (
    "p and the confidence sets come from the score statistic, whose variance is the one under the hypothesis, not from "
    "estimate / std. error."
)
ROBUST: Final = (
    "Standard errors are robust (HC1): errors may have unequal variances. They come from residuals clipped at "
    "{bound:.4g}; where many are larger, the standard errors are too small."
)
CLUSTERED: Final = (
    "Standard errors are clustered by {id!r} (with the factor of HC1): errors of one person may depend on each other "
    "and have unequal variances. They come from residuals clipped at {bound:.4g}; where many are larger, the standard "
    "errors are too small."
)
GAUSSIAN_ROWS: Final = (
    "The interval of R^2 assumes Gaussian rows; with skewed or heavy-tailed columns it is too narrow."
)
RATIO_SPREAD: Final = (
    "The interval of R^2 counts the spread of squared residuals that the release holds, if it is larger than that of "
    "Gaussian rows."
)
AS_RELEASED: Final = (
    "The model was fitted before the release and published with noise; the release holds this one model and no sums, "
    "so no other can be read from it."
)
THIS_TABLE: Final = (
    "Column 'privacy sd': standard deviation of the noise that was added to the coefficient. The 95% intervals 'this "
    "table' are for the coefficients that the mechanism would have published for this table without noise, its "
    "penalty included; they count no sampling error and are not intervals for a population."
)
_WIDTH: Final = 88


def notes(fit: Fit) -> list[str]:
    """Say what a reader of the coefficients must know about the rows behind them and about the penalty."""
    out = [*filter(None, [clipping_note(fit.release, fit.model)]), *radius_notes(fit)]
    out += filter(None, [piled_up(fit.release, fit.model)])
    if fit.release.kind == "coefficients":
        out += [AS_RELEASED, *filter(None, (not_converged(fit.release), noise_dominates(fit.release)))]
    if fit.penalised and (fit.ridge > 0 or fit.l1_ratio is not None or fit.penalty == "lasso"):
        out.append(PENALISED)
    if fit.repair > 0:
        out.append(REPAIRED.format(shift=fit.repair))
    if fit.is_robust:
        words = CLUSTERED if has_clusters(fit.release) else ROBUST
        out.append(words.format(id=fit.release.design.unit.id, bound=residual_bound(fit.release)))
        out += filter(None, [clipped_residuals(fit)])
    out += filter(None, [independent_rows(fit)])
    if fit.estimable and not isinstance(fit.rsquared_conf_int(), NotEstimable):
        out.append(RATIO_SPREAD if has_ratio_spread(fit) else f"{GAUSSIAN_ROWS}{_wider_rsquared(fit)}")
    return out + error_notes(fit)


def _wider_rsquared(fit: Fit) -> str:
    """How to get an interval of R^2 without that assumption, where there is a way."""
    release = fit.release
    if release.guarantee is not None and release.guarantee.delta == 0:
        return ""
    if release.residuals is not None and release.residuals.ratio is not None:
        return " A robust fit of the full model widens it."
    return ' A release made with moments "robust" (--robust) has a wider one.'


def radius_notes(fit: Fit) -> list[str]:
    """Say what a declared radius did to the released rows and does to new ones; nothing without one."""
    design = fit.release.design
    if design.radius is None:
        return []
    return [f"{SHRUNK} {SHRUNK_TOO if has_all_regressors(design, fit.features) else NOT_SHRUNK}"]


def row_count(fit: Fit) -> str:
    """Give the number of rows as far as it is known.

    A noisy count is shown to whole rows, never as if it were exact.
    """
    if isinstance(fit.nobs, NotEstimable):
        return "not released"
    count = f"{round(fit.nobs):,}"
    if fit.nobs_sd > 0:
        return f"about {count} (noisy count, standard deviation {fit.nobs_sd:.3g})"
    return count if fit.release.units_public is None else f"{count} (public)"


def penalty_line(fit: Fit) -> str:
    """Name the penalty and its ridge; for a model fitted inside, the values of its automatic settings."""
    if fit.release.kind == "coefficients":
        automatic = [f"{name} {value}" for name, value in automatic_settings(fit.release).items()]
        return ", ".join([f"as the mechanism {fit.release.mechanism!r} fitted it, before the release", *automatic])
    if not fit.penalised:
        return "none (ordinary least squares)"
    strength = "" if fit.strength is None else f", strength {fit.strength:g}"
    chosen = " (by criterion)" if fit.selected else ""
    ratio = "" if fit.l1_ratio is None else f", l1_ratio {fit.l1_ratio:g}"
    return f"{fit.penalty}{strength}{chosen}{ratio}, ridge {fit.ridge:.6g} on the scaled columns"


def summary_text(fit: Fit) -> str:
    """Write the table that `Fit.summary` gives."""
    guarantee = fit.release.guarantee
    lines = [
        "Linear regression from a release" + ("" if guarantee is not None else " -- NOT PRIVATE"),
        f"Rows:     {row_count(fit)}",
        f"Target:   {fit.target}",
        *textwrap.wrap(f"Penalty:  {penalty_line(fit)}", _WIDTH, subsequent_indent=" " * 10),
        "-" * _WIDTH,
        *_aligned([headers(fit), *cells(fit)]),
        "-" * _WIDTH,
    ]
    promise = "NOT PRIVATE: this release carries no privacy guarantee." if guarantee is None else guarantee.sentence()
    for paragraph in (*_fit_lines(fit), promise, *notes(fit)):
        lines += textwrap.wrap(paragraph, _WIDTH)
    return "\n".join(lines) + "\n"


def error_notes(fit: Fit) -> list[str]:
    """Say what the standard errors hold, which coefficients have none and why, and whose intervals they are."""
    shares = {name: share for name, share in fit.privacy_share.items() if not isinstance(share, NotEstimable)}
    sets = fit.conf_int()
    # a set without an end is not made narrower by less noise in any proportion
    intervals = [share for name, share in shares.items() if not _unbounded(sets[name])]
    out = []
    if intervals and any(fit.release.noise.sigma.values()):
        worst = max(intervals)
        narrower = f" Without it, that interval would be {(1 - worst) ** 0.5:.3g} times as wide." if worst < 1 else ""
        out.append(f"{PRIVACY_PART} (up to {worst:.0%}).{narrower}")
    out += set_notes(fit)
    what = "Not estimable"
    if known_before(fit.release.noise):
        out.append(THIS_TABLE)
        what = "Standard errors and tests are not estimable"
    without = {name: ends.reason for name, ends in sets.items() if isinstance(ends, NotEstimable)}
    out += _by_reason(what, without)
    if shares and fit.penalised:
        out.append(PENALISED_INTERVALS)
    return out


def _unbounded(ends: Interval) -> bool:
    return isinstance(ends, NotEstimable) or not ends.bounded


def set_notes(fit: Fit, level: float = DEFAULT_LEVEL) -> list[str]:
    """Say where p-values and confidence sets come from, what brackets mean and why sets are unbounded."""
    sets = {name: ends for name, ends in fit.conf_int(level).items() if not isinstance(ends, NotEstimable)}
    weak = {name: ends for name, ends in sets.items() if not ends.bounded}
    out = [SCORE] if len(weak) < len(sets) or (sets and fit.estimable) else []
    if weak and fit.estimable:
        out.append(BRACKETS)
    why = reasons(fit, level)
    for words, whole in (("Any value is possible", True), ("The set is unbounded", False)):
        names = [name for name, ends in weak.items() if (ends.kind == "everything") == whole]
        out += _by_reason(words, {name: why[name] for name in names})
    return out


def _by_reason(words: str, why: Mapping[str, str]) -> list[str]:
    """One sentence for each reason, with the names that it is for."""
    return [
        f"{words} ({', '.join(name for name, own in why.items() if own == reason)}): {reason}."
        for reason in dict.fromkeys(why.values())
    ]


def _fit_lines(fit: Fit) -> list[str]:
    adjusted, ends, s2 = fit.rsquared_adj, fit.rsquared_conf_int(), fit.s2
    shown = shown_rsquared(adjusted, ends)
    if not isinstance(ends, NotEstimable):
        shown += f" (95% interval {ends[0]:.3g} to {ends[1]:.3g})"
    spread = "not estimable" if isinstance(s2, NotEstimable) else f"{s2**0.5:.4g}"
    if isinstance(adjusted, NotEstimable):
        shown += f": {adjusted.reason}"
    return [f"Adjusted R^2: {shown}. Residual standard deviation: {spread}."]


def shown_rsquared(value: Number, ends: Interval) -> str:
    """Give an R^2 to four digits, or in brackets and to two where the release excludes no value of it."""
    if isinstance(value, NotEstimable):
        return "not estimable"
    return f"[{value:.2g}]" if not isinstance(ends, NotEstimable) and ends.reason else f"{value:.4g}"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join([f"{row[0]:<{widths[0]}}", *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows]
