"""Turn what a user writes into declared columns: short forms, bounds and derived columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from discreet.design.columns import (
    PRIVATE,
    WIDEST,
    Base,
    Boolean,
    Categorical,
    Column,
    Derived,
    Fill,
    Interaction,
    Level,
    Missing,
    Numeric,
    SplineBasis,
    checked_bounds,
)
from discreet.design.dates import Problems, day_of_text, is_date
from discreet.errors import DesignError, DesignProblem, OptionError, SpecError, shown, written
from discreet.exact.arrays import FloatArray
from discreet.privacy.checks import is_integer, is_number, listed

if TYPE_CHECKING:
    from discreet.design.formula import Formula

# -- declarations ------------------------------------------------------------------------------------------------------
# Declared columns from short forms, tables of design.toml and formulas.

COLUMN_KEYS: Final = (
    "bounds", "within", "levels", "reference", "dtype", "missing", "missing_codes", "formula", "release", "found",
)  # fmt: skip


def column_from(declaration: object) -> Column | Derived:
    """Build a column from a short form: a pair of numbers, a list of levels, `bool`, a table, or a column.

    Pairs and levels may be a list, a tuple or a NumPy array. Two numbers, or two dates, are always bounds. Declare two
    integer levels as a table, `{"levels": [1, 2]}`. The word "private" declares private bounds.

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
    """Build a column and report its problems. Return None if its bounds, levels or formula are invalid.

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
    """Derive a column from another design anew, from the bounds of this design."""
    if not isinstance(column, Derived | SplineBasis | Interaction):
        _missing_from(column.missing)
    if isinstance(column, Derived) or column.formula is None:
        return column
    bounds = column.bounds if isinstance(column, Numeric) else None
    reference = column.reference if isinstance(column, Categorical) else None
    return Derived(column.formula, bounds, reference)


def _derived_from_table(problems: Problems, table: Mapping[str, object]) -> Derived | None:
    from discreet.design.formula import parse

    text, bounds, reference = table["formula"], None, None
    for key in table:
        if key not in ("formula", "bounds", "reference"):
            problems.add(f"{key!r} is not allowed with a formula; only bounds and reference are", key=key)
    with problems.at(key="bounds"):
        if _is_private(table.get("bounds")):
            raise SpecError("the bounds of a formula follow from its columns and cannot be private; leave them out")
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
    valid = {key: table[key] for key in COLUMN_KEYS if key in table}
    return _derived_from_table(problems, valid) if "formula" in valid else _base_from_table(problems, valid)


def _base_from_table(problems: Problems, table: Mapping[str, object]) -> Base | None:
    # an unknown key may be a misspelling of a required one
    misspelt = bool(problems.found)
    kinds = [kind for kind in ("bounds", "levels", "dtype") if kind in table]
    reference: Level | None = None
    with problems.at(key="reference"):
        if kinds and "levels" not in kinds and "reference" in table:
            raise SpecError("'reference' is allowed only for a column with levels")
        reference = _checked_reference(table.get("reference"))
    release = table.get("release", True)
    if not isinstance(release, bool) or (not release and "levels" in kinds):
        problems.add(
            "expected true or false for release, and false only for a number or boolean used in a formula",
            key="release",
        )
    missing: Missing = "error"
    with problems.at(key="missing"):
        missing = _missing_from(table.get("missing", "error"))
    codes = table.get("missing_codes", ())
    if "missing_codes" in table and "dtype" in kinds:
        problems.add(
            "'missing_codes' are allowed for numbers, dates and levels, and not for booleans", key="missing_codes"
        )
    if len(kinds) != 1 and (kinds or not misspelt):
        names = " and ".join(kinds) or "none of them"
        problems.add(f"expected exactly one of bounds, levels, dtype = 'bool' or formula, got {names}")
    if len(kinds) != 1:
        for kind in kinds:
            with problems.at(key=kind):
                # a fill value or reference could belong to any of them
                _of_kind(kind, table[kind])
        return None
    value = _searched(problems, table) if kinds[0] == "bounds" else table[kinds[0]]
    for key in ("within", "found"):
        if key in table and kinds[0] != "bounds":
            problems.add(f"{key!r} is allowed only for a number with private bounds", key=key)
    column = None
    with problems.at(key=kinds[0]):
        column = _of_kind(kinds[0], value, missing, reference, _plain(codes))
    if column is None:
        with suppress(SpecError):
            column = _of_kind(kinds[0], value)
    return replace(column, is_released=bool(release)) if isinstance(column, Numeric | Boolean) else column


def _searched(problems: Problems, table: Mapping[str, object]) -> object:
    """Return the declared bounds. For private bounds, also return the public range that is searched."""
    bounds, is_found = table["bounds"], table.get("found", False)
    if not isinstance(is_found, bool) or (is_found and _is_private(bounds)):
        problems.add("expected true or false for found, and true only with the bounds of a release", key="found")
        is_found = False
    if not is_found and not _is_private(bounds):
        if "within" in table:
            problems.add("'within' is allowed only with bounds = 'private'; leave it out", key="within")
        return bounds
    within: tuple[float, float] = WIDEST
    with problems.at(key="within"):
        within = checked_bounds(_pair(table["within"], "within")) if "within" in table else WIDEST
    return _Searched(within, bounds if is_found else within, is_found)


class _Searched(NamedTuple):
    """A public range, bounds inside it, and whether a release estimated them."""

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
        # of an invalid column: a number in any case
        if _is_private(value):
            return Numeric.private(WIDEST)
        bounds = _dated(_pair(value))
        if any(map(is_date, bounds)) and any(is_number(code) for code in codes):
            message = "missing_codes: expected dates such as 1900-01-01 for a column of dates, got a number"
            raise DesignError([DesignProblem(message, key="missing_codes")])
        return Numeric(bounds, missing, missing_codes=codes)
    if kind == "dtype":
        if not isinstance(value, str) or value != "bool":
            raise SpecError(f"expected dtype = 'bool', got {written(value)}")
        return Boolean(missing)
    levels = _plain_items(value)
    if levels is None:
        raise SpecError(f"levels: expected a list, got {written(value)}")
    return Categorical(levels, reference, missing, missing_codes=codes)


def _dated(bounds: tuple[Any, Any]) -> tuple[Any, Any]:
    """Convert bounds that are texts of dates, as in a release file, to dates."""
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


def _plain_items(value: object) -> tuple[Any, ...] | None:
    """Return the items of a list, tuple or array as Python values, or None for anything else.

    >>> _plain_items([1, "a"]), _plain_items("ab")
    ((1, 'a'), None)
    """
    value = _plain(value)
    return tuple(map(_plain, value)) if isinstance(value, list | tuple) else None


def _plain(value: Any) -> Any:  # noqa: ANN401  # any declaration
    # tests the method and not the type, so that a design without formulas does not load NumPy
    return value.tolist() if hasattr(value, "tolist") and not isinstance(value, type) else value


def _missing_from(rule: object) -> Missing:
    if isinstance(rule, Fill):
        return rule
    if isinstance(rule, str) and rule in ("error", "drop"):
        return "error" if rule == "error" else "drop"
    if isinstance(rule, Mapping) and set(rule) == {"fill"}:
        value = rule["fill"]
        if isinstance(value, str | int | float | date):
            return Fill(value)  # type: ignore[arg-type]  # a date becomes a number of days in its column
    raise SpecError(f"expected 'error', 'drop' or {{fill = VALUE}} for missing, got {written(rule)}")


# -- bounds ------------------------------------------------------------------------------------------------------------
# Declarations of the columns of a matrix, for callers without a design.

HOW_TO_DECLARE: Final = "they are never read from the data; declare them from public knowledge, such as"


def declared_bounds(bounds: Any, names: Sequence[str]) -> dict[str, object]:  # noqa: ANN401  # checked here
    """Return a declaration for each column, in column order, from any form of `bounds`.

    >>> declared_bounds((0, 1), ["a", "b"])
    {'a': (0.0, 1.0), 'b': (0.0, 1.0)}
    >>> declared_bounds("private", ["a", "b"])
    {'a': 'private', 'b': 'private'}
    """
    if bounds is None:
        raise OptionError(
            f"bounds are missing; {HOW_TO_DECLARE} bounds={{{names[0]!r}: (18, 90)}}, or (low, high) for all",
            code="bounds-missing",
            option="bounds",
        )
    if isinstance(bounds, Mapping):
        unknown, missing = (
            [name for name in bounds if name not in names],
            [name for name in names if name not in bounds],
        )
        if unknown or missing:
            raise OptionError(
                "bounds and X have different columns; "
                f"in bounds but not in X: {shown(unknown)}; in X but not in bounds: {shown(missing)}. "
                "Declare exactly the columns of X, such as "
                "bounds={'age': (18, 90), 'ward': ['icu', 'surgery'], 'urgent': bool}",
                code="bounds-columns",
                option="bounds",
            )
        return {name: bounds[name] for name in names}
    if isinstance(bounds, str) and bounds == PRIVATE:
        return dict.fromkeys(names, PRIVATE)
    if len(names) == 2 and _is_two_pairs(bounds):
        table = ", ".join(f"{name!r}: (low, high)" for name in names)
        raise OptionError(
            "bounds are two pairs, which may mean (lows, highs) or a pair for each of the two columns; pass a "
            f"mapping, bounds={{{table}}}, or two NumPy arrays, bounds=(np.array(lows), np.array(highs))",
            code="bounds-ambiguous",
            option="bounds",
        )
    try:
        sides = [np.asarray(side, dtype=np.float64) for side in listed(bounds) or ()]
    except (TypeError, ValueError):
        sides = []
    if len(sides) != 2 or any(side.shape not in ((), (len(names),)) for side in sides):
        arrays = f"two arrays (lows, highs) of {len(names)} numbers"
        forms = f"a mapping from names to declarations, a pair (low, high), or {arrays}"
        raise OptionError(f"bounds: expected {forms}, got another {type(bounds).__name__}", option="bounds")
    lows, highs = (np.broadcast_to(side, len(names)).tolist() for side in sides)
    return dict(zip(names, zip(lows, highs, strict=True), strict=True))


def _is_two_pairs(bounds: object) -> bool:
    pairs = bounds if isinstance(bounds, list | tuple) else ()
    return len(pairs) == 2 and all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs)


# -- derived -----------------------------------------------------------------------------------------------------------
# Derived columns: bounds by interval arithmetic from declared bounds, values from the cells of the same row.


def resolved(
    problems: Problems, columns: Mapping[str, Column | Derived], wrong: Mapping[str, object]
) -> dict[str, Column]:
    """Return all valid columns in order, with bounds or levels derived for those with a formula.

    `wrong` holds the declarations of invalid columns. A formula that uses one of them is not judged.
    """
    derived = {
        name: _of_its_kind(problems, name, column) for name, column in columns.items() if isinstance(column, Derived)
    }
    lost = set(wrong)
    dates = {name: column.bounds for name, column in columns.items() if isinstance(column, Numeric) and column.is_date}
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
                ready[name] = column = _derived_column(derived[name], ranges, ready)
                lost.discard(name)
                if isinstance(column, Numeric | Boolean):
                    ranges[name] = _range(column)
    used = {name for formula in formulas.values() for name in formula.names}
    for name, column in ready.items():
        unreleased = isinstance(column, Numeric | Boolean) and not column.is_released
        if unreleased and name not in used and not any(_mentions(declaration, name) for declaration in wrong.values()):
            problems.add(
                "it is neither released nor used in a formula; delete it or release it", column=name, key="release"
            )
    return {name: ready[name] for name in columns if name in ready}


def _bind(problems: Problems, derived: dict[str, Derived], lost: set[str], bound: Callable[[Formula], Formula]) -> None:
    """Bind every formula to the columns it names. Formulas that fail are added to `lost`."""
    for name, column in derived.items():
        if name in lost or not lost.isdisjoint(column.formula.names):
            continue
        lost.add(name)
        with problems.at(column=name, key="formula"):
            derived[name] = replace(column, formula=bound(column.formula))
            lost.discard(name)


def _levels(columns: Mapping[str, Column | Derived]) -> dict[str, tuple[Level, ...]]:
    """Return the levels of every column that has levels."""
    declared = {name: column.levels for name, column in columns.items() if isinstance(column, Categorical)}
    formulas = {name: column.formula for name, column in columns.items() if isinstance(column, Derived)}
    return declared | {name: formula.levels() for name, formula in formulas.items() if formula.kind == "levels"}


def _sequence(
    problems: Problems, formulas: Mapping[str, Formula], declared: tuple[list[str], list[str]], lost: set[str]
) -> tuple[str, ...]:
    """Return the valid formulas in order of use, and add the others to `lost`."""
    # the language of formulas is loaded only for designs that need it
    from discreet.design.formula import order

    while True:
        _lose_dependents(formulas, lost)
        before = len(problems.found)
        with problems.at():
            return order({name: formula for name, formula in formulas.items() if name not in lost}, *declared)
        # an error about a cycle names one column, and the others depend on it
        lost |= {problem.column for problem in problems.found[before:]}


def _check_known(formula: Formula, columns: Mapping[str, Column | Derived]) -> None:
    """Refuse a formula of a column with private bounds, from which no bounds follow."""
    for used in formula.names:
        column = columns.get(used)
        if isinstance(column, Numeric) and column.is_searched:
            raise SpecError(
                f"the formula uses {used!r}, whose bounds are private; declare bounds of {used!r}, or leave the "
                "formula out"
            )


def _mentions(declaration: object, name: str) -> bool:
    """Return whether an invalid declaration may refer to a column."""
    texts = declaration.values() if isinstance(declaration, Mapping) else ()
    return any(isinstance(text, str) and name in text for text in texts)


def _lose_dependents(formulas: Mapping[str, Formula], lost: set[str]) -> None:
    """Add the formulas that use a lost column to `lost`."""
    while more := {name for name, use in formulas.items() if name not in lost and not lost.isdisjoint(use.names)}:
        lost |= more


def _of_its_kind(problems: Problems, name: str, column: Derived) -> Derived:
    """Report and remove bounds or a reference that this kind of formula does not take."""
    kind, bounds, reference = column.formula.kind, column.bounds, column.reference
    if kind != "numeric" and bounds is not None:
        problems.add(
            f"bounds are not allowed for a formula of kind {kind!r}; leave them out", column=name, key="bounds"
        )
        bounds = None
    if reference is not None:
        with problems.at(column=name, key="reference"):
            if kind != "levels":
                raise SpecError("'reference' is allowed only for a column with levels, such as cut(...)")
            return Derived(column.formula, None, Categorical(column.formula.levels(), reference).reference)
    return Derived(column.formula, bounds)


def _derived_column(column: Derived, ranges: Mapping[str, tuple[float, float]], ready: Mapping[str, Column]) -> Column:
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
        message = (
            f"the bounds [{column.bounds[0]:g}, {column.bounds[1]:g}] are not inside [{low:g}, {high:g}], "
            "the range of the formula; declare bounds inside that range"
        )
        raise DesignError([DesignProblem(message, key="bounds")])
    return Numeric(column.bounds, formula=formula)


def _interaction(formula: Formula, parts: list[tuple[str, Column]]) -> Interaction:
    factors = tuple((name, column) for name, column in parts if isinstance(column, Categorical))
    if not factors:
        first, second = formula.names
        raise SpecError(
            f"neither {first!r} nor {second!r} has levels, which an interaction needs; write a product with *"
        )
    for name, column in parts:
        if isinstance(column, Numeric | Boolean):
            bounds = column.bounds if isinstance(column, Numeric) else None
            return Interaction(formula, factors, name, bounds, whole=not column.is_released)
    return Interaction(formula, factors)


def _range(column: Numeric | Boolean) -> tuple[float, float]:
    return column.bounds if isinstance(column, Numeric) else (0.0, 1.0)


def has_own_bounds(columns: Mapping[str, Column], column: Numeric) -> bool:
    """Return whether declared bounds of a formula are tighter than its range, so that values may be clipped."""
    ranges = {name: _range(used) for name, used in columns.items() if isinstance(used, Numeric | Boolean)}
    return column.formula is not None and column.formula.interval(ranges) != column.bounds


def outside_bounds(
    columns: Mapping[str, Column], names: Iterable[str], base: Mapping[str, FloatArray]
) -> npt.NDArray[np.bool_]:
    """Return for each named numeric column which values lie outside its bounds, shape (names, m).

    `base` holds finite values of the columns of the table that they need, shape (m,).
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
    """Return the values of a numeric column before clipping. A formula uses clipped values of its columns.

    >>> columns = resolved(Problems(), {"x": Numeric((1, 9)), "r": Numeric((0, 1))}, {})
    >>> unclipped(columns, columns["x"], "x", {"x": np.array([0.5, 12.0])}, {}).tolist()
    [0.5, 12.0]
    """
    return base[name] if column.formula is None else _computed(columns, base, values, column.formula)


def needed(columns: Mapping[str, Column], names: Iterable[str]) -> dict[str, Base]:
    """Return the columns of the table from which these columns are computed, in order of first use."""
    base: dict[str, Base] = {}
    for name in names:
        column = columns[name]
        if column.formula is None:
            base[name] = column
        else:
            base |= needed(columns, column.formula.names)
    return base


def completed(columns: Mapping[str, Column], names: Iterable[str], base: Mapping[str, FloatArray]) -> list[FloatArray]:
    """Compute the arrays of these columns from finite arrays of the columns of the table.

    Formulas use values clipped to their declared bounds, as the derived bounds assume. An array has the shape (m,), or
    (released columns, m) for a spline or an interaction.
    """
    values: dict[str, FloatArray] = {}
    # a column of the table is clipped once, by the encoder
    return [base[name] if columns[name].formula is None else _value(columns, base, values, name) for name in names]


def _value(
    columns: Mapping[str, Column], base: Mapping[str, FloatArray], values: dict[str, FloatArray], name: str
) -> FloatArray:
    """Return the clipped values of a column, computed once and stored in `values`."""
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
    """Compute a formula from clipped values of its columns, without clipping the result."""
    return formula.evaluate({use: _value(columns, base, values, use) for use in formula.names})
