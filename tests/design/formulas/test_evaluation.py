"""Values of a tree by the usual rules, and ranges that hold them."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.design.formula import parse, range_of, range_text, values_of
from discreet.design.formula_syntax import Binary, Call, Name, Number
from discreet.errors import SpecError
from support.random_formulas import NAMES, WRITTEN, random_text


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


@pytest.mark.no_cover
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


def test_a_tree_is_computed_and_bounded_part_by_part():
    tree = Binary("*", Call("sqrt", (Name("a"),)), Number(3.0))
    assert values_of(tree, {"a": np.array([0.0, 4.0, 9.0])}).tolist() == [0.0, 6.0, 9.0]
    assert range_of(tree, {"a": (4.0, 9.0)}) == (6.0, 9.0)
    assert values_of(Number(2.0), {}).tolist() == [2.0]
    message = (
        r"^sqrt\(a\) has no finite value for some a in \[-1, 9\]: expected only numbers of at least 0 under a square"
    )
    with pytest.raises(SpecError, match=message):
        range_of(tree, {"a": (-1.0, 9.0)})


def test_the_first_of_two_zeros_is_the_least_and_the_greatest():
    zeros = {"a": np.array([0.0, -0.0]), "b": np.array([-0.0, 0.0])}
    for function in ("min", "max"):
        found = values_of(Call(function, (Name("a"), Name("b"))), zeros)
        assert np.signbit(found).tolist() == [False, True]
    assert range_text((-0.5, 1e6)) == "[-0.5, 1e+06]"
