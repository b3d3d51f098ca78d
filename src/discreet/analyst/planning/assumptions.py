"""Assumptions of a plan, and their checks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Final, TypeAlias, TypeGuard

import numpy as np

from discreet.design.columns import Boolean, Categorical, Column, Interaction, Level, Numeric, SplineBasis
from discreet.design.dates import date_text, day_of_text, is_date
from discreet.design.design import Design
from discreet.errors import OptionError, shown
from discreet.exact.arrays import FloatArray
from discreet.exact.rounding import nearest
from discreet.privacy.checks import is_number

# -- assumptions -------------------------------------------------------------------------------------------------------
# Assumptions about a table: number of rows, R^2, and shares, means, sds and correlations of columns.

Pair: TypeAlias = tuple[str, str]


def is_finite(value: object) -> TypeGuard[float]:
    """Return whether a value is a finite number and not a boolean."""
    return is_number(value) and math.isfinite(nearest(value))


@dataclass(frozen=True, slots=True)
class ColumnAssumption:
    """Assumptions about one declared column, in original units.

    Attributes
    ----------
    name
            Declared name.
    mean, sd
            Mean and standard deviation of a numeric column after clipping to its bounds.
    share
            Fraction of true values in a boolean column.
    shares
            Fractions of the levels of a categorical column, in declared order.
    formula
            Formula of a computed column. Its shares, mean and sd follow from other columns.
    slopes
            Stated coefficients by released name, or empty if they follow from R^2.
    stated
            The assumptions among `mean`, `sd`, `share` and `slope` that were stated. The others are defaults.
    is_date
            Whether the mean is a number of days since 1970-01-01.
    """

    name: str
    mean: float | None = None
    sd: float | None = None
    share: float | None = None
    shares: tuple[tuple[Level, float], ...] | None = None
    formula: str | None = None
    slopes: tuple[tuple[str, float], ...] = ()
    stated: tuple[str, ...] = ()
    is_date: bool = False

    @property
    def computed(self) -> bool:
        """Whether the distribution follows from other columns, so that only slopes can be stated."""
        return self.mean is None and self.share is None and self.shares is None

    def to_dict(self) -> dict[str, object]:
        """Return each assumption with its value and whether it is a default. Slopes are included only if stated."""
        out: dict[str, object] = {"formula": self.formula} if self.computed else {}
        shares = None if self.shares is None else {str(level): share for level, share in self.shares}
        values = {"mean": self.mean, "sd": self.sd, "share": self.share if shares is None else shares}
        for key, value in values.items():
            if value is not None:
                out[key] = {"value": value, "default": key not in self.stated}
        if self.slopes:
            out["slope"] = {"value": dict(self.slopes), "default": False}
        return out

    def __str__(self) -> str:
        slopes = "".join(
            f", slope {value:.4g}" if name == self.name else f", slope of {name} {value:.4g}"
            for name, value in self.slopes
        )
        if self.computed:
            return f"computed: {self.formula}{slopes}"
        if self.shares is not None:
            return self._marked("share", ", ".join(f"{level} {share:.4g}" for level, share in self.shares)) + slopes
        if self.share is not None:
            return self._marked("share", f"share true {self.share:.4g}") + slopes
        mean, days = (date_text(self.mean or 0.0), " days") if self.is_date else (f"{self.mean:.6g}", "")
        return f"{self._marked('mean', f'mean {mean}')}, {self._marked('sd', f'sd {self.sd:.6g}{days}')}{slopes}"

    def _marked(self, key: str, text: str) -> str:
        return text if key in self.stated else f"{text} (default)"


@dataclass(frozen=True, slots=True)
class Supposed:
    """Assumptions about all declared columns, with the correlations among numeric and boolean columns."""

    columns: tuple[ColumnAssumption, ...]
    common: float = 0.0  # correlation of every pair of numeric columns that `pairs` does not list
    pairs: tuple[tuple[Pair, float], ...] = ()

    def __getitem__(self, name: str) -> ColumnAssumption:
        return next(column for column in self.columns if column.name == name)

    @property
    def correlated(self) -> bool:
        """Whether any two columns are correlated."""
        return self.common != 0 or any(value != 0 for _, value in self.pairs)


@dataclass(frozen=True, slots=True)
class Assumptions:
    """All assumptions of a plan.

    Attributes
    ----------
    rows
            Number of rows that enter the release.
    rsquared
            Fraction of the target's variance that the model explains.
    supposed
            Assumptions about the columns.
    target
            Name of the target.
    stated
            `rsquared` and `correlation` if they were stated, and `slopes` if R^2 follows from stated slopes.
    """

    rows: float
    rsquared: float
    supposed: Supposed
    target: str
    stated: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return plain values for JSON, each with a flag that says whether it is a default."""
        pairs = [{"columns": list(pair), "value": value} for pair, value in self.supposed.pairs]
        return {
            "rows": self.rows,
            "rsquared": {"value": self.rsquared, "default": not {"rsquared", "slopes"} & set(self.stated)},
            "correlation": {
                "value": self.supposed.common,
                "default": "correlation" not in self.stated,
                "pairs": pairs,
            },
            "columns": {column.name: column.to_dict() for column in self.supposed.columns},
        }

    def lines(self) -> list[tuple[str, str]]:
        """Return each assumption as a label and a text."""
        default = {key: "" if key in self.stated else " (default)" for key in ("rsquared", "correlation")}
        out = [
            (f"{column.name}, the target" if column.name == self.target else column.name, str(column))
            for column in self.supposed.columns
        ]
        origin = " (follows from the slopes)" if "slopes" in self.stated else default["rsquared"]
        out.append(("variance explained", f"{self.rsquared:.4g}{origin}"))
        others = " of other numeric columns" if self.supposed.pairs else " of numeric columns"
        out += [(f"correlation of {a} and {b}", f"{value:g}") for (a, b), value in self.supposed.pairs]
        out.append((f"correlation{others}", f"{self.supposed.common:g}{default['correlation']}"))
        return out


