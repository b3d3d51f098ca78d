"""Write the notes below a table of coefficients."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from discreet.analyst.bound_costs import (
    clipped_target,
    clipping_note,
    found_note,
    piled_up,
    predicts_a_bound,
    range_note,
    target_clipping_note,
    unsettled_bounds,
)
from discreet.analyst.confidence_sets import REMEDY, known_values, missing_values
from discreet.analyst.diagnostics import clipped_residuals, independent_rows, noise_dominates, not_converged
from discreet.analyst.equations.model_columns import has_all_regressors
from discreet.analyst.inference.contrasts import known_before
from discreet.analyst.inference.robust import has_clusters, has_ratio_spread, residual_bound
from discreet.analyst.solvers.penalised import MIDDLE
from discreet.analyst.values import bounded, unbounded
from discreet.design.design import SAMPLING
from discreet.releases.reference_law import DEFAULT_LEVEL, NotEstimable, known
from discreet.releases.release import Release

if TYPE_CHECKING:
    from discreet.analyst.fitted import Fit
    from discreet.analyst.inferred import InferenceMixin

# -- error notes -------------------------------------------------------------------------------------------------------
# Sentences about standard errors and confidence sets: what they hold, and why a coefficient has none.

PRIVACY_PART: Final = "Column 'privacy': share of the variance due to privacy noise"
PENALISED_INTERVALS: Final = (
    "The intervals are for the penalised coefficients, which the same ridge would give without noise, not for those of "
    "least squares."
)
BRACKETS: Final = (
    "In brackets: the release does not bound these coefficients, so the number means little and has no standard error; "
    "read their sets instead."
)
SELECTION: Final = (
    "Intervals beside unbounded sets are a selection: they cover the true value in fewer than {percent:g}% of "
    "releases, and in far fewer where releases like this one rarely give an interval."
)
NOTHING_BOUNDED: Final = (
    f"The release bounds none of the coefficients. For predictions use discreet.fit(release, penalty={REMEDY!r}) "
    f"(--penalty {REMEDY})."
)
SCORE: Final = (
    "Column 't' is coef / std err. Column 'p' and the confidence sets come from the score test (score_z), which uses "
    "the variance under the hypothesis, so p need not match t."
)
PRIVACY_ONLY: Final = "The residual variance could not be estimated, so the standard errors include privacy noise only."
SCORE_PAGE: Final = (
    "p and the confidence sets come from the score test, which uses the variance under the hypothesis, not from "
    "estimate / std. error."
)
THIS_TABLE: Final = (
    "Column 'privacy sd': standard deviation of the noise that was added to the coefficient. The {percent:g}% "
    "intervals 'this table' are for the coefficients that the mechanism would have published for this table without "
    "noise, its penalty included; they include no sampling error and are not intervals for a population."
)


def error_notes(fit: Fit, level: float = DEFAULT_LEVEL) -> list[str]:
    """Say what the standard errors hold, which coefficients have none and why, and whose intervals they are."""
    shares = known_values(fit.privacy_share)
    sets = fit.conf_int(level)
    # a set without an end is not made narrower by less noise in any proportion
    intervals = {name: share for name, share in shares.items() if bounded(sets[name])}
    out = []
    if intervals and any(fit.release.noise.sigma.values()):
        noisiest, worst = max(intervals.items(), key=itemgetter(1))
        factor = (1 - worst) ** 0.5
        narrower = f" Without that noise, the standard error of {noisiest} would be {factor:.3g} times as large."
        out.append(f"{PRIVACY_PART} (largest for {noisiest}: {worst:.0%}).{narrower if worst < 1 else ''}")
    out += set_notes(fit, level)
    what = "Not estimable"
    if known_before(fit.release.noise):
        out.append(THIS_TABLE.format(percent=100 * level))
        what = "Standard errors and tests are not estimable"
    out += _by_reason(what, {name: why.reason for name, why in missing_values(sets).items()})
    if shares and fit.penalised:
        out.append(PENALISED_INTERVALS)
    return out


def set_notes(fit: Fit, level: float = DEFAULT_LEVEL, score: str = SCORE) -> list[str]:
    """Say where p-values and confidence sets come from, what brackets mean and why sets are unbounded."""
    sets = known_values(fit.conf_int(level))
    weak = {name: ends for name, ends in sets.items() if not ends.bounded}
    out = [score] if len(weak) < len(sets) or (sets and fit.estimable) else []
    if without_sampling(fit):
        out.append(PRIVACY_ONLY)
    if weak and fit.estimable:
        out.append(BRACKETS)
    if 0 < len(weak) < len(sets):
        out.append(SELECTION.format(percent=100 * level))
    if weak and len(weak) == len(sets) and fit.estimable and not fit.penalised:
        out.append(NOTHING_BOUNDED)
    why = reasons(fit, level)
    for words, whole in (("Any value is possible", True), ("The set is unbounded", False)):
        names = [name for name, ends in weak.items() if (ends.kind == "everything") == whole]
        out += _by_reason(words, {name: why[name] for name in names})
    return out


def without_sampling(fit: Fit) -> bool:
    """Whether the standard errors leave out sampling, because the noise hides the residual variance."""
    parts = known_values(fit.sampling_sd)
    return bool(parts) and isinstance(fit.s2, NotEstimable) and not any(parts.values())


def _by_reason(words: str, why: Mapping[str, str]) -> list[str]:
    """One sentence for each reason, with the names that it is for."""
    return [
        f"{words} ({', '.join(name for name, own in why.items() if own == reason)}): {reason}."
        for reason in dict.fromkeys(why.values())
    ]


def reasons(fit: InferenceMixin, level: float = DEFAULT_LEVEL) -> dict[str, str]:
    """Why a coefficient has no interval, by name, for those whose set is unbounded or that have none."""
    sets = fit.conf_int(level).items()
    why = {name: ends.reason or "" for name, ends in sets if not bounded(ends)}
    more = fit._rows_needed(tuple(name for name, ends in sets if unbounded(ends)), level)
    return {name: f"{reason}; {more[name]}" if name in more else reason for name, reason in why.items()}


# -- notes -------------------------------------------------------------------------------------------------------------
# What a reader of coefficients must know, in sentences: summary, terminal and page print them from here.

SHRUNK: Final = "Rows outside the declared radius were shrunk to it, so the coefficients describe the shrunk rows."
SHRUNK_TOO: Final = "Predictions shrink new rows in the same way."
NOT_SHRUNK: Final = (
    "This model does not have all columns that the radius applies to, so its predictions do not shrink new rows."
)
WEIGHTED: Final = (
    "Rows were scaled by released centres and scales, and rows longer than the released radius have less weight: the "
    "coefficients are those of weighted least squares. Where the mean of the target is linear in the features and "
    "hardly any row has its target clipped, they are the model's own. Where the mean is curved, the weights decide "
    "which line is fitted, here and in every model with another target or fewer features from this release. "
    "Predictions have no weights."
)
IN_THE_MIDDLE: Final = (
    f"Predictions clip each number at {MIDDLE:g} released scales from its centre, because rows further away had little "
    "weight, and are cut to the bounds of the target."
)
INVERSE_VARIANCE_WEIGHTS: Final = (
    "Plain standard errors are right where the variance of an error is one over its weight, up to a factor; they are "
    "wrong for weights of a sample, which a design declares as such."
)
SAMPLING_WEIGHTS: Final = (
    "They are those of a sample, so only robust standard errors are given; rows count as drawn one by one, without "
    "strata."
)
PENALISED: Final = (
    "Penalised coefficients: shrunk towards 0 on purpose, for prediction; they do not estimate those of least squares."
)
REPAIRED: Final = (
    "Repaired: the noise left the sums of products too close to indefinite, so {shift:.6g} was added to their "
    "diagonal; fewer features, more rows or a larger epsilon would avoid that."
)
ROBUST: Final = (
    "Standard errors are robust ({kind}): errors may have unequal variances. They come from residuals{times} "
    "clipped at {bound:.4g}; where many are larger, the standard errors are too small."
)
CLUSTERED: Final = (
    "Standard errors are clustered by {id!r} (with the factor {factor}): errors of one person may depend on each "
    "other and have unequal variances. They come from residuals{times} clipped at {bound:.4g}; where many are larger, "
    "the standard errors are too small."
)
GAUSSIAN_ROWS: Final = (
    "The interval of R^2 assumes Gaussian rows; with skewed or heavy-tailed columns it is too narrow."
)
RATIO_SPREAD: Final = (
    "The interval of R^2 uses the spread of squared residuals that the release holds, if it is larger than that of "
    "Gaussian rows."
)
BELOW_0: Final = "The interval is for the population R^2, which is at least 0."
AS_RELEASED: Final = (
    "The model was fitted before the release and published with noise; the release holds this one model and no sums, "
    "so no other can be read from it."
)


def notes(fit: Fit, level: float = DEFAULT_LEVEL) -> list[str]:
    """Say all that a reader of the coefficients must know: about the rows, the penalty and the errors."""
    return [*model_notes(fit, level), *error_notes(fit, level)]


def page_notes(fit: Fit, level: float) -> list[str]:
    """Say the same on a page, whose table says itself what the errors hold and has no column 't'."""
    return [*(set_notes(fit, level, SCORE_PAGE) if fit.estimable else ()), *model_notes(fit, level)]


def model_notes(fit: Fit, level: float = DEFAULT_LEVEL) -> list[str]:
    """Say what a reader of the coefficients must know about the rows behind them and about the penalty."""
    release, model = fit.release, fit.model
    found = [clipping_note(release, model), found_note(release, model), unsettled_bounds(release, model)]
    found += radius_notes(fit)
    if fit.fitted_inside:
        found += [
            range_note(release),
            predicts_a_bound(release),
            AS_RELEASED,
            not_converged(release),
            noise_dominates(release),
        ]
    else:
        if release.scaling is None:
            found.append(piled_up(release, model))
        else:
            found += [WEIGHTED, target_clipping_note(release, model), clipped_target(release, model)]
        found.append(_weights_note(release))
    if fit.penalised and (fit.ridge > 0 or fit.l1_ratio is not None or fit.penalty in ("lasso", "bayes")):
        found.append(PENALISED)
    if release.scaling is not None and fit.penalty == "bayes":
        found.append(IN_THE_MIDDLE)
    if fit.repair > 0:
        found.append(REPAIRED.format(shift=fit.repair))
    if fit.is_robust:
        words = CLUSTERED if has_clusters(release) else ROBUST
        facts = {"kind": fit.cov_type, "id": release.design.unit.id, "bound": residual_bound(fit)}
        facts["factor"] = "n / (n - k)" if release.units_public is None else "G / (G - 1) (n - 1) / (n - k)"
        facts["times"] = "" if release.design.weights is None else ", each times its weight over the largest one,"
        found += [words.format(**facts), clipped_residuals(fit)]
    found += [independent_rows(fit), *_rsquared_notes(fit, level)]
    return [note for note in found if note is not None]


def _weights_note(release: Release) -> str | None:
    """Say what weights the rows have, and for which weights the errors are right; nothing without weights."""
    design = release.design
    if design.weights is None:
        return None
    errors = SAMPLING_WEIGHTS if design.weights_are == SAMPLING else INVERSE_VARIANCE_WEIGHTS
    return f"Weighted least squares with the weights {design.weights}. {errors}"


def _rsquared_notes(fit: Fit, level: float) -> list[str]:
    """Say what the interval of R^2 assumes, unless it excludes nothing, and why the estimate may be outside of it."""
    ends = known(fit.rsquared_conf_int(level)) if fit.estimable else None
    if ends is None:
        return []
    out = []
    if (ends.lower, ends.upper) != (0.0, 1.0):
        out.append(RATIO_SPREAD if has_ratio_spread(fit) else f"{GAUSSIAN_ROWS}{_wider_rsquared(fit)}")
    adjusted = known(fit.rsquared_adj)
    if adjusted is not None and adjusted < ends.lower:
        out.append(BELOW_0)
    return out


def _wider_rsquared(fit: Fit) -> str:
    """How to get an interval of R^2 without that assumption, where there is a way."""
    release = fit.release
    if release.guarantee is not None and release.guarantee.delta == 0:
        return ""
    if release.residuals is not None and release.residuals.ratio is not None:
        return " A robust fit of the full model widens it."
    return ' A release made with moments "robust" (--robust) gives a wider one.'


def radius_notes(fit: Fit) -> list[str]:
    """Say what a declared radius did to the released rows and does to new ones; nothing without one."""
    design = fit.release.design
    if design.radius is None:
        return []
    return [f"{SHRUNK} {SHRUNK_TOO if has_all_regressors(design, fit.features) else NOT_SHRUNK}"]
