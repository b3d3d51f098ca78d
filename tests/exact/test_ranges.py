"""Interval arithmetic holds every result, exact or rounded, and keeps ends that are exact."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from discreet.exact import elementary
from discreet.exact import ranges as intervals
from discreet.exact.ranges import NoRangeError

numbers = st.floats(-1e12, 1e12) | st.floats(-2.0, 2.0) | st.sampled_from([0.0, -0.0, 5e-324, 0.1, 1 / 3, -7.0])
shares = st.floats(0.0, 1.0)


@st.composite
def ranges(draw):
    low, high = sorted((draw(numbers), draw(numbers)))
    return low, high


@st.composite
def ranges_with_point(draw):
    low, high = draw(ranges())
    point = low + draw(shares) * (high - low)
    return (low, high), min(max(point, low), high)


def holds(range_, value):
    return Fraction(range_[0]) <= value <= Fraction(range_[1])


EXACT = {
    "add": (intervals.add, lambda x, y: x + y),
    "multiply": (intervals.multiply, lambda x, y: x * y),
    "divide": (intervals.divide, lambda x, y: x / y),
    "least": (intervals.least, min),
    "greatest": (intervals.greatest, max),
}


@pytest.mark.parametrize("name", EXACT)
@given(a=ranges_with_point(), b=ranges_with_point())
def test_the_exact_and_the_rounded_result_lie_inside(name, a, b):
    (range_a, x), (range_b, y) = a, b
    enclose, operate = EXACT[name]
    if name == "divide":
        assume(not range_b[0] <= 0 <= range_b[1])
    try:
        range_ = enclose(range_a, range_b)
    except NoRangeError:
        assume(False)
    assert holds(range_, operate(Fraction(x), Fraction(y)))
    assert range_[0] <= operate(x, y) <= range_[1]


@given(a=ranges_with_point(), exponent=st.integers(0, 8))
def test_a_power_and_its_repeated_product_lie_inside(a, exponent):
    range_, x = a
    enclosed = intervals.power(range_, exponent)
    assert holds(enclosed, Fraction(x) ** exponent)
    product = 1.0 if exponent == 0 else x
    for _ in range(exponent - 1):
        product = product * x
    assert enclosed[0] <= product <= enclosed[1]


@given(a=ranges_with_point())
def test_negation_and_distance_are_exact(a):
    range_, x = a
    assert intervals.negate(range_)[0] <= -x <= intervals.negate(range_)[1]
    assert intervals.absolute(range_)[0] <= abs(x) <= intervals.absolute(range_)[1]
    assert set(map(abs, intervals.negate(range_))) == set(map(abs, range_))


@given(a=ranges_with_point())
def test_the_square_root_lies_inside(a):
    (low, high), x = a
    assume(low >= 0)
    ends = intervals.square_root((low, high))
    assert ends[0] <= math.sqrt(x) <= ends[1]
    assert Fraction(ends[0]) ** 2 <= Fraction(low)
    assert Fraction(high) <= Fraction(ends[1]) ** 2


RISING = {
    "log": (elementary.log, (1.0, 0.0), 5e-324, 1.7e308),
    "log2": (elementary.log2, (1.0, 0.0), 5e-324, 1.7e308),
    "log10": (elementary.log10, (1.0, 0.0), 5e-324, 1.7e308),
    "log1p": (elementary.log1p, (0.0, 0.0), -1 + 2**-53, 1.7e308),
    "exp": (elementary.exp, (0.0, 1.0), -760.0, 709.0),
}


@pytest.mark.parametrize("name", RISING)
def test_a_rising_function_stays_inside_even_in_the_last_bits(name):
    function, fixed, least, most = RISING[name]
    rng = np.random.default_rng(11)
    for _ in range(150):
        size = 10.0 ** rng.uniform(-12, 2)
        low = float(np.clip(fixed[0] + rng.uniform(-1, 1) * size, least, most))
        # neighbours of the ends are where an error in the last place could cross
        points = [low]
        for _ in range(40):
            points.append(math.nextafter(points[-1], math.inf))
        high = points[-1]
        results = function(np.array(points))
        ends = intervals.rising((low, high), function, fixed)
        assert np.all((ends[0] <= results) & (results <= ends[1]))


@pytest.mark.parametrize("name", RISING)
def test_the_exact_values_of_a_rising_function_at_both_ends_lie_inside(name):
    function, fixed, _, _ = RISING[name]
    exact = (lambda x: mpmath.log(x, 2)) if name == "log2" else getattr(mpmath, name)
    with mpmath.workprec(200):
        for low, width in np.random.default_rng(12).uniform(0.01, 9, (200, 2)).tolist():
            ends = intervals.rising((low, low + width), function, fixed)
            assert ends[0] <= exact(mpmath.mpf(low))
            assert exact(mpmath.mpf(low + width)) <= ends[1]


@pytest.mark.parametrize("name", RISING)
def test_results_keep_to_their_side_of_the_fixed_point(name):
    function, (index, value), _, _ = RISING[name]
    below, above = [index], [index]
    for _ in range(2000):
        below.append(math.nextafter(below[-1], -math.inf))
        above.append(math.nextafter(above[-1], math.inf))
    wide = np.random.default_rng(2).uniform(0, 1, 5000)
    assert np.all(function(np.array(below)) <= value)
    assert np.all(function(np.array(above)) >= value)
    assert np.all(function(index - 0.999 * wide) <= value)
    assert np.all(function(index + 600 * wide) >= value)
    assert function(np.array([index])) == value


def test_exact_ends_are_kept():
    assert intervals.add((0.1, 1.0), (0.0, 2.0)) == (0.1, 3.0)
    assert intervals.power((-60.0, 60.0), 2) == (0.0, 3600.0)
    assert intervals.power((-3.0, -2.0), 3) == (-27.0, -8.0)
    assert intervals.power((-3.0, -2.0), 4) == (16.0, 81.0)
    assert intervals.square_root((4.0, 9.0)) == (2.0, 3.0)


def test_inexact_ends_move_outwards_by_one_unit():
    low, high = intervals.add((0.1, 0.1), (0.2, 0.2))
    assert Fraction(low) < Fraction(0.1) + Fraction(0.2) < Fraction(high)
    assert math.nextafter(low, 1.0) == high
    low, high = intervals.square_root((2.0, 2.0))
    assert math.nextafter(low, 2.0) == high


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        (lambda: intervals.divide((1.0, 2.0), (-1.0, 1.0)), "the divisor can be 0"),
        (lambda: intervals.divide((1.0, 2.0), (0.0, 1.0)), "the divisor can be 0"),
        (lambda: intervals.divide((1.0, 2.0), (5e-324, 1.0)), "can exceed the range of double precision"),
        (lambda: intervals.square_root((-1e-300, 1.0)), "expected only numbers of at least 0"),
        (lambda: intervals.power((0.0, 1e100), 8), "can exceed the range of double precision"),
        (lambda: intervals.add((0.0, 1.7e308), (0.0, 1.7e308)), "can exceed the range of double precision"),
        (lambda: intervals.add((0.0, 1.7976931348623157e308), (0.0, 1.0)), "can exceed the range of double precision"),
        (
            lambda: intervals.rising((0.0, 710.0), elementary.exp, (0.0, 1.0)),
            "can exceed the range of double precision",
        ),
    ],
)
def test_what_has_no_finite_range_says_why(case, reason):
    with pytest.raises(NoRangeError, match=reason):
        case()