# -- correlation -------------------------------------------------------------------------------------------------------
# Stated correlations, and a check that some table can have them.

_SMALLEST_EIGENVALUE: Final = 1e-8


def read_correlation(correlation: object, design: Design) -> tuple[float, tuple[tuple[Pair, float], ...]]:
    """Return the correlation of all numeric columns, and the correlations of named pairs."""
    if correlation is None:
        return 0.0, ()
    if not isinstance(correlation, Mapping):
        return _checked_value(correlation, "correlation"), ()
    pairs: dict[Pair, float] = {}
    for pair, value in correlation.items():
        if not (isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(name, str) for name in pair)):
            raise OptionError(option="correlation", given=pair, allowed=f"pairs of regressors{_example(design)}")
        if pair[0] == pair[1]:
            raise OptionError(
                f"expected two different columns in a correlation, got {shown(pair[0])} twice",
                option="correlation",
                given=pair,
            )
        if pair in pairs or pair[::-1] in pairs:
            raise OptionError(
                f"expected each pair of columns once, got a correlation of {shown(pair[0])} and {shown(pair[1])} twice",
                code="repeated-correlation",
                option="correlation",
                given=pair,
                remedy="give each pair of columns once",
            )
        pairs[pair] = _checked_value(value, f"the correlation of {shown(pair[0])} and {shown(pair[1])}")
    return 0.0, tuple(pairs.items())


def _example(design: Design) -> str:
    numeric = tuple(name for name in design.regressors if isinstance(design.columns[name], Numeric))[:2]
    return f" such as {numeric!r}" if len(numeric) == 2 else ""


def _checked_value(value: object, what: str) -> float:
    if not (is_finite(value) and -1 < value < 1):
        raise OptionError(
            f"expected a number between -1 and 1 for {what}, got {shown(value)}",
            option="correlation",
            given=value,
            allowed="a number between -1 and 1",
        )
    return float(value)


