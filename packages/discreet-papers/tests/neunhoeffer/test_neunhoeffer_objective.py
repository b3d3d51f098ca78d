"""Objective perturbation of the library: the closed form is the minimum, and there is hardly any noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from discreet_papers.neunhoeffer import neunhoeffer_objective
from discreet_papers.neunhoeffer.neunhoeffer_lines import notebook_table

TABLE = neunhoeffer_objective.scaled(*notebook_table(rows=2000))


def test_y_is_divided_by_the_norm_of_the_whole_vector():
    x, y = notebook_table(rows=2000)
    assert TABLE.y_size == pytest.approx(math.sqrt((y**2).sum()))
    assert TABLE.x_size == np.abs(x).max()
    assert TABLE.rest == pytest.approx(
        ((y - np.polyval(np.polyfit(x, y, 1), x)) ** 2).sum() / TABLE.y_size**2, rel=1e-9
    )


def test_the_objective_is_the_librarys():
    x, y = notebook_table(rows=2000)
    X = np.column_stack([np.ones_like(x), x / np.abs(x).max()])
    theta, b = np.array([0.01, 0.02, -1.5]), np.array([3.0, -2.0, 1.0])
    s = math.exp(theta[2])
    residual = y / np.linalg.norm(y) - X @ theta[:2]
    likelihood = -math.log(2 * math.pi) / 2 - math.log(s) - (residual**2).sum() / (2 * s**2) / len(x)
    known = -(likelihood + b @ theta / len(x))
    assert neunhoeffer_objective.perturbed_objective(theta, TABLE, b) == pytest.approx(known, rel=1e-12)


@pytest.mark.parametrize("version", ["older", "newer"])
def test_the_closed_form_is_a_minimum(version):
    for b in neunhoeffer_objective.perturbation(version, 0.03, TABLE.n, np.random.default_rng(1), 5):
        found = neunhoeffer_objective.exact_minimiser(TABLE, b[None])[0]
        # s from the Hessian's own scale: beta is of the order of s
        size = np.array([math.exp(found[2]), math.exp(found[2]), 1.0])
        around = minimize(
            lambda z, b=b, found=found, size=size: neunhoeffer_objective.perturbed_objective(
                found + z * size, TABLE, b
            ),
            np.zeros(3),
        )
        assert np.abs(around.jac).max() < 1e-5
        assert around.fun > neunhoeffer_objective.perturbed_objective(found, TABLE, b) - 1e-9
        assert np.abs(around.x).max() < 1e-3


def test_the_older_noise_does_not_depend_on_epsilon_and_the_newer_one_does():
    older, newer = (
        [np.abs(neunhoeffer_objective.perturbation(version, epsilon, 10_000, np.random.default_rng(2), 4000)).mean()
         for epsilon in (0.03, 3.0)]
        for version in ("older", "newer")
    )  # fmt: skip
    assert older[0] == pytest.approx(older[1], rel=1e-9)
    assert newer[0] > 50 * newer[1]


def test_the_search_stops_near_the_minimum_but_further_than_the_noise():
    b = neunhoeffer_objective.perturbation("older", 0.03, TABLE.n, np.random.default_rng(3), 10)
    exact = neunhoeffer_objective.exact_minimiser(TABLE, b)
    found = np.array([neunhoeffer_objective.nelder_mead(TABLE, one) for one in b])
    assert np.abs(found[:, 1] - exact[:, 1]).max() * TABLE.y_size / TABLE.x_size < 0.01


def test_the_third_number_is_log_s_multiplied_like_a_slope():
    given = np.array([1.0, 1.0, -6.0])
    assert TABLE.original(given)[2] == pytest.approx(-6 * TABLE.y_size / TABLE.x_size)


def test_certified_loss_of_a_known_mechanism_stays_below_it_and_of_no_noise_is_large():
    rng = np.random.default_rng(4)
    # Laplace noise of scale 1 on values 1 apart is 1-DP; the bound fails with probability 1e-3, and the seed is fixed
    assert 0.5 < neunhoeffer_objective.certified_loss(rng.laplace(0, 1, 20_000), rng.laplace(1, 1, 20_000)) <= 1
    assert neunhoeffer_objective.certified_loss(rng.laplace(1, 1, 20_000), rng.laplace(0, 1, 20_000)) <= 1
    assert neunhoeffer_objective.certified_loss(np.zeros(1000), np.zeros(1000)) == 0
    assert neunhoeffer_objective.certified_loss(rng.normal(0, 1e-6, 4000), rng.normal(1, 1e-6, 4000)) > 5
