"""What a reader of coefficients must know, in sentences: summary, terminal and page print them from here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from discreet.analyst.diagnostics.clips import (
    clipped_target,
    clipping_note,
    found_note,
    range_note,
    target_clipping_note,
    unsettled_bounds,
)
from discreet.analyst.diagnostics.convergence import noise_dominates, not_converged
from discreet.analyst.diagnostics.error_notes import SCORE_PAGE, error_notes, set_notes
from discreet.analyst.diagnostics.piles import piled_up, predicts_a_bound
from discreet.analyst.diagnostics.residuals import clipped_residuals, independent_rows
from discreet.analyst.equations.selection import has_all_regressors
from discreet.analyst.inference.robust import has_clusters, has_ratio_spread, residual_bound
from discreet.analyst.solvers.penalties import MIDDLE
from discreet.analyst.values.not_estimable import known
from discreet.design.parts import SAMPLING
from discreet.releases import Release
from discreet.releases.reference_law import DEFAULT_LEVEL

if TYPE_CHECKING:
    from discreet.analyst.fitted import Fit

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
