"""A fit in plain text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from discreet.analyst.coefficient_noise import known_before
from discreet.analyst.coefficient_table import cells, headers, reasons
from discreet.analyst.estimates import NotEstimable
from discreet.analyst.piles import piled_up
from discreet.analyst.released_model import drowned, still_moving
from discreet.analyst.residual_meat import (
    clipped_residuals,
    has_clusters,
    has_ratio_spread,
    independent_rows,
    residual_bound,
)
from discreet.analyst.settings_used import automatic_settings

if TYPE_CHECKING:
    from discreet.analyst.fitted import Fit

CLIPPED: Final = "Values outside the declared bounds were clipped, so the coefficients describe the clipped rows."
SHRUNK: Final = (
    "Rows outside the declared radius were shrunk to it, so the coefficients describe the shrunk rows; "
    "predictions take rows as they are."
)
PENALISED: Final = (
    "Penalised coefficients: pulled towards 0 on purpose, for prediction; they do not estimate those of least squares."
)
REPAIRED: Final = (
    "Repaired: the noise left the sums of products too close to indefinite, so {shift:.6g} was added to their "
    "diagonal; take fewer features, more rows or a larger epsilon to do without."
)
PRIVACY_PART: Final = (
    "Column 'privacy': share of the squared standard error that the noise of the release adds to that of sampling; "
    "at most"
)
PENALISED_INTERVALS: Final = (
    "The intervals are for the penalised coefficients, which the same ridge would give without noise, not for those of "
    "least squares."
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
    "The interval of R^2 assumes Gaussian rows; with skewed or heavy-tailed columns it is too narrow. A robust fit "
    "widens it."
)
RATIO_SPREAD: Final = (
    "The interval of R^2 counts the spread of squared residuals that the release holds, if it is larger than that of "
    "Gaussian rows."
)
AS_RELEASED: Final = (
    "The model was fitted inside and published with noise; the release holds this one model and no sums, so no other "
    "can be read from it."
)
THIS_TABLE: Final = (
    "Column 'privacy sd': standard deviation of the noise that was added to the coefficient. The 95 % intervals 'this "
    "table' are for the coefficients that the mechanism would have published of this very table without noise, its "
    "penalty included; they count no sampling error and are no intervals for a population."
)
_WIDTH: Final = 88


def notes(fit: Fit) -> list[str]:
    """Say what a reader of the coefficients must know about the rows behind them and about the penalty."""
    out = [CLIPPED] if fit.release.design.radius is None else [CLIPPED, SHRUNK]
    out += filter(None, [piled_up(fit.release, fit.model)])
    if fit.release.kind == "coefficients":
        out += [AS_RELEASED, *filter(None, (still_moving(fit.release), drowned(fit.release)))]
    if fit.penalised and (fit.ridge > 0 or fit.l1_ratio is not None or fit.penalty == "lasso"):
        out.append(PENALISED)
    if fit.repair > 0:
        out.append(REPAIRED.format(shift=fit.repair))
    if fit.is_robust:
        words = CLUSTERED if has_clusters(fit.release) else ROBUST
        out.append(words.format(id=fit.release.design.unit.id, bound=residual_bound(fit.release)))
        out += filter(None, [clipped_residuals(fit)])
    out += filter(None, [independent_rows(fit)])
    if not isinstance(fit.rsquared_conf_int(), NotEstimable):
        out.append(RATIO_SPREAD if has_ratio_spread(fit) else GAUSSIAN_ROWS)
    return out + error_notes(fit)


def row_count(fit: Fit) -> str:
    """Give the number of rows as far as it may be told.

    A noisy count is shown to whole rows, never as if it were exact.
    """
    if isinstance(fit.nobs, NotEstimable):
        return "not released"
    count = f"{round(fit.nobs):,}"
    if fit.nobs_sd > 0:
        return f"about {count} (noisy count)"
    return count if fit.release.units_public is None else f"{count} (public)"


def penalty_line(fit: Fit) -> str:
    """Name the penalty and the ridge it came to; for a model fitted inside, what its automatic settings came to."""
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
        f"Target:   {fit.target}",
        f"Rows:     {row_count(fit)}",
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
    shares = [share for share in fit.privacy_share.values() if not isinstance(share, NotEstimable)]
    out = []
    if shares and any(fit.release.noise.sigma.values()):
        worst = max(shares)
        narrower = f"; without it that interval would be {(1 - worst) ** 0.5:.3g} times as wide" if worst < 1 else ""
        out.append(f"{PRIVACY_PART} {worst:.0%} here{narrower}.")
    what = "Not estimable"
    if known_before(fit.release.noise):
        out.append(THIS_TABLE)
        what = "Standard errors and tests are not estimable"
    by_reason: dict[str, list[str]] = {}
    for name, reason in reasons(fit).items():
        by_reason.setdefault(reason, []).append(name)
    out += [f"{what} ({', '.join(names)}): {reason}." for reason, names in by_reason.items()]
    if shares and fit.penalised:
        out.append(PENALISED_INTERVALS)
    return out


def _fit_lines(fit: Fit) -> list[str]:
    adjusted, ends, s2 = fit.rsquared_adj, fit.rsquared_conf_int(), fit.s2
    shown = "not estimable" if isinstance(adjusted, NotEstimable) else f"{adjusted:.4g}"
    if not isinstance(ends, NotEstimable):
        shown += f" (95 % interval {ends[0]:.3g} to {ends[1]:.3g})"
    spread = "not estimable" if isinstance(s2, NotEstimable) else f"{s2**0.5:.4g}"
    return [f"Adjusted R^2: {shown}. Residual standard deviation: {spread}."]


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join([f"{row[0]:<{widths[0]}}", *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows]
