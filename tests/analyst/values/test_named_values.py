"""Named values are a small read-only mapping that converts to NumPy, pandas and polars."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

from discreet.analyst.confidence_sets import ConfidenceSet, NotEstimableError
from discreet.analyst.values import NamedValues, Parameters
from discreet.errors import ModelError
from discreet.releases.reference_distribution import NotEstimable

REASON = NotEstimable("too much noise")
NAMES = ["Intercept", "age", "height", "region[south]"]
NUMBERS = [0.25, -1.0, 3.0, 0.0]
FULL = NamedValues(NAMES, NUMBERS)
HOLED = NamedValues(NAMES, [0.25, REASON, 3.0, 0.0])
SETS = NamedValues(["a", "b", "c"], [ConfidenceSet("interval", 1.0, 2.0), REASON, ConfidenceSet("everything")])


def test_it_is_a_read_only_mapping():
    assert dict(FULL) == dict(zip(NAMES, NUMBERS, strict=True))
    assert dict(NamedValues(NAMES[::-1], NUMBERS[::-1])) == FULL
    assert FULL != {"age": -1.0}
    assert (len(FULL), list(FULL), "age" in FULL, FULL.get("x")) == (4, NAMES, True, None)
    with pytest.raises(TypeError):
        FULL["age"] = 2.0


@pytest.mark.parametrize("wrong", ["agee", 3, None, ["age"]])
def test_an_unknown_name_is_refused_with_the_nearest(wrong):
    with pytest.raises(KeyError, match="unknown coefficient"):
        FULL[wrong]
    with pytest.raises(KeyError, match="Did you mean 'age'"):
        FULL["agee"]


def test_numpy_gets_numbers_only_if_all_are_estimable():
    np.testing.assert_array_equal(np.asarray(FULL), NUMBERS)
    np.testing.assert_array_equal(np.exp(FULL.to_numpy()), np.exp(NUMBERS))
    for read in (np.asarray, NamedValues.to_numpy):
        with pytest.raises(NotEstimableError, match="age"):
            read(HOLED)


def test_pandas_gets_a_series_with_missing_values():
    pd.testing.assert_series_equal(FULL.to_pandas(), pd.Series(NUMBERS, index=pd.Index(NAMES, name="name")))
    series = HOLED.to_pandas()
    assert series.isna().tolist() == [False, True, False, False]
    assert series.dtype == np.float64
    assert NamedValues(["a"], [REASON]).to_pandas().isna().all()


def test_sets_become_frames_with_kind_and_ends():
    frame = SETS.to_pandas()
    assert list(frame.columns) == ["kind", "lower", "upper"]
    assert frame.loc["a"].tolist() == ["interval", 1.0, 2.0]
    assert frame.loc["b"].isna().all()
    assert frame.loc["c"].tolist() == ["everything", -np.inf, np.inf]
    assert SETS.to_polars().columns == ["name", "kind", "lower", "upper"]
    assert SETS.to_dict()["a"] == {"kind": "interval", "lower": 1.0, "upper": 2.0}
    assert SETS.to_dict()["b"] is None


def test_polars_gets_names_and_values():
    frame = HOLED.to_polars()
    assert isinstance(frame, pl.DataFrame)
    assert frame.to_dict(as_series=False) == {"name": NAMES, "value": [0.25, None, 3.0, 0.0]}


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_library_that_is_not_installed_is_named(monkeypatch, library):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ModelError, match=f"needs '{library}'.*pip install {library}") as caught:
        getattr(FULL, f"to_{library}")()
    assert caught.value.code == "missing-dependency"


def test_text_and_html_have_every_name_and_reason():
    assert repr(HOLED).splitlines()[1] == "age            not estimable: too much noise"
    assert "region[south]" in HOLED._repr_html_()
    assert "&lt;b&gt;" in NamedValues(["<b>"], [1.0])._repr_html_()
    assert repr(NamedValues([], [])) == ""


def test_weak_coefficients_print_in_brackets():
    values = Parameters(["a", "b"], [1.5, 3.14159], weak=["b"])
    assert repr(values) == "a    1.5\nb  [3.1]"
    assert "[3.1]" in values._repr_html_()
