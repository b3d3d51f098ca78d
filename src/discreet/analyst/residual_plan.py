"""Plan the second pass of robust standard errors: its coefficients, and where residuals are clipped."""

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
# residual standard deviations within the bound; household wealth with a kurtosis of 200 keeps 96% of its squares
_DEVIATIONS: Final = 20.0
# residual variances within the bound of the sum for the interval of R^2; noise grows with its square
_VARIANCES: Final = 50.0
_NOISE: Final = 2.0  # standard deviations of noise by which the residual variance may be too small


@dataclass(frozen=True, slots=True)
class ResidualPlan:
    """Parameters of the second pass, all declared or read from the noisy moments of the first.

    Attributes
    ----------
    coefficients
            Scaled coefficients of (1, x) of the full model, or of (1, features) of an additional one.
    bound
            Where residuals are clipped, in scaled units of the target.
    ratio, mean
            Residual variance over that of the target, from 0 to 1, and mean of the scaled target.
    ratio_bound
            Where residual^2 - ratio (target - mean)^2 is clipped, in squared scaled units of the target.
    """

    coefficients: tuple[float, ...]
    bound: float
    ratio: float
    mean: float
    ratio_bound: float


def residual_plan(release: Release, bound: float | None = None, columns: Sequence[int] | None = None) -> ResidualPlan:
    """Compute the parameters of the second pass from the noisy moments of a design with an intercept.

    The coefficients are those of least squares, or of the adaptive ridge if noise leaves no least squares. The bound is
    twenty residual standard deviations, with an allowance for noise, and at most the width of the target's bounds,
    which is also used if there is no least squares. A declared `bound`, in scaled units, applies to the target of the
    design only. `columns` are the released columns of an additional model, its target last; the full model is the
    default.
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
    # of weighted rows both are in units of a and t, which have the radius and the target's bound as their units
    radius, unit = (1.0, 1.0) if release.scaling is None else (release.scaling.radius, release.scaling.target_bound)
    return ResidualPlan(
        coefficients=tuple((radius * model.scaled_coefficients).tolist()),
        bound=widest if bound is None else min(bound / unit, _WIDEST_DECLARED),
        ratio=ratio,
        mean=min(1.0, max(-1.0, total / count)) if count > 0 else 0.0,
        ratio_bound=max(_SMALLEST_BOUND**2, min(WIDEST_BOUND, _VARIANCES * variance)),
    )


def _spread(full: Fit) -> tuple[float, float]:
    """Return the residual variance with an allowance for noise, and its ratio to that of the target, or infinity and 1.

    The order of arguments of `min` and `max` puts a NaN on the safe side, here and above.
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
