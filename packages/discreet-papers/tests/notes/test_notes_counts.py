"""Laplace noise on the counts of the notes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet_papers.notes import notes_counts


def test_the_noise_has_the_standard_deviation_of_the_notes():
    error = notes_counts.noisy_counts(np.zeros(20_000), 1.0, np.random.default_rng(3))
    # six standard errors of a standard deviation of 20,000 Laplace variates: false alarm below 1e-8
    assert np.std(error) == pytest.approx(notes_counts.noise_sd(20_000, 1.0), rel=6 * math.sqrt(5 / 4 / 20_000))
    assert notes_counts.noise_sd(2_000_000, math.log(2)) == pytest.approx(4.08e6, rel=1e-3)
    assert notes_counts.noise_sd(10, math.log(2)) == pytest.approx(20.4, abs=0.01)


def test_a_case_or_a_control_moves_half_of_the_counts():
    assert notes_counts.true_loss(8, 1.0, "add-remove") == 0.5
    assert notes_counts.true_loss(8, 1.0, "replace") == 1.0
