"""The algebra of the score against brute force: every independent entry of the noise written out."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import brentq

from discreet.analyst.inference.contrasts import unit_map
from discreet.analyst.inference.score import contrast_terms, fieller_sets, score_inference, stacked
from discreet.analyst.model import fit, read_model
from discreet.analyst.solvers.least_squares import solve_ols, solve_ridge
from discreet.design.design import Design
from discreet.releases.reference_distribution import critical_value
from support.brute_force import brute_covariance
from support.made_releases import made
from support.scored_tables import COLUMNS, table


def setting(release, intercept, ridge):
    model, equations = read_model(release, None, None, intercept)
    penalty_diagonal = np.full(len(model.names), ridge)
    if intercept:
        penalty_diagonal[0] = 0.0
    solution = (
        solve_ridge(equations.integer_gram, equations.integer_b, penalty_diagonal, unit=equations.unit)
        if ridge
        else solve_ols(equations.integer_gram, equations.integer_b)
    )
    return equations, solution, penalty_diagonal, score_inference(equations, solution.exact, penalty_diagonal)


def brute_noise(equations, theta):
    """Covariance of e - E theta from the noise of the released sums alone."""
    size = len(theta)
    C = np.eye(size + 1) if equations.intercept else np.column_stack([equations.shift, np.eye(size + 1)])
    w = C.T @ np.append(-theta, 1.0)
    rows = C[:-1]
    return np.array([[brute_covariance(equations.block_sd**2, a, w, b, w) for a in rows] for b in rows])


@pytest.mark.parametrize("ridge", [0.0, 7.5])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_sandwich_is_the_one_of_the_formula(noisy, intercept, ridge):
    equations, solution, penalty_diagonal, inference = setting(noisy, intercept, ridge)
    A, theta = equations.A, solution.coefficients
    H = np.linalg.inv(A + np.diag(penalty_diagonal))
    N = brute_noise(equations, theta)
    weights = 2 * H - H @ A @ H
    rss = equations.c - 2 * equations.b @ theta + theta @ A @ theta
    rows = equations.nobs - np.trace(weights @ A)
    s2 = (rss + np.trace(weights @ N)) / rows
    np.testing.assert_allclose(inference.inverse, H, rtol=1e-8)
    np.testing.assert_allclose(inference.noise, N, rtol=1e-10)
    assert inference.s2 == pytest.approx(s2, rel=1e-8)
    assert inference.df == equations.nobs - len(theta)
    np.testing.assert_allclose(inference.covariance, H @ (s2 * A + N) @ H, rtol=1e-7)
    if not ridge:
        assert rows == pytest.approx(inference.df)


@pytest.mark.parametrize("ridge", [0.0, 7.5])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_the_ends_are_where_the_score_test_changes_its_mind(noisy, intercept, ridge, level):
    """The interval against numeric inversion of (t - psi~)^2 <= z^2 a'Omega(theta(t)) a, everything rebuilt by hand."""
    equations, solution, penalty_diagonal, inference = setting(noisy, intercept, ridge)
    theta, A = solution.coefficients, equations.A
    H = np.linalg.inv(A + np.diag(penalty_diagonal))
    s2 = inference.s2
    S = H @ (s2 * A + brute_noise(equations, theta)) @ H
    z = critical_value(level, "gaussian", inference.df)
    L = np.vstack([unit_map(equations), np.ones(len(theta))])
    sets = fieller_sets(contrast_terms(inference, L), z)
    low, high = sets.lower, sets.upper
    assert set(sets.kind) == {"interval"}
    for index, weights in enumerate(L):
        a, v = H @ weights, S @ weights / (weights @ S @ weights)

        def excess(u, a=a, v=v):
            return u**2 - z**2 * (a @ (s2 * A + brute_noise(equations, theta + u * v)) @ a)

        bracket = 10 * z * np.sqrt(weights @ S @ weights)
        assert low[index] == pytest.approx(brentq(excess, -bracket, 0), rel=1e-7)
        assert high[index] == pytest.approx(brentq(excess, 0, bracket), rel=1e-7)


def test_an_interval_holds_a_value_exactly_if_its_test_does_not_reject(noisy):
    result = fit(noisy)
    for name, (low, high) in result.conf_int(0.9).items():
        for end, inside in ((low, 1e-6), (high, -1e-6)):
            step = inside * (high - low)
            assert result.t_test({name: end + step}).pvalue[f"{name} = {end + step:g}"] > 0.1
            assert result.t_test({name: end - step}).pvalue[f"{name} = {end - step:g}"] < 0.1


def test_original_units_are_a_linear_map_of_the_scaled_ones(noisy):
    for intercept in (True, False):
        equations, solution, _, _ = setting(noisy, intercept, 0.0)
        exact = list(solution.exact)
        here = equations.original_units(exact)
        for j in range(len(exact)):
            moved = [*exact]
            moved[j] += Fraction(1, 2)
            np.testing.assert_allclose(
                (equations.original_units(moved) - here) * 2, unit_map(equations)[:, j], atol=1e-12
            )


# -- what the release cannot say -------------------------------------------------------------------------------------


def test_indefinite_sums_still_give_intervals_for_the_penalised_coefficients():
    release = made(Design("y", COLUMNS), table(40), sigma=12.0, seed=2).release
    assert not fit(release).estimable
    result = fit(release, penalty="adaptive")
    assert result.estimable
    assert any(ends.bounded for ends in result.conf_int().values())


# -- small pieces ----------------------------------------------------------------------------------------------------


def test_several_tables_at_once_have_the_terms_of_each():
    scores, L = [], None
    for seed in (1, 2, 3):
        release = made(Design("y", COLUMNS), table(), sigma=3.0, seed=seed).release
        _, equations = read_model(release, None, None, None)
        theta = solve_ols(equations.integer_gram, equations.integer_b).exact
        scores.append(score_inference(equations, theta, np.zeros(len(theta))))
        L = unit_map(equations)[:3]
    together = contrast_terms(stacked(scores), L)
    sets = fieller_sets(together, 1.96)
    for index, score in enumerate(scores):
        alone = contrast_terms(score, L)
        for name in ("sampling", "privacy", "q1", "q2"):
            assert np.allclose(getattr(together, name)[index], getattr(alone, name), rtol=1e-12)
        assert np.allclose(sets.upper[index], fieller_sets(alone, 1.96).upper, rtol=1e-12)
