"""The posterior mean: exact where it can be checked, never far from the best, and least squares without noise."""

from __future__ import annotations

import numpy as np
import pytest

import discreet
from discreet.analyst.equations.noise import EntryNoise
from discreet.analyst.equations.normal import normal_equations
from discreet.analyst.solvers import adaptive
from discreet.analyst.solvers.adaptive import (
    gram_variance,
    penalised_gram,
    posterior_mean,
    posterior_solution,
    shrunk_gram,
)
from discreet.design.model_columns import model_of
from discreet.testing import seeded_release
from support.made_releases import FOUR_FEATURES as DESIGN
from support.made_releases import four_features as table
from support.made_releases import made


def equations_of(release, **spec):
    return normal_equations(release, model_of(release.design, **spec))


# -- the variances it rests on ---------------------------------------------------------------------------------------


def entry_variances(noise_map, sd, copies=()):
    """By definition: one entry of the symmetric noise at a time, and its copy with it."""
    out = np.zeros((len(noise_map), len(noise_map)))
    for i, j in zip(*np.triu_indices(len(sd)), strict=True):
        one = np.zeros_like(sd)
        if not (i == j and j in copies):
            one[i, j] = one[j, i] = sd[i, j]
        if i == 0 and j in copies:
            one[j, j] = sd[i, j]
        out += (noise_map @ one @ noise_map.T) ** 2
    return out


@pytest.mark.parametrize("copies", [(), (1, 3)])
@pytest.mark.parametrize("lead", [True, False])
def test_the_variances_of_a_mapped_gram_are_those_of_its_entries(lead, copies):
    random = np.random.default_rng(3)
    size = 4
    noise_map = np.column_stack([random.uniform(-1, 1, size), np.eye(size)]) if lead else np.eye(size)
    sd = random.uniform(0.5, 2, (size + lead, size + lead))
    sd = (sd + sd.T) / 2
    sd[copies, copies] = sd[0, copies]
    got = gram_variance(noise_map, EntryNoise(sd, copies))
    np.testing.assert_allclose(got, entry_variances(noise_map, sd, copies), rtol=1e-12)


def test_a_gram_without_noise_is_not_shrunk_and_one_that_is_all_noise_becomes_its_mean():
    gram = np.array([[4.0, 1.0, 0.0], [1.0, 2.0, -1.0], [0.0, -1.0, 3.0]])
    same, left = shrunk_gram(gram, np.zeros((3, 3)))
    np.testing.assert_allclose(same, gram)
    np.testing.assert_allclose(left, 1.0)
    flat, left = shrunk_gram(gram, np.full((3, 3), 1e6))
    np.testing.assert_allclose(flat, 3 * np.eye(3))
    np.testing.assert_allclose(left, 0.0)


def test_two_entries_on_the_diagonal_say_nothing_about_their_spread():
    gram = np.array([[4.0, 1.0], [1.0, 2.0]])
    same, left = shrunk_gram(gram, np.full((2, 2), 1e6))
    assert same is gram
    np.testing.assert_allclose(left, 1.0)


# -- the posterior mean ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
def test_without_noise_it_is_all_but_least_squares(intercept):
    release = made(DESIGN, table(3_000)).release
    best = discreet.fit(release, intercept=intercept)
    posterior = discreet.fit(release, intercept=intercept, penalty="bayes")
    gap = posterior.scaled_coefficients - best.scaled_coefficients
    # the prior weighs as much as a few rows
    assert np.abs(gap).max() < 0.02 * np.abs(best.scaled_coefficients).max()


def test_under_noise_that_hides_everything_the_slopes_are_all_but_0():
    release = made(DESIGN, table(100), sigma=1e4).release
    assert np.abs(discreet.fit(release, penalty="bayes").scaled_coefficients).max() < 0.2


def test_a_model_without_features_has_an_intercept_only():
    release = made(DESIGN, table(500), sigma=3.0).release
    alone = discreet.fit(release, features=[], penalty="bayes")
    assert alone.names == ("Intercept",)
    mean = release.moments[0, -1] / release.moments[0, 0]
    assert alone.scaled_coefficients[0] == pytest.approx(mean)


def test_columns_that_are_all_0_get_the_slope_0():
    source = {name: np.full(50, (low + high) / 2) for name, (low, high) in {"x": (0, 2), "y": (-1, 1)}.items()}
    design = discreet.Design("y", {"x": (0, 2), "y": (-1, 1)})
    release = discreet.testing.exact_release(source, design)  # NOT PRIVATE
    assert discreet.fit(release, penalty="bayes").params["x"] == 0


def test_one_prior_of_one_column_is_the_formula_on_paper(monkeypatch):
    monkeypatch.setattr("discreet.analyst.solvers.adaptive._POWERS", (0.0,))
    monkeypatch.setattr("discreet.analyst.solvers.adaptive._SIZES", np.array([0.5]))
    design = discreet.Design("y", {"x": (-1, 1), "y": (-1, 1)}, intercept=False)
    random = np.random.default_rng(1)
    x = random.uniform(-1, 1, 400)
    source = {"x": x, "y": np.clip(0.5 * x + random.normal(0, 0.2, 400), -1, 1)}
    release = made(design, source, sigma=5.0).release
    equations = equations_of(release)
    about = penalised_gram(equations, release.digest)
    gram, right, square = float(about.gram[0, 0]), float(about.right[0]), about.square
    own, cross = equations.block_sd[1, 1] ** 2, equations.block_sd[1, 2] ** 2
    prior = 0.5 * square / gram
    C = prior * (gram**2 + own) + 0.5 * square / equations.nobs * gram + cross
    assert posterior_mean(about, equations)[0] == pytest.approx(prior * gram * right / C, rel=1e-9)


