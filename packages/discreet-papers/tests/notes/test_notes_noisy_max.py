"""Noisy max of the notes: exact losses and how often it is right."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import laplace

from discreet_papers.notes import notes_noisy_max


@pytest.mark.parametrize("lead", [-7.0, -0.3, 0.0, 2.0])
def test_the_chance_to_win_is_the_integral(lead):
    known, _ = quad(
        lambda z: laplace.pdf(z, scale=1.5) * laplace.cdf(z + lead, scale=1.5), -60, 60, points=[-lead, 0.0]
    )
    assert notes_noisy_max.winning_chance(lead, 1.5) == pytest.approx(known, rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_one_person_added_keeps_epsilon_and_one_exchanged_does_not(epsilon):
    leads = np.linspace(-20, 200, 221) / epsilon
    assert max(notes_noisy_max.true_loss(lead, epsilon, "add-remove") for lead in leads) <= epsilon
    assert max(notes_noisy_max.true_loss(lead, epsilon, "replace") for lead in leads) > 1.9 * epsilon
    assert max(notes_noisy_max.true_loss(lead, epsilon, "replace", factor=2.0) for lead in leads) <= epsilon


def test_naive_noise_loses_the_largest_of_many():
    rng = np.random.default_rng(8)
    scores = np.zeros(1000)
    scores[7] = 20
    scales = {"naive": notes_noisy_max.naive_scale(1000, 1.0), "noisy max": notes_noisy_max.noisy_max_scale(1.0)}
    right = {
        name: np.mean([notes_noisy_max.largest_index(scores, scale, rng) == 7 for _ in range(200)])
        for name, scale in scales.items()
    }
    # the chances are 0.001 and above 0.999: false alarm below 1e-9
    assert right["naive"] < 0.2
    assert right["noisy max"] > 0.9
