"""Define and read the assumptions of a plan."""

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
from discreet.errors import SpecError, shown
from discreet.exact.arrays import FloatArray
from discreet.exact.rounding import nearest
from discreet.privacy.checks import is_number

# -- assumptions -------------------------------------------------------------------------------------------------------
# What a planner supposes about a table: rows, R^2, and shares, means, spreads and correlations of its columns.

Pair: TypeAlias = tuple[str, str]


def is_finite(value: object) -> TypeGuard[float]:
    """Whether a stated value is a finite number; true and false are not.

    >>> is_finite(2), is_finite(True), is_finite("2")
    (True, False, False)
    """
    return is_number(value) and math.isfinite(nearest(value))


@dataclass(frozen=True, slots=True)
class ColumnAssumption:
    """What is supposed of one declared column, in original units.

    Attributes
    ----------
    name
        Declared name.
    mean, sd
        Of a number, as it is after clipping to its bounds.
    share
        Of a boolean: share of true.
    shares
        Of levels, in declared order.
    formula
        Of a column that is computed from others, from which its shares, mean and sd follow.
    slopes
        Stated coefficients by released name; none where they follow from R^2.
    stated
        Which of `mean`, `sd`, `share` and `slope` the planner stated; the others are defaults.
    is_date
        Whether its mean is a number of days since 1970-01-01.
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
        """Whether all but its slopes follows from other columns."""
        return self.mean is None and self.share is None and self.shares is None

    def to_dict(self) -> dict[str, object]:
        """Each number with whether it is a default; slopes only where they are stated."""
        out: dict[str, object] = {"formula": self.formula} if self.computed else {}
        shares = None if self.shares is None else {str(level): share for level, share in self.shares}
        found = {"mean": self.mean, "sd": self.sd, "share": self.share if shares is None else shares}
        for key, value in found.items():
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
    """Every declared column of the table that is planned for, with the correlations of its numbers and booleans.

    `common` is the correlation of every pair of numeric columns that `pairs` does not list.
    """

    columns: tuple[ColumnAssumption, ...]
    common: float = 0.0
    pairs: tuple[tuple[Pair, float], ...] = ()

    def __getitem__(self, name: str) -> ColumnAssumption:
        return next(column for column in self.columns if column.name == name)

    @property
    def correlated(self) -> bool:
        """Whether any two columns are."""
        return self.common != 0 or any(value != 0 for _, value in self.pairs)


@dataclass(frozen=True, slots=True)
class Assumptions:
    """All that a plan supposes.

    Attributes
    ----------
    rows
        Number of rows that count.
    rsquared
        Share of the target's variance that the model explains.
    supposed
        The columns.
    target
        Name of the target.
    stated
        Which of `rsquared` and `correlation` the planner stated; `slopes` where R^2 follows from stated slopes.
    """

    rows: float
    rsquared: float
    supposed: Supposed
    target: str
    stated: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON, each with whether it is a default."""
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
        """What is supposed of what, in words."""
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
# Correlations that a planner states, and whether any table can have them.

_SMALLEST_EIGENVALUE: Final = 1e-8


def read_correlation(correlation: object, design: Design) -> tuple[float, tuple[tuple[Pair, float], ...]]:
    """One number for every pair of numeric columns, and those of pairs by name."""
    if correlation is None:
        return 0.0, ()
    if not isinstance(correlation, Mapping):
        return _checked_value(correlation, "correlation"), ()
    pairs: dict[Pair, float] = {}
    for pair, value in correlation.items():
        if not (isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(name, str) for name in pair)):
            raise SpecError(f"expected correlations of pairs of regressors{_example(design)}; got {shown(pair)}")
        if pair[0] == pair[1]:
            raise SpecError(f"expected two different columns in a correlation; got {shown(pair[0])} twice")
        if pair in pairs or pair[::-1] in pairs:
            raise SpecError(
                f"the correlation of {shown(pair[0])} and {shown(pair[1])} is given twice; give each pair once"
            )
        pairs[pair] = _checked_value(value, f"the correlation of {shown(pair[0])} and {shown(pair[1])}")
    return 0.0, tuple(pairs.items())


def _example(design: Design) -> str:
    numeric = tuple(name for name in design.regressors if isinstance(design.columns[name], Numeric))[:2]
    return f" such as {numeric!r}" if len(numeric) == 2 else ""


def _checked_value(value: object, what: str) -> float:
    if not (is_finite(value) and -1 < value < 1):
        raise SpecError(f"{what} is {shown(value)}; expected a number between -1 and 1")
    return float(value)


