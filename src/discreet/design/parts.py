"""The parts of a design, each checked by itself, so that every problem is found and not only the first."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, cast

from discreet.design.columns import TWINS, Boolean, Column, Derived, Numeric
from discreet.design.declarations import usable_column
from discreet.design.problems import Problems
from discreet.errors import SpecError, written
from discreet.exact.rounding import nearest
from discreet.privacy.checks import is_integer, is_number
from discreet.privacy.unit import PrivacyUnit
from discreet.text import has_invisible_characters, twins

CONSTANT: Final = "1"
INTERCEPT: Final = "Intercept"
_KEYS: Final = ("target", "intercept", "radius", "weights", "weights_are", "columns", "unit")
_UNIT_KEYS: Final = ("neighbours", "id", "max_rows")
# what weights stand for: errors with a variance of one over the weight, or how many of a population a row speaks for
INVERSE_VARIANCE: Final = "inverse-variance"
SAMPLING: Final = "sampling"
WEIGHTS_ARE: Final = (INVERSE_VARIANCE, SAMPLING)


def check_keys(problems: Problems, given: Mapping[str, object]) -> None:
    """Refuse keys that a design does not have, and find those that it needs."""
    for key in given:
        if not isinstance(key, str) or key not in _KEYS:
            problems.add(SpecError.unknown_name("key", key, _KEYS), key=_text(key))
    slips = " ".join(problem.message for problem in problems.found)
    for key in ("target", "columns"):
        # a key that is not known may be a slip for this one
        if key not in given and f"Did you mean '{key}'?" not in slips:
            problems.add(f"the design has no {key!r}; declare it", key=key)


def checked_columns(problems: Problems, given: object) -> dict[str, Column]:
    """Every column whose bounds, levels or formula are right; nothing that is wrong with another part hides them."""
    if not isinstance(given, Mapping):
        problems.add(
            f"columns: expected a mapping from names to declarations, got {type(given).__name__}", key="columns"
        )
        return {}
    declared: dict[str, Column | Derived] = {}
    for name, declaration in given.items():
        for fault in _name_faults(name):
            problems.add(fault, column=_text(name), key="name")
        found = Problems()
        column = usable_column(found, declaration)
        with problems.at(column=_text(name)):
            found.check()
        if column is not None and isinstance(name, str):
            declared[name] = column
    for one, other in twins(name for name in given if isinstance(name, str)):
        problems.add(f"the columns {one!a} and {other!a} {TWINS}", column=other, key="name")
    wrong = {name: given[name] for name in given if isinstance(name, str) and name not in declared}
    return _resolved(problems, declared, wrong)


def check_target(problems: Problems, target: object, names: Iterable[object], columns: Mapping[str, Column]) -> None:
    """Find the target among the declared names; what it is shows only where its declaration is right."""
    with problems.at(key="target"):
        declared = [name for name in names if isinstance(name, str)]
        if isinstance(target, str) and not target:
            raise SpecError("target is blank; name the column to explain")
        if declared and (not isinstance(target, str) or target not in declared):
            raise SpecError.unknown_name("target", target, declared)
        if not isinstance(target, str):
            raise SpecError(f"target: expected the name of a column, got {written(target)}")
        column = columns.get(target, Boolean())
        if not isinstance(column, Numeric | Boolean):
            raise SpecError(f"the target {written(target)} is categorical; a target is numeric or boolean")
        if not column.is_released:
            raise SpecError(f"the target {written(target)} is not released; leave out release = false")


def checked_weights(
    problems: Problems, given: Mapping[str, object], names: Iterable[object], columns: Mapping[str, Column]
) -> tuple[str | None, str | None]:
    """The name of the column of weights and what they stand for, if there are weights."""
    weights, kind = given.get("weights"), given.get("weights_are")
    with problems.at(key="weights_are"):
        if kind is not None and (not isinstance(kind, str) or kind not in WEIGHTS_ARE):
            raise SpecError.unknown_name("weights_are", kind, WEIGHTS_ARE)
        if kind is not None and weights is None:
            raise SpecError('got weights_are without weights; name the column of weights, such as weights = "w"')
    with problems.at(key="weights"):
        if weights is None:
            return None, None
        declared = [name for name in names if isinstance(name, str)]
        if not isinstance(weights, str) or weights not in declared:
            raise SpecError.unknown_name("weights", weights, declared)
        if weights == given.get("target"):
            raise SpecError(f"the column {written(weights)} is the target; weights are a column of their own")
        _check_weights_column(weights, columns.get(weights))
    # what is wrong was found above
    return weights if isinstance(weights, str) else None, kind if isinstance(kind, str) else INVERSE_VARIANCE


def _check_weights_column(name: str, column: Column | None) -> None:
    """Refuse what cannot be weights; a column whose declaration is wrong is judged there."""
    if column is None:
        return
    if not isinstance(column, Numeric):
        raise SpecError(f"the weights {written(name)} are no numbers; declare bounds such as bounds = [0, 5]")
    if column.within is not None:
        raise SpecError(
            f"the bounds of the weights {written(name)} are private, and the noise is set by them; declare bounds such "
            "as bounds = [0, 5]"
        )
    low, high = column.bounds
    if low != 0 or column.is_date:
        raise SpecError(
            f"the weights {written(name)} have the bounds [{low:g}, {high:g}]; declare [0, W] with the largest weight "
            "W that a row may have, such as bounds = [0, 5]"
        )
    if not column.is_released:
        raise SpecError(f"the weights {written(name)} are never released by themselves; leave out release = false")


def check_released(
    problems: Problems,
    target: object,
    names: Collection[object],
    columns: Mapping[str, Column],
    weights: str | None = None,
) -> None:
    """Refuse a design without a regressor, and two released columns of one name.

    A declared column whose declaration is wrong counts as a regressor, a column of weights does not.
    """
    regressors = [
        name for name in names if name != weights and (name not in columns or is_released(columns[cast("str", name)]))
    ]
    if not names:
        named = f" {written(target)}" if isinstance(target, str) and target else ""
        problems.add(
            f"no column is declared; declare the target{named} and at least one column besides it", key="target"
        )
    elif isinstance(target, str) and target in names and not [name for name in regressors if name != target]:
        problems.add("the design has no regressor; declare at least one column besides the target", key="columns")
    offered = {name: column for name, column in columns.items() if name != weights and is_released(column)}
    released = [one for name, column in offered.items() for one in column.released(name)]
    for name, times in Counter(released).items():
        if times > 1:
            problems.add(f"two released columns are called {name!r}; rename one of the declared columns", key="columns")


def check_searched(intercept: object, columns: Mapping[str, Column]) -> None:
    """Refuse bounds that are yet to be found where the model has no intercept: what it needs depends on them."""
    searched = [name for name, column in columns.items() if isinstance(column, Numeric) and column.is_searched]
    if intercept is False and searched:
        raise SpecError(
            f"intercept = false needs to know whether bounds are symmetric around 0, and those of {searched[0]!r} are "
            "private; keep the intercept, or declare the bounds"
        )


def checked_unit(problems: Problems, given: object, names: Iterable[object]) -> PrivacyUnit:
    """The privacy unit, whose id is no declared column."""
    unit = given if isinstance(given, PrivacyUnit) else PrivacyUnit()
    if isinstance(given, Mapping):
        before = len(problems.found)
        for key, value in given.items():
            with problems.at(key=f"unit.{_text(key)}"):
                # a number of rows is judged by itself where an id is wrong
                PrivacyUnit.from_dict({"id": "id", key: value} if key == "max_rows" else {key: value})
        rows = given.get("max_rows")
        # a key that is not known may be a slip for the id
        slips = any("Did you mean 'id'?" in problem.message for problem in problems.found[before:])
        if given.get("id") is None and is_integer(rows) and rows > 1 and not slips:
            with problems.at(key="unit.max_rows"):
                PrivacyUnit(max_rows=rows)
        if len(problems.found) == before:
            unit = PrivacyUnit.from_dict(given)
    elif given is not None and not isinstance(given, PrivacyUnit):
        with problems.at(key="unit"):
            PrivacyUnit.from_dict(given)  # type: ignore[arg-type]  # refused there
    person = given.get("id") if isinstance(given, Mapping) else unit.id
    if isinstance(person, str) and person in names:
        problems.add(
            f"the id column {written(person)} is declared as a column too; an id is never released", key="unit.id"
        )
    elif isinstance(person, str):
        for one, other in twins([person, *(name for name in names if isinstance(name, str))]):
            if one == person:
                problems.add(f"the id {one!a} and the column {other!a} {TWINS}", key="unit.id")
    return unit


def checked_radius(problems: Problems, radius: object) -> float | None:
    """The radius of the ball, if there is one."""
    with problems.at(key="radius"):
        if radius is None:
            return None
        if not is_number(radius):
            raise SpecError(f"radius: expected a number, got {written(radius)}")
        if not 2**-8 <= nearest(radius) < math.inf:
            raise SpecError(f"radius {written(radius)} is not allowed; declare a finite number of at least 1/256")
        return float(radius)
    return None


def is_released(column: Column | Derived) -> bool:
    """Whether a column is more than an ingredient of formulas."""
    return not isinstance(column, Numeric | Boolean) or column.is_released


def _name_faults(name: object) -> Iterator[str]:
    if not isinstance(name, str) or not name or name != name.strip():
        yield f"expected a column name that is not empty and has no blanks at its ends, got {written(name)}"
    if isinstance(name, str) and has_invisible_characters(name):
        yield f"the column name {written(name)} has invisible characters; rename the column"
    if name in (CONSTANT, INTERCEPT):
        yield f"the column name {written(name)} is a reserved name; rename the column"


def _resolved(
    problems: Problems, declared: Mapping[str, Column | Derived], wrong: Mapping[str, object]
) -> dict[str, Column]:
    if not any(isinstance(column, Derived) or not is_released(column) for column in declared.values()):
        return {name: column for name, column in declared.items() if not isinstance(column, Derived)}
    # formulas bring in arrays, which a design without them does not need
    from discreet.design.derived import resolved

    return resolved(problems, declared, wrong)


def _text(name: object) -> str:
    return name if isinstance(name, str) else written(name)
