"""A formula: its canonical form, and the columns it is evaluated on."""

from __future__ import annotations

import math
import pickle
import warnings

import numpy as np
import pytest

from discreet.design.formula import parse
from discreet.errors import SpecError

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


# values


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
    with pytest.raises(SpecError, match="must be one-dimensional and of equal length"):
        parse("a + b").evaluate({"a": np.zeros(2), "b": np.zeros(1)})
    with pytest.raises(SpecError, match="must be one-dimensional and of equal length"):
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
