"""Reading what a planner states: every bad value is refused, what is left out has a default."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, TypeAlias, TypeGuard

import numpy as np

from discreet.analyst.assumptions import Assumptions, ColumnAssumption, Pair, Supposed
from discreet.design.columns import Boolean, Categorical, Column, Level, Numeric, SplineBasis
from discreet.design.model import Design
from discreet.errors import SpecError
from discreet.releases import FloatArray

Assume: TypeAlias = Mapping[str, Mapping[str, object]]
Correlation: TypeAlias = float | Mapping[Pair, float]

_EVEN: Final = 3**-0.5  # sd of a column that fills its bounds evenly, in half widths
_RSQUARED: Final = 0.5
_MOST_ROWS: Final = 1e12
_ADD_UP: Final = 0.005  # how far written shares may miss 1
_SMALLEST_EIGENVALUE: Final = 1e-8


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
        raise SpecError(f"rows is {rows!r}; expected a number of rows from 1 to {_MOST_ROWS:g}")
    if rsquared is not None and not (is_finite(rsquared) and 0 <= rsquared < 1):
        raise SpecError(f"rsquared is {rsquared!r}; expected a share from 0 to below 1")
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
    common, pairs = _read_correlation(correlation)
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


def is_finite(value: object) -> TypeGuard[float]:
    """Whether a stated value is a finite number; true and false are not."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _checked_spread(name: str, value: object) -> float | None:
    if value is None:
        return None
    if not (is_finite(value) and 0 < value <= 1):
        raise SpecError(f"{name} is {value!r}; expected a number above 0 and at most 1, in half widths of the bounds")
    return float(value)


def _checked_table(design: Design, assume: object) -> dict[str, Mapping[str, object]]:
    if assume is None:
        return {}
    if not isinstance(assume, Mapping):
        raise SpecError(
            f"assume is a table of column to what is supposed of it, such as {{'age': {{'mean': 40}}}}; "
            f"got {type(assume).__name__}"
        )
    for name, what in assume.items():
        if name not in design.columns:
            raise SpecError.unknown_name("column", str(name), design.columns)
        keys = _keys(design.columns[name])
        computed = design.columns[name].formula is not None
        if computed and name != design.target:
            raise SpecError(
                f"column {name!r} is computed by a formula; state what is supposed of the columns that it uses"
            )
        if not isinstance(what, Mapping):
            raise SpecError(
                f"column {name!r}: expected a table with {' and '.join(keys)}, such as {{{keys[0]!r}: ...}}; "
                f"got {what!r}"
            )
        for key in what:
            if key not in keys:
                raise SpecError(f"column {name!r}: {SpecError.unknown_name('assumption', str(key), keys)}")
    return dict(assume)


def _keys(column: Column) -> tuple[str, ...]:
    return ("mean", "sd") if isinstance(column, Numeric) else ("share",)


def _column(
    name: str, column: Column, stated: Mapping[str, object], spread: float | None, design: Design
) -> ColumnAssumption:
    formula = None if column.formula is None else column.formula.text
    if isinstance(column, SplineBasis) or (formula is not None and name != design.target):
        return ColumnAssumption(name, formula=formula)
    keys = tuple(stated)
    if isinstance(column, Numeric):
        mean, sd = _number(name, column, stated, _EVEN if spread is None else spread)
        if spread is not None and "sd" not in keys:
            keys = (*keys, "sd")
        return ColumnAssumption(name, mean=mean, sd=sd, formula=formula, stated=keys)
    if isinstance(column, Boolean):
        share = stated.get("share", 0.5)
        if not (is_finite(share) and 0 < share < 1):
            raise SpecError(f"column {name!r}: the share of true is {share!r}; expected a number between 0 and 1")
        return ColumnAssumption(name, share=float(share), formula=formula, stated=keys)
    return ColumnAssumption(name, shares=_shares(name, column, stated), stated=keys)


def _number(name: str, column: Numeric, stated: Mapping[str, object], spread: float) -> tuple[float, float]:
    low, high = column.bounds
    mean = stated.get("mean", column.mid)
    if not (is_finite(mean) and low < mean < high):
        raise SpecError(
            f"column {name!r}: the mean is {mean!r}; expected a number inside the bounds [{low:g}, {high:g}]"
        )
    mean = float(mean)
    most = math.sqrt(mean - low) * math.sqrt(high - mean)
    sd = stated.get("sd", spread * most)
    if not (is_finite(sd) and 0 < sd <= most * (1 + 1e-12)):
        raise SpecError(
            f"column {name!r}: the sd is {sd!r}; expected a number above 0 and at most {most:.6g}, the largest sd of a "
            f"column with mean {mean:g} inside the bounds [{low:g}, {high:g}]"
        )
    return mean, float(sd)


def _shares(name: str, column: Categorical, stated: Mapping[str, object]) -> tuple[tuple[Level, float], ...]:
    shares = stated.get("share", dict.fromkeys(column.levels, 1 / len(column.levels)))
    if not isinstance(shares, Mapping):
        raise SpecError(f"column {name!r}: expected a share for each level; got {shares!r}")
    known = {str(level): level for level in column.levels}
    found: dict[Level, float] = {}
    for key, share in shares.items():
        if str(key) not in known:
            raise SpecError(f"column {name!r}: {SpecError.unknown_name('level', str(key), known)}")
        if not (is_finite(share) and 0 < share < 1):
            raise SpecError(
                f"column {name!r}: the share of {str(key)!r} is {share!r}; expected a number between 0 and 1"
            )
        found[known[str(key)]] = float(share)
    absent = [str(level) for level in column.levels if level not in found]
    if absent:
        raise SpecError(f"column {name!r}: no share is stated for {', '.join(absent)}; state one for each level")
    total = math.fsum(found.values())
    if abs(total - 1) > _ADD_UP:
        raise SpecError(f"column {name!r}: expected shares that add up to 1, got {total:.4g}")
    return tuple((level, found[level] / total) for level in column.levels)


def _read_correlation(correlation: object) -> tuple[float, tuple[tuple[Pair, float], ...]]:
    if correlation is None:
        return 0.0, ()
    if not isinstance(correlation, Mapping):
        return _checked_value(correlation, "correlation"), ()
    pairs: dict[Pair, float] = {}
    for pair, value in correlation.items():
        if not (isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(name, str) for name in pair)):
            raise SpecError(f"expected correlations of pairs such as ('age', 'income'); got {pair!r}")
        if pair[0] == pair[1]:
            raise SpecError(f"expected two different columns in a correlation; got {pair[0]!r} twice")
        if pair in pairs or pair[::-1] in pairs:
            raise SpecError(f"the correlation of {pair[0]!r} and {pair[1]!r} is given twice; give each pair once")
        pairs[pair] = _checked_value(value, f"the correlation of {pair[0]!r} and {pair[1]!r}")
    return 0.0, tuple(pairs.items())


def _checked_value(value: object, what: str) -> float:
    if not (is_finite(value) and -1 < value < 1):
        raise SpecError(f"{what} is {value!r}; expected a number between -1 and 1")
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
                raise SpecError(
                    f"correlations: {SpecError.unknown_name('numeric or boolean column of the table', name, allowed)}"
                )
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
