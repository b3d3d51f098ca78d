"""Means, standard deviations, covariances and correlations of the released columns, read off the moments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar

from discreet.errors import SpecError
from discreet.releases.description_intervals import Ends, Intervals
from discreet.releases.not_estimable import NotEstimable, known, reason_of, shown_number
from discreet.releases.parts import NoisyCount
from discreet.releases.reference_law import DEFAULT_LEVEL, checked_level, family_of
from discreet.releases.released_sums import NoNumberError, ReleasedSums
from discreet.text import aligned, html_table

if TYPE_CHECKING:
    from discreet.releases.release import Release

Number: TypeAlias = float | NotEstimable
Interval: TypeAlias = Ends | NotEstimable
Table: TypeAlias = Mapping[str, Mapping[str, Number]]
Result = TypeVar("Result")

GAUSSIAN: Final = ("sd", "covariance", "correlation")
OWN: Final = ("mean", *GAUSSIAN)
_HEADS: Final = ["column", "mean", f"{DEFAULT_LEVEL:.0%} interval", "sd"]
_PERSONS: Final = NotEstimable(
    "rows of one person depend on each other, and the release does not say how much; table_conf_int includes the noise "
    "alone, and a fit without features has an interval for the mean of the target that is clustered by person if the "
    'release was made with moments "robust" and a model such as "y ~ 1" among its robust_models (--robust-model)'
)
_NOTE: Final = (
    "Of values clipped to their {bounds}, in original units, with the noise of the release.\n"
    "Intervals of means hold for any rows. For sd, covariance and correlation there are gaussian_conf_int, which\n"
    "assumes Gaussian rows, and table_conf_int for the values of this very table. Reading all this is free."
)


@dataclass(frozen=True, slots=True, repr=False)
class Description:
    """What a release of moments says about each column and each pair of columns, in original units.

    A number that the noise leaves no sense in is a `NotEstimable` with the reason, never NaN. Printing gives a table.

    Attributes
    ----------
    columns
        Released columns: regressors, indicators of levels among them, and the target last.
    rows, rows_sd
        Number of rows as far as it was released, and the standard deviation of its noise; 0 where it has none.
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
    rows_sd: float = 0.0
    found: tuple[str, ...] = ()
    _release: Release | None = field(default=None, repr=False, compare=False)

    def mean_conf_int(self, level: float | None = None, *, alpha: float | None = None) -> Mapping[str, Interval]:
        """Give an interval for the mean of each column in the population behind the rows, whatever their law.

        It includes sampling and privacy noise and is within the bounds of the column. It rests on the central limit
        theorem: the level of a rare category holds once it has some dozens of rows.

        Parameters
        ----------
        level
            At least 0.5 and below 1; 0.95 unless given.
        alpha
            1 minus the level, instead of it.

        Returns
        -------
        mapping
            Pairs (lower, upper) by column, or why there are none.
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
        """Give intervals for the population behind the rows *if they are Gaussian*.

        Spread of a spread needs fourth moments, which a release does not hold. With heavier tails than Gaussian these
        intervals are too short, with lighter ones too long.

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
        """Give intervals for the values of this very table, clipped as it was: they include the privacy noise alone.

        They are no intervals for a population, and hold whatever the rows are.

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
            raise SpecError("this description has no release behind it; make it with release.describe()")
        return self._release

    def _intervals(self, level: float) -> Intervals:
        release, law = self._source, self._source.noise
        return Intervals(ReleasedSums(release), release.noise_sd, family_of(law.family), level, law.indicator_columns)

    def _by_column(
        self, of: str, allowed: Sequence[str], rows: Literal["gaussian", "table"], level: float
    ) -> Mapping[str, Any]:
        if of not in allowed:
            raise SpecError.unknown_name("of", of, allowed)
        about, numbered = self._intervals(level), list(enumerate(self.columns, start=1))
        missing = rows == "gaussian" and self._dependent
        if of in ("mean", "sd"):
            one = getattr(about, of)
            return {name: _PERSONS if missing else _or_reason(one, j, rows) for j, name in numbered}
        two = getattr(about, of)
        return {
            name: {other: _PERSONS if missing else _or_reason(two, i, j, rows) for j, other in numbered}
            for i, name in numbered
        }

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
            "not_estimable": {what: reason for what, value in found.items() if (reason := reason_of(value))},
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
        found = [f"Bounds found privately: {', '.join(self.found)}."] if self.found else []
        return [_NOTE.format(bounds=words), *found]

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
    """Describe the released columns; refused for a release of coefficients, which holds no moments."""
    if release.scaling is not None:
        raise SpecError(
            'means and correlations are of rows without weights, but a release with scaling "private" holds sums of '
            'weighted rows; release with scaling "declared" for them, or fit models, which count the weights'
        )
    if release.design.weights is not None:
        raise SpecError(
            "means and correlations are of rows without weights, but this release holds sums of rows with weights; "
            "release a design without weights for them, or fit models, which count the weights"
        )
    sums = ReleasedSums(release)
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
        rows_sd=float(release.noise_sd[0, 0]),
        found=tuple(release.found_bounds or ()),
        _release=release,
    )


def _or_reason(number: Callable[..., Result], *given: object) -> Result | NotEstimable:
    try:
        return number(*given)
    except NoNumberError as reason:
        return NotEstimable(str(reason))


def _plain(values: Mapping[str, Number]) -> dict[str, float | None]:
    return {name: known(value) for name, value in values.items()}


def _plain_ends(values: Mapping[str, Any]) -> dict[str, object]:
    """Pairs as lists, and null where there is none, at any depth."""
    return {
        name: _plain_ends(one) if isinstance(one, Mapping) else None if known(one) is None else list(one)
        for name, one in values.items()
    }


def _shown(value: Number) -> str:
    return shown_number(value, ".4g")


def _shown_ends(ends: Interval) -> str:
    return "not estimable" if isinstance(ends, NotEstimable) else f"{ends[0]:.4g} to {ends[1]:.4g}"
