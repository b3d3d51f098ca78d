"""Noise of other families: the distribution that errors are held against, and how large its matrices are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from discreet.analyst.equations.noise import EntryNoise, ensemble_edge, noise_draws, noise_norm_quantile
from discreet.analyst.equations.normal import normal_equations
from discreet.analyst.inference.nuisance import reference_tail
from discreet.analyst.model import fit
from discreet.analyst.solvers.adaptive import penalised_gram
from discreet.design.model_columns import model_of
from discreet.releases.reference_distribution import critical_value, tail_probability
from support.made_releases import made
from support.noise_distributions import LAWS, laplace_release
from support.other_releases import DESIGN, rows
from support.simulated import NoisyReleases, Population, fitted

FALSE_ALARM = 1e-9


# -- draws -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["discrete-laplace", "k-norm", "wishart"])
def test_noise_exceeds_its_quantile_one_time_in_twenty(name):
    """As for Gaussian noise; the chance of a new norm to exceed a rank of 399 has a beta distribution, whatever the
    norms'."""
    size, trials = 4, 4000
    distribution = replace(LAWS[name], parameters={"dimension": 10, "degrees": 6})
    sd = np.sqrt(1 + np.eye(size))
    q = noise_norm_quantile(EntryNoise(sd), np.eye(size), "sha256:test", distribution)
    norms = np.linalg.norm(noise_draws(distribution, EntryNoise(sd), np.random.PCG64(4), trials), ord=2, axis=(1, 2))
    found = int((norms > q).sum())
    band = stats.betabinom(trials, 20, 380)
    assert band.ppf(FALSE_ALARM / 2) <= found <= band.isf(FALSE_ALARM / 2)
    assert (norms > 0.7 * q).sum() > band.isf(FALSE_ALARM / 2)
    assert q == noise_norm_quantile(EntryNoise(sd), np.eye(size), "sha256:test", distribution)
    # heavier tails reach further than Gaussian ones of the same deviations
    assert q > noise_norm_quantile(EntryNoise(sd), np.eye(size), "sha256:test")


@pytest.mark.parametrize("name", ["discrete-laplace", "k-norm", "wishart"])
def test_the_edge_beyond_a_hundred_rows_is_a_little_above_the_quantile(name):
    size = 110
    distribution = replace(LAWS[name], parameters={"dimension": size * (size + 1) // 2, "degrees": 300})
    sd = np.sqrt(1 + np.eye(size))
    norms = np.sort(
        [
            np.abs(np.linalg.eigvalsh(one)[[0, -1]]).max()
            for one in noise_draws(distribution, EntryNoise(sd), np.random.PCG64(3), 39)
        ]
    )
    assert norms[36] < ensemble_edge(sd, np.eye(size), distribution) < 1.25 * norms[36]


def test_the_repair_uses_the_family_of_the_release():
    release = made(DESIGN, rows(DESIGN, 100), sigma=3.0).release
    norms = []
    for family, factor in (("discrete-gaussian", 1.0), ("discrete-laplace", 2**-0.5)):
        sigma = {block: round(scale * factor) for block, scale in release.noise.sigma.items()}
        other = replace(release, noise=replace(release.noise, family=family, sigma=sigma))
        equations = normal_equations(other, model_of(other.design))
        norms.append(penalised_gram(equations, "one digest").noise_norm)
    assert norms[0] != norms[1]
    assert norms[0] == pytest.approx(norms[1], rel=0.3)


# -- errors ----------------------------------------------------------------------------------------------------------


def test_p_values_and_intervals_come_from_the_same_distribution():
    result = fit(laplace_release()[1])
    for name, statistic in result.score_z.items():
        df = result.df_resid
        kappa = result._contrasts.nuisances[result.names.index(name)].kappa
        assert result.pvalues[name] == reference_tail(tail_probability(statistic, "laplace", df), kappa, 1)
    for level in (0.5, 0.9, 0.95, 0.99):
        low, high = result.conf_int(level)["a"]
        for end in (low, high):
            (p,) = result.t_test({"a": end}).pvalue.values()
            assert p == pytest.approx(1 - level, rel=1e-6)
        if level >= 0.95:
            assert critical_value(level, "laplace", df) > critical_value(level, "gaussian", df)


def test_simultaneous_intervals_fall_back_on_bonferroni():
    result = fit(laplace_release()[1])
    assert dict(result.conf_int(simultaneous="max-t")) == dict(result.conf_int(simultaneous="bonferroni"))
    gaussian = fit(laplace_release()[0])
    assert dict(gaussian.conf_int(simultaneous="max-t")) != dict(gaussian.conf_int(simultaneous="bonferroni"))


@pytest.mark.no_cover
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
