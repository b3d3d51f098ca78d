"""Means, standard deviations, covariances and correlations of the released columns, read off the moments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import TYPE_CHECKING, Final, TypeAlias

from discreet.design.scales import scales_of
from discreet.errors import SpecError
from discreet.exact.triangle import pairs
from discreet.releases.noise_mean import centred
from discreet.releases.not_estimable import NotEstimable, known, reason_of, shown_number

if TYPE_CHECKING:
    from discreet.releases.release import Release

Number: TypeAlias = float | NotEstimable
Table: TypeAlias = Mapping[str, Mapping[str, Number]]

_FEW_ROWS: Final = "the noise leaves no number of rows to speak of"
_NOT_RELEASED: Final = "the release does not hold the sums that this needs"
_NO_SPREAD: Final = "with the noise the variance is not positive; use more rows or a larger epsilon"
_TOO_CLOSE: Final = "with the noise the correlation is outside -1 to 1; use more rows or a larger epsilon"
_NOTE: Final = (
    "Of values clipped to their {bounds}, in original units, with the noise of the release.\n"
    "There are no intervals here; reading them costs no further budget."
)


@dataclass(frozen=True, slots=True, repr=False)
class Description:
    """What a release of moments says about each column and each pair of columns, in original units.

    A number that the noise leaves no sense in is a `NotEstimable` with the reason, never NaN. Printing gives a table.

    Attributes
    ----------
    columns
        Released columns: regressors, indicators of levels among them, and the target last.
    rows
        Number of rows as far as it was released.
    mean, sd
        By column; the standard deviation with rows - 1.
    covariance, correlation
        By column and column.
    found
        Columns whose bounds the release found privately.
    """

    columns: tuple[str, ...]
    rows: Number
    mean: Mapping[str, Number]
    sd: Mapping[str, Number]
    covariance: Table
    correlation: Table
    found: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Everything as plain values for JSON: null where the release cannot say, and the reasons by name."""
        found: dict[str, Number] = {"rows": self.rows}
        for name in self.columns:
            found |= {f"mean of {name}": self.mean[name], f"sd of {name}": self.sd[name]}
            for other in self.columns:
                found[f"covariance of {name} and {other}"] = self.covariance[name][other]
                found[f"correlation of {name} and {other}"] = self.correlation[name][other]
        return {
            "columns": list(self.columns),
            "rows": known(self.rows),
            "mean": _plain(self.mean),
            "sd": _plain(self.sd),
            "covariance": {name: _plain(row) for name, row in self.covariance.items()},
            "correlation": {name: _plain(row) for name, row in self.correlation.items()},
            **({"found_bounds": list(self.found)} if self.found else {}),
            "not_estimable": {what: reason for what, value in found.items() if (reason := reason_of(value))},
        }

    def __repr__(self) -> str:
        spread = [["column", "mean", "sd"]]
        spread += [[name, _shown(self.mean[name]), _shown(self.sd[name])] for name in self.columns]
        related = [["correlation", *self.columns]]
        related += [
            [name, *(_shown(self.correlation[name][other]) for other in self.columns[: index + 1])]
            for index, name in enumerate(self.columns)
        ]
        rows = shown_number(self.rows, ",.0f")
        words = "bounds" if self.found else "declared bounds"
        notes = [
            _NOTE.format(bounds=words),
            *([f"Bounds found privately: {', '.join(self.found)}."] if self.found else []),
        ]
        return "\n".join([f"Rows: {rows}", "", *_aligned(spread), "", *_aligned(related), "", *notes])


def described(release: Release) -> Description:
    """Describe the released columns; refused for a release of coefficients, which holds no moments."""
    if release.scaling is not None:
        raise SpecError(
            'means and correlations are of rows without weights, but a release with scaling "private" holds sums of '
            'weighted rows; release with scaling "declared" for them, or fit models, which count the weights'
        )
    sums = _Sums(release)
    indices = dict(zip(release.columns[1:], range(1, len(release.columns)), strict=True))

    def table(entry: Callable[[int, int], float]) -> Table:
        return {name: {other: _or_reason(entry, i, j) for other, j in indices.items()} for name, i in indices.items()}

    return Description(
        columns=release.columns[1:],
        rows=_or_reason(sums.rows),
        mean={name: _or_reason(sums.mean, j) for name, j in indices.items()},
        sd={name: _or_reason(sums.sd, j) for name, j in indices.items()},
        covariance=table(sums.covariance),
        correlation=table(sums.correlation),
        found=tuple(release.found_bounds or ()),
    )


