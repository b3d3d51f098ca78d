"""Records that other libraries take as they are."""

from __future__ import annotations

import io
import math
import sys

import pandas as pd
import polars as pl
import pytest

from discreet.analyst.tables.tidy import Records
from discreet.errors import ModelError, SpecError

ROWS = (
    {"term": "=a", "estimate": 1 / 3, "conf.low": -math.inf, "private": True, "reason": None},
    {"term": "b", "estimate": None, "conf.low": math.inf, "private": False, "reason": "too much noise"},
)
MADE = Records("of y", ROWS, ("A note.",))


def test_they_are_a_sequence_of_mappings():
    assert len(MADE) == 2
    assert MADE[1]["reason"] == "too much noise"
    assert [row["term"] for row in MADE[:1]] == ["=a"]
    with pytest.raises(SpecError, match="unknown column 'term2'"):
        MADE.column("term2")


def test_data_frames_are_made_of_them():
    frame = MADE.to_pandas()
    assert frame["estimate"].isna().tolist() == [False, True]
    assert frame["conf.low"].tolist() == [-math.inf, math.inf]
    assert frame.attrs["notes"] == ["A note."]
    assert list(pd.DataFrame(MADE)["term"]) == ["=a", "b"]
    assert pl.DataFrame(MADE.rows)["term"].to_list() == ["=a", "b"]
    assert MADE.to_frame().num_rows == 2


def test_the_csv_has_all_digits_and_no_formula():
    frame = pd.read_csv(io.StringIO(MADE.to_csv()))
    assert frame["estimate"][0] == 1 / 3
    assert frame["conf.low"].tolist() == [-math.inf, math.inf]
    assert frame["term"][0] == "'=a"


def test_in_print_there_is_no_number_that_is_not_there():
    text = repr(MADE)
    assert "nan" not in text.lower()
    assert "too much noise" in text
    assert "-∞" in text
    assert "0.3333" in MADE._repr_html_()


def test_without_pandas_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ModelError, match="pip install pandas") as caught:
        MADE.to_pandas()
    assert caught.value.code == "missing-dependency"
