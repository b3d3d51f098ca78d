"""Preconditioner and shrinkage: functions of released numbers, damped by what is noise in them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.mechanisms.refined import Preconditioner, shrunk


def gram_of(rng, size, rows):
    x = rng.normal(size=(rows, size)) @ np.diag(np.linspace(1, 0.3, size))
    return x.T @ x


def test_without_noise_a_step_solves_the_equations_but_for_the_smallest_directions():
    rng = np.random.default_rng(1)
    gram = gram_of(rng, 4, 5000)
    basis = Preconditioner.of(gram, 1e-9, 1.0)
    np.testing.assert_allclose(basis.step(gram @ np.array([1.0, 2, 3, 4])), [1, 2, 3, 4], rtol=1e-6)
    # a direction of next to nothing is not divided by
    thin = Preconditioner.of(np.diag([1000.0, 1.0]), 1e-9, 1.0)
    assert thin.values.min() == pytest.approx(0.05 * thin.values.max())


def test_pure_noise_is_damped_by_its_edge():
    """Steps along a Gram of noise alone are short: no eigenvalue is below the edge, in 200 draws."""
    rng, size, sd = np.random.default_rng(2), 20, 3.0
    for _ in range(200):
        upper = np.triu(rng.normal(0, sd / math.sqrt(2), (size, size)), 1)
        basis = Preconditioner.of(upper + upper.T + np.diag(rng.normal(0, sd, size)), sd, 0.0)
        assert basis.values.min() > 0
        assert np.isfinite(basis.step(np.ones(size))).all()
    strong = Preconditioner.of(gram_of(rng, size, 50), 1e4, 0.5)
    weak = Preconditioner.of(gram_of(rng, size, 50), 1e-4, 0.5)
    assert np.abs(strong.step(np.ones(size))).max() < np.abs(weak.step(np.ones(size))).max()


@pytest.mark.parametrize("size", [1, 2])
def test_small_matrices_are_not_shrunk_and_full_steps_are_damped_by_two_thirds_of_the_edge(size):
    gram = gram_of(np.random.default_rng(3), size, 1000)
    edge = math.sqrt(2 * size) + math.sqrt(2 * math.log(size))
    for rate, part in ((0.0, 1.0), (0.5, 5 / 6), (1.0, 2 / 3)):
        basis = Preconditioner.of(gram, 1.0, rate)
        np.testing.assert_allclose(basis.values, np.linalg.eigvalsh(gram) + part * edge, rtol=1e-9)


def test_shrinkage_keeps_signal_and_removes_noise():
    rng, basis = np.random.default_rng(4), Preconditioner(np.full(30, 2.0), np.eye(30), np.full(30, 2.0))
    noise = rng.normal(0, 0.5, 30)
    assert np.linalg.norm(shrunk(noise, basis, 1.0, math.inf)) < 0.5 * np.linalg.norm(noise)
    signal = noise + 20.0
    np.testing.assert_allclose(shrunk(signal, basis, 1.0, math.inf), signal, rtol=0.02)
    assert shrunk(np.zeros(30), basis, 1.0, math.inf).tolist() == [0.0] * 30


def test_no_prior_expects_predictions_larger_than_the_target():
    """Noise ten times the largest plausible signal is taken away, however large a draw of it is."""
    basis = Preconditioner(np.full(30, 2.0), np.eye(30), np.full(30, 2.0))
    large = np.full(30, 10.0)
    assert np.linalg.norm(shrunk(large, basis, 10.0, math.inf)) > 0.5 * np.linalg.norm(large)
    for most in (1.0, 4.0):
        # a prior of most / 60 for each square, noise of 25
        expected = most / 60 / (most / 60 + 25)
        np.testing.assert_allclose(shrunk(large, basis, 10.0, most), expected * large, rtol=0.01)
    # without noise it changes nothing
    np.testing.assert_allclose(shrunk(large, basis, 1e-6, 1.0), large, rtol=1e-6)
