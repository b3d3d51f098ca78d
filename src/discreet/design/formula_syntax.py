"""Parse the formulas of derived columns into syntax trees."""

from __future__ import annotations

import keyword
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Final, Literal, TypeAlias, TypeVar, cast

from discreet.design.dates import day_of_text
from discreet.errors import FormulaError

# -- tree --------------------------------------------------------------------------------------------------------------
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
    """Finite, nonnegative constant."""

    value: float


@dataclass(frozen=True, slots=True)
class Name:
    """Reference to a column."""

    name: str


@dataclass(frozen=True, slots=True)
class Negate:
    """Negative of an expression."""

    operand: Node


@dataclass(frozen=True, slots=True)
class Binary:
    """Sum, difference, product or quotient of two expressions."""

    sign: Arithmetic
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Power:
    """Integer power from 0 to 8, or a square root, which is the power 0.5."""

    base: Node
    exponent: float


@dataclass(frozen=True, slots=True)
class Compare:
    """Comparison of two expressions. Its value is 1 where it is true, and 0 elsewhere."""

    sign: Comparison
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Logic:
    """Conjunction or disjunction of two conditions. Its value is 1 where it is true, and 0 elsewhere."""

    word: Literal["and", "or"]
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Not:
    """Negation of a condition. Its value is 1 where the condition is false, and 0 elsewhere."""

    operand: Node


@dataclass(frozen=True, slots=True)
class Call:
    """Call of a function of one expression, or of the minimum or maximum of several."""

    function: Function
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Clip:
    """Expression clipped to a constant range."""

    operand: Node
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class IsLevel:
    """Comparison of a column with a level. Its value is 1 where it is true, and 0 elsewhere.

    `code` is the index of the level, or -1 before the formula is bound to the column.
    """

    sign: Literal["==", "!="]
    name: str
    level: str | int
    code: int = field(default=-1, compare=False)


