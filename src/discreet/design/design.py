"""Define the design, which declares the target, columns, bounds, levels, radius and privacy unit."""

from __future__ import annotations

import math
import re
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias, cast

from discreet.design.columns import (
    TWINS,
    Base,
    Boolean,
    Categorical,
    Column,
    Derived,
    Fill,
    Interaction,
    Numeric,
    SplineBasis,
)
from discreet.design.dates import Problems, dated
from discreet.design.declarations import usable_column
from discreet.errors import DesignError, DesignProblem, OptionError, SpecError, written
from discreet.exact.rounding import nearest
from discreet.files import read_limited, write_bytes
from discreet.privacy.budget import PrivacyUnit
from discreet.privacy.checks import check_flag, is_integer, is_number
from discreet.text import escape_control, has_invisible_characters, html_table, twins

# -- printing ----------------------------------------------------------------------------------------------------------


def short_design(design: Design) -> str:
    """Describe the target, the regressors and the privacy unit on one line."""
    regressors = ", ".join(design.regressors)
    return f"<Design of {design.target} on {regressors}: {len(design.columns)} columns, unit {design.unit.words}>"


def design_html(design: Design) -> str:
    """Return the declared columns as an HTML table."""
    roles = dict.fromkeys(design.regressors, "feature") | {design.target: "target"}
    if design.weights is not None:
        roles[design.weights] = f"weights ({design.weights_are})"
    rows = [
        [name, roles.get(name, "in formulas only"), _declared(column.to_dict())]
        for name, column in design.columns.items()
    ]
    radius = []
    if design.radius is not None:
        radius = [f"The scaled regressors of a row are shrunk to a ball of radius {design.radius:g}."]
    notes = [f"Privacy unit: {design.unit.words}.", *radius]
    return html_table(f"Design of {design.target}", ["column", "role", "declared"], rows, notes)


def _declared(entry: dict[str, object]) -> str:
    """Format a declaration as in a design file."""
    return ", ".join(f"{key} = {value}" for key, value in entry.items())


# -- lines -------------------------------------------------------------------------------------------------------------
# The TOML parser of the standard library does not report line numbers, so a small scanner finds the line of each key.

KeyPath: TypeAlias = tuple[str, ...]

# tokens of valid TOML; strings come first, as they may contain any other character
_TOKEN: Final = re.compile(
    r"""(?P<string>"{3}(?s:\\.|[^\\])*?"{3,5}|'{3}(?s:.)*?'{3,5}|"(?:\\.|[^"\\])*"|'[^']*')"""
    r"""|(?P<comment>\#[^\n]*)|(?P<end>\n)|(?P<sign>[][{}=.,])|(?P<word>[^][{}=.,\s"'\#]+)"""
)


class _Scanner:
    """Scanner that finds the line number of every key in valid TOML."""

    def __init__(self, text: str) -> None:
        self.found: dict[KeyPath, int] = {}
        self.tokens: list[tuple[str, str, int]] = []
        line = 1
        for match in _TOKEN.finditer(text):
            if match.lastgroup != "comment":
                self.tokens.append((str(match.lastgroup), match[0], line))
            line += match[0].count("\n")
        self._at = 0

    def read(self) -> dict[KeyPath, int]:
        """Return the line number of every table and key."""
        table: KeyPath = ()
        while self._at < len(self.tokens):
            kind, text, _ = self.tokens[self._at]
            if kind == "end":
                self._at += 1
            elif text == "[":
                self._at += 1
                table = self._key(())
                self._skip_line()
            else:
                self._key(table)
                self._value(table + self._last)
                self._skip_line()
        return self.found

    def _key(self, table: KeyPath) -> KeyPath:
        """Read a dotted key and the sign that ends it. Record the same line for all prefixes of the key."""
        parts: list[str] = []
        line = self.tokens[self._at][2]
        while (token := self.tokens[self._at])[1] not in ("=", "]") or token[0] != "sign":
            kind, text, _ = token
            if kind == "string":
                parts.append(str(tomllib.loads(f"key = {text}")["key"]))
            elif kind == "word":
                parts.append(text)
            self._at += 1
        self._at += 1
        self._last = tuple(parts)
        for length in range(1, len(parts) + 1):
            self.found.setdefault((*table, *parts[:length]), line)
        return self._last

    def _value(self, path: KeyPath) -> None:
        """Skip a value. If it is an inline table, record the lines of its keys."""
        depth = 0
        while self._at < len(self.tokens):
            kind, text, _ = self.tokens[self._at]
            if depth == 0 and (kind == "end" or (kind == "sign" and text in ",}")):
                return
            self._at += 1
            if kind == "sign" and text == "{" and depth == 0:
                self._inline(path)
            elif kind == "sign" and text in "[{":
                depth += 1
            elif kind == "sign" and text in "]}":
                depth -= 1

    def _inline(self, table: KeyPath) -> None:
        while self.tokens[self._at][1] != "}" or self.tokens[self._at][0] != "sign":
            if self.tokens[self._at][0] == "end" or self.tokens[self._at][1] == ",":
                self._at += 1
                continue
            self._key(table)
            self._value(table + self._last)
        self._at += 1

    def _skip_line(self) -> None:
        while self._at < len(self.tokens) and self.tokens[self._at][0] != "end":
            self._at += 1


