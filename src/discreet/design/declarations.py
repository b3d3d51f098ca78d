"""Convert declarations in short form to columns, declare the columns of a matrix, and compute derived columns."""

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
COLUMN_KEYS: Final = (
    "bounds", "within", "levels", "reference", "dtype", "missing", "missing_codes", "formula", "release", "found",
)  # fmt: skip


def column_from(declaration: object) -> Column | Derived:
    """Build a column from its declaration.

    A declaration is a pair of numbers or dates, a list of levels, `bool`, "private", a table, or a column. Pairs and
    levels may be a list, a tuple or a NumPy array. Two numbers are always bounds, so declare two integer levels as a
    table, `{"levels": [1, 2]}`.

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
    """Build a column and collect the problems of its declaration. Return None if it cannot be built."""
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
    """Replace a computed column, which may come from another design, by its formula, to compute its bounds anew."""
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
            problems.add(f"{key!r} is not allowed with a formula; allowed are 'bounds' and 'reference'", key=key)
    with problems.at(key="bounds"):
        if _is_private(table.get("bounds")):
            raise SpecError(
                "a formula cannot have private bounds; leave them out, and they are computed from its columns"
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
            "expected true or false for release; false is allowed only for numbers and booleans used in a formula",
            key="release",
        )
    missing: Missing = "error"
    with problems.at(key="missing"):
        missing = _missing_from(table.get("missing", "error"))
    codes = table.get("missing_codes", ())
    if "missing_codes" in table and "dtype" in kinds:
        problems.add(
            "'missing_codes' is allowed for numbers, dates and levels, but not for booleans", key="missing_codes"
        )
    if len(kinds) != 1 and (kinds or not misspelt):
        names = " and ".join(kinds) or "none of them"
        problems.add(f"expected exactly one of bounds, levels, dtype = 'bool' or formula, got {names}")
    if len(kinds) != 1:
        for kind in kinds:
            with problems.at(key=kind):
                # checked without fill value and reference, which could belong to any of these kinds
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
    """Return the declared bounds or, for private bounds, a `_Searched` with their public range."""
    bounds, is_found = table["bounds"], table.get("found", False)
    if not isinstance(is_found, bool) or (is_found and _is_private(bounds)):
        problems.add(
            "expected true or false for found; true is allowed only with bounds that a release estimated", key="found"
        )
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
    """Public range of private bounds, the current bounds, and whether a release estimated them."""

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
        # reached only for an invalid column, to check the rest of its declaration
        if _is_private(value):
            return Numeric.private(WIDEST)
        bounds = _dated(_pair(value))
        if any(map(is_date, bounds)) and any(is_number(code) for code in codes):
            message = "missing_codes: expected dates such as 1900-01-01 for a date column, got a number"
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
    """Convert bounds that are ISO 8601 text, as in a release file, to dates. Return other bounds unchanged."""
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
    """Return the items of a list, tuple or array as Python values, or None for anything else."""
    value = _plain(value)
    return tuple(map(_plain, value)) if isinstance(value, list | tuple) else None


def _plain(value: Any) -> Any:  # noqa: ANN401  # any declaration
    # checks for the method instead of the type, so that a design without formulas does not load NumPy
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
# Bounds of the columns of a matrix, for callers without a design.

HOW_TO_DECLARE: Final = "bounds are never read from the data; declare them from public knowledge, such as"


def declared_bounds(bounds: Any, names: Sequence[str]) -> dict[str, object]:  # noqa: ANN401  # checked here
    """Return one declaration for each column, in column order, from any accepted form of `bounds`.

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
                "bounds must name exactly the columns of X; "
                f"in bounds but not in X: {shown(unknown)}; in X but not in bounds: {shown(missing)}. "
                "Example: "
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
            "bounds are ambiguous: two pairs may mean (lows, highs) or one pair for each of the two columns. Pass a "
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
        raise OptionError(
            f"bounds: expected {forms}; the given {type(bounds).__name__} has none of these forms", option="bounds"
        )
    lows, highs = (np.broadcast_to(side, len(names)).tolist() for side in sides)
    return dict(zip(names, zip(lows, highs, strict=True), strict=True))


def _is_two_pairs(bounds: object) -> bool:
    pairs = bounds if isinstance(bounds, list | tuple) else ()
    return len(pairs) == 2 and all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs)


# -- derived -----------------------------------------------------------------------------------------------------------
# Bounds of derived columns follow from declared bounds by interval arithmetic, and values from cells of the same row.