@dataclass(frozen=True, slots=True)
class DatePart:
    """Year, month or weekday of a date column. Months and weekdays are level indices.

    `kept` holds the months or weekdays that the bounds of the column allow. It is empty before the formula is bound.
    """

    part: DatePartName
    name: str
    kept: tuple[int, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Cut:
    """Intervals of an expression between increasing constant points, as levels.

    The first level lies below the first point, and the last level starts at the last point.
    """

    operand: Node
    points: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Spline:
    """Clamped B-spline basis over the range of an expression, with increasing constant inner knots."""

    operand: Node
    knots: tuple[float, ...]
    degree: int


@dataclass(frozen=True, slots=True)
class Cross:
    """Interaction of two columns, at least one of which has levels."""

    left: str
    right: str


Node: TypeAlias = Number | Name | Negate | Binary | Power | Compare | Logic | Not | Call | Clip | IsLevel | DatePart
Tree: TypeAlias = Node | Cut | Spline | Cross

_OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _MINUS, _POWER, _ATOM = range(9)


def is_condition(tree: Tree) -> bool:
    """Return whether a tree is a condition, whose values are 0 and 1."""
    return isinstance(tree, Compare | Logic | Not | IsLevel)


def names_in(tree: Tree) -> Iterator[str]:
    """Yield the names of the columns in a tree in order of appearance. Names may repeat."""
    if isinstance(tree, Name | IsLevel | DatePart):
        yield tree.name
    if isinstance(tree, Cross):
        yield from (tree.left, tree.right)
    for part in parts_of(tree):
        yield from names_in(part)


def numbers_in(tree: Tree) -> Iterator[str]:
    """Yield the names of the columns that are used as numbers in order of appearance. Names may repeat."""
    if isinstance(tree, Name | DatePart):
        yield tree.name
    for part in parts_of(tree):
        yield from numbers_in(part)


def dates_in(tree: Tree) -> Iterator[DatePart]:
    """Yield the nodes of a tree that are parts of a date."""
    if isinstance(tree, DatePart):
        yield tree
    for part in parts_of(tree):
        yield from dates_in(part)


def with_codes(
    tree: Tree, codes: Mapping[str, Mapping[str | int, int]], kept: Mapping[tuple[str, str], tuple[int, ...]]
) -> Tree:
    """Copy the tree with the index of every level, which is -1 for an unknown level.

    `codes` maps the levels of each column to their indices, and `kept` holds the months or weekdays that can occur in
    each date column. An integer that is compared with a column with levels is read as a level.

    >>> node = with_codes(Compare("==", Name("g"), Number(2.0)), {"g": {1: 0, 2: 1}}, {})
    >>> node.level, node.code
    (2, 1)
    """
    if isinstance(tree, Compare) and (node := _integer_level(tree)) is not None and node.name in codes:
        tree = node
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
    """Read the comparison of a column with an integer as one with a level. Return None for other comparisons."""
    if not isinstance(tree.left, Name) or not isinstance(tree.right, Number) or not tree.right.value.is_integer():
        return None
    return IsLevel(tree.sign, tree.left.name, int(tree.right.value)) if tree.sign in ("==", "!=") else None


def levels_in(tree: Tree) -> Iterator[IsLevel]:
    """Yield the nodes of a tree that compare a column with a level."""
    if isinstance(tree, IsLevel):
        yield tree
    for part in parts_of(tree):
        yield from levels_in(part)


def parts_of(tree: Tree) -> tuple[Node, ...]:
    """Return the direct subexpressions of a tree."""
    if isinstance(tree, Number | Name | IsLevel | DatePart | Cross):
        return ()
    if isinstance(tree, Binary | Compare | Logic):
        return tree.left, tree.right
    if isinstance(tree, Call):
        return tree.arguments
    return (tree.base,) if isinstance(tree, Power) else (tree.operand,)


def number_text(value: float) -> str:
    """Return the shortest text that is read as the same number."""
    return repr(value).removesuffix(".0")


def name_text(name: str) -> str:
    """Return a column name as it is written in a formula, with back quotes unless it is a plain word.

    >>> name_text("age"), name_text("gross income"), name_text("log")
    ('age', '`gross income`', '`log`')
    """
    plain = WORD.fullmatch(name) is not None and name.isidentifier() and not is_reserved(name)
    return name if plain else "`" + name.replace("`", "``") + "`"


def is_reserved(word: str) -> bool:
    """Return whether a column with this name must be written in back quotes."""
    return word in FUNCTIONS + TOP_FUNCTIONS or word.lower() in NOT_NUMBERS or keyword.iskeyword(word)


def text_of(tree: Tree) -> str:
    """Return the canonical text of a tree, with single blanks around operators and no redundant brackets."""
    if isinstance(tree, Cut):
        return _call("cut", [text_of(tree.operand), *map(number_text, tree.points)])
    if isinstance(tree, Spline):
        degree = [] if tree.degree == 3 else [f"degree={tree.degree}"]
        return _call("spline", [text_of(tree.operand), *map(number_text, tree.knots), *degree])
    if isinstance(tree, Cross):
        return f"{name_text(tree.left)}:{name_text(tree.right)}"
    return _node_text(tree)[0]


def _node_text(node: Node) -> tuple[str, int]:
    """Return the text of a node and its precedence."""
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
    # operators of equal precedence associate to the left
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


# -- tokens ------------------------------------------------------------------------------------------------------------
MAX_LENGTH: Final = 500
NOT_PART: Final = "not part of the formula language"
_SHOWN: Final = 60
_BLANKS: Final = " \t\r\n"
_NUMBER: Final = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9.])")
_QUOTED: Final = re.compile(r"`((?:[^`]|``)*)`")
_TEXT: Final = re.compile(r'"((?:[^"]|"")*)"|\'((?:[^\']|\'\')*)\'')
_SIGN: Final = re.compile(r"\*\*|<=|>=|==|!=|[-+*/<>(),=:]")
_OUTSIDE: Final = {
    ".": "attribute access is",
    "[": "square brackets are",
    "]": "square brackets are",
    "{": "braces are",
    "}": "braces are",
    "#": "comments are",
    ";": "semicolons are",
    "%": "remainders are",
    "^": "'^' is",
    "&": "'&' is",
    "|": "'|' is",
    "~": "'~' is",
    "!": "'!' is",
}
_INSTEAD: Final = {
    "^": "write a power as **",
    "&": "write 'and'",
    "|": "write 'or'",
    "~": "write 'not'",
    "!": "write 'not', or != for unequal",
}


@dataclass(frozen=True, slots=True)
class Token:
    """Word, number, quoted name, quoted text or operator of a formula, with its position.

    `value` is the value of a number.
    """

    kind: Literal["word", "name", "number", "text", "sign", "end"]
    text: str
    position: int
    value: float = 0.0


