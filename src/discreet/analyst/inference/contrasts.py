"""Estimates, standard errors and confidence sets of linear combinations of coefficients."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, get_args

import numpy as np

from discreet.accounting.noise_distribution import NoiseDistribution
from discreet.analyst.confidence_sets import ConfidenceSet, mapped
from discreet.analyst.equations.noise import seeded_stream, standard_normals
from discreet.analyst.equations.normal import Units
from discreet.analyst.inference.nuisance import Nuisance, level_given, nuisances, reference_tail
from discreet.analyst.inference.score import ContrastTerms, ScoreInference, contrast_terms, fieller_sets
from discreet.analyst.values import Interval, NamedValues, Number, Value
from discreet.errors import OptionError
from discreet.exact.arrays import FloatArray, one_blas_thread
from discreet.releases.reference_distribution import Family, NotEstimable, critical_value, tail_probability

# -- contrasts ---------------------------------------------------------------------------------------------------------
# Combinations of coefficients in original units, with their standard errors, score statistics and confidence sets.

TOO_WIDE: Final = NotEstimable("the number is too large for double precision; rescale the declared columns")
NOTHING_VARIES: Final = NotEstimable("the residuals are 0 and the release has no noise, so nothing varies")
UNBOUNDED: Final = "the release is too noisy to rule out any value"


def in_double(value: float) -> Number:
    """Return the number if it is finite, and `TOO_WIDE` otherwise."""
    return value if math.isfinite(value) else TOO_WIDE


@dataclass(frozen=True, eq=False)
class Contrasts:
    """The m linear combinations l'theta of the k scaled coefficients, reported in original units."""

    names: tuple[str, ...]
    estimates: FloatArray  # shape (m,)
    L: FloatArray  # weights on the scaled coefficients, divided by `scale`, shape (m, k)
    scale: FloatArray  # largest weight of each combination, so that nothing is squared in original units, shape (m,)
    inference: ScoreInference
    family: Family  # reference distribution

    @cached_property
    def terms(self) -> ContrastTerms:
        """Variances of the score statistic of each combination, in units of `scale`."""
        return contrast_terms(self.inference, self.L)

    @cached_property
    def nuisances(self) -> tuple[Nuisance, ...]:
        """For each combination, the coefficients that its test leaves free."""
        # many small matrices one after another
        with one_blas_thread():
            return nuisances(self.inference, self.L)

    @cached_property
    def _kappas(self) -> tuple[float, ...]:
        return tuple(nuisance.kappa for nuisance in self.nuisances)

    def critical(self, level: float) -> float:
        """Return the critical value of an interval for one combination alone."""
        return critical_value(level, self.family, self.inference.df)

    def covariance(self) -> FloatArray:
        """Return the sandwich covariance in units of `scale`, shape (m, m)."""
        out: FloatArray = self.L @ self.inference.covariance @ self.L.T
        if self.inference.middle is None:
            return out
        sd = np.sqrt(np.maximum(out.diagonal(), 0.0))
        ratio = np.divide(np.sqrt(self.terms.q0), sd, out=np.zeros_like(sd), where=sd > 0)
        out *= np.outer(ratio, ratio)
        return out

    def standard_errors(self) -> NamedValues[Number]:
        """Return the square roots of the sandwich variances."""
        return self._each(np.sqrt(self.terms.q0) * self.scale)

    def sampling_sd(self) -> NamedValues[Number]:
        """Return the standard deviation of each estimate's sampling error."""
        return self._each(np.sqrt(self.terms.sampling) * self.scale)

    def privacy_sd(self) -> NamedValues[Number]:
        """Return the standard deviation of each estimate's privacy noise."""
        return self._each(np.sqrt(self.terms.privacy) * self.scale)

    def privacy_share(self) -> NamedValues[Number]:
        """Return the fraction of each variance that is privacy noise, from 0 to 1."""
        total = self.terms.q0
        return self._each(np.divide(self.terms.privacy, total, out=np.zeros_like(total), where=total > 0))

    def ratios(self, values: FloatArray) -> NamedValues[Number]:
        """Return (estimate - value) / standard error for each combination."""
        sd = np.sqrt(self.terms.q0)
        distance = (self.estimates - values) / self.scale
        return self._each(np.divide(distance, sd, out=np.zeros_like(sd), where=sd > 0))

    def statistics(self, values: FloatArray) -> NamedValues[Number]:
        """Return the score statistic for each hypothesised value, with the sign of estimate - value."""
        return self._each(self._scores(values))

    def _scores(self, values: FloatArray) -> FloatArray:
        u = (values - self.estimates) / self.scale
        variance = self.terms.at(u)
        values_of = zip(self.nuisances, u.tolist(), variance.tolist(), strict=True)
        squares = [
            nuisance.statistic(distance, spread) if distance and spread > 0 else 0.0
            for nuisance, distance, spread in values_of
        ]
        return -np.sign(u) * np.sqrt(squares)

    def tail_probabilities(self, values: FloatArray) -> NamedValues[Number]:
        """Return two-sided p-values of the score statistics, adjusted for the coefficients left free."""
        plain = [tail_probability(t, self.family, self.inference.df) for t in self._scores(values).tolist()]
        return self._each(np.array([reference_tail(p, kappa, 1) for p, kappa in zip(plain, self._kappas, strict=True)]))

    def intervals(self, z: float) -> NamedValues[Interval]:
        """Return confidence sets at the critical value `z`.

        Each set contains the values whose p-value is at least the two-sided tail probability of z.
        """
        alpha = tail_probability(z, self.family, self.inference.df)
        sets = fieller_sets(*self._widened(alpha)).moved(self.estimates, self.scale)
        varies = (self.terms.q0 > 0).tolist()
        out = [sets.at(index, UNBOUNDED) if varying else NOTHING_VARIES for index, varying in enumerate(varies)]
        return NamedValues(self.names, out)

    def _widened(self, alpha: float) -> tuple[ContrastTerms, FloatArray]:
        """Return the variance terms, widened for the free coefficients, and the critical value of each combination."""
        terms = self.terms
        z = np.array([self.critical(1 - level_given(alpha, kappa, 1)) for kappa in self._kappas])
        with np.errstate(over="ignore", invalid="ignore"):
            rows = np.array([nuisance.widened(c) for nuisance, c in zip(self.nuisances, z**2, strict=True)]).reshape(
                -1, 3
            )
        q0, q1, q2 = rows.T
        return ContrastTerms(terms.sampling, terms.privacy + q0, terms.q1 + q1, terms.q2 + q2), z

    def _each(self, values: FloatArray) -> NamedValues[Number]:
        pairs = zip(values.tolist(), (self.terms.q0 > 0).tolist(), strict=True)
        return NamedValues(self.names, [value if varies else NOTHING_VARIES for value, varies in pairs])


