"""Combinations of coefficients in original units with all that may be said of each."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from discreet.analyst.equations.units import Units
from discreet.analyst.inference.nuisance import Nuisance, level_given, nuisances, reference_tail
from discreet.analyst.inference.score import ContrastTerms, ScoreInference, contrast_terms, fieller_sets
from discreet.analyst.values.by_name import Value
from discreet.analyst.values.estimates import ByName, Interval, Number
from discreet.analyst.values.not_estimable import NotEstimable
from discreet.exact.arrays import FloatArray
from discreet.exact.blas_threads import one_blas_thread
from discreet.releases.reference_law import Family, critical_value, tail_probability

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
