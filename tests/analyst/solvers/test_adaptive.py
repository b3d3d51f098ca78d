"""The adaptive ridge: as large as the noise calls for, and the same for everyone who reads the file."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

from discreet.analyst.equations.noise_norm import _draws, _norms, ensemble_edge, noise_norm_quantile
from discreet.analyst.equations.normal import normal_equations
from discreet.analyst.equations.seeded import standard_normals
from discreet.analyst.equations.selection import choose
from discreet.analyst.model import fit
from discreet.analyst.solvers.adaptive import EIGENVALUE, adaptive_ridge, released_bound
from discreet.analyst.solvers.penalised_gram import penalised_gram
from discreet.analyst.values.not_estimable import NotEstimableError
from discreet.design.model import Design
from support.made_releases import FOUR_FEATURES as DESIGN
from support.made_releases import four_features as table
from support.made_releases import made

FALSE_ALARM = 1e-9
FEATURES = ["a", "b", "c", "flag"]


def equations_of(release, **spec):
    return normal_equations(release, choose(release, **spec))


def goe(size, sd=1.0):
    """Entry deviations of the rotation-invariant ensemble: sqrt(2) larger on the diagonal."""
    return sd * (np.ones((size, size)) + (math.sqrt(2) - 1) * np.eye(size))


# -- the quantile ----------------------------------------------------------------------------------------------------


def exceedances_expected(draws, trials):
    """Acceptance range for how often `trials` norms exceed the quantile of `draws`, false alarm FALSE_ALARM.

    The chance that a new norm exceeds the norm of rank 0.95 (B+1) among B has the law Beta(0.05 (B+1), 0.95 (B+1)),
    whatever the law of the norms.
    """
    above = (draws + 1) // 20
    law = stats.betabinom(trials, above, draws + 1 - above)
    return law.ppf(FALSE_ALARM / 2), law.isf(FALSE_ALARM / 2)


@pytest.mark.parametrize("size", [3, 8, 20])
def test_noise_exceeds_its_quantile_one_time_in_twenty_and_a_wrong_quantile_is_found_out(size):
    sd = np.abs(np.random.default_rng(size).normal(1, 0.3, (size, size)))
    sd = np.maximum(sd, sd.T)
    q = noise_norm_quantile(sd, np.eye(size), "sha256:test")
    trials = 4000
    random = np.random.default_rng(17)
    upper = np.triu(random.standard_normal((trials, size, size)) * sd)
    norms = np.linalg.norm(upper + np.triu(upper, 1).transpose(0, 2, 1), ord=2, axis=(1, 2))
    low, high = exceedances_expected(_draws(size), trials)
    assert low <= np.sum(norms > q) <= high
    assert np.sum(norms > 0.7 * q) > high
    assert np.sum(norms > 1.8 * q) < low


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


def test_the_quantile_grows_in_proportion_to_the_noise():
    one = noise_norm_quantile(goe(6), np.eye(6), "d")
    assert noise_norm_quantile(goe(6, 2.0), np.eye(6), "d") == pytest.approx(2 * one, rel=1e-12)
    # more noise in one entry, same random numbers
    more = goe(6)
    more[2, 3] = more[3, 2] = 3.0
    assert noise_norm_quantile(more, np.eye(6), "d") > one


def test_one_fingerprint_gives_one_quantile_and_another_a_slightly_different_one():
    first = noise_norm_quantile(goe(6), np.eye(6), "sha256:a")
    assert first == noise_norm_quantile(goe(6), np.eye(6), "sha256:a")
    second = noise_norm_quantile(goe(6), np.eye(6), "sha256:b")
    assert first != second
    assert first == pytest.approx(second, rel=0.15)


@pytest.mark.parametrize(("small", "large"), [(20, 21), (100, 101)])
def test_cheaper_rules_for_larger_matrices_change_little_and_meet_the_edge_of_the_ensemble(small, large):
    few, many = (noise_norm_quantile(goe(size), np.eye(size), "d") for size in (large, small))
    assert few == pytest.approx(many, rel=0.06)
    # the spectrum ends at 2 sqrt(d) with fluctuations of order d**(-1/6): Tracy and Widom's 95 % point of two ends
    assert 2 * math.sqrt(small) < many < 2 * math.sqrt(small) + 2.0 * small ** (-1 / 6)


@pytest.mark.parametrize("shift", [0.0, 0.1, 0.5, 1.0])
def test_the_edge_is_a_little_above_the_simulated_quantile(shift):
    """Beyond 100 rows; noise as a release has it: the sums and the count are quieter than the products."""
    size = 120
    sd = goe(size + 1, 30.0)
    sd[0, :] = sd[:, 0] = 5.0
    sd[0, 0] = 0.8
    noise_map = np.column_stack([np.full(size, shift), np.eye(size)])
    norms = np.sort(np.concatenate(list(_norms(sd, noise_map, 39, "d"))))
    assert norms[36] < ensemble_edge(sd, noise_map) < 1.35 * norms[36]
    assert noise_norm_quantile(sd, noise_map, "d") == ensemble_edge(sd, noise_map)


@pytest.mark.parametrize("size", [1, 20, 21, 100])
def test_the_number_of_draws_makes_the_rank_a_whole_number(size):
    assert (_draws(size) + 1) % 20 == 0


def test_batches_do_not_change_the_draws():
    norms = np.concatenate(list(_norms(goe(60), np.eye(60), 599, "d")))
    assert len(norms) == 599
    assert len(list(_norms(goe(60), np.eye(60), 599, "d"))) == 2
    np.testing.assert_allclose(norms[:5], next(_norms(goe(60), np.eye(60), 5, "d")), rtol=1e-12)


@pytest.mark.parametrize("entries", [1, 2, 7])
def test_the_normal_variates_are_normal(entries):
    values = standard_normals(np.random.PCG64(3), 20_000, entries)
    assert values.shape == (20_000, entries)
    assert np.isfinite(values).all()
    assert stats.kstest(values.ravel(), "norm").pvalue > FALSE_ALARM
    assert stats.kstest(values.ravel() * 1.1, "norm").pvalue < FALSE_ALARM
    correlation = np.corrcoef(np.vstack([values.T, np.roll(values[:, 0], 1)]))
    # 6 standard errors of a correlation of independent variates
    assert np.abs(correlation - np.eye(entries + 1)).max() < 6.5 / math.sqrt(20_000)


def test_the_stream_of_variates_is_the_one_that_files_rely_on():
    np.testing.assert_allclose(standard_normals(np.random.PCG64(3), 1, 4)[0], GOLDEN_NORMALS, rtol=1e-12)


GOLDEN_NORMALS = [0.7019457487911144, -1.47615236508088, -2.102917906665405, -0.8378330447270018]


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
    model = choose(release, intercept=intercept)
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
    bound = released_bound(release, choose(release))
    assert bound < 0
    plain = adaptive_ridge(equations, release.digest)
    assert adaptive_ridge(equations, release.digest, bound).ridge == plain.ridge > 0


def test_the_released_eigenvalue_says_nothing_of_a_model_that_has_the_target_among_its_features():
    release = with_eigenvalue(made(DESIGN, table(300), sigma=12.0), 50.0, 1.0)
    assert released_bound(release, choose(release, target="a")) == -math.inf
    assert released_bound(release, choose(release, target="a", features=["b"])) > 0
    assert released_bound(made(DESIGN, table(300), sigma=12.0).release, choose(release)) == -math.inf


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
