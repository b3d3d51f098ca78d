"""Compute means, standard deviations and correlations of the released columns, with intervals."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from math import sqrt
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias, TypeVar

import numpy as np

from discreet.design.scales import scales_of, signed_columns
from discreet.errors import SpecError
from discreet.exact.arrays import FloatArray
from discreet.exact.linear import pairs
from discreet.releases.fields import NoisyCount, StagedPart, centred, released_count
from discreet.releases.reference_distribution import (
    DEFAULT_LEVEL,
    Family,
    NotEstimable,
    checked_level,
    critical_value,
    family_of,
    known,
    reason_of,
    shown_number,
)
from discreet.releases.staged_moments import column_sums, description_note, score_variance, unwhitening
from discreet.text import aligned, html_table

if TYPE_CHECKING:
    from discreet.releases.release import Release

# -- released sums -----------------------------------------------------------------------------------------------------
# The moments of a release as exact fractions in scaled units, and statistics in original units.

_FEW_ROWS: Final = "the noisy number of rows is not above 1; use more rows or a larger epsilon"
_NOT_RELEASED: Final = "the release does not include the sums that this statistic needs"
_NO_SPREAD: Final = "the noisy variance is not positive; use more rows or a larger epsilon"
_TOO_CLOSE: Final = "the noisy correlation is outside -1 to 1; use more rows or a larger epsilon"
_TOO_LARGE: Final = "the number is too large for double precision; rescale the declared columns"
_OF_TWO: Final = "no interval is available for an interaction, which combines two released columns in original units"


Ends: TypeAlias = tuple[float, float]
Pair: TypeAlias = tuple[int, int]


class NoNumberError(Exception):
    """The reason why a statistic cannot be computed from the released sums."""


def in_double(exact: Fraction) -> float:
    """Round a number to double precision, or raise an error if it is too large."""
    try:
        return float(exact)
    except OverflowError:
        raise NoNumberError(_TOO_LARGE) from None


class ReleasedSums:
    """Sums of products of the scaled columns, after subtracting the noise mean. Column 0 is the constant.

    In a release by `staged` the columns are centred and scaled by released numbers, and the products of regressors are
    those of weighted rows.
    """

    def __init__(self, release: Release) -> None:
        part = release.staged
        self._sums = _plain_sums(release) if part is None else _staged_sums(release, part)
        names = (*release.design.regressors, release.design.target)
        scales = scales_of(release.design, names)
        # the constant comes first
        self.half = [Fraction(1), *map(Fraction, scales.half)]
        self.mid = [Fraction(0), *map(Fraction, scales.mid)]
        signed = [False, *signed_columns(release.design, names)]
        # smallest and largest value of each scaled column
        self.ends: list[Ends] = [(-1.0 if negative else 0.0, 1.0) for negative in signed]
        if part is not None:
            centres = [0.0, *part.centres, part.target_centre]
            units = [1.0, *part.scales, 1.0]
            self.mid = [mid + half * Fraction(c) for mid, half, c in zip(self.mid, self.half, centres, strict=True)]
            self.half = [half * Fraction(scale) for half, scale in zip(self.half, units, strict=True)]
            self.ends = [
                ((low - c) / scale, (high - c) / scale)
                for (low, high), c, scale in zip(self.ends, centres, units, strict=True)
            ]
        self._parts = [{j: Fraction(1)} for j in range(len(release.columns))]
        for column, indicator, times in scales.taken:
            self._parts[column + 1][indicator + 1] = Fraction(times) * self.half[indicator + 1] / self.half[column + 1]

    def rows(self) -> float:
        """Return the number of rows."""
        return float(self.total(0, 0))

    def mean(self, j: int) -> float:
        """Return the mean of column j."""
        scaled = sum(times * self.total(0, k) for k, times in self._parts[j].items()) / self.count()
        return in_double(self.mid[j] + self.half[j] * scaled)

    def covariance(self, i: int, j: int) -> float:
        """Return the covariance of columns i and j. It is positive if i = j."""
        exact = self._variance(i) if i == j else self._scaled(i, j)
        return in_double(exact * self.half[i] * self.half[j])

    def sd(self, j: int) -> float:
        """Return the standard deviation of column j."""
        return in_double(Fraction(sqrt(self._variance(j))) * self.half[j])

    def correlation(self, i: int, j: int) -> float:
        """Return the correlation of columns i and j. It is 1 if i = j."""
        together, square = self._scaled(i, j), self._variance(i) * self._variance(j)
        if together * together > square:
            raise NoNumberError(_TOO_CLOSE)
        return float(together) / sqrt(square)

    def centred_total(self, i: int, j: int) -> Fraction:
        """Return the centred sum of products of columns i and j, in scaled units."""
        return self.total(i, j) - self.total(0, i) * self.total(0, j) / self.count()

    def check_alone(self, *columns: int) -> None:
        """Raise an error for columns that depend on another column in original units."""
        if any(len(self._parts[j]) > 1 for j in columns):
            raise NoNumberError(_OF_TWO)

    def count(self) -> Fraction:
        """Return the number of rows, or raise an error unless it is above 1."""
        count = self.total(0, 0)
        if count <= 1:
            raise NoNumberError(_FEW_ROWS)
        return count

    def total(self, i: int, j: int) -> Fraction:
        """Return the sum of products of columns i and j, in scaled units."""
        pair = min(i, j), max(i, j)
        if pair not in self._sums:
            raise NoNumberError(_NOT_RELEASED)
        return self._sums[pair]

    def _variance(self, j: int) -> Fraction:
        """Return the variance of column j in half widths."""
        exact = self._scaled(j, j)
        if exact <= 0:
            raise NoNumberError(_NO_SPREAD)
        return exact

    def _scaled(self, i: int, j: int) -> Fraction:
        """Return the covariance of columns i and j in half widths. An interaction also depends on its indicator."""
        parts = [(k, m, a * b) for k, a in self._parts[i].items() for m, b in self._parts[j].items()]
        return sum((times * self.centred_total(k, m) for k, m, times in parts), Fraction(0)) / (self.count() - 1)


def _plain_sums(release: Release) -> dict[Pair, Fraction]:
    """Return the released sums of products of the declared columns."""
    unit = release.noise.unit
    entries = zip(pairs(len(release.moments)), centred(release).totals, strict=True)
    return {pair: Fraction(total, unit) for pair, total in entries if total is not None}


def _staged_sums(release: Release, part: StagedPart) -> dict[Pair, Fraction]:
    """Return the sums of products of (1, z, y) of a release by `staged`."""
    sums, unit = column_sums(release, part, 0.0)
    return {(i, j): Fraction(sums[i, j], unit) for i, j in pairs(len(sums))}


# -- description intervals ---------------------------------------------------------------------------------------------
# Intervals for means, standard deviations, covariances and correlations, from the released sums alone.
#
# Scaled columns u, v lie in [-1, 1], indicators in [0, 1]. Released are n' = n + e_0, S_u = sum u + e_u and T_uv = sum
# uv + e_uv, with independent (or at least uncorrelated) noise e of public variances s^2. The sum of squares of an
# indicator equals its sum; if both were released as one number, e_uu is e_u. z is the critical value of the level:
# Student's t with n' - 1 degrees of freedom, or the Laplace quantile if that is larger and the noise is pure.
#
# **Mean, any rows.** For a population mean mu, S_u - mu n' = sum (u - mu) + e_u - mu e_0 has mean 0 and the variance V
# + s_u^2 + mu^2 s_0^2 with V = n Var(u). The interval contains every mu with (S_u - mu n')^2 <= z^2 (V' + s_u^2 + mu^2
# s_0^2), a quadratic inequality, where V' = max(n'/(n' - 1) (T_uu - S_u^2 / n'), 0). The rows need only obey the
# central limit theorem. The noise in V' hardly matters: if all noise has size s, the standard deviation of V' is at
# most about 2.5 s, compared with V + s^2, and s / (V + s^2) <= 1 / (2 sqrt(V)). So the relative error of V' + s^2 is
# that of a variance from V rows, whatever the size of s. Without noise this is the t interval. The interval for the
# mean of *this table* has V' = 0.
#
# **Covariance.** C = T_uv - S_u S_v / n' has, with the means m of the table, the noise d_uv = e_uv - m_v e_u - m_u e_v
# + m_u m_v e_0 up to -(e_u - m_u e_0)(e_v - m_v e_0) / n. The mean of this last term is added back to C, and its
# variance is included. The covariance of the table is c = (C without noise) / (n - 1), so C - (n' - 1) c has the noise
# d_uv - c e_0: a quadratic inequality in c again. For **Gaussian rows** with covariance c, the sampling variance of C
# is (n - 1)(s_uu s_vv + c^2), and for a variance (u = v) it is 2 (n - 1) c^2. In general it depends on fourth moments,
# which a release does not contain: for tails heavier than Gaussian the interval is too short, for lighter tails it is
# too long.
#
# **Correlation.** With P = C_uu C_vv, C_uv - rho sqrt(P) has to first order the noise d_uv - rho/2 (sqrt(C_vv / C_uu)
# d_uu + sqrt(C_uu / C_vv) d_vv), a combination of six independent numbers whose variance is a quadratic in rho. For
# Gaussian rows it has the sampling variance P (1 - rho^2)^2 / (n - 1). Accepted are the rho between -1 and 1 for which
# (C_uv - rho sqrt(P))^2 is at most z^2 times the sum of both variances: they lie between roots of a quartic. The
# interval is the smallest one that contains all of them.
#
# Intervals are cut to the possible range: a mean lies between the bounds, the variance of values in an interval is at
# most the square of half its width (times n / (n - 1) in a table), and a correlation lies between -1 and 1. If the
# first-order approximation is inaccurate (n' is below ten standard deviations of its noise, or, for a correlation, a
# variance is below four) or no value is accepted, the interval is the whole range. This only widens it.

Rows = Literal["gaussian", "table"]
# sparse vector over the columns, and the two vectors a, b of a form a'Fb of the noise F
Vector: TypeAlias = Mapping[int, float]
Form: TypeAlias = tuple[Vector, Vector]
_ROWS: Final[Vector] = {0: 1.0}
_COUNT: Final[Form] = (_ROWS, _ROWS)

_FAR: Final = 10.0  # required number of rows, in standard deviations of its noise
_CLEAR: Final = 4.0  # required variance for a correlation, in standard deviations of its noise
_REAL: Final = 1e-9  # roots with a smaller imaginary part are treated as real
_ENDLESS: Final = 1e12  # degrees of freedom if there is only noise of known variance


class Forms(Protocol):
    """Noise F of the sums, by linear forms of it."""

    def covariance(self, first: Form, second: Form) -> float:
        """Compute Cov(a'Fb, c'Fd) for two pairs of vectors."""
        ...


@dataclass(frozen=True)
class EntryForms:
    """Noise with uncorrelated entries.

    Attributes
    ----------
    sd
        Standard deviations of the entries, shape (p, p). NaN for an entry that is not released.
    indicators
        Columns whose sum and sum of squares are one released number.
    """

    sd: FloatArray
    indicators: Sequence[int] = ()

    def covariance(self, first: Form, second: Form) -> float:
        """Compute Cov(a'Fb, c'Fd) for two pairs of vectors."""
        one, other = self._weights(*first), self._weights(*second)
        return sum(
            weight * other[entry] * float(self.sd[entry]) ** 2 for entry, weight in one.items() if entry in other
        )

    def _weights(self, a: Vector, b: Vector) -> dict[Pair, float]:
        """Return the weight of every noisy entry in a'Fb."""
        weights: dict[Pair, float] = {}
        for i, left in a.items():
            for j, right in b.items():
                entry = (0, i) if i == j and i in self.indicators else (min(i, j), max(i, j))
                weights[entry] = weights.get(entry, 0.0) + left * right
        return weights


