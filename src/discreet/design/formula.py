"""Evaluate the formulas of derived columns. They are written in a small language and never run as Python."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.design.dates import MONTHS, WEEKDAYS, Problems, months_between, weekdays_between
from discreet.design.formula_syntax import (
    DATE_LEVELS,
    Binary,
    Call,
    Clip,
    Compare,
    Cross,
    Cut,
    DatePart,
    IsLevel,
    Logic,
    Name,
    Negate,
    Node,
    Not,
    Number,
    Power,
    Spline,
    Tree,
    dates_in,
    is_condition,
    levels_in,
    names_in,
    number_text,
    numbers_in,
    parts_of,
    shown,
    text_of,
    tree_of,
    with_codes,
)
from discreet.errors import DesignError, DesignProblem, FormulaError
from discreet.exact import elementary, ranges
from discreet.exact.arrays import FloatArray
from discreet.exact.ranges import Interval, NoRangeError

# -- evaluation --------------------------------------------------------------------------------------------------------
# Each value depends on its own row only, through operations that are exact or correctly rounded. Its bits therefore do
# not depend on the length of the arrays or on how they are split. Logarithms and exponentials come from `elementary`
# for the same reason.

_Values: TypeAlias = Mapping[str, FloatArray]

_BINARY: Final[dict[str, tuple[Callable[..., FloatArray], Callable[[Interval, Interval], Interval]]]] = {
    "+": (np.add, ranges.add),
    "-": (np.subtract, lambda a, b: ranges.add(a, ranges.negate(b))),
    "*": (np.multiply, ranges.multiply),
    "/": (np.divide, ranges.divide),
}
_COMPARE: Final[dict[str, Callable[..., object]]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}
# the function, the lower end of its domain, and a point (argument, value) where it is exact
_RISING: Final[dict[str, tuple[Callable[[FloatArray], FloatArray], float, tuple[float, float]]]] = {
    "log": (elementary.log, 0.0, (1.0, 0.0)),
    "log2": (elementary.log2, 0.0, (1.0, 0.0)),
    "log10": (elementary.log10, 0.0, (1.0, 0.0)),
    "log1p": (elementary.log1p, -1.0, (0.0, 0.0)),
    "exp": (elementary.exp, -np.inf, (0.0, 1.0)),
}


def values_of(node: Node, values: _Values) -> FloatArray:
    """Evaluate a syntax tree in each row. Constants have one element, which NumPy broadcasts."""
    if isinstance(node, Number):
        return np.array([node.value])
    if isinstance(node, Name):
        return values[node.name]
    if isinstance(node, Binary):
        return _BINARY[node.sign][0](values_of(node.left, values), values_of(node.right, values))
    if isinstance(node, Compare):
        answer = _COMPARE[node.sign](values_of(node.left, values), values_of(node.right, values))
        return np.asarray(answer, np.float64)
    if isinstance(node, IsLevel):
        return np.asarray(_COMPARE[node.sign](values[node.name], node.code), np.float64)
    if isinstance(node, DatePart):
        return _date_part(node, values[node.name])
    if isinstance(node, Logic):
        # conditions are 0 or 1
        join = _smaller if node.word == "and" else _larger
        return join(values_of(node.left, values), values_of(node.right, values))
    if isinstance(node, Power):
        return _power(values_of(node.base, values), node.exponent)
    if isinstance(node, Call):
        return _call(node.function, [values_of(argument, values) for argument in node.arguments])
    operand = values_of(node.operand, values)
    if isinstance(node, Clip):
        return _smaller(_larger(operand, np.array([node.low])), np.array([node.high]))
    return 1.0 - operand if isinstance(node, Not) else -operand


def _date_part(node: DatePart, days: FloatArray) -> FloatArray:
    """Return the year, or the level index of the month or weekday, of each day."""
    whole = days.astype(np.int64)
    if node.part == "weekday":
        # 1970-01-01 was a Thursday
        part = (whole + 3) % 7
    else:
        months = whole.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
        part = months // 12 + 1970 if node.part == "year" else months % 12
    return (part if node.part == "year" else np.searchsorted(node.kept, part)).astype(np.float64)


def _power(base: FloatArray, exponent: float) -> FloatArray:
    if exponent == 0.5:
        return np.sqrt(base)
    result = base if exponent else np.ones_like(base)
    for _ in range(int(exponent) - 1):
        result = result * base
    return result


def _call(function: str, arguments: list[FloatArray]) -> FloatArray:
    if function in ("min", "max"):
        return reduce(_smaller if function == "min" else _larger, arguments)
    (argument,) = arguments
    if function == "sqrt":
        return np.sqrt(argument)
    return np.abs(argument) if function == "abs" else _RISING[function][0](argument)


def _smaller(a: FloatArray, b: FloatArray) -> FloatArray:
    # np.minimum does not specify which of two zeros with different signs it returns
    return np.where(b < a, b, a)


def _larger(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.where(b > a, b, a)


def range_of(node: Node, bounds: Mapping[str, Interval]) -> Interval:
    """Return the range of a syntax tree, given the bounds of its columns.

    If a subexpression has no finite range, the FormulaError names it.
    """
    if isinstance(node, Number):
        return node.value, node.value
    if isinstance(node, Name):
        return bounds[node.name]
    if isinstance(node, DatePart):
        low, high = (float(values_of(node, {node.name: np.array([end])})[0]) for end in bounds[node.name])
        return low, high
    parts = [range_of(part, bounds) for part in parts_of(node)]
    if isinstance(node, Compare | Logic | Not | IsLevel):
        return 0.0, 1.0
    try:
        return _joined(node, parts)
    except NoRangeError as reason:
        ranges = " and ".join(
            f"{text_of(part)} in {range_text(range_)}"
            for part, range_ in zip(parts_of(node), parts, strict=True)
            if not isinstance(part, Number)
        )
        where = f" for some {ranges}" if ranges else ""
        instead = " or log1p" if isinstance(node, Call) and node.function in ("log", "log2", "log10") else ""
        raise FormulaError(
            f"{text_of(node)} has no finite value{where}: {reason}; "
            f"declare tighter bounds for its columns, or use clip{instead}"
        ) from None


def _joined(node: Binary | Power | Call | Clip | Negate, parts: list[Interval]) -> Interval:
    """Return the range of an operation, given the ranges of its operands."""
    first = parts[0]
    if isinstance(node, Binary):
        return _BINARY[node.sign][1](first, parts[1])
    if isinstance(node, Power):
        return ranges.square_root(first) if node.exponent == 0.5 else ranges.power(first, int(node.exponent))
    if isinstance(node, Clip):
        return ranges.least(ranges.greatest(first, (node.low, node.low)), (node.high, node.high))
    if isinstance(node, Negate):
        return ranges.negate(first)
    if node.function in ("min", "max"):
        return reduce(ranges.least if node.function == "min" else ranges.greatest, parts)
    if node.function in ("sqrt", "abs"):
        return ranges.square_root(first) if node.function == "sqrt" else ranges.absolute(first)
    function, above, fixed = _RISING[node.function]
    if first[0] <= above:
        raise NoRangeError(f"{node.function} requires numbers above {number_text(above)}")
    low, high = ranges.rising(first, function, fixed)
    # an exponential may be rounded to 0 but is never negative
    return (max(low, 0.0), high) if node.function == "exp" else (low, high)


def range_text(range_: Interval) -> str:
    """Format a range."""
    return f"[{range_[0]:g}, {range_[1]:g}]"


# -- splines -----------------------------------------------------------------------------------------------------------

# a step of 2**-40 is far finer than the grid of a release and far coarser than the rounding error of a sum
_STEPS: Final = 2.0**40


def basis(x: FloatArray, knots: Sequence[float], degree: int, bounds: tuple[float, float]) -> FloatArray:
    """Compute all functions of a clamped B-spline basis, including the first one, shape (knots + degree + 1, rows).

    `knots` must be increasing and strictly inside `bounds`. Values outside the bounds are moved to the nearer bound.

    This is the recursion of Cox and de Boor [de Boor 1978, chapter X, eq. (8)], with each of the two weights divided
    separately, so that no term is negative and both ends are exact. The functions sum to 1 up to a relative rounding
    error of at most 6 * degree units of 2**-53. Each value is then rounded down to a multiple of 2**-40. The sum of a
    row is now a multiple of 2**-40 below 1 + 2**-40, so it is at most 1. Values in [0, 1] with a sum of at most 1 have
    a sum of squares of at most 1, exactly and not only up to rounding.

    >>> basis(np.array([0.0, 0.5, 2.0]), [1.0], 1, (0.0, 2.0))
    array([[1. , 0.5, 0. ],
           [0. , 0.5, 0. ],
           [0. , 0. , 1. ]])
    """
    low, high = bounds
    x = np.where(x < low, low, np.where(x > high, high, x))
    every = np.array([low] * (degree + 1) + list(knots) + [high] * (degree + 1))
    span = np.zeros(len(x), np.intp)
    for knot in knots:
        span += x >= knot
    active = [np.ones(len(x))]
    for step in range(1, degree + 1):
        following = [np.zeros(len(x)) for _ in range(step + 1)]
        for index, value in enumerate(active):
            left = every[span + (degree + 1 + index - step)]
            right = every[span + (degree + 1 + index)]
            width = right - left
            following[index] = following[index] + value * ((right - x) / width)
            following[index + 1] = value * ((x - left) / width)
        active = following
    out = np.zeros((len(knots) + degree + 1, len(x)))
    rows = np.arange(len(x))
    for index, value in enumerate(active):
        out[span + index, rows] = np.floor(value * _STEPS) / _STEPS
    return out


# -- formula -----------------------------------------------------------------------------------------------------------
# A derived column is a function of public constants and of other cells in the same row. Its bounds follow from the
# declared bounds of the columns it uses, never from rows. Release and prediction use the same `Formula`.
#
# The language has numbers, columns, + - * / and **, unary minus, round brackets, comparisons, `and`, `or`, `not`, and
# the functions log, log2, log10, log1p, exp, sqrt, abs, min, max and clip. `region == "south"` tests for a level, and
# `year(day)` is a number. `cut(...)`, `spline(...)`, `month(day)`, `weekday(day)` and an interaction such as
# `age:region` cannot be part of a larger expression. A column name that is not a plain word, or that is a word of the
# language, is written in back quotes: `` `gross income` ``. A back quote inside the name is doubled. In arithmetic, a
# condition is 0 or 1.

Kind: TypeAlias = Literal["numeric", "boolean", "levels", "spline", "interaction"]

# rows per block, so that intermediate results stay in the processor's cache
_BLOCK: Final = 8192


def parse(text: str) -> Formula:
    """Parse a formula. If its syntax is wrong, the FormulaError names the position.

    >>> formula = parse("log(wage) - `years at school`*2")
    >>> formula.names, formula.kind
    (('wage', 'years at school'), 'numeric')
    >>> print(formula)
    log(wage) - `years at school` * 2
    """
    return Formula(text, tree_of(text))


def level_formula(name: str, levels: tuple[str | int, ...], code: int) -> Formula:
    """Return the formula of the indicator of one level.

    >>> level_formula("g", ("a", "b"), 1)
    parse('g == "b"')
    """
    tree = IsLevel("==", name, levels[code], code)
    return Formula(text_of(tree), tree)


@dataclass(frozen=True, slots=True, repr=False)
class Formula:
    """Formula of a derived column, as returned by `parse`.

    Blanks and redundant brackets do not affect equality. `str` returns the canonical text, which parses to an equal
    formula.
    """

    text: str = field(compare=False)
    tree: Tree

    def __str__(self) -> str:
        return text_of(self.tree)

    def __repr__(self) -> str:
        return f"parse({self.text!r})"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns in the formula, in order of first appearance."""
        return tuple(dict.fromkeys(names_in(self.tree)))

    @property
    def numbers(self) -> tuple[str, ...]:
        """Names of the columns whose values enter as numbers, and not as levels or in an interaction.

        >>> parse('age * (region == "south")').numbers
        ('age',)
        """
        return tuple(dict.fromkeys(numbers_in(self.tree)))

    def with_dates(self, dates: Mapping[str, Interval]) -> Formula:
        """Copy the formula with its months and weekdays restricted to those that can occur.

        `dates` holds the bounds of each date column in days.

        >>> parse("weekday(day)").with_dates({"day": (4.0, 6.0)}).levels()
        ('Mon', 'Tue', 'Wed')
        """
        kept: dict[tuple[str, str], tuple[int, ...]] = {}
        for node in dates_in(self.tree):
            if node.name not in dates:
                unknown = FormulaError.unknown_name("column of dates", node.name, dates)
                raise FormulaError(f"{shown(self.text)}: {unknown}")
            between = months_between if node.part == "month" else weekdays_between
            kept[node.part, node.name] = between(*dates[node.name])
        return Formula(self.text, with_codes(self.tree, {}, kept)) if kept else self

    def with_levels(self, levels: Mapping[str, tuple[str | int, ...]]) -> Formula:
        """Copy the formula with the index of every level that it names. `levels` holds the levels of each column.

        >>> formula = parse('region == "south"').with_levels({"region": ("north", "south")})
        >>> formula.evaluate({"region": np.array([0.0, 1.0])})
        array([0., 1.])
        """
        codes = {name: {level: code for code, level in enumerate(declared)} for name, declared in levels.items()}
        kept: dict[tuple[str, str], tuple[int, ...]] = {
            (part.part, part.name): part.kept for part in dates_in(self.tree)
        }
        bound = Formula(self.text, with_codes(self.tree, codes, kept))
        for node in levels_in(bound.tree):
            if node.code < 0 and node.name in levels:
                raise FormulaError(f"{shown(self.text)}: {_level_fault(node, levels[node.name])}")
        return bound

    @property
    def kind(self) -> Kind:
        """Kind of column that the formula defines: a number, a boolean, levels, a spline or an interaction."""
        if isinstance(self.tree, Cut) or (isinstance(self.tree, DatePart) and self.tree.part in DATE_LEVELS):
            return "levels"
        if isinstance(self.tree, Spline):
            return "spline"
        if isinstance(self.tree, Cross):
            return "interaction"
        return "boolean" if is_condition(self.tree) else "numeric"

    @property
    def width(self) -> int:
        """Number of released columns.

        It is 1 for a number or boolean, one less than the number of levels of a cut, and one less than the number of
        basis functions of a spline. The formula does not determine the number for other kinds.

        >>> parse("cut(age, 30, 50, 65)").width, parse("spline(age, 25, 40, 60)").width
        (3, 6)
        """
        if isinstance(self.tree, Spline):
            return len(self.tree.knots) + self.tree.degree
        return len(self.tree.points) if isinstance(self.tree, Cut) else 1

    def levels(self) -> tuple[str, ...]:
        """Return the names of the levels. An interval of a cut includes its left end and excludes its right end.

        >>> parse("cut(age, 30, 50, 65)").levels()
        ('<30', '30 to 50', '50 to 65', '>=65')
        """
        if isinstance(self.tree, DatePart) and self.tree.part in DATE_LEVELS:
            names = MONTHS if self.tree.part == "month" else WEEKDAYS
            return tuple(names[position] for position in self.tree.kept or range(len(names)))
        if not isinstance(self.tree, Cut):
            raise FormulaError(
                f"{shown(self.text)}: a formula of kind {self.kind!r} has no levels; use cut(...) for levels"
            )
        points = [number_text(point) for point in self.tree.points]
        between = (f"{low} to {high}" for low, high in pairwise(points))
        return (f"<{points[0]}", *between, f">={points[-1]}")

    def interval(self, bounds: Mapping[str, Interval]) -> Interval:
        """Return a range that contains every value of the formula, given the bounds of its columns.

        If the columns are inside their bounds, no result of `evaluate` lies outside this range, not even by rounding.
        The range may be wider than the set of values, because each occurrence of a column is treated as a separate
        column: x - x over [0, 1] has the range [-1, 1]. A derived column may therefore declare tighter bounds. The
        range of a condition or of a basis function is [0, 1], and the range of a cut is that of its level indices.
        Boolean columns have bounds (0, 1).

        >>> parse("exper ** 2").interval({"exper": (0.0, 60.0)})
        (0.0, 3600.0)
        """
        ends = self._operand_range(bounds)
        if isinstance(self.tree, Cut):
            return 0.0, float(len(self.tree.points))
        return (0.0, 1.0) if isinstance(self.tree, Spline) else ends

    def evaluate(self, values: Mapping[str, FloatArray]) -> FloatArray:
        """Compute the derived column, as numbers, as 0 and 1, or as level indices.

        `values` holds an array of shape (rows,) for each column in the formula, clipped to its bounds. The result is
        NaN in rows where a column is not finite.

        >>> parse("age >= 65").evaluate({"age": np.array([30.0, 65.0, np.nan])})
        array([ 0.,  1., nan])
        """
        if isinstance(self.tree, Spline | Cross):
            raise FormulaError(
                f"{shown(self.text)}: expected a formula with one result column, got a spline or an interaction"
            )
        arrays, rows = self._arrays(values)
        out = np.empty(rows)
        for block in _blocks(rows):
            part = {name: array[block] for name, array in arrays.items()}
            with np.errstate(all="ignore"):
                if isinstance(self.tree, Cut):
                    operand = values_of(self.tree.operand, part)
                    result = np.zeros(len(operand))
                    for point in self.tree.points:
                        result += operand >= point
                else:
                    # adding zero removes the sign of a zero
                    result = values_of(self.tree, part) + 0.0
            out[block] = np.where(_present(part), result, np.nan)
        return out

    def basis(self, values: Mapping[str, FloatArray], bounds: Mapping[str, Interval]) -> FloatArray:
        """Compute the basis functions of a spline, shape (width, rows).

        The first function is left out as the reference, because all functions sum to 1. Every value lies in [0, 1], and
        the squares in a row sum to at most 1, because the values are nonnegative and sum to at most 1 (see the function
        `basis`). The outer knots are the ends of the range of the first argument. The result is NaN in rows where a
        column is not finite.

        >>> parse("spline(age, 40, degree=1)").basis({"age": np.array([20.0, 50.0])}, {"age": (20.0, 60.0)})
        array([[0. , 0.5],
               [0. , 0.5]])
        """
        if not isinstance(self.tree, Spline):
            raise FormulaError(
                f"{shown(self.text)}: a formula of kind {self.kind!r} has no basis functions; use spline(...) for them"
            )
        ends = self._operand_range(bounds)
        arrays, rows = self._arrays(values)
        out = np.empty((self.width, rows))
        for block in _blocks(rows):
            part = {name: array[block] for name, array in arrays.items()}
            with np.errstate(all="ignore"):
                functions = basis(values_of(self.tree.operand, part), self.tree.knots, self.tree.degree, ends)
            out[:, block] = np.where(_present(part), functions[1:], np.nan)
        return out

    def _operand_range(self, bounds: Mapping[str, Interval]) -> Interval:
        """Return the range of the formula, or of the first argument of a cut or spline.

        Check that its points or knots are inside this range.
        """
        tree = self.tree
        if isinstance(tree, Cross):
            raise FormulaError(f"{shown(self.text)}: an interaction has no range")
        node = tree.operand if isinstance(tree, Cut | Spline) else tree
        checked = {name: self._checked(name, bounds) for name in self.numbers}
        try:
            low, high = range_of(node, checked)
        except FormulaError as error:
            raise FormulaError(f"{shown(self.text)}: {error}") from None
        constants = tree.points if isinstance(tree, Cut) else tree.knots if isinstance(tree, Spline) else ()
        for constant in constants:
            # a level or basis function outside the range would be a column of zeros
            if not (low < constant < high or (constant == high and isinstance(tree, Cut))):
                raise FormulaError(
                    f"{shown(self.text)}: {number_text(constant)} must be inside the range {range_text((low, high))} "
                    f"of {text_of(node)}; choose a number inside the range, or declare wider bounds"
                )
        if isinstance(tree, Spline) and not math.isfinite(high - low):
            raise FormulaError(
                f"{shown(self.text)}: the range {range_text((low, high))} is too wide for a spline; rescale the column"
            )
        return low + 0.0, high + 0.0

    def _checked(self, name: str, bounds: Mapping[str, Interval]) -> Interval:
        if name not in bounds:
            raise FormulaError(
                f"{shown(self.text)}: {FormulaError.unknown_name('numeric or boolean column', name, bounds)}"
            )
        low, high = bounds[name]
        if not (math.isfinite(low) and math.isfinite(high) and low <= high):
            raise FormulaError(
                f"{shown(self.text)}: the bounds of {name!r} must be two finite, increasing numbers, got "
                f"{range_text((low, high))}"
            )
        return float(low), float(high)

    def _arrays(self, values: Mapping[str, FloatArray]) -> tuple[dict[str, FloatArray], int]:
        """Return the columns of the formula as arrays, and their common length."""
        arrays: dict[str, FloatArray] = {}
        for name in self.names:
            if name not in values:
                unknown = FormulaError.unknown_name("numeric or boolean column", name, values)
                raise FormulaError(f"{shown(self.text)}: {unknown}")
            arrays[name] = np.asarray(values[name], np.float64)
        shapes = {array.shape for array in arrays.values()}
        if len(shapes) > 1 or len(next(iter(shapes))) != 1:
            raise FormulaError(
                f"{shown(self.text)}: the columns of the formula must be one-dimensional and of equal length"
            )
        return arrays, len(next(iter(arrays.values())))


