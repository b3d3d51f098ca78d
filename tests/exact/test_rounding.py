"""Directed rounding gives the nearest float on the side that was asked for."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from discreet.exact.rounding import down, root_down, root_up, up

fractions = st.fractions(min_value=Fraction(1, 10**30), max_value=10**30)


@given(fractions)
def test_down_and_up_enclose_the_number_tightly(value):
    assert Fraction(down(value)) <= value < Fraction(math.nextafter(down(value), math.inf))
    assert Fraction(up(value)) >= value > Fraction(math.nextafter(up(value), -math.inf))


@given(st.decimals(min_value=Decimal("1e-30"), max_value=Decimal("1e30"), allow_nan=False))
def test_decimals_are_enclosed_too(value):
    assert Decimal(down(value)) <= value <= Decimal(up(value))


@given(fractions)
def test_roots_enclose_the_square_tightly(value):
    low, high = root_down(value), root_up(value)
    assert Fraction(low) ** 2 <= value <= Fraction(high) ** 2
    assert high in (low, math.nextafter(low, math.inf))


@given(st.floats(1e-160, 1e160))
def test_roots_of_exact_squares_are_exact(value):
    assert root_down(Fraction(value) ** 2) == root_up(Fraction(value) ** 2) == value


def test_roots_of_squares_beyond_the_float_range():
    least, greatest = math.ulp(0.0), math.nextafter(math.inf, 0.0)
    assert root_up(Fraction(least) ** 2) == least
    assert root_up(Fraction(greatest) ** 2) == greatest
