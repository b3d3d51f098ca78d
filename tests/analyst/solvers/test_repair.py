"""Convex repair: a shift where the noise outweighs the smallest eigenvalue, and nothing otherwise."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.analyst.equations.normal import normal_equations
from discreet.analyst.model import fit
from discreet.analyst.solvers.adaptive import penalised_gram, shift_above_noise, slope_equations
from discreet.design.model_columns import model_of
from discreet.releases import Release
from support.made_releases import made
from support.repaired_tables import DESIGN, ROWS

ROUNDING = 1e-9


def problem_of(release, **spec):
    return slope_equations(normal_equations(release, model_of(release.design, **spec)), release.digest)


releases = st.builds(
    lambda count, sigma, seed: made(DESIGN, ROWS[count], grid_bits=10, sigma=sigma, seed=seed).release,
    count=st.sampled_from([20, 80]), sigma=st.floats(0.01, 100), seed=st.integers(0, 10**6),
)  # fmt: skip


@given(release=releases, intercept=st.booleans(), ridge=st.floats(0, 200))
def test_the_repaired_gram_reaches_the_noise_and_an_estimable_one_is_left_alone(release, intercept, ridge):
    problem = problem_of(release, intercept=intercept)
    scale = np.abs(problem.gram).max() + problem.noise_norm
    smallest = np.linalg.eigvalsh(problem.repaired(ridge))[0]
    assert smallest >= problem.noise_norm - ROUNDING * scale
    about = penalised_gram(problem.equations, release.digest)
    assert problem.noise_norm == about.noise_norm
    if about.smallest >= about.noise_norm:
        assert problem.repair(ridge) == 0
        np.testing.assert_array_equal(problem.repaired(0.0), problem.gram)
    else:
        assert problem.repair(0.0) == pytest.approx(about.noise_norm - about.smallest)
        assert problem.repair(ridge) <= problem.repair(0.0)


@given(release=releases, intercept=st.booleans(), ridge=st.floats(0, 200))
def test_slopes_with_the_intercept_put_back_solve_the_whole_system(release, intercept, ridge):
    problem = problem_of(release, intercept=intercept)
    A, b = problem.equations.A, problem.equations.b
    whole = np.linalg.solve(A + np.diag(problem.penalty_diagonal(ridge)), b)
    slopes = np.linalg.solve(problem.repaired(ridge), problem.right)
    np.testing.assert_allclose(slopes, whole[1 if intercept else 0 :], rtol=1e-6, atol=1e-9)


@given(noise=st.floats(1e-6, 1e6), smallest=st.floats(-1e6, 1e6), ridge=st.floats(0, 1e6))
def test_only_what_is_missing_is_added(noise, smallest, ridge):
    shift = shift_above_noise(noise, smallest, ridge)
    assert shift >= 0
    if smallest + ridge < noise:
        assert smallest + ridge + shift == pytest.approx(noise, rel=1e-6, abs=1e-9 * max(abs(smallest), ridge))
    else:
        assert shift <= 1e-9 * max(abs(smallest), ridge)


@given(release=releases)
def test_the_repair_follows_from_the_file_alone(release):
    again = Release.from_json(release.to_json())
    here, there = problem_of(release), problem_of(again)
    assert here.repair(0.0) == there.repair(0.0)
    np.testing.assert_array_equal(here.repaired(1.0), there.repaired(1.0))


# -- ridge -----------------------------------------------------------------------------------------------------------


def repaired_release():
    return made(DESIGN, ROWS[80], sigma=20.0, seed=3).release


def test_a_weak_ridge_is_repaired_and_a_strong_one_is_not():
    release = repaired_release()
    problem = problem_of(release)
    missing = problem.noise_norm - problem.smallest
    assert missing > 0
    weak, strong = (fit(release, penalty="ridge", strength=share * missing / problem.rows) for share in (0.25, 1.5))
    assert weak.repair == pytest.approx(0.75 * missing)
    assert weak.ridge == pytest.approx(missing)
    assert strong.repair == 0.0
    assert strong.ridge == pytest.approx(1.5 * missing)
    # what counts is what stands on the diagonal
    weaker = fit(release, penalty="ridge", strength=1e-9)
    np.testing.assert_allclose(weaker.coefficients, weak.coefficients, rtol=1e-9)


def test_a_ridge_above_its_noise_is_not_repaired():
    result = fit(made(DESIGN, ROWS[300], sigma=0.5).release, penalty="ridge", strength=1e-6)
    assert result.repair == 0.0
    assert result.ridge == 1e-6 * result.nobs


def test_the_repair_is_said():
    result = fit(repaired_release(), penalty="ridge", strength=1e-6)
    assert result.to_dict()["repair"] == result.repair > 0
    assert f"so {result.repair:.6g} was added to their diagonal" in " ".join(result.summary().split())
    plain = fit(made(DESIGN, ROWS[300], sigma=0.5).release, penalty="ridge", strength=1e-6)
    assert plain.to_dict()["repair"] == 0.0
    assert "Repaired" not in plain.summary()


# -- a table too small to be counted ---------------------------------------------------------------------------------


def tiny_release(seed=0):
    release = made(DESIGN, ROWS[20], sigma=50.0, seed=seed).release
    assert problem_of(release).intercept_shift > 0
    return release


@pytest.mark.parametrize("penalty", ["ridge", "lasso"])
def test_in_a_table_too_small_to_be_counted_the_intercept_is_lifted_too(penalty):
    release = tiny_release()
    result = fit(release, penalty=penalty, strength=0.5)
    problem = problem_of(release)
    assert result.repair == problem.intercept_shift
    theta, equations = result.scaled_coefficients, problem.equations
    assert (equations.A[0, 0] + result.repair) * theta[0] + equations.A[0, 1:] @ theta[1:] == pytest.approx(
        equations.b[0], rel=1e-9
    )


def test_a_table_without_rows_and_without_noise_has_no_intercept():
    empty = made(DESIGN, {name: [] for name in DESIGN.columns}).release
    for penalty in ("ridge", "lasso"):
        assert not fit(empty, penalty=penalty, strength=0.5).estimable
        assert fit(empty, penalty=penalty, strength=0.5, intercept=False).coefficients.tolist() == [0.0] * 4


def test_sums_that_are_indefinite_without_any_noise_have_no_coefficients():
    release = made(DESIGN, ROWS[20]).release
    totals = list(release.totals)
    # place of the square of a: no table has a negative one
    index = len(release.columns)
    totals[index] = -totals[index]
    broken = dataclasses.replace(release, totals=tuple(totals))
    result = fit(broken, penalty="lasso", strength=0.01)
    assert not result.estimable
    assert "not positive definite" in result.params["a"].reason
