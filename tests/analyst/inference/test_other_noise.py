"""Noise of other families: the law that errors are held against, and how large its matrices are."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from discreet.analyst.equations.noise_draws import noise_draws
from discreet.analyst.equations.noise_norm import ensemble_edge, noise_norm_quantile
from discreet.analyst.equations.normal import normal_equations
from discreet.analyst.equations.selection import choose
from discreet.analyst.inference.nuisance import reference_tail
from discreet.analyst.inference.reference_law import critical_value, family_of, tail_probability
from discreet.analyst.inference.tests import open_coefficients
from discreet.analyst.model import fit
from discreet.analyst.solvers.penalised_gram import penalised_gram
from discreet.releases import NoiseLaw
from support.made_releases import made
from support.other_releases import DESIGN, rows
from support.simulated import NoisyReleases, Population, fitted

FALSE_ALARM = 1e-9
LAWS = {
    "discrete-gaussian": NoiseLaw(16, {}, "none"),
    "discrete-laplace": NoiseLaw(16, {}, "pure", "discrete-laplace"),
    "k-norm": NoiseLaw(16, {}, "pure", "k-norm", {"dimension": 9}),
    "k-norm of all": NoiseLaw(16, {}, "pure", "k-norm", {"dimension": 5}),
    "wishart": NoiseLaw(16, {}, "chi-square", "wishart", {"degrees": 12}),
    "wishart of few": NoiseLaw(16, {}, "chi-square", "wishart", {"degrees": 2}),
}
# a public count has no noise
SD = np.array([[0.0, 1.0, 2.0], [1.0, 3.0, 0.5], [2.0, 0.5, 1.0]])
TRIALS = 40_000


def test_every_family_has_its_reference():
    families = {name: family_of(law.family) for name, law in LAWS.items()}
    assert {name for name, family in families.items() if family == "laplace"} == {
        "discrete-laplace", "k-norm", "k-norm of all",
    }  # fmt: skip


# -- draws -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LAWS)
def test_drawn_noise_has_the_deviations_asked_for_and_no_correlations(name):
    """Second moments within 6.5 standard errors, estimated from the draws; the diagonal sd of `wishart` is its own."""
    drawn = noise_draws(LAWS[name], SD, np.random.PCG64(7), TRIALS)
    assert drawn.shape == (TRIALS, 3, 3)
    np.testing.assert_array_equal(drawn, drawn.transpose(0, 2, 1))
    upper = drawn[:, *np.triu_indices(3)]
    wanted = SD[np.triu_indices(3)]
    assert not upper[:, 0].any()
    products = upper[:, 1:, None] * upper[:, None, 1:]
    error = products.std(axis=0) / math.sqrt(TRIALS)
    assert (np.abs(products.mean(axis=0) - np.diag(wanted[1:] ** 2)) < 6.5 * error).all()
    assert np.abs(upper.mean(axis=0)).max() < 6.5 * 3 / math.sqrt(TRIALS)
    # a deviation that is 5 % off would be found out
    off = np.diag(products.mean(axis=0)) - (1.05 * wanted[1:]) ** 2
    assert (np.abs(off) > 6.5 * np.diag(error)).any()


def test_drawn_noise_has_the_law_of_its_family():
    def upper(name):
        return noise_draws(LAWS[name], np.ones((2, 2)), np.random.PCG64(8), 20_000)[:, *np.triu_indices(2)]

    laplace = upper("discrete-laplace")
    assert stats.kstest(laplace.ravel(), stats.laplace(scale=2**-0.5).cdf).pvalue > FALSE_ALARM
    assert stats.kstest(laplace.ravel(), "norm").pvalue < FALSE_ALARM
    # all three entries of a K-norm vector in three dimensions: its length has a gamma law
    law = NoiseLaw(16, {}, "pure", "k-norm", {"dimension": 3})
    vectors = noise_draws(law, np.ones((2, 2)), np.random.PCG64(9), 20_000)[:, *np.triu_indices(2)]
    lengths = np.linalg.norm(vectors, axis=1) * 2.0  # sd 1 is sqrt(3 + 1) scales
    assert stats.kstest(lengths, stats.gamma(3).cdf).pvalue > FALSE_ALARM
    assert stats.kstest(lengths, stats.gamma(2.8).cdf).pvalue < FALSE_ALARM
    # two of nine coordinates: the angle says nothing, and the kurtosis is 3 (9 + 3) / (9 + 1)
    some = upper("k-norm")
    assert float((some[:, 0] ** 4).mean()) == pytest.approx(3.6, abs=0.35)
    # a diagonal entry of a Wishart matrix is a chi-square variate
    sd = np.sqrt(12 * (1 + np.eye(2)))
    wishart = noise_draws(LAWS["wishart"], sd, np.random.PCG64(10), 20_000)
    for index in (0, 1):
        assert stats.kstest(wishart[:, index, index] + 12, stats.chi2(12).cdf).pvalue > FALSE_ALARM


@pytest.mark.parametrize("name", ["discrete-laplace", "k-norm", "wishart"])
def test_noise_exceeds_its_quantile_one_time_in_twenty(name):
    """As for Gaussian noise; the chance of a new norm to exceed a rank of 399 has a beta law, whatever the norms'."""
    size, trials = 4, 4000
    law = replace(LAWS[name], parameters={"dimension": 10, "degrees": 6})
    sd = np.sqrt(1 + np.eye(size))
    q = noise_norm_quantile(sd, np.eye(size), "sha256:test", law)
    norms = np.linalg.norm(noise_draws(law, sd, np.random.PCG64(4), trials), ord=2, axis=(1, 2))
    found = int((norms > q).sum())
    band = stats.betabinom(trials, 20, 380)
    assert band.ppf(FALSE_ALARM / 2) <= found <= band.isf(FALSE_ALARM / 2)
    assert (norms > 0.7 * q).sum() > band.isf(FALSE_ALARM / 2)
    assert q == noise_norm_quantile(sd, np.eye(size), "sha256:test", law)
    # heavier tails reach further than Gaussian ones of the same deviations
    assert q > noise_norm_quantile(sd, np.eye(size), "sha256:test")