def check_correlations(design: Design, supposed: Supposed) -> None:
    """Refuse correlations that no table with these shares, means and sds can have."""
    allowed = [
        column.name
        for column in supposed.columns
        if column.shares is None and column.name != design.target and column.formula is None
    ]
    for (a, b), _ in supposed.pairs:
        for name in (a, b):
            if name == design.target:
                raise SpecError(
                    f"{name!r} is the target; how it depends on the columns is stated by rsquared, and correlations "
                    "are those between the columns"
                )
            if name not in allowed:
                raise SpecError(f"correlations: {SpecError.unknown_name('numeric or boolean column', name, allowed)}")
    if not supposed.correlated:
        return
    names, R = correlations(design, supposed)
    _check_pairs(design, supposed, names, R)
    if float(np.linalg.eigvalsh(R)[0]) < _SMALLEST_EIGENVALUE:
        raise SpecError(
            "the correlations contradict each other: their matrix is not positive definite; state smaller ones, or "
            "fewer pairs"
        )


def correlations(design: Design, supposed: Supposed) -> tuple[list[str], FloatArray]:
    """Names of the numeric and boolean columns of the table besides the target, and their correlation matrix."""
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
    """Products of distances to the bounds are not negative, so neither are their means."""
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
            raise SpecError(
                f"the correlation {R[i, j]:g} of {names[i]!r} and {names[j]!r} is not possible with these means, sds "
                f"and shares; expected a number from {max(low[i, j], -1):.3g} to {min(high[i, j], 1):.3g}"
            )


# -- assumption reading ------------------------------------------------------------------------------------------------
# Reading what a planner states: every bad value is refused, what is left out has a default.

Assume: TypeAlias = Mapping[str, Mapping[str, object]]
Correlation: TypeAlias = float | Mapping[Pair, float]

_EVEN: Final = 3**-0.5  # sd of a column that fills its bounds evenly, in half widths
_RSQUARED: Final = 0.5
_MOST_ROWS: Final = 1e12
_ADD_UP: Final = 0.005  # how far written shares may miss 1


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
    """Check what a planner states and fill in the defaults; the arguments are those of `discreet.plan`."""
    if not (is_finite(rows) and 1 <= rows <= _MOST_ROWS):
        raise SpecError(f"rows is {shown(rows)}; expected a number of rows from 1 to {_MOST_ROWS:g}")
    if rsquared is not None and not (is_finite(rsquared) and 0 <= rsquared < 1):
        raise SpecError(f"rsquared is {shown(rsquared)}; expected a share from 0 to below 1")
    spreads = _checked_spread("spread", spread), _checked_spread("target_spread", target_spread)
    if target_spread is not None and isinstance(design.columns[design.target], Boolean):
        raise SpecError(
            f"target_spread was given, but the target {design.target!r} is boolean: its spread follows from its share "
            "of true; state that share instead"
        )
    stated = _checked_table(design, assume)
    columns = tuple(
        _column(name, column, stated.get(name, {}), spreads[name == design.target], design)
        for name, column in design.columns.items()
    )
    common, pairs = read_correlation(correlation, design)
    supposed = Supposed(columns, common, pairs)
    check_correlations(design, supposed)
    given = {"rsquared": rsquared, "correlation": correlation}
    return Assumptions(
        rows=float(rows),
        rsquared=_RSQUARED if rsquared is None else float(rsquared),
        supposed=supposed,
        target=design.target,
        stated=tuple(key for key, value in given.items() if value is not None),
    )


def _checked_spread(name: str, value: object) -> float | None:
    if value is None:
        return None
    if not (is_finite(value) and 0 < value <= 1):
        raise SpecError(
            f"{name} is {shown(value)}; expected a number above 0 and at most 1, a fraction of the largest sd that the "
            "bounds allow"
        )
    return float(value)


def _checked_table(design: Design, assume: object) -> dict[str, Mapping[str, object]]:
    if assume is None:
        return {}
    if not isinstance(assume, Mapping):
        raise SpecError(
            f"assume: expected a mapping from columns to assumptions, such as {{'age': {{'mean': 40}}}}; "
            f"got {type(assume).__name__}"
        )
    for name, what in assume.items():
        if name not in design.columns:
            raise unknown_column(name, design.columns)
        keys = _keys(design, name)
        if not keys:
            raise SpecError(
                f"column {name!r} is computed by a formula; state assumptions about the columns that it uses"
            )
        if not isinstance(what, Mapping):
            raise SpecError(
                f"column {name!r}: expected a table with {' and '.join(keys)}, such as {{{keys[0]!r}: ...}}; "
                f"got {shown(what)}"
            )
        for key in what:
            if key not in keys:
                unknown = SpecError.unknown_name("assumption", key, keys)
                computed = "" if "slope" in keys[1:] or name == design.target else "it is computed by a formula; "
                raise SpecError(f"column {name!r}: {computed}{unknown}")
    return dict(assume)


