"""Compute estimates, standard errors and sets of linear combinations of coefficients."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, get_args

import numpy as np

from discreet.accounting.noise_distribution import NoiseLaw
from discreet.analyst.confidence_sets import ConfidenceSet, mapped
from discreet.analyst.equations.noise import seeded_stream, standard_normals
from discreet.analyst.equations.normal import Units
from discreet.analyst.inference.nuisance import Nuisance, level_given, nuisances, reference_tail
from discreet.analyst.inference.score import ContrastTerms, ScoreInference, contrast_terms, fieller_sets
from discreet.analyst.values import ByName, Interval, Number, Value
from discreet.errors import SpecError
from discreet.exact.arrays import FloatArray, one_blas_thread
from discreet.releases.reference_law import Family, NotEstimable, critical_value, tail_probability

# -- contrasts ---------------------------------------------------------------------------------------------------------
# Combinations of coefficients in original units with all that may be said of each.

TOO_WIDE: Final = NotEstimable("the number is too large for double precision; rescale the declared columns")
NOTHING_VARIES: Final = NotEstimable("the residuals are 0 and the release holds no noise, so nothing varies")
UNBOUNDED: Final = "the noise of the release outweighs the signal at this budget"


def in_double(value: float) -> Number:
    """Give a number, or why there is none where it has left double precision."""
    return value if math.isfinite(value) else TOO_WIDE


@dataclass(frozen=True, eq=False)
class Contrasts:
    """Combinations l'theta of the scaled coefficients, m of them, in original units.

    Attributes
    ----------
    names
        Of the combinations.
    estimates
        Shape (m,).
    L
        Their weights on the scaled coefficients over `scale`, shape (m, k).
    scale
        Largest weight of each, so that no square is taken in original units, shape (m,).
    inference
        Of the scaled coefficients.
    family
        Law of the noise.
    """

    names: tuple[str, ...]
    estimates: FloatArray
    L: FloatArray
    scale: FloatArray
    inference: ScoreInference
    family: Family

    @cached_property
    def terms(self) -> ContrastTerms:
        """Variances of the score statistic of each, in units of `scale`."""
        return contrast_terms(self.inference, self.L)

    @cached_property
    def beside(self) -> tuple[Nuisance, ...]:
        """What is open about the other coefficients, for each combination."""
        # many small matrices, one after another
        with one_blas_thread():
            return nuisances(self.inference, self.L)

    @cached_property
    def _kappas(self) -> tuple[float, ...]:
        return tuple(one.kappa for one in self.beside)

    def critical(self, level: float) -> float:
        """Critical value of one interval."""
        return critical_value(level, self.family, self.inference.df)

    def covariance(self) -> FloatArray:
        """Sandwich covariance in units of `scale`, shape (m, m); its diagonal holds the squared standard errors."""
        out: FloatArray = self.L @ self.inference.covariance @ self.L.T
        if self.inference.middle is None:
            return out
        sd = np.sqrt(np.maximum(out.diagonal(), 0.0))
        ratio = np.divide(np.sqrt(self.terms.q0), sd, out=np.zeros_like(sd), where=sd > 0)
        out *= np.outer(ratio, ratio)
        return out

    def standard_errors(self) -> ByName[Number]:
        """Square roots of the sandwich variances."""
        return self._each(np.sqrt(self.terms.q0) * self.scale)

    def sampling_sd(self) -> ByName[Number]:
        """Part of each standard error that the rows themselves bring."""
        return self._each(np.sqrt(self.terms.sampling) * self.scale)

    def privacy_sd(self) -> ByName[Number]:
        """Part of each standard error that the noise of the release brings."""
        return self._each(np.sqrt(self.terms.privacy) * self.scale)

    def privacy_share(self) -> ByName[Number]:
        """Share of the squared standard error that the noise of the release brings, from 0 to 1."""
        total = self.terms.q0
        return self._each(np.divide(self.terms.privacy, total, out=np.zeros_like(total), where=total > 0))

    def ratios(self, values: FloatArray) -> ByName[Number]:
        """Give estimate less value over standard error for each combination."""
        sd = np.sqrt(self.terms.q0)
        distance = (self.estimates - values) / self.scale
        return self._each(np.divide(distance, sd, out=np.zeros_like(sd), where=sd > 0))

    def statistics(self, values: FloatArray) -> ByName[Number]:
        """Score statistics of the hypotheses that the combinations have these values, signed like estimate - value."""
        return self._each(self._scores(values))

    def _scores(self, values: FloatArray) -> FloatArray:
        u = (values - self.estimates) / self.scale
        variance = self.terms.at(u)
        tried = zip(self.beside, u.tolist(), variance.tolist(), strict=True)
        squares = [one.statistic(far, spread) if far and spread > 0 else 0.0 for one, far, spread in tried]
        return -np.sign(u) * np.sqrt(squares)

    def tail_probabilities(self, values: FloatArray) -> ByName[Number]:
        """Two-sided p-values of the score statistics, given how well the other coefficients are known."""
        plain = [tail_probability(t, self.family, self.inference.df) for t in self._scores(values).tolist()]
        return self._each(np.array([reference_tail(p, kappa, 1) for p, kappa in zip(plain, self._kappas, strict=True)]))

    def intervals(self, z: float) -> ByName[Interval]:
        """Confidence sets at the critical value z of combinations whose other coefficients are known.

        They hold the values whose p-value is not below the one that z has there.
        """
        alpha = tail_probability(z, self.family, self.inference.df)
        found = fieller_sets(*self._widened(alpha)).moved(self.estimates, self.scale)
        varies = self.terms.q0 > 0
        out = [found.at(index, UNBOUNDED) if known else NOTHING_VARIES for index, known in enumerate(varies.tolist())]
        return ByName(self.names, out)

    def _widened(self, alpha: float) -> tuple[ContrastTerms, FloatArray]:
        """Terms with what is open about the other coefficients, and the critical value of each combination."""
        terms = self.terms
        z = np.array([self.critical(1 - level_given(alpha, kappa, 1)) for kappa in self._kappas])
        with np.errstate(over="ignore", invalid="ignore"):
            rows = np.array([one.widened(c) for one, c in zip(self.beside, z**2, strict=True)]).reshape(-1, 3)
        q0, q1, q2 = rows.T
        return ContrastTerms(terms.sampling, terms.privacy + q0, terms.q1 + q1, terms.q2 + q2), z

    def _each(self, values: FloatArray) -> ByName[Number]:
        found = zip(values.tolist(), (self.terms.q0 > 0).tolist(), strict=True)
        return ByName(self.names, [value if varies else NOTHING_VARIES for value, varies in found])


def read_each(
    about: Contrasts | NotEstimable,
    names: Sequence[str],
    read: Callable[[Contrasts], ByName[Value]],
    without: Callable[[NotEstimable], Value],
) -> ByName[Value]:
    """Read something of each combination, or say the same of each where nothing is known."""
    return ByName[Value].alike(names, without(about)) if isinstance(about, NotEstimable) else read(about)


def contrasts(
    inference: ScoreInference, names: Sequence[str], L: FloatArray, estimates: FloatArray, family: Family
) -> Contrasts | NotEstimable:
    """Set up combinations whose weights L are in original units, shape (m, k)."""
    largest = np.abs(L).max(axis=1, initial=0.0)
    if not np.isfinite(largest).all():
        return TOO_WIDE
    scale = np.where(largest > 0, largest, 1.0)
    return Contrasts(tuple(names), estimates, L / scale[:, None], scale, inference, family)


def unit_map(units: Units) -> FloatArray:
    """Derivative of the coefficients in original units by those of z, shape (k, k).

    A slope is theta_j half_y / half_j, for the indicator of a category less what its interactions take; an intercept is
    half_y theta_0 less the slopes times the middles.
    """
    *_, half_y = units.half.tolist()
    # the largest ratio of declared scales may leave double precision; whoever uses it then says so
    with np.errstate(over="ignore"):
        slopes = half_y / units.half[:-1]
        first = int(units.intercept)
        out = np.diag(np.append(half_y, slopes) if first else slopes)
        if first:
            out[0, 1:] = -slopes * units.mid[:-1]
        for column, other, times in units.taken:
            out[first + other, first + column] -= slopes[column] * times
    return out


# -- simultaneous ------------------------------------------------------------------------------------------------------
# Critical values for several intervals that shall hold together.

Simultaneous = Literal["bonferroni", "max-t"]
WAYS: Final[tuple[Simultaneous, ...]] = get_args(Simultaneous)
_DRAWS: Final = 9_999  # level (draws + 1) is then an integer for every level of up to four digits


def checked_way(way: object) -> Simultaneous | None:
    """Check the name of a way to make intervals hold together; none for one by one."""
    for known in WAYS:
        if isinstance(way, str) and known == way:
            return known
    if way is None:
        return None
    raise SpecError.unknown_name("method", way, WAYS, " of simultaneous intervals")


def simultaneous_value(about: Contrasts, level: float, way: Simultaneous, digest: str) -> float:
    """Critical value at which all intervals hold at once with probability `level`.

    `bonferroni` shares the misses out evenly. `max-t` takes the quantile of the largest of the standardised errors,
    which have the correlations of the sandwich covariance, and is never wider than the former but for simulation.
    Correlations do not determine the joint law of pure-epsilon noise: there both are Bonferroni's value.

    Parameters
    ----------
    about
        The combinations, m of them.
    level
        Between 0 and 1.
    way
        How.
    digest
        Fingerprint of the release.
    """
    count = len(about.names)
    bonferroni = about.critical(1 - (1 - level) / count)
    rank = math.ceil(round(level * (_DRAWS + 1), 6))
    if rank > _DRAWS or not _drawn(about, way):
        return bonferroni
    return min(float(_largest(about, digest)[rank - 1]), bonferroni)


def simultaneous_tails(about: Contrasts, pvalues: ByName[Number], way: Simultaneous, digest: str) -> ByName[Number]:
    """P-values of several tests for all of them together: the smallest 1 - level whose sets exclude the value tested.

    Parameters
    ----------
    about
        The combinations, m of them.
    pvalues
        One by one, by the name of the combination.
    way, digest
        As for `simultaneous_value`.
    """
    largest = _largest(about, digest) if _drawn(about, way) else None

    def together(p: float) -> float:
        bonferroni = min(1.0, len(about.names) * p)
        if largest is None or p <= 0:
            return bonferroni
        beyond = _DRAWS - int(np.searchsorted(largest, about.critical(1 - p)))
        return min((beyond + 1) / (_DRAWS + 1), bonferroni)

    return ByName(tuple(pvalues), [mapped(p, together) for p in pvalues.values()])


def _drawn(about: Contrasts, way: Simultaneous) -> bool:
    """Whether the law of the largest error is drawn; else the value is Bonferroni's."""
    return way == "max-t" and len(about.names) > 1 and about.family != "laplace"


