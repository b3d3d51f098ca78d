"""Algorithm 1 as written: its sums, its noise, and what it converges to without noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from discreet_papers.park.park_algorithm import (
    Noise,
    first_noise,
    reweighted,
    simulated,
    weighted_moments,
    weights,
    wishart_noise,
)


def plain_moments(x, y, cap, theta):
    weight = 1 / np.maximum(1 / cap, np.abs(y - x @ theta))
    return x.T @ (weight[:, None] * x) / len(x), x.T @ (weight * y) / len(x)


def test_moments_of_many_runs_are_those_of_each_alone():
    rng = np.random.default_rng(4)
    x, y = rng.standard_normal((5000, 3)), rng.standard_normal(5000)
    caps, theta = np.array([0.5, 10.0]), rng.standard_normal((2, 3))
    second, first = weighted_moments(x, y, caps, theta)
    for run in range(2):
        expected = plain_moments(x, y, caps[run], theta[run])
        assert second[run] == pytest.approx(expected[0])
        assert first[run] == pytest.approx(expected[1])
    second, first = weighted_moments(x, y, caps, None)
    assert second == pytest.approx(np.stack([x.T @ x / 5000] * 2))
    assert first == pytest.approx(np.stack([x.T @ y / 5000] * 2))


def test_weights_are_one_over_the_residual_up_to_the_cap():
    assert weights(np.array([0.0, 0.05, -0.2]), 10.0) == pytest.approx([10.0, 10.0, 5.0])


def test_without_noise_it_ends_at_the_minimum_of_the_huber_loss():
    rng = np.random.default_rng(5)
    table = simulated(600, rng)
    y = table.y + (rng.random(600) < 0.1)
    for theta, cap in zip(reweighted(table.x, y, [Noise(5.0), Noise(20.0)], 200, rng)[-1], (5.0, 20.0), strict=True):
        score = np.clip(y - table.x @ theta, -1 / cap, 1 / cap)
        assert np.abs(table.x.T @ score).max() < 1e-6
    # least squares is elsewhere
    assert np.abs(np.linalg.lstsq(table.x, y, rcond=None)[0] - theta).max() > 0.01


def test_the_first_iterate_without_noise_is_least_squares():
    rng = np.random.default_rng(6)
    table = simulated(300, rng)
    straight = np.linalg.lstsq(table.x, table.y, rcond=None)[0]
    assert reweighted(table.x, table.y, [Noise(10.0)], 1, rng)[0, 0] == pytest.approx(straight)


@pytest.mark.parametrize("first", ["laplace", "gaussian"])
def test_the_first_moment_has_the_stated_noise(first):
    """Kolmogorov-Smirnov on 20,000 draws, false alarm 1e-9; a scale a fifth off is rejected."""
    rng = np.random.default_rng(7)
    noise = Noise(10.0, 0.3, first, 5.3)
    drawn = np.concatenate([first_noise(noise, 1000, 4, rng) for _ in range(5000)])
    scale = 2 * 10 / (1000 * 0.3) * (2 if first == "laplace" else 5.3)
    distribution = stats.laplace if first == "laplace" else stats.norm
    assert stats.kstest(drawn, distribution(0, scale).cdf).pvalue > 1e-9
    assert stats.kstest(drawn, distribution(0, scale * 1.2).cdf).pvalue < 1e-9


def test_the_second_moment_has_wishart_noise_of_d_plus_one_degrees():
    """Its diagonal entries are chi-square with d + 1 degrees of freedom: false alarm 1e-9, d degrees are rejected."""
    rng = np.random.default_rng(8)
    drawn = np.array([wishart_noise(Noise(10.0, 0.3), 1000, 3, rng)[0, 0] for _ in range(5000)])
    scaled = drawn / (10 / (2 * 0.3 * 1000))
    assert stats.kstest(scaled, stats.chi2(4).cdf).pvalue > 1e-9
    assert stats.kstest(scaled, stats.chi2(3).cdf).pvalue < 1e-9


def test_an_infinite_level_means_no_noise():
    rng = np.random.default_rng(9)
    assert not first_noise(Noise(10.0), 10, 3, rng).any()
    assert not wishart_noise(Noise(10.0, math.inf), 10, 3, rng).any()