@dataclass(frozen=True, eq=False)
class StagedForms:
    """Noise F of the sums of (1, z, y) in a description, by linear forms of it; products are those of weighted rows."""

    line: FloatArray
    products: FloatArray
    scores: FloatArray
    square: float

    @classmethod
    def of(cls, release: Release, part: StagedPart) -> StagedForms:
        """Read the noise of a release, whose products are not raised."""
        size = len(part.line)
        return cls(
            line=np.array(part.line),
            products=release.noise.entry_sd(size + 1)[:-1, :-1] * part.radius**2,
            scores=unwhitening(part) * math.sqrt(score_variance(release, part)),
            square=part.residual_bound**2 * release.noise.sd("target_square"),
        )

    def covariance(self, first: Form, second: Form) -> float:
        """Compute Cov(a'Fb, c'Fd) for two pairs of vectors over (1, z, y)."""
        if not any(len(self.line) in vector for vector in (*first, *second)):
            return EntryForms(self.products).covariance(first, second)
        (a, ar), (b, br), (c, cr), (d, dr) = map(self._base, (*first, *second))
        left, right = np.outer(a, b), np.outer(c, d)
        both = np.triu(left + left.T) - np.diag(left.diagonal())
        other = np.triu(right + right.T) - np.diag(right.diagonal())
        products = float((both * other * self.products**2).sum())
        scores = float((self.scores.T @ (a * br + b * ar)) @ (self.scores.T @ (c * dr + d * cr)))
        return products + scores + ar * br * cr * dr * self.square**2

    def _base(self, vector: Vector) -> tuple[FloatArray, float]:
        """Return a vector over (1, z, y) as one over (1, z), and its coefficient of r."""
        size = len(self.line)
        out = np.zeros(size)
        for place, value in vector.items():
            if place < size:
                out[place] += value
        last = vector.get(size, 0.0)
        return out + last * self.line, last


