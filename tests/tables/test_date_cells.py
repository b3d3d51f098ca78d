"""Dates and codes in every container: the same days, each cell read by itself, odd ones by the rule of the column."""

from __future__ import annotations

import datetime as dt

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet
from discreet.design.columns import Categorical, Numeric
from discreet.errors import DataError
from discreet.tables.arrow import declared_array, missing_cells
from discreet.tables.cells import MARK_DAY, cell_array, days_of
from discreet.testing import exact_release
from support.odd_cells import ODD_CELLS, Evil

SPAN = (dt.date(2019, 1, 1), dt.date(2024, 12, 31))
DAYS = [dt.date(2018, 12, 31), dt.date(2019, 1, 1), dt.date(2020, 2, 29), dt.date(1900, 1, 1), dt.date(2031, 5, 6)]
UTC = dt.UTC
FIRST, LAST = -719_162, 2_932_896


def design(rule: object = "drop") -> discreet.Design:
    columns = {
        "y": (0, 9), "d": {"bounds": SPAN, "missing": rule, "missing_codes": [dt.date(1900, 1, 1)]},
        "m": {"formula": "month(d)"}, "w": {"formula": "weekday(d)"},
        "x": {"bounds": (0, 120), "missing": rule if rule == "drop" else {"fill": 3}, "missing_codes": [-9, 99]},
        "g": {"levels": ["a", "b"], "missing": rule if rule == "drop" else {"fill": "b"}, "missing_codes": ["refused"]},
    }  # fmt: skip
    return discreet.Design("y", columns)


def at(hour: int) -> list[dt.datetime]:
    return [dt.datetime(day.year, day.month, day.day, hour, 59) for day in DAYS]


CONTAINERS = {
    "dates": DAYS,
    "times": at(23),
    "text": [day.isoformat() for day in DAYS],
    "text with times": [f"{day}T23:59:59.9" for day in DAYS],
    "NumPy scalars": list(np.array(DAYS, "datetime64[D]")),
    "pandas times": [pd.Timestamp(time) for time in at(1)],
    "array of days": np.array(DAYS, "datetime64[D]"),
    "array of hours": np.array(at(23), "datetime64[h]"),
    "array of nanoseconds": np.array(at(23), "datetime64[ns]"),
    "array of big-endian seconds": np.array(at(23), ">M8[s]"),
    "array of text": np.array([day.isoformat() for day in DAYS]),
    "array of objects": np.array(DAYS, dtype=object),
    "series of times": pd.Series(pd.to_datetime(at(12))),
    "series of objects": pd.Series(DAYS, dtype=object),
    "series of text": pd.Series([day.isoformat() for day in DAYS]),
    "categories": pd.Series(DAYS, dtype="category"),
    "Arrow days": pa.array(DAYS),
    "Arrow milliseconds": pa.array(DAYS, pa.date64()),
    "Arrow times": pa.array(at(23), pa.timestamp("us")),
    "Arrow text": pa.array([day.isoformat() for day in DAYS], pa.large_string()),
    "Arrow dictionary": pa.array([day.isoformat() for day in DAYS]).dictionary_encode(),
    "polars days": pl.Series(DAYS),
    "polars times": pl.Series(at(23)),
}


@pytest.mark.parametrize("kind", CONTAINERS)
def test_every_container_gives_the_same_days(kind):
    rows = {"y": [1.0, 2.0, 3.0, 4.0, 5.0], "x": [1, 2, -9, 4, 5], "g": ["a", "b", "b", "a", "refused"]}
    found = exact_release({**rows, "d": CONTAINERS[kind]}, design({"fill": dt.date(2020, 1, 1)}))
    wanted = exact_release({**rows, "d": DAYS}, design({"fill": dt.date(2020, 1, 1)}))
    assert found.totals == wanted.totals
    assert found.moments[0, 0] == 5
    assert exact_release({**rows, "d": CONTAINERS[kind]}, design()).moments[0, 0] == 2


def test_files_and_queries_give_the_same_days(tmp_path):
    frame = pd.DataFrame({"y": [1.0, 2.0, 3.0, 4.0, 5.0], "x": [1, 2, -9, 99, 5], "g": list("abbab"), "d": DAYS})
    wanted = exact_release(frame, design()).totals
    frame.to_csv(tmp_path / "t.csv", index=False)
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "t.parquet")
    times = pa.Table.from_pandas(frame.assign(d=pd.to_datetime(frame.d)))
    for data in (
        tmp_path / "t.csv",
        tmp_path / "t.parquet",
        times,
        duckdb.sql("SELECT y, x, g, d::DATE AS d FROM frame"),
    ):
        assert exact_release(data, design()).totals == wanted


