"""Dates in designs: bounds, fill values and codes as days, and years, months and weekdays by formula."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest

from discreet.design.dates import (
    FIRST_DAY,
    LAST_DAY,
    date_text,
    day_of,
    day_of_text,
    months_between,
    weekdays_between,
)
from discreet.design.design import Design
from discreet.errors import DesignError

SPAN = [dt.date(2019, 1, 1), dt.date(2024, 12, 31)]


def made(**columns: object) -> Design:
    return Design("y", {"y": (0, 1), **columns})


def test_days_are_those_of_numpy_from_the_first_year_to_the_last():
    for text in ("0001-01-01", "1582-10-15", "1899-12-31", "1970-01-01", "2000-02-29", "2024-12-31", "9999-12-31"):
        assert day_of_text(text) == int(np.datetime64(text, "D").astype(int))
        assert date_text(float(day_of_text(text))) == text
    assert (day_of_text("0001-01-01"), day_of_text("9999-12-31")) == (FIRST_DAY, LAST_DAY)


@pytest.mark.parametrize("text", [
    "", "2020", "2020-1-1", "20200101", "2020-02-30", "2021-02-29", "2020-13-01", "2020-00-10", "2020-01-00",
    "0000-01-01", "-2020-01-01", "+2020-01-01", "2020-01-01Z", "2020-01-01T10:00Z", "2020-01-01T10:00+01:00",
    "2020-01-01T24:00", "2020-01-01T10", "2020-01-01T10:61", " 2020-01-01", "2020-01-01 ", "2020-01-01\n",
    "2020/01/01", "1.1.2020", "٢٠٢٠-٠١-٠١", "2020-W01-1", "2020-001",
])  # fmt: skip
def test_text_that_is_no_date_of_iso_8601_has_no_day(text):
    assert day_of_text(text) is None


def test_a_pair_of_dates_is_bounds_in_every_form():
    short, table = made(d=SPAN), made(d={"bounds": tuple(SPAN)})
    texts = made(d={"bounds": ["2019-01-01", "2024-12-31"]})
    array = made(d=np.array(SPAN, "datetime64[D]"))
    toml = Design.from_toml('target = "y"\n[columns]\ny = {bounds = [0, 1]}\nd = {bounds = [2019-01-01, 2024-12-31]}\n')
    assert short == table == texts == array == toml
    assert short.columns["d"].bounds == (17897.0, 20088.0)
    assert short != made(d=(17897, 20088))


def test_a_design_with_dates_reads_back_from_toml_and_json():
    design = made(d={"bounds": SPAN, "missing": {"fill": dt.date(2020, 1, 1)}, "missing_codes": [dt.date(1900, 1, 1)]})
    assert Design.from_toml(design.to_toml()) == design
    assert Design.from_dict(design.to_dict()) == design
    assert "bounds = [2019-01-01, 2024-12-31]" in design.to_toml()
    assert design.to_dict()["columns"]["d"]["missing"] == {"fill": "2020-01-01"}
    assert design.columns["d"].fill == day_of(dt.date(2020, 1, 1))


@pytest.mark.parametrize(("declared", "key", "said"), [
    ({"bounds": SPAN[::-1]}, "bounds", r"bounds \[2024-12-31, 2019-01-01\] are reversed"),
    ({"bounds": [SPAN[0], SPAN[0]]}, "bounds", r"bounds \[2019-01-01, 2019-01-01\] are equal"),
    ({"bounds": [SPAN[0], 5]}, "bounds", "expected a date such as 2019-01-31, without a time, got 5"),
    ({"bounds": [dt.datetime(2019, 1, 1), SPAN[1]]}, "bounds", "expected a date such as 2019-01-31, without a time"),
    ({"bounds": ["2019-01-01", "soon"]}, "bounds", "expected a pair of numbers"),
    ({"bounds": SPAN, "missing": {"fill": dt.date(2030, 1, 1)}}, "missing",
     "fill value must be a date inside .*, got 2030-01-01"),
    ({"bounds": SPAN, "missing": {"fill": "soon"}}, "missing", "missing: expected a date such as 2019-01-31"),
    ({"bounds": SPAN, "missing": {"fill": 3}}, "missing", "missing: expected a date such as 2019-01-31"),
    ({"bounds": SPAN, "missing_codes": [-9]}, "missing_codes", "expected dates such as 1900-01-01"),
    ({"bounds": SPAN, "missing_codes": ["x"]}, "missing_codes", "expected a date such as"),
    ({"bounds": "private", "within": SPAN}, "within", "expected a pair of numbers"),
    ({"bounds": (0, 9), "missing": {"fill": SPAN[0]}}, "missing", "must be a number inside the bounds"),
])  # fmt: skip
def test_dates_that_make_no_sense_are_refused_where_they_are_written(declared, key, said):
    with pytest.raises(DesignError, match=said) as caught:
        made(d=declared)
    assert [problem.key for problem in caught.value.problems] == [key]


def test_year_is_a_number_and_month_and_weekday_are_levels():
    design = made(
        d=SPAN, y2={"formula": "year(d) - 2000"}, m={"formula": "month(d)", "reference": "Mar"},
        w={"formula": "weekday(d)"}, weekend={"formula": 'w == "Sat" or w == "Sun"'},
        late={"formula": "year(d) >= 2022"},
    )  # fmt: skip
    assert design.columns["y2"].bounds == (19.0, 24.0)
    assert design.columns["m"].reference == "Mar"
    assert design.columns["w"].levels == ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
    days = [dt.date(2019, 1, 1) + dt.timedelta(step) for step in range(0, 2192, 13)]
    values = {"d": np.array([float(day_of(day)) for day in days])}
    found = {name: design.columns[name].formula.evaluate(values).tolist() for name in ("y2", "m", "w", "late")}
    assert found["y2"] == [day.year - 2000 for day in days]
    assert found["m"] == [day.month - 1 for day in days]
    assert found["w"] == [day.weekday() for day in days]
    assert found["late"] == [day.year >= 2022 for day in days]
    weekend = design.columns["weekend"].formula.evaluate({"w": np.array(found["w"])})
    assert weekend.tolist() == [day.weekday() >= 5 for day in days]


def test_only_levels_that_the_bounds_allow_have_columns():
    design = made(
        d=[dt.date(2019, 11, 5), dt.date(2020, 2, 1)], m={"formula": "month(d)"},
        e=[dt.date(2020, 1, 3), dt.date(2020, 1, 6)], w={"formula": "weekday(e)"},
    )  # fmt: skip
    assert design.columns["m"].levels == ("Jan", "Feb", "Nov", "Dec")
    assert design.columns["w"].levels == ("Mon", "Fri", "Sat", "Sun")
    days = [dt.date(2019, 11, 5), dt.date(2019, 12, 31), dt.date(2020, 1, 1), dt.date(2020, 2, 1)]
    codes = design.columns["m"].formula.evaluate({"d": np.array([float(day_of(day)) for day in days])})
    assert [design.columns["m"].levels[int(code)] for code in codes] == ["Nov", "Dec", "Jan", "Feb"]
    assert Design.from_toml(design.to_toml()) == design


@pytest.mark.parametrize("first", ["2019-01-31", "2020-02-29", "2023-12-01"])
@pytest.mark.parametrize("length", [1, 3, 6, 7, 40, 330, 366, 800])
def test_reachable_months_and_weekdays_are_those_of_the_days_between(first, length):
    start = dt.date.fromisoformat(first)
    days = [start + dt.timedelta(step) for step in range(length + 1)]
    ends = day_of(days[0]), day_of(days[-1])
    assert months_between(*ends) == tuple(sorted({day.month - 1 for day in days}))
    assert weekdays_between(*ends) == tuple(sorted({day.weekday() for day in days}))


@pytest.mark.parametrize(("formula", "said"), [
    ("year(x)", "unknown column of dates 'x'; allowed: d"),
    ("year(nothing)", "unknown column of dates 'nothing'"),
    ("year(d + 1)", "requires the name of a date column as its argument"),
    ("month(d) + 1", "has levels and cannot be part of an expression"),
    ("log(weekday(d))", "has levels and cannot be part of an expression"),
    ("month(d", "close the round bracket of month"),
    ("day(d)", "unknown function 'day'"),
    ("m + 1", "'m' is a formula with levels, not a number"),
    ('m == "January"', "unknown level of 'm' 'January'; allowed: Jan, Feb"),
])  # fmt: skip
def test_bad_uses_of_dates_in_formulas_are_refused(formula, said):
    with pytest.raises(DesignError, match="column 'c'") as caught:
        made(d=SPAN, x=(0, 9), m={"formula": "month(d)"}, c={"formula": formula})
    assert said in str(caught.value)


def test_a_column_may_be_called_like_a_function_of_dates():
    design = made(
        year=(1990, 2030), month=[1, 2, 3], since={"formula": "year - 2000"}, d=SPAN, w={"formula": "year(d)"}
    )
    assert design.columns["since"].bounds == (-10.0, 30.0)
    assert design.columns["w"].bounds == (2019.0, 2024.0)
