"""What is open about the other coefficients: closed forms against brute force, and the coverage it is there for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import chdtrc

import discreet
from discreet.analyst.inference.contrasts import unit_map
from discreet.analyst.inference.nuisance import CovarianceRoot, Nuisance, level_given, reference_tail, tail_given
from discreet.analyst.solvers.least_squares import total_sum
from discreet.design.design import Design
from support.made_releases import made
from support.simulated import NoisyReleases

COLUMNS = {"y": (0, 10), "x": (2, 6), "w": (-3, 1), "flag": bool}


def noisy(size, seed, **options):
    random = np.random.default_rng(seed)
    x, w, flag = random.uniform(2, 6, 200), random.uniform(-3, 1, 200), random.random(200) < 0.5
    y = np.clip(1 + x + 0.5 * w + flag + random.normal(0, 0.4, 200), 0, 10)
    rows = {"y": y.tolist(), "x": x.tolist(), "w": w.tolist(), "flag": flag.tolist()}
    return made(Design("y", COLUMNS, **options), rows, sigma=size, seed=seed).release


@pytest.mark.parametrize("case", ["plain", "equal", "zeros", "one", "huge", "hidden"])
def test_roots_are_eigenvalues_of_whole_matrices(case):
    random = np.random.default_rng(len(case))
    for _ in range(20):
        size = 1 if case == "one" else int(random.integers(2, 9))
        growth = np.sort(random.uniform(0, 2, size)) * (1e12 if case == "huge" else 1.0)
        here, along = random.normal(size=(2, size)) * (5.0 if case == "hidden" else 0.3)
        if case == "equal":
            growth[-2:] = growth[-1]
        if case == "zeros":
            here[-1] = along[-1] = growth[0] = 0.0
        beside = Nuisance(0.7, growth, here, along)
        lowered = np.linalg.eigvalsh(np.diag(growth) - np.outer(here, here))[-1]
        assert beside.kappa == pytest.approx(1 / lowered if lowered > 1e-14 else math.inf, rel=1e-9)
        for u, variance in ((0.5, 2.0), (-3.0, 0.1)):
            edge = 0.7 * abs(u) * (here + u * along)
            arrow = np.block([[np.array([[variance]]), edge[None, :]], [edge[:, None], np.diag(u * u * growth)]])
            expected = u * u / np.linalg.eigvalsh(arrow)[-1]
            assert beside.statistic(u, variance) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("hypotheses", [1, 3])
def test_what_hypotheses_leave_open_is_at_right_angles_to_them(hypotheses):
    random = np.random.default_rng(hypotheses)
    root, noise, L = random.normal(size=(6, 6)), random.normal(size=(6, 7)), random.normal(size=(hypotheses, 6))
    steps = CovarianceRoot(root, noise).open_steps(L)
    others = np.linalg.qr((L @ root).T, mode="complete")[0][:, hypotheses:]
    assert steps.shape == (6 - hypotheses, 7)
    # the same space in other coordinates
    assert np.allclose(steps.T @ steps, noise.T @ others @ others.T @ noise, rtol=1e-12, atol=1e-12)


def variance_of(fit, a, theta):
    """a'Omega(theta) a from the definition: the sampling part, and the noise of the sums of (1, features, target)."""
    score, T = fit._score, fit._inputs.basis.equations.block_sd**2
    t = score.contrast + score.noise_map.T @ (fit.scaled_coefficients - theta)
    w = score.noise_map.T @ a
    noise = sum(
        T[i, k] * (w[i] * t[k] + (w[k] * t[i] if i != k else 0.0)) ** 2 for i in range(len(T)) for k in range(i, len(T))
    )
    sampling = a @ np.linalg.inv(score.inverse) @ score.sampling @ np.linalg.inv(score.inverse) @ a
    return sampling + noise