@dataclass(frozen=True)
class Intervals:
    """Confidence intervals of one release at one level."""

    sums: ReleasedSums
    noise: Forms
    family: Family
    level: float

    def mean(self, j: int, rows: Literal["any", "table"]) -> Ends:
        """Return the interval of the mean of column j, in the population or in this table."""
        self.sums.check_alone(j)
        count, total = float(self.sums.count()), float(self.sums.total(0, j))
        sampling = 0.0
        if rows == "any":
            sampling = max(float(self.sums.centred_total(j, j)), 0.0) * count / (count - 1)
        z2, own = self._z(rows) ** 2, (_ROWS, {j: 1.0})
        lead = count**2 - z2 * self._count_variance
        middle = total * count - z2 * self.noise.covariance(own, _COUNT)
        ends = _between(lead, middle, total**2 - z2 * (sampling + self.noise.covariance(own, own)))
        low, high = _within(ends, self.sums.ends[j])
        mid, half = float(self.sums.mid[j]), float(self.sums.half[j])
        return mid + half * low, mid + half * high

    def covariance(self, i: int, j: int, rows: Rows) -> Ends:
        """Return the interval of the covariance of columns i and j. It is not below 0 if i = j."""
        self.sums.check_alone(i, j)
        low, high = self._scaled(i, j, rows)
        unit = self.sums.half[i] * self.sums.half[j]
        return in_double(unit * Fraction(low)), in_double(unit * Fraction(high))

    def sd(self, j: int, rows: Rows) -> Ends:
        """Return the interval of the standard deviation of column j."""
        self.sums.check_alone(j)
        low, high = self._scaled(j, j, rows)
        half = self.sums.half[j]
        return in_double(half * Fraction(math.sqrt(low))), in_double(half * Fraction(math.sqrt(high)))

    def correlation(self, i: int, j: int, rows: Rows) -> Ends:
        """Return the interval of the correlation of columns i and j."""
        self.sums.check_alone(i, j)
        about = [self._centred(*pair) for pair in ((i, j), (i, i), (j, j))]
        if i == j:
            return 1.0, 1.0
        (C, _), (first, v_first), (second, v_second) = about
        clear = first > _CLEAR * math.sqrt(v_first) and second > _CLEAR * math.sqrt(v_second)
        if self._count_is_lost() or not clear:
            return -1.0, 1.0
        P = math.sqrt(first * second)
        noise = self._correlation_noise(i, j, math.sqrt(second / first)) / P**2
        z2 = self._z(rows) ** 2
        sampling = z2 / (float(self.sums.count()) - 1) if rows == "gaussian" else 0.0
        r = C / P
        if not (sampling or noise.any()):
            return min(max(r, -1.0), 1.0), min(max(r, -1.0), 1.0)
        # coefficients of (r - rho)^2 - z^2 (noise + sampling (1 - rho^2)^2), highest power first
        powers = np.array([-sampling, 0.0, 1 + 2 * sampling, -2 * r, r**2 - sampling])
        powers[2:] -= z2 * noise
        return _accepted(powers)

    def _scaled(self, i: int, j: int, rows: Rows) -> Ends:
        (C, variance), count = self._centred(i, j), float(self.sums.count())
        most = self._most(i) * self._most(j) * (1.0 if rows == "gaussian" else count / (count - 1))
        possible = (0.0 if i == j else -most, most)
        g0 = g1 = 0.0
        if rows == "gaussian":
            spreads = [max(self._centred(k, k)[0], 0.0) / (count - 1) for k in (i, j)]
            g0, g1 = (0.0, 2.0) if i == j else (spreads[0] * spreads[1], 1.0)
        if self._count_is_lost():
            return possible
        free, z2, s0 = count - 1, self._z(rows) ** 2, self._count_variance
        shared = self.noise.covariance(self._products(i, j), _COUNT)
        return _within(
            _between(free**2 - z2 * (free * g1 + s0), C * free - z2 * shared, C**2 - z2 * (free * g0 + variance)),
            possible,
        )

    def _centred(self, i: int, j: int) -> tuple[float, float]:
        """Return the sum of products of deviations, corrected for the mean of its noise, and its noise variance."""
        count, noise, product = float(self.sums.count()), self.noise, self._products(i, j)
        of_i, of_j = ((_ROWS, deviation) for deviation in product)
        shared = noise.covariance(of_i, of_j)
        second = noise.covariance(of_i, of_i) * noise.covariance(of_j, of_j) + (shared**2 if i == j else 0.0)
        return (
            float(self.sums.centred_total(i, j)) + shared / count,
            noise.covariance(product, product) + second / count**2,
        )

    def _products(self, i: int, j: int) -> Form:
        """Return the vectors of which the sum of products of deviations is a form: columns less their noisy means."""
        return {i: 1.0, 0: -self._mean(i)}, {j: 1.0, 0: -self._mean(j)}

    def _correlation_noise(self, i: int, j: int, ratio: float) -> FloatArray:
        """Return the noise variance of C_ij - rho sqrt(P) as a polynomial in rho, highest power first."""
        forms = [self._products(i, j), self._products(i, i), self._products(j, j)]
        covariance = np.array([[self.noise.covariance(one, other) for other in forms] for one in forms])
        slope = np.array([0.0, ratio / 2, 1 / (2 * ratio)])
        return np.array([slope @ covariance @ slope, -2 * covariance[0] @ slope, covariance[0, 0]])

    @property
    def _count_variance(self) -> float:
        """Noise variance of the number of rows."""
        return self.noise.covariance(_COUNT, _COUNT)

    def _count_is_lost(self) -> bool:
        return float(self.sums.count()) <= _FAR * math.sqrt(self._count_variance)

    def _mean(self, j: int) -> float:
        """Return the noisy mean of a scaled column, clipped to its largest size."""
        largest = max(map(abs, self.sums.ends[j]))
        return min(max(float(self.sums.total(0, j) / self.sums.count()), -largest), largest)

    def _most(self, j: int) -> float:
        """Return the largest possible standard deviation of a scaled column."""
        low, high = self.sums.ends[j]
        return (high - low) / 2

    def _z(self, rows: str) -> float:
        df = _ENDLESS if rows == "table" else max(float(self.sums.count()) - 1, 1.0)
        return critical_value(self.level, self.family, df)