def key_lines(text: str) -> dict[KeyPath, int]:
    """Return the line number of every table and key in valid TOML."""
    return _Scanner(text).read()


def not_toml(message: str) -> DesignProblem:
    """Convert an error message of the TOML parser to a problem with a line number."""
    position = re.search(r"at line ([0-9]+), ", message)
    if position is None:
        return DesignProblem(f"the design is not valid TOML: {message}")
    rest = message[: position.start()] + "at " + message[position.end() :]
    return DesignProblem(f"the design is not valid TOML: {rest}", line=int(position[1]))


def too_many_digits(text: str) -> DesignProblem:
    """Return the problem that an integer in a TOML text is too long for Python to read."""
    tokens = [("", "", 0), *_Scanner(text).tokens, ("", "", 0)]
    length, line = max(
        (sum(sign.isdigit() for sign in word), line)
        for (_, before, _), (kind, word, line), (_, after, _) in zip(tokens, tokens[1:], tokens[2:], strict=False)
        # digits next to a point belong to a decimal number
        if kind == "word" and "." not in (before, after) and re.fullmatch("[+-]?[0-9_]+", word)
    )
    message = f"expected integers of at most 309 digits, got one of {length} digits; write a smaller number"
    return DesignProblem(message, line=line)


def with_lines(problems: Iterable[DesignProblem], lines: Mapping[KeyPath, int]) -> list[DesignProblem]:
    """Add line numbers to problems, and sort them by line. Problems without a line come last."""
    located = [replace(problem, line=_line(problem, lines)) for problem in problems]
    return sorted(located, key=lambda problem: (problem.line is None, problem.line or 0))


def _line(problem: DesignProblem, lines: Mapping[KeyPath, int]) -> int | None:
    if problem.column:
        paths: list[KeyPath] = [("columns", problem.column, problem.key), ("columns", problem.column)]
    else:
        parts = tuple(problem.key.split("."))
        # the paths below `columns` belong to a column with an empty name
        unnamed: list[KeyPath] = [("columns", "")] if problem.key in ("", "name") else []
        paths = [(problem.key,), parts, parts[:1], ("columns", "", problem.key), *unnamed]
    return next((lines[path] for path in paths if path in lines), None)


# -- checks ------------------------------------------------------------------------------------------------------------
# Each part of a design is checked separately, so that all problems are reported and not only the first.

CONSTANT: Final = "1"
INTERCEPT: Final = "Intercept"
_KEYS: Final = ("target", "intercept", "radius", "weights", "weights_are", "columns", "unit")
_UNIT_KEYS: Final = ("neighbours", "id", "max_rows")
# the meaning of weights: the inverse of the error variance, or the number of people that a row represents
INVERSE_VARIANCE: Final = "inverse-variance"
SAMPLING: Final = "sampling"
WEIGHTS_ARE: Final = (INVERSE_VARIANCE, SAMPLING)


def check_keys(problems: Problems, declared: Mapping[str, object]) -> None:
    """Report unknown keys and missing required keys."""
    for key in declared:
        if not isinstance(key, str) or key not in _KEYS:
            problems.add(SpecError.unknown_name("key", key, _KEYS), key=_text(key))
    slips = " ".join(problem.message for problem in problems.found)
    for key in ("target", "columns"):
        # an unknown key may be a misspelling of this one
        if key not in declared and f"Did you mean '{key}'?" not in slips:
            problems.add(f"the design has no {key!r}, which is required; declare it", key=key)