def tokens_of(text: str) -> list[Token]:
    """Split a formula into tokens. The last token has kind "end".

    >>> [token.text for token in tokens_of("exper ** 2")]
    ['exper', '**', '2', '']
    """
    if not isinstance(text, str):
        raise FormulaError(f"formula: expected text, got {type(text).__name__}")
    if len(text) > MAX_LENGTH:
        raise FormulaError(
            f"{shown(text)}: expected at most {MAX_LENGTH} characters, got {len(text)}; "
            "declare a part of the formula as a separate column"
        )
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        if text[position] in _BLANKS:
            position += 1
            continue
        token, position = _token(text, position)
        tokens.append(token)
    if not tokens:
        raise FormulaError(f"{shown(text)}: the formula is empty; write an expression such as age ** 2")
    return [*tokens, Token("end", "", position)]


def _token(text: str, position: int) -> tuple[Token, int]:
    """Return the token at a position, and the position after the token."""
    if match := WORD.match(text, position):
        word = match.group()
        if not word.isidentifier():
            raise misuse(text, position, f"{word!r}", "is not a plain name; write a column name in back quotes")
        return Token("word", word, position), match.end()
    if match := _DATE.match(text, position):
        # otherwise it would be read as a subtraction
        day = day_of_text(match.group())
        here = "" if day is None else f", here {day}"
        verdict = f"is not a number; write the number of days since 1970-01-01{here}, or compare year(...) with a year"
        raise misuse(text, position, f"the date {match.group()}", verdict)
    if match := _NUMBER.match(text, position):
        return Token("number", match.group(), position, _value(text, match)), match.end()
    if match := _QUOTED.match(text, position):
        return Token("name", _column(text, position, match.group(1).replace("``", "`")), position), match.end()
    if match := _TEXT.match(text, position):
        quote = text[position]
        return Token("text", match.group()[1:-1].replace(2 * quote, quote), position), match.end()
    if match := _SIGN.match(text, position):
        return Token("sign", match.group(), position), match.end()
    sign = text[position]
    if sign == "`":
        raise misuse(text, position, "the back quote", "is never closed; write `column name`")
    if sign in "\"'":
        raise misuse(text, position, "the quotation mark", 'is never closed; write a level as "south"')
    if sign in _OUTSIDE:
        instead = f"; {_INSTEAD[sign]}" if sign in _INSTEAD else ""
        raise problem(text, position, f"unexpected {sign!r}", f"{_OUTSIDE[sign]} {NOT_PART}{instead}")
    raise problem(text, position, f"unexpected character U+{ord(sign):04X}", f"this character is {NOT_PART}")


def _value(text: str, match: re.Match[str]) -> float:
    value = float(match.group())
    if not math.isfinite(value) or (value == 0 and match.group(1).strip("0.")):
        raise misuse(
            text, match.start(), "the number", "is outside the range of double precision; write another number"
        )
    if following := WORD.match(text, match.end()):
        raise problem(
            text, match.end(), f"unexpected {following.group()!r}", "an operator is missing; write 2 * x, not 2x"
        )
    return value


def _column(text: str, position: int, name: str) -> str:
    if not name or name != name.strip() or any(unicodedata.category(sign) in ("Cc", "Cf", "Cs") for sign in name):
        raise misuse(
            text, position, "the quoted name", "must be nonempty, without invisible characters or surrounding blanks"
        )
    return name