def _between(lead: float, middle: float, rest: float) -> Ends | None:
    """Return the interval of x with lead x^2 - 2 middle x + rest <= 0, or None if it is unbounded.

    >>> _between(1.0, 2.0, 3.0), _between(-1.0, 0.0, 0.0)
    ((1.0, 3.0), None)
    """
    if not lead > 0:
        return None
    root = math.sqrt(max(middle * middle - lead * rest, 0.0))
    return (middle - root) / lead, (middle + root) / lead


def _within(ends: Ends | None, possible: Ends) -> Ends:
    """Cut an interval to the possible range. Return the whole range if the interval is unbounded or outside it.

    >>> _within((-2.0, 0.5), (0.0, 1.0)), _within((-2.0, -1.0), (0.0, 1.0)), _within(None, (0.0, 1.0))
    ((0.0, 0.5), (0.0, 1.0), (0.0, 1.0))
    """
    if ends is None or ends[1] < possible[0] or ends[0] > possible[1]:
        return possible
    return max(ends[0], possible[0]), min(ends[1], possible[1])


def _accepted(powers: FloatArray) -> Ends:
    """Return the smallest interval that contains every rho in [-1, 1] where a polynomial is at most 0.

    Return [-1, 1] if there is no such rho.

    >>> low, high = _accepted(np.array([0.0, 0.0, 1.0, -1.0, 0.24]))
    >>> round(low, 12), round(high, 12)
    (0.4, 0.6)
    """
    roots = np.roots(np.trim_zeros(powers, "f"))
    inside = [float(root.real) for root in roots if abs(root.imag) < _REAL and abs(root.real) < 1]
    ends = sorted({-1.0, 1.0, *inside})
    accepted = [(low, high) for low, high in pairwise(ends) if np.polyval(powers, (low + high) / 2) <= 0]
    return (accepted[0][0], accepted[-1][1]) if accepted else (-1.0, 1.0)