def _largest(about: Contrasts, digest: str) -> FloatArray:
    """Draws of the largest of the standardised errors, from small to large, shape (draws,)."""
    from scipy.special import chdtri

    stream = seeded_stream("max-t", digest)
    normals = standard_normals(stream, _DRAWS, len(about.names)) @ _root(about).T
    # a residual variance shared by all: over the root of an independent chi-square over its degrees of freedom
    df = about.inference.df
    share = chdtri(df, (np.arange(_DRAWS) + 0.5) / _DRAWS) / df
    order = np.argsort(stream.random_raw(_DRAWS), kind="stable")
    return np.sort(np.abs(normals).max(axis=1) / np.sqrt(share[order]))


def _root(about: Contrasts) -> FloatArray:
    """Square root of the correlation matrix, shape (m, m); a combination without variance has its own direction."""
    covariance = about.L @ about.inference.covariance @ about.L.T
    sd = np.sqrt(np.maximum(covariance.diagonal(), 0.0))
    sd[sd == 0] = 1.0
    values, axes = np.linalg.eigh(covariance / np.outer(sd, sd))
    root: FloatArray = axes * np.sqrt(np.maximum(values, 0.0))
    return root


# -- coefficient noise -------------------------------------------------------------------------------------------------
# Noise that was added to the coefficients themselves: its size, and intervals for what it was added to.
#
# A release whose noise law has the one statistic `coefficients` holds q + noise: q the coefficients that the mechanism
# computed from the table, in steps of the product grid, and one independent discrete Gaussian number for each. The law
# of that noise is public and does not depend on the table. A coefficient in original units is a combination w'(q +
# noise) plus a constant, so its noise has the standard deviation sigma |w|.
#
# The interval reaches z sigma |w| and one step, |w|_1, to either side, z the normal quantile. A discrete Gaussian
# number X and a normal one Y with the same sigma can be drawn together with |X - Y| <= 1: P(X >= m) <= P(Y >= m - 1)
# for m >= 1 [Canonne, Kamath & Steinke 2020], and P(Y >= m) <= c P(X >= m), because exp(-t^2 / 2 sigma^2) falls, with c
# - 1 < 6e-9 from sigma = 1 on. So w'X misses w'Y by at most |w|_1, and the interval holds w'q with its probability or
# more, to 1e-8 for each number in w, and to 1e-33 from sigma = 2 on.


