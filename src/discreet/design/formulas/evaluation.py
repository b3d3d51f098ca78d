"""Values and ranges of a tree, side by side: what is computed for a row, and what holds it.

Each element is a function of its own row only, through operations that are correctly rounded or exact, one at a time;
it is the same bit for bit whatever the length of the arrays and wherever they are split. Logarithms and exponentials
come from `elementary` for the same reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Final, TypeAlias

import numpy as np

from discreet.design.formulas.tree import (
    Binary,
    Call,
    Clip,
    Compare,
    DatePart,
    IsLevel,
    Logic,
    Name,
    Negate,
    Node,
    Not,
    Number,
    Power,
    number_text,
    parts_of,
    text_of,
)
from discreet.errors import SpecError
from discreet.exact import elementary
from discreet.exact import ranges as intervals
from discreet.exact.arrays import FloatArray
from discreet.exact.ranges import Interval, NoRangeError

_Values: TypeAlias = Mapping[str, FloatArray]

_BINARY: Final[dict[str, tuple[Callable[..., FloatArray], Callable[[Interval, Interval], Interval]]]] = {
    "+": (np.add, intervals.add),
    "-": (np.subtract, lambda a, b: intervals.add(a, intervals.negate(b))),
    "*": (np.multiply, intervals.multiply),
    "/": (np.divide, intervals.divide),
}
_COMPARE: Final[dict[str, Callable[..., object]]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}
# the function, below which argument it is undefined, and a point where it is exact
_RISING: Final[dict[str, tuple[Callable[[FloatArray], FloatArray], float, tuple[float, float]]]] = {
    "log": (elementary.log, 0.0, (1.0, 0.0)),
    "log2": (elementary.log2, 0.0, (1.0, 0.0)),
    "log10": (elementary.log10, 0.0, (1.0, 0.0)),
    "log1p": (elementary.log1p, -1.0, (0.0, 0.0)),
    "exp": (elementary.exp, -np.inf, (0.0, 1.0)),
}


def values_of(node: Node, values: _Values) -> FloatArray:
    """Values of a tree; constants have one element, which NumPy spreads."""
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
    """The year, or the position of the level of the month or the day of the week, from days since 1970-01-01."""
    whole = days.astype(np.int64)
    if node.part == "weekday":
        # 1970-01-01 was a Thursday
        found = (whole + 3) % 7
    else:
        months = whole.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
        found = months // 12 + 1970 if node.part == "year" else months % 12
    return (found if node.part == "year" else np.searchsorted(node.kept, found)).astype(np.float64)


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
    # not np.minimum, which leaves open which of two zeros with different signs it gives
    return np.where(b < a, b, a)


def _larger(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.where(b > a, b, a)


def range_of(node: Node, bounds: Mapping[str, Interval]) -> Interval:
    """Range of a tree over a box of columns; SpecError names the part that has no finite result."""
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
        raise SpecError(
            f"{text_of(node)} has no finite value{where}: {reason}; "
            f"tighten the bounds of its columns, or use clip{instead}"
        ) from None


def _joined(node: Binary | Power | Call | Clip | Negate, parts: list[Interval]) -> Interval:
    """Range of one operation from the ranges of its parts."""
    first = parts[0]
    if isinstance(node, Binary):
        return _BINARY[node.sign][1](first, parts[1])
    if isinstance(node, Power):
        return intervals.square_root(first) if node.exponent == 0.5 else intervals.power(first, int(node.exponent))
    if isinstance(node, Clip):
        return intervals.least(intervals.greatest(first, (node.low, node.low)), (node.high, node.high))
    if isinstance(node, Negate):
        return intervals.negate(first)
    if node.function in ("min", "max"):
        return reduce(intervals.least if node.function == "min" else intervals.greatest, parts)
    if node.function in ("sqrt", "abs"):
        return intervals.square_root(first) if node.function == "sqrt" else intervals.absolute(first)
    function, above, fixed = _RISING[node.function]
    if first[0] <= above:
        raise NoRangeError(f"{node.function} needs numbers above {number_text(above)}")
    low, high = intervals.rising(first, function, fixed)
    # an exponential may vanish but is never negative
    return (max(low, 0.0), high) if node.function == "exp" else (low, high)


def range_text(range_: Interval) -> str:
    """A range as messages show it.

    >>> range_text((0.0, 1e6))
    '[0, 1e+06]'
    """
    return f"[{range_[0]:g}, {range_[1]:g}]"