# -- description -------------------------------------------------------------------------------------------------------
# Means, standard deviations, covariances and correlations of the released columns, computed from the moments.

Number: TypeAlias = float | NotEstimable
Interval: TypeAlias = Ends | NotEstimable
Table: TypeAlias = Mapping[str, Mapping[str, Number]]
Result = TypeVar("Result")

GAUSSIAN: Final = ("sd", "covariance", "correlation")
OWN: Final = ("mean", *GAUSSIAN)
_HEADS: Final = ["column", "mean", f"{DEFAULT_LEVEL:.0%} interval", "sd"]
_WIDTH: Final = 112
_PERSONS: Final = NotEstimable(
    "a person may have several rows, and the release does not show how strongly they are correlated; table_conf_int "
    "gives intervals for privacy noise alone. For the mean of the target, fit a model without features: its interval "
    "is clustered by person if the release has robust standard errors of an additional model such as "
    '"y ~ 1"'
)
_NOTE: Final = (
    "Statistics of values clipped to their {bounds}, in original units, with the noise of the release.\n"
    "Intervals for means hold for any distribution. For sd, covariance and correlation, use gaussian_conf_int,\n"
    "which assumes Gaussian rows, or table_conf_int, which describes this table only. All of this costs no budget."
)


@dataclass(frozen=True, slots=True, repr=False)
class Description:
    """Descriptive statistics of the columns of a release of moments, in original units.

    A number that cannot be estimated because of the noise is a `NotEstimable` with the reason, never NaN. Printing a
    description shows a table.

    Attributes
    ----------
    columns
        Released columns: the regressors, including indicators of levels, and the target last.
    rows, rows_sd
        Number of rows, if released, and the standard deviation of its noise. This is 0 if the number is public.
    mean, sd
        Mean and standard deviation by column. The standard deviation has the denominator rows - 1.
    covariance, correlation
        Covariance and correlation by pair of columns.
    found
        Columns with private bounds.
    weighting
        How rows are weighted in a release by `staged`, and what follows. None in other releases.
    """

    columns: tuple[str, ...]
    rows: Number
    mean: Mapping[str, Number]
    sd: Mapping[str, Number]
    covariance: Table
    correlation: Table
    rows_sd: float = 0.0
    found: tuple[str, ...] = ()
    weighting: str | None = None
    _release: Release | None = field(default=None, repr=False, compare=False)

    def mean_conf_int(self, level: float | None = None, *, alpha: float | None = None) -> Mapping[str, Interval]:
        """Return an interval for the population mean of each column, without distributional assumptions.

        The interval accounts for sampling error and privacy noise, and lies within the bounds of the column. It relies
        on the central limit theorem. For a rare category the level is accurate if it has some dozens of rows.

        Parameters
        ----------
        level
            Confidence level, at least 0.5 and below 1. The default is 0.95.
        alpha
            1 minus the level. Pass either this or `level`.

        Returns
        -------
        mapping
            By column, a pair (lower, upper) or the reason why there is none.
        """
        about = self._intervals(checked_level(level, alpha))
        if self._dependent:
            return dict.fromkeys(self.columns, _PERSONS)
        return {name: _or_reason(about.mean, j, "any") for j, name in enumerate(self.columns, start=1)}

    def gaussian_conf_int(
        self,
        of: Literal["sd", "covariance", "correlation"],
        level: float | None = None,
        *,
        alpha: float | None = None,
    ) -> Mapping[str, Any]:
        """Return intervals for the population, assuming *Gaussian rows*.

        The sampling variance of these statistics depends on fourth moments, which a release does not contain. The
        intervals are too short for tails heavier than Gaussian, and too long for lighter tails.

        Parameters
        ----------
        of
            `sd`, `covariance` or `correlation`.
        level, alpha
            As for `mean_conf_int`.

        Returns
        -------
        mapping
            Pairs (lower, upper) by column, or by column and column, or why there are none.
        """
        return self._by_column(of, GAUSSIAN, "gaussian", checked_level(level, alpha))

    def table_conf_int(
        self,
        of: Literal["mean", "sd", "covariance", "correlation"],
        level: float | None = None,
        *,
        alpha: float | None = None,
    ) -> Mapping[str, Any]:
        """Return intervals for the statistics of this table after clipping, accounting for privacy noise only.

        They are valid for any rows, but they are not intervals for a population.

        Parameters
        ----------
        of
            `mean`, `sd`, `covariance` or `correlation`.
        level, alpha
            As for `mean_conf_int`.

        Returns
        -------
        mapping
            Pairs (lower, upper) by column, or by column and column, or why there are none.
        """
        return self._by_column(of, OWN, "table", checked_level(level, alpha))

    @property
    def _dependent(self) -> bool:
        return self._source.design.unit.max_rows > 1

    @property
    def _source(self) -> Release:
        if self._release is None:
            raise SpecError("this description has no release, so it has no intervals; make it with release.describe()")
        return self._release

    def _intervals(self, level: float) -> Intervals:
        release, part = self._source, self._source.staged
        noise = (
            EntryForms(release.noise_sd, release.noise.indicator_columns)
            if part is None
            else StagedForms.of(release, part)
        )
        return Intervals(ReleasedSums(release), noise, family_of(release.noise.family), level)

    def _by_column(
        self, of: str, allowed: Sequence[str], rows: Literal["gaussian", "table"], level: float
    ) -> Mapping[str, Any]:
        if of not in allowed:
            raise SpecError.unknown_name("of", of, allowed)
        about, numbered = self._intervals(level), list(enumerate(self.columns, start=1))
        missing = rows == "gaussian" and self._dependent
        if of in ("mean", "sd"):
            interval = getattr(about, of)
            return {name: _PERSONS if missing else _or_reason(interval, j, rows) for j, name in numbered}
        pair_interval = getattr(about, of)
        return {
            first: {second: _PERSONS if missing else _or_reason(pair_interval, i, j, rows) for j, second in numbered}
            for i, first in numbered
        }

    def to_dict(self) -> dict[str, object]:
        """Return all statistics as plain values for JSON. A number is null if it is not estimable, with its reason."""
        numbers: dict[str, Number] = {"rows": self.rows}
        for name in self.columns:
            numbers |= {f"mean of {name}": self.mean[name], f"sd of {name}": self.sd[name]}
            for other in self.columns:
                numbers[f"covariance of {name} and {other}"] = self.covariance[name][other]
                numbers[f"correlation of {name} and {other}"] = self.correlation[name][other]
        return {
            "columns": list(self.columns),
            "rows": known(self.rows),
            "rows_sd": self.rows_sd,
            "mean": _plain(self.mean),
            "sd": _plain(self.sd),
            "covariance": {name: _plain(row) for name, row in self.covariance.items()},
            "correlation": {name: _plain(row) for name, row in self.correlation.items()},
            "interval_level": DEFAULT_LEVEL,
            "mean_conf_int": _plain_ends(self.mean_conf_int()),
            "gaussian_conf_int": {of: _plain_ends(self.gaussian_conf_int(of)) for of in GAUSSIAN},
            "table_conf_int": {of: _plain_ends(self.table_conf_int(of)) for of in OWN},
            **({"found_bounds": list(self.found)} if self.found else {}),
            **({} if self.weighting is None else {"weighting": self.weighting}),
            "not_estimable": {what: reason for what, value in numbers.items() if (reason := reason_of(value))},
        }

    def _spread(self) -> list[list[str]]:
        ends = self.mean_conf_int()
        return [
            [name, _shown(self.mean[name]), _shown_ends(ends[name]), _shown(self.sd[name])] for name in self.columns
        ]

    def _rows(self) -> str:
        rows = known(self.rows)
        return shown_number(self.rows, "") if rows is None else NoisyCount(rows, self.rows_sd).words

    def _notes(self) -> list[str]:
        words = "bounds" if self.found else "declared bounds"
        weights = [] if self.weighting is None else [textwrap.fill(self.weighting, _WIDTH)]
        found = [f"Bounds found privately: {', '.join(self.found)}."] if self.found else []
        return [_NOTE.format(bounds=words), *weights, *found]

    def __repr__(self) -> str:
        related = [["correlation", *self.columns]]
        related += [
            [name, *(_shown(self.correlation[name][other]) for other in self.columns[: index + 1])]
            for index, name in enumerate(self.columns)
        ]
        rows = self._rows()
        spread = aligned([_HEADS, *self._spread()])
        return "\n".join([f"Rows: {rows}", "", *spread, "", *aligned(related), "", *self._notes()])

    def _repr_html_(self) -> str:
        return html_table(f"Columns of a release; rows: {self._rows()}", _HEADS, self._spread(), self._notes())


