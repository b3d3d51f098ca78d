"""Define the kinds of declared columns and their interactions."""

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

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.design.formula import Formula
    from discreet.exact.arrays import FloatArray

# -- interactions ------------------------------------------------------------------------------------------------------
# The interaction of two declared columns: one block of released columns, of which a row has at most one that is not 0.
#
# Category and number: for each level the number, scaled to [-1, 1] by its bounds, in the rows of that level, and 0 in
# the others. Where the number is released too, the slope of the reference level is its coefficient, and the reference
# level is left out; where it is not, all levels stay. Category and boolean: the same with 0 and 1 for the number. Two
# categories: an indicator for each pair of levels, none of them a reference.
#
# So whatever the number of levels, the squares of a block sum to at most 1.


@dataclass(frozen=True, slots=True)
class Interaction:
    """Products of indicators with a scaled number, or with other indicators.

    Attributes
    ----------
    formula
        Such as `age:region`.
    factors
        The columns with levels, one or two, by name.
    number
        Name of the number or boolean, if there is one.
    bounds
        Of the number; none where every entry is 0 or 1.
    whole
        Whether all levels have a column, the reference among them.
    """

    formula: Formula
    factors: tuple[tuple[str, Categorical], ...] = field(repr=False)
    number: str | None = field(default=None, repr=False)
    bounds: tuple[float, float] | None = field(default=None, repr=False)
    whole: bool = field(default=False, repr=False)

    @property
    def codes(self) -> tuple[tuple[int, ...], ...]:
        """Positions of the levels of each released column."""
        kept = [range(len(one.levels)) if self.whole else one.indicator_codes for _, one in self.factors]
        return tuple(product(*kept))

    @property
    def signed(self) -> bool:
        """Whether entries may be negative: a number lies in [-1, 1] once it is scaled."""
        return self.bounds is not None

    @property
    def mid(self) -> float:
        """What is scaled to 0 in the rows of a level."""
        return 0.0 if self.bounds is None else self.bounds[0] + (self.bounds[1] - self.bounds[0]) / 2

    @property
    def half(self) -> float:
        """What one scaled unit is worth."""
        return 1.0 if self.bounds is None else (self.bounds[1] - self.bounds[0]) / 2

    @property
    def labels(self) -> tuple[str, ...]:
        """The level, or the two levels with a comma between them, of each released column."""
        return tuple(
            ",".join(str(one.levels[code]) for (_, one), code in zip(self.factors, codes, strict=True))
            for codes in self.codes
        )

    def released(self, name: str) -> tuple[str, ...]:
        """Names of the released columns, by level."""
        return tuple(f"{name}[{label}]" for label in self.labels)

    def scaled(self, values: Mapping[str, FloatArray]) -> FloatArray:
        """Scaled values of the block, shape (released columns, rows).

        Parameters
        ----------
        values
            Positions of levels, and values of the number inside its bounds, by name, shape (rows,).
        """
        # a design alone does not load it
        import numpy as np

        own = np.ones_like(values[self.factors[0][0]]) if self.number is None else values[self.number]
        if self.bounds is not None:
            # rounding may lead an end of the bounds a little outside
            own = np.clip((own - self.mid) / self.half, -1.0, 1.0)
        block = np.zeros((len(self.codes), len(own)))
        for row, codes in zip(block, self.codes, strict=True):
            here = np.logical_and.reduce(
                [values[name] == code for (name, _), code in zip(self.factors, codes, strict=True)]
            )
            row[here] = own[here]  # [P:one-entry]
        return block

    def to_dict(self) -> dict[str, object]:
        """The table `[columns.NAME]` of design.toml."""
        return {"formula": self.formula.text}


# -- columns -----------------------------------------------------------------------------------------------------------
# The kinds of declared column, and what each says about a missing cell.

Level: TypeAlias = str | int
Cell: TypeAlias = float | bool | Level


@dataclass(frozen=True, slots=True)
class Fill:
    """Put a declared public value where a cell is missing."""

    value: Cell


# "mark" is never declared: it asks a reader to keep a cell that breaks its declaration apart from a missing one
Missing: TypeAlias = Literal["error", "drop", "mark"] | Fill


class _OneNumber:
    """What numbers and booleans have in common: one released column, and a number for a missing cell."""

    __slots__ = ()
    missing: Missing

    @property
    def fill(self) -> float | None:
        """The number put in place of a missing cell, 0 or 1 for a boolean, if the rule is to fill."""
        return float(self.missing.value) if isinstance(self.missing, Fill) else None

    def released(self, name: str) -> tuple[str, ...]:
        """Names of the released columns this declared column gives."""
        return (name,)