def checked_columns(problems: Problems, declarations: object) -> dict[str, Column]:
    """Return the valid columns of a design, and report the problems of all declarations."""
    if not isinstance(declarations, Mapping):
        problems.add(
            f"columns: expected a mapping from names to declarations, got {type(declarations).__name__}", key="columns"
        )
        return {}
    declared: dict[str, Column | Derived] = {}
    for name, declaration in declarations.items():
        for fault in _name_faults(name):
            problems.add(fault, column=_text(name), key="name")
        column_problems = Problems()
        column = usable_column(column_problems, declaration)
        with problems.at(column=_text(name)):
            column_problems.check()
        if column is not None and isinstance(name, str):
            declared[name] = column
    names = [name for name in declarations if isinstance(name, str)]
    for first, second in twins(names):
        problems.add(f"the columns {first!a} and {second!a} {TWINS}", column=second, key="name")
    wrong = {name: declarations[name] for name in names if name not in declared}
    return _resolved(problems, declared, wrong)


def check_target(problems: Problems, target: object, names: Iterable[object], columns: Mapping[str, Column]) -> None:
    """Check that the target is the name of a released numeric or boolean column."""
    with problems.at(key="target"):
        declared = [name for name in names if isinstance(name, str)]
        if isinstance(target, str) and not target:
            raise SpecError("target is blank; name the outcome column")
        if declared and (not isinstance(target, str) or target not in declared):
            raise SpecError.unknown_name("target", target, declared)
        if not isinstance(target, str):
            raise SpecError(f"target: expected the name of a column, got {written(target)}")
        column = columns.get(target, Boolean())
        if not isinstance(column, Numeric | Boolean):
            raise SpecError(f"the target {written(target)} is categorical; it must be a numeric or boolean column")
        if not column.is_released:
            raise SpecError(f"the target {written(target)} must be released; remove release = false")


def checked_weights(
    problems: Problems, given: Mapping[str, object], names: Iterable[object], columns: Mapping[str, Column]
) -> tuple[str | None, str | None]:
    """Return the name of the weight column and the meaning of the weights. Both are None without weights."""
    weights, kind = given.get("weights"), given.get("weights_are")
    with problems.at(key="weights_are"):
        if kind is not None and (not isinstance(kind, str) or kind not in WEIGHTS_ARE):
            raise SpecError.unknown_name("weights_are", kind, WEIGHTS_ARE)
        if kind is not None and weights is None:
            raise SpecError('weights_are requires weights; name the column of weights, such as weights = "w"')
    with problems.at(key="weights"):
        if weights is None:
            return None, None
        declared = [name for name in names if isinstance(name, str)]
        if not isinstance(weights, str) or weights not in declared:
            raise SpecError.unknown_name("weights", weights, declared)
        if weights == given.get("target"):
            raise SpecError(f"the column {written(weights)} is the target; choose another column as weights")
        _check_weights_column(weights, columns.get(weights))
    # invalid values were reported above
    return weights if isinstance(weights, str) else None, kind if isinstance(kind, str) else INVERSE_VARIANCE


def _check_weights_column(name: str, column: Column | None) -> None:
    """Check how the weight column is declared. `column` is None if its declaration is invalid."""
    if column is None:
        return
    if not isinstance(column, Numeric):
        raise SpecError(f"the weights {written(name)} must be numeric; declare bounds such as bounds = [0, 5]")
    if column.within is not None:
        raise SpecError(
            f"the weights {written(name)} cannot have private bounds, because the noise depends on these bounds; "
            "declare bounds such as bounds = [0, 5]"
        )
    low, high = column.bounds
    if low != 0 or column.is_date:
        raise SpecError(
            f"the weights {written(name)} must have bounds [0, W], where W is the largest weight that a row may have, "
            f"got [{low:g}, {high:g}]"
        )
    if not column.is_released:
        raise SpecError(f"release = false is not allowed for the weights {written(name)}; remove it")