def check_correlations(design: Design, supposed: Supposed) -> None:
    """Raise if no table with these shares, means and sds can have the correlations."""
    allowed = [
        column.name
        for column in supposed.columns
        if column.shares is None and column.name != design.target and column.formula is None
    ]
    for (a, b), _ in supposed.pairs:
        for name in (a, b):
            if name == design.target:
                raise OptionError(
                    f"got a correlation with the target {name!r}, but correlations must be between regressors",
                    code="correlation-of-target",
                    option="correlation",
                    given=name,
                    remedy="state R^2 or slopes for the target",
                )
            if name not in allowed:
                raise OptionError.unknown_name(
                    "numeric or boolean column", name, allowed, " in a correlation", option="correlation"
                )
    if not supposed.correlated:
        return
    names, R = correlations(design, supposed)
    _check_pairs(design, supposed, names, R)
    if float(np.linalg.eigvalsh(R)[0]) < _SMALLEST_EIGENVALUE:
        raise OptionError(
            "the stated correlations contradict each other, because their matrix is not positive definite",
            code="impossible-correlation",
            option="correlation",
            remedy="state smaller correlations, or fewer pairs",
        )


def correlations(design: Design, supposed: Supposed) -> tuple[list[str], FloatArray]:
    """Return the names of the numeric and boolean regressors, and their correlation matrix."""
    columns = [
        column
        for column in supposed.columns
        if column.shares is None and column.name != design.target and column.formula is None
    ]
    numeric = np.array([column.mean is not None for column in columns], dtype=bool)
    R = supposed.common * np.outer(numeric, numeric)
    np.fill_diagonal(R, 1.0)
    names = [column.name for column in columns]
    for (a, b), value in supposed.pairs:
        i, j = names.index(a), names.index(b)
        R[i, j] = R[j, i] = value
    return names, R


def _check_pairs(design: Design, supposed: Supposed, names: list[str], R: FloatArray) -> None:
    """Check each pair: the mean product of two distances to bounds cannot be negative."""
    below, above = [], []
    for name in names:
        assumed, column = supposed[name], design.columns[name]
        if isinstance(column, Numeric) and assumed.mean is not None and assumed.sd is not None:
            below.append((assumed.mean - column.bounds[0]) / assumed.sd)
            above.append((column.bounds[1] - assumed.mean) / assumed.sd)
        else:
            share = assumed.share or 0.0
            sd = math.sqrt(share * (1 - share))
            below.append(share / sd)
            above.append((1 - share) / sd)
    low = np.maximum(-np.outer(below, below), -np.outer(above, above))
    high = np.minimum(np.outer(below, above), np.outer(above, below))
    for i, j in np.argwhere((low - 1e-12 > R) | (high + 1e-12 < R)):
        if i < j:
            allowed = f"a number from {max(low[i, j], -1):.3g} to {min(high[i, j], 1):.3g}"
            raise OptionError(
                f"expected {allowed} for the correlation of {names[i]!r} and {names[j]!r}, given their means, sds and "
                f"shares, got {R[i, j]:g}",
                code="impossible-correlation",
                option="correlation",
                given=float(R[i, j]),
                allowed=allowed,
            )


# -- assumption reading ------------------------------------------------------------------------------------------------
# Read stated assumptions: check every value and fill in defaults.

Assume: TypeAlias = Mapping[str, Mapping[str, object]]
Correlation: TypeAlias = float | Mapping[Pair, float]

_EVEN: Final = 3**-0.5  # sd of a uniform column, as a fraction of half its range
_RSQUARED: Final = 0.5
_MOST_ROWS: Final = 1e12
_ADD_UP: Final = 0.005  # tolerance for the sum of shares


def read_assumptions(
    design: Design,
    rows: object,
    *,
    rsquared: object = None,
    spread: object = None,
    target_spread: object = None,
    assume: object = None,
    correlation: object = None,
) -> Assumptions:
    """Check stated assumptions and fill in defaults. Arguments are as for `discreet.plan`."""
    if not (is_finite(rows) and 1 <= rows <= _MOST_ROWS):
        raise OptionError(option="rows", given=rows, allowed=f"a number from 1 to {_MOST_ROWS:g}")
    if rsquared is not None and not (is_finite(rsquared) and 0 <= rsquared < 1):
        raise OptionError(option="rsquared", given=rsquared, allowed="a number from 0 to below 1")
    spreads = _checked_spread("spread", spread), _checked_spread("target_spread", target_spread)
    if target_spread is not None and isinstance(design.columns[design.target], Boolean):
        raise OptionError(
            f"the target {design.target!r} is boolean, so its spread cannot be set",
            code="spread-of-boolean",
            option="target_spread",
            given=target_spread,
            remedy="state the share of true values instead",
        )
    stated = _checked_table(design, assume)
    columns = tuple(
        _column(name, column, stated.get(name, {}), spreads[name == design.target], design)
        for name, column in design.columns.items()
    )
    common, pairs = read_correlation(correlation, design)
    supposed = Supposed(columns, common, pairs)
    check_correlations(design, supposed)
    options = {"rsquared": rsquared, "correlation": correlation}
    return Assumptions(
        rows=float(rows),
        rsquared=_RSQUARED if rsquared is None else float(rsquared),
        supposed=supposed,
        target=design.target,
        stated=tuple(key for key, value in options.items() if value is not None),
    )


