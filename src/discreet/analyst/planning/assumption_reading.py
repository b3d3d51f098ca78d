"""Reading what a planner states: every bad value is refused, what is left out has a default."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date
from typing import Final, TypeAlias

from discreet.analyst.planning.assumptions import Assumptions, ColumnAssumption, Pair, Supposed, is_finite
from discreet.analyst.planning.correlation import check_correlations, read_correlation
from discreet.design.columns import Boolean, Categorical, Column, Level, Numeric, SplineBasis
from discreet.design.dates import day_of_text, is_date
from discreet.design.interactions import Interaction
from discreet.design.model import Design
from discreet.errors import SpecError, shown

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
