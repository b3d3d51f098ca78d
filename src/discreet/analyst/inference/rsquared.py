"""R^2, adjusted R^2 and standardised coefficients, with intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from discreet.analyst.confidence_sets import ConfidenceSet
from discreet.analyst.equations.noise import product_covariance, square_covariance
from discreet.analyst.equations.normal import NormalEquations
from discreet.analyst.inference.score import ScoreInference
from discreet.analyst.solvers.least_squares import total_sum
from discreet.analyst.values import NamedValues, Number
from discreet.errors import SpecError
from discreet.exact.arrays import FloatArray
from discreet.releases.reference_distribution import NotEstimable
from discreet.releases.release import Release

# -- rsquared ----------------------------------------------------------------------------------------------------------
# R^2, adjusted R^2 and an interval.
#
# Let RSS' = RSS / (n - k) and TSS' = TSS / (n - 1), each corrected for the part of the noise that the fit follows. Then
# R^2 = 1 - rho, where rho is the ratio of their means. RSS' - rho TSS' has mean 0 and a variance that is quadratic in
# rho. The interval for rho is the set where its square is at most z^2 times that variance [Fieller 1954]. In a model
# without intercept TSS is the sum of squares around 0, divided by n.
#
# The variance has two parts. Gaussian rows give 2 s^4 / (n - k) for RSS', 2 TSS'^2 / (n - 1) for TSS' and
# 2 s^4 / (n - 1) for their covariance. The release noise F enters RSS in two ways: to first order as t'F t with
# t = (-theta, 1), and at the minimum as a quadratic form in the score, with variance 2 tr((H V)^2) + 4 s^2 tr(H V). TSS
# is the residual sum of the intercept-only model, so the same holds for it.
#
# Rows that are not Gaussian have other fourth moments, and the first part can be far too small. A robust release holds
# a noisy sum S of squares of r_i^2 - rho (y_i - mean)^2, with rho computed from its moments. This gives the sampling
# variance of RSS' - rho TSS': S / ((n - k)(n - 1)). If it is larger, the difference is added to the variance of RSS'.
#
# If TSS' is within its noise the set is unbounded. Its part between 0 and 1, often all of [0, 1], is then returned.
# Returning nothing would select the draws in which noise increased TSS', and their intervals are often too low.

OUTSIDE: Final = "because of the noise, the whole set is outside 0 to 1"
NO_VARIANCE: Final = "the noise outweighs the variance of the target at this budget"


@dataclass(frozen=True, eq=False)
class VarianceRatio:
    """Noise-corrected RSS / (n - k) and TSS / (n - 1) of a fit, and the covariance of their errors."""

    residual: float  # RSS' of the scaled target
    total: float  # TSS' of the scaled target
    residual_rows: float  # divisor of RSS
    total_rows: float  # divisor of TSS
    covariance: FloatArray  # of (RSS', TSS'), shape (2, 2)
    privacy: FloatArray  # the part of `covariance` due to privacy noise, shape (2, 2)


def variance_ratio(
    inference: ScoreInference, equations: NormalEquations, ratio_square: tuple[float, float] | None = None
) -> VarianceRatio:
    """Compute the noise-corrected variances RSS' and TSS' of an unpenalised fit with more rows than coefficients.

    `ratio_square` holds rho and the noisy sum S of a robust release. If omitted, rows are assumed to be Gaussian.
    """
    noise = inference.entry_noise
    size = len(noise.sd)
    n = equations.nobs
    around = np.zeros(size)
    around[-1] = 1.0
    followed = 0.0
    if equations.intercept:
        around[0] = -float(equations.b[0]) / float(equations.A[0, 0])
        followed = float(product_covariance(noise, around)[0, 0] / equations.A[0, 0])
    else:
        around[0] = float(equations.shift[-1])
    total_rows = n - 1 if equations.intercept else n
    rows = np.array([inference.residual_rows, total_rows])
    total = (total_sum(equations) + followed) / total_rows
    s2 = max(inference.s2, 0.0)
    sampling = 2 / total_rows * np.array([[s2**2 * total_rows / inference.residual_rows, s2**2], [s2**2, total**2]])
    if ratio_square is not None:
        rho, square = ratio_square
        gaussian = sampling[0, 0] - 2 * rho * sampling[0, 1] + rho**2 * sampling[1, 1]
        sampling[0, 0] += max(square / float(rows.prod()) - gaussian, 0.0)
    both = square_covariance(noise, inference.contrast, around)
    swelled = square_covariance(noise, around, around) + 2 * followed**2 + 4 * abs(total) * followed
    privacy: FloatArray = np.array([[inference.residual_noise, both], [both, swelled]]) / np.outer(rows, rows)
    return VarianceRatio(
        residual=inference.s2,
        total=total,
        residual_rows=inference.residual_rows,
        total_rows=total_rows,
        covariance=sampling + privacy,
        privacy=privacy,
    )


def rsquared(ratio: VarianceRatio, z: float, *, adjusted: bool) -> Number:
    """Compute R^2 = 1 - RSS/TSS, or adjusted R^2. Noise may make the result negative."""
    if not (ratio.total > 0 and ratio.total**2 > z**2 * float(ratio.privacy[1, 1])):
        return NotEstimable(NO_VARIANCE)
    if ratio.residual <= 0 and ratio.privacy.any():
        return NotEstimable("the noise leaves no residual variance above 0 at this budget")
    factor = 1.0 if adjusted else ratio.residual_rows / ratio.total_rows
    return 1 - factor * ratio.residual / ratio.total


def rsquared_interval(ratio: VarianceRatio, z: float) -> ConfidenceSet:
    """Compute an interval for the population R^2, which is [0, 1] if the release excludes no value."""
    (rr, rt), (_, tt) = ratio.covariance.tolist()
    lead = ratio.total**2 - z**2 * tt
    middle = ratio.residual * ratio.total - z**2 * rt
    square = middle**2 - lead * (ratio.residual**2 - z**2 * rr)
    if lead > 0:
        # the estimate lies in the set, so only rounding can make the square negative
        root = math.sqrt(max(square, 0.0))
        pieces = [((middle - root) / lead, (middle + root) / lead)]
    elif lead < 0 and square > 0:
        root = math.sqrt(square)
        pieces = [(-math.inf, (middle + root) / lead), ((middle - root) / lead, math.inf)]
    else:
        return from_0_to_1(NO_VARIANCE)
    inside = [(max(low, 0.0), min(high, 1.0)) for low, high in pieces if low <= 1 and high >= 0]
    if not inside:
        return from_0_to_1(OUTSIDE)
    return ConfidenceSet("interval", 1 - max(high for _, high in inside), 1 - min(low for low, _ in inside))


def from_0_to_1(reason: str) -> ConfidenceSet:
    """Return [0, 1] as the interval for R^2, with the reason."""
    return ConfidenceSet("interval", 0.0, 1.0, reason)


# -- standardised ------------------------------------------------------------------------------------------------------
# Standardised slopes: slopes for columns divided by their standard deviations.
#
# If y = a + sum_j b_j x_j + e, the regression of y / sd(y) on x_j / sd(x_j) has the slopes b_j sd(x_j) / sd(y), all
# read from the release. The standard deviations are noisy too, so multiplying an interval of b_j by the ratio would not
# give a valid interval of the standardised slope. No interval is returned.

NO_SPREADS: Final = NotEstimable(
    "standardised slopes need the standard deviations of the columns, which this release does not have; make a release "
    "with the mechanism 'gaussian' and without weights"
)


def standardised_slopes(release: Release, target: str, slopes: NamedValues[Number]) -> NamedValues[Number]:
    """Return each slope in standard deviations of the target per standard deviation of its column."""
    try:
        spread = release.describe().sd
    except SpecError:
        return NamedValues[Number].constant(list(slopes), NO_SPREADS)

    def standardised(slope: Number, own: Number, scale: Number) -> Number:
        if isinstance(slope, NotEstimable):
            return slope
        if isinstance(own, NotEstimable):
            return own
        return scale if isinstance(scale, NotEstimable) else slope * own / scale

    names = list(slopes)
    return NamedValues(names, [standardised(slopes[name], spread[name], spread[target]) for name in names])
