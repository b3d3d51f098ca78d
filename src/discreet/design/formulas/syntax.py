"""Recursive descent from the tokens of a formula to its tree.

    formula     cut | spline | name ":" name | or
    cut         "cut" "(" or "," constant ("," constant)* ")"
    spline      "spline" "(" or ("," constant)+ ["," "degree" "=" number] ")"
    or          and ("or" and)*
    and         not ("and" not)*
    not         "not" not | comparison
    comparison  sum [("<" | "<=" | ">" | ">=" | "==" | "!=") sum] | name ("==" | "!=") text
    sum         product (("+" | "-") product)*
    product     minus (("*" | "/") minus)*
    minus       "-" minus | power
    power       atom ["**" number]
    atom        number | name | function "(" or ("," or)* ")" | date "(" name ")" | "(" or ")"
    date        "year" | "month" | "weekday"
    constant    ["-"] number

Nothing is evaluated by Python: the only values a text can reach are its own numbers and the named columns.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Final, TypeVar, cast

from discreet.design.formulas.tokens import MAX_LENGTH, NOT_PART, Cursor, Token, shown
from discreet.design.formulas.tree import (
    DATE_FUNCTIONS,
    DATE_LEVELS,
    FUNCTIONS,
    LOGIC_WORDS,
    NOT_NUMBERS,
    TOP_FUNCTIONS,
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
    names_in,
    text_of,
)
from discreet.errors import SpecError

if TYPE_CHECKING:
    from discreet.design.formulas.tree import Arithmetic, Comparison, DatePartName, Function

MAX_NESTING: Final = 20
MAX_NODES: Final = 100
MAX_EXPONENT: Final = 8
MAX_DEGREE: Final = 5
_COMPARISONS: Final = ("<", "<=", ">", ">=", "==", "!=")
_NodeT = TypeVar("_NodeT", bound=Tree)


def tree_of(text: str) -> Tree:
    """Tree of a formula; SpecError names the spot where a text leaves the language."""
    tree = _Parser(text).formula()
    if next(names_in(tree), None) is None:
        raise SpecError(f"{shown(text)}: no column is used; a formula computes from at least one declared column")
    for part in dates_in(tree):
        if part.part in DATE_LEVELS and part is not tree:
            raise SpecError(
                f"{shown(text)}: {text_of(part)} gives levels and cannot be combined with anything; declare it as a "
                "column of its own, and ask for a level of that"
            )
    if len(text_of(tree)) > MAX_LENGTH:
        raise SpecError(
            f"{shown(text)}: with blanks around its operators it has more than {MAX_LENGTH} characters; "
            "declare a part of it as a column of its own"
        )
    return tree


class _Parser(Cursor):
    """One pass over the tokens of one text."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.nodes = 0
        self.depth = 0

    # the text as a whole

    def formula(self) -> Tree:
        tree: Tree
        if self.at_word(*TOP_FUNCTIONS):
            tree = self._top_call()
            if not self.at_end():
                raise self.unexpected("cut and spline cannot be combined with anything; remove what follows")
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
                colon, "':'", "joins two columns by name; declare an expression or a function as a column of its own"
            )
        if self.at_sign(":"):
            raise self.unexpected("an interaction has two columns")
        if left == right:
            raise self.misused(colon, "':'", "needs two different columns")
        return self._made(Cross(left.name, right.name))

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
            raise self.misused(start, start.text, f"needs one or more increasing {what} after its first argument")
        if start.text == "cut":
            return self._made(Cut(operand, tuple(constants)))
        return self._made(Spline(operand, tuple(constants), degree))

    def _degree(self) -> int:
        self.advance()
        self.expect("=", "write for example degree=3")
        token = self.token
        if token.kind != "number" or token.value not in range(1, MAX_DEGREE + 1):
            raise self.unexpected(f"the degree is an integer from 1 to {MAX_DEGREE}")
        return int(self.advance().value)

    # expressions, from the loosest to the tightest

    def _or(self) -> Node:
        return self._conditions("or", lambda: self._conditions("and", self._not))

    def _conditions(self, word: str, part: Callable[[], Node]) -> Node:
        left = part()
        while self.at_word(word):
            self._must_be_condition(left)
            self.advance()
            right = part()
            self._must_be_condition(right)
            left = self._made(Logic("and" if word == "and" else "or", left, right))
        return left

    def _not(self) -> Node:
        if not self.at_word("not"):
            return self._comparison()
        self.advance()
        with self._nested():
            operand = self._not()
        self._must_be_condition(operand)
        return self._made(Not(operand))

    def _comparison(self) -> Node:
        left = self._sum()
        if not self.at_sign(*_COMPARISONS):
            return left
        sign = cast("Comparison", self.advance().text)
        node = self._made(self._level(left, sign) if self.token.kind == "text" else Compare(sign, left, self._sum()))
        if self.at_sign(*_COMPARISONS):
            raise self.unexpected("join two comparisons with 'and'")
        return node

    def _level(self, left: Node, sign: Comparison) -> IsLevel:
        if not isinstance(left, Name) or (sign != "==" and sign != "!="):
            raise self.unexpected('a level is compared with its column, as in region == "south" or region != "south"')
        return IsLevel(sign, left.name, self.advance().text)

    def _sum(self) -> Node:
        return self._signs("+-", lambda: self._signs("*/", self._minus))

    def _signs(self, signs: str, part: Callable[[], Node]) -> Node:
        left = part()
        while self.at_sign(*signs):
            sign = cast("Arithmetic", self.advance().text)
            left = self._made(Binary(sign, left, part()))
        return left

    def _minus(self) -> Node:
        if not self.accept("-"):
            return self._power()
        with self._nested():
            operand = self._minus()
        return self._made(Negate(operand))

    def _power(self) -> Node:
        base = self._atom()
        if not self.accept("**"):
            return base
        token = self.token
        if token.kind != "number" or token.value not in (*range(MAX_EXPONENT + 1), 0.5):
            raise self.unexpected(f"an exponent is an integer from 0 to {MAX_EXPONENT}, or 0.5")
        self.advance()
        if self.at_sign("**"):
            raise self.unexpected("a power of a power needs round brackets")
        return self._made(Power(base, token.value))

    def _atom(self) -> Node:
        token = self.token
        if token.kind == "number":
            return self._made(Number(self.advance().value))
        if token.kind == "name":
            return self._made(Name(self.advance().text))
        if token.kind == "word" and token.text not in LOGIC_WORDS:
            return self._word()
        if token.kind == "text":
            raise self.unexpected(
                'text in quotes is a level, written after its column as in region == "south"; a column name with '
                "blanks is written in back quotes"
            )
        if self.accept("("):
            with self._nested():
                node = self._or()
            self.expect(")", "close the round bracket")
            return node
        raise self.unexpected("a number, a column, a function or a round bracket is needed here")

    def _word(self) -> Node:
        token = self.advance()
        word, called = token.text, self.at_sign("(")
        if word in TOP_FUNCTIONS and called:
            raise self.misused(token, word, "cannot be combined with anything; declare a separate column for it")
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
            unknown = SpecError.unknown_name("function", word, FUNCTIONS + TOP_FUNCTIONS + DATE_FUNCTIONS)
            raise SpecError(f"{shown(self.text)}: {unknown}")
        return self._made(Name(word))

    def _date_part(self, token: Token) -> DatePart:
        self.advance()
        with self._nested():
            argument = self._or()
        self.expect(")", f"close the round bracket of {token.text}")
        if not isinstance(argument, Name):
            raise self.misused(token, token.text, "takes a column of dates by its name")
        return self._made(DatePart(cast("DatePartName", token.text), argument.name))

    def _call(self, token: Token) -> Node:
        function = token.text
        self.advance()
        with self._nested():
            arguments = [self._or()]
            while self.accept(","):
                if function == "clip":
                    low = self._constant()
                    self.expect(",", "clip takes an expression and two constants")
                    high = self._constant()
                    self.expect(")", "clip takes an expression and two constants")
                    if not low < high:
                        raise self.misused(token, "clip", "needs two constants, the smaller one first")
                    return self._made(Clip(arguments[0], low, high))
                arguments.append(self._or())
        self.expect(")", f"close the round bracket of {function}")
        if function == "clip":
            raise self.misused(token, "clip", "takes an expression and two constants")
        if function in ("min", "max") and len(arguments) < 2:
            raise self.misused(token, function, "takes two or more arguments")
        if function not in ("min", "max") and len(arguments) > 1:
            raise self.misused(token, function, "takes one argument")
        return self._made(Call(cast("Function", function), tuple(arguments)))

    # small steps

    def _constant(self) -> float:
        minus = self.accept("-")
        if self.token.kind != "number":
            raise self.unexpected("a constant number is needed here")
        value = self._made(Number(self.advance().value)).value
        # 0.0 - 0.0 is plain zero
        return 0.0 - value if minus else value

    def _made(self, node: _NodeT) -> _NodeT:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise SpecError(
                f"{shown(self.text)}: it has more than {MAX_NODES} parts; declare some as columns of their own"
            )
        return node

    @contextmanager
    def _nested(self) -> Iterator[None]:
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise SpecError(
                f"{shown(self.text)}: more than {MAX_NESTING} levels of nesting; declare a part of it as a column"
            )
        yield
        self.depth -= 1

    def _must_be_condition(self, node: Node) -> None:
        if not is_condition(node):
            raise SpecError(
                f"{shown(self.text)}: {text_of(node)} is a number, and 'and', 'or' and 'not' join comparisons; "
                f"write for example {text_of(Compare('==', node, Number(1.0)))}"
            )