def correlated_columns():
    """Five columns that use a quarter of their bounds and share most of what they say, as real tables do."""
    random = np.random.default_rng(7)
    common = random.normal(size=1_000)
    columns = {name: np.clip(0.1 * common + 0.05 * random.normal(size=1_000), -1, 1) for name in "abcde"}
    noise = 0.1 * random.normal(size=1_000)
    return {**columns, "y": np.clip(0.2 * common + noise, -1, 1)}


@pytest.mark.slow
def test_it_predicts_better_than_every_other_penalty_on_correlated_columns():
    # 40 releases with fixed seeds: the mean paired gain is several times its own standard error
    design = discreet.Design("y", dict.fromkeys("abcdey", (-1, 1)))
    columns = correlated_columns()
    exact = equations_of(made(design, columns).release)
    truth = np.linalg.solve(exact.A, exact.b)
    errors = {"bayes": [], "adaptive": [], "ridge": []}
    for seed in range(40):
        release = made(design, columns, sigma=3.0, seed=seed).release
        for penalty, found in errors.items():
            strength = "criterion" if penalty == "ridge" else None
            gap = discreet.fit(release, penalty=penalty, strength=strength).scaled_coefficients - truth
            found.append(float(gap @ exact.A @ gap))
    bayes = np.array(errors.pop("bayes"))
    for other in errors.values():
        gain = np.array(other) - bayes
        assert gain.mean() > 3 * gain.std() / np.sqrt(len(gain))


def test_too_few_rows_to_be_counted_shrink_the_intercept_too():
    release = made(DESIGN, table(5), sigma=100.0).release
    equations = equations_of(release)
    assert penalised_gram(equations, release.digest).penalised[0]
    assert len(posterior_solution(equations, release.digest).exact) == 5


# -- what is said about it -------------------------------------------------------------------------------------------


def test_it_has_no_intervals_and_says_which_penalties_have():
    release = made(DESIGN, table(500), sigma=3.0).release
    summary = discreet.fit(release, penalty="bayes").summary()
    assert "posterior mean has no intervals" in summary
    assert "shrunk towards 0 for better predictions" in summary


def test_least_squares_that_bounds_nothing_names_the_penalty_that_predicts():
    design = discreet.Design("y", {"x": (-1, 1), "y": (-1, 1)})
    rows = {"x": [0.1, -0.1] * 10, "y": [0.1, -0.1] * 10}
    fits = (discreet.fit(made(design, rows, sigma=10.0, seed=seed).release) for seed in range(100))
    fit = next(fit for fit in fits if fit.estimable and not any(ends.bounded for ends in fit.conf_int().values()))
    said = " ".join(fit.summary().split())
    assert "For predictions, pass penalty='bayes', or release with mechanism='refined'" in said


def test_without_the_targets_sum_of_squares_the_bounds_stand_in_for_it():
    random = np.random.default_rng(2)
    source = {"x": random.uniform(0, 2, 500)}
    source["y"] = source["x"] - 1
    design = discreet.Design("y", {"x": (0, 2), "y": (-1, 1)})
    release = discreet.release(source, design, epsilon=1.0, delta=1e-6, mechanism="ssp")
    assert np.isfinite(discreet.fit(release, penalty="bayes").params["x"])


def staged_columns(rng):
    x = rng.normal(size=(6, 2000)) + rng.normal(size=2000)
    return {f"x{j}": column for j, column in enumerate(x)} | {"y": x.sum(axis=0) + rng.normal(size=2000)}


def test_the_line_of_staged_is_the_centre_of_the_prior(monkeypatch):
    """The noise of its products acts on the distance from that line, so shrinking to 0 predicts worse."""
    design = discreet.Design("y", {**{f"x{j}": (-8, 8) for j in range(6)}, "y": (-60, 60)})
    gaps = []
    for seed in range(20):
        columns = staged_columns(np.random.default_rng([6, seed]))
        release = seeded_release(columns, design, seed=seed, epsilon=1.0, delta=1e-6, mechanism="staged")
        X = np.column_stack([columns[f"x{j}"] for j in range(6)])
        pair = []
        for pilot in (adaptive.pilot_coefficients, lambda equations: np.zeros(len(equations.A))):
            with monkeypatch.context() as patch:
                patch.setattr(adaptive, "pilot_coefficients", pilot)
                slopes = np.array([discreet.fit(release, penalty="bayes").params[f"x{j}"] for j in range(6)])
            pair.append(float(np.mean((X @ (slopes - 1.0)) ** 2)))
        gaps.append(pair)
    gain = np.log(np.array(gaps)) @ [-1, 1]
    assert gain.mean() > 3 * gain.std() / np.sqrt(len(gain))


@pytest.mark.parametrize(("target", "features", "known"), [
    ("y", ["x3", "x1"], True), ("x2", ["x3", "x1"], False), ("y", [], True), ("x2", ["x3", "y"], False),
])  # fmt: skip
def test_the_line_of_staged_is_that_of_the_declared_target(target, features, known):
    design = discreet.Design("y", {**{f"x{j}": (-8, 8) for j in range(6)}, "y": (-60, 60)})
    columns = staged_columns(np.random.default_rng(8))
    release = seeded_release(columns, design, seed=1, epsilon=3.0, delta=1e-6, mechanism="staged")
    assert release.staged is not None
    places = [0, *(1 + int(name[1:]) for name in features if name != "y")]
    expected = [release.staged.line[place] for place in places] if known else [0.0] * (1 + len(features))
    found = equations_of(release, target=target, features=features)
    assert adaptive.pilot_coefficients(found).tolist() == expected
    assert np.isfinite(discreet.fit(release, target=target, features=features, penalty="bayes").coefficients).all()