@dataclass(frozen=True, slots=True)
class Numeric(_OneNumber):
    """A number with declared bounds; values outside are clipped, scaled to [-1, 1] as (x - mid) / half.

    A date is a number of days since 1970-01-01; its bounds are two dates. A cell that is one of the `missing_codes` is
    missing. Bounds that a release is to find are `within` a public range, which stands in for them until then; after
    it, `bounds` are those that were found.

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
            # bounds that are found later do not decide whether a declaration is right
            low, high = within or bounds or (-math.inf, math.inf)
            if not misread and (not is_number(value) or not low <= value <= high):
                inside = f" inside the {'range' if within else 'bounds'} {self.range_text}" if bounds else ""
                what = "date" if self.is_date else "number"
                problems.add(f"the fill value {self._text(value)} is not a {what}{inside}", key="missing")
        problems.check()

    def _codes(self) -> tuple[float, ...]:
        given = _code_list(self.missing_codes)
        if self.is_date:
            return tuple(code if isinstance(code, float) else declared_day(code, "missing_codes") for code in given)
        for code in given:
            if not is_number(code) or not math.isfinite(nearest(code)):
                raise SpecError(f"missing_codes: expected numbers, got {written(code)}")
        return tuple(nearest(code) for code in given)

    def _text(self, value: object) -> str:
        return date_text(value) if self.is_date and isinstance(value, float) else written(value)

    @property
    def range_text(self) -> str:
        """The bounds as messages show them.

        >>> Numeric((0, 1e6)).range_text, Numeric((date(2019, 1, 1), date(2024, 12, 31))).range_text
        ('[0, 1e+06]', '[2019-01-01, 2024-12-31]')
        """
        low, high = self.within or self.bounds
        return f"[{self.value_text(low)}, {self.value_text(high)}]"

    def value_text(self, value: float, digits: str = "") -> str:
        """A value of the column as messages show it.

        >>> Numeric((0, 9)).value_text(2.5), Numeric((date(2019, 1, 1), date(2024, 12, 31))).value_text(17897.0)
        ('2.5', '2019-01-01')
        """
        return date_text(value) if self.is_date else f"{value:{digits}g}"

    @classmethod
    def private(cls, within: tuple[float, float], missing: Missing = "error") -> Numeric:
        """A number whose bounds a release finds inside a public range."""
        return cls(within, missing, within=within)

    @property
    def is_searched(self) -> bool:
        """Whether its bounds are still to be found."""
        return self.within is not None and not self.found

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

    def to_dict(self) -> dict[str, object]:
        """The table `[columns.NAME]` of design.toml."""
        entry = _formula_entry(self) | _bounds_entry(self)
        if self.is_date and isinstance(self.missing, Fill):
            entry["missing"] = {"fill": date_text(float(self.missing.value))}
        else:
            entry |= _missing_entry(self.missing)
        codes = [date_text(code) if self.is_date else code for code in self.missing_codes]
        return entry | ({"missing_codes": codes} if codes else {})


@dataclass(frozen=True, slots=True)
class Boolean(_OneNumber):
    """A yes/no column, kept as 0 and 1."""

    missing: Missing = "error"
    formula: Formula | None = field(default=None, repr=False)
    is_released: bool = field(default=True, repr=False)

    def __post_init__(self) -> None:
        problems = Problems()
        if isinstance(self.missing, Fill) and self.missing.value not in (0, 1):
            value = written(self.missing.value)
            problems.add(f"the fill value {value} of a boolean column is neither true nor false", key="missing")
        problems.check()

    def to_dict(self) -> dict[str, object]:
        """The table `[columns.NAME]` of design.toml."""
        declared = {} if self.formula else {"dtype": "bool", **_missing_entry(self.missing)}
        return _formula_entry(self) | declared


@dataclass(frozen=True, slots=True)
class Categorical:
    """A column with declared levels: one 0/1 indicator for each level but the reference.

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
        entry: dict[str, object] = _formula_entry(self) or {"levels": list(self.levels)}
        if self.reference != self.levels[0]:
            entry["reference"] = self.reference
        codes = {"missing_codes": list(self.missing_codes)} if self.missing_codes else {}
        return entry | _missing_entry(self.missing) | codes


@dataclass(frozen=True, slots=True)
class SplineBasis:
    """Basis functions of a spline: not negative, and with squares that sum to at most 1, whatever the row.

    `ranges` are those declared for the columns that its formula uses.
    """

    formula: Formula
    ranges: tuple[tuple[str, tuple[float, float]], ...] = field(repr=False)

    def released(self, name: str) -> tuple[str, ...]:
        """Names of the released basis functions, by position."""
        return tuple(f"{name}[{position}]" for position in range(1, self.formula.width + 1))

    def to_dict(self) -> dict[str, object]:
        """The table `[columns.NAME]` of design.toml."""
        return {"formula": self.formula.text}


@dataclass(frozen=True, slots=True)
class Derived:
    """A column declared by a formula, before the bounds of the columns it uses are known."""

    formula: Formula
    bounds: tuple[float, float] | None = None
    reference: Level | None = None


@dataclass(frozen=True, slots=True)
class Identifier:
    """The column that names the person behind a row: read by the curator, never released."""

    missing: Missing = "error"


Base: TypeAlias = Numeric | Boolean | Categorical
Several: TypeAlias = SplineBasis | Interaction
Column: TypeAlias = Base | Several
Readable: TypeAlias = Base | Identifier