def order(
    formulas: Mapping[str, Formula], declared: Collection[str], with_levels: Collection[str] = ()
) -> tuple[str, ...]:
    """Sort derived columns so that each of them can be computed from the columns before it.

    `declared` holds the names of the numeric and boolean columns of the table, and `with_levels` those of its columns
    with levels.

    >>> order({"square": parse("rate ** 2"), "rate": parse("wage / hours")}, ["wage", "hours"])
    ('rate', 'square')
    """
    usable = {name: formula for name, formula in formulas.items() if formula.kind in ("numeric", "boolean")}
    allowed = [*declared, *usable]
    levels = [*with_levels, *(name for name, formula in formulas.items() if formula.kind == "levels")]
    problems = Problems()
    for column, formula in formulas.items():
        if column in declared:
            problems.add(
                "the column has both a formula and a declaration; keep one of them", column=column, key="formula"
            )
        for name in formula.names:
            fault = _use_fault(formula, name, allowed, levels, formulas)
            if fault:
                problems.add(f"{shown(formula.text)}: {fault}", column=column, key="formula")
    problems.check()
    needs = {column: [name for name in formula.names if name in formulas] for column, formula in formulas.items()}
    try:
        return tuple(TopologicalSorter(needs).static_order())
    except CycleError as error:
        # graphlib lists each column before the column that needs it
        names = list(reversed(error.args[1]))
        first = next(column for column in formulas if column in names)
        cycle = " -> ".join(map(repr, names))
        message = f"the formulas {cycle} form a cycle; define one of them without the others"
        raise DesignError([DesignProblem(message, first, "formula")]) from None


