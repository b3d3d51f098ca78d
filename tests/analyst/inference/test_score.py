"""The algebra of the score against brute force: every independent entry of the noise written out."""

from __future__ import annotations

import dataclasses
import json
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import brentq

from discreet.analyst.inference.contrasts import unit_map
from discreet.analyst.inference.reference_law import critical_value
from discreet.analyst.inference.score import contrast_terms, fieller_sets, score_inference
from discreet.analyst.model import fit, read_model
from discreet.analyst.solvers.least_squares import solve_ols, solve_ridge
from discreet.analyst.values.not_estimable import NotEstimable
from discreet.design.model import Design
from discreet.errors import SpecError
from discreet.releases import BLOCKS
from support.brute_force import brute_covariance
from support.made_releases import made
from support.scored_tables import COLUMNS, table

SIGMA = {block: 0.1 + 0.07 * index for index, block in enumerate(BLOCKS)}


@pytest.fixture(scope="module")
def noisy():
    return made(Design("y", COLUMNS), table(), sigma=SIGMA, seed=3).release


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


def test_no_residual_variance_above_0_still_gives_intervals():
    """Noise on the square of the target alone: s^2 may fall below 0 while the coefficients stay as they were."""
    quiet = dict.fromkeys(BLOCKS, 0.01)
    for seed in range(50):
        release = made(Design("y", COLUMNS), table(), sigma={**quiet, "target_square": 30.0}, seed=seed).release
        result = fit(release)
        if result._score.s2 <= 0:
            break
    assert isinstance(result.s2, NotEstimable)
    assert isinstance(result.rsquared, NotEstimable)
    assert all(share == 1.0 for share in result.privacy_share.values())
    assert all(low < high for low, high in result.conf_int().values())
    assert result.to_dict()["s2"] is None
    assert "no residual variance" in result.to_dict()["s2_reason"]
    assert "Residual standard deviation: not estimable" in " ".join(result.summary().split())
    prediction = result.get_prediction({"x": [3.0], "w": [0.0], "flag": [True]})
    (low, high), (mean_low, mean_high) = prediction.conf_int(obs=True)[0], prediction.conf_int()[0]
    assert low < mean_low < mean_high < high


def test_as_many_coefficients_as_rows_exclude_no_value():
    result = fit(made(Design("y", COLUMNS), table(4), seed=1).release)
    assert result.estimable
    for values in (result.bse, result.tvalues, result.score_z, result.sampling_sd, result.privacy_sd):
        assert all("not more rows than coefficients" in value.reason for value in values.values())
    assert not any(result.privacy_share.values())
    assert {ends.kind for ends in result.conf_int().values()} == {"everything"}
    assert set(result.pvalues.values()) == {1.0}
    assert isinstance(result.s2, NotEstimable)
    assert isinstance(result.rsquared_adj, NotEstimable)
    assert tuple(result.rsquared_conf_int()) == (0.0, 1.0)
    assert isinstance(result.cov_params(), NotEstimable)
    test = result.t_test("x = 0")
    assert test.pvalue["x = 0"] == 1.0
    assert next(iter(test.conf_int().values())).kind == "everything"
    assert "not estimable: there are not more rows than coefficients; p = 1" in repr(test)
    joint = result.f_test("x = 0")
    assert isinstance(joint.statistic, NotEstimable)
    assert joint.pvalue == 1.0
    prediction = result.get_prediction({"x": [3.0], "w": [0.0], "flag": [True]})
    assert np.ma.getmaskarray(prediction.se_mean).all()
    assert prediction.conf_int()[0].kind == "everything"
    assert "not more rows" in prediction.conf_int().reasons[0]


def test_a_line_through_every_row_has_nothing_that_varies():
    x = [2.0, 3.0, 4.0, 5.0, 6.0]
    release = made(Design("y", {"y": (0, 16), "x": (2, 6)}), {"x": x, "y": [2 * value - 3 for value in x]}).release
    result = fit(release)
    assert all("nothing varies" in value.reason for value in result.bse.values())
    assert result.s2 == 0.0
    assert result.rsquared == 1.0


@pytest.mark.parametrize("penalty", [("lasso", None), ("elastic-net", 0.5)])
def test_a_penalty_on_absolute_values_has_no_intervals(noisy, penalty):
    name, ratio = penalty
    result = fit(noisy, penalty=name, l1_ratio=ratio, strength=0.01)
    assert result.interval_target == "none"
    assert all("absolute values" in value.reason for value in result.conf_int().values())
    assert "absolute values" in result.to_dict()["rsquared_reason"]
    assert "Not estimable (Intercept, x, w, flag)" in " ".join(result.summary().split())


def test_penalised_intervals_are_labelled(noisy):
    for options in ({"penalty": "ridge", "strength": 0.1}, {"penalty": "adaptive"}):
        result = fit(noisy, **options)
        assert result.interval_target == "penalised"
        assert result.to_dict()["interval_target"] == "penalised"
        assert "intervals are for the penalised coefficients" in " ".join(result.summary().split())
    # the adaptive rule added nothing here
    assert result.rsquared == fit(noisy).rsquared
    assert "least squares" in fit(noisy, penalty="ridge", strength=0.1).rsquared.reason
    assert fit(noisy).interval_target == "least squares"


def test_indefinite_sums_still_give_intervals_for_the_penalised_coefficients():
    release = made(Design("y", COLUMNS), table(40), sigma=12.0, seed=2).release
    assert not fit(release).estimable
    result = fit(release, penalty="adaptive")
    assert result.estimable
    assert any(ends.bounded for ends in result.conf_int().values())


# -- small pieces ----------------------------------------------------------------------------------------------------


def test_units_too_wide_for_double_precision_are_refused():
    x = [0.0, 1.0, 2.0, 3.0]
    release = made(
        Design("y", {"y": (0, 1e200), "x": (0, 3)}), {"x": x, "y": [1e199, 3e199, 2e199, 7e199]}, sigma=1e-4
    ).release
    result = fit(release)
    assert result.bse["x"] > 1e198
    for value in (result.cov_params(), result.s2):
        assert "too large for double precision" in value.reason
    json.dumps(result.to_dict(), allow_nan=False)
    rows = {"x": [0.0, 1e-200, 2e-200, 3e-200], "y": [1e149, 3e149, 2e149, 7e149]}
    steep = made(Design("y", {"y": (0, 1e150), "x": (0, 3e-200)}), rows).release
    with pytest.raises(SpecError, match="too large for double precision"):
        fit(steep)
    flat = dataclasses.replace(steep, totals=tuple(0 if index in (4, 2) else t for index, t in enumerate(steep.totals)))
    assert "too large for double precision" in fit(flat).bse["x"].reason
