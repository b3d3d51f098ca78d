"""Means of the notes: laws, losses and sensitivities."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from discreet_papers.notes import notes_mean

FALSE_ALARM = 1e-9
N, EPSILON = 50, 0.7


@pytest.mark.parametrize(
    ("way", "law"),
    [
        (notes_mean.laplace_mean, stats.laplace(0.3, 1 / (N * EPSILON))),
        (notes_mean.absolute_error_mean, stats.laplace(0.3, 2 / (N * EPSILON))),
        (notes_mean.squared_error_mean, stats.norm(0.3, (N * EPSILON) ** -0.5)),
    ],
)
def test_laws_on_the_line_are_those_of_the_notes(way, law):
    drawn = way(np.full(5000, 0.3), N, EPSILON, np.random.default_rng(4))
    assert stats.kstest(drawn, law.cdf).pvalue > FALSE_ALARM
    # negative control: 1.3 times the spread is rejected
    assert stats.kstest((drawn - 0.3) * 1.3 + 0.3, law.cdf).pvalue < FALSE_ALARM


@pytest.mark.parametrize("centre", [0.0, 0.05, 0.9])
@pytest.mark.parametrize(
    ("way", "power"),
    [
        (notes_mean.squared_error_range, lambda d: N * EPSILON / 2 * d**2),
        (notes_mean.squared_error_corrected, lambda d: EPSILON / (2 * (2 - 1 / N) / N) * d**2),
        (notes_mean.absolute_error_range, lambda d: N * math.log((1 + math.exp(EPSILON)) / 2) * abs(d)),
    ],
)
def test_laws_on_the_range_have_their_density(way, power, centre):
    drawn = way(np.full(4000, centre), N, EPSILON, np.random.default_rng(6))
    assert drawn.min() >= 0
    assert drawn.max() <= 1
    t = np.linspace(0, 1, 100_001)
    cumulated = np.cumsum(np.exp(-power(t - centre)))
    assert stats.kstest(drawn, lambda x: np.interp(x, t, cumulated / cumulated[-1])).pvalue > FALSE_ALARM


def test_the_sensitivity_of_squared_error_by_search():
    n = 20
    candidates = np.linspace(0, 1, 201)
    means = np.arange(n + 1)[:, None] / n
    searched = np.abs(np.diff(-((means - candidates) ** 2), axis=0)).max()
    assert notes_mean.squared_sensitivity(n) == pytest.approx(searched, rel=1e-9)
    assert searched > 1.9 / n


def test_the_normal_law_loses_without_bound_and_its_cut_does_not():
    assert abs(notes_mean.squared_error_loss(100, 1.0, -9.0)) > 9
    for n, epsilon in ((10, 0.5), (100, 1.0), (300, 3.0)):
        assert 0.5 * epsilon < notes_mean.truncated_loss(n, epsilon) <= epsilon


def test_a_private_number_of_entries_loses_without_bound():
    assert notes_mean.private_size_loss(100, 1.0, 50.0) == pytest.approx(49.99, abs=0.001)


def test_absolute_error_on_the_line_loses_half_of_what_is_claimed():
    assert notes_mean.absolute_error_loss(40, 40 * 0.8 / 2) == pytest.approx(0.4)


@pytest.mark.parametrize("at", [-3.0, 0.0, 0.4, 1.0, 7.0])
def test_the_largest_loss_on_the_line_is_that_of_the_worst_pair(at):
    n, epsilon = 20, 0.7
    means = np.arange(n + 1) / n
    losses = np.diff(n * epsilon / 2 * (means - at) ** 2)
    assert notes_mean.largest_squared_error_loss(n, epsilon, at) == pytest.approx(np.abs(losses).max())


def test_the_loss_of_the_law_that_is_cut_depends_on_the_output_and_is_largest_somewhere_inside():
    at_outputs = [notes_mean.truncated_loss(50, 1.0, at) for at in np.linspace(0, 1, 2001)]
    assert max(at_outputs) == pytest.approx(notes_mean.truncated_loss(50, 1.0))
    assert min(at_outputs) < 0.8