def read_each(
    about: Contrasts | NotEstimable,
    names: Sequence[str],
    read: Callable[[Contrasts], NamedValues[Value]],
    without: Callable[[NotEstimable], Value],
) -> NamedValues[Value]:
    """Apply `read` to the combinations, or return the result of `without` for every name if they are not estimable."""
    return NamedValues[Value].constant(names, without(about)) if isinstance(about, NotEstimable) else read(about)


def contrasts(
    inference: ScoreInference, names: Sequence[str], L: FloatArray, estimates: FloatArray, family: Family
) -> Contrasts | NotEstimable:
    """Build linear combinations in original units from their weights `L` on the scaled coefficients, shape (m, k)."""
    largest = np.abs(L).max(axis=1, initial=0.0)
    if not np.isfinite(largest).all():
        return TOO_WIDE
    scale = np.where(largest > 0, largest, 1.0)
    return Contrasts(tuple(names), estimates, L / scale[:, None], scale, inference, family)


def unit_map(units: Units) -> FloatArray:
    """Return the (k, k) derivative of the coefficients in original units with respect to the scaled coefficients.

    The slope of column j is theta_j half_y / half_j. The slope of a category's indicator also subtracts the shift of
    each of its interactions. The intercept is half_y theta_0 minus the sum of slopes times midpoints.
    """
    *_, half_y = units.half.tolist()
    # ratios of declared scales may overflow double precision; callers check for this
    with np.errstate(over="ignore"):
        slopes = half_y / units.half[:-1]
        first = int(units.intercept)
        out = np.diag(np.append(half_y, slopes) if first else slopes)
        if first:
            out[0, 1:] = -slopes * units.mid[:-1]
        for column, indicator, times in units.taken:
            out[first + indicator, first + column] -= slopes[column] * times
    return out


# -- simultaneous ------------------------------------------------------------------------------------------------------
# Critical values of simultaneous intervals.

Simultaneous = Literal["bonferroni", "max-t"]
WAYS: Final[tuple[Simultaneous, ...]] = get_args(Simultaneous)
_DRAWS: Final = 9_999  # makes level * (draws + 1) an integer for levels with up to four decimals


def checked_way(way: object) -> Simultaneous | None:
    """Return the name of the simultaneous method, or None for separate intervals. Raise if it is unknown."""
    for name in WAYS:
        if isinstance(way, str) and name == way:
            return name
    if way is None:
        return None
    raise OptionError.unknown_name("method", way, WAYS, " of simultaneous intervals", option="simultaneous")


def simultaneous_value(about: Contrasts, level: float, way: Simultaneous, digest: str) -> float:
    """Return the critical value at which all intervals hold simultaneously with probability `level`.

    `bonferroni` divides the error probability evenly. `max-t` is the quantile of the largest standardised error under
    the sandwich correlations, capped at Bonferroni's value. Correlations do not determine the joint distribution of
    pure-epsilon noise, so with such noise both methods use Bonferroni's value. `digest` seeds the simulation.
    """
    count = len(about.names)
    bonferroni = about.critical(1 - (1 - level) / count)
    rank = math.ceil(round(level * (_DRAWS + 1), 6))
    if rank > _DRAWS or not _drawn(about, way):
        return bonferroni
    return min(float(_largest(about, digest)[rank - 1]), bonferroni)


