"""The formula language: what it reads, what it refuses, what it computes, and the bounds it derives."""

from __future__ import annotations

import itertools
import math
import pickle
import random
import warnings
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from discreet.design.formulas.formula import parse
from discreet.design.formulas.syntax import MAX_NESTING, MAX_NODES
from discreet.design.formulas.tokens import MAX_LENGTH
from discreet.errors import SpecError
from discreet.exact import elementary

NAMES = ("age", "wage", "years at school")
WRITTEN = ("age", "wage", "`years at school`")


# reading


@pytest.mark.parametrize(
    ("text", "canonical", "kind", "names"),
    [
        ("exper**2", "exper ** 2", "numeric", ("exper",)),
        (" log( wage )\n", "log(wage)", "numeric", ("wage",)),
        ("cut(age,30,50.0,65)", "cut(age, 30, 50, 65)", "levels", ("age",)),
        ("cut(age - 5, -1.5, -0, 2e1)", "cut(age - 5, -1.5, 0, 20)", "levels", ("age",)),
        ("spline(age, 25, 40, 60)", "spline(age, 25, 40, 60)", "spline", ("age",)),
        ("spline(age, 25, degree = 3)", "spline(age, 25)", "spline", ("age",)),
        ("spline(log(age), 2, degree=1)", "spline(log(age), 2, degree=1)", "spline", ("age",)),
        ("age>=65", "age >= 65", "boolean", ("age",)),
        ("not a<1 and (b==2 or c!=3)", "not a < 1 and (b == 2 or c != 3)", "boolean", ("a", "b", "c")),
        ("not (a<1 or b<1)", "not (a < 1 or b < 1)", "boolean", ("a", "b")),
        ("((a)) - (b - c)", "a - (b - c)", "numeric", ("a", "b", "c")),
        ("(a - b) - c", "a - b - c", "numeric", ("a", "b", "c")),
        ("a*(b+c)/d", "a * (b + c) / d", "numeric", ("a", "b", "c", "d")),
        ("-a**2", "-a ** 2", "numeric", ("a",)),
        ("(-a)**2 + --b", "(-a) ** 2 + --b", "numeric", ("a", "b")),
        ("-(a*b)", "-(a * b)", "numeric", ("a", "b")),
        ("(a**2)**.5", "(a ** 2) ** 0.5", "numeric", ("a",)),
        ("(age >= 65) * wage", "(age >= 65) * wage", "numeric", ("age", "wage")),
        ("min(a,b,3) + max(b,a)", "min(a, b, 3) + max(b, a)", "numeric", ("a", "b")),
        ("clip(a, -1, 1)", "clip(a, -1, 1)", "numeric", ("a",)),
        ("`gross income` / 1000", "`gross income` / 1000", "numeric", ("gross income",)),
        ("`a``b` + `plain`", "`a``b` + plain", "numeric", ("a`b", "plain")),
        ("`log`+`lambda`+`and`+`NaN`", "`log` + `lambda` + `and` + `NaN`", "numeric", ("log", "lambda", "and", "NaN")),
        ("`(` + `**` - `<`", "`(` + `**` - `<`", "numeric", ("(", "**", "<")),
        ("größe + x1", "größe + x1", "numeric", ("größe", "x1")),
        ("1e-3*a + 1E+2 + .5 + 3.", "0.001 * a + 100 + 0.5 + 3", "numeric", ("a",)),
        ("degree + e1", "degree + e1", "numeric", ("degree", "e1")),
    ],
)  # fmt: skip
def test_a_text_has_one_canonical_form_which_reads_back_the_same(text, canonical, kind, names):
    formula = parse(text)
    assert (str(formula), formula.kind, formula.names, formula.text) == (canonical, kind, names, text)
    again = parse(str(formula))
    assert again == formula
    assert hash(again) == hash(formula)
    assert str(again) == canonical
    assert pickle.loads(pickle.dumps(formula)) == formula
    assert repr(formula) == f"parse({text!r})"


def test_formulas_that_mean_something_else_are_not_equal():
    assert parse("a - b") != parse("b - a")
    assert parse("spline(a, 1)") != parse("spline(a, 1, degree=2)")


