"""Iterative Hessian mixing: its delta against independent numbers, its calibration, its sketches."""

import math

import numpy as np
import pytest
from scipy.stats import chi2

from discreet.privacy import delta_from
from discreet_papers.baselines import hessian_mixing
from discreet_papers.baselines.hessian_mixing import HessianMixing, calibrated, mixed_delta, sketch_rows


def test_without_sketches_delta_is_that_of_a_gaussian():
    for epsilon, mu in ((0.1, 0.05), (1.0, 0.3), (3.0, 1.0)):
        assert mixed_delta(epsilon, mu, 100, 1e12) == pytest.approx(delta_from(epsilon, mu), rel=1e-4)


@pytest.mark.parametrize("gamma", [20.0, 60.0])
def test_without_gaussian_pieces_delta_is_that_of_two_chi_square_distributions(gamma):
    """Against the closed form: the likelihood ratio is monotone, so delta is a difference of two tails."""
    degrees, epsilon = 300, 0.5
    ratio = 1 - 1 / gamma
    # row there: C ~ chi2 against ratio * chi2; large C speaks for the row
    edge = (epsilon - degrees / 2 * math.log(ratio)) * 2 * (gamma - 1)
    there = chi2.sf(edge, degrees) - math.exp(epsilon) * chi2.sf(edge / ratio, degrees)
    # row not there: ratio * chi2 against chi2; small C speaks against it
    edge = (-degrees / 2 * math.log(ratio) - epsilon) * 2 * gamma
    absent = chi2.cdf(edge, degrees) - math.exp(epsilon) * chi2.cdf(edge * ratio, degrees)
    assert mixed_delta(epsilon, 1e-4, degrees, gamma) == pytest.approx(max(there, absent), rel=2e-3)


def test_delta_agrees_with_draws():
    """Monte Carlo with 2e5 draws of both losses; a band of 7 standard errors, false alarms below 1e-9."""
    epsilon, mu, degrees, gamma = 0.5, 0.3, 200, 40.0
    rng = np.random.default_rng(8)
    loss = degrees / 2 * math.log1p(-1 / gamma) + rng.chisquare(degrees, 200_000) / 2 / (gamma - 1)
    loss += mu * rng.standard_normal(200_000) + mu**2 / 2
    drawn = np.maximum(1 - np.exp(epsilon - loss), 0)
    band = 7 * drawn.std() / math.sqrt(len(drawn))
    assert mixed_delta(epsilon, mu, degrees, gamma) >= drawn.mean() - band
    assert hessian_mixing._one_way(epsilon, mu, degrees, gamma, 1) == pytest.approx(drawn.mean(), abs=band)
    assert abs(mixed_delta(epsilon, 1.1 * mu, degrees, gamma) - drawn.mean()) > band, "a wrong mu is seen"


@pytest.mark.parametrize(("epsilon", "delta", "size"), [(0.1, 1e-5, 3), (1.0, 1e-6, 12), (10.0, 1e-8, 20)])
def test_the_calibration_spends_delta_and_no_more(epsilon, delta, size):
    gamma, sd = calibrated(epsilon, delta, size)
    rows = sketch_rows(size, delta)
    mu = math.sqrt(rows / gamma**2 + 3 / sd**2)
    found = mixed_delta(epsilon, mu, 3 * rows, gamma)
    assert 0.89 * delta < found <= 0.9 * delta
    assert mixed_delta(epsilon, mu * gamma / (0.97 * gamma), 3 * rows, 0.97 * gamma) > 0.9 * delta


def test_a_huge_budget_needs_hardly_any_noise():
    gamma, _ = calibrated(1e6, 0.5, 2)
    assert gamma == pytest.approx(1.01)


def test_a_row_changes_the_covariance_of_a_sketch_by_at_most_one_in_gamma():
    """The eigenvalues of one covariance relative to the other, on random neighbours at the bound of the eigenvalue."""
    rng = np.random.default_rng(6)
    gamma = 30.0
    for _ in range(100):
        a = rng.standard_normal((40, 4))
        a /= np.maximum(np.linalg.norm(a, axis=1), 1)[:, None]
        full, less = a.T @ a, a[1:].T @ a[1:]
        mixed = max(0.0, gamma - np.linalg.eigvalsh(full)[0])
        relative = np.linalg.eigvals(np.linalg.solve(full + mixed * np.eye(4), less + mixed * np.eye(4))).real
        assert relative.min() >= 1 - 1 / gamma - 1e-12


def test_it_learns():
    rng = np.random.default_rng(2)
    x = rng.uniform(-1, 1, (20_000, 2))
    y = 0.5 * x[:, 0] - 0.3 * x[:, 1]
    given = {"epsilon": 3.0, "delta": 1e-6, "bounds": [(-1.0, 1.0)] * 2, "target_bounds": (-1.0, 1.0)}
    assert np.mean((HessianMixing(**given, seed=1).fit(x, y).predict(x) - y) ** 2) < 0.05 * y.var()
