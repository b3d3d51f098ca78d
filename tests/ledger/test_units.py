"""Amounts in steps: rounded against the spender, exact in sums, and never out of range."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.errors import LedgerError
from discreet.ledger.filter import AMOUNT, CHANCE, as_written, rounded_down, rounded_up, units_from


def test_rounding_goes_against_the_spender():
    for value in (Fraction(1, 3), Fraction(2, 7), Fraction(5e-324)):
        for steps in (AMOUNT, CHANCE):
            assert rounded_down(value, steps) < value * steps < rounded_up(value, steps)
    assert rounded_up(Fraction(5e-324), CHANCE) == 1, "no spend costs nothing"


def test_ten_tenths_are_one():
    assert 10 * rounded_up(as_written(0.1), AMOUNT) == rounded_down(as_written(1.0), AMOUNT)


@pytest.mark.parametrize("value", [0.1, 1e-6, 0.3, 1e300, 5e-324, 2 / 3])
def test_a_number_as_written_is_read_as_the_same_double(value):
    assert float(as_written(value)) == value
    assert abs(as_written(value) - Fraction(value)) <= Fraction(value) / 2**52 or value < 1e-300


@pytest.mark.parametrize("text", ["", "-1", "1.5", "1e3", " 1", "٣", None, 5, "9" * 401])
def test_what_is_no_amount_is_refused(text):
    with pytest.raises(LedgerError, match="not a number"):
        units_from(text)


def test_amounts_beyond_the_integers_of_sqlite_are_kept():
    assert units_from(str(10**40)) == 10**40
