"""The notebook's two schemes: their noise, their lines, and what rows really spend."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from discreet_papers import ols_cov
from discreet_papers.neunhoeffer import neunhoeffer_lines
from discreet_papers.neunhoeffer.neunhoeffer_lines import notebook_table, sums_of_products

FALSE_ALARM = 1e-9


def test_jiang_noise_is_symmetric_laplace_of_scale_two_d_over_epsilon():
    sums = sums_of_products(*notebook_table(rows=100))
    noise = neunhoeffer_lines.jiang_noise(sums, 0.5, np.random.default_rng(1), 4000) - sums
    assert np.allclose(noise, noise.transpose(0, 2, 1))
    for i, j in ((0, 0), (0, 2), (1, 2)):
        assert stats.kstest(noise[:, i, j], stats.laplace(scale=12).cdf).pvalue > FALSE_ALARM
    # negative control: half the scale is rejected
    assert stats.kstest(noise[:, 0, 2], stats.laplace(scale=6).cdf).pvalue < FALSE_ALARM


def test_per_entry_noise_has_the_product_of_the_ranges():
    sums, ranges = np.diag([1.0, 100.0, 1.0]), np.array([4.0, 1.0, 3.0])
    noise = neunhoeffer_lines.per_entry_noise(sums, ranges, 2.0, np.random.default_rng(2), 4000) - sums
    for (i, j), product in {(0, 0): 16, (2, 0): 12, (1, 1): 1, (1, 2): 3}.items():
        assert stats.kstest(noise[:, i, j], stats.laplace(scale=0.99 * product / 2).cdf).pvalue > FALSE_ALARM


def test_many_lines_are_those_of_ols_cov():
    sums = sums_of_products(*notebook_table(rows=2000))
    noisy = neunhoeffer_lines.jiang_noise(sums, 0.05, np.random.default_rng(3), 30)
    beta, errors = neunhoeffer_lines.many_lines(noisy)
    for matrix, coefficients, found in zip(noisy, beta, errors, strict=True):
        fit = ols_cov(matrix)
        assert coefficients == pytest.approx(fit.coefficients, rel=1e-9)
        assert np.allclose(found, fit.standard_errors, rtol=1e-6, equal_nan=True)


def test_the_outlier_spends_far_more_than_is_claimed():
    assert float(neunhoeffer_lines.jiang_loss(np.array([10.0, 1.0, -4.0]), 0.1)) == pytest.approx(2.85)


def test_a_row_in_the_unit_ball_keeps_the_claim_of_the_first_scheme():
    rng = np.random.default_rng(4)
    inside = rng.normal(size=(20_000, 3))
    inside /= np.linalg.norm(inside, axis=1, keepdims=True)
    assert neunhoeffer_lines.jiang_loss(inside, 1.0).max() <= 1 / 3 + 1e-12


def test_every_entry_spends_a_whole_epsilon():
    unit, around = np.array([0.0, 1.0, 0.0]), np.array([-1.0, 1.0, -1.0])
    n = 10**9
    assert neunhoeffer_lines.per_entry_loss(unit, np.ones(3), 1.0, n) == pytest.approx(6)
    assert neunhoeffer_lines.per_entry_loss(around, np.ones(3), 1.0, n) == pytest.approx(2.75)
    low, high = np.array([100.0, 1.0, 100.0]), np.array([101.0, 1.0, 101.0])
    assert neunhoeffer_lines.per_entry_loss(low, high, 1.0, n, exchanged=True) == pytest.approx(605)
    # no row inside the box spends more than its corners
    rows = np.column_stack(
        [np.random.default_rng(5).uniform(-1, 1, (5000, 1)), np.ones(5000), np.linspace(-1, 1, 5000)]
    )
    i, j = np.triu_indices(3)
    scale = neunhoeffer_lines.per_entry_sensitivity(n, np.array([2.0, 1.0, 2.0]))[i, j]
    assert (np.abs(rows[:, i] * rows[:, j]) / scale).sum(axis=1).max() <= 2.75 + 1e-6