@pytest.mark.parametrize("name", ["discrete-laplace", "k-norm", "wishart"])
def test_the_edge_beyond_a_hundred_rows_is_a_little_above_the_quantile(name):
    size = 110
    law = replace(LAWS[name], parameters={"dimension": size * (size + 1) // 2, "degrees": 300})
    sd = np.sqrt(1 + np.eye(size))
    norms = np.sort(
        [np.abs(np.linalg.eigvalsh(one)[[0, -1]]).max() for one in noise_draws(law, sd, np.random.PCG64(3), 39)]
    )
    assert norms[36] < ensemble_edge(sd, np.eye(size), law) < 1.25 * norms[36]


def test_the_repair_uses_the_family_of_the_release():
    release = made(DESIGN, rows(DESIGN, 100), sigma=3.0).release
    norms = []
    for family, factor in (("discrete-gaussian", 1.0), ("discrete-laplace", 2**-0.5)):
        sigma = {block: round(scale * factor) for block, scale in release.noise.sigma.items()}
        other = replace(release, noise=replace(release.noise, family=family, sigma=sigma))
        equations = normal_equations(other, choose(other))
        norms.append(penalised_gram(equations, "one digest").noise_norm)
    assert norms[0] != norms[1]
    assert norms[0] == pytest.approx(norms[1], rel=0.3)


# -- errors ----------------------------------------------------------------------------------------------------------


def laplace_release(sigma=2.0, count=400):
    release = made(DESIGN, rows(DESIGN, count), sigma=sigma).release
    return release, replace(release, noise=replace(release.noise, family="discrete-laplace"))


def test_p_values_and_intervals_come_from_the_same_law():
    result = fit(laplace_release()[1])
    for name, statistic in result.score_z.items():
        df = result.df_resid
        kappa = result._contrasts.beside[result.names.index(name)].kappa
        assert result.pvalues[name] == reference_tail(tail_probability(statistic, "laplace", df), kappa, 1)
    for level in (0.5, 0.9, 0.95, 0.99):
        low, high = result.conf_int(level)["a"]
        for end in (low, high):
            (p,) = result.t_test({"a": end}).pvalue.values()
            assert p == pytest.approx(1 - level, rel=1e-6)
        if level >= 0.95:
            assert critical_value(level, "laplace", df) > critical_value(level, "gaussian", df)


def test_a_joint_test_of_one_hypothesis_is_the_single_one_and_no_joint_one_is_sharper_than_bonferroni():
    result = fit(laplace_release()[1])
    gaussian = replace(result, release=laplace_release()[0])
    values = dict(result.params)
    # at small noise score and sandwich agree
    quiet = fit(laplace_release(sigma=1e-3)[1])
    (single,) = quiet.t_test({"a": quiet.params["a"] + 3 * quiet.bse["a"]}).pvalue.values()
    assert quiet.wald_test({"a": quiet.params["a"] + 3 * quiet.bse["a"]}).pvalue == pytest.approx(single, rel=1e-3)
    for steps in (0.5, 2.0, 4.0):
        claim = {name: values[name] + steps * result.bse[name] for name in ("a", "b")}
        for use_f in (True, False):
            heavy, light = result.wald_test(claim, use_f=use_f), gaussian.wald_test(claim, use_f=use_f)
            assert heavy.statistic == light.statistic
            assert heavy.pvalue >= light.pvalue
            wald = heavy.statistic * (2 if use_f else 1)
            least = min(1.0, 2 * tail_probability(math.sqrt(wald / 2), "laplace", result.df_resid))
            about = result._combined(tuple(claim), np.eye(len(values))[[*map(result.names.index, claim)]])
            kappa = open_coefficients(about, -np.array([steps * result.bse[name] for name in claim]) / about.scale)[1]
            assert heavy.pvalue == pytest.approx(max(light.pvalue, reference_tail(least, kappa, 2)), rel=1e-12)


def test_simultaneous_intervals_fall_back_on_bonferroni():
    result = fit(laplace_release()[1])
    assert dict(result.conf_int(simultaneous="max-t")) == dict(result.conf_int(simultaneous="bonferroni"))
    gaussian = fit(laplace_release()[0])
    assert dict(gaussian.conf_int(simultaneous="max-t")) != dict(gaussian.conf_int(simultaneous="bonferroni"))


@pytest.mark.parametrize("name", ["laplace", "k-norm"])
def test_intervals_under_epsilon_alone_cover(name):
    """d = 1, n = 1,000, epsilon = 1, noise above sampling: false alarm 1e-9 for 93.5 to 99 % true coverage.

    Intervals without the noise leave the band.
    """
    random = np.random.default_rng(5)
    population = Population(1)
    noisy = NoisyReleases(population.design(), [1.0], 0.0, name)
    runs, covered, naive = 300, dict.fromkeys(population.truth, 0), dict.fromkeys(population.truth, 0)
    for _ in range(runs):
        result = fitted(noisy.at(noisy.exact(population.table(1000, random)), 1.0, random))
        for coefficient, (low, high) in result.conf_int().items():
            truth = population.truth[coefficient]
            covered[coefficient] += low <= truth <= high
            naive[coefficient] += abs(result.params[coefficient] - truth) <= 1.96 * result.sampling_sd[coefficient]
    for coefficient, count in covered.items():
        assert stats.binom.ppf(FALSE_ALARM / 2, runs, 0.935) <= count <= stats.binom.isf(FALSE_ALARM / 2, runs, 0.99)
        assert naive[coefficient] < stats.binom.ppf(FALSE_ALARM / 2, runs, 0.935)
