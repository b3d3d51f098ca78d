"""Errors that noise is expected to make, against enumeration and known values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from discreet.primitives import grid_noise as error_distribution
from support.discrete_distributions import discrete_laplace


@pytest.mark.parametrize("scale", [0.2, 1.0, 7.3])
@pytest.mark.parametrize("how_many", [1, 40])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_the_simultaneous_bound_is_the_smallest_that_holds(scale, how_many, level):
    bound = error_distribution.laplace_bound(scale, how_many, level)
    z, p = discrete_laplace(scale, 600)

    def all_within(t: int) -> float:
        return float(p[np.abs(z) <= t].sum()) ** how_many

    assert all_within(bound) >= level
    assert bound == 0 or all_within(bound - 1) < level


@pytest.mark.parametrize("scale", [0.1, 1.0, 12.0])
@pytest.mark.parametrize("how_many", [1, 30])
def test_expected_errors_agree_with_enumeration(scale, how_many):
    z, p = discrete_laplace(scale, 2000)
    assert error_distribution.laplace_mean_size(scale) == pytest.approx(float((np.abs(z) * p).sum()), rel=1e-9)
    below = np.array([p[np.abs(z) <= t].sum() for t in range(1000)])
    largest = float((1 - np.minimum(1, below) ** how_many).sum())
    assert error_distribution.laplace_expected_largest(scale, how_many) == pytest.approx(largest, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("how_many", [1, 1000])
def test_the_two_ways_to_the_expected_largest_error_meet(monkeypatch, how_many):
    term_by_term = error_distribution.laplace_expected_largest(300.0, how_many)
    monkeypatch.setattr(error_distribution, "_MAX_TERMS", 0)
    assert error_distribution.laplace_expected_largest(300.0, how_many) == pytest.approx(term_by_term, rel=1e-5)


def test_gaussian_errors_agree_with_known_values():
    assert error_distribution.gaussian_bound(2.0, 1, 0.95) == pytest.approx(2 * 1.959963985, rel=1e-9)
    # all of 20: the level of each is 0.95^(1/20)
    assert error_distribution.gaussian_bound(1.0, 20, 0.95) == pytest.approx(
        stats.norm.ppf((1 + 0.95 ** (1 / 20)) / 2), rel=1e-9
    )
    # the larger of two sizes of independent normals is 2/sqrt(pi) on average
    assert error_distribution.gaussian_expected_largest(1.0, 2) == pytest.approx(2 / math.sqrt(math.pi), rel=1e-6)
