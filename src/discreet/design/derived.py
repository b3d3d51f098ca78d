"""Derived columns: bounds by interval arithmetic from declared ones, values from the cells of their own row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt

from discreet.design.columns import (
    Base,
    Boolean,
    Categorical,
    Column,
    Derived,
    Level,
    Numeric,
    SplineBasis,
    checked_bounds,
)
from discreet.design.interactions import Interaction
from discreet.design.problems import Problems
from discreet.errors import DesignError, DesignProblem, SpecError
from discreet.exact.arrays import FloatArray

if TYPE_CHECKING:
    from discreet.design.formulas.formula import Formula


def resolved(
    problems: Problems, columns: Mapping[str, Column | Derived], wrong: Mapping[str, object]
) -> dict[str, Column]:
    """Every column with its bounds or levels, those of derived columns from the columns they use, in the same order.

    Columns whose formula is wrong are left out. `wrong` holds what was declared for columns that are wrong by
    themselves; a formula that uses one of them is not judged.
    """
    derived = {
        name: _of_its_kind(problems, name, column) for name, column in columns.items() if isinstance(column, Derived)
    }
    lost = set(wrong)
    dates = {name: one.bounds for name, one in columns.items() if isinstance(one, Numeric) and one.is_date}
    _bind(problems, derived, lost, lambda formula: formula.with_dates(dates))
    levels = _levels({**columns, **derived})
    _bind(problems, derived, lost, lambda formula: formula.with_levels(levels))
    formulas = {name: column.formula for name, column in derived.items()}
    ranges = {name: _range(column) for name, column in columns.items() if isinstance(column, Numeric | Boolean)}
    ready: dict[str, Column] = {name: column for name, column in columns.items() if not isinstance(column, Derived)}
    for name in _sequence(problems, formulas, ([*ranges, *wrong], [*levels, *wrong]), lost):
        if lost.isdisjoint(formulas[name].names):
            lost.add(name)
            with problems.at(column=name, key="formula"):
                _check_known(formulas[name], columns)
                ready[name] = made = _made(derived[name], ranges, ready)
                lost.discard(name)
                if isinstance(made, Numeric | Boolean):
                    ranges[name] = _range(made)
    used = {name for formula in formulas.values() for name in formula.names}
    for name, column in ready.items():
        unreleased = isinstance(column, Numeric | Boolean) and not column.is_released
        if unreleased and name not in used and not any(_mentions(one, name) for one in wrong.values()):
            problems.add(
                "it is not released and is not used in any formula; delete it or release it", column=name, key="release"
            )
    return {name: ready[name] for name in columns if name in ready}


def _bind(problems: Problems, derived: dict[str, Derived], lost: set[str], bound: Callable[[Formula], Formula]) -> None:
    """Give every formula what it needs of the columns that it names; those that ask for what is not there are lost."""
    for name, one in derived.items():
        if name in lost or not lost.isdisjoint(one.formula.names):
            continue
        lost.add(name)
        with problems.at(column=name, key="formula"):
            derived[name] = replace(one, formula=bound(one.formula))
            lost.discard(name)


def _levels(columns: Mapping[str, Column | Derived]) -> dict[str, tuple[Level, ...]]:
    """Levels of every column that has some, those of a formula from the formula alone."""
    declared = {name: column.levels for name, column in columns.items() if isinstance(column, Categorical)}
    made = {name: column.formula for name, column in columns.items() if isinstance(column, Derived)}
    return declared | {name: formula.levels() for name, formula in made.items() if formula.kind == "levels"}


def _sequence(
    problems: Problems, formulas: Mapping[str, Formula], declared: tuple[list[str], list[str]], lost: set[str]
) -> tuple[str, ...]:
    """The formulas that can be judged, in an order of use; those that cannot be are added to `lost`."""
    # most designs have no formula, and do without its language
    from discreet.design.formulas.formula import order

    while True:
        _lose_dependents(formulas, lost)
        before = len(problems.found)
        with problems.at():
            return order({name: formula for name, formula in formulas.items() if name not in lost}, *declared)
        # of a cycle one column is named, and all others depend on it
        lost |= {problem.column for problem in problems.found[before:]}


def _check_known(formula: Formula, columns: Mapping[str, Column | Derived]) -> None:
    """Refuse a formula of a column whose bounds are not known before the release: those of the formula follow."""
    for used in formula.names:
        column = columns.get(used)
        if isinstance(column, Numeric) and column.is_searched:
            raise SpecError(
                f"the formula uses {used!r}, whose bounds are private, so its own are not known; declare bounds of "
                f"{used!r}, or leave the formula out"
            )


def _mentions(declaration: object, name: str) -> bool:
    """Whether a declaration that is wrong may use a column: in a formula, or in what was meant as one."""
    texts = declaration.values() if isinstance(declaration, Mapping) else ()
    return any(isinstance(text, str) and name in text for text in texts)


def _lose_dependents(formulas: Mapping[str, Formula], lost: set[str]) -> None:
    """A formula that uses what cannot be judged cannot be judged either."""
    while found := {name for name, one in formulas.items() if name not in lost and not lost.isdisjoint(one.names)}:
        lost |= found


def _of_its_kind(problems: Problems, name: str, column: Derived) -> Derived:
    """The column without what a formula of its kind does not take, which is a problem whatever the columns it uses."""
    kind, bounds, reference = column.formula.kind, column.bounds, column.reference
    if kind != "numeric" and bounds is not None:
        problems.add(f"a formula of kind {kind!r} takes no bounds; leave them out", column=name, key="bounds")
        bounds = None
    if reference is not None:
        with problems.at(column=name, key="reference"):
            if kind != "levels":
                raise SpecError("'reference' is only for a column with levels, such as cut(...)")
            return Derived(column.formula, None, Categorical(column.formula.levels(), reference).reference)
    return Derived(column.formula, bounds)


def _made(column: Derived, ranges: Mapping[str, tuple[float, float]], ready: Mapping[str, Column]) -> Column:
    formula = column.formula
    if formula.kind == "interaction":
        return _interaction(formula, [(name, ready[name]) for name in formula.names])
    low, high = formula.interval(ranges)
    if formula.kind == "levels":
        return Categorical(formula.levels(), column.reference, formula=formula)
    if formula.kind == "spline":
        return SplineBasis(formula, tuple((name, ranges[name]) for name in formula.names))
    if formula.kind == "boolean":
        return Boolean(formula=formula)
    if column.bounds is None:
        return Numeric(checked_bounds((low, high)), formula=formula)
    if not low <= column.bounds[0] < column.bounds[1] <= high:
        said = (
            f"the bounds [{column.bounds[0]:g}, {column.bounds[1]:g}] are not inside [{low:g}, {high:g}], "
            "the range of the formula; declare bounds inside that range"
        )
        raise DesignError([DesignProblem(said, key="bounds")])
    return Numeric(column.bounds, formula=formula)


def _interaction(formula: Formula, parts: list[tuple[str, Column]]) -> Interaction:
    factors = tuple((name, column) for name, column in parts if isinstance(column, Categorical))
    if not factors:
        one, other = formula.names
        raise SpecError(
            f"an interaction needs a column with levels, and {one!r} and {other!r} have none; write a product with *"
        )
    for name, column in parts:
        if isinstance(column, Numeric | Boolean):
            bounds = column.bounds if isinstance(column, Numeric) else None
            return Interaction(formula, factors, name, bounds, whole=not column.is_released)
    return Interaction(formula, factors)


def _range(column: Numeric | Boolean) -> tuple[float, float]:
    return column.bounds if isinstance(column, Numeric) else (0.0, 1.0)


def has_own_bounds(columns: Mapping[str, Column], column: Numeric) -> bool:
    """Whether the bounds of a formula are tighter than what follows from the columns it uses, so that they may clip."""
    ranges = {name: _range(used) for name, used in columns.items() if isinstance(used, Numeric | Boolean)}
    return column.formula is not None and column.formula.interval(ranges) != column.bounds


def outside_bounds(
    columns: Mapping[str, Column], names: Iterable[str], base: Mapping[str, FloatArray]
) -> npt.NDArray[np.bool_]:
    """Whether the value of each named numeric column lies outside its bounds, row by row, shape (names, m).

    Parameters
    ----------
    columns
        All declared columns.
    names
        Numeric ones among them; a formula is computed from values inside their bounds, like everywhere.
    base
        Finite values of every column of the table that they need, shape (m,).
    """
    marks = []
    values: dict[str, FloatArray] = {}
    for name in names:
        column = cast("Numeric", columns[name])
        low, high = column.bounds
        plain = unclipped(columns, column, name, base, values)
        marks.append((plain < low) | (plain > high))
    return np.array(marks)


def unclipped(
    columns: Mapping[str, Column],
    column: Numeric,
    name: str,
    base: Mapping[str, FloatArray],
    values: dict[str, FloatArray],
) -> FloatArray:
    """Values of a numeric column before they are clipped; a formula sees values inside their bounds.

    >>> columns = resolved(Problems(), {"x": Numeric((1, 9)), "r": Numeric((0, 1))}, {})
    >>> unclipped(columns, columns["x"], "x", {"x": np.array([0.5, 12.0])}, {}).tolist()
    [0.5, 12.0]
    """
    return base[name] if column.formula is None else _computed(columns, base, values, column.formula)


def needed(columns: Mapping[str, Column], wanted: Iterable[str]) -> dict[str, Base]:
    """The columns of the table that the wanted ones are or are computed from, in the order they are met."""
    found: dict[str, Base] = {}
    for name in wanted:
        column = columns[name]
        if column.formula is None:
            found[name] = column
        else:
            found |= needed(columns, column.formula.names)
    return found


def completed(columns: Mapping[str, Column], wanted: Iterable[str], base: Mapping[str, FloatArray]) -> list[FloatArray]:
    """Arrays of the wanted columns from settled arrays of the columns of the table.

    Formulas see values clipped to their declared bounds, as the bounds of a derived column suppose.

    Parameters
    ----------
    columns
        All declared columns.
    wanted
        Which arrays to give, in this order.
    base
        Finite values of every column of the table that they need, shape (m,).

    Returns
    -------
    list of arrays
        Shape (m,), or (released columns, m) for a spline or an interaction.
    """
    values: dict[str, FloatArray] = {}
    # a column of the table that no formula uses is clipped once, by the encoder
    return [base[name] if columns[name].formula is None else _value(columns, base, values, name) for name in wanted]


def _value(
    columns: Mapping[str, Column], base: Mapping[str, FloatArray], values: dict[str, FloatArray], name: str
) -> FloatArray:
    """Values of a column inside its bounds, computed once and kept in `values`."""
    if name not in values:
        column = columns[name]
        if column.formula is None:
            plain = base[name]
        else:
            if isinstance(column, SplineBasis | Interaction):
                used = {use: _value(columns, base, values, use) for use in column.formula.names}
                if isinstance(column, Interaction):
                    return column.scaled(used)
                return column.formula.basis(used, dict(column.ranges))
            plain = _computed(columns, base, values, column.formula)
        values[name] = np.clip(plain, *column.bounds) if isinstance(column, Numeric) else plain
    return values[name]


def _computed(
    columns: Mapping[str, Column], base: Mapping[str, FloatArray], values: dict[str, FloatArray], formula: Formula
) -> FloatArray:
    """Values of a formula before they are clipped, from values of the columns it uses inside their bounds."""
    return formula.evaluate({use: _value(columns, base, values, use) for use in formula.names})