# bounds that a release finds, and the range in which it looks unless one is declared
PRIVATE: Final = "private"
WIDEST: Final = (-(2.0**20), 2.0**20)
TWINS: Final = "look the same and differ only in Unicode form; rename one"
_NARROWEST: Final = 1e-250
# integers from here on are not all doubles, and levels are compared as doubles
_LARGEST_LEVEL: Final = 2**53


def bad_cell(column: Base) -> str:
    """What a cell is that the declaration does not take, from the declaration alone."""
    if isinstance(column, Numeric):
        return "not a date" if column.is_date else "not a finite number"
    return "none of true, false, 1 and 0" if isinstance(column, Boolean) else "none of the declared levels"


def remedy(column: Base) -> str:
    """What to do about such a cell: fixing comes first, as dropping may silently leave out every row.

    >>> print(remedy(Categorical(("a", "b"))).partition(";")[0])
    fix the table or declare every level that can occur
    """
    if isinstance(column, Numeric) and column.is_date:
        declared = "fix the table, with dates written like 2019-01-31"
    elif isinstance(column, Numeric):
        declared = "fix the table or, if it holds words, declare levels instead of bounds"
    elif isinstance(column, Boolean):
        words = 'declare levels = ["no", "yes"] with the two words that can occur'
        declared = f"fix the table or, unless it is the target, {words}"
    else:
        declared = "fix the table or declare every level that can occur"
    drop = (
        'missing = "drop" leaves out every row with such a cell (discreet check counts them before anything is spent)'
    )
    return f"{declared}; {drop}, and a fill value replaces the cell"


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


def _code_list(given: object) -> tuple[Any, ...]:
    if not isinstance(given, list | tuple):
        raise SpecError(f"missing_codes: expected a list such as [-9, 99], got {written(given)}")
    return tuple(given)


def _level_codes(given: object, plain: list[Level]) -> tuple[Level, ...]:
    """Codes of a category: of the type of its levels, and none of them."""
    codes = _code_list(given)
    for code in codes:
        if plain and type(code) is not type(plain[0]):
            kind = "text" if isinstance(plain[0], str) else "integers"
            raise SpecError(f"missing_codes: the levels are {kind}, and {written(code)} is not; write it like a level")
        if code in plain:
            raise SpecError(f"missing_codes: {written(code)} is one of the levels; leave it out of one of the two")
    return codes


def _level_faults(levels: tuple[Level, ...], plain: list[Level]) -> Iterator[str]:
    """What is wrong with levels, of which `plain` are text or integers."""
    if not levels:
        yield "levels are blank; fill in every value that can occur from public knowledge"
        return
    if len(levels) < 2:
        yield f"expected at least two levels for a categorical column, got {len(levels)}"
    if len(plain) < len(levels) or len({type(level) for level in plain}) > 1:
        yield "levels must be all text or all integers; write the others as text"
    if any(isinstance(level, int) and abs(level) >= _LARGEST_LEVEL for level in plain):
        yield "a level is 2**53 or more, where doubles skip integers; write the levels as text"
    for level, times in Counter(plain).items():
        if isinstance(level, str) and has_invisible_characters(level):
            yield f"the level {written(level)} has invisible characters; rename it"
        if isinstance(level, str) and not level.strip():
            yield (
                f"the level {written(level)} is blank, and an empty cell is a missing one; leave it out and declare "
                "what missing = does with such cells"
            )
        if times > 1:
            yield f"the level {written(level)} is listed twice; list each level once"
    for one, other in twins(level for level in plain if isinstance(level, str)):
        yield f"the levels {one!a} and {other!a} {TWINS}"


def checked_bounds(bounds: tuple[float, float], *, dates: bool = False) -> tuple[float, float]:
    """Two finite increasing numbers, far enough apart for double precision."""
    if any(isinstance(bound, str) and not bound for bound in bounds):
        raise SpecError("bounds are blank; fill in the lowest and highest value from public knowledge")
    if len(bounds) != 2 or not all(is_number(bound) for bound in bounds):
        raise SpecError(f"bounds: expected a pair of numbers [low, high], got {written(bounds)}")
    low, high = nearest(bounds[0]), nearest(bounds[1])
    if not (math.isfinite(low) and math.isfinite(high)):
        raise SpecError(f"bounds [{low:g}, {high:g}] are not finite; declare two finite numbers")
    if not low < high:
        word = "equal" if low == high else "reversed"
        ends = f"[{date_text(low)}, {date_text(high)}]" if dates else f"[{low:g}, {high:g}]"
        raise SpecError(f"bounds {ends} are {word}; the first must be below the second")
    half = (high - low) / 2
    # narrower, the distance between neighbouring doubles would coarsen the grid, or grid steps per unit overflow
    if not (math.isfinite(half) and half > max(2**-26 * max(abs(low), abs(high)), _NARROWEST)):
        raise SpecError(
            f"bounds [{written(low)}, {written(high)}] are too wide or too narrow for double precision; "
            "shift or rescale the column before declaring it"
        )
    return low, high
