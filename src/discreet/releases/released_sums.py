"""The moments of a release as exact fractions in scaled units, and what follows from them in original ones."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import TYPE_CHECKING, Final

from discreet.design.scales import scales_of, signed_columns
from discreet.exact.triangle import pairs
from discreet.releases.noise_mean import centred

if TYPE_CHECKING:
    from discreet.releases.release import Release

_FEW_ROWS: Final = "the noise leaves no number of rows to speak of"
_NOT_RELEASED: Final = "the release does not hold the sums that this needs"
_NO_SPREAD: Final = "with the noise the variance is not positive; use more rows or a larger epsilon"
_TOO_CLOSE: Final = "with the noise the correlation is outside -1 to 1; use more rows or a larger epsilon"
_TOO_LARGE: Final = "the number is too large for double precision; rescale the declared columns"
_OF_TWO: Final = "an interaction is the sum of two released columns in its own units; no interval is given for it"


class NoNumberError(Exception):
    """The sums do not give a number; the message says why."""


def in_double(exact: Fraction) -> float:
    """Round a number to double precision; refuse one that is too large for it.

    >>> in_double(Fraction(1, 4))
    0.25
    """
    try:
        return float(exact)
    except OverflowError:
        raise NoNumberError(_TOO_LARGE) from None


class ReleasedSums:
    """Sums of products of the scaled columns, the mean of their noise taken away; column 0 is the constant."""

    def __init__(self, release: Release) -> None:
        unit, size = release.noise.unit, len(release.moments)
        entries = zip(pairs(size), centred(release).totals, strict=True)
        self._sums = {pair: Fraction(total, unit) for pair, total in entries if total is not None}
        names = (*release.design.regressors, release.design.target)
        scales = scales_of(release.design, names)
        # the constant comes first
        self.half = [Fraction(1), *map(Fraction, scales.half)]
        self.mid = [Fraction(0), *map(Fraction, scales.mid)]
        self.signed = [False, *signed_columns(release.design, names)]
        self._parts = [{j: Fraction(1)} for j in range(size)]
        for column, other, times in scales.taken:
            self._parts[column + 1][other + 1] = Fraction(times) * self.half[other + 1] / self.half[column + 1]

    def rows(self) -> float:
        """Number of rows."""
        return float(self.total(0, 0))

    def mean(self, j: int) -> float:
        """Mean of column j."""
        scaled = sum(times * self.total(0, k) for k, times in self._parts[j].items()) / self.count()
        return in_double(self.mid[j] + self.half[j] * scaled)

    def covariance(self, i: int, j: int) -> float:
        """Covariance of columns i and j; that of a column with itself is above 0."""
        exact = self._variance(i) if i == j else self._scaled(i, j)
        return in_double(exact * self.half[i] * self.half[j])

    def sd(self, j: int) -> float:
        """Standard deviation of column j."""
        return in_double(Fraction(sqrt(self._variance(j))) * self.half[j])

    def correlation(self, i: int, j: int) -> float:
        """Correlation of columns i and j, 1 with itself."""
        together, square = self._scaled(i, j), self._variance(i) * self._variance(j)
        if together * together > square:
            raise NoNumberError(_TOO_CLOSE)
        return float(together) / sqrt(square)

    def centred_total(self, i: int, j: int) -> Fraction:
        """Sum of products of the deviations of columns i and j from their means, in scaled units."""
        return self.total(i, j) - self.total(0, i) * self.total(0, j) / self.count()

    def check_alone(self, *columns: int) -> None:
        """Refuse an interval for a column that in original units has a part of another one."""
        if any(len(self._parts[j]) > 1 for j in columns):
            raise NoNumberError(_OF_TWO)

    def count(self) -> Fraction:
        """Number of rows, above 1."""
        count = self.total(0, 0)
        if count <= 1:
            raise NoNumberError(_FEW_ROWS)
        return count

    def total(self, i: int, j: int) -> Fraction:
        """Sum of products of columns i and j."""
        pair = min(i, j), max(i, j)
        if pair not in self._sums:
            raise NoNumberError(_NOT_RELEASED)
        return self._sums[pair]

    def _variance(self, j: int) -> Fraction:
        """Variance in scaled units."""
        exact = self._scaled(j, j)
        if exact <= 0:
            raise NoNumberError(_NO_SPREAD)
        return exact

    def _scaled(self, i: int, j: int) -> Fraction:
        """Covariance in half widths; an interaction in original units has a part of the indicator of its level."""
        parts = [(k, m, a * b) for k, a in self._parts[i].items() for m, b in self._parts[j].items()]
        return sum((times * self.centred_total(k, m) for k, m, times in parts), Fraction(0)) / (self.count() - 1)
