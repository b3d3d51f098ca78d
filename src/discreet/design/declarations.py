"""From what a person writes to a declared column: short forms, tables of design.toml, formulas."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import date
from typing import Any, Final, NamedTuple, cast

from discreet.design.columns import (
    PRIVATE,
    WIDEST,
    Base,
    Boolean,
    Categorical,
    Column,
    Derived,
    Fill,
    Level,
    Missing,
    Numeric,
    SplineBasis,
    checked_bounds,
)
from discreet.design.dates import day_of_text, is_date
from discreet.design.interactions import Interaction
from discreet.design.problems import Problems
from discreet.errors import DesignError, DesignProblem, SpecError, written
from discreet.privacy.checks import is_integer, is_number

COLUMN_KEYS: Final = (
    "bounds", "within", "levels", "reference", "dtype", "missing", "missing_codes", "formula", "release", "found",
)  # fmt: skip


def column_from(declaration: object) -> Column | Derived:
    """A column from any of the short forms: a pair of numbers, a list of levels, `bool`, a table, or a column.

    Pairs and levels may come as a list, a tuple or a NumPy array. Two numbers, or two dates, are always bounds: two
    levels that are integers are declared as a table, `{"levels": [1, 2]}`. The word "private" stands for bounds that a
    release finds.

    >>> column_from((0, 10))
    Numeric(bounds=(0.0, 10.0), missing='error')
    >>> column_from(["a", "b"]).levels
    ('a', 'b')
    >>> column_from(bool)
    Boolean(missing='error')
    """
    problems = Problems()
    column = usable_column(problems, declaration)
    problems.check()
    return cast("Column | Derived", column)


def usable_column(problems: Problems, declaration: object) -> Column | Derived | None:
    """The same, as far as others depend on it: its bounds, levels or formula; none where these are wrong.

    >>> problems = Problems()
    >>> usable_column(problems, {"bounds": [0, 1], "missing": "ignore"}), problems.found[0].key
    (Numeric(bounds=(0.0, 1.0), missing='error'), 'missing')
    """
    with problems.at():
        return _column_from_table(problems, declaration) if isinstance(declaration, Mapping) else _short(declaration)
    return None


def _short(declaration: object) -> Column | Derived:
    if isinstance(declaration, Numeric | Boolean | Categorical | SplineBasis | Interaction | Derived):
        return _unresolved(declaration)
    if declaration is bool or (isinstance(declaration, str) and declaration == "bool"):
        return Boolean()
    if isinstance(declaration, str) and declaration == PRIVATE:
        return Numeric.private(WIDEST)
    items = _plain_items(declaration)
    if items is not None:
        if len(items) == 2 and (all(is_number(item) for item in items) or all(map(is_date, items))):
            return Numeric(items)
        if items and all(isinstance(item, str) or type(item) is int for item in items):
            return Categorical(items)
    raise SpecError(
        f"expected a pair of bounds, a list of levels, bool, 'private' or a table, got {written(declaration)}"
    )


def _unresolved(column: Column | Derived) -> Column | Derived:
    """A column taken from another design is derived anew, from the bounds of this one."""
    if not isinstance(column, Derived | SplineBasis | Interaction):
        _missing_from(column.missing)
    if isinstance(column, Derived) or column.formula is None:
        return column
    bounds = column.bounds if isinstance(column, Numeric) else None
    reference = column.reference if isinstance(column, Categorical) else None
    return Derived(column.formula, bounds, reference)


def _derived_from_table(problems: Problems, table: Mapping[str, object]) -> Derived | None:
    from discreet.design.formulas.formula import parse

    text, bounds, reference = table["formula"], None, None
    for key in table:
        if key not in ("formula", "bounds", "reference"):
            problems.add(f"{key!r} cannot be given for a column with a formula; only bounds and reference can", key=key)
    with problems.at(key="bounds"):
        if _is_private(table.get("bounds")):
            raise SpecError(
                "the bounds of a formula follow from the columns it uses and cannot be private; leave them out"
            )
        bounds = checked_bounds(_pair(table["bounds"])) if "bounds" in table else None
    with problems.at(key="reference"):
        reference = _checked_reference(table.get("reference"))
    with problems.at(key="formula"):
        if not isinstance(text, str):
            raise SpecError(f"formula: expected text, got {written(text)}")
        return Derived(parse(text), bounds, reference)
    return None


def _checked_reference(reference: object) -> Level | None:
    if reference is None or isinstance(reference, str) or is_integer(reference):
        return reference
    raise SpecError(f"reference: expected one of the levels, got {written(reference)}")


def _column_from_table(problems: Problems, table: Mapping[str, object]) -> Column | Derived | None:
    for key in table:
        if key not in COLUMN_KEYS:
            problems.add(SpecError.unknown_name("key", key, COLUMN_KEYS), key=key if isinstance(key, str) else "")
    known = {key: table[key] for key in COLUMN_KEYS if key in table}
    return _derived_from_table(problems, known) if "formula" in known else _base_from_table(problems, known)


def _base_from_table(problems: Problems, table: Mapping[str, object]) -> Base | None:
    # a key that is not known may be a slip for one that is needed
    slips = bool(problems.found)
    kinds = [kind for kind in ("bounds", "levels", "dtype") if kind in table]
    reference: Level | None = None
    with problems.at(key="reference"):
        if kinds and "levels" not in kinds and "reference" in table:
            raise SpecError("'reference' is only for a column with levels")
        reference = _checked_reference(table.get("reference"))
    release = table.get("release", True)
    if not isinstance(release, bool) or (not release and "levels" in kinds):
        problems.add(
            "release must be true or false, and false only for a number or boolean that a formula uses", key="release"
        )
    missing: Missing = "error"
    with problems.at(key="missing"):
        missing = _missing_from(table.get("missing", "error"))
    codes = table.get("missing_codes", ())
    if "missing_codes" in table and "dtype" in kinds:
        problems.add(
            "'missing_codes' are for numbers, dates and levels; a boolean has 1 and 0 alone", key="missing_codes"
        )
    if len(kinds) != 1 and (kinds or not slips):
        found = " and ".join(kinds) or "none of them"
        problems.add(f"expected exactly one of bounds, levels, dtype = 'bool' or formula, got {found}")
    if len(kinds) != 1:
        for kind in kinds:
            with problems.at(key=kind):
                # which of them a fill value or a reference is meant for is not known
                _of_kind(kind, table[kind])
        return None
    value = _searched(problems, table) if kinds[0] == "bounds" else table[kinds[0]]
    for key in ("within", "found"):
        if key in table and kinds[0] != "bounds":
            problems.add(f"{key!r} is only for a number whose bounds a release finds", key=key)
    column = None
    with problems.at(key=kinds[0]):
        column = _of_kind(kinds[0], value, missing, reference, _plain(codes))
    if column is None:
        with suppress(SpecError):
            column = _of_kind(kinds[0], value)
    return replace(column, is_released=bool(release)) if isinstance(column, Numeric | Boolean) else column


def _searched(problems: Problems, table: Mapping[str, object]) -> object:
    """Bounds as they are declared; where a release finds or found them, with the range in which it looks."""
    bounds, is_found = table["bounds"], table.get("found", False)
    if not isinstance(is_found, bool) or (is_found and _is_private(bounds)):
        problems.add("found must be true or false, and true only beside the bounds that a release found", key="found")
        is_found = False
    if not is_found and not _is_private(bounds):
        if "within" in table:
            problems.add("'within' is only for bounds = 'private'; leave it out", key="within")
        return bounds
    within: tuple[float, float] = WIDEST
    with problems.at(key="within"):
        within = checked_bounds(_pair(table["within"], "within")) if "within" in table else WIDEST
    return _Searched(within, bounds if is_found else within, is_found)


class _Searched(NamedTuple):
    """A public range, bounds inside it, and whether they were found."""

    within: tuple[float, float]
    bounds: object
    found: bool


def _is_private(bounds: object) -> bool:
    return isinstance(bounds, str) and bounds == PRIVATE


def _of_kind(
    kind: str, value: object, missing: Missing = "error", reference: Level | None = None, codes: tuple[Any, ...] = ()
) -> Base:
    if isinstance(value, _Searched):
        return Numeric(_pair(value.bounds), missing, within=value.within, found=value.found, missing_codes=codes)
    if kind == "bounds":
        # of a column that is wrong by itself: a number in any case
        if _is_private(value):
            return Numeric.private(WIDEST)
        bounds = _dated(_pair(value))
        if any(map(is_date, bounds)) and any(is_number(code) for code in codes):
            said = "missing_codes: expected dates such as 1900-01-01 for a column of dates, got a number"
            raise DesignError([DesignProblem(said, key="missing_codes")])
        return Numeric(bounds, missing, missing_codes=codes)
    if kind == "dtype":
        if not isinstance(value, str) or value != "bool":
            raise SpecError(f"dtype {written(value)} is not known; allowed: 'bool'")
        return Boolean(missing)
    levels = _plain_items(value)
    if levels is None:
        raise SpecError(f"levels: expected a list, got {written(value)}")
    return Categorical(levels, reference, missing, missing_codes=codes)


def _dated(bounds: tuple[Any, Any]) -> tuple[Any, Any]:
    """Bounds with dates for text that is one, as a release file has them."""
    days = [day_of_text(bound) if isinstance(bound, str) else None for bound in bounds]
    if any(day is None for day in days):
        return bounds
    return date.fromisoformat(bounds[0][:10]), date.fromisoformat(bounds[1][:10])


def _pair(bounds: object, key: str = "bounds") -> tuple[float, float]:
    items = _plain_items(bounds)
    if items is None or len(items) != 2:
        also = ", or 'private'" if key == "bounds" and isinstance(bounds, str) else ""
        raise SpecError(f"{key}: expected a pair [low, high]{also}, got {written(bounds)}")
    return items[0], items[1]


def _plain_items(given: object) -> tuple[Any, ...] | None:
    """Items of a list, a tuple or an array, numbers of NumPy as Python's own; none for anything else.

    >>> _plain_items([1, "a"]), _plain_items("ab")
    ((1, 'a'), None)
    """
    given = _plain(given)
    return tuple(map(_plain, given)) if isinstance(given, list | tuple) else None


def _plain(given: Any) -> Any:  # noqa: ANN401  # whatever a person may declare
    # by its method and not by its type: a design without formulas does not load NumPy
    return given.tolist() if hasattr(given, "tolist") and not isinstance(given, type) else given


def _missing_from(rule: object) -> Missing:
    if isinstance(rule, Fill):
        return rule
    if isinstance(rule, str) and rule in ("error", "drop"):
        return "error" if rule == "error" else "drop"
    if isinstance(rule, Mapping) and set(rule) == {"fill"}:
        value = rule["fill"]
        if isinstance(value, str | int | float | date):
            return Fill(value)  # type: ignore[arg-type]  # a date becomes a number of days in its column
    raise SpecError(f"missing = {written(rule)} is not known; allowed: 'error', 'drop' or {{fill = VALUE}}")
