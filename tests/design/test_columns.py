"""Declared columns: what is accepted, what is refused and why."""

from __future__ import annotations

import datetime
import math

import pytest

from discreet.design.columns import Boolean, Categorical, Fill, Numeric, remedy
from discreet.design.design import Design


def test_fill_values_are_what_the_encoder_puts_in():
    assert Numeric((0, 1)).fill is None
    assert Boolean(Fill(True)).fill == 1.0
    assert Boolean("drop").fill is None
    assert Categorical(("a", "b"), missing=Fill("b")).fill == 1.0
    assert Categorical(("a", "b")).fill is None


def test_the_first_level_is_the_reference_unless_told_otherwise():
    assert Categorical(("a", "b", "c")).released("g") == ("g[b]", "g[c]")
    assert Categorical(("a", "b", "c"), "b").released("g") == ("g[a]", "g[c]")


def test_wide_bounds_do_not_lose_their_middle():
    column = Numeric((-1e300, 1e308))
    assert math.isfinite(column.mid)
    assert column.mid - column.half == pytest.approx(-1e300, abs=1e294)


def test_the_remedy_for_a_date_says_how_dates_are_written():
    day = Design("y", {"y": (0, 1), "day": (datetime.date(2020, 1, 1), datetime.date(2021, 1, 1))}).columns["day"]
    assert remedy(day).startswith("fix the table, with dates written like 2019-01-31")
