"""Define the kinds of columns that can be declared, and their interactions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from itertools import product
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from discreet.design.dates import Problems, date_text, declared_day
from discreet.errors import SpecError, written
from discreet.exact.rounding import nearest
from discreet.privacy.checks import is_number
from discreet.text import has_invisible_characters, twins
from discreet.wording import Call, Message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.design.formula import Formula
    from discreet.exact.arrays import FloatArray

# -- interactions ------------------------------------------------------------------------------------------------------
# The interaction of two declared columns is a block of released columns. At most one of them is nonzero in a row.
#
# Category and number: a column for each level holds the number, scaled to [-1, 1], in the rows of that level, and 0 in
# the other rows. If the number is released too, its coefficient is the slope of the reference level, which therefore
# has no column. Otherwise all levels have one. Category and boolean: the same with 0 and 1 for the number. Two
# categories: an indicator for each pair of levels other than the references.
#
# The squares of a block therefore sum to at most 1, whatever the number of levels.


@dataclass(frozen=True, slots=True)
class Interaction:
    """Interaction of a categorical column with a number, a boolean or another categorical column.

    `factors` holds the name and declaration of each categorical column, and `number` the name of the number or boolean,
    if there is one. `bounds` are the bounds of the number, or None if every entry is 0 or 1. `whole` is true if the
    reference level also has a column.
    """

    formula: Formula
    factors: tuple[tuple[str, Categorical], ...] = field(repr=False)
    number: str | None = field(default=None, repr=False)
    bounds: tuple[float, float] | None = field(default=None, repr=False)
    whole: bool = field(default=False, repr=False)

    @property
    def codes(self) -> tuple[tuple[int, ...], ...]:
        """Level indices of each released column, one for each categorical column of the interaction."""
        kept = [range(len(factor.levels)) if self.whole else factor.indicator_codes for _, factor in self.factors]
        return tuple(product(*kept))

    @property
    def signed(self) -> bool:
        """Whether entries can be negative."""
        return self.bounds is not None

    @property
    def mid(self) -> float:
        """Value that is scaled to 0."""
        return 0.0 if self.bounds is None else self.bounds[0] + (self.bounds[1] - self.bounds[0]) / 2

    @property
    def half(self) -> float:
        """Size of one scaled unit in original units."""
        return 1.0 if self.bounds is None else (self.bounds[1] - self.bounds[0]) / 2

    @property
    def labels(self) -> tuple[str, ...]:
        """Label of each released column: its level, or its two levels separated by a comma."""
        return tuple(
            ",".join(str(factor.levels[code]) for (_, factor), code in zip(self.factors, codes, strict=True))
            for codes in self.codes
        )

    def released(self, name: str) -> tuple[str, ...]:
        """Return the names of the released columns, one for each label."""
        return tuple(f"{name}[{label}]" for label in self.labels)

    def scaled(self, values: Mapping[str, FloatArray]) -> FloatArray:
        """Return the scaled values of the released columns, shape (released columns, rows).

        `values` holds the level indices of each categorical column, and the values of the number, clipped to its
        bounds.
        """
        # imported here because a design without data does not need NumPy
        import numpy as np

        numbers = np.ones_like(values[self.factors[0][0]]) if self.number is None else values[self.number]
        if self.bounds is not None:
            # rounding may move a bound slightly outside [-1, 1]
            numbers = np.clip((numbers - self.mid) / self.half, -1.0, 1.0)
        block = np.zeros((len(self.codes), len(numbers)))
        for row, codes in zip(block, self.codes, strict=True):
            here = np.logical_and.reduce(
                [values[name] == code for (name, _), code in zip(self.factors, codes, strict=True)]
            )
            row[here] = numbers[here]  # [P:one-entry]
        return block

    def to_dict(self) -> dict[str, object]:
        """Return the declaration as in the table `[columns.NAME]` of design.toml."""
        return {"formula": self.formula.text}


# -- columns -----------------------------------------------------------------------------------------------------------
# The kinds of declared columns, and the rules for missing cells.

Level: TypeAlias = str | int
Cell: TypeAlias = float | bool | Level


@dataclass(frozen=True, slots=True)
class Fill:
    """Rule that replaces a missing cell by a declared value."""

    value: Cell


# "mark" is never declared; readers use it internally to distinguish invalid cells from missing ones
Missing: TypeAlias = Literal["error", "drop", "mark"] | Fill


class _OneNumber:
    """Base class of numeric and boolean columns, which have exactly one released column."""

    __slots__ = ()
    missing: Missing

    @property
    def fill(self) -> float | None:
        """Number that replaces a missing cell, or None if no fill value is declared."""
        return float(self.missing.value) if isinstance(self.missing, Fill) else None

    def released(self, name: str) -> tuple[str, ...]:
        """Return the name of the released column."""
        return (name,)


@dataclass(frozen=True, slots=True)
class Numeric(_OneNumber):
    """Numeric column, whose values x are clipped to declared bounds and scaled to (x - mid) / half in [-1, 1].

    A date is stored as the number of days since 1970-01-01. A cell that equals one of `missing_codes` is missing. A
    column with private bounds has a public range `within`. A release estimates the bounds inside this range and sets
    `found`. Until then, `bounds` equals `within`.

    >>> Numeric((18, 90)).mid, Numeric((18, 90)).half
    (54.0, 36.0)
    >>> Numeric.private((0, 1000)).is_searched
    True
    >>> Numeric((date(2019, 1, 1), date(2024, 12, 31))).bounds
    (17897.0, 20088.0)
    """

    bounds: tuple[float, float]
    missing: Missing = "error"
    formula: Formula | None = field(default=None, repr=False)
    is_released: bool = field(default=True, repr=False)
    within: tuple[float, float] | None = field(default=None, repr=False)
    found: bool = field(default=False, repr=False)
    is_date: bool = field(default=False, repr=False)
    missing_codes: tuple[float, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        problems = Problems()
        bounds = within = None
        with problems.at(key="bounds"):
            if any(isinstance(bound, date) for bound in self.bounds):
                object.__setattr__(self, "is_date", True)
                object.__setattr__(self, "bounds", tuple(declared_day(bound, "bounds") for bound in self.bounds))
            bounds = checked_bounds(self.bounds, dates=self.is_date)
            object.__setattr__(self, "bounds", bounds)
        with problems.at(key="missing_codes"):
            object.__setattr__(self, "missing_codes", self._codes())
        with problems.at(key="within"):
            within = None if self.within is None else checked_bounds(self.within)
            object.__setattr__(self, "within", within)
        if isinstance(self.missing, Fill):
            value = self.missing.value
            misread = False
            if self.is_date and not isinstance(value, float):
                misread = True
                with problems.at(key="missing"):
                    value = declared_day(value, "missing")
                    object.__setattr__(self, "missing", Fill(value))
                    misread = False
            # the range comes first, because estimated bounds must not decide whether a declaration is valid
            low, high = within or bounds or (-math.inf, math.inf)
            if not misread and (not is_number(value) or not low <= value <= high):
                inside = f" inside the {'range' if within else 'bounds'} {self.range_text}" if bounds else ""
                what = "date" if self.is_date else "number"
                problems.add(f"the fill value must be a {what}{inside}, got {self._text(value)}", key="missing")
        problems.check()

    def _codes(self) -> tuple[float, ...]:
        codes = _code_list(self.missing_codes)
        if self.is_date:
            return tuple(code if isinstance(code, float) else declared_day(code, "missing_codes") for code in codes)
        for code in codes:
            if not is_number(code) or not math.isfinite(nearest(code)):
                raise SpecError(f"missing_codes: expected numbers, got {written(code)}")
        return tuple(nearest(code) for code in codes)

    def _text(self, value: object) -> str:
        return date_text(value) if self.is_date and isinstance(value, float) else written(value)

    @property
    def range_text(self) -> str:
        """Text of the public range of private bounds, or of the declared bounds."""
        low, high = self.within or self.bounds
        return f"[{self.value_text(low)}, {self.value_text(high)}]"

    def value_text(self, value: float, digits: str = "") -> str:
        """Format a value of the column. `digits` is a precision such as ".3", which dates ignore."""
        return date_text(value) if self.is_date else f"{value:{digits}g}"

    @classmethod
    def private(cls, within: tuple[float, float], missing: Missing = "error") -> Numeric:
        """Declare a numeric column whose bounds are private and lie inside a public range."""
        return cls(within, missing, within=within)

    @property
    def is_searched(self) -> bool:
        """Whether the bounds are private and not yet estimated."""
        return self.within is not None and not self.found

    @property
    def mid(self) -> float:
        """Middle of the bounds, which is scaled to 0."""
        low, high = self.bounds
        return low + (high - low) / 2

    @property
    def half(self) -> float:
        """Half the width of the bounds, which is one scaled unit."""
        low, high = self.bounds
        return (high - low) / 2

    def to_dict(self) -> dict[str, object]:
        """Return the declaration as in the table `[columns.NAME]` of design.toml."""
        entry = _formula_entry(self) | _bounds_entry(self)
        if self.is_date and isinstance(self.missing, Fill):
            entry["missing"] = {"fill": date_text(float(self.missing.value))}
        else:
            entry |= _missing_entry(self.missing)
        codes = [date_text(code) if self.is_date else code for code in self.missing_codes]
        return entry | ({"missing_codes": codes} if codes else {})


@dataclass(frozen=True, slots=True)
class Boolean(_OneNumber):
    """Boolean column, stored as 0 and 1."""

    missing: Missing = "error"
    formula: Formula | None = field(default=None, repr=False)
    is_released: bool = field(default=True, repr=False)

    def __post_init__(self) -> None:
        problems = Problems()
        if isinstance(self.missing, Fill) and self.missing.value not in (0, 1):
            value = written(self.missing.value)
            problems.add(f"the fill value of a boolean column must be true or false, got {value}", key="missing")
        problems.check()

    def to_dict(self) -> dict[str, object]:
        """Return the declaration as in the table `[columns.NAME]` of design.toml."""
        declared = {} if self.formula else {"dtype": "bool", **_missing_entry(self.missing)}
        return _formula_entry(self) | declared


@dataclass(frozen=True, slots=True)
class Categorical:
    """Categorical column with declared levels, released as one indicator for each level except the reference.

    >>> Categorical(("north", "south", "east")).released("region")
    ('region[south]', 'region[east]')
    """

    levels: tuple[Level, ...]
    reference: Level | None = None
    missing: Missing = "error"
    formula: Formula | None = field(default=None, repr=False)
    missing_codes: tuple[Level, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        problems = Problems()
        levels = tuple(self.levels)
        plain = [level for level in levels if type(level) in (str, int)]
        for fault in _level_faults(levels, plain):
            problems.add(fault, key="levels")
        if plain and self.reference is not None and self.reference not in plain:
            problems.add(SpecError.unknown_name("reference level", self.reference, map(str, plain)), key="reference")
        if plain and isinstance(self.missing, Fill) and self.missing.value not in plain:
            problems.add(SpecError.unknown_name("fill level", self.missing.value, map(str, plain)), key="missing")
        with problems.at(key="missing_codes"):
            object.__setattr__(self, "missing_codes", _level_codes(self.missing_codes, plain))
        problems.check()
        object.__setattr__(self, "levels", levels)
        object.__setattr__(self, "reference", levels[0] if self.reference is None else self.reference)

    @property
    def fill(self) -> float | None:
        """Index of the level that replaces a missing cell, or None if no fill value is declared."""
        return float(self.levels.index(self.missing.value)) if isinstance(self.missing, Fill) else None

    @property
    def indicator_codes(self) -> tuple[int, ...]:
        """Indices of the levels that have an indicator, which are all except the reference, in declared order."""
        return tuple(code for code, level in enumerate(self.levels) if level != self.reference)

    def released(self, name: str) -> tuple[str, ...]:
        """Return the names of the released indicators."""
        return tuple(f"{name}[{self.levels[code]}]" for code in self.indicator_codes)

    def to_dict(self) -> dict[str, object]:
        """Return the declaration as in the table `[columns.NAME]` of design.toml."""
        entry: dict[str, object] = _formula_entry(self) or {"levels": list(self.levels)}
        if self.reference != self.levels[0]:
            entry["reference"] = self.reference
        codes = {"missing_codes": list(self.missing_codes)} if self.missing_codes else {}
        return entry | _missing_entry(self.missing) | codes


@dataclass(frozen=True, slots=True)
class SplineBasis:
    """Basis functions of a spline, which are nonnegative and whose squares sum to at most 1 in every row.

    `ranges` holds the ranges of the columns in the formula.
    """

    formula: Formula
    ranges: tuple[tuple[str, tuple[float, float]], ...] = field(repr=False)

    def released(self, name: str) -> tuple[str, ...]:
        """Return the names of the released basis functions, numbered from 1."""
        return tuple(f"{name}[{position}]" for position in range(1, self.formula.width + 1))

    def to_dict(self) -> dict[str, object]:
        """Return the declaration as in the table `[columns.NAME]` of design.toml."""
        return {"formula": self.formula.text}


@dataclass(frozen=True, slots=True)
class Derived:
    """Column declared by a formula, before its bounds or levels are computed."""

    formula: Formula
    bounds: tuple[float, float] | None = None
    reference: Level | None = None


@dataclass(frozen=True, slots=True)
class Identifier:
    """Column that identifies the individual to whom a row belongs. The curator reads it, and it is never released."""

    missing: Missing = "error"


Base: TypeAlias = Numeric | Boolean | Categorical
Several: TypeAlias = SplineBasis | Interaction
Column: TypeAlias = Base | Several
Readable: TypeAlias = Base | Identifier

# the declaration of private bounds, and the default range inside which a release estimates them
PRIVATE: Final = "private"
WIDEST: Final = (-(2.0**20), 2.0**20)
TWINS: Final = "look the same but differ in their Unicode form; rename one of them"
_NARROWEST: Final = 1e-250
# levels are compared as doubles, which do not represent all integers above this one
_LARGEST_LEVEL: Final = 2**53


def bad_cell(column: Base) -> str:
    """Describe what is wrong with an invalid cell, without showing the cell."""
    if isinstance(column, Numeric):
        return "not a date" if column.is_date else "not a finite number"
    return "none of true, false, 1 and 0" if isinstance(column, Boolean) else "none of the declared levels"


def remedy(column: Base) -> str:
    """Return advice on invalid cells. Dropping rows is mentioned last, because it may drop every row."""
    if isinstance(column, Numeric) and column.is_date:
        declared = "fix the table, with dates written like 2019-01-31"
    elif isinstance(column, Numeric):
        declared = "fix the table or, if the column holds text, declare levels instead of bounds"
    elif isinstance(column, Boolean):
        words = 'declare levels = ["no", "yes"] with the two words that can occur'
        declared = f"fix the table or, unless the column is the target, {words}"
    else:
        declared = "fix the table or declare every level that can occur"
    return Message(
        f'{declared}. Alternatively, declare a fill value for such cells, or missing = "drop" to drop their rows (',
        Call("discreet.check"),
        " counts these rows before any budget is spent)",
    )


def _formula_entry(column: Base) -> dict[str, object]:
    if column.formula is not None:
        return {"formula": column.formula.text}
    hidden = isinstance(column, Numeric | Boolean) and not column.is_released
    return {"release": False} if hidden else {}


def _bounds_entry(column: Numeric) -> dict[str, object]:
    if column.is_date:
        return {"bounds": [date_text(bound) for bound in column.bounds]}
    if column.within is None:
        return {"bounds": list(column.bounds)}
    entry: dict[str, object] = {"bounds": list(column.bounds), "found": True} if column.found else {"bounds": PRIVATE}
    return entry if column.within == WIDEST else entry | {"within": list(column.within)}


def _missing_entry(missing: Missing) -> dict[str, object]:
    if missing == "error":
        return {}
    return {"missing": {"fill": missing.value} if isinstance(missing, Fill) else missing}


def _code_list(codes: object) -> tuple[Any, ...]:
    if not isinstance(codes, list | tuple):
        raise SpecError(f"missing_codes: expected a list such as [-9, 99], got {written(codes)}")
    return tuple(codes)


def _level_codes(declared: object, plain: list[Level]) -> tuple[Level, ...]:
    """Check that missing codes have the type of the levels and are not themselves levels."""
    codes = _code_list(declared)
    for code in codes:
        if plain and type(code) is not type(plain[0]):
            kind = "text" if isinstance(plain[0], str) else "integers"
            raise SpecError(f"missing_codes: expected {kind} like the levels, got {written(code)}")
        if code in plain:
            raise SpecError(f"missing_codes: {written(code)} is also a level; remove it from one of the two lists")
    return codes


def _level_faults(levels: tuple[Level, ...], plain: list[Level]) -> Iterator[str]:
    """Yield the problems of declared levels. `plain` holds the levels that are text or integers."""
    if not levels:
        yield "levels are blank; list every value that can occur, using public knowledge only"
        return
    if len(levels) < 2:
        yield f"expected at least 2 levels for a categorical column, got {len(levels)}"
    if len(plain) < len(levels) or len({type(level) for level in plain}) > 1:
        yield "levels must be all text or all integers; write the integers as text"
    if any(isinstance(level, int) and abs(level) >= _LARGEST_LEVEL for level in plain):
        yield (
            "integer levels must be below 2**53 in absolute value to be exact in double precision; write the levels "
            "as text"
        )
    for level, times in Counter(plain).items():
        if isinstance(level, str) and has_invisible_characters(level):
            yield f"the level {written(level)} contains invisible characters; rename it"
        if isinstance(level, str) and not level.strip():
            yield (
                f"the level {written(level)} is blank, but blank cells are read as missing; remove the level and "
                "declare a rule for missing cells"
            )
        if times > 1:
            yield f"the level {written(level)} is listed twice; list each level once"
    for first, second in twins(level for level in plain if isinstance(level, str)):
        yield f"the levels {first!a} and {second!a} {TWINS}"


def checked_bounds(bounds: tuple[float, float], *, dates: bool = False) -> tuple[float, float]:
    """Return the bounds as floats after checking that they are finite, increasing and far enough apart."""
    if any(isinstance(bound, str) and not bound for bound in bounds):
        raise SpecError("bounds are blank; declare the lowest and highest possible value, using public knowledge only")
    if len(bounds) != 2 or not all(is_number(bound) for bound in bounds):
        raise SpecError(f"bounds: expected a pair of numbers [low, high], got {written(bounds)}")
    low, high = nearest(bounds[0]), nearest(bounds[1])
    if not (math.isfinite(low) and math.isfinite(high)):
        raise SpecError(f"bounds [{low:g}, {high:g}] are not finite; declare two finite numbers")
    if not low < high:
        word = "equal" if low == high else "reversed"
        ends = f"[{date_text(low)}, {date_text(high)}]" if dates else f"[{low:g}, {high:g}]"
        raise SpecError(f"bounds {ends} are {word}; the first bound must be below the second")
    half = (high - low) / 2
    # narrower bounds would be coarser than the grid, or the number of grid steps per unit would overflow
    if not (math.isfinite(half) and half > max(2**-26 * max(abs(low), abs(high)), _NARROWEST)):
        raise SpecError(
            f"bounds [{written(low)}, {written(high)}] are too wide or too narrow for double precision; "
            "shift or rescale the column"
        )
    return low, high
