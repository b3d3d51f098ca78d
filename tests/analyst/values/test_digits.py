"""Numbers to the digits that their errors leave them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.number_text import axis_number, decimals_for, fixed, short_exponent

sizes = st.floats(1e-250, 1e250)


@given(sizes)
def test_three_digits_of_an_error_are_shown(error):
    shown = float(fixed(error, decimals_for(error)).replace(",", ""))
    assert shown == pytest.approx(error, rel=5e-3)


@given(st.floats(-1e8, 1e8), st.integers(0, 6))
def test_a_number_is_off_by_at_most_half_of_its_last_decimal(value, decimals):
    shown = float(fixed(value, decimals).replace(",", ""))
    # half a unit, and what doubles of this size are apart
    assert abs(shown - value) <= 0.5 * 10.0**-decimals + 1e-15 * abs(value)


def test_the_numbers_of_a_row_have_the_same_decimals():
    decimals = decimals_for(0.00164)
    assert [fixed(value, decimals) for value in (0.5, -1.49964, 0.0)] == ["0.50000", "-1.49964", "0.00000"]


@given(sizes)
def test_a_place_on_an_axis_is_the_number(value):
    assert float(axis_number(value).replace(",", "")) == pytest.approx(value, rel=1e-5)
    assert axis_number(-value) == f"-{axis_number(value)}"


def test_exponents_have_no_plus_and_no_zeros():
    assert [short_exponent(text) for text in ("1e+06", "2e-10", "1.5", "3e+100")] == ["1e6", "2e-10", "1.5", "3e100"]
