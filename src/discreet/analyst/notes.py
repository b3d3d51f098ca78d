"""Notes below a table of coefficients."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from discreet.analyst.advice import advice
from discreet.analyst.bound_costs import (
    bunching_text,
    clipping_note,
    predicts_a_bound,
    private_bounds_note,
    range_note,
    unsettled_bounds,
)
from discreet.analyst.confidence_sets import MORE, known_values, missing_values
from discreet.analyst.diagnostics import clipped_residuals, independent_rows, noise_dominates, not_converged
from discreet.analyst.inference.clipped_scores import clipped_scores_note, distant_rows, long_tail
from discreet.analyst.inference.contrasts import noise_known_beforehand
from discreet.analyst.inference.robust import has_clusters, has_ratio_spread, residual_bound
from discreet.analyst.values import bounded, unbounded
from discreet.design.design import SAMPLING
from discreet.design.model_columns import has_all_regressors
from discreet.number_text import percent
from discreet.releases.reference_distribution import DEFAULT_LEVEL, NotEstimable, known
from discreet.releases.release import Release
from discreet.wording import Message, Option

if TYPE_CHECKING:
    from discreet.analyst.fitted import Fit
    from discreet.analyst.inferred import InferenceMixin

# -- error notes -------------------------------------------------------------------------------------------------------
# Notes on standard errors and confidence sets.

PRIVACY_PART: Final = "Column 'privacy': fraction of the variance that is privacy noise"
PENALISED_INTERVALS: Final = (
    "The intervals are for the penalised coefficients, which the same ridge would give without noise, not for the "
    "least-squares coefficients."
)
BRACKETS: Final = (
    "Estimates in brackets are unreliable and have no standard error: their confidence sets are unbounded."
)
SELECTION: Final = (
    "Some confidence sets are unbounded. The bounded sets cover the true value in fewer than {level} of releases, and "
    "in far fewer if releases like this one rarely give an interval."
)
SCORE: Final = (
    "Column 't' is coef / std err. p-values and confidence sets come from a score test (score_z) and may not match t "
    "exactly."
)
PRIVACY_ONLY: Final = "The residual variance could not be estimated, so the standard errors include privacy noise only."
SCORE_PAGE: Final = (
    "p-values and confidence sets come from a score test and may not match estimate / std. error exactly."
)
THIS_TABLE: Final = (
    "Column 'privacy sd': standard deviation of the noise that was added to the coefficient. The {level} "
    "intervals 'this table' are for the coefficients that the mechanism would have published for this table without "
    "noise, with the same penalty. They include no sampling error and are not intervals for a population."
)


def error_notes(fit: Fit, level: float = DEFAULT_LEVEL) -> list[str]:
    """Return notes on standard errors, on coefficients without them, and on the meaning of the intervals."""
    shares = known_values(fit.privacy_share)
    sets = fit.conf_int(level)
    # without noise, only a bounded set becomes narrower by a known factor
    intervals = {name: share for name, share in shares.items() if bounded(sets[name])}
    out = []
    if intervals and any(fit.release.noise.sigma.values()):
        noisiest, worst = max(intervals.items(), key=itemgetter(1))
        factor = (1 - worst) ** -0.5 if worst < 1 else 1.0
        narrower = f" Without privacy noise the standard error of {noisiest} would be {factor:.3g} times smaller."
        out.append(f"{PRIVACY_PART} (largest for {noisiest}: {worst:.0%}).{narrower if f'{factor:.3g}' != '1' else ''}")
    out += set_notes(fit, level)
    what = "Not estimable"
    if noise_known_beforehand(fit.release.noise):
        out.append(THIS_TABLE.format(level=percent(level)))
        what = "Standard errors and tests are not estimable"
    out += _by_reason(what, {name: why.reason for name, why in missing_values(sets).items()})
    if shares and fit.penalised:
        out.append(PENALISED_INTERVALS)
    return out


def set_notes(fit: Fit, level: float = DEFAULT_LEVEL, score: str = SCORE) -> list[str]:
    """Return notes on the score test, the brackets and unbounded sets."""
    sets = known_values(fit.conf_int(level))
    weak = {name: ends for name, ends in sets.items() if not ends.bounded}
    out = [score] if len(weak) < len(sets) or (sets and fit.estimable) else []
    if without_sampling(fit):
        out.append(PRIVACY_ONLY)
    if weak and fit.estimable:
        out.append(BRACKETS)
    if 0 < len(weak) < len(sets):
        out.append(SELECTION.format(level=percent(level)))
    why = reasons(fit, level)
    for words, whole in (("No value can be ruled out", True), ("The confidence set is unbounded", False)):
        names = [name for name, ends in weak.items() if (ends.kind == "everything") == whole]
        out += _by_reason(words, {name: why[name] for name in names})
    return out


def without_sampling(fit: Fit) -> bool:
    """Return whether the standard errors exclude sampling error because the residual variance is not estimable."""
    parts = known_values(fit.sampling_sd)
    return bool(parts) and isinstance(fit.s2, NotEstimable) and not any(parts.values())


def _by_reason(words: str, why: Mapping[str, str]) -> list[str]:
    """Return one sentence for each reason, with the names it applies to."""
    return [
        Message(f"{words} ({', '.join(name for name, own in why.items() if own == reason)}): ", reason, ".")
        for reason in dict.fromkeys(why.values())
    ]


def reasons(fit: InferenceMixin, level: float = DEFAULT_LEVEL) -> dict[str, str]:
    """Return the reason for each coefficient that has no bounded interval."""
    sets = fit.conf_int(level).items()
    why = {name: ends.reason or "" for name, ends in sets if not bounded(ends)}
    more = fit._rows_needed(tuple(name for name, ends in sets if unbounded(ends)), level)
    return {name: Message(reason, "; ", more[name]) if name in more else reason for name, reason in why.items()}


# -- notes -------------------------------------------------------------------------------------------------------------
# Notes on the model, printed by the summary, the command line and the report.

SHRUNK: Final = "Rows outside the declared radius were shrunk to it, so the coefficients describe the shrunk rows."
SHRUNK_TOO: Final = "Predictions shrink new rows in the same way."
NOT_SHRUNK: Final = (
    "This model does not have all columns that the radius applies to, so its predictions do not shrink new rows."
)
INVERSE_VARIANCE_WEIGHTS: Final = (
    "Plain standard errors assume that the error variance of a row is proportional to 1 / weight. They are wrong for "
    "sampling weights, which the design must declare as such."
)
SAMPLING_WEIGHTS: Final = (
    "They are sampling weights, so only robust standard errors are available. These assume independent draws without "
    "strata."
)
PENALISED: Final = (
    "The coefficients are shrunk towards 0 for better predictions; they do not estimate the least-squares coefficients."
)
REPAIRED: Final = (
    "Repaired: noise left the sums of products nearly indefinite, so {shift:.6g} was added to their diagonal. To avoid "
    f"this, {MORE}."
)
ROBUST: Final = (
    "Standard errors are robust ({kind}) to unequal variances. They come from residuals{times} clipped at {bound:.4g}; "
    "if many residuals are larger, the standard errors are too small."
)
CLUSTERED: Final = (
    "Standard errors are clustered by {id!r} (with the factor {factor}): errors of one individual may be correlated "
    "and have unequal variances. They come from residuals{times} clipped at {bound:.4g}; if many residuals are larger, "
    "the standard errors are too small."
)
ROBUST_SCORES: Final = (
    "Standard errors are robust ({kind}) to unequal variances. They come from the products of the scores of the pilot "
    "line; what columns that the model leaves out add to the residuals is treated as equally variable in all rows."
)
GAUSSIAN_ROWS: Final = (
    "The interval for R^2 assumes Gaussian rows; with skewed or heavy-tailed columns it is too narrow."
)
RATIO_SPREAD: Final = (
    "The interval for R^2 uses the released spread of squared residuals if it is larger than for Gaussian rows."
)
BELOW_0: Final = "The interval is for the population R^2, which is at least 0."
AS_RELEASED: Final = (
    "The mechanism fitted this model and published its noisy coefficients. The release contains no sums, so no other "
    "model can be fitted from it."
)


def notes(fit: Fit, level: float = DEFAULT_LEVEL) -> list[str]:
    """Return all notes below the table of coefficients."""
    return [*model_notes(fit, level), *error_notes(fit, level)]


def page_notes(fit: Fit, level: float) -> list[str]:
    """Return the notes of the report. Its table has no column 't' and explains its own columns."""
    return [*(set_notes(fit, level, SCORE_PAGE) if fit.estimable else ()), *model_notes(fit, level)]


def model_notes(fit: Fit, level: float = DEFAULT_LEVEL) -> list[str]:
    """Return notes on how rows were processed, on the penalty and on the type of standard errors."""
    release, model = fit.release, fit.model
    out = [
        advice(fit, level),
        clipping_note(release, model),
        private_bounds_note(release, model),
        unsettled_bounds(release, model),
    ]
    out += radius_notes(fit)
    if fit.fitted_inside:
        out += [
            range_note(release),
            predicts_a_bound(release),
            AS_RELEASED,
            not_converged(release),
            noise_dominates(release),
        ]
    else:
        out += [clipped_scores_note(fit), long_tail(release), distant_rows(release)]
        out.append(bunching_text(release, model))
        out.append(_weights_note(release))
    if fit.penalised and (fit.ridge > 0 or fit.l1_ratio is not None or fit.penalty in ("lasso", "bayes")):
        out.append(PENALISED)
    if fit.repair > 0:
        out.append(REPAIRED.format(shift=fit.repair))
    if fit.is_robust:
        template = CLUSTERED if has_clusters(release) else ROBUST if release.staged is None else ROBUST_SCORES
        facts = {"kind": fit.cov_type, "id": release.design.unit.id, "bound": residual_bound(fit)}
        facts["factor"] = "n / (n - k)" if release.units_public is None else "G / (G - 1) (n - 1) / (n - k)"
        facts["times"] = "" if release.design.weights is None else ", multiplied by weight / largest weight and"
        out += [template.format(**facts), clipped_residuals(fit)]
    out += [independent_rows(fit), *_rsquared_notes(fit, level)]
    return [note for note in out if note is not None]


def _weights_note(release: Release) -> str | None:
    """Return a note on the declared weights, or None without weights."""
    design = release.design
    if design.weights is None:
        return None
    errors = SAMPLING_WEIGHTS if design.weights_are == SAMPLING else INVERSE_VARIANCE_WEIGHTS
    return f"Weighted least squares with weights {design.weights}. {errors}"


def _rsquared_notes(fit: Fit, level: float) -> list[str]:
    """Return notes on the assumptions of the interval for R^2, unless it excludes nothing."""
    ends = known(fit.rsquared_conf_int(level)) if fit.estimable else None
    if ends is None:
        return []
    out = []
    if (ends.lower, ends.upper) != (0.0, 1.0):
        out.append(RATIO_SPREAD if has_ratio_spread(fit) else Message(GAUSSIAN_ROWS, _wider_rsquared(fit)))
    adjusted = known(fit.rsquared_adj)
    if adjusted is not None and adjusted < ends.lower:
        out.append(BELOW_0)
    return out


def _wider_rsquared(fit: Fit) -> str:
    """Return a sentence on how to get an R^2 interval without the assumption of Gaussian rows, or empty text."""
    release = fit.release
    if release.guarantee is not None and release.guarantee.delta == 0:
        return ""
    if release.residuals is not None and release.residuals.ratio is not None:
        return " A robust fit of the full model gives a wider interval."
    return Message(
        " A release with ", Option("mechanism", "gaussian"), " and ", Option("robust", True), " gives a wider interval."
    )


def radius_notes(fit: Fit) -> list[str]:
    """Return a note on the declared radius, or nothing without one."""
    design = fit.release.design
    if design.radius is None:
        return []
    return [f"{SHRUNK} {SHRUNK_TOO if has_all_regressors(design, fit.features) else NOT_SHRUNK}"]