class Cursor:
    """Position in the tokens of a formula. Its errors name the position in the text."""

    def __init__(self, text: str) -> None:
        self.tokens = iter(tokens_of(text))
        self.token = next(self.tokens)
        self.text = text

    def at_word(self, *words: str) -> bool:
        """Return whether the current token is one of these bare words."""
        return self.token.kind == "word" and self.token.text in words

    def at_sign(self, *signs: str) -> bool:
        """Return whether the current token is one of these operators."""
        return self.token.kind == "sign" and self.token.text in signs

    def at_end(self) -> bool:
        """Return whether the current token is the end of the formula."""
        return self.token.kind == "end"

    def advance(self) -> Token:
        """Consume the current token and return it."""
        token = self.token
        self.token = next(self.tokens)
        return token

    def accept(self, sign: str) -> bool:
        """Consume an operator if it is the current token. Return whether it was."""
        if self.at_sign(sign):
            self.advance()
            return True
        return False

    def expect(self, sign: str, advice: str) -> None:
        """Consume an operator, or raise an error if the current token is a different one."""
        if not self.accept(sign):
            raise self.unexpected(advice)

    def unexpected(self, advice: str) -> FormulaError:
        """Return the error that says that the current token is not allowed here."""
        token = self.token
        if self.at_end():
            return problem(self.text, token.position, "the formula ends", advice)
        if self.at_sign("="):
            advice = f"assignment is {NOT_PART}; compare with =="
        elif token.kind == "word" and keyword.iskeyword(token.text) and token.text not in LOGIC_WORDS:
            advice = f"this word is {NOT_PART}"
        return problem(self.text, token.position, f"unexpected {token.text!r}", advice)

    def misused(self, token: Token, what: str, verdict: str) -> FormulaError:
        """Return the error that says how an earlier token is misused."""
        return misuse(self.text, token.position, what, verdict)


def problem(text: str, position: int, what: str, advice: str) -> FormulaError:
    """Build an error that names a position, the text before this position, and advice."""
    before = _escaped(text[:position].rstrip())
    after = f", after {_last(before)!r}" if before else ""
    return FormulaError(f"{shown(text)}: {what} at position {position}{after}; {advice}")


def misuse(text: str, position: int, what: str, verdict: str) -> FormulaError:
    """Build an error for a part of a formula. `verdict` completes the sentence that starts with `what`."""
    return FormulaError(f"{shown(text)}: {what} at position {position} {verdict}")


def shown(text: str) -> str:
    """Quote a formula for a message on one line, shortened and with invisible characters escaped."""
    escaped = _escaped(text[: _SHOWN + 1])
    return f'formula "{escaped if len(escaped) <= _SHOWN else escaped[: _SHOWN - 3] + "..."}"'


def _escaped(text: str) -> str:
    return "".join(sign if sign.isprintable() else f"<U+{ord(sign):04X}>" for sign in text)


def _last(text: str) -> str:
    return text if len(text) <= 20 else f"...{text[-17:]}"


# -- syntax ------------------------------------------------------------------------------------------------------------
# A recursive descent parser with this grammar:
#
#     formula     cut | spline | name ":" name | or
#     cut         "cut" "(" or "," constant ("," constant)* ")"
#     spline      "spline" "(" or ("," constant)+ ["," "degree" "=" number] ")"
#     or          and ("or" and)*
#     and         not ("and" not)*
#     not         "not" not | comparison
#     comparison  sum [("<" | "<=" | ">" | ">=" | "==" | "!=") sum] | name ("==" | "!=") text
#     sum         product (("+" | "-") product)*
#     product     minus (("*" | "/") minus)*
#     minus       "-" minus | power
#     power       atom ["**" number]
#     atom        number | name | function "(" or ("," or)* ")" | date "(" name ")" | "(" or ")"
#     date        "year" | "month" | "weekday"
#     constant    ["-"] number
#
# Nothing is evaluated by Python: a formula can only reach its constants and the named columns.

MAX_NESTING: Final = 20
MAX_NODES: Final = 100
MAX_EXPONENT: Final = 8
MAX_DEGREE: Final = 5
_COMPARISONS: Final = ("<", "<=", ">", ">=", "==", "!=")
_NodeT = TypeVar("_NodeT", bound=Tree)


def tree_of(text: str) -> Tree:
    """Parse a formula into a syntax tree. If its syntax is wrong, the FormulaError names the position."""
    tree = _Parser(text).formula()
    if next(names_in(tree), None) is None:
        raise FormulaError(f"{shown(text)}: the formula must use at least one declared column")
    for part in dates_in(tree):
        if part.part in DATE_LEVELS and part is not tree:
            raise FormulaError(
                f"{shown(text)}: {text_of(part)} has levels and cannot be part of an expression; declare it as a "
                "separate column, and compare that column with a level"
            )
    if len(text_of(tree)) > MAX_LENGTH:
        raise FormulaError(
            f"{shown(text)}: the formula has more than {MAX_LENGTH} characters if operators are surrounded by blanks; "
            "declare a part of the formula as a separate column"
        )
    return tree


