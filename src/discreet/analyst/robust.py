"""Robust standard errors: at which released numbers a second pass takes residuals, and where it clips them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from discreet.analyst.estimates import NotEstimable
from discreet.analyst.fitted import Fit
from discreet.analyst.inference import ScoreInference
from discreet.analyst.model import fit
from discreet.analyst.rsquared import variance_ratio
from discreet.analyst.solve import NotEstimableError
from discreet.releases import Release

# a line within the target's bounds leaves no larger residual, in scaled units
WIDEST_BOUND: Final = 2.0
_SMALLEST_BOUND: Final = 1e-3
# residual standard deviations up to the bound; household wealth with a kurtosis of 39 keeps 98% of its squares
_DEVIATIONS: Final = 10.0
_NOISE: Final = 2.0  # standard deviations of the noise that the residual variance may have lost to it


@dataclass(frozen=True, slots=True)
class ResidualPlan:
    """What the second pass is taken at; every number is declared or read off the noisy moments of the first.

    Attributes
    ----------
    coefficients
        Scaled coefficients of (1, x) of the declared full model.
    bound
        Where residuals are clipped, in scaled units of the target.
    ratio, mean
        Residual variance over that of the target, from 0 to 1, and mean of the scaled target.
    """

    coefficients: tuple[float, ...]
    bound: float
    ratio: float
    mean: float

    @property
    def ratio_bound(self) -> float:
        """Where residual^2 - ratio (target - mean)^2 is clipped: half the square of the bound of residuals."""
        return self.bound**2 / 2


def residual_plan(release: Release, bound: float | None = None) -> ResidualPlan:
    """Read off the noisy moments what the second pass needs.

    Coefficients are those of least squares, or of the adaptive ridge where the noise leaves no least squares. The bound
    is ten residual standard deviations, with what the noise may hide of them, and at most the width of the target's
    bounds, which is also taken where there is no least squares.

    Parameters
    ----------
    release
        With noisy moments of a design with an intercept.
    bound
        Declared bound in scaled units of the target, if one was.
    """
    try:
        full = fit(release, intercept=True)
        widest, ratio = _spread(full)
    except NotEstimableError:
        full = fit(release, intercept=True, penalty="adaptive")
        widest, ratio = WIDEST_BOUND, 1.0
    count, total = float(release.moments[0, 0]), float(release.moments[0, -1])
    return ResidualPlan(
        coefficients=tuple(full.scaled_coefficients.tolist()),
        bound=widest if bound is None else bound,
        ratio=ratio,
        mean=min(1.0, max(-1.0, total / count)) if count > 0 else 0.0,
    )


def _spread(full: Fit) -> tuple[float, float]:
    """Bound of residuals, and residual variance over that of the target; the widest and 1 where noise hides them."""
    known = full._known
    if isinstance(known, NotEstimable):
        return WIDEST_BOUND, 1.0
    basis, score = known
    variances = variance_ratio(score, basis.equations)
    # the order of arguments lets a NaN fall on the safe side
    ratio = min(1.0, max(0.0, variances.residual / variances.total)) if variances.total > 0 else 1.0
    return _bound(score), ratio


def _bound(score: ScoreInference) -> float:
    hidden = _NOISE * math.sqrt(score.residual_noise) / score.residual_rows
    return max(_SMALLEST_BOUND, min(WIDEST_BOUND, _DEVIATIONS * math.sqrt(max(0.0, score.s2) + hidden)))
