"""Values as text for a page: digits that people read, and nothing shown as a number that is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.number_text import count, number, p_value, percent, plain, share
from discreet.pages.view import Coefficient, confidence_set, estimate, in_row


def row(**more: object) -> Coefficient:
    fields = dict.fromkeys(Coefficient.__dataclass_fields__)
    return Coefficient(**{**fields, "name": "x", **more})  # type: ignore[arg-type]


@given(st.floats(min_value=-1e300, max_value=1e300, allow_nan=False).filter(lambda value: abs(value) > 1e-300))
def test_a_number_keeps_four_digits(value: float) -> None:
    shown = float(number(value).replace(",", ""))
    assert shown == pytest.approx(value, rel=6e-4)


def test_numbers_of_any_size_are_short_and_have_no_zeros_before_their_exponent() -> None:
    assert [number(value) for value in (1234567.8, 0.000123456, 1e-5, -2.5e12)] == [
        "1,234,568",
        "0.0001235",
        "1e-5",
        "-2.5e12",
    ]
    assert plain(1e-6) == "1e-6"
    assert plain(123456.0) == "123456"


def test_a_share_is_called_all_or_nothing_only_if_it_is() -> None:
    assert [share(value) for value in (0.0, 1e-9, 0.25, 0.9999, 1.0)] == [
        "0%",
        "less than 0.1%",
        "25%",
        "more than 99.9%",
        "100%",
    ]
    assert [p_value(value) for value in (0.0, 0.00099, 0.001, 1.0)] == ["<0.001", "<0.001", "0.001", "1.000"]


def test_what_is_not_known_is_a_dash_or_words() -> None:
    assert {number(None), share(None), p_value(None)} == {"–"}
    missing = row()
    assert (estimate(missing), confidence_set(missing)) == ("not estimable", "–")
    bounded, unbounded = row(estimate=0.123456, kind="interval"), row(estimate=0.123456, kind="everything")
    assert (estimate(bounded), estimate(unbounded)) == ("0.1235", "[0.12]")
    assert confidence_set(row(estimate=1.0, kind="interval", low=0.5, high=1.5)).count("–") == 0


def test_the_numbers_of_a_row_have_the_decimals_that_its_error_leaves() -> None:
    huge = row(estimate=0.1234567891, std_error=1.2e-7, kind="interval", low=0.1234565540, high=0.1234570242)
    assert estimate(huge) == "0.123456789"
    assert confidence_set(huge) == "0.123456554 to 0.123457024"
    coarse = row(estimate=-18_458.3, std_error=10_416.0, kind="interval", low=-41_981.0, high=94.59)
    assert (estimate(coarse), in_row(coarse.std_error, coarse)) == ("-18,458", "10,416")
    assert confidence_set(coarse) == "-41,981 to 95"
    noise = row(estimate=2.5, privacy_sd=0.125)
    assert (estimate(noise), in_row(noise.privacy_sd, noise)) == ("2.500", "0.125")
    # an error of 0 or one that is not finite says nothing about digits
    assert [estimate(row(estimate=0.123456, std_error=error)) for error in (0.0, float("inf"))] == ["0.1235"] * 2
    assert confidence_set(row(estimate=1.0, std_error=9.0, kind="above", low=0.123456)) == "at least 0.1235"


def test_levels_and_numbers_of_rows_are_written_out() -> None:
    assert [percent(level) for level in (0.95, 0.999, 0.99995)] == ["95%", "99.9%", "99.995%"]
    assert count(1234567.4) == "1,234,567"
    assert [share(value) for value in (0.1359, 0.5, 0.0056)] == ["13.6%", "50%", "0.6%"]
