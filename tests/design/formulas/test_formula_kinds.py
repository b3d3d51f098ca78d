"""The formula language: levels, splines, and the order in which formulas are computed."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from discreet.design import formula as splines
from discreet.design.formula import order, parse
from discreet.errors import DesignError, SpecError


def test_ranges_of_the_other_kinds():
    assert parse("a < 5").interval({"a": (0, 1)}) == (0, 1)
    assert parse("not a < 5 or a > 6").interval({"a": (0, 1)}) == (0, 1)
    assert parse("cut(a, 1, 2)").interval({"a": (0, 2)}) == (0, 2)
    assert parse("spline(a, 1)").interval({"a": (0, 2)}) == (0, 1)


@pytest.mark.parametrize(
    ("text", "bounds", "message"),
    [
        ("log(wage)", (0, 60), "log(wage) has no finite value for some wage in [0, 60]: log requires numbers above 0; "
         "declare tighter bounds for its columns, or use clip or log1p"),
        ("1 + log2(wage - 5)", (0, 60),
         "log2(wage - 5) has no finite value for some wage - 5 in [-5, 55]: log2 requires"),
        ("log1p(wage)", (-1, 1),
         "log1p requires numbers above -1; declare tighter bounds for its columns, or use clip"),
        ("3 / wage", (0, 60),
         "3 / wage has no finite value for some wage in [0, 60]: the divisor can be 0; declare tighter bounds"),
        ("wage / (wage - 1)", (0, 60), "for some wage in [0, 60] and wage - 1 in [-1, 59]: the divisor can be 0"),
        ("wage + 1 / 0", (0, 1), "1 / 0 has no finite value: the divisor can be 0"),
        ("sqrt(wage)", (-1, 1), "numbers of at least 0 under a square root; declare tighter bounds for its columns"),
        ("wage ** 0.5", (-1, 1), "wage ** 0.5 has no finite value for some wage in [-1, 1]: expected only numbers of"),
        ("exp(wage)", (0, 1000), "exp(wage) has no finite value for some wage in [0, 1000]: the result can exceed"),
        ("wage ** 8", (0, 1e40), "the result can exceed the range of double precision"),
        ("log(wage) < 3", (0, 1), "log requires numbers above 0"),
        ("cut(log(wage), 1)", (0, 1), "log requires numbers above 0"),
        ("cut(wage, 10, 70)", (0, 60),
         "70 must be inside the range [0, 60] of wage; choose a number inside the range, or declare wider"),
        ("cut(wage, 0, 7)", (0, 60), "0 must be inside the range [0, 60] of wage"),
        ("spline(wage, 10, 60)", (0, 60), "60 must be inside the range [0, 60] of wage"),
        ("spline(2 * wage, 0)", (0, 60), "0 must be inside the range [0, 120] of 2 * wage"),
        ("spline(wage, 0)", (-1.7e308, 1.7e308), "is too wide for a spline; rescale the column"),
        ("wage", (0, math.inf), "the bounds of 'wage' must be two finite, increasing numbers, got [0, inf]"),
        ("wage", (2, 1), "must be two finite, increasing numbers"),
        ("wgae", (2, 3), "unknown numeric or boolean column 'wgae'; allowed: wage. Did you mean 'wage'?"),
    ],
)  # fmt: skip
def test_bounds_that_do_not_fit_say_which_part_and_what_to_do(text, bounds, message):
    with pytest.raises(SpecError) as caught:
        parse(text).interval({"wage": bounds})
    assert str(caught.value).startswith(f'formula "{text}": ')
    assert message in str(caught.value)


# levels and splines


def test_levels_are_left_closed_intervals_with_names():
    formula = parse("cut(age, -0.5, 30, 50, 65)")
    assert formula.levels() == ("<-0.5", "-0.5 to 30", "30 to 50", "50 to 65", ">=65")
    ages = {"age": np.array([-1, -0.5, 29.999, 30, math.nextafter(50, 0), 50, 65, 99])}
    assert formula.evaluate(ages).tolist() == [0, 1, 1, 2, 2, 3, 4, 4]
    assert parse("cut(age, 3)").levels() == ("<3", ">=3")
    assert (formula.width, parse("age").width) == (4, 1)


def test_each_kind_answers_only_its_own_questions():
    with pytest.raises(SpecError, match=r"a formula of kind 'numeric' has no levels; use cut\(\.\.\.\)"):
        parse("age").levels()
    with pytest.raises(SpecError, match=r"a formula of kind 'levels' has no basis functions; use spline\(\.\.\.\)"):
        parse("cut(age, 1)").basis({"age": np.zeros(1)}, {"age": (0, 2)})
    for text in ("spline(age, 1)", "age:g"):
        with pytest.raises(
            SpecError, match="expected a formula with one result column, got a spline or an interaction"
        ):
            parse(text).evaluate({"age": np.zeros(1), "g": np.zeros(1)})
    with pytest.raises(SpecError, match="an interaction has no range"):
        parse("age:g").interval({"age": (0, 2)})
    assert parse("age:g").kind == "interaction"


def test_a_spline_leaves_out_its_first_function_and_stays_inside_its_bounds():
    formula = parse("spline(2 * age, 50, 80, 120)")
    bounds = {"age": (18.0, 90.0)}
    ages = np.array([-5.0, 18.0, 33.3, 90.0, 1e9, np.nan])
    found = formula.basis({"age": ages}, bounds)
    assert found.shape == (formula.width, 6) == (6, 6)
    whole = splines.basis(2 * ages[:5], [50.0, 80.0, 120.0], 3, (36.0, 180.0))
    assert np.array_equal(found[:, :5], whole[1:])
    assert not found[:, :2].any()
    assert found[-1, 3:5].tolist() == [1, 1]
    assert np.isnan(found[:, 5]).all()
    with pytest.raises(SpecError, match="must be inside the range"):
        formula.basis({"age": ages}, {"age": (18.0, 60.0)})
    with pytest.raises(SpecError, match="unknown numeric or boolean column 'age'"):
        formula.basis({"agee": ages}, bounds)


# several formulas


def test_formulas_are_ordered_by_what_they_need():
    formulas = {
        "total": parse("rate2 + log_rate"),
        "rate2": parse("rate ** 2"),
        "rate": parse("wage / hours"),
        "log_rate": parse("log(rate)"),
        "group": parse("cut(total, 5)"),
        "high": parse("rate > 3"),
        "extra": parse("high * wage"),
    }
    found = order(formulas, ["wage", "hours"])
    assert sorted(found) == sorted(formulas)
    for name in found:
        for needed in formulas[name].names:
            assert needed in ("wage", "hours") or found.index(needed) < found.index(name)
    assert order({}, ["wage"]) == ()


def test_a_long_chain_of_formulas_is_ordered():
    formulas = {f"c{k}": parse(f"c{k + 1} + 1") for k in range(3000)}
    assert order(formulas, {"c3000"})[-1] == "c0"


@pytest.mark.parametrize(
    ("formulas", "message"),
    [
        ({"b": "agge + 1"}, "column 'b': formula \"agge + 1\": unknown numeric or boolean column 'agge'; allowed: age, "
         "wage, b. Did you mean 'age'?"),
        ({"b": "b + 1"}, "the formulas 'b' -> 'b' form a cycle; define one of them without the others"),
        ({"b": "c + 1", "c": "d * age", "d": "b"}, "form a cycle"),
        ({"g": "cut(age, 30)", "b": "g + 1"}, "column 'b': formula \"g + 1\": 'g' is a formula with levels, "
         "not a number; use the columns from which it is computed"),
        ({"age": "wage + 1"}, "column 'age': the column has both a formula and a declaration; keep one of them"),
    ],
)  # fmt: skip
def test_formulas_that_cannot_be_ordered_say_why(formulas, message):
    with pytest.raises(SpecError) as caught:
        order({name: parse(text) for name, text in formulas.items()}, ["age", "wage"])
    assert message in str(caught.value)


def test_a_cycle_is_named_in_the_order_of_its_needs():
    formulas = {"b": parse("c + 1"), "c": parse("d * age"), "d": parse("b")}
    with pytest.raises(DesignError) as caught:
        order(formulas, ["age"])
    (found,) = caught.value.problems
    assert (found.column, found.key) == ("b", "formula")
    names = found.message.removeprefix("the formulas ").split(" form a cycle")[0].replace("'", "").split(" -> ")
    assert names[0] == names[-1]
    assert all(following in formulas[name].names for name, following in itertools.pairwise(names))


@pytest.mark.parametrize(("text", "levels", "said"), [
    ('g == "2"', (1, 2), "the levels of 'g' are integers, but \"2\" is text; write 2 without quotes"),
    ("g == 2", ("1", "2"), "the levels of 'g' are text, but 2 is a number; write \"2\" in quotes"),
    ('g == "sout"', ("north", "south"), "allowed: north, south. Did you mean 'south'?"),
])  # fmt: skip
def test_a_level_of_the_wrong_type_is_told_from_one_that_is_not_there(text, levels, said):
    with pytest.raises(SpecError) as caught:
        parse(text).with_levels({"g": levels})
    assert str(caught.value).endswith(said)