class _Parser(Cursor):
    """Parser of a single formula."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.nodes = 0
        self.depth = 0

    def formula(self) -> Tree:
        tree: Tree
        if self.at_word(*TOP_FUNCTIONS):
            tree = self._top_call()
            if not self.at_end():
                raise self.unexpected("cut and spline cannot be part of an expression; remove what follows")
        else:
            tree = self._or()
            if self.at_sign(":"):
                tree = self._cross(tree)
            if not self.at_end():
                closed = self.at_sign(")", ",")
                raise self.unexpected("no bracket is open here" if closed else "an operator is missing before it")
        return tree

    def _cross(self, left: Node) -> Cross:
        colon = self.advance()
        right = self._atom()
        if not isinstance(left, Name) or not isinstance(right, Name):
            raise self.misused(
                colon, "':'", "must join two column names; declare an expression or a function as a separate column"
            )
        if self.at_sign(":"):
            raise self.unexpected("an interaction must have exactly two columns")
        if left == right:
            raise self.misused(colon, "':'", "must join two different columns")
        return self._counted(Cross(left.name, right.name))

    def _top_call(self) -> Cut | Spline:
        start = self.advance()
        self.expect("(", f"write the arguments of {start.text} in round brackets")
        operand = self._or()
        constants: list[float] = []
        degree = 3
        while self.accept(","):
            if start.text == "spline" and self.at_word("degree"):
                degree = self._degree()
                break
            constants.append(self._constant())
        self.expect(")", f"close the round bracket of {start.text}")
        what = "points" if start.text == "cut" else "knots"
        if not constants or any(low >= high for low, high in pairwise(constants)):
            raise self.misused(start, start.text, f"requires one or more increasing {what} after its first argument")
        if start.text == "cut":
            return self._counted(Cut(operand, tuple(constants)))
        return self._counted(Spline(operand, tuple(constants), degree))

    def _degree(self) -> int:
        self.advance()
        self.expect("=", "write for example degree=3")
        token = self.token
        if token.kind != "number" or token.value not in range(1, MAX_DEGREE + 1):
            raise self.unexpected(f"the degree must be an integer from 1 to {MAX_DEGREE}")
        return int(self.advance().value)

    # expressions, from the lowest to the highest precedence
    def _or(self) -> Node:
        return self._conditions("or", lambda: self._conditions("and", self._not))

    def _conditions(self, word: str, part: Callable[[], Node]) -> Node:
        left = part()
        while self.at_word(word):
            self._must_be_condition(left)
            self.advance()
            right = part()
            self._must_be_condition(right)
            left = self._counted(Logic("and" if word == "and" else "or", left, right))
        return left

    def _not(self) -> Node:
        if not self.at_word("not"):
            return self._comparison()
        self.advance()
        with self._nested():
            operand = self._not()
        self._must_be_condition(operand)
        return self._counted(Not(operand))

    def _comparison(self) -> Node:
        left = self._sum()
        if not self.at_sign(*_COMPARISONS):
            return left
        sign = cast("Comparison", self.advance().text)
        node = self._counted(self._level(left, sign) if self.token.kind == "text" else Compare(sign, left, self._sum()))
        if self.at_sign(*_COMPARISONS):
            raise self.unexpected("join two comparisons with 'and'")
        return node

    def _level(self, left: Node, sign: Comparison) -> IsLevel:
        if not isinstance(left, Name) or (sign != "==" and sign != "!="):
            raise self.unexpected(
                'a level may only be compared with its column, as in region == "south" or region != "south"'
            )
        return IsLevel(sign, left.name, self.advance().text)

    def _sum(self) -> Node:
        return self._signs("+-", lambda: self._signs("*/", self._minus))

    def _signs(self, signs: str, part: Callable[[], Node]) -> Node:
        left = part()
        while self.at_sign(*signs):
            sign = cast("Arithmetic", self.advance().text)
            left = self._counted(Binary(sign, left, part()))
        return left

    def _minus(self) -> Node:
        if not self.accept("-"):
            return self._power()
        with self._nested():
            operand = self._minus()
        return self._counted(Negate(operand))

    def _power(self) -> Node:
        base = self._atom()
        if not self.accept("**"):
            return base
        token = self.token
        if token.kind != "number" or token.value not in (*range(MAX_EXPONENT + 1), 0.5):
            raise self.unexpected(f"an exponent must be an integer from 0 to {MAX_EXPONENT}, or 0.5")
        self.advance()
        if self.at_sign("**"):
            raise self.unexpected("a power of a power requires round brackets")
        return self._counted(Power(base, token.value))

    def _atom(self) -> Node:
        token = self.token
        if token.kind == "number":
            return self._counted(Number(self.advance().value))
        if token.kind == "name":
            return self._counted(Name(self.advance().text))
        if token.kind == "word" and token.text not in LOGIC_WORDS:
            return self._word()
        if token.kind == "text":
            raise self.unexpected(
                'write a level after its column, as in region == "south", and a column name with blanks in back quotes'
            )
        if self.accept("("):
            with self._nested():
                node = self._or()
            self.expect(")", "close the round bracket")
            return node
        raise self.unexpected("expected a number, a column, a function or a round bracket here")

    def _word(self) -> Node:
        token = self.advance()
        word, called = token.text, self.at_sign("(")
        if word in TOP_FUNCTIONS and called:
            raise self.misused(token, word, "cannot be part of an expression; declare it as a separate column")
        if word in FUNCTIONS and called:
            return self._call(token)
        if word in DATE_FUNCTIONS and called:
            return self._date_part(token)
        quoted = f"write `{word}` if a column has this name"
        if word in FUNCTIONS + TOP_FUNCTIONS:
            raise self.misused(token, f"function {word!r}", f"has no arguments; {quoted}")
        if word.lower() in NOT_NUMBERS:
            raise self.misused(token, f"{word!r}", f"is not a finite number; {quoted}")
        if keyword.iskeyword(word):
            raise self.misused(token, f"{word!r}", f"is {NOT_PART}; {quoted}")
        if called:
            unknown = FormulaError.unknown_name("function", word, FUNCTIONS + TOP_FUNCTIONS + DATE_FUNCTIONS)
            raise FormulaError(f"{shown(self.text)}: {unknown}")
        return self._counted(Name(word))

    def _date_part(self, token: Token) -> DatePart:
        self.advance()
        with self._nested():
            argument = self._or()
        self.expect(")", f"close the round bracket of {token.text}")
        if not isinstance(argument, Name):
            raise self.misused(token, token.text, "requires the name of a date column as its argument")
        return self._counted(DatePart(cast("DatePartName", token.text), argument.name))

    def _call(self, token: Token) -> Node:
        function = token.text
        self.advance()
        with self._nested():
            arguments = [self._or()]
            while self.accept(","):
                if function == "clip":
                    low = self._constant()
                    self.expect(",", "clip requires an expression and two constants")
                    high = self._constant()
                    self.expect(")", "clip requires an expression and two constants")
                    if not low < high:
                        raise self.misused(token, "clip", "requires two constants, the smaller first")
                    return self._counted(Clip(arguments[0], low, high))
                arguments.append(self._or())
        self.expect(")", f"close the round bracket of {function}")
        if function == "clip":
            raise self.misused(token, "clip", "requires an expression and two constants")
        if function in ("min", "max") and len(arguments) < 2:
            raise self.misused(token, function, "requires two or more arguments")
        if function not in ("min", "max") and len(arguments) > 1:
            raise self.misused(token, function, "requires exactly one argument")
        return self._counted(Call(cast("Function", function), tuple(arguments)))

    def _constant(self) -> float:
        minus = self.accept("-")
        if self.token.kind != "number":
            raise self.unexpected("expected a constant number here")
        value = self._counted(Number(self.advance().value)).value
        # 0.0 - 0.0 is zero with a positive sign
        return 0.0 - value if minus else value

    def _counted(self, node: _NodeT) -> _NodeT:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise FormulaError(
                f"{shown(self.text)}: the formula has more than {MAX_NODES} operations, names and constants; declare "
                "some of its parts as separate columns"
            )
        return node

    @contextmanager
    def _nested(self) -> Iterator[None]:
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise FormulaError(
                f"{shown(self.text)}: the formula has more than {MAX_NESTING} levels of nesting; declare a part of the "
                "formula as a separate column"
            )
        yield
        self.depth -= 1

    def _must_be_condition(self, node: Node) -> None:
        if not is_condition(node):
            raise FormulaError(
                f"{shown(self.text)}: {text_of(node)} is a number, but 'and', 'or' and 'not' require comparisons; "
                f"write for example {text_of(Compare('==', node, Number(1.0)))}"
            )