def resolved(
    problems: Problems, columns: Mapping[str, Column | Derived], wrong: Mapping[str, object]
) -> dict[str, Column]:
    """Return all valid columns in declared order, after computing the bounds or levels of those with a formula.

    `wrong` holds the declarations of invalid columns. Formulas that use these columns are skipped.
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
                "the column is neither released nor used in a formula; delete it or release it",
                column=name,
                key="release",
            )
    return {name: ready[name] for name in columns if name in ready}


def _bind(problems: Problems, derived: dict[str, Derived], lost: set[str], bound: Callable[[Formula], Formula]) -> None:
    """Apply `bound` to every formula, which binds it to the columns that it names.

    Add the names of formulas that cannot be bound to `lost`.
    """
    for name, column in derived.items():
        if name in lost or not lost.isdisjoint(column.formula.names):
            continue
        lost.add(name)
        with problems.at(column=name, key="formula"):
            derived[name] = replace(column, formula=bound(column.formula))
            lost.discard(name)


def _levels(columns: Mapping[str, Column | Derived]) -> dict[str, tuple[Level, ...]]:
    """Return the levels of every column with levels, declared or computed."""
    declared = {name: column.levels for name, column in columns.items() if isinstance(column, Categorical)}
    formulas = {name: column.formula for name, column in columns.items() if isinstance(column, Derived)}
    return declared | {name: formula.levels() for name, formula in formulas.items() if formula.kind == "levels"}


def _sequence(
    problems: Problems, formulas: Mapping[str, Formula], declared: tuple[list[str], list[str]], lost: set[str]
) -> tuple[str, ...]:
    """Return the names of the valid formulas in the order in which to evaluate them, and add the others to `lost`."""
    # imported only for designs with formulas
    from discreet.design.formula import order

    while True:
        _lose_dependents(formulas, lost)
        before = len(problems.found)
        with problems.at():
            return order({name: formula for name, formula in formulas.items() if name not in lost}, *declared)
        # an error about a cycle names a single column; the next pass removes the columns that depend on it
        lost |= {problem.column for problem in problems.found[before:]}


def _check_known(formula: Formula, columns: Mapping[str, Column | Derived]) -> None:
    """Reject a formula that uses a column with private bounds, because the range of the formula is then unknown."""
    for used in formula.names:
        column = columns.get(used)
        if isinstance(column, Numeric) and column.is_searched:
            raise SpecError(
                f"the formula uses {used!r}, whose bounds are private; declare bounds of {used!r}, or remove the "
                "formula"
            )


def _mentions(declaration: object, name: str) -> bool:
    """Return whether the text of an invalid declaration contains the name of a column."""
    texts = declaration.values() if isinstance(declaration, Mapping) else ()
    return any(isinstance(text, str) and name in text for text in texts)


def _lose_dependents(formulas: Mapping[str, Formula], lost: set[str]) -> None:
    """Add to `lost` every formula that depends on a column in `lost`."""
    while more := {name for name, use in formulas.items() if name not in lost and not lost.isdisjoint(use.names)}:
        lost |= more


def _of_its_kind(problems: Problems, name: str, column: Derived) -> Derived:
    """Return a derived column without bounds or a reference that its kind of formula does not allow.

    Report the removed parts as problems.
    """
    kind, bounds, reference = column.formula.kind, column.bounds, column.reference
    if kind != "numeric" and bounds is not None:
        problems.add(f"bounds are not allowed for a formula of kind {kind!r}; remove them", column=name, key="bounds")
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
            f"bounds must be inside the range [{low:g}, {high:g}] of the formula, "
            f"got [{column.bounds[0]:g}, {column.bounds[1]:g}]"
        )
        raise DesignError([DesignProblem(message, key="bounds")])
    return Numeric(column.bounds, formula=formula)


def _interaction(formula: Formula, parts: list[tuple[str, Column]]) -> Interaction:
    factors = tuple((name, column) for name, column in parts if isinstance(column, Categorical))
    if not factors:
        first, second = formula.names
        raise SpecError(
            f"an interaction must include a column with levels, but neither {first!r} nor {second!r} has levels; "
            "write the product of two numbers with *"
        )
    for name, column in parts:
        if isinstance(column, Numeric | Boolean):
            bounds = column.bounds if isinstance(column, Numeric) else None
            return Interaction(formula, factors, name, bounds, whole=not column.is_released)
    return Interaction(formula, factors)


def _range(column: Numeric | Boolean) -> tuple[float, float]:
    return column.bounds if isinstance(column, Numeric) else (0.0, 1.0)


def has_own_bounds(columns: Mapping[str, Column], column: Numeric) -> bool:
    """Return whether a formula has declared bounds that are tighter than its range, so that values can be clipped."""
    ranges = {name: _range(used) for name, used in columns.items() if isinstance(used, Numeric | Boolean)}
    return column.formula is not None and column.formula.interval(ranges) != column.bounds


def outside_bounds(
    columns: Mapping[str, Column], names: Iterable[str], base: Mapping[str, FloatArray]
) -> npt.NDArray[np.bool_]:
    """Return which values of the named numeric columns lie outside their bounds, shape (names, m).

    `base` holds finite arrays of shape (m,) with the table columns from which the named columns are computed.
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
    """Return the values of a numeric column before they are clipped.

    A formula is evaluated at the clipped values of its columns.
    """
    return base[name] if column.formula is None else _computed(columns, base, values, column.formula)


def needed(columns: Mapping[str, Column], names: Iterable[str]) -> dict[str, Base]:
    """Return the table columns from which the named columns are computed, in order of first use."""
    base: dict[str, Base] = {}
    for name in names:
        column = columns[name]
        if column.formula is None:
            base[name] = column
        else:
            base |= needed(columns, column.formula.names)
    return base


def completed(columns: Mapping[str, Column], names: Iterable[str], base: Mapping[str, FloatArray]) -> list[FloatArray]:
    """Compute the values of the named columns from finite values of the table columns.

    A formula is evaluated at values clipped to their bounds, because its own bounds were computed for such values. An
    array has shape (m,), or (released columns, m) for a spline or an interaction.
    """
    values: dict[str, FloatArray] = {}
    # table columns are clipped later, by the encoder
    return [base[name] if columns[name].formula is None else _value(columns, base, values, name) for name in names]


def _value(
    columns: Mapping[str, Column], base: Mapping[str, FloatArray], values: dict[str, FloatArray], name: str
) -> FloatArray:
    """Return the clipped values of a column, which are computed once and stored in `values`."""
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
    """Evaluate a formula at the clipped values of its columns, without clipping the result."""
    return formula.evaluate({use: _value(columns, base, values, use) for use in formula.names})
