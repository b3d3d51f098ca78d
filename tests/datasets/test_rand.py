"""Visits to a doctor: the target is log(1 + visits), and the bounds are what the reasons say."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.design.columns import Numeric
from support.dataset_oracle import counted_rows, loaded


def test_the_target_is_the_logarithm_of_one_more_than_the_visits() -> None:
    source = pytest.importorskip("statsmodels.datasets.randhie").load_pandas().data
    target = np.asarray(loaded("randhie").table["lmdvis"])
    back = np.expm1(target)
    np.testing.assert_allclose(back, source["mdvis"].to_numpy(dtype=float), rtol=1e-12, atol=1e-12)
    assert not np.allclose(np.exp(target), back, rtol=1e-3)


def test_the_bounds_hold_the_numbers_that_the_reasons_name() -> None:
    columns = loaded("randhie").design.columns
    bounds = {name: column.bounds for name, column in columns.items() if isinstance(column, Numeric)}
    assert math.expm1(bounds["lmdvis"][1]) > 53
    assert math.log1p(100) < bounds["lncoins"][1]
    assert math.log(1_000) < bounds["lpi"][1]
    assert math.log(1_000 / 0.25) < bounds["fmde"][1]


def test_health_is_called_by_at_most_one_word() -> None:
    rows = counted_rows(loaded("randhie"))
    words = sum(rows.X[:, rows.names.index(name)] for name in ("hlthg", "hlthf", "hlthp"))
    assert set(words.tolist()) == {0.0, 1.0}
