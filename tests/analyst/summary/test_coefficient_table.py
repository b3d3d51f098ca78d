"""The table of coefficients."""

from __future__ import annotations

import json

import pytest

from discreet.analyst.model import fit
from discreet.analyst.summary import cells, headers, plain_set, set_cells, table_columns
from discreet.releases.reference_distribution import NotEstimable
from support.other_releases import fitted_inside

REASON = "the mechanism 'steps' publishes coefficients but no sums"


def test_tables_and_json_have_null_and_the_reason():
    result = fit(fitted_inside())
    frame = result.to_frame()
    assert frame["estimate"].null_count == 0
    assert frame["std_error"].null_count == frame["low"].null_count == len(frame)
    assert all(str(reason).startswith(REASON) for reason in frame["reason"].to_pylist())
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert plain["nobs"] is None
    assert "no number of rows" in plain["nobs_reason"]
    assert not plain["nobs_public"]
    assert plain["df_resid"] is None
    assert set(plain["bse"].values()) == {None}
    assert plain["s2_reason"].startswith(REASON)
    text = " ".join(result.summary().split())
    assert "Rows: not released" in text
    assert "fitted by the mechanism 'steps'" in text
    assert "no other model can be fitted from it" in text
    assert f"Not estimable (Intercept, a, g[q], g[r], b): {REASON}" in text
    assert "nan" not in text.lower().split()
    assert "steps" in result._repr_html_()
    assert "Fit of y" in repr(result)


def test_cells_fit_their_headers_and_hold_what_the_fit_says(private):
    result = fit(private)
    assert headers(result)[0] == ""
    for name, row in zip(result.names, cells(result), strict=True):
        assert len(row) == len(headers(result))
        low, high = result.conf_int()[name]
        assert row[0] == name
        assert (float(row[1]), float(row[2])) == (
            pytest.approx(result.params[name], rel=1e-4), pytest.approx(result.bse[name], rel=1e-3),
        )  # fmt: skip
        assert (float(row[5]), float(row[6])) == (pytest.approx(low, rel=1e-3), pytest.approx(high, rel=1e-3))


def test_columns_of_the_table_are_those_of_the_arrow_table_at_the_same_level(private):
    result = fit(private)
    wide, plain = table_columns(result, 0.99), result.to_frame().to_pydict()
    assert {**plain, "reason": None} == {**table_columns(result), "reason": None}
    assert all(a < b for a, b in zip(wide["low"], plain["low"], strict=True)), "the level is used"


def test_a_set_that_is_missing_takes_both_cells():
    assert set_cells(NotEstimable("too much noise")) == ("not", "estimable")
    assert plain_set(NotEstimable("too much noise")) is None
