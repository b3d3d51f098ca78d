r"""Log-likelihood, AIC and BIC of a line, corrected for the noise of the release.

With n rows, k coefficients and the residual sum RSS a Gaussian line has at its maximum

    llf = -n/2 (log(2 pi RSS / n) + 1),     aic = -2 llf + 2 k,     bic = -2 llf + k log n.

These formulas fail on noisy sums. The noisy residual sum RSS~ is too small on average: least squares follows the noise
of the sums as it follows the errors of the rows, the former by tr(H V), with H the inverse of the Gram and V the
covariance of the noise in the score (see `inference.score`). So a feature that says nothing lowers RSS~ by (s^2 + v)
times a chi-square variable with one degree of freedom, where s^2 is the residual variance and v = tr(H V) of the larger
model less that of the smaller one, and not by s^2 times it. A penalty of 2 or log n for each coefficient is then too
small: as the noise grows nearly every feature is let in.

`llf` is therefore the log-likelihood at RSS~ + tr(H V), which estimates the one without noise. It uses the same
residual sum as the residual variance s^2 = (RSS~ + tr(H V)) / (n - k). `aic` and `bic` count each coefficient as often
as it follows noise of either kind,

    -2 llf + c (k + r) - r,    r = tr(H V) / s^2,    c = 2 for AIC and log n for BIC.

The r that is taken off is what the larger residual sum has added to -2 llf already: n log(1 + tr(H V) / RSS~) is close
to r. So the criterion is -2 llf~ + c (k + r) to first order, with llf~ the log-likelihood at RSS~, and a feature that
says nothing is let in if (s^2 + v) chi^2 > c (s^2 + v): as often as AIC and BIC let it in without noise, in 15.7% of
releases for c = 2. The number k + r = tr(H Omega) / s^2 is that of Takeuchi's criterion [Takeuchi 1976], with
Omega = s^2 A + V the covariance of the score; for c = 2 the criterion is an estimate of the expected error for new
responses as in `solvers.criterion`, there in units of the target and here as a likelihood. Without noise r is 0, and
all three are statsmodels' numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from discreet.analyst.values.estimates import Number
from discreet.analyst.values.not_estimable import NotEstimable, mapped

NO_SUM: Final = NotEstimable(
    "the residual sum is not above 0, and a likelihood needs its logarithm; where there is noise it outweighs the "
    "residuals: use fewer features, more rows or a larger epsilon"
)


@dataclass(frozen=True, slots=True)
class Likelihood:
    """What the likelihood of a line is computed from.

    Attributes
    ----------
    residual
        RSS~ of the noisy sums, for the scaled target.
    followed
        tr(H V): how far it falls short on average because the line follows the noise; 0 without noise.
    rows
        Number of rows, noisy or public, above `coefficients`.
    coefficients
        How many, the intercept included.
    half
        What one unit of the scaled target is worth.
    """

    residual: float
    followed: float
    rows: float
    coefficients: int
    half: float

    @property
    def llf(self) -> Number:
        """Log-likelihood at its maximum, at the residual sum corrected for what the line follows of the noise."""
        residual = self.residual + self.followed
        if not residual > 0:
            return NO_SUM
        # logarithms are added, because a square in original units may leave double precision
        variance = math.log(2 * math.pi) + math.log(residual) - math.log(self.rows) + 2 * math.log(self.half)
        return -self.rows / 2 * (variance + 1)

    @property
    def noise_coefficients(self) -> float:
        """Number of coefficients' worth of noise that the line follows, r = tr(H V) / s^2; 0 without noise."""
        return self.followed * (self.rows - self.coefficients) / (self.residual + self.followed)

    def criterion(self, price: float) -> Number:
        """-2 llf + price (k + r) - r; the price is 2 for AIC and log n for BIC."""
        return mapped(
            self.llf, lambda llf: -2 * llf + price * self.coefficients + (price - 1) * self.noise_coefficients
        )
