"""Simulated tables of the note: inside the unit ball, with the variance that the likelihood takes."""

from __future__ import annotations

import numpy as np
import pytest

from discreet_papers.park.park_algorithm import simulated


def test_rows_and_targets_have_largest_norm_one_over_training_and_test_rows():
    table = simulated(500, np.random.default_rng(1))
    norms = np.linalg.norm(np.vstack([table.x, table.test_x]), axis=1)
    assert norms.max() == pytest.approx(1.0)
    assert np.abs(np.concatenate([table.y, table.test_y])).max() == 1.0
    assert table.test_x.shape == (50, 10)


def test_the_stated_variance_is_that_of_least_squares_residuals():
    """20,000 residuals: the relative error of a variance has sd 0.01, so six of them fail once in 5e8."""
    table = simulated(20_000, np.random.default_rng(2))
    theta = np.linalg.lstsq(table.x, table.y, rcond=None)[0]
    residual = table.y - table.x @ theta
    assert float(residual @ residual) / (20_000 - 10) == pytest.approx(table.variance, rel=0.06)


def test_the_likelihood_is_the_normal_log_density_of_a_test_point():
    from scipy import stats

    table = simulated(100, np.random.default_rng(3))
    predicted = np.zeros(10)
    expected = stats.norm.logpdf(table.test_y, predicted, np.sqrt(table.variance)).mean()
    assert table.log_likelihood(predicted) == pytest.approx(expected)