def check_released(
    problems: Problems,
    target: object,
    names: Collection[object],
    columns: Mapping[str, Column],
    weights: str | None = None,
) -> None:
    """Check that there is a regressor and that the names of released columns are unique.

    A column with an invalid declaration is treated as a regressor. The weight column is not a regressor.
    """
    regressors = [
        name for name in names if name != weights and (name not in columns or is_released(columns[cast("str", name)]))
    ]
    if not names:
        named = f" {written(target)}" if isinstance(target, str) and target else ""
        problems.add(f"no columns are declared; declare the target{named} and at least one regressor", key="target")
    elif isinstance(target, str) and target in names and not [name for name in regressors if name != target]:
        problems.add(
            "the design has no regressor; declare at least one column in addition to the target", key="columns"
        )
    offered = {name: column for name, column in columns.items() if name != weights and is_released(column)}
    released = [label for name, column in offered.items() for label in column.released(name)]
    for name, times in Counter(released).items():
        if times > 1:
            problems.add(
                f"two released columns would be called {name!r}; rename one of the declared columns", key="columns"
            )


def check_searched(intercept: object, columns: Mapping[str, Column]) -> None:
    """Reject private bounds in a design without an intercept, because the sums would then depend on the bounds."""
    searched = [name for name, column in columns.items() if isinstance(column, Numeric) and column.is_searched]
    if intercept is False and searched:
        raise SpecError(
            f"intercept = false requires declared bounds, but the bounds of {searched[0]!r} are private; keep the "
            "intercept, or declare these bounds"
        )


def checked_unit(problems: Problems, given: object, names: Iterable[object]) -> PrivacyUnit:
    """Return the privacy unit, after checking that its id is not declared as a column."""
    unit = given if isinstance(given, PrivacyUnit) else PrivacyUnit()
    if isinstance(given, Mapping):
        before = len(problems.found)
        for key, value in given.items():
            with problems.at(key=f"unit.{_text(key)}"):
                # check max_rows even if the id is invalid
                PrivacyUnit.from_dict({"id": "id", key: value} if key == "max_rows" else {key: value})
        rows = given.get("max_rows")
        # an unknown key may be a misspelling of the id
        slips = any("Did you mean 'id'?" in problem.message for problem in problems.found[before:])
        if given.get("id") is None and is_integer(rows) and rows > 1 and not slips:
            with problems.at(key="unit.max_rows"):
                PrivacyUnit(max_rows=rows)
        if len(problems.found) == before:
            unit = PrivacyUnit.from_dict(given)
    elif given is not None and not isinstance(given, PrivacyUnit):
        with problems.at(key="unit"):
            PrivacyUnit.from_dict(given)  # type: ignore[arg-type]  # raises the error
    id_column = given.get("id") if isinstance(given, Mapping) else unit.id
    if isinstance(id_column, str) and id_column in names:
        problems.add(
            f"the id column {written(id_column)} must not be declared as a column, because an id is never released; "
            "remove the declaration",
            key="unit.id",
        )
    elif isinstance(id_column, str):
        for first, second in twins([id_column, *(name for name in names if isinstance(name, str))]):
            if first == id_column:
                problems.add(f"the id {first!a} and the column {second!a} {TWINS}", key="unit.id")
    return unit


def checked_radius(problems: Problems, radius: object) -> float | None:
    """Return the declared radius after checking it, or None if no radius is declared."""
    with problems.at(key="radius"):
        if radius is None:
            return None
        if not is_number(radius):
            raise SpecError(f"radius: expected a number, got {written(radius)}")
        if not 2**-8 <= nearest(radius) < math.inf:
            raise SpecError(f"expected a finite radius of at least 1/256, got {written(radius)}")
        return float(radius)
    return None


def is_released(column: Column | Derived) -> bool:
    """Return whether a column is released. Other columns are only used in formulas."""
    return not isinstance(column, Numeric | Boolean) or column.is_released


def _name_faults(name: object) -> Iterator[str]:
    if not isinstance(name, str) or not name or name != name.strip():
        yield f"expected a column name that is nonempty text without surrounding blanks, got {written(name)}"
    if isinstance(name, str) and has_invisible_characters(name):
        yield f"the column name {written(name)} contains invisible characters; rename the column"
    if name in (CONSTANT, INTERCEPT):
        yield f"the column name {written(name)} is reserved; rename the column"