def simultaneous_tails(
    about: Contrasts, pvalues: NamedValues[Number], way: Simultaneous, digest: str
) -> NamedValues[Number]:
    """Return simultaneous p-values: the smallest 1 - level at which the simultaneous sets exclude the tested value."""
    largest = _largest(about, digest) if _drawn(about, way) else None

    def together(p: float) -> float:
        bonferroni = min(1.0, len(about.names) * p)
        if largest is None or p <= 0:
            return bonferroni
        beyond = _DRAWS - int(np.searchsorted(largest, about.critical(1 - p)))
        return min((beyond + 1) / (_DRAWS + 1), bonferroni)

    return NamedValues(tuple(pvalues), [mapped(p, together) for p in pvalues.values()])


def _drawn(about: Contrasts, way: Simultaneous) -> bool:
    """Return whether the critical value is simulated rather than Bonferroni's."""
    return way == "max-t" and len(about.names) > 1 and about.family != "laplace"


def _largest(about: Contrasts, digest: str) -> FloatArray:
    """Simulate the maximum of the standardised errors, and return the sorted draws, shape (draws,)."""
    from scipy.special import chdtri

    stream = seeded_stream("max-t", digest)
    normals = standard_normals(stream, _DRAWS, len(about.names)) @ _root(about).T
    # all statistics share one residual variance: divide by the root of an independent chi-square over its df
    df = about.inference.df
    share = chdtri(df, (np.arange(_DRAWS) + 0.5) / _DRAWS) / df
    order = np.argsort(stream.random_raw(_DRAWS), kind="stable")
    return np.sort(np.abs(normals).max(axis=1) / np.sqrt(share[order]))


def _root(about: Contrasts) -> FloatArray:
    """Return a square root of the correlation matrix, shape (m, m).

    Combinations with variance 0 are treated as independent of the others.
    """
    covariance = about.L @ about.inference.covariance @ about.L.T
    sd = np.sqrt(np.maximum(covariance.diagonal(), 0.0))
    sd[sd == 0] = 1.0
    values, axes = np.linalg.eigh(covariance / np.outer(sd, sd))
    root: FloatArray = axes * np.sqrt(np.maximum(values, 0.0))
    return root


# -- coefficient noise -------------------------------------------------------------------------------------------------
# Noise added to coefficients: its size, and intervals for the coefficients without noise.
#
# If the only noise block is `coefficients`, the release holds q + noise. Here q are the coefficients that the mechanism
# computed from the table, in units of the product grid, and the noise is independent and discrete Gaussian. Its
# distribution is public and does not depend on the table. A coefficient in original units is a combination
# w'(q + noise) plus a constant, so its noise has standard deviation sigma |w|.
#
# The interval extends z sigma |w| plus one grid unit, |w|_1, to either side, with z the normal quantile. A discrete
# Gaussian X and a normal Y with the same sigma can be coupled such that |X - Y| <= 1: P(X >= m) <= P(Y >= m - 1) for
# m >= 1 [Canonne, Kamath & Steinke 2020], and P(Y >= m) <= c P(X >= m), because exp(-t^2 / 2 sigma^2) decreases, with
# c - 1 < 6e-9 for sigma >= 1. So w'X differs from w'Y by at most |w|_1. The interval therefore covers w'q with at least
# its nominal probability, minus at most 1e-8 for each number in w, or 1e-33 if sigma >= 2.


def noise_known_beforehand(distribution: NoiseDistribution) -> bool:
    """Return whether all noise was added to the published coefficients, with a distribution independent of the data."""
    return set(distribution.sigma) == {"coefficients"} and distribution.family == "discrete-gaussian"


def noise_sds(distribution: NoiseDistribution, units: Units) -> list[Number]:
    """Return the noise standard deviation of each coefficient in original units."""
    sds = [distribution.sd("coefficients") * math.hypot(*row) for row in _weights(units)]
    return [sd if math.isfinite(sd) else TOO_WIDE for sd in sds]


def table_intervals(
    distribution: NoiseDistribution, units: Units, names: Sequence[str], estimates: Sequence[float], level: float
) -> NamedValues[Interval]:
    """Return intervals for the coefficients that the same table would give without noise."""
    from scipy.special import ndtri

    # the lower tail keeps its digits where the upper end would round to 1
    z = -float(ndtri((1 - level) / 2))
    step = 4**-distribution.grid_bits if distribution.sigma["coefficients"] else 0.0
    out: list[Interval] = []
    for estimate, row in zip(estimates, _weights(units), strict=True):
        half_width = z * distribution.sd("coefficients") * math.hypot(*row) + step * sum(map(abs, row))
        low, high = estimate - half_width, estimate + half_width
        finite = math.isfinite(low) and math.isfinite(high)
        out.append(ConfidenceSet("interval", low, high) if finite else TOO_WIDE)
    return NamedValues(names, out)


def _weights(units: Units) -> list[list[float]]:
    """Return the matrix that maps scaled coefficients to original units. Its entries may overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        weights: list[list[float]] = unit_map(units).tolist()
    return weights
