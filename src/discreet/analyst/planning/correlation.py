"""Correlations that a planner states, and whether any table can have them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

import numpy as np

from discreet.analyst.planning.assumptions import Pair, Supposed, is_finite
from discreet.design.columns import Numeric
from discreet.design.model import Design
from discreet.errors import SpecError, shown
from discreet.exact.arrays import FloatArray

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
