"""Values as text for a page: digits that people read, and nothing shown as a number that is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.pages.text import confidence_set, estimate, number, p_value, plain, share, shortened
from discreet.pages.view import Coefficient


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
        "-2.5e+12",
    ]
    assert plain(1e-6) == "1e-6"
    assert plain(123456.0) == "123456"


@given(st.text("abc ", max_size=40), st.integers(3, 30))
def test_shortened_text_fits_and_keeps_both_ends(text: str, letters: int) -> None:
    short = shortened(text, letters)
    assert len(short) <= letters
    if len(text) <= letters:
        assert short == text
    else:
        first, last = short[: letters - 1 - (letters - 1) // 2], short[letters - (letters - 1) // 2 :]
        assert text.startswith(first)
        assert text.endswith(last)
        assert len(short) == letters


def test_a_share_is_called_all_or_nothing_only_if_it_is() -> None:
    assert [share(value) for value in (0.0, 1e-9, 0.25, 0.9999, 1.0)] == [
        "0%",
        "less than 0.1%",
        "25%",
        "more than 99.9%",
        "100%",
    ]
    assert [p_value(value) for value in (0.0, 0.00099, 0.001, 1.0)] == ["< 0.001", "< 0.001", "0.001", "1.000"]


def test_what_is_not_known_is_a_dash_or_words() -> None:
    assert {number(None), share(None), p_value(None)} == {"–"}
    missing = row()
    assert (estimate(missing), confidence_set(missing)) == ("not estimable", "–")
    bounded, unbounded = row(estimate=0.123456, kind="interval"), row(estimate=0.123456, kind="everything")
    assert (estimate(bounded), estimate(unbounded)) == ("0.1235", "[0.12]")
    assert confidence_set(row(estimate=1.0, kind="interval", low=0.5, high=1.5)).count("–") == 0