def _use_fault(
    formula: Formula, name: str, allowed: list[str], levels: list[str], formulas: Mapping[str, Formula]
) -> str:
    """Return the problem with how a formula uses a column, or an empty text."""
    if name not in formula.numbers:
        crossed = formula.kind == "interaction"
        kinds = [*levels, *allowed] if crossed else levels
        if name in kinds:
            return ""
        what = "number, boolean or column with levels" if crossed else "column with levels"
        return str(FormulaError.unknown_name(what, name, kinds))
    if name in allowed:
        return ""
    if name in formulas:
        return f"{name!r} is {_maker(formulas[name])}, not a number; use the columns from which it is computed"
    if name in levels:
        return f'{name!r} has levels and is not a number; compare the column with a level, as in {name} == "..."'
    return str(FormulaError.unknown_name("numeric or boolean column", name, allowed))


def _level_fault(node: IsLevel, levels: tuple[str | int, ...]) -> str:
    """Describe the problem with a level that a column does not have."""
    of = f"the levels of {node.name!r} are"
    if str(node.level) in map(str, levels):
        if isinstance(node.level, str):
            return f'{of} integers, but "{node.level}" is text; write {node.level} without quotes'
        return f'{of} text, but {node.level} is a number; write "{node.level}" in quotes'
    return str(FormulaError.unknown_name(f"level of {node.name!r}", node.level, map(str, levels)))


def _maker(formula: Formula) -> str:
    kinds = {"interaction": "an interaction", "spline": "a spline"}
    return kinds.get(formula.kind, "a formula with levels")


def _blocks(rows: int) -> Iterator[slice]:
    return (slice(start, start + _BLOCK) for start in range(0, rows, _BLOCK))


def _present(part: Mapping[str, FloatArray]) -> npt.NDArray[np.bool_]:
    """Return which rows have a finite number in every column."""
    present: npt.NDArray[np.bool_] = np.logical_and.reduce([np.isfinite(array) for array in part.values()])
    return present
