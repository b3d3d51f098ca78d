"""What the grammar reads and what it refuses, with the spot and the advice."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from discreet.design.formula import parse
from discreet.design.formula_syntax import (
    MAX_LENGTH,
    MAX_NESTING,
    MAX_NODES,
    Binary,
    Compare,
    Logic,
    Name,
    Negate,
    Not,
    Power,
    Spline,
    tree_of,
)
from discreet.errors import SpecError

NOT_PART = "not part of the formula language"
REFUSED = [
    (5, "formula: expected text, got int"),
    ("", "the formula is empty"),
    (" \t\n", "the formula is empty"),
    ("exper *** 2", "formula \"exper *** 2\": unexpected '*' at position 8, after 'exper **'; an exponent must be"),
    ('__import__("os")', "unknown function '__import__'"),
    ("__import__(a)", "unknown function '__import__'"),
    ("exec(a)", "unknown function 'exec'; allowed: log, log2,"),
    ("lgo(a)", "Did you mean 'log'?"),
    ("sprt(a)", "Did you mean 'sqrt'?"),
    ("a.b", f"unexpected '.' at position 1, after 'a'; attribute access is {NOT_PART}"),
    ("a.__class__", f"attribute access is {NOT_PART}"),
    ("a[0]", f"square brackets are {NOT_PART}"),
    ("{a}", f"braces are {NOT_PART}"),
    ("'a'", "write a level after its column"),
    ("a + 'b'", "and a column name with blanks in back quotes"),
    ("a == 'b", "the quotation mark at position 5 is never closed"),
    ("a < 'b'", "a level may only be compared with its column"),
    ("2 * a == 'b'", "a level may only be compared with its column"),
    ("a:b:c", "an interaction must have exactly two columns"),
    ("a:2", "must join two column names"),
    ("a:b + 1", "an operator is missing before it"),
    ("a = 1", f"unexpected '=' at position 2, after 'a'; assignment is {NOT_PART}; compare with =="),
    ("a := 1", f"assignment is {NOT_PART}"),
    ("lambda: 0", NOT_PART),
    ("lambda", f"is {NOT_PART}; write `lambda` if a column has this name"),
    ("a if a else a", f"unexpected 'if' at position 2, after 'a'; this word is {NOT_PART}"),
    ("True", NOT_PART),
    ("None + a", NOT_PART),
    ("import os", NOT_PART),
    ("a; a", f"semicolons are {NOT_PART}"),
    ("a # more", f"comments are {NOT_PART}"),
    ("a % 2", f"remainders are {NOT_PART}"),
    ("a ^ 2", "write a power as **"),
    ("a & b", "write 'and'"),
    ("a | b", "write 'or'"),
    ("~a", "write 'not'"),
    ("!a", "write 'not', or != for unequal"),
    ("a // b", "unexpected '/' at position 3, after 'a /'"),
    ("a @ b", f"unexpected character U+0040 at position 2, after 'a'; this character is {NOT_PART}"),
    ("a\0", "formula \"a<U+0000>\": unexpected character U+0000 at position 1"),
    ("a + 😀", "unexpected character U+1F600"),
    ("a\u202e", "<U+202E>"),
    ("a\u00a0+ 1", "unexpected character U+00A0"),
    ("x²", "'x²' at position 0 is not a plain name; write a column name in back quotes"),
    ("9**9**9", "unexpected '9' at position 3"),
    ("a**2**2", "a power of a power requires round brackets"),
    ("a ** 9", "an exponent must be an integer from 0 to 8, or 0.5"),
    ("a ** 1.5", "an exponent must be"),
    ("a ** -1", "an exponent must be"),
    ("a ** b", "an exponent must be"),
    ("a ** (2)", "an exponent must be"),
    ("1e400 * a", "the number at position 0 is outside the range of double precision"),
    ("1e-400 * a", "is outside the range of double precision"),
    ("9" * 400 + " * a", "is outside the range of double precision"),
    ("nan + a", "'nan' at position 0 is not a finite number; write `nan` if a column has this name"),
    ("-Inf", "is not a finite number"),
    ("2age", "unexpected 'age' at position 1, after '2'; an operator is missing; write 2 * x"),
    ("0x10 + a", "an operator is missing"),
    ("1_000 + a", "an operator is missing"),
    ("age wage", "unexpected 'wage' at position 4, after 'age'; an operator is missing before it"),
    ("a)", "no bracket is open here"),
    ("a, b", "no bracket is open here"),
    ("(a", "the formula ends at position 2, after '(a'; close the round bracket"),
    ("a +", "the formula ends at position 3, after 'a +'; expected a number, a column, a function or a round bracket"),
    ("* a", "unexpected '*' at position 0; expected a number"),
    ("+a", "unexpected '+' at position 0"),
    ("a + and", "unexpected 'and'"),
    ("1 + 2", "the formula must use at least one declared column"),
    ("a < b < c", "join two comparisons with 'and'"),
    ("a and b < 1", "a is a number, but 'and', 'or' and 'not' require comparisons; write for example a == 1"),
    ("a < 1 or b + 1", "write for example b + 1 == 1"),
    ("not a", "write for example a == 1"),
    ("log", "function 'log' at position 0 has no arguments; write `log` if a column has this name"),
    ("log + 1", "has no arguments"),
    ("1 + cut", "has no arguments"),
    ("log()", "unexpected ')' at position 4"),
    ("log(a, b)", "log at position 0 requires exactly one argument"),
    ("log(a", "close the round bracket of log"),
    ("`log`(a)", "an operator is missing before it"),
    ("min(a)", "min at position 0 requires two or more arguments"),
    ("clip(a)", "clip at position 0 requires an expression and two constants"),
    ("clip(a, 1)", "clip requires an expression and two constants"),
    ("clip(a, 1, 2, 3)", "clip requires an expression and two constants"),
    ("clip(a, 2, 1)", "clip at position 0 requires two constants, the smaller first"),
    ("clip(a, b, 1)", "unexpected 'b' at position 8, after 'clip(a,'; expected a constant number here"),
    ("cut(a)", "cut at position 0 requires one or more increasing points after its first argument"),
    ("cut(a, 2, 2)", "increasing points"),
    ("cut(a, 2, b)", "expected a constant number here"),
    ("cut(a, degree=2)", "expected a constant number here"),
    ("cut a", "write the arguments of cut in round brackets"),
    ("cut(a, 1", "close the round bracket of cut"),
    ("cut(a, 1) + 1", "cut and spline cannot be part of an expression; remove what follows"),
    ("1 + cut(a, 1)", "cut at position 4 cannot be part of an expression; declare it as a separate column"),
    ("cut(cut(a, 1), 1)", "cut at position 4 cannot be part of an expression"),
    ("spline(a)", "spline at position 0 requires one or more increasing knots"),
    ("spline(a, 2, 1)", "increasing knots"),
    ("spline(a, 1, degree=0)", "the degree must be an integer from 1 to 5"),
    ("spline(a, 1, degree=b)", "the degree must be an integer from 1 to 5"),
    ("spline(a, 1, degree 3)", "write for example degree=3"),
    ("spline(a, 1, degree=3, 4)", "close the round bracket of spline"),
    ("`a", "the back quote at position 0 is never closed"),
    ("``", "the quoted name at position 0 must be nonempty, without invisible characters or surrounding blanks"),
    ("` a`", "the quoted name at position 0 must be nonempty, without invisible characters or surrounding blanks"),
    ("`a\0b`", "the quoted name at position 0 must be nonempty, without invisible characters or surrounding blanks"),
    ("(" * 10000, "expected at most 500 characters, got 10000"),
    ("(" * 400, "more than 20 levels of nesting"),
    ("-" * 400 + "a", "more than 20 levels of nesting"),
    ("not " * 100 + "a < 1", "more than 20 levels of nesting"),
    ("abs(" * 21 + "a" + ")" * 21, "more than 20 levels of nesting"),
    ("+".join(["a"] * 51), "more than 100 operations, names and constants"),
    ("+".join(["abcdefgh"] * 50), "has more than 500 characters if operators are surrounded by blanks"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), REFUSED, ids=lambda value: str(value)[:24].encode("unicode_escape"))
def test_what_is_not_in_the_language_is_refused_with_its_spot(text, message):
    with pytest.raises(SpecError) as caught:
        parse(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_the_limits_themselves_are_allowed():
    assert parse("(" * MAX_NESTING + "a" + ")" * MAX_NESTING) == parse("a")
    assert len(parse("+".join(["a"] * (MAX_NODES // 2))).names) == 1
    assert parse("a" + " " * (MAX_LENGTH - 1)).names == ("a",)


@given(text=st.text(max_size=60) | st.text("ab1.+-*/()<=!`, andcutlog", max_size=40))
@example("`" * 7)
def test_any_text_is_read_or_refused_and_nothing_else_happens(text):
    try:
        formula = parse(text)
    except SpecError:
        return
    assert parse(str(formula)) == formula


def test_operators_bind_as_the_grammar_says():
    a, b, c = Name("a"), Name("b"), Name("c")
    assert tree_of("a + b * c") == Binary("+", a, Binary("*", b, c))
    assert tree_of("a - b - c") == Binary("-", Binary("-", a, b), c) != tree_of("a - (b - c)")
    assert tree_of("-a ** 2") == Negate(Power(a, 2.0)) != tree_of("(-a) ** 2")
    less, more = Compare("<", a, b), Compare(">", b, c)
    assert tree_of("a < b or not b > c and a < b") == Logic("or", less, Logic("and", Not(more), less))
    assert tree_of("spline(a, -1, 2)") == Spline(a, (-1.0, 2.0), 3)