ODD_DATES = {
    "none": None, "NaN": float("nan"), "NaT": pd.NaT, "NumPy NaT": np.datetime64("NaT"), "another": "2020-02-30",
    "zoned text": "2020-02-03T10:00Z", "zoned time": dt.datetime(2020, 1, 1, tzinfo=UTC),
    "zoned pandas": pd.Timestamp("2020-01-01", tz="UTC"), "year": np.datetime64(10**15, "Y"),
    "week": np.datetime64(2**62, "W"), "a time of day": dt.time(3), "a duration": dt.timedelta(3), "evil": Evil(),
    "number": 18_000, "last": np.datetime64(2**62, "s"), "code": dt.date(1900, 1, 1), "code as text": "1900-01-01",
}  # fmt: skip
MISSING = ("none", "NaN", "NaT", "NumPy NaT", "code", "code as text")


NO_DATES = [cell for name, cell in {**ODD_CELLS, **ODD_DATES}.items() if "date" not in name]


@pytest.mark.parametrize("filled", [None, dt.date(2021, 7, 1)])
def test_odd_cells_follow_the_rule_and_change_no_other(filled):
    """The sums of a table are those of its parts: a row with an odd cell adds nothing, or what its fill value adds."""
    rule = "drop" if filled is None else {"fill": filled}
    good = {"y": [1.0, 2.0, 4.0], "x": [1, 2, 3], "g": ["a", "b", "b"], "d": [DAYS[1], "2020-02-29", DAYS[4]]}
    times = len(NO_DATES)
    odd = {"y": [5.0] * times, "x": [7] * times, "g": ["a"] * times, "d": NO_DATES}
    mixed = {name: [*good[name][:1], *odd[name], *good[name][1:]] for name in good}
    alone = exact_release(good, design(rule)).totals
    row = {name: [filled if name == "d" else cells[0]] for name, cells in odd.items()}
    added = exact_release(row, design(rule)).totals if filled else (0,) * len(alone)
    wanted = tuple(a + times * b for a, b in zip(alone, added, strict=True))
    assert times > 40
    assert exact_release(mixed, design(rule)).totals == wanted


def test_a_check_tells_codes_and_missing_cells_from_bad_ones():
    cells = list(ODD_DATES.values())
    rows = len(cells)
    table = {"y": [1.0] * rows, "x": [99.0, float("nan"), "x"] + [1.0] * (rows - 3), "d": cells}
    table["g"] = ["refused", "z", None] + ["a"] * (rows - 3)
    found = discreet.check(table, design())
    assert found.column("d").missing.count == len(MISSING)
    assert found.column("d").not_a_number.count == rows - len(MISSING)
    assert (found.column("x").missing.count, found.column("x").not_a_number.count) == (2, 1)
    assert (found.column("g").missing.count, found.column("g").no_declared_level.count) == (2, 1)


@pytest.mark.parametrize("cells", [
    pa.array(at(3), pa.timestamp("us", tz="UTC")), pd.Series(pd.to_datetime(at(3))).dt.tz_localize("UTC"),
    pl.Series(at(3)).dt.replace_time_zone("UTC"), np.arange(5), np.arange(5.0),
    pa.array([1, 2, 3, 4, 5], pa.time32("s")), np.array([b"2020-01-01"] * 5),
])  # fmt: skip
def test_types_that_are_no_dates_are_refused_whatever_the_rule(cells):
    rows = {"y": [1.0] * 5, "x": [1] * 5, "g": ["a"] * 5, "d": cells}
    with pytest.raises(DataError, match=r"column 'd' must contain dates, as declared, but has type"):
        exact_release(rows, design())
    with pytest.raises(DataError, match=r"column 'd' must contain dates, as declared, but has type"):
        exact_release({key: values[:0] for key, values in rows.items()}, design())


def test_dates_are_refused_where_numbers_are_declared():
    plain = discreet.Design("y", {"y": (0, 9), "d": {"bounds": (0, 30_000), "missing": "drop"}})
    with pytest.raises(DataError, match="must contain numbers, as declared"):
        exact_release({"y": [1.0] * 5, "d": np.array(DAYS, "M8[D]")}, plain)
    assert exact_release({"y": [1.0] * 5, "d": DAYS}, plain).moments[0, 0] == 0