def _resolved(
    problems: Problems, declared: Mapping[str, Column | Derived], wrong: Mapping[str, object]
) -> dict[str, Column]:
    if not any(isinstance(column, Derived) or not is_released(column) for column in declared.values()):
        return {name: column for name, column in declared.items() if not isinstance(column, Derived)}
    # imports NumPy, which a design without formulas does not need
    from discreet.design.declarations import resolved

    return resolved(problems, declared, wrong)


def _text(name: object) -> str:
    return name if isinstance(name, str) else written(name)


# -- design ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Design:
    """Public description of a table, which a curator declares before any data is opened.

    Parameters
    ----------
    target
        Name of the outcome column, which must be numeric or boolean.
    columns
        Mapping from names to declarations: `(low, high)` bounds, a list of levels, `bool`, a table as in design.toml,
        or a column. Two numbers are always bounds. Declare two integer levels as `{"levels": [1, 2]}`. With "private",
        or `{"bounds": "private", "within": (low, high)}`, the release spends 5% of its budget on estimating the bounds.
    intercept
        Whether models have an intercept, unless a model says otherwise.
    radius
        Radius of the ball to which the scaled regressors of a row are shrunk, or None. A smaller ball needs less noise
        but biases the fit towards the rows inside the ball.
    unit
        Privacy unit, as a `PrivacyUnit` or a table such as `{"neighbours": "replace"}`.
    weights
        Name of the numeric column that holds row weights, with bounds [0, W]. A row of weight w then enters every sum
        with weight w / W, and every model is fitted by weighted least squares.
    weights_are
        Meaning of the weights. With `inverse-variance`, the default, the error variance of a row is proportional to the
        inverse of its weight. With `sampling`, a weight is the number of people that a row represents. Use robust
        standard errors with sampling weights.

    Examples
    --------
    >>> design = Design(
    ...     target="income", columns={"income": (0, 200_000), "age": (18, 90), "region": ["north", "south"]}
    ... )
    >>> design.released
    ('1', 'age', 'region[south]', 'income')
    """

    target: str
    columns: Mapping[str, Column]
    intercept: bool = True
    radius: float | None = None
    unit: PrivacyUnit = field(default_factory=PrivacyUnit)
    weights: str | None = None
    weights_are: str | None = None

    def __init__(
        self,
        target: str,
        columns: Mapping[str, object],
        intercept: bool = True,
        radius: float | None = None,
        unit: PrivacyUnit | Mapping[str, object] | None = None,
        *,
        weights: str | None = None,
        weights_are: str | None = None,
    ) -> None:
        declared = {"target": target, "columns": columns, "intercept": intercept, "radius": radius, "unit": unit}
        self._declare(declared | {"weights": weights, "weights_are": weights_are})

    def _declare(self, declared: Mapping[str, object]) -> None:
        """Check every part of the declaration, report all problems at once, and set the attributes."""
        problems = Problems()
        check_keys(problems, declared)
        declarations = declared.get("columns")
        names = declarations if isinstance(declarations, Mapping) else {}
        columns = checked_columns(problems, declarations) if "columns" in declared else {}
        if "target" in declared:
            check_target(problems, declared["target"], names, columns)
        unit = checked_unit(problems, declared.get("unit"), names)
        intercept = declared.get("intercept", True)
        with problems.at(key="intercept"):
            check_flag("intercept", intercept)
            check_searched(intercept, columns)
        radius = checked_radius(problems, declared.get("radius"))
        weights, weights_are = checked_weights(problems, declared, names, columns)
        if isinstance(declarations, Mapping):
            check_released(problems, declared.get("target"), names, columns, weights)
        problems.check()
        values = {"target": declared["target"], "columns": MappingProxyType(columns), "intercept": intercept}
        values |= {"radius": radius, "unit": unit, "weights": weights, "weights_are": weights_are}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return short_design(self)

    def _repr_html_(self) -> str:
        return design_html(self)

    def __hash__(self) -> int:
        declared = self.target, tuple(self.columns.items()), self.intercept, self.radius, self.unit
        return hash((*declared, *self._weighting))

    def __reduce__(self) -> tuple[object, ...]:
        return _build_design, (
            self.target,
            dict(self.columns),
            self.intercept,
            self.radius,
            self.unit,
            *self._weighting,
        )

    @property
    def _weighting(self) -> tuple[str | None, str | None]:
        return self.weights, self.weights_are

    @cached_property
    def released(self) -> tuple[str, ...]:
        """Names of the released columns: the constant "1", the regressors in declared order, and the target."""
        regressors = [name for declared in self.regressors for name in self.columns[declared].released(declared)]
        return (CONSTANT, *regressors, self.target)

    @property
    def regressors(self) -> tuple[str, ...]:
        """Names of the declared columns that are released as regressors, in declared order."""
        return tuple(name for name in self.offered if name != self.target)

    @property
    def offered(self) -> tuple[str, ...]:
        """Names of the declared columns that a model can use, in declared order.

        These are the regressors and the target.
        """
        return tuple(name for name, column in self.columns.items() if is_released(column) and name != self.weights)

    @cached_property
    def parts(self) -> Mapping[str, Column]:
        """Declared columns by name, and also each indicator of a category, as a boolean column.

        >>> design = Design("y", {"y": (0, 1), "g": ["a", "b", "c"]})
        >>> list(design.parts), design.parts["g[b]"].formula
        (['y', 'g', 'g[b]', 'g[c]'], parse('g == "b"'))
        """
        parts = dict(self.columns)
        for name, column in self.columns.items():
            if isinstance(column, Categorical):
                from discreet.design.formula import level_formula

                for code, label in zip(column.indicator_codes, column.released(name), strict=True):
                    parts.setdefault(label, Boolean(formula=level_formula(name, column.levels, code)))
        return MappingProxyType(parts)

    @cached_property
    def table_columns(self) -> Mapping[str, Base]:
        """Declared columns without a formula, which are read from the table."""
        return {
            name: column
            for name, column in self.columns.items()
            if not isinstance(column, SplineBasis | Interaction) and column.formula is None
        }

    @cached_property
    def clippable(self) -> tuple[str, ...]:
        """Names of the numeric columns whose values can lie outside their bounds, in declared order.

        These are the numeric columns of the table, and formulas whose declared bounds are tighter than their range.
        Bounds computed from a formula contain all of its values.

        >>> Design("y", {"y": (0, 1), "x": (1, 9), "b": bool, "log": {"formula": "log(x)"}}).clippable
        ('y', 'x')
        """
        return tuple(name for name, column in self.columns.items() if self._clips(column))

    @cached_property
    def searched(self) -> tuple[str, ...]:
        """Names of the columns whose private bounds are not estimated yet, in declared order.

        >>> Design("y", {"y": (0, 1), "x": "private"}).searched
        ('x',)
        """
        return tuple(name for name, column in self._ranged.items() if column.is_searched)

    @cached_property
    def ranges(self) -> Mapping[str, tuple[float, float]]:
        """Public range of every column with private bounds, in declared order."""
        return {name: column.within for name, column in self._ranged.items() if column.within is not None}

    @property
    def _ranged(self) -> dict[str, Numeric]:
        numbers = {name: column for name, column in self.columns.items() if isinstance(column, Numeric)}
        return {name: column for name, column in numbers.items() if column.within is not None}

    def with_found(self, bounds: Mapping[str, tuple[float, float]]) -> Design:
        """Copy the design with estimated bounds in place of private bounds.

        >>> estimated = Design("y", {"y": (0, 1), "x": "private"}).with_found({"x": (0.0, 8.0)})
        >>> estimated.columns["x"].bounds, estimated.searched, list(estimated.ranges)
        ((0.0, 8.0), (), ['x'])
        """
        columns = {name: replace(self._ranged[name], bounds=ends, found=True) for name, ends in bounds.items()}
        return self._with_columns(columns)

    def redeclared(self) -> Design:
        """Copy the design, turning the bounds that a release estimated into declared bounds.

        >>> estimated = Design("y", {"y": (0, 1), "x": "private"}).with_found({"x": (0.0, 8.0)})
        >>> estimated.redeclared() == Design("y", {"y": (0, 1), "x": (0, 8)})
        True
        """
        return self._with_columns(
            {name: _with_declared_bounds(column) for name, column in self._ranged.items() if column.found}
        )

    def _with_columns(self, columns: Mapping[str, Numeric]) -> Design:
        if not columns:
            return self
        both = {**self.columns, **columns}
        return _build_design(self.target, both, self.intercept, self.radius, self.unit, *self._weighting)

    def _clips(self, column: Column) -> bool:
        if not isinstance(column, Numeric) or column.formula is None:
            return isinstance(column, Numeric)
        from discreet.design.declarations import has_own_bounds

        return has_own_bounds(self.columns, column)

    @cached_property
    def factors(self) -> tuple[tuple[int, int], ...]:
        """First and last index of each block of several released columns, at most one of which is nonzero in any row.

        Such blocks are the released columns of categories and of interactions.

        >>> Design("y", {"y": (0, 1), "b": bool, "g": ["k", "l", "m"], "h": ["u", "v"]}).factors
        ((2, 3),)
        """
        spans, stop = [], 1
        for name in self.regressors:
            first, stop = stop, stop + len(self.columns[name].released(name))
            if isinstance(self.columns[name], Categorical | Interaction) and stop - first > 1:
                spans.append((first, stop - 1))
        return tuple(spans)

    @cached_property
    def indicators(self) -> tuple[tuple[int, int], ...]:
        """First and last index of the released columns of each declared column whose entries are all 0 or 1.

        The sum of such a released column equals its sum of squares. Empty if a radius is declared, because rows outside
        the ball are then shrunk.

        >>> Design("y", {"y": (0, 1), "b": bool, "x": (0, 1), "g": ["k", "l", "m"]}).indicators
        ((1, 1), (3, 4))
        """
        spans, stop = [], 1
        for name in self.regressors:
            column = self.columns[name]
            first, stop = stop, stop + len(column.released(name))
            if isinstance(column, Boolean | Categorical) or (isinstance(column, Interaction) and not column.signed):
                spans.append((first, stop - 1))
        return tuple(spans) if self.radius is None else ()

    @property
    def count_public(self) -> bool:
        """Whether the sum of the constant column is public.

        It is public if the number of rows is public and there are no weights.
        """
        return self.weights is None and self.rows_public

    @property
    def rows_public(self) -> bool:
        """Whether the number of rows is public.

        It is public if neighbouring tables replace rows, each row is a privacy unit, and no rule drops rows.
        """
        drops = any(column.missing == "drop" for column in self.table_columns.values())
        return self.unit.neighbours == "replace" and self.unit.id is None and not drops

    @property
    def largest_weight(self) -> float:
        """Upper bound of the weights, by which they are divided, or 1 if there are no weights."""
        column = None if self.weights is None else self.columns[self.weights]
        return column.bounds[1] if isinstance(column, Numeric) else 1.0

    @property
    def centred(self) -> bool:
        """Whether 0 is scaled to 0 in every column, because the bounds of all numbers are symmetric around 0."""
        released = (self.columns[name] for name in (*self.regressors, self.target))
        return all(not isinstance(column, Numeric | Interaction) or column.mid == 0 for column in released)

    @property
    def needs_sums(self) -> bool:
        """Whether a model needs the sums of x and y, because it has an intercept or because scaling moves the origin.

        >>> Design("y", {"y": (-1, 1), "x": (-5, 5), "b": bool}, intercept=False).needs_sums
        False
        """
        return self.intercept or not self.centred

    @property
    def total(self) -> bool:
        """Whether every table can be released, including an empty one, because no rule makes a cell an error."""
        return all(column.missing != "error" for column in self.table_columns.values())

    def to_dict(self) -> dict[str, object]:
        """Return the declarations as a dictionary, structured like design.toml."""
        out: dict[str, object] = {"target": self.target, "intercept": self.intercept}
        if self.radius is not None:
            out["radius"] = self.radius
        if self.weights is not None:
            out |= {"weights": self.weights, "weights_are": self.weights_are}
        out["columns"] = {name: column.to_dict() for name, column in self.columns.items()}
        # TOML has no null
        out["unit"] = {key: value for key, value in self.unit.to_dict().items() if value is not None}
        return out

    @classmethod
    def from_dict(cls, table: Mapping[str, object]) -> Design:
        """Build a design from a dictionary structured like design.toml. Unknown keys are errors."""
        if not isinstance(table, Mapping):
            raise OptionError(f"design: expected a mapping, got {type(table).__name__}", code="not-a-table")
        design = cls.__new__(cls)
        design._declare(table)
        return design

    def to_toml(self) -> str:
        """Return the text of a design.toml from which this design can be loaded."""
        import tomli_w

        # put each array on one line
        return re.sub(
            r"= \[\n((?:    .*,\n)+)\]",
            lambda array: "= [" + ", ".join(line.strip()[:-1] for line in array[1].rstrip("\n").split("\n")) + "]",
            tomli_w.dumps(self._with_dates()),
        )

    def _with_dates(self) -> dict[str, object]:
        """Return the declarations as a dictionary with `date` objects instead of text, because TOML has dates."""
        table = self.to_dict()
        columns = {name: column.to_dict() for name, column in self.columns.items()}
        for name, column in self.columns.items():
            if isinstance(column, Numeric) and column.is_date:
                columns[name] = {key: dated(value) for key, value in columns[name].items()}
        return table | {"columns": columns}

    @classmethod
    def from_toml(cls, text: str) -> Design:
        r"""Build a design from the text of a design.toml.

        >>> Design.from_toml('target = "y"\n[columns]\ny = {bounds = [0, 1]}\nx = {dtype = "bool"}\n').released
        ('1', 'x', 'y')
        """
        if not isinstance(text, str):
            raise OptionError(f"design: expected the text of a design file, got {type(text).__name__}", code="not-text")
        # some editors write a byte order mark
        text = text.removeprefix("\ufeff")
        try:
            table = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise DesignError([not_toml(str(error))]) from None
        except ValueError:
            raise DesignError([too_many_digits(text)]) from None
        except RecursionError:
            raise SpecError(
                "the design is nested too deeply; use only tables such as [columns.NAME] and [unit]", code="too-deep"
            ) from None
        try:
            return cls.from_dict(table)
        except DesignError as error:
            problems = with_lines(error.problems, key_lines(text))
        raise DesignError(problems)

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the design to a TOML file. An existing file is replaced only with `force`."""
        write_bytes(path, self.to_toml().encode(), force=force)

    @classmethod
    def load(cls, path: str | Path) -> Design:
        """Load a design from a TOML file."""
        try:
            return cls.from_toml(read_limited(path).decode())
        except DesignError as error:
            raise DesignError(error.problems, escape_control(str(path))) from None
        except OSError as error:
            raise SpecError(f"cannot read the design {str(path)!r}: {error.strerror}", code="cannot-read") from None
        except UnicodeDecodeError:
            raise SpecError(f"the design {str(path)!r} is not UTF-8 text; save it as UTF-8", code="not-utf8") from None


def design_problems(given: Mapping[str, object] | str) -> tuple[DesignProblem, ...]:
    r"""List all problems of a design. The list is empty if the design is valid.

    Parameters
    ----------
    given
        The text of a design.toml, or a dictionary with the same structure. It may be incomplete or wrong.

    Returns
    -------
    tuple of DesignProblem
        The problems, each with a message, a column and a key. Problems in a text also have a line number.

    Examples
    --------
    >>> import discreet
    >>> columns = {"age": {"bounds": [90, 18]}, "log": {"formula": "x"}}
    >>> problems = discreet.design_problems({"target": "", "columns": columns})
    >>> [(problem.column, problem.key) for problem in problems]
    [('age', 'bounds'), ('log', 'formula'), ('', 'target')]
    >>> discreet.design_problems('target = "y"\n[columns]\ny = {bounds = [0, 1]}\nx = {dtype = "bool"}\n')
    ()
    """
    try:
        if isinstance(given, str):
            Design.from_toml(given)
        else:
            Design.from_dict(given)
    except DesignError as error:
        return error.problems
    except SpecError as error:
        return (DesignProblem(str(error)),)
    return ()


def _with_declared_bounds(column: Numeric) -> Numeric:
    """Return a column with its estimated bounds as declared bounds, and its fill value clipped to them."""
    low, high = column.bounds
    fill = column.fill
    missing = column.missing if fill is None else Fill(min(max(fill, low), high))
    return replace(column, missing=missing, within=None, found=False)


def _build_design(
    target: str,
    columns: Mapping[str, object],
    intercept: bool,
    radius: float | None,
    unit: PrivacyUnit,
    weights: str | None,
    weights_are: str | None,
) -> Design:
    """Build a design from positional arguments, which pickling requires."""
    return Design(target, columns, intercept, radius, unit, weights=weights, weights_are=weights_are)