def _checked_spread(name: str, value: object) -> float | None:
    if value is None:
        return None
    if not (is_finite(value) and 0 < value <= 1):
        raise OptionError(
            option=name,
            given=value,
            allowed="a number above 0 and at most 1",
            remedy="1 means the largest standard deviation that the bounds allow",
        )
    return float(value)


def _checked_table(design: Design, assume: object) -> dict[str, Mapping[str, object]]:
    if assume is None:
        return {}
    if not isinstance(assume, Mapping):
        raise OptionError(option="assume", given=assume, allowed="a mapping from columns to assumptions")
    for name, what in assume.items():
        if name not in design.columns:
            raise unknown_column(name, design.columns)
        keys = _keys(design, name)
        if not keys:
            raise _wrong(name, "a formula computes this column", "state assumptions about the columns in the formula")
        if not isinstance(what, Mapping):
            raise _wrong(name, f"expected a mapping with {' and '.join(keys)}, got {shown(what)}")
        for key in what:
            if key not in keys:
                unknown = OptionError.unknown_name("assumption", key, keys)
                computed = "" if "slope" in keys[1:] or name == design.target else "a formula computes this column; "
                raise _wrong(name, f"{computed}{unknown}")
    return dict(assume)


def _wrong(column: str, problem: str, remedy: str | None = None) -> OptionError:
    message = f"column {column!r}: {problem}"
    return OptionError(message, code="invalid-assumption", option="assume", remedy=remedy, column=column)


def unknown_column(name: object, columns: Mapping[str, object]) -> OptionError:
    """Build the error for an undeclared column, or for a single coefficient of a column with levels.

    >>> print(unknown_column("g[b]", {"x": (0, 1), "g": ["a", "b"]}))
    expected a column, got 'g[b]', a single coefficient of 'g'; state the values of all levels of 'g' together
    """
    declared, bracket, _ = name.partition("[") if isinstance(name, str) else ("", "", "")
    if bracket and declared in columns:
        return OptionError(
            f"expected a column, got {shown(name)}, a single coefficient of {declared!r}",
            code="one-level-only",
            option="assume",
            given=name,
            remedy=f"state the values of all levels of {declared!r} together",
        )
    return OptionError.unknown_name("column", name, columns, option="assume")


def _keys(design: Design, name: str) -> tuple[str, ...]:
    """Return the assumptions that may be stated about a column."""
    column = design.columns[name]
    own = ("mean", "sd") if isinstance(column, Numeric) else ("share",)
    if name == design.target:
        return own
    slope = ("slope",) if name in design.regressors and not isinstance(column, SplineBasis) else ()
    return slope if column.formula is not None else (*own, *slope)


def _column(
    name: str, column: Column, stated: Mapping[str, object], spread: float | None, design: Design
) -> ColumnAssumption:
    formula = None if column.formula is None else column.formula.text
    keys, slopes = tuple(stated), _slopes(name, column, stated)
    if isinstance(column, SplineBasis | Interaction) or (formula is not None and name != design.target):
        return ColumnAssumption(name, formula=formula, slopes=slopes, stated=keys)
    if isinstance(column, Numeric):
        mean, sd = _number(name, column, stated, _EVEN if spread is None else spread)
        if spread is not None and "sd" not in keys:
            keys = (*keys, "sd")
        return ColumnAssumption(
            name, mean=mean, sd=sd, formula=formula, slopes=slopes, stated=keys, is_date=column.is_date
        )
    if isinstance(column, Boolean):
        share = stated.get("share", 0.5)
        if not (is_finite(share) and 0 < share < 1):
            raise _wrong(name, f"expected a number between 0 and 1 for the share of true values, got {shown(share)}")
        return ColumnAssumption(name, share=float(share), formula=formula, slopes=slopes, stated=keys)
    return ColumnAssumption(name, shares=_shares(name, column, stated), slopes=slopes, stated=keys)


