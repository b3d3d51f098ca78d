"""The moments of a release as exact fractions in scaled units, and what follows from them in original ones."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import TYPE_CHECKING, Final

from discreet.design.columns import Numeric
from discreet.design.model import Design
from discreet.exact.triangle import pairs
from discreet.releases.noise_mean import centred

if TYPE_CHECKING:
    from discreet.releases.release import Release

_FEW_ROWS: Final = "the noise leaves no number of rows to speak of"
_NOT_RELEASED: Final = "the release does not hold the sums that this needs"
_NO_SPREAD: Final = "with the noise the variance is not positive; use more rows or a larger epsilon"
_TOO_CLOSE: Final = "with the noise the correlation is outside -1 to 1; use more rows or a larger epsilon"


class NoNumberError(Exception):
    """The sums do not give a number; the message says why."""


class ReleasedSums:
    """Sums of products of the scaled columns, the mean of their noise taken away; column 0 is the constant."""

    def __init__(self, release: Release) -> None:
        unit, size = release.noise.unit, len(release.moments)
        entries = zip(pairs(size), centred(release).totals, strict=True)
        self._sums = {pair: Fraction(total, unit) for pair, total in entries if total is not None}
        self.half, self.mid, self.numeric = _scales(release.design)

    def rows(self) -> float:
        """Number of rows."""
        return float(self.total(0, 0))

    def mean(self, j: int) -> float:
        """Mean of column j."""
        return float(self.mid[j] + self.half[j] * self.total(0, j) / self.count())

    def covariance(self, i: int, j: int) -> float:
        """Covariance of columns i and j; that of a column with itself is above 0."""
        exact = self._variance(i) if i == j else self._scaled(i, j)
        return float(exact * self.half[i] * self.half[j])

    def sd(self, j: int) -> float:
        """Standard deviation of column j."""
        return sqrt(self._variance(j)) * float(self.half[j])

    def correlation(self, i: int, j: int) -> float:
        """Correlation of columns i and j, 1 with itself."""
        together, square = self._scaled(i, j), self._variance(i) * self._variance(j)
        if together * together > square:
            raise NoNumberError(_TOO_CLOSE)
        return float(together) / sqrt(square)

    def centred_total(self, i: int, j: int) -> Fraction:
        """Sum of products of the deviations of columns i and j from their means, in scaled units."""
        return self.total(i, j) - self.total(0, i) * self.total(0, j) / self.count()

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
        """Covariance in scaled units."""
        return self.centred_total(i, j) / (self.count() - 1)


def _scales(design: Design) -> tuple[list[Fraction], list[Fraction], list[bool]]:
    """Half width and middle of every released column, the constant first; and whether its values are in [-1, 1]."""
    declared = [design.columns[name] for name in design.regressors for _ in design.columns[name].released(name)]
    columns = [*declared, design.columns[design.target]]
    half = [Fraction(column.half) if isinstance(column, Numeric) else Fraction(1) for column in columns]
    mid = [Fraction(column.mid) if isinstance(column, Numeric) else Fraction(0) for column in columns]
    numeric = [isinstance(column, Numeric) for column in columns]
    return [Fraction(1), *half], [Fraction(0), *mid], [False, *numeric]