@pytest.mark.parametrize("letter", range(25))
def test_canonical_texts_of_random_formulas_read_back_the_same(letter):
    generator = random.Random(letter)
    for _ in range(40):
        formula = parse(f"age + {random_text(generator, 3)}")
        assert parse(str(formula)) == formula


# refusals

NOT_PART = "not part of the formula language"
REFUSED = [
    (5, "formula: expected text, got int"),
    ("", "the formula is empty"),
    (" \t\n", "the formula is empty"),
    ("exper *** 2", "formula \"exper *** 2\": unexpected '*' at position 8, after 'exper **'; an exponent is"),
    ('__import__("os")', f"text in quotes is {NOT_PART}; a column name with blanks is written in back quotes"),
    ("__import__(a)", "unknown function '__import__'"),
    ("exec(a)", "unknown function 'exec'; allowed: log, log2,"),
    ("lgo(a)", "Did you mean 'log'?"),
    ("sprt(a)", "Did you mean 'sqrt'?"),
    ("a.b", f"unexpected '.' at position 1, after 'a'; attribute access is {NOT_PART}"),
    ("a.__class__", f"attribute access is {NOT_PART}"),
    ("a[0]", f"square brackets are {NOT_PART}"),
    ("{a}", f"braces are {NOT_PART}"),
    ("'a'", f"text in quotes is {NOT_PART}"),
    ("a = 1", f"unexpected '=' at position 2, after 'a'; assignment is {NOT_PART}; compare with =="),
    ("a := 1", f"colons are {NOT_PART}"),
    ("lambda: 0", NOT_PART),
    ("lambda", f"it is {NOT_PART}; write `lambda` if a column has this name"),
    ("a if a else a", f"unexpected 'if' at position 2, after 'a'; it is {NOT_PART}"),
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
    ("a @ b", f"unexpected character U+0040 at position 2, after 'a'; it is {NOT_PART}"),
    ("a\0", "formula \"a<U+0000>\": unexpected character U+0000 at position 1"),
    ("a + 😀", "unexpected character U+1F600"),
    ("a\u202e", "<U+202E>"),
    ("a\u00a0+ 1", "unexpected character U+00A0"),
    ("x²", "'x²' at position 0; write this name in back quotes"),
    ("9**9**9", "unexpected '9' at position 3"),
    ("a**2**2", "a power of a power needs round brackets"),
    ("a ** 9", "an exponent is an integer from 0 to 8, or 0.5"),
    ("a ** 1.5", "an exponent is"),
    ("a ** -1", "an exponent is"),
    ("a ** b", "an exponent is"),
    ("a ** (2)", "an exponent is"),
    ("1e400 * a", "a number at position 0; it does not fit double precision"),
    ("1e-400 * a", "it does not fit double precision"),
    ("9" * 400 + " * a", "it does not fit double precision"),
    ("nan + a", "numbers are finite; write `nan` if a column has this name"),
    ("-Inf", "numbers are finite"),
    ("2age", "unexpected 'age' at position 1, after '2'; an operator is missing; write 2 * x"),
    ("0x10 + a", "an operator is missing"),
    ("1_000 + a", "an operator is missing"),
    ("age wage", "unexpected 'wage' at position 4, after 'age'; an operator is missing before it"),
    ("a)", "nothing is open here"),
    ("a, b", "nothing is open here"),
    ("(a", "the text ends at position 2, after '(a'; close the round bracket"),
    ("a +", "the text ends at position 3, after 'a +'; a number, a column, a function or a round bracket"),
    ("* a", "unexpected '*' at position 0; a number"),
    ("+a", "unexpected '+' at position 0"),
    ("a + and", "unexpected 'and'"),
    ("1 + 2", "no column is used"),
    ("a < b < c", "join two comparisons by 'and'"),
    ("a and b < 1", "a is a number, and 'and', 'or' and 'not' join comparisons; write for example a == 1"),
    ("a < 1 or b + 1", "write for example b + 1 == 1"),
    ("not a", "write for example a == 1"),
    ("log", "function 'log' without its arguments at position 0; write `log` if a column has this name"),
    ("log + 1", "without its arguments"),
    ("1 + cut", "without its arguments"),
    ("log()", "unexpected ')' at position 4"),
    ("log(a, b)", "log at position 0; it takes one argument"),
    ("log(a", "close the round bracket of log"),
    ("`log`(a)", "an operator is missing before it"),
    ("min(a)", "it takes two or more arguments"),
    ("clip(a)", "clip at position 0; it takes an expression and two constants"),
    ("clip(a, 1)", "clip takes an expression and two constants"),
    ("clip(a, 1, 2, 3)", "clip takes an expression and two constants"),
    ("clip(a, 2, 1)", "its two constants must increase"),
    ("clip(a, b, 1)", "unexpected 'b' at position 8, after 'clip(a,'; a constant number is needed here"),
    ("cut(a)", "cut at position 0; it needs one or more increasing points after its first argument"),
    ("cut(a, 2, 2)", "increasing points"),
    ("cut(a, 2, b)", "a constant number is needed here"),
    ("cut(a, degree=2)", "a constant number is needed here"),
    ("cut a", "write the arguments of cut in round brackets"),
    ("cut(a, 1", "close the round bracket of cut"),
    ("cut(a, 1) + 1", "cut and spline cannot be combined with anything; remove what follows"),
    ("1 + cut(a, 1)", "cut at position 4, after '1 +'; it cannot be combined with anything; declare a separate column"),
    ("cut(cut(a, 1), 1)", "it cannot be combined with anything"),
    ("spline(a)", "spline at position 0; it needs one or more increasing knots"),
    ("spline(a, 2, 1)", "increasing knots"),
    ("spline(a, 1, degree=0)", "the degree is an integer from 1 to 5"),
    ("spline(a, 1, degree=b)", "the degree is an integer from 1 to 5"),
    ("spline(a, 1, degree 3)", "write for example degree=3"),
    ("spline(a, 1, degree=3, 4)", "close the round bracket of spline"),
    ("`a", "a back quote at position 0; it is never closed"),
    ("``", "a column name has no invisible characters or outer blanks"),
    ("` a`", "a column name has no invisible characters"),
    ("`a\0b`", "a column name has no invisible characters"),
    ("(" * 10000, "expected at most 500 characters, got 10000"),
    ("(" * 400, "nested more than 20 deep"),
    ("-" * 400 + "a", "nested more than 20 deep"),
    ("not " * 100 + "a < 1", "nested more than 20 deep"),
    ("abs(" * 21 + "a" + ")" * 21, "nested more than 20 deep"),
    ("+".join(["a"] * 51), "more than 100 parts"),
    ("+".join(["abcdefgh"] * 50), "with blanks around its operators it has more than 500 characters"),
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


# values


def evaluated(text, **columns):
    return parse(text).evaluate({name: np.array(column, float) for name, column in columns.items()}).tolist()


def test_values_follow_the_usual_rules_of_arithmetic():
    assert evaluated("a - b - 1", a=[5], b=[2]) == [2]
    assert evaluated("a - (b - 1)", a=[5], b=[2]) == [4]
    assert evaluated("-a ** 2 + 3 * a / 2", a=[4]) == [-10]
    assert evaluated("(-a) ** 2 * 2 + a ** 0 + a ** 1 + a ** 3", a=[2]) == [19]
    assert evaluated("sqrt(a) + a ** 0.5 + abs(-a)", a=[9]) == [15]
    assert evaluated("min(a, b, 3)", a=[1, 5, 9], b=[2, 4, 8]) == [1, 3, 3]
    assert evaluated("max(a, b)", a=[1, 5], b=[2, 4]) == [2, 5]
    assert evaluated("clip(a, 0, 1)", a=[-3, 0.25, 7]) == [0, 0.25, 1]
    assert evaluated("log2(a) + log10(b) + log1p(a - a) + exp(a - a) + log(b / b)", a=[8], b=[1000]) == [7]
    assert evaluated("a / b", a=[1], b=[3]) == [1 / 3]


def test_conditions_are_zero_and_one():
    a = [1, 2, 3]
    for sign, answer in {"<": [1, 0, 0], "<=": [1, 1, 0], ">": [0, 0, 1], ">=": [0, 1, 1], "==": [0, 1, 0],
                         "!=": [1, 0, 1]}.items():  # fmt: skip
        assert evaluated(f"a {sign} 2", a=a) == answer
    assert evaluated("a > 1 and a < 3", a=a) == [0, 1, 0]
    assert evaluated("a < 2 or not a < 3", a=a) == [1, 0, 1]
    assert evaluated("(a > 1) * a", a=a) == [0, 2, 3]


@pytest.mark.parametrize("text", ["a", "a ** 0", "a >= 1", "not a >= 1", "min(a, 1)", "cut(a, 1)", "clip(a, 0, 1)"])
def test_a_row_without_a_finite_value_stays_without_one(text):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = parse(text).evaluate({"a": np.array([np.nan, 0.5, np.inf, -np.inf])})
    assert np.isnan(found).tolist() == [True, False, True, True]


@pytest.mark.filterwarnings("error")
def test_no_warning_escapes_even_outside_the_bounds():
    for text in ("log(a) / a", "exp(a) * exp(a)", "sqrt(a)", "log1p(a - 2)", "1 / a", "a ** 8"):
        parse(text).evaluate({"a": np.array([0.0, -1.0, 1e300, -1e300, 5e-324])})


def test_inputs_are_neither_changed_nor_handed_back():
    a = np.array([-0.0, 1.0])
    a.flags.writeable = False
    found = parse("a").evaluate({"a": a})
    found[1] = 5
    assert a[1] == 1
    assert math.copysign(1, found[0]) == 1
    assert parse("a").evaluate({"a": np.array([True, False])}).tolist() == [1, 0]
    assert parse("a + 1").evaluate({"a": np.array([])}).shape == (0,)


def test_columns_that_do_not_fit_are_refused():
    with pytest.raises(SpecError, match=r"unknown numeric or boolean column 'aeg'; .* Did you mean 'age'"):
        parse("aeg + 1").evaluate({"age": np.zeros(2)})
    with pytest.raises(SpecError, match="not one-dimensional and of one length"):
        parse("a + b").evaluate({"a": np.zeros(2), "b": np.zeros(1)})
    with pytest.raises(SpecError, match="not one-dimensional and of one length"):
        parse("a").evaluate({"a": np.zeros((2, 2))})


SHAPES = [
    "log(a)", "log2(a)", "log10(a)", "log1p(a)", "exp(-a)", "sqrt(a)", "a ** 0.5", "a ** 7", "log(a) * exp(b - a) / b",
    "min(a, b, 5) - max(a, 2)", "clip(a, 1, 9) / b", "a < b", "cut(a * b, 3, 40, 90.5)",
]  # fmt: skip


@pytest.mark.parametrize("text", SHAPES)
def test_an_element_does_not_depend_on_its_place_or_on_the_length(text):
    rng = np.random.default_rng(5)
    a, b = rng.uniform(0.001, 20, 300), rng.uniform(0.5, 9, 300)
    formula = parse(text)
    alone = np.array([formula.evaluate({"a": a[k : k + 1], "b": b[k : k + 1]})[0] for k in range(300)])
    assert formula.evaluate({"a": a, "b": b}).tobytes() == alone.tobytes()
    for length in range(1, 68):
        for start in rng.integers(0, 300 - length, 3):
            rows = slice(start, start + length)
            assert formula.evaluate({"a": a[rows], "b": b[rows]}).tobytes() == alone[rows].tobytes()
    for step in (-1, 2, 3):
        assert formula.evaluate({"a": a[::step], "b": b[::step]}).tobytes() == alone[::step].tobytes()
    # longer than a block of rows
    long = formula.evaluate({"a": np.tile(a, 60), "b": np.tile(b, 60)})
    assert long.tobytes() == np.tile(alone, 60).tobytes()


# claimed is less than one unit; what larger grids reach, rounded up, so that a lost correction term is noticed
GRIDS = {
    "log": (elementary.log, mpmath.log, (1e-12, 1e12), 0.65),
    "log2": (elementary.log2, lambda x: mpmath.log(x, 2), (1e-12, 1e12), 0.65),
    "log10": (elementary.log10, mpmath.log10, (1e-12, 1e12), 0.65),
    "log1p": (elementary.log1p, mpmath.log1p, (1e-12, 1e12), 0.65),
    "exp": (elementary.exp, mpmath.exp, (1e-3, 700.0), 0.82),
}


@pytest.mark.parametrize("name", GRIDS)
def test_logarithms_and_exponentials_are_right_to_one_unit_in_the_last_place(name):
    function, reference, (low, high), units = GRIDS[name]
    rng = np.random.default_rng(3)
    x = np.concatenate([np.geomspace(low, high, 400), rng.uniform(0.3, 3, 600), 1 + np.geomspace(1e-15, 0.1, 100)])
    if name == "exp":
        x = np.concatenate([x, -x, np.arange(-1000, 1000, 7) * math.log(2) / 2])
    elif name == "log1p":
        x = np.concatenate([x, -np.geomspace(1e-15, 0.999999, 300)])
    else:
        x = np.concatenate([x, 1 - np.geomspace(1e-15, 0.3, 100), [5e-324, 2.5e-310, 1.7e308]])
    with mpmath.workprec(200):
        for argument, result in zip(x.tolist(), function(x).tolist(), strict=True):
            exact = reference(mpmath.mpf(argument))
            unit = mpmath.mpf(2) ** max(mpmath.frexp(abs(exact))[1] - 53, -1074)
            assert abs(mpmath.mpf(result) - exact) <= units * unit, argument


def test_results_that_are_doubles_are_exact():
    powers = np.arange(-1074, 1024)
    assert elementary.log2(np.ldexp(1.0, powers)).tolist() == powers.tolist()
    assert elementary.log10(10.0 ** np.arange(23)).tolist() == list(range(23))
    assert elementary.exp(np.zeros(1)) == 1
    with np.errstate(all="ignore"):
        assert elementary.exp(np.array([-1e300, -746.0, 1e300])).tolist() == [0, 0, math.inf]
    assert elementary.exp(np.array([-745.0]))[0] == 5e-324


# bounds


def random_text(generator, depth):
    """A random formula text over three columns; about half of its calls are safe by a clip."""
    if depth == 0 or generator.random() < 0.12:
        if generator.random() < 0.25:
            return repr(generator.choice([0.0, 1.0, 0.1, 2.5, 7.0, 1 / 3, 1e-3, 1e5]))
        return generator.choice(WRITTEN)
    left = random_text(generator, depth - 1)
    right = random_text(generator, depth - 1)
    kind = generator.randrange(14)
    if kind < 6:
        return f"({left}) {generator.choice('+-*/+-')} ({right})"
    if kind == 6:
        return f"({left}) ** {generator.choice(['0', '1', '2', '3', '4', '7', '8', '0.5'])}"
    if kind == 7:
        return f"-({left}) + {generator.choice(WRITTEN)}"
    if kind == 8:
        return f"({left} {generator.choice(['<', '<=', '>', '>=', '==', '!='])} {generator.choice(WRITTEN)}) * wage"
    if kind == 9:
        return f"{generator.choice(['min', 'max'])}({left}, {right}, age)"
    if kind == 10:
        return f"clip({left}, {generator.choice(['-3', '0.1', '1'])}, {generator.choice(['2.7', '9', '1e3'])})"
    function = generator.choice(["log", "log2", "log10", "log1p", "exp", "sqrt", "abs"])
    if generator.random() < 0.6:
        left = f"clip({left}, {generator.choice(['0.001', '1', '0.7'])}, {generator.choice(['1.5', '90', '400'])})"
    return f"{function}({left}) + age - age"


def random_bounds(generator):
    bounds = {}
    for name in NAMES:
        size = 10.0 ** generator.uniform(-3, 4)
        low = generator.choice([0.0, -size, size, generator.uniform(-size, size), 1.0])
        bounds[name] = (low, low + size * generator.choice([1.0, generator.random(), 1e-9, 0.0]))
    return bounds


def points_of(generator, bounds):
    """All corners, their neighbours inside, zero where it is inside, and random points."""
    edges = []
    for low, high in bounds.values():
        inner = {low, high, min(high, math.nextafter(low, math.inf)), max(low, math.nextafter(high, -math.inf))}
        edges.append(sorted(inner | ({0.0} if low <= 0 <= high else set())))
    rows = list(itertools.product(*edges))
    for _ in range(60):
        rows.append([min(max(generator.uniform(low, high), low), high) for low, high in bounds.values()])
    return dict(zip(bounds, np.array(rows).T, strict=True))


@pytest.mark.filterwarnings("error")
def test_no_value_of_a_thousand_random_formulas_lies_outside_its_derived_bounds():
    generator = random.Random(20)
    bounded = refused = 0
    while bounded < 1000:
        text = f"age + {random_text(generator, generator.randint(1, 4))}"
        bounds = random_bounds(generator)
        try:
            formula = parse(text)
            low, high = formula.interval(bounds)
        except SpecError as error:
            refused += "has no finite value" in str(error)
            continue
        found = formula.evaluate(points_of(generator, bounds))
        assert np.all((low <= found) & (found <= high)), (text, bounds)
        bounded += 1
    # the generator reaches the edges of the domains as well
    assert refused > 100


def joined(left, sign, right):
    operate = {"+": Fraction.__add__, "-": Fraction.__sub__, "*": Fraction.__mul__}[sign]
    return f"({left[0]}) {sign} ({right[0]})", lambda point: operate(left[1](point), right[1](point))


def raised(part, exponent):
    return f"({part[0]}) ** {exponent}", lambda point: part[1](point) ** exponent


LEAVES = [(text, lambda point, name=name: point[name]) for name, text in zip(NAMES, WRITTEN, strict=True)]
LEAVES += [(repr(value), lambda point, value=value: Fraction(value)) for value in (0.1, 3.0, 7.25)]
polynomials = st.recursive(
    st.sampled_from(LEAVES),
    lambda part: st.builds(joined, part, st.sampled_from("+-*"), part) | st.builds(raised, part, st.integers(0, 3)),
    max_leaves=6,
)
boxes = st.fixed_dictionaries({name: st.lists(st.floats(-50, 50), min_size=3, max_size=3) for name in NAMES})


@given(polynomial=polynomials, box=boxes)
def test_the_exact_value_lies_inside_as_well(polynomial, box):
    text, exact = joined(LEAVES[0], "+", polynomial)
    bounds = {name: (min(numbers), max(numbers)) for name, numbers in box.items()}
    point = {name: numbers[0] for name, numbers in box.items()}
    low, high = parse(text).interval(bounds)
    assert Fraction(low) <= exact({name: Fraction(number) for name, number in point.items()}) <= Fraction(high)
    (found,) = parse(text).evaluate({name: np.array([number]) for name, number in point.items()})
    assert low <= found <= high


def test_derived_bounds_are_tight_where_each_column_occurs_once():
    assert parse("exper ** 2").interval({"exper": (0, 60)}) == (0, 3600)
    assert parse("x ** 2").interval({"x": (-3, 2)}) == (0, 9)
    assert parse("x ** 3").interval({"x": (-3, 2)}) == (-27, 8)
    assert parse("a - b").interval({"a": (0, 1), "b": (0, 5)}) == (-5, 1)
    assert parse("a / b").interval({"a": (-1, 1), "b": (-4, -2)}) == (-0.5, 0.5)
    assert parse("sqrt(x ** 2 + y ** 2)").interval({"x": (-3, 3), "y": (-4, 4)}) == (0, 5)
    assert parse("sqrt(log(x))").interval({"x": (1, 1)}) == (0, 0)
    assert parse("sqrt(log1p(-x) + 1 - exp(-x))").interval({"x": (0, 0)}) == (0, 0)
    assert parse("min(a, 3) + max(b, 2)").interval({"a": (0, 9), "b": (0, 5)}) == (2, 8)
    assert parse("clip(a, 1, 3)").interval({"a": (0, 9)}) == (1, 3)
    assert parse("clip(a, 1, 3)").interval({"a": (5, 9)}) == (3, 3)
    assert parse("abs(a) - -a").interval({"a": (-2, 1)}) == (-2, 3)
    assert parse("a ** 0.5").interval({"a": (4, 9)}) == (2, 3)
    low, high = parse("log(wage)").interval({"wage": (math.exp(2), math.exp(6))})
    assert 2 - 1e-14 < low <= 2 <= 6 <= high < 6 + 1e-14
    assert parse("exp(a)").interval({"a": (-1000, 0)}) == (0, 1)
    assert str(parse("-a").interval({"a": (0, 1)})) == "(-1.0, 0.0)"


def test_a_column_that_occurs_twice_counts_as_two():
    assert parse("x - x").interval({"x": (0, 1)}) == (-1, 1)
    assert parse("x * x").interval({"x": (-2, 3)}) == (-6, 9)