def _slopes(name: str, column: Column, stated: Mapping[str, object]) -> tuple[tuple[str, float], ...]:
    """Return the stated coefficients by released name."""
    if "slope" not in stated:
        return ()
    value = stated["slope"]
    names, by_level = {name: name}, {name: value}
    if isinstance(column, Categorical | Interaction):
        if isinstance(column, Interaction):
            levels = list(column.labels)
        else:
            levels = [str(column.levels[code]) for code in column.indicator_codes]
        if not isinstance(value, Mapping):
            raise _wrong(name, f"expected a slope for each of {', '.join(levels)}, got {shown(value)}")
        names = dict(zip(levels, column.released(name), strict=True))
        by_level = {str(level): slope for level, slope in value.items()}
    slopes: dict[str, float] = {}
    for key, slope in by_level.items():
        if key not in names:
            raise _wrong(name, str(OptionError.unknown_name("level", key, names)))
        if not is_finite(slope):
            raise _wrong(name, f"expected a finite number for the slope, got {shown(slope)}")
        slopes[names[key]] = float(slope)
    absent = [key for key in names if key not in by_level]
    if absent:
        raise _wrong(name, f"no slope is stated for {', '.join(absent)}", "state a slope for every level")
    return tuple(slopes.items())


def _number(name: str, column: Numeric, stated: Mapping[str, object], spread: float) -> tuple[float, float]:
    low, high = column.bounds
    stated_mean = stated.get("mean", column.mid)
    mean = _days(stated_mean) if column.is_date else stated_mean
    if not (is_finite(mean) and low < mean < high):
        what = "date" if column.is_date else "number"
        raise _wrong(name, f"the mean must be a {what} inside the bounds {column.range_text}, got {shown(stated_mean)}")
    mean = float(mean)
    most = math.sqrt(mean - low) * math.sqrt(high - mean)
    sd = stated.get("sd", spread * most)
    if not (is_finite(sd) and 0 < sd <= most * (1 + 1e-12)):
        raise _wrong(
            name,
            f"expected a number above 0 and at most {most:.6g}{' days' if column.is_date else ''} for the sd, the "
            f"largest sd with mean {column.value_text(mean)} inside the bounds {column.range_text}, got {shown(sd)}",
        )
    return mean, float(sd)


def _days(value: object) -> object:
    """Convert a date, or its text, to days since 1970-01-01. Return anything else unchanged."""
    text = value.isoformat() if is_date(value) and isinstance(value, date) else value
    day = day_of_text(text) if isinstance(text, str) else None
    return value if day is None else day


def _shares(name: str, column: Categorical, stated: Mapping[str, object]) -> tuple[tuple[Level, float], ...]:
    shares = stated.get("share", dict.fromkeys(column.levels, 1 / len(column.levels)))
    if not isinstance(shares, Mapping):
        raise _wrong(name, f"expected a share for each level, got {shown(shares)}")
    levels = {str(level): level for level in column.levels}
    checked: dict[Level, float] = {}
    for key, share in shares.items():
        if str(key) not in levels:
            raise _wrong(name, str(OptionError.unknown_name("level", key, levels)))
        if not (is_finite(share) and 0 < share < 1):
            raise _wrong(name, f"expected a number between 0 and 1 for the share of {str(key)!r}, got {shown(share)}")
        checked[levels[str(key)]] = float(share)
    absent = [str(level) for level in column.levels if level not in checked]
    if absent:
        raise _wrong(name, f"no share is stated for {', '.join(absent)}", "state a share for every level")
    total = math.fsum(checked.values())
    if abs(total - 1) > _ADD_UP:
        raise _wrong(name, f"expected shares that add up to 1, got a sum of {total:.4g}")
    return tuple((level, checked[level] / total) for level in column.levels)