def searched(fit, L, combination, theta0, u):
    """Smallest ratio over steps of the coefficients that L leaves open, by a general search."""
    score = fit._score
    a, S = score.inverse @ combination, score.covariance
    sigma2 = variance_of(fit, a, fit.scaled_coefficients)
    cov = S - S @ L.T @ np.linalg.solve(L @ S @ L.T, L @ S)
    basis = np.linalg.svd(L)[2][len(L) :].T
    weight = np.linalg.inv(basis.T @ cov @ basis)
    root = np.linalg.inv(np.linalg.cholesky(weight)).T

    def ratio(h):
        d = root @ h
        return (u**2 + sigma2 * d @ weight @ d) / variance_of(fit, a, theta0 + basis @ d)

    starts = [np.zeros(basis.shape[1]), *np.random.default_rng(0).normal(size=(4, basis.shape[1]))]
    return min(minimize(ratio, h, method="BFGS", options={"gtol": 1e-9}).fun for h in starts)


@pytest.mark.no_cover
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("size", "seed"), [(10.0, 5), (16.0, 1), (16.0, 3)])
def test_the_statistic_is_the_smallest_over_all_values_of_the_others(size, seed, intercept):
    fit = discreet.fit(noisy(size, seed), intercept=intercept)
    assert fit.estimable
    units, score = unit_map(fit._inputs.units), fit._score
    plain_too = 0
    for index, name in enumerate(fit.names):
        row = units[index]
        v = score.covariance @ row / (row @ score.covariance @ row)
        for value in (fit.params[name] - 2 * fit.bse[name], fit.params[name] + 4 * fit.bse[name]):
            u = value - fit.params[name]
            theta0 = fit.scaled_coefficients + u * v
            (z,) = fit.t_test({name: value}).score_z.values()
            assert z**2 == pytest.approx(searched(fit, row[None, :], row, theta0, u), rel=1e-5)
            plain_too += z**2 < 0.99 * u**2 / variance_of(fit, score.inverse @ row, theta0)
    assert plain_too, "the test needs a case in which the step matters"


@pytest.mark.parametrize(("size", "seed"), [(10.0, 5), (16.0, 3)])
def test_the_joint_statistic_is_the_smallest_too(size, seed):
    fit = discreet.fit(noisy(size, seed))
    score, L = fit._score, unit_map(fit._inputs.units)[[1, 3]]
    values = {"x": fit.params["x"] + 2 * fit.bse["x"], "flag": fit.params["flag"] - fit.bse["flag"]}
    d = np.array([fit.params["x"], fit.params["flag"]]) - list(values.values())
    step = -score.covariance @ L.T @ np.linalg.solve(L @ score.covariance @ L.T, d)
    theta0 = fit.scaled_coefficients + step
    G = np.array([[variance_of(fit, score.inverse @ (p + q), theta0) for p in L] for q in L])
    own = np.array([variance_of(fit, score.inverse @ p, theta0) for p in L])
    G = np.where(np.eye(2) > 0, own, (G - own[:, None] - own) / 2)
    weights = np.linalg.solve(G, d)
    found = searched(fit, L, weights @ L, theta0, float(d @ weights))
    assert fit.wald_test(values, use_f=False).statistic == pytest.approx(found, rel=1e-5)
    assert found < d @ weights


@pytest.mark.parametrize(("size", "seed"), [(10.0, 5), (16.0, 3)])
def test_kappa_is_the_next_root_at_the_estimate(size, seed):
    """Of |h|^2 against what a step h adds to the variance, less what the estimate's own direction takes of it."""
    fit = discreet.fit(noisy(size, seed))
    score, theta = fit._score, fit.scaled_coefficients
    row = fit._contrasts.L[1]
    a, S = score.inverse @ row, score.covariance
    sigma2 = variance_of(fit, a, theta)
    basis = np.linalg.svd(row[None, :])[2][1:].T
    cov = S - np.outer(S @ row, S @ row) / (row @ S @ row)
    steps = basis @ np.linalg.cholesky(basis.T @ cov @ basis)

    def added(h):
        return variance_of(fit, a, theta + steps @ h) / sigma2 - 1

    eye = np.eye(steps.shape[1])
    slope = np.array([(added(h) - added(-h)) / 4 for h in eye])
    square = np.array([[(added(g + h) - added(g) - added(h)) / 2 for g in eye] for h in eye])
    expected = 1 / np.linalg.eigvalsh(square - np.outer(slope, slope))[-1]
    assert fit._contrasts.nuisances[1].kappa == pytest.approx(expected, rel=1e-6)
    assert expected < 30


