"""From the parameters of an estimator to the design of its release, by names alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from discreet.design.bounds import HOW_TO_DECLARE, declared_bounds
from discreet.design.model import Design
from discreet.errors import SpecError, shown

# what a design says itself, with the value that stands for nothing said
IN_DESIGN: Final[Mapping[str, object]] = {
    "bounds": None,
    "target_bounds": None,
    "fit_intercept": True,
    "radius": None,
    "neighbours": "add-remove",
    "missing": "error",
}


def checked_design(design: object, given: Mapping[str, object]) -> Design | None:
    """The whole design that was given, if one was, and nothing beside it that it says itself.

    >>> checked_design(None, {}) is None
    True
    """
    if design is None:
        return None
    if not isinstance(design, Design):
        raise SpecError(
            f"design: expected a discreet.Design, got {type(design).__name__}; load one with Design.load(path)"
        )
    for name, unsaid in IN_DESIGN.items():
        # a value of any type may be there, and comparing two of them may give an array
        if not (given[name] is unsaid or (isinstance(unsaid, str) and given[name] == unsaid)):
            raise SpecError(f"got a design and {name}, which the design says itself; leave {name} out")
    if design.unit.id is not None:
        raise SpecError(
            f"the design names an id, {design.unit.id!r}, but a regressor is given no ids: every row counts as a "
            "person of its own. Use discreet.release, which reads the ids, and discreet.fit"
        )
    if design.weights is not None:
        raise SpecError(
            f"the design has weights, {design.weights!r}, but a regressor takes rows without them. Use "
            "discreet.release, which reads the weights, and discreet.fit"
        )
    return design


def features_of(design: Design) -> tuple[str, ...]:
    """Columns that a table must have for a design, without the target, in declared order.

    >>> features_of(Design("y", {"y": (0, 1), "x": (1, 9), "log_x": {"formula": "log(x)"}}))
    ('x',)
    """
    return tuple(name for name in design.table_columns if name != design.target)


def named_columns(design: Design, columns: Mapping[str, Any], *, named: bool) -> dict[str, Any]:
    """The columns of X under the names of a design: by name, or by position where X has no names.

    >>> design = Design("y", {"y": (0, 1), "age": (18, 90)})
    >>> named_columns(design, {"x0": [40, 50]}, named=False)
    {'age': [40, 50]}
    """
    expected = features_of(design)
    if not named and len(columns) == len(expected):
        return dict(zip(expected, columns.values(), strict=True))
    if not named:
        raise SpecError(
            f"X has {len(columns)} columns without names, the design has {len(expected)}: {', '.join(expected)}; give "
            "them in this order"
        )
    unknown, lacking = [name for name in columns if name not in expected], [n for n in expected if n not in columns]
    if unknown or lacking:
        found = f"in X but not in the design: {shown(unknown)}; in the design but not in X: {shown(lacking)}"
        raise SpecError(f"X and the design differ in their columns; {found}. Give every column of the design, no other")
    return dict(columns)


def declared_design(names: Sequence[str], target: str, given: Mapping[str, Any]) -> Design:
    """The design that parameters declare for the columns of X and the target.

    >>> given = {**IN_DESIGN, "bounds": {"x": (1, 9), "log_x": {"formula": "log(x)"}}, "target_bounds": (0, 1)}
    >>> declared_design(["x"], "y", given).released
    ('1', 'x', 'log_x', 'y')
    """
    if given["target_bounds"] is None:
        raise SpecError(f"target_bounds are missing; {HOW_TO_DECLARE} target_bounds=(0, 200_000)")
    declared, derived = _parted(given["bounds"], names)
    unit = {"neighbours": given["neighbours"]}
    made = partial(Design, target, intercept=given["fit_intercept"], radius=given["radius"], unit=unit)
    columns = {**declared_bounds(declared, names), **derived, target: given["target_bounds"]}
    read = made(columns=columns).table_columns
    rules = {name: {"missing": given["missing"], **read[name].to_dict()} for name in columns if name in read}
    return made(columns={name: rules.get(name, columns[name]) for name in columns})


def _parted(bounds: object, names: Sequence[str]) -> tuple[object, dict[str, object]]:
    """Declarations of columns of X, and those of columns that formulas make of them."""
    if not isinstance(bounds, Mapping):
        return bounds, {}
    derived: dict[str, object] = {
        name: column
        for name, column in bounds.items()
        if name not in names and isinstance(column, Mapping) and "formula" in column
    }
    return {name: column for name, column in bounds.items() if name not in derived}, derived