def unknown_column(name: object, columns: Mapping[str, object]) -> SpecError:
    """Build the error for a name that is no declared column; the coefficients of a column's levels go together.

    >>> print(unknown_column("g[b]", {"x": (0, 1), "g": ["a", "b"]}))
    'g[b]' is one coefficient of the column 'g'; state those of all its levels together, by level
    """
    declared, bracket, _ = name.partition("[") if isinstance(name, str) else ("", "", "")
    if bracket and declared in columns:
        return SpecError(
            f"{shown(name)} is one coefficient of the column {declared!r}; state those of all its levels together, by "
            "level"
        )
    return SpecError.unknown_name("column", name, columns)


def _keys(design: Design, name: str) -> tuple[str, ...]:
    """What may be stated of a column."""
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
            raise SpecError(f"column {name!r}: the share of true is {shown(share)}; expected a number between 0 and 1")
        return ColumnAssumption(name, share=float(share), formula=formula, slopes=slopes, stated=keys)
    return ColumnAssumption(name, shares=_shares(name, column, stated), slopes=slopes, stated=keys)


def _slopes(name: str, column: Column, stated: Mapping[str, object]) -> tuple[tuple[str, float], ...]:
    """Stated coefficients by released name."""
    if "slope" not in stated:
        return ()
    value = stated["slope"]
    names, given = {name: name}, {name: value}
    if isinstance(column, Categorical | Interaction):
        if isinstance(column, Interaction):
            levels = list(column.labels)
        else:
            levels = [str(column.levels[code]) for code in column.indicator_codes]
        if not isinstance(value, Mapping):
            raise SpecError(f"column {name!r}: expected a slope for each of {', '.join(levels)}; got {shown(value)}")
        names = dict(zip(levels, column.released(name), strict=True))
        given = {str(level): slope for level, slope in value.items()}
    found: dict[str, float] = {}
    for key, slope in given.items():
        if key not in names:
            raise SpecError(f"column {name!r}: {SpecError.unknown_name('level', key, names)}")
        if not is_finite(slope):
            raise SpecError(f"column {name!r}: the slope is {shown(slope)}; expected a finite number")
        found[names[key]] = float(slope)
    absent = [key for key in names if key not in given]
    if absent:
        raise SpecError(f"column {name!r}: no slope is stated for {', '.join(absent)}; state one for each level")
    return tuple(found.items())


def _number(name: str, column: Numeric, stated: Mapping[str, object], spread: float) -> tuple[float, float]:
    low, high = column.bounds
    given = stated.get("mean", column.mid)
    mean = _days(given) if column.is_date else given
    if not (is_finite(mean) and low < mean < high):
        what = "date" if column.is_date else "number"
        raise SpecError(
            f"column {name!r}: the mean is {shown(given)}; expected a {what} inside the bounds {column.range_text}"
        )
    mean = float(mean)
    most = math.sqrt(mean - low) * math.sqrt(high - mean)
    sd = stated.get("sd", spread * most)
    if not (is_finite(sd) and 0 < sd <= most * (1 + 1e-12)):
        raise SpecError(
            f"column {name!r}: the sd is {shown(sd)}; expected a number above 0 and at most {most:.6g}, "
            "the largest sd of a "
            f"column with mean {column.value_text(mean)} inside the bounds {column.range_text}"
            f"{', in days' if column.is_date else ''}"
        )
    return mean, float(sd)


def _days(value: object) -> object:
    """A date, or its text, as a number of days; anything else as it is.

    >>> _days("1970-01-03"), _days(2.5)
    (2, 2.5)
    """
    text = value.isoformat() if is_date(value) and isinstance(value, date) else value
    found = day_of_text(text) if isinstance(text, str) else None
    return value if found is None else found


def _shares(name: str, column: Categorical, stated: Mapping[str, object]) -> tuple[tuple[Level, float], ...]:
    shares = stated.get("share", dict.fromkeys(column.levels, 1 / len(column.levels)))
    if not isinstance(shares, Mapping):
        raise SpecError(f"column {name!r}: expected a share for each level; got {shown(shares)}")
    known = {str(level): level for level in column.levels}
    found: dict[Level, float] = {}
    for key, share in shares.items():
        if str(key) not in known:
            raise SpecError(f"column {name!r}: {SpecError.unknown_name('level', key, known)}")
        if not (is_finite(share) and 0 < share < 1):
            raise SpecError(
                f"column {name!r}: the share of {str(key)!r} is {shown(share)}; expected a number between 0 and 1"
            )
        found[known[str(key)]] = float(share)
    absent = [str(level) for level in column.levels if level not in found]
    if absent:
        raise SpecError(f"column {name!r}: no share is stated for {', '.join(absent)}; state one for each level")
    total = math.fsum(found.values())
    if abs(total - 1) > _ADD_UP:
        raise SpecError(f"column {name!r}: expected shares that add up to 1, got {total:.4g}")
    return tuple((level, found[level] / total) for level in column.levels)