class _NoNumberError(Exception):
    """The sums do not give a number; the message says why."""


def _or_reason(number: Callable[..., float], *given: int) -> Number:
    try:
        return number(*given)
    except _NoNumberError as reason:
        return NotEstimable(str(reason))


class _Sums:
    """The moments as exact fractions in scaled units, and what follows from them in original ones."""

    def __init__(self, release: Release) -> None:
        unit, size = release.noise.unit, len(release.moments)
        entries = zip(pairs(size), centred(release).totals, strict=True)
        self._sums = {pair: Fraction(total, unit) for pair, total in entries if total is not None}
        scales = scales_of(release.design, (*release.design.regressors, release.design.target))
        # the constant comes first
        self._half, self._mid = ([Fraction(1), *map(Fraction, scales.half)], [Fraction(0), *map(Fraction, scales.mid)])
        self._parts = [{j: Fraction(1)} for j in range(size)]
        for column, other, times in scales.taken:
            self._parts[column + 1][other + 1] = Fraction(times) * self._half[other + 1] / self._half[column + 1]

    def rows(self) -> float:
        """Number of rows."""
        return float(self._sum(0, 0))

    def mean(self, j: int) -> float:
        """Mean of column j."""
        count = self._count()
        scaled = sum(times * self._sum(0, k) for k, times in self._parts[j].items()) / count
        return float(self._mid[j] + self._half[j] * scaled)

    def covariance(self, i: int, j: int) -> float:
        """Covariance of columns i and j; that of a column with itself is above 0."""
        exact = self._variance(i) if i == j else self._scaled(i, j)
        return float(exact * self._half[i] * self._half[j])

    def sd(self, j: int) -> float:
        """Standard deviation of column j."""
        return sqrt(self._variance(j)) * float(self._half[j])

    def correlation(self, i: int, j: int) -> float:
        """Correlation of columns i and j, 1 with itself."""
        together, square = self._scaled(i, j), self._variance(i) * self._variance(j)
        if together * together > square:
            raise _NoNumberError(_TOO_CLOSE)
        return float(together) / sqrt(square)

    def _variance(self, j: int) -> Fraction:
        """Variance in squared half widths."""
        exact = self._scaled(j, j)
        if exact <= 0:
            raise _NoNumberError(_NO_SPREAD)
        return exact

    def _scaled(self, i: int, j: int) -> Fraction:
        """Covariance in half widths; an interaction in original units has a part of the indicator of its level."""
        parts = [(k, m, a * b) for k, a in self._parts[i].items() for m, b in self._parts[j].items()]
        return sum((times * self._together(k, m) for k, m, times in parts), Fraction(0))

    def _together(self, i: int, j: int) -> Fraction:
        """Covariance of scaled columns."""
        count = self._count()
        return (self._sum(i, j) - self._sum(0, i) * self._sum(0, j) / count) / (count - 1)

    def _count(self) -> Fraction:
        count = self._sum(0, 0)
        if count <= 1:
            raise _NoNumberError(_FEW_ROWS)
        return count

    def _sum(self, i: int, j: int) -> Fraction:
        pair = min(i, j), max(i, j)
        if pair not in self._sums:
            raise _NoNumberError(_NOT_RELEASED)
        return self._sums[pair]


def _plain(values: Mapping[str, Number]) -> dict[str, float | None]:
    return {name: known(value) for name, value in values.items()}


def _shown(value: Number) -> str:
    return shown_number(value, ".4g")


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of a table with columns padded to one width, names to the left and numbers to the right."""
    widths = [max(len(row[k]) for row in rows if k < len(row)) for k in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) if k == 0 else cell.rjust(width) for k, (cell, width) in enumerate(cells)).rstrip()
        for cells in (list(zip(row, widths, strict=False)) for row in rows)
    ]
