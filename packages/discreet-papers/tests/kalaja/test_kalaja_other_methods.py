"""OPS, AdaOPS and objective perturbation as coded, with the slips of the code."""

import math

import numpy as np
import pytest

from discreet_papers.kalaja import kalaja_methods
from discreet_papers.kalaja.kalaja_methods import Sums


@pytest.fixture
def sums():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((5_000, 3))
    x /= np.linalg.norm(x, axis=1)[:, None]
    return Sums.of(x, x @ [0.4, -0.2, 0.1])


def test_objective_perturbation_halves_the_coefficients_even_without_noise(sums):
    theta = kalaja_methods.objective(sums, np.array([1e6]), 1e-6, np.random.default_rng(1))[0]
    assert np.allclose(theta, np.linalg.solve(sums.gram, sums.cross) / 2, atol=1e-6)


def test_objective_perturbation_stays_in_the_unit_ball_and_is_the_best_there(sums):
    epsilons = np.array([0.05, 0.1, 0.2])
    found = kalaja_methods.objective(sums, epsilons, 1e-6, np.random.default_rng(2))
    rng = np.random.default_rng(2)
    noise = rng.standard_normal((3, 3))
    norms = np.linalg.norm(found, axis=1)
    assert norms.max() == pytest.approx(1, abs=1e-9)
    for theta, epsilon, draw in zip(found, epsilons, noise, strict=True):
        sd = 2 * math.sqrt(4 * math.log(2e6) + 2 * epsilon) / epsilon**2
        gram, side = sums.gram + 2 / epsilon**2 * np.eye(3), sums.cross - sd * draw
        others = rng.standard_normal((2_000, 3))
        others *= rng.uniform(0, 1, (2_000, 1)) / np.linalg.norm(others, axis=1)[:, None]

        def objective(t, gram=gram, side=side):
            return np.einsum("...i,ij,...j->...", t, gram, t) - t @ side

        assert objective(theta) <= objective(others).min() + 1e-9


@pytest.mark.parametrize("method", [kalaja_methods.ops, kalaja_methods.adaops])
def test_one_posterior_sample_is_near_ridge_where_the_budget_is_large(sums, method):
    """The spread is below 0.05 here; 1 is 20 standard deviations."""
    theta = method(sums, np.full(20, 1e3), 1e-6, np.random.default_rng(3)).mean(axis=0)
    assert np.linalg.norm(theta - np.linalg.solve(sums.gram, sums.cross)) < 0.1


def test_the_sample_has_the_covariance_of_the_code():
    """(R R')^-1, not (R'R)^-1; 8,000 draws: entries are off by 0.05 with probability below 1e-6, and seeded."""
    gram = np.array([[3.0, 2.0], [2.0, 4.0]])
    sums = Sums(gram - np.eye(2), np.zeros(2), 10)
    rng = np.random.default_rng(4)
    draws = np.array([kalaja_methods._sample(sums, 0.0, 1.0, rng) for _ in range(8_000)])
    upper = np.linalg.cholesky(gram).T
    assert np.allclose(np.cov(draws.T), np.linalg.inv(upper @ upper.T), atol=0.05)
    assert not np.allclose(np.cov(draws.T), np.linalg.inv(gram), atol=0.05)


@pytest.mark.parametrize(("spread", "power"), [(10.0, 3.0), (1e6, 500.0), (1e9, 2e4)])
def test_the_shift_minimises_its_objective(spread, power):
    best = kalaja_methods._best_shift(spread, power)

    def objective(s):
        return s + spread * math.exp(power * math.log1p(1 / s)) / s

    assert objective(best) <= min(objective(best * factor) for factor in (0.9, 0.99, 1.01, 1.1)) * (1 + 1e-12)


def test_small_budgets_shrink(sums):
    theta = kalaja_methods.adaops(sums, np.array([0.01]), 1e-6, np.random.default_rng(5))
    assert np.isfinite(theta).all()