def described(release: Release) -> Description:
    """Describe the released columns. Raise an error for a release of coefficients, which has no moments."""
    if release.design.weights is not None:
        raise SpecError(
            "cannot describe a release of weighted rows; make a release whose design has no weights, or fit models, "
            "which account for the weights"
        )
    part = release.staged
    sums, count = ReleasedSums(release), None if part is None else released_count(release)
    indices = dict(zip(release.columns[1:], range(1, len(release.columns)), strict=True))

    def table(entry: Callable[[int, int], float]) -> Table:
        return {name: {other: _or_reason(entry, i, j) for other, j in indices.items()} for name, i in indices.items()}

    return Description(
        columns=release.columns[1:],
        rows=_or_reason(sums.rows) if count is None else count.value,
        mean={name: _or_reason(sums.mean, j) for name, j in indices.items()},
        sd={name: _or_reason(sums.sd, j) for name, j in indices.items()},
        covariance=table(sums.covariance),
        correlation=table(sums.correlation),
        rows_sd=float(release.noise_sd[0, 0]) if count is None else count.sd,
        found=tuple(release.found_bounds or ()),
        weighting=None if part is None else description_note(release, part),
        _release=release,
    )


def _or_reason(statistic: Callable[..., Result], *arguments: object) -> Result | NotEstimable:
    try:
        return statistic(*arguments)
    except NoNumberError as reason:
        return NotEstimable(str(reason))


def _plain(values: Mapping[str, Number]) -> dict[str, float | None]:
    return {name: known(value) for name, value in values.items()}


def _plain_ends(values: Mapping[str, Any]) -> dict[str, object]:
    """Convert intervals in nested mappings to lists, or to None if not estimable."""
    return {
        name: _plain_ends(ends) if isinstance(ends, Mapping) else None if known(ends) is None else list(ends)
        for name, ends in values.items()
    }


def _shown(value: Number) -> str:
    return shown_number(value, ".4g")


def _shown_ends(ends: Interval) -> str:
    return "not estimable" if isinstance(ends, NotEstimable) else f"{ends[0]:.4g} to {ends[1]:.4g}"