def test_the_residual_variance_of_the_sampling_part_is_not_above_that_of_the_target():
    seen = 0
    for seed in range(40):
        fit = discreet.fit(noisy(20.0, seed))
        if not fit.estimable or not fit.s2:
            continue
        equations = fit._inputs.basis.equations
        total = total_sum(equations) / fit.df_resid
        scaled = max(min(fit._score.s2, total), 0.0)
        expected = np.sqrt(scaled * np.diag(unit_map(fit._inputs.units) @ fit._score.inverse @ unit_map(equations).T))
        assert list(fit.sampling_sd.values()) == pytest.approx(expected.tolist(), rel=1e-9)
        seen += fit._score.s2 > 1.5 * total
    assert seen, "the test needs a release in which it matters"


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
def test_a_set_holds_what_its_test_keeps_at_every_level(level):
    for size, seed in ((2.0, 1), (6.0, 2), (6.0, 3), (12.0, 4), (12.0, 5)):
        fit = discreet.fit(noisy(size, seed))
        for name, ends in fit.conf_int(level).items():
            for value in np.linspace(-30, 30, 25):
                (p,) = fit.t_test({name: value}).pvalue.values()
                assert ends.contains(value) == (p >= 1 - level)


@pytest.mark.parametrize(("kappa", "count", "x"), [(4.0, 1, 2.0), (1.2, 1, 0.4), (9.0, 2, 5.0), (40.0, 6, 12.0)])
def test_the_distribution_given_kappa(kappa, count, x):
    def density(y):
        return y ** (count / 2 - 1) * math.exp(-y / 2) * math.sqrt(kappa - y)

    expected = quad(density, x, kappa)[0] / quad(density, 0, kappa)[0]
    assert tail_given(x, kappa, count) == pytest.approx(expected, rel=1e-6)
    level = level_given(expected, kappa, count)
    assert level == pytest.approx(chdtrc(count, x), rel=1e-6)
    assert level > expected
    assert reference_tail(level, kappa, count) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("count", [1, 5, 60])
def test_the_distribution_is_chi_square_where_nothing_is_hidden(count):
    for x in (0.3, 4.0, 90.0, 600.0):
        assert tail_given(x, 1e13, count) == pytest.approx(chdtrc(count, x), rel=1e-9)
    assert level_given(0.03, math.inf, count) == 0.03
    assert reference_tail(0.03, math.inf, count) == 0.03


def test_without_noise_all_is_as_in_a_textbook():
    fit = discreet.fit(noisy(0.0, 1))
    (z,) = fit.t_test({"x": 0.0}).score_z.values()
    assert z == pytest.approx(fit.params["x"] / fit.bse["x"], rel=1e-9)
    assert all(math.isinf(one.kappa) for one in fit._contrasts.nuisances)


def one_wide_column(n, random):
    """The bounds of one column are ten times too wide, those of the others and of the target fit."""
    X = random.uniform(-1, 1, (n, 3))
    return {"y": 0.5 + X @ [0.8, -0.6, 0.0] + random.normal(0, 0.5, n), **{f"x{j}": X[:, j] for j in range(3)}}


@pytest.mark.full
@pytest.mark.no_cover
def test_a_hidden_column_does_not_make_the_others_too_sure():
    """Coverage of the others over 1,500 releases, n = 10,000, epsilon 0.5; 87% without counting the hidden one.

    Seeded: at a coverage of 95% a share below 92.8% has a probability of 1e-4.
    """
    random = np.random.default_rng(8)
    design = discreet.Design("y", {"y": (-3.5, 4), "x0": (-10, 10), "x1": (-1, 1), "x2": (-1, 1)})
    noisy_ones = NoisyReleases(design, (0.5,))
    truth = {"Intercept": 0.5, "x0": 0.8, "x1": -0.6, "x2": 0.0}
    covered = dict.fromkeys(truth, 0)
    definite = 0
    exact = [noisy_ones.exact(one_wide_column(10_000, random)) for _ in range(50)]
    for run in range(1500):
        fit = discreet.fit(noisy_ones.at(exact[run % 50], 0.5, random))
        definite += fit.estimable
        for name, p in zip(truth, fit.t_test(truth).pvalue.values(), strict=True):
            covered[name] += p >= 0.05 and fit.estimable
    assert 1000 < definite < 1400
    for name, count in covered.items():
        assert count / definite >= 0.928, f"{name}: {count / definite:.3f}"
