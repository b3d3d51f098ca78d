"""Intervals cover: a quick version of the study, with binomial bands whose false alarms are stated."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet.analyst.model import fit
from discreet.errors import PrivacyNotice
from discreet.releases.reference_distribution import NotEstimable
from support.simulated import NoisyReleases, Population, Tally, fitted

FALSE_ALARM = 1e-9
RUNS = 300


def band(level, runs):
    """Counts of successes that a coverage of `level` leaves with probability FALSE_ALARM at most."""
    return stats.binom.ppf(FALSE_ALARM / 2, runs, level), stats.binom.isf(FALSE_ALARM / 2, runs, level)


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.parametrize(("d", "n", "epsilon"), [(1, 1000, 1.0), (5, 1000, 5.0), (5, 1000, 1.0)])
def test_every_released_coefficient_is_covered_in_95_of_100_runs(d, n, epsilon):
    """Each coefficient apart, so that the runs are independent: false alarm 1e-9 for 93.5 to 97 % true coverage.

    Naive intervals, from the sampling part alone, leave the band.
    """
    random = np.random.default_rng(11)
    population = Population(d)
    noisy = NoisyReleases(population.design(), [epsilon])
    truth = population.truth
    covered, naive, released = dict.fromkeys(truth, 0), dict.fromkeys(truth, 0), dict.fromkeys(truth, 0)
    for _ in range(RUNS):
        result = fitted(noisy.at(noisy.exact(population.table(n, random)), epsilon, random))
        for name, ends in result.conf_int().items():
            if not isinstance(ends, NotEstimable):
                released[name] += 1
                covered[name] += ends.contains(truth[name])
                naive[name] += abs(result.params[name] - truth[name]) <= 1.96 * result.sampling_sd[name]
    for name, runs in released.items():
        assert runs > 0.9 * RUNS
        assert band(0.935, runs)[0] <= covered[name] <= band(0.97, runs)[1]
    assert any(naive[name] < band(0.935, released[name])[0] for name in truth)


@pytest.mark.no_cover
def test_the_public_path_covers_like_the_fast_one():
    """`discreet.release` with its real sampler, d = 1, n = 1,000, epsilon = 1: false alarm 1e-9 for each count."""
    random = np.random.default_rng()
    population = Population(1)
    design = population.design()
    runs, tally, covered = 120, Tally(), dict.fromkeys(population.truth, 0)
    for _ in range(runs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyNotice)
            release = discreet.release(
                population.table(1000, random), design, epsilon=1.0, delta=1e-6, mechanism="gaussian"
            )
        result = discreet.fit(release)
        tally.add(result, population)
        for name, ends in result.conf_int().items():
            assert not isinstance(ends, NotEstimable)
            covered[name] += ends[0] <= population.truth[name] <= ends[1]
    for count in covered.values():
        assert count >= band(0.935, runs)[0]
    assert tally.r2_covered >= band(0.92, tally.r2_released)[0]
    assert 0.2 < np.median(tally.widths) < 0.35, "the width of the fast path is 0.265"


@pytest.mark.no_cover
def test_penalised_intervals_cover_the_penalised_coefficients_not_the_truth():
    """Target (A + pulls)^{-1} A theta of the exact sums, with the pulls of each noisy fit; false alarm 1e-9."""
    random = np.random.default_rng(12)
    population = Population(5)
    noisy = NoisyReleases(population.design(), [0.5])
    runs, covered, plain = 200, 0, 0
    for _ in range(runs):
        exact = noisy.exact(population.table(1000, random))
        result = fit(noisy.at(exact, 0.5, random), penalty="adaptive")
        penalty_diagonal = result._inputs.basis.penalty_diagonal
        assert penalty_diagonal.any()
        equations = fit(exact)._inputs.basis.equations
        scaled = np.append(population.truth["Intercept"] / population.bound, population.beta / population.bound)
        target = np.linalg.solve(equations.A + np.diag(penalty_diagonal), equations.A @ scaled)
        index = result.names.index("x0")
        low, high = result.conf_int()["x0"]
        covered += low <= target[index] * population.bound <= high
        plain += low <= population.truth["x0"] <= high
    assert band(0.92, runs)[0] <= covered <= band(0.98, runs)[1]
    assert plain < band(0.9, runs)[0]


@pytest.mark.full
@pytest.mark.no_cover
def test_simultaneous_intervals_hold_together_and_single_ones_do_not():
    random = np.random.default_rng(13)
    population = Population(5)
    noisy = NoisyReleases(population.design(), [5.0])
    truth = np.array(list(population.truth.values()))
    held = dict.fromkeys(("max-t", "bonferroni", None), 0)
    for _ in range(RUNS):
        result = fit(noisy.at(noisy.exact(population.table(1000, random)), 5.0, random))
        for way in held:
            ends = np.asarray(result.conf_int(simultaneous=way))
            held[way] += bool(((ends[:, 0] <= truth) & (truth <= ends[:, 1])).all())
    assert held["max-t"] >= band(0.935, RUNS)[0]
    assert held["bonferroni"] >= held["max-t"]
    assert held[None] < band(0.935, RUNS)[0]
