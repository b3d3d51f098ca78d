"""Syntax tree of a formula: what it says, with nothing computed yet."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias

FUNCTIONS: Final = ("log", "log2", "log10", "log1p", "exp", "sqrt", "abs", "min", "max", "clip")
TOP_FUNCTIONS: Final = ("cut", "spline")
DATE_LEVELS: Final = ("month", "weekday")
DATE_FUNCTIONS: Final = ("year", *DATE_LEVELS)
LOGIC_WORDS: Final = ("and", "or", "not")
NOT_NUMBERS: Final = ("nan", "inf", "infinity")
WORD: Final = re.compile(r"[^\W\d]\w*")

Arithmetic: TypeAlias = Literal["+", "-", "*", "/"]
Comparison: TypeAlias = Literal["<", "<=", ">", ">=", "==", "!="]
DatePartName: TypeAlias = Literal["year", "month", "weekday"]
Function: TypeAlias = Literal["log", "log2", "log10", "log1p", "exp", "sqrt", "abs", "min", "max"]


@dataclass(frozen=True, slots=True)
class Number:
    """A finite constant, not negative."""

    value: float


@dataclass(frozen=True, slots=True)
class Name:
    """A column."""

    name: str


@dataclass(frozen=True, slots=True)
class Negate:
    """Minus an expression."""

    operand: Node


@dataclass(frozen=True, slots=True)
class Binary:
    """Sum, difference, product or quotient."""

    sign: Arithmetic
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Power:
    """A whole power from 0 to 8, or the square root written as 0.5."""

    base: Node
    exponent: float


@dataclass(frozen=True, slots=True)
class Compare:
    """1 where the comparison holds, else 0."""

    sign: Comparison
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Logic:
    """1 where both or any of two conditions hold, else 0."""

    word: Literal["and", "or"]
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Not:
    """1 where a condition does not hold, else 0."""

    operand: Node


@dataclass(frozen=True, slots=True)
class Call:
    """A function of one expression, or the least or greatest of several."""

    function: Function
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Clip:
    """An expression moved to the nearer end of a constant range where it lies outside."""

    operand: Node
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class IsLevel:
    """1 where a column with levels has this level, else 0; for `!=` the other way round.

    `code` is the position of the level, known once the column is.
    """

    sign: Literal["==", "!="]
    name: str
    level: str | int
    code: int = field(default=-1, compare=False)


@dataclass(frozen=True, slots=True)
class DatePart:
    """Year, month or day of the week of a column of dates; a month or a day of the week is the position of a level.

    `kept` are the positions in the year or week that the bounds of the column allow, known once they are.
    """

    part: DatePartName
    name: str
    kept: tuple[int, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Cut:
    """Levels by increasing constant points: below the first, from each point to the next, from the last on."""

    operand: Node
    points: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Spline:
    """A clamped B-spline basis over the bounds of an expression, with increasing constant inner knots."""

    operand: Node
    knots: tuple[float, ...]
    degree: int


@dataclass(frozen=True, slots=True)
class Cross:
    """The interaction of two columns, of which one or both have levels."""

    left: str
    right: str


Node: TypeAlias = Number | Name | Negate | Binary | Power | Compare | Logic | Not | Call | Clip | IsLevel | DatePart
Tree: TypeAlias = Node | Cut | Spline | Cross

_OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _MINUS, _POWER, _ATOM = range(9)


def is_condition(tree: Tree) -> bool:
    """Whether the tree gives 0 and 1 as the answer to a question."""
    return isinstance(tree, Compare | Logic | Not | IsLevel)


def names_in(tree: Tree) -> Iterator[str]:
    """Names of the columns a tree uses, in order of appearance, with repetitions."""
    if isinstance(tree, Name | IsLevel | DatePart):
        yield tree.name
    if isinstance(tree, Cross):
        yield from (tree.left, tree.right)
    for part in parts_of(tree):
        yield from names_in(part)


def numbers_in(tree: Tree) -> Iterator[str]:
    """Names of the columns whose numbers a tree computes with, in order of appearance, with repetitions."""
    if isinstance(tree, Name | DatePart):
        yield tree.name
    for part in parts_of(tree):
        yield from numbers_in(part)


def dates_in(tree: Tree) -> Iterator[DatePart]:
    """The parts of dates in a tree."""
    if isinstance(tree, DatePart):
        yield tree
    for part in parts_of(tree):
        yield from dates_in(part)


def with_codes(
    tree: Tree, codes: Mapping[str, Mapping[str | int, int]], kept: Mapping[tuple[str, str], tuple[int, ...]]
) -> Tree:
    """The same tree with the position of every level; `codes` has those of each column with levels.

    `kept` has the positions that occur of each part of each column of dates.

    A comparison of such a column with an integer names a level. A level that a column does not have stays without
    a position.

    >>> asked = with_codes(Compare("==", Name("g"), Number(2.0)), {"g": {1: 0, 2: 1}}, {})
    >>> asked.level, asked.code
    (2, 1)
    """
    if isinstance(tree, Compare) and (asked := _integer_level(tree)) is not None and asked.name in codes:
        tree = asked
    if isinstance(tree, IsLevel):
        return replace(tree, code=codes.get(tree.name, {}).get(tree.level, -1))
    if isinstance(tree, DatePart):
        return replace(tree, kept=kept.get((tree.part, tree.name), ()))
    if isinstance(tree, Number | Name | Cross):
        return tree
    changed: dict[str, Any] = {
        part: with_codes(getattr(tree, part), codes, kept)
        for part in ("left", "right", "base", "operand")
        if hasattr(tree, part)
    }
    if isinstance(tree, Call):
        changed = {"arguments": tuple(with_codes(part, codes, kept) for part in tree.arguments)}
    return replace(tree, **changed)


def _integer_level(tree: Compare) -> IsLevel | None:
    """A comparison of a column with an integer, as if it named a level."""
    if not isinstance(tree.left, Name) or not isinstance(tree.right, Number) or not tree.right.value.is_integer():
        return None
    return IsLevel(tree.sign, tree.left.name, int(tree.right.value)) if tree.sign in ("==", "!=") else None


def levels_in(tree: Tree) -> Iterator[IsLevel]:
    """The comparisons with a level in a tree."""
    if isinstance(tree, IsLevel):
        yield tree
    for part in parts_of(tree):
        yield from levels_in(part)


def parts_of(tree: Tree) -> tuple[Node, ...]:
    """The expressions a tree is made of, one level down."""
    if isinstance(tree, Number | Name | IsLevel | DatePart | Cross):
        return ()
    if isinstance(tree, Binary | Compare | Logic):
        return tree.left, tree.right
    if isinstance(tree, Call):
        return tree.arguments
    return (tree.base,) if isinstance(tree, Power) else (tree.operand,)


def number_text(value: float) -> str:
    """Shortest text that reads back as the same number.

    >>> number_text(30.0), number_text(0.1)
    ('30', '0.1')
    """
    return repr(value).removesuffix(".0")


def name_text(name: str) -> str:
    """A column name as written in a formula: in back quotes unless it is a plain word that means nothing else.

    >>> name_text("age"), name_text("gross income"), name_text("log")
    ('age', '`gross income`', '`log`')
    """
    plain = WORD.fullmatch(name) is not None and name.isidentifier() and not is_reserved(name)
    return name if plain else "`" + name.replace("`", "``") + "`"


def is_reserved(word: str) -> bool:
    """Whether a bare word cannot name a column."""
    return word in FUNCTIONS + TOP_FUNCTIONS or word.lower() in NOT_NUMBERS or keyword.iskeyword(word)


def text_of(tree: Tree) -> str:
    """Canonical text of a tree: single blanks around operators, and no bracket that could be left out."""
    if isinstance(tree, Cut):
        return _call("cut", [text_of(tree.operand), *map(number_text, tree.points)])
    if isinstance(tree, Spline):
        degree = [] if tree.degree == 3 else [f"degree={tree.degree}"]
        return _call("spline", [text_of(tree.operand), *map(number_text, tree.knots), *degree])
    if isinstance(tree, Cross):
        return f"{name_text(tree.left)}:{name_text(tree.right)}"
    return _node_text(tree)[0]


def _node_text(node: Node) -> tuple[str, int]:
    """Text of a node and how tightly it binds."""
    if isinstance(node, Number):
        return number_text(node.value), _ATOM
    if isinstance(node, Name):
        return name_text(node.name), _ATOM
    if isinstance(node, IsLevel):
        return f"{name_text(node.name)} {node.sign} {_level_text(node.level)}", _COMPARE
    if isinstance(node, DatePart):
        return _call(node.part, [name_text(node.name)]), _ATOM
    if isinstance(node, Call):
        return _call(node.function, map(text_of, node.arguments)), _ATOM
    if isinstance(node, Clip):
        return _call("clip", [text_of(node.operand), number_text(node.low), number_text(node.high)]), _ATOM
    if isinstance(node, Negate):
        return "-" + _wrapped(node.operand, _MINUS), _MINUS
    if isinstance(node, Power):
        return f"{_wrapped(node.base, _ATOM)} ** {number_text(node.exponent)}", _POWER
    if isinstance(node, Not):
        return "not " + _wrapped(node.operand, _NOT), _NOT
    if isinstance(node, Compare):
        return f"{_wrapped(node.left, _SUM)} {node.sign} {_wrapped(node.right, _SUM)}", _COMPARE
    sign: str
    if isinstance(node, Logic):
        level, sign = _AND if node.word == "and" else _OR, node.word
    else:
        level, sign = _SUM if node.sign in "+-" else _PRODUCT, node.sign
    # operators of one level are read from the left
    return f"{_wrapped(node.left, level)} {sign} {_wrapped(node.right, level + 1)}", level


def _level_text(level: str | int) -> str:
    if isinstance(level, int):
        return str(level)
    return '"' + level.replace('"', '""') + '"'


def _wrapped(node: Node, least: int) -> str:
    text, level = _node_text(node)
    return text if level >= least else f"({text})"


def _call(function: str, arguments: Iterable[str]) -> str:
    return f"{function}({', '.join(arguments)})"
