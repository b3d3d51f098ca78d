"""Parameters of the second pass for robust standard errors: coefficients and clipping bounds of residuals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from discreet.analyst.equations.normal import normal_equations
from discreet.analyst.fitted import Fit
from discreet.analyst.inference.rsquared import variance_ratio
from discreet.analyst.inference.score import score_inference
from discreet.analyst.model import fit
from discreet.design.domain import full_columns, model_names
from discreet.releases.reference_distribution import NotEstimable
from discreet.releases.release import Release

# largest residual, in scaled units, of a line within the bounds of the target
WIDEST_BOUND: Final = 2.0
_SMALLEST_BOUND: Final = 1e-3
_WIDEST_DECLARED: Final = 4.0
# bound in residual standard deviations; household wealth with a kurtosis of 200 keeps 96% of its squares
_DEVIATIONS: Final = 20.0
# bound of the sum for the interval of R^2 in residual variances; its noise grows with the square of this bound
_VARIANCES: Final = 50.0
_NOISE: Final = 2.0  # allowance for noise in the residual variance, in standard deviations


@dataclass(frozen=True, slots=True)
class ResidualPlan:
    """Parameters of the second pass, all declared or computed from the noisy moments of the first pass."""

    coefficients: tuple[float, ...]  # scaled, of (1, x) of the full model or of (1, features) of an additional one
    bound: float  # residuals are clipped here, in scaled units of the target
    ratio: float  # residual variance divided by the variance of the target, from 0 to 1
    mean: float  # of the scaled target
    ratio_bound: float  # residual^2 - ratio (target - mean)^2 is clipped here, in squared scaled units of the target


def residual_plan(release: Release, bound: float | None = None, columns: Sequence[int] | None = None) -> ResidualPlan:
    """Compute the parameters of the second pass from the noisy moments of a design with an intercept.

    The coefficients come from least squares, or from the adaptive ridge if the noisy sums are not positive definite.
    The bound is twenty residual standard deviations, with an allowance for noise, and at most the width of the target's
    bounds. The width is also used with the adaptive ridge. A declared `bound`, in scaled units, applies only to the
    target of the design. `columns` are the released columns of an additional model, with its target last. The default
    is the full model.
    """
    target, features = model_names(release.design, full_columns(release.design) if columns is None else columns)
    model = fit(release, target=target, features=features, intercept=True)
    variance, ratio = _spread(model)
    if not model.estimable:
        model = fit(release, target=target, features=features, intercept=True, penalty="adaptive")
        variance, ratio = math.inf, 1.0
    bound = bound if target == release.design.target else None
    count, total = float(release.moments[0, 0]), float(release.moments[0, -1])
    widest = max(_SMALLEST_BOUND, min(WIDEST_BOUND, _DEVIATIONS * math.sqrt(variance)))
    return ResidualPlan(
        coefficients=tuple(model.scaled_coefficients.tolist()),
        bound=widest if bound is None else min(bound, _WIDEST_DECLARED),
        ratio=ratio,
        mean=min(1.0, max(-1.0, total / count)) if count > 0 else 0.0,
        ratio_bound=max(_SMALLEST_BOUND**2, min(WIDEST_BOUND, _VARIANCES * variance)),
    )


def _spread(full: Fit) -> tuple[float, float]:
    """Return the residual variance with an allowance for noise, and its ratio to the variance of the target.

    Return infinity and 1 if they cannot be estimated. The order of arguments of `min` and `max` puts a NaN on the safe
    side, here and in `residual_plan`.
    """
    known = full._known
    if full.release.weighted and full.estimable:
        equations = normal_equations(full.release, full.model)
        exact = tuple(map(Fraction, full.scaled_coefficients.tolist()))
        score = score_inference(equations, exact, np.zeros(len(exact)))
        if not score.residual_rows > 0:
            return math.inf, 1.0
        return max(0.0, score.s2) + _NOISE * math.sqrt(score.residual_noise) / max(score.residual_rows, 1.0), 1.0
    if isinstance(known, NotEstimable):
        return math.inf, 1.0
    basis, score = known
    hidden = _NOISE * math.sqrt(score.residual_noise) / score.residual_rows
    variances = variance_ratio(score, basis.equations)
    ratio = min(1.0, max(0.0, variances.residual / variances.total)) if variances.total > 0 else 1.0
    return max(0.0, score.s2) + hidden, ratio
