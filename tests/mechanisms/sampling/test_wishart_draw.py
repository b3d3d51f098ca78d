"""Wishart matrices, rounded entry by entry: their distribution, with wrong degrees rejected."""

from __future__ import annotations

import numpy as np
from scipy import stats

from discreet.mechanisms.sampler import ExactSampler
from discreet.mechanisms.wishart import wishart_noise
from discreet.testing.not_private import SeededSampler


def test_diagonal_entries_are_chi_square_and_others_uncorrelated_with_them():
    """1,500 draws of two columns, Kolmogorov-Smirnov at false alarm 1e-9; seven degrees for nine are rejected."""
    drawn = np.array([wishart_noise([1000, 3000], 9, ExactSampler()) for _ in range(1500)], dtype=float)
    first, cross, last = drawn.T / np.array([[1e6], [3e6], [9e6]])
    for values in (first, last):
        assert stats.kstest(values, stats.chi2(9).cdf).pvalue > 1e-9
        assert stats.kstest(values, stats.chi2(7).cdf).pvalue < 1e-9
    # the product has variance 9; the relative error of its estimate has sd 0.06
    assert 9 * 0.6 < cross.var() < 9 * 1.5
    assert abs(np.corrcoef(first, cross)[0, 1]) < 6.2 / 1500**0.5


def test_with_its_mean_it_is_positive_definite():
    for seed in range(20):
        a, b, c = wishart_noise([1000, 10], 5, SeededSampler(seed))
        assert a > 0 < c
        assert a * c > b * b