def test_days_outside_the_calendar_are_marked_and_masked_ones_are_missing():
    stamps = np.array([-(2**31), FIRST - 1, FIRST, 0, LAST, LAST + 1, 2**31 - 1], "i4")
    found = declared_array("d", Numeric(SPAN), pa.array(stamps).cast(pa.date32()))
    assert np.isnan(found).tolist() == [True, True, False, False, False, True, True]
    masked = np.ma.MaskedArray(np.array(["2020-01-01", "2020-01-02"], "M8[D]"), mask=[False, True])
    table = {"y": [1.0, 2.0], "x": [1, 1], "g": ["a", "a"], "d": masked}
    assert exact_release(table, design()).moments[0, 0] == 1
    assert days_of(np.array(["NaT", "NaT"], "datetime64")).null_count == 2
    assert cell_array(Numeric(SPAN, "mark"), ["x", None]).cast(pa.int32()).to_pylist() == [MARK_DAY, None]


def test_text_days_are_those_of_the_calendar_in_bulk():
    every = [dt.date(1999, 12, 28) + dt.timedelta(step) for step in range(800)]
    text = pa.array([day.isoformat() for day in every])
    found = declared_array("d", Numeric(SPAN), text)
    assert found.tolist() == [(day - dt.date(1970, 1, 1)).days for day in every]
    wrong = pa.array(["2001-02-29", "2000-04-31", "2000-12-32", "2000-00-01", "0000-01-01", "x", None, "2000-01-00"])
    assert np.isnan(declared_array("d", Numeric(SPAN), wrong)).all()


def test_codes_of_levels_that_are_integers_and_in_dictionaries():
    column = Categorical((1, 2), missing_codes=(-9,))
    cells = pa.array([1, -9, None, 5])
    assert missing_cells(column, cells).tolist() == [False, True, True, False]
    words = Categorical(("a", "b"), missing_codes=("no",))
    coded = pa.array(["a", "no", None, "z"]).dictionary_encode()
    assert missing_cells(words, coded).tolist() == [False, True, True, False]
    numbers = pa.array([1.0, 99.0, None, 2.0]).dictionary_encode()
    assert missing_cells(Numeric((0, 9), missing_codes=(99,)), numbers).tolist() == [False, True, True, False]


@pytest.mark.parametrize(("declared", "said"), [
    ({"bounds": [0, 9], "missing_codes": 5}, "expected a list such as"),
    ({"bounds": [0, 9], "missing_codes": ["x"]}, "missing_codes: expected numbers, got 'x'"),
    ({"bounds": [0, 9], "missing_codes": [float("nan")]}, "missing_codes: expected numbers"),
    ({"bounds": [0, 9], "missing_codes": [True]}, "missing_codes: expected numbers"),
    ({"levels": ["a", "b"], "missing_codes": ["a"]}, "missing_codes: 'a' is also a level"),
    ({"levels": ["a", "b"], "missing_codes": [9]}, "missing_codes: expected text like the levels, got 9"),
    ({"levels": [1, 2], "missing_codes": ["9"]}, "missing_codes: expected integers like the levels, got '9'"),
    ({"dtype": "bool", "missing_codes": [9]}, "'missing_codes' is allowed for numbers, dates and levels"),
    ({"formula": "y + 1", "missing_codes": [9]}, "'missing_codes' is not allowed with a formula"),
])  # fmt: skip
def test_codes_that_make_no_sense_are_refused(declared, said):
    with pytest.raises(discreet.DesignError) as caught:
        discreet.Design("y", {"y": (0, 1), "x": (0, 1), "c": declared})
    assert said in str(caught.value)
    assert [problem.key for problem in caught.value.problems] == ["missing_codes"]


@pytest.mark.parametrize(
    ("unit", "days"),
    [("ps", [0, -1, 106, -107, None]), ("as", [0, -1, 0, -1, None]), ("1000000ps", [0, -1, MARK_DAY, MARK_DAY, None])],
)
def test_units_below_nanoseconds_are_days_too(unit, days):
    steps = np.array([0, -1, 2**63 - 1, 1 - 2**63, -(2**63)]).view(f"datetime64[{unit}]")
    assert days_of(steps).to_pylist() == days


@pytest.mark.parametrize("year", ["12000", "-5000"])
def test_a_time_of_pandas_outside_the_years_of_dates_is_no_date(year):
    beyond = pd.Timestamp(np.datetime64(f"{year}-01-01", "s"))
    column = Numeric((dt.date(1960, 1, 1), dt.date(2030, 1, 1)), "drop")
    assert cell_array(column, [beyond, pd.Timestamp("2020-01-01")]).is_valid().to_pylist() == [False, True]
