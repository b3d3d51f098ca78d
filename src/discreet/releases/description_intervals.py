r"""Intervals for means, standard deviations, covariances and correlations, from the released sums alone.

Scaled columns u, v lie in [-1, 1], indicators in [0, 1]. Released are n' = n + e_0, S_u = sum u + e_u and
T_uv = sum uv + e_uv, with independent (or at least uncorrelated) noise e of public variances s^2; the square of an
indicator is its sum, and where both were released as one number e_uu is e_u. z is the critical value of the level:
Student's t with n' - 1 degrees of freedom, or Laplace's quantile where that is larger and the noise is pure.

**Mean, any rows.** For a population mean mu, S_u - mu n' = sum (u - mu) + e_u - mu e_0 has mean 0 and the variance
V + s_u^2 + mu^2 s_0^2 with V = n Var(u). Accepted are the mu with (S_u - mu n')^2 <= z^2 (V' + s_u^2 + mu^2 s_0^2), a
quadratic inequality; V' = max(n'/(n' - 1) (T_uu - S_u^2 / n'), 0). No law of the rows is used but the central limit
theorem. The noise in V' hardly matters: its standard deviation is at most about 2.5 s against V + s^2 (all noise of
size s), and s / (V + s^2) <= 1 / (2 sqrt(V)), so V' + s^2 is relatively as good as a variance from V rows whatever the
size of s. Without noise it is the t interval. The mean of *this table* is the same with V' = 0.

**Covariance.** C = T_uv - S_u S_v / n' has, with the means m of the table, the noise
d_uv = e_uv - m_v e_u - m_u e_v + m_u m_v e_0 up to -(e_u - m_u e_0)(e_v - m_v e_0) / n, whose mean is added back to C
and whose variance is counted. The table's own covariance is c = (C without noise) / (n - 1), so C - (n' - 1) c has the
noise d_uv - c e_0: a quadratic inequality in c again. For **Gaussian rows** with covariance c the sampling variance of
C is (n - 1)(s_uu s_vv + c^2), for a variance (u = v) it is 2 (n - 1) c^2. This needs fourth moments, which a release
does not hold: with heavier tails than Gaussian the interval is too short, with lighter ones too long.

**Correlation.** With P = C_uu C_vv, C_uv - rho sqrt(P) has to first order the noise
d_uv - rho/2 (sqrt(C_vv / C_uu) d_uu + sqrt(C_uu / C_vv) d_vv), a combination of six independent numbers whose variance
is a quadratic in rho, and for Gaussian rows the sampling variance P (1 - rho^2)^2 / (n - 1). Accepted are the rho
between -1 and 1 where the square is at most z^2 times the sum: between roots of a quartic. The interval is the
smallest that holds them all.

What is known beforehand is used: a mean is between the bounds, a variance of values in an interval at most the square
of half its width (times n / (n - 1) in a table), a correlation between -1 and 1. Where the first order says too little
(n' below ten standard deviations of its noise; for a correlation a variance below four of its own) or nothing is
accepted, the interval is all of that. This only widens it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Final, Literal

import numpy as np

from discreet.exact.arrays import FloatArray
from discreet.releases.reference_law import Family, critical_value
from discreet.releases.released_sums import ReleasedSums, in_double

Rows = Literal["gaussian", "table"]
Ends = tuple[float, float]

_FAR: Final = 10.0  # standard deviations of its noise by which a number of rows is far enough from 0
_CLEAR: Final = 4.0  # the same for a variance below a correlation
_REAL: Final = 1e-9  # imaginary part of a root that is real but for rounding
_ENDLESS: Final = 1e12  # degrees of freedom where only noise of a known variance counts


@dataclass(frozen=True)
class Intervals:
    """Intervals of one release at one level.

    Attributes
    ----------
    sums
        What was released.
    noise_sd
        Standard deviation of every entry, shape (p, p).
    family
        Law that errors are held against.
    level
        Of confidence.
    indicators
        Columns whose sum of squares is their sum: one number, with one noise.
    """

    sums: ReleasedSums
    noise_sd: FloatArray
    family: Family
    level: float
    indicators: Sequence[int] = ()

    def mean(self, j: int, rows: Literal["any", "table"]) -> Ends:
        """Ends for the mean of column j: of a population behind any rows, or of this table."""
        self.sums.check_alone(j)
        count, total = float(self.sums.count()), float(self.sums.total(0, j))
        sampling = 0.0
        if rows == "any":
            sampling = max(float(self.sums.centred_total(j, j)), 0.0) * count / (count - 1)
        z2, s0 = self._z(rows) ** 2, self._sd(0, 0)
        lead = count**2 - z2 * s0**2
        found = _between(lead, total * count, total**2 - z2 * (sampling + self._sd(0, j) ** 2))
        low, high = _within(found, (-1.0 if self.sums.signed[j] else 0.0, 1.0))
        mid, half = float(self.sums.mid[j]), float(self.sums.half[j])
        return mid + half * low, mid + half * high

    def covariance(self, i: int, j: int, rows: Rows) -> Ends:
        """Ends for the covariance of columns i and j, which of a column with itself is not below 0."""
        self.sums.check_alone(i, j)
        low, high = self._scaled(i, j, rows)
        unit = self.sums.half[i] * self.sums.half[j]
        return in_double(unit * Fraction(low)), in_double(unit * Fraction(high))

    def sd(self, j: int, rows: Rows) -> Ends:
        """Ends for the standard deviation of column j."""
        self.sums.check_alone(j)
        low, high = self._scaled(j, j, rows)
        half = self.sums.half[j]
        return in_double(half * Fraction(math.sqrt(low))), in_double(half * Fraction(math.sqrt(high)))

    def correlation(self, i: int, j: int, rows: Rows) -> Ends:
        """Ends for the correlation of columns i and j."""
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
        # (r - rho)^2 - z^2 (noise + sampling (1 - rho^2)^2), from the fourth power down
        powers = np.array([-sampling, 0.0, 1 + 2 * sampling, -2 * r, r**2 - sampling])
        powers[2:] -= z2 * noise
        return _accepted(powers)

    def _scaled(self, i: int, j: int, rows: Rows) -> Ends:
        (C, variance), count = self._centred(i, j), float(self.sums.count())
        most = self._most(i) * self._most(j) * (1.0 if rows == "gaussian" else count / (count - 1))
        known = (0.0 if i == j else -most, most)
        g0 = g1 = 0.0
        if rows == "gaussian":
            spreads = [max(self._centred(k, k)[0], 0.0) / (count - 1) for k in (i, j)]
            g0, g1 = (0.0, 2.0) if i == j else (spreads[0] * spreads[1], 1.0)
        if self._count_is_lost():
            return known
        free, z2, s0 = count - 1, self._z(rows) ** 2, self._sd(0, 0)
        product = self._mean(i) * self._mean(j)
        rest = variance - product**2 * s0**2
        return _within(
            _between(
                free**2 - z2 * (free * g1 + s0**2),
                C * free - z2 * product * s0**2,
                C**2 - z2 * (free * g0 + rest + product**2 * s0**2),
            ),
            known,
        )

    def _centred(self, i: int, j: int) -> tuple[float, float]:
        """Sum of products of deviations, corrected for the mean of its noise, and the variance of that."""
        count, same = float(self.sums.count()), float(i == j)
        m_i, m_j, s0 = self._mean(i), self._mean(j), self._sd(0, 0)
        first = self._first_order(i, j)
        own = [self._sd(0, k) ** 2 + self._mean(k) ** 2 * s0**2 for k in (i, j)]
        bias = (same * self._sd(0, i) ** 2 + m_i * m_j * s0**2) / count
        second = (1 + same) * own[0] * own[1] / count**2
        return float(self.sums.centred_total(i, j)) + bias, sum(a * a * b for a, b in first.values()) + second

    def _first_order(self, i: int, j: int) -> dict[tuple[int, int], tuple[float, float]]:
        """Weight and variance of every noisy entry in the sum of products of deviations."""
        m_i, m_j = self._mean(i), self._mean(j)
        weights: dict[tuple[int, int], float] = {}
        for entry, weight in (((i, j), 1.0), ((0, i), -m_j), ((0, j), -m_i), ((0, 0), m_i * m_j)):
            known = (0, i) if entry[0] == entry[1] and entry[0] in self.indicators else entry
            weights[known] = weights.get(known, 0.0) + weight
        return {entry: (weight, self._sd(*entry) ** 2) for entry, weight in weights.items()}

    def _correlation_noise(self, i: int, j: int, ratio: float) -> FloatArray:
        """Variance of the noise of C_ij - rho sqrt(P) as a polynomial in rho, from the second power down."""
        constant = self._first_order(i, j)
        slope: dict[tuple[int, int], tuple[float, float]] = {}
        for pair, weight in (((i, i), ratio / 2), ((j, j), 1 / (2 * ratio))):
            for entry, (own, variance) in self._first_order(*pair).items():
                before = slope.get(entry, (0.0, variance))[0]
                slope[entry] = before + weight * own, variance
        out = np.zeros(3)
        for entry in constant | slope:
            a, b = constant.get(entry, (0.0, 0.0))[0], slope.get(entry, (0.0, 0.0))[0]
            variance = self._sd(*entry) ** 2
            out += variance * np.array([b * b, -2 * a * b, a * a])
        return out

    def _count_is_lost(self) -> bool:
        return float(self.sums.count()) <= _FAR * self._sd(0, 0)

    def _mean(self, j: int) -> float:
        """Mean of a scaled column as far as the noise leaves it, within its range."""
        return min(max(float(self.sums.total(0, j) / self.sums.count()), -1.0), 1.0)

    def _most(self, j: int) -> float:
        """Largest standard deviation that a scaled column can have."""
        return 1.0 if self.sums.signed[j] else 0.5

    def _sd(self, i: int, j: int) -> float:
        # an entry without a noise law is refused where its sum is read
        return float(self.noise_sd[i, j])

    def _z(self, rows: str) -> float:
        df = _ENDLESS if rows == "table" else max(float(self.sums.count()) - 1, 1.0)
        return critical_value(self.level, self.family, df)


def _between(lead: float, middle: float, rest: float) -> Ends | None:
    """Ends of the x with lead x^2 - 2 middle x + rest <= 0, of which there is one; none where they have no end.

    >>> _between(1.0, 2.0, 3.0), _between(-1.0, 0.0, 0.0)
    ((1.0, 3.0), None)
    """
    if not lead > 0:
        return None
    root = math.sqrt(max(middle * middle - lead * rest, 0.0))
    return (middle - root) / lead, (middle + root) / lead


def _within(found: Ends | None, known: Ends) -> Ends:
    """The part of an interval that is possible; all that is possible where nothing is left of it or it has no end.

    >>> _within((-2.0, 0.5), (0.0, 1.0)), _within((-2.0, -1.0), (0.0, 1.0)), _within(None, (0.0, 1.0))
    ((0.0, 0.5), (0.0, 1.0), (0.0, 1.0))
    """
    if found is None or found[1] < known[0] or found[0] > known[1]:
        return known
    return max(found[0], known[0]), min(found[1], known[1])


def _accepted(powers: FloatArray) -> Ends:
    """Smallest interval that holds every rho from -1 to 1 where a polynomial is at most 0; all of it where none is.

    >>> low, high = _accepted(np.array([0.0, 0.0, 1.0, -1.0, 0.24]))
    >>> round(low, 12), round(high, 12)
    (0.4, 0.6)
    """
    roots = np.roots(np.trim_zeros(powers, "f"))
    inside = [float(root.real) for root in roots if abs(root.imag) < _REAL and abs(root.real) < 1]
    ends = sorted({-1.0, 1.0, *inside})
    accepted = [(low, high) for low, high in pairwise(ends) if np.polyval(powers, (low + high) / 2) <= 0]
    return (accepted[0][0], accepted[-1][1]) if accepted else (-1.0, 1.0)
