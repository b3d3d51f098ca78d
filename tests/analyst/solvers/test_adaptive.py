"""The adaptive ridge: as large as the noise calls for, and the same for everyone who reads the file."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

from discreet.analyst.confidence_sets import NotEstimableError
from discreet.analyst.equations.normal import normal_equations
from discreet.analyst.model import fit
from discreet.analyst.solvers.adaptive import EIGENVALUE, adaptive_ridge, penalised_gram, released_bound
from discreet.design.design import Design
from discreet.design.model_columns import model_of
from support.made_releases import FOUR_FEATURES as DESIGN
from support.made_releases import four_features as table
from support.made_releases import made
from support.quantile_range import exceedances_expected

FEATURES = ["a", "b", "c", "flag"]


def equations_of(release, **spec):
    return normal_equations(release, model_of(release.design, **spec))


# -- the quantile ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
def test_the_noise_of_the_gram_that_is_penalised_exceeds_its_quantile_one_time_in_twenty(intercept):
    # the partialled Gram of noisy sums, not its linearisation: with 500 rows the two are close
    source = made(DESIGN, table(500), sigma=3.0)
    equations = equations_of(source.release, intercept=intercept)
    q = adaptive_ridge(equations, source.release.digest).noise_norm
    true = equations_of(made(DESIGN, table(500)).release, intercept=intercept)
    trials = 3000
    random = np.random.default_rng(5)
    upper = np.triu(random.standard_normal((trials, 5, 5)) * equations.block_sd[:-1, :-1])
    E = upper + np.triu(upper, 1).transpose(0, 2, 1)

    def partialled(M):
        return M[..., 1:, 1:] - M[..., 1:, :1] * M[..., :1, 1:] / M[..., :1, :1]

    if intercept:
        errors = partialled(true.A + E) - partialled(true.A)
    else:
        C = np.column_stack([true.shift[:-1], np.eye(4)])
        errors = C @ E @ C.T
    norms = np.linalg.norm(errors, ord=2, axis=(1, 2))
    low, high = exceedances_expected(399, trials)
    assert low <= np.sum(norms > q) <= high
    assert np.sum(norms > 0.7 * q) > high


# -- the rule --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", [0.1, 3.0, 12.0, 30.0, 100.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_ridge_is_what_the_rule_says(sigma, intercept):
    source = made(DESIGN, table(300), sigma=sigma, seed=2)
    equations = equations_of(source.release, intercept=intercept)
    rule = adaptive_ridge(equations, source.release.digest)
    A = equations.A
    gram = A[1:, 1:] - np.outer(A[0, 1:], A[0, 1:]) / A[0, 0] if not rule.penalised[0] else A
    assert rule.smallest == pytest.approx(np.linalg.eigvalsh(gram)[0], abs=1e-9)
    q = rule.noise_norm
    formula = max(0.0, 2 * q - max(0.0, rule.smallest - q))
    assert rule.ridge == pytest.approx(max(formula, q - rule.smallest))
    assert rule.smallest + rule.ridge > 0.99 * q


def test_tiny_noise_needs_no_ridge_and_gives_least_squares():
    release = made(DESIGN, table(300), sigma=1e-6).release
    adaptive, plain = fit(release, penalty="adaptive"), fit(release)
    assert adaptive.ridge == 0.0
    np.testing.assert_array_equal(adaptive.coefficients, plain.coefficients)


def test_no_noise_needs_no_ridge():
    release = made(DESIGN, table(50)).release
    rule = adaptive_ridge(equations_of(release), release.digest)
    assert (rule.ridge, rule.noise_norm) == (0.0, 0.0)


def test_a_repeated_column_without_noise_has_no_coefficients_as_in_least_squares():
    rows = table(50)
    design = Design("y", {**DESIGN.columns, "again": (-1, 1)})
    release = made(design, rows | {"again": rows["a"]}).release
    for penalty in ("none", "adaptive"):
        assert not fit(release, penalty=penalty).estimable
    noisy = made(design, rows | {"again": rows["a"]}, sigma=1e-3).release
    assert np.isfinite(fit(noisy, penalty="adaptive").coefficients).all()


def test_a_gram_below_its_noise_is_lifted_until_it_is_positive_definite():
    release = made(DESIGN, table(300), sigma=1.0).release
    equations = equations_of(release, intercept=False)
    below = dataclasses.replace(equations, whole=-equations.whole)
    rule = adaptive_ridge(below, release.digest)
    assert rule.smallest < -rule.noise_norm
    assert rule.ridge == pytest.approx(rule.noise_norm - rule.smallest)


def test_the_intercept_is_not_pulled_towards_zero():
    release = made(DESIGN, table(300), sigma=12.0, seed=1).release
    rule = adaptive_ridge(equations_of(release), release.digest)
    assert rule.ridge > 0
    assert rule.penalised.tolist() == [False, True, True, True, True]
    result = fit(release, penalty="adaptive")
    theta, moments = result.scaled_coefficients, equations_of(release)
    # its own equation holds without a ridge
    assert moments.A[0] @ theta == pytest.approx(moments.b[0], rel=1e-9)


def test_a_table_too_small_to_be_counted_is_pulled_towards_zero_as_a_whole():
    release = made(DESIGN, table(20), sigma=50.0).release
    rule = adaptive_ridge(equations_of(release), release.digest)
    assert rule.penalised.all()


def test_means_beyond_their_public_range_are_clipped():
    release = made(DESIGN, table(300), sigma=5.0).release
    equations = equations_of(release)
    wild = equations.whole.copy()
    wild[0, 1:-1] *= 50
    wild[1:-1, 0] *= 50
    inside = adaptive_ridge(equations, release.digest).noise_norm
    outside = adaptive_ridge(dataclasses.replace(equations, whole=wild), release.digest).noise_norm
    bound = 5.0 * (1 + math.sqrt(4)) ** 2 * math.sqrt(5)
    assert inside < outside < bound


def test_a_mean_alone_needs_no_ridge():
    release = made(DESIGN, table(300), sigma=5.0).release
    result = fit(release, features=[], penalty="adaptive")
    assert result.ridge == 0.0
    assert result.params["Intercept"] == fit(release, features=[]).params["Intercept"]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("spec", [{}, {"intercept": False}, {"target": "flag"}], ids=str)
@pytest.mark.parametrize("units_public", [True, False])
def test_a_hopeless_release_gives_bounded_coefficients(seed, spec, units_public):
    release = made(DESIGN, table(20), sigma=200.0, seed=seed, units_public=units_public).release
    result = fit(release, penalty="adaptive", **spec)
    assert np.isfinite(result.coefficients).all()
    slopes = result.scaled_coefficients[1 if result.model.intercept else 0 :]
    assert np.abs(slopes).max() < 5
    assert result.ridge > 0


def test_a_hopeless_release_is_not_estimable_without_a_penalty():
    refused = 0
    for seed in range(10):
        release = made(DESIGN, table(20), sigma=200.0, seed=seed).release
        try:
            assert np.isfinite(fit(release).coefficients).all()
        except NotEstimableError:
            refused += 1
    # an indefinite matrix of pure noise is positive definite with probability far below 1/32 at this size
    assert refused >= 9


def test_one_file_gives_one_fit():
    release = made(DESIGN, table(300), sigma=12.0, seed=1).release
    again = type(release).from_json(release.to_json())
    assert fit(release, penalty="adaptive").to_dict() == fit(again, penalty="adaptive").to_dict()
    other = dataclasses.replace(release, made_by="another maker")
    assert fit(other, penalty="adaptive").ridge != fit(release, penalty="adaptive").ridge
    assert fit(other, penalty="adaptive").ridge == pytest.approx(fit(release, penalty="adaptive").ridge, rel=0.5)


# -- an eigenvalue that was released ---------------------------------------------------------------------------------


def with_eigenvalue(source, value, sd):
    """The same release with a noisy smallest eigenvalue of the Gram of (1, x), in scaled units."""
    release = source.release
    unit = 4**release.noise.grid_bits
    noise = dataclasses.replace(release.noise, sigma={**release.noise.sigma, EIGENVALUE: round(sd * unit)})
    return dataclasses.replace(release, noise=noise, scalars={EIGENVALUE: round(value * unit)})


@pytest.mark.parametrize("intercept", [True, False])
def test_a_released_eigenvalue_lowers_the_ridge_by_what_it_is_surely_worth(intercept):
    source = made(DESIGN, table(300), sigma=12.0, seed=2)
    q = adaptive_ridge(equations_of(source.release, intercept=intercept), source.release.digest).noise_norm
    release = with_eigenvalue(source, 1.5 * q, 0.1 * q)
    model = model_of(release.design, intercept=intercept)
    bound = released_bound(release, model)
    assert bound == pytest.approx(1.5 * q - stats.norm.ppf(0.95) * 0.1 * q, rel=1e-6)
    rule = adaptive_ridge(normal_equations(release, model), release.digest, bound)
    assert rule.at_least == max(bound, rule.smallest - rule.noise_norm)
    assert rule.ridge == pytest.approx(max(2 * rule.noise_norm - rule.at_least, rule.noise_norm - rule.smallest))
    assert fit(release, penalty="adaptive", intercept=intercept).ridge == rule.ridge
    without = adaptive_ridge(normal_equations(release, model), release.digest)
    assert rule.ridge < without.ridge
    assert rule.smallest + rule.ridge >= 0.99 * rule.noise_norm


def test_a_released_eigenvalue_below_its_noise_changes_nothing():
    source = made(DESIGN, table(300), sigma=12.0, seed=2)
    release = with_eigenvalue(source, 3.0, 40.0)
    equations = equations_of(release)
    bound = released_bound(release, model_of(release.design))
    assert bound < 0
    plain = adaptive_ridge(equations, release.digest)
    assert adaptive_ridge(equations, release.digest, bound).ridge == plain.ridge > 0


def test_the_released_eigenvalue_says_nothing_of_a_model_that_has_the_target_among_its_features():
    release = with_eigenvalue(made(DESIGN, table(300), sigma=12.0), 50.0, 1.0)
    assert released_bound(release, model_of(release.design, target="a")) == -math.inf
    assert released_bound(release, model_of(release.design, target="a", features=["b"])) > 0
    assert released_bound(made(DESIGN, table(300), sigma=12.0).release, model_of(release.design)) == -math.inf


@pytest.mark.parametrize("trial", range(40))
def test_no_gram_that_is_penalised_has_a_smaller_eigenvalue_than_the_gram_of_all_columns(trial):
    """Sub-models, with the means taken out or moved to another origin: what the bound stands on, without noise."""
    random = np.random.default_rng(trial)
    source = made(DESIGN, table(int(random.integers(5, 60)), seed=trial))
    everything = equations_of(source.release).A
    features = [str(name) for name in random.choice(FEATURES, random.integers(1, 5), replace=False)]
    for intercept in (True, False):
        equations = equations_of(source.release, features=features, intercept=intercept)
        smallest = penalised_gram(equations, "d").smallest
        assert smallest >= np.linalg.eigvalsh(everything)[0] * (1 - 1e-9) - 1e-9
