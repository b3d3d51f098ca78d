"""The three kinds of declared column, and what each says about a missing cell."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from discreet.errors import SpecError

Level: TypeAlias = str | int
Cell: TypeAlias = float | bool | Level


@dataclass(frozen=True, slots=True)
class Fill:
    """Put a declared public value where a cell is missing."""

    value: Cell


Missing: TypeAlias = Literal["error", "drop"] | Fill


@dataclass(frozen=True, slots=True)
class Numeric:
    """A number with declared bounds; values outside are clipped, scaled to [-1, 1] as (x - mid) / half.

    >>> Numeric((18, 90)).mid, Numeric((18, 90)).half
    (54.0, 36.0)
    """

    bounds: tuple[float, float]
    missing: Missing = "error"

    def __post_init__(self) -> None:
        object.__setattr__(self, "bounds", _checked_bounds(self.bounds))
        if isinstance(self.missing, Fill):
            low, high = self.bounds
            value = self.missing.value
            if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
                raise SpecError(f"the fill value {value!r} is not a number inside the bounds [{low:g}, {high:g}]")

    @property
    def mid(self) -> float:
        """Middle of the bounds: the value that is scaled to 0."""
        low, high = self.bounds
        return low + (high - low) / 2

    @property
    def half(self) -> float:
        """Half the width of the bounds: what one scaled unit is worth."""
        low, high = self.bounds
        return (high - low) / 2

    @property
    def fill(self) -> float | None:
        """The number put in place of a missing cell, if the rule is to fill."""
        return float(self.missing.value) if isinstance(self.missing, Fill) else None

    def released(self, name: str) -> tuple[str, ...]:
        """Names of the released columns this declared column gives."""
        return (name,)

    def to_dict(self) -> dict[str, object]:
        """The table `[columns.NAME]` of design.toml."""
        return {"bounds": list(self.bounds), **_missing_entry(self.missing)}


@dataclass(frozen=True, slots=True)
class Boolean:
    """A yes/no column, kept as 0 and 1."""

    missing: Missing = "error"

    def __post_init__(self) -> None:
        if isinstance(self.missing, Fill) and self.missing.value not in (0, 1):
            raise SpecError(f"the fill value {self.missing.value!r} of a boolean column is neither true nor false")

    @property
    def fill(self) -> float | None:
        """0.0 or 1.0 put in place of a missing cell, if the rule is to fill."""
        return float(self.missing.value) if isinstance(self.missing, Fill) else None

    def released(self, name: str) -> tuple[str, ...]:
        """Names of the released columns this declared column gives."""
        return (name,)

    def to_dict(self) -> dict[str, object]:
        """The table `[columns.NAME]` of design.toml."""
        return {"dtype": "bool", **_missing_entry(self.missing)}


@dataclass(frozen=True, slots=True)
class Categorical:
    """A column with declared levels: one 0/1 indicator for each level but the reference.

    >>> Categorical(("north", "south", "east")).released("region")
    ('region[south]', 'region[east]')
    """

    levels: tuple[Level, ...]
    reference: Level | None = None
    missing: Missing = "error"

    def __post_init__(self) -> None:
        levels = tuple(self.levels)
        if len(levels) < 2:
            raise SpecError(f"a categorical column needs at least two levels, {len(levels)} came")
        kinds = {type(level) for level in levels}
        if kinds not in ({str}, {int}):
            raise SpecError("levels must be all text or all whole numbers; write the others as text")
        if any(isinstance(level, int) and abs(level) >= _LARGEST_LEVEL for level in levels):
            raise SpecError("a level is 2**53 or more, where doubles skip whole numbers; write the levels as text")
        hidden = next((level for level in levels if isinstance(level, str) and has_invisible_signs(level)), None)
        if hidden is not None:
            raise SpecError(f"the level {hidden!r} has invisible signs; rename it")
        if len(set(levels)) != len(levels):
            twice = next(level for level in levels if levels.count(level) > 1)
            raise SpecError(f"the level {twice!r} is declared twice; each level stands once")
        object.__setattr__(self, "levels", levels)
        reference = levels[0] if self.reference is None else self.reference
        if reference not in levels:
            raise SpecError.unknown_name("reference level", str(reference), map(str, levels))
        object.__setattr__(self, "reference", reference)
        if isinstance(self.missing, Fill) and self.missing.value not in levels:
            raise SpecError.unknown_name("fill level", str(self.missing.value), map(str, levels))

    @property
    def fill(self) -> float | None:
        """Position of the level put in place of a missing cell, if the rule is to fill."""
        return float(self.levels.index(self.missing.value)) if isinstance(self.missing, Fill) else None

    @property
    def indicator_codes(self) -> tuple[int, ...]:
        """Positions of the levels that get an indicator, in declared order."""
        return tuple(code for code, level in enumerate(self.levels) if level != self.reference)

    def released(self, name: str) -> tuple[str, ...]:
        """Names of the released indicators."""
        return tuple(f"{name}[{self.levels[code]}]" for code in self.indicator_codes)

    def to_dict(self) -> dict[str, object]:
        """The table `[columns.NAME]` of design.toml."""
        entry: dict[str, object] = {"levels": list(self.levels)}
        if self.reference != self.levels[0]:
            entry["reference"] = self.reference
        return entry | _missing_entry(self.missing)


@dataclass(frozen=True, slots=True)
class Identifier:
    """The column that names the person behind a row: read by the curator, never released."""

    missing: Missing = "error"


Column: TypeAlias = Numeric | Boolean | Categorical
Readable: TypeAlias = Column | Identifier

_NARROWEST: Final = 1e-250
# whole numbers from here on are not all doubles, and levels are compared as doubles
_LARGEST_LEVEL: Final = 2**53
COLUMN_KEYS: Final = ("bounds", "levels", "reference", "dtype", "missing")


def column_from(declaration: object) -> Column:
    """A column from any of the short forms: a pair of numbers, a list of levels, `bool`, a table, or a column.

    >>> column_from((0, 10))
    Numeric(bounds=(0.0, 10.0), missing='error')
    >>> column_from(["a", "b"]).levels
    ('a', 'b')
    >>> column_from(bool)
    Boolean(missing='error')
    """
    if isinstance(declaration, Numeric | Boolean | Categorical):
        return declaration
    if declaration is bool or declaration == "bool":
        return Boolean()
    if isinstance(declaration, Mapping):
        return _column_from_table(declaration)
    if isinstance(declaration, list | tuple):
        items = tuple(declaration)
        if len(items) == 2 and all(_is_number(item) for item in items):
            return Numeric(items)
        if items and all(isinstance(item, str) or type(item) is int for item in items):
            return Categorical(items)
    raise SpecError(
        f"a column is declared by a pair of bounds, a list of levels, bool or a table; {_short(declaration)} came"
    )


def has_invisible_signs(text: str) -> bool:
    r"""Whether a name holds control, formatting or broken characters, which terminals and pages may obey.

    >>> has_invisible_signs("north"), has_invisible_signs("no\x1brth")
    (False, True)
    """
    return any(unicodedata.category(sign) in ("Cc", "Cf", "Cs") for sign in text)


def _column_from_table(table: Mapping[str, object]) -> Column:
    for key in table:
        if key not in COLUMN_KEYS:
            raise SpecError.unknown_name("key", str(key), COLUMN_KEYS)
    given = [key for key in ("bounds", "levels", "dtype") if key in table]
    if len(given) != 1:
        came = " and ".join(given) or "none of them"
        raise SpecError(f"a column needs exactly one of bounds, levels or dtype = 'bool'; {came} came")
    if "reference" in table and "levels" not in table:
        raise SpecError("'reference' belongs to a column with levels")
    missing = _missing_from(table.get("missing", "error"))
    if "bounds" in table:
        bounds = table["bounds"]
        if not isinstance(bounds, list | tuple) or len(bounds) != 2:
            raise SpecError(f"bounds are a pair [low, high]; {_short(bounds)} came")
        return Numeric((bounds[0], bounds[1]), missing)
    if "levels" in table:
        levels = table["levels"]
        if not isinstance(levels, list | tuple):
            raise SpecError(f"levels are a list; {_short(levels)} came")
        reference = table.get("reference")
        if reference is not None and (isinstance(reference, bool) or not isinstance(reference, str | int)):
            raise SpecError(f"the reference is one of the levels; {_short(reference)} came")
        return Categorical(tuple(levels), reference, missing)
    if table["dtype"] != "bool":
        raise SpecError(f"dtype {table['dtype']!r} is not known; allowed: 'bool'")
    return Boolean(missing)


def _missing_from(rule: object) -> Missing:
    if isinstance(rule, Fill):
        return rule
    if rule == "error":
        return "error"
    if rule == "drop":
        return "drop"
    if isinstance(rule, Mapping) and set(rule) == {"fill"}:
        value = rule["fill"]
        if isinstance(value, str | int | float):
            return Fill(value)
    raise SpecError(f"missing = {_short(rule)} is not known; allowed: 'error', 'drop' or {{fill = VALUE}}")


def _missing_entry(missing: Missing) -> dict[str, object]:
    if missing == "error":
        return {}
    return {"missing": {"fill": missing.value} if isinstance(missing, Fill) else missing}


def _checked_bounds(bounds: tuple[float, float]) -> tuple[float, float]:
    if len(bounds) != 2 or not all(_is_number(bound) for bound in bounds):
        raise SpecError(f"bounds are a pair of numbers [low, high]; {_short(bounds)} came")
    low, high = float(bounds[0]), float(bounds[1])
    if not (math.isfinite(low) and math.isfinite(high)):
        raise SpecError(f"bounds [{low:g}, {high:g}] are not finite; declare two finite numbers")
    if not low < high:
        word = "equal" if low == high else "reversed"
        raise SpecError(f"bounds [{low:g}, {high:g}] are {word}; the first must be below the second")
    half = (high - low) / 2
    # narrower, the distance between neighbouring doubles would coarsen the grid, or grid steps per unit overflow
    if not (math.isfinite(half) and half > max(2**-26 * max(abs(low), abs(high)), _NARROWEST)):
        raise SpecError(
            f"bounds [{low!r}, {high!r}] are too wide or too narrow for double precision; "
            "shift or rescale the column before declaring it"
        )
    return low, high


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