def known_before(law: NoiseLaw) -> bool:
    """Whether all noise is in the published coefficients themselves, by a law that no table changes.

    >>> known_before(NoiseLaw(16, {"coefficients": 2**30}, "gaussian"))
    True
    >>> known_before(NoiseLaw(16, {"linear": 2**30, "coefficients": 2**10}, "gaussian"))
    False
    """
    return set(law.sigma) == {"coefficients"} and law.family == "discrete-gaussian"


def noise_sds(law: NoiseLaw, units: Units) -> list[Number]:
    """Standard deviation of the noise of each coefficient in original units.

    Parameters
    ----------
    law
        One that is `known_before`.
    units
        Of the released coefficients.
    """
    sds = [law.sd("coefficients") * math.hypot(*row) for row in _weights(units)]
    return [sd if math.isfinite(sd) else TOO_WIDE for sd in sds]


def table_intervals(
    law: NoiseLaw, units: Units, names: Sequence[str], estimates: Sequence[float], level: float
) -> ByName[Interval]:
    """Intervals for the coefficients that would have been published of the same table without noise.

    Parameters
    ----------
    law, units
        As for `noise_sds`.
    names, estimates
        Of the released coefficients in original units.
    level
        Between 0 and 1.
    """
    from scipy.special import ndtri

    # the lower tail keeps its digits where the upper end would round to 1
    z = -float(ndtri((1 - level) / 2))
    step = 4**-law.grid_bits if law.sigma["coefficients"] else 0.0
    out: list[Interval] = []
    for estimate, row in zip(estimates, _weights(units), strict=True):
        half_width = z * law.sd("coefficients") * math.hypot(*row) + step * sum(map(abs, row))
        low, high = estimate - half_width, estimate + half_width
        finite = math.isfinite(low) and math.isfinite(high)
        out.append(ConfidenceSet("interval", low, high) if finite else TOO_WIDE)
    return ByName(names, out)


def _weights(units: Units) -> list[list[float]]:
    """Weights of the scaled coefficients in each original one; not finite where they leave double precision."""
    with np.errstate(over="ignore", invalid="ignore"):
        weights: list[list[float]] = unit_map(units).tolist()
    return weights
