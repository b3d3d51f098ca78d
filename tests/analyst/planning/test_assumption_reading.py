"""Every bad assumption is refused with what was expected."""

from __future__ import annotations

from datetime import date

import pytest

from discreet.analyst.planning.assumptions import read_assumptions
from discreet.design.design import Design
from discreet.errors import SpecError
from discreet.planning import plan
from support.planned_cells import SHARES
from support.planned_tables import BUDGET, DESIGN

DATED = Design("y", {
    "y": (0, 9), "d": {"bounds": (date(2019, 1, 1), date(2024, 12, 31))}, "g": ["a", "b", "c"], "h": ["u", "v"],
    "dg": {"formula": "d:g"}, "gh": {"formula": "g:h"},
})  # fmt: skip

BAD = [
    ({"assume": [1]}, "expected a mapping from columns to assumptions for assume"),
    ({"assume": {"nobody": {"mean": 1}}}, "unknown column 'nobody'"),
    ({"assume": {"a": 40}}, "column 'a': expected a mapping with mean and sd and slope"),
    ({"assume": {"a": {"share": 0.3}}}, "column 'a': unknown assumption 'share'; allowed: mean, sd, slope"),
    ({"assume": {"a": {"mean": 100}}}, r"the mean must be a number inside the bounds \[0, 100\], got 100"),
    ({"assume": {"a": {"mean": "x"}}}, "the mean must be a number .*, got 'x'"),
    ({"assume": {"a": {"mean": float("nan")}}}, "the mean must be a number .*, got nan"),
    ({"assume": {"a": {"sd": 0}}}, "expected a number above 0 and at most 50 for the sd, .* got 0"),
    ({"assume": {"a": {"sd": None}}}, "for the sd, the largest sd with mean .* got None"),
    ({"assume": {"a": {"mean": 10, "sd": 31}}}, "at most 30 for the sd, the largest sd with mean 10"),
    ({"assume": {"a": {"slope": "x"}}}, "expected a finite number for the slope, got 'x'"),
    ({"assume": {"t": {"share": 0}}}, "expected a number between 0 and 1 for the share of true values, got 0"),
    ({"assume": {"t": {"share": True}}}, "for the share of true values, got True"),
    ({"assume": {"t": {"mean": 0.5}}}, "unknown assumption 'mean'; allowed: share, slope"),
    ({"assume": {"g": {"share": 0.2}}}, "expected a share for each level, got 0.2"),
    ({"assume": {"g": {"share": {"z": 0.2}}}}, "column 'g': unknown level 'z'"),
    ({"assume": {"g": {"share": SHARES | {"a": 1.5}}}}, "for the share of 'a', got 1.5"),
    ({"assume": {"g": {"share": {"a": 0.5, "b": 0.5}}}}, "no share is stated for c, d, e"),
    ({"assume": {"g": {"share": SHARES | {"a": 0.6}}}}, "expected shares that add up to 1, got a sum of 1.05"),
    ({"assume": {"g": {"slope": 2.0}}}, "expected a slope for each of b, c, d, e, got 2.0"),
    ({"assume": {"g": {"slope": {"a": 2.0}}}}, "unknown level 'a'; allowed: b, c, d, e"),
    ({"assume": {"g": {"slope": {"b": 2.0}}}}, "no slope is stated for c, d, e"),
    ({"assume": {"a2": {"mean": 3}}}, "column 'a2': a formula computes this column; unknown assumption 'mean'"),
    ({"assume": {"curve": {"slope": 3}}}, "column 'curve': a formula computes this column"),
    ({"assume": {"y": {"slope": 3}}}, "column 'y': unknown assumption 'slope'; allowed: mean, sd"),
    ({"spread": 0}, "expected a number above 0 and at most 1 for spread, got 0"),
    ({"target_spread": 1.5}, "at most 1 for target_spread, got 1.5"),
    ({"rsquared": 1}, "expected a number from 0 to below 1 for rsquared, got 1"),
    ({"rows": 0.5}, "expected a number from 1 to .* for rows, got 0.5"),
]  # fmt: skip


@pytest.mark.parametrize(("bad", "message"), BAD, ids=str)
def test_what_no_table_can_be_is_refused(bad, message):
    with pytest.raises(SpecError, match=message):
        plan(DESIGN, **({"rows": 1000, **BUDGET} | bad))


def test_what_is_left_out_is_a_column_that_fills_its_bounds_evenly():
    read = read_assumptions(DESIGN, 1000)
    assert (read.rows, read.rsquared, read.stated) == (1000.0, 0.5, ())
    number = read.supposed["b"]
    assert (number.mean, number.sd) == (100.0, pytest.approx(200 / 12**0.5))
    assert number.sd != pytest.approx(100.0)
    assert read.supposed["t"].share == 0.5
    assert dict(read.supposed["g"].shares) == pytest.approx(dict.fromkeys("abcde", 0.2))
    assert read.supposed["a2"].computed


def test_written_shares_that_miss_1_by_a_rounding_are_made_to_add_up():
    written = {"a": 0.333, "b": 0.333, "c": 0.333, "d": 0.0005, "e": 0.0005}
    shares = dict(read_assumptions(DESIGN, 1000, assume={"g": {"share": written | {"a": 0.334}}}).supposed["g"].shares)
    assert sum(shares.values()) == pytest.approx(1.0, abs=1e-15)
    read = dict(read_assumptions(DESIGN, 1000, assume={"g": {"share": written | {"a": 0.33}}}).supposed["g"].shares)
    assert sum(read.values()) == pytest.approx(1.0, abs=1e-15)
    assert read["b"] == pytest.approx(0.333 / 0.997)


def test_the_mean_of_dates_is_a_date():
    texts = [
        str(read_assumptions(DATED, 100, assume=assume).supposed["d"])
        for assume in ({"d": {"mean": date(2020, 2, 29)}}, {"d": {"mean": "2020-02-29", "sd": 100}}, {})
    ]
    assert texts[0].startswith("mean 2020-02-29, sd ")
    assert texts[1] == "mean 2020-02-29, sd 100 days"
    assert texts[2].startswith("mean 2021-12-31 (default), sd ")


@pytest.mark.parametrize(("assume", "said"), [
    ({"d": {"mean": "2018-01-01"}}, r"a date inside the bounds \[2019-01-01, 2024-12-31\], got '2018-01-01'"),
    ({"d": {"mean": "soon"}}, "must be a date inside the bounds"),
    ({"d": {"sd": 1e6}}, r"at most 1095.5 days .* mean 2021-12-31 inside the bounds \[2019-01-01, 2024-12-31\]"),
    ({"dg": {"slope": 2}}, "column 'dg': expected a slope for each of b, c, got 2"),
    ({"dg": {"slope": {"a": 2}}}, "column 'dg': unknown level 'a'; allowed: b, c"),
    ({"gh": {"slope": {"b,v": 2}}}, "column 'gh': no slope is stated for c,v; state a slope for every level"),
    ({"dg[b]": {"slope": 2}}, r"got 'dg\[b\]', a single coefficient of 'dg'; state the values of all levels"),
    ({"dg": {"mean": 2}}, "column 'dg': a formula computes this column; unknown assumption 'mean'; allowed: slope"),
])  # fmt: skip
def test_what_cannot_be_stated_of_dates_and_interactions(assume, said):
    with pytest.raises(SpecError, match=said):
        read_assumptions(DATED, 100, assume=assume)
