"""Drawn noise has the distribution of its family."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from discreet.analyst.equations.noise import EntryNoise, noise_draws
from discreet.releases import NoiseDistribution
from support.noise_distributions import LAWS

FALSE_ALARM = 1e-9
# a public count has no noise
SD = np.array([[0.0, 1.0, 2.0], [1.0, 3.0, 0.5], [2.0, 0.5, 1.0]])
TRIALS = 40_000


@pytest.mark.parametrize("name", LAWS)
def test_drawn_noise_has_the_deviations_asked_for_and_no_correlations(name):
    """Second moments within 6.5 standard errors, estimated from the draws; the diagonal sd of `wishart` is its own."""
    drawn = noise_draws(LAWS[name], EntryNoise(SD), np.random.PCG64(7), TRIALS)
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


def test_drawn_noise_has_the_distribution_of_its_family():
    def upper(name):
        return noise_draws(LAWS[name], EntryNoise(np.ones((2, 2))), np.random.PCG64(8), 20_000)[:, *np.triu_indices(2)]

    laplace = upper("discrete-laplace")
    assert stats.kstest(laplace.ravel(), stats.laplace(scale=2**-0.5).cdf).pvalue > FALSE_ALARM
    assert stats.kstest(laplace.ravel(), "norm").pvalue < FALSE_ALARM
    # all three entries of a K-norm vector in three dimensions: its length has a gamma distribution
    distribution = NoiseDistribution(16, {}, "pure", "k-norm", {"dimension": 3})
    vectors = noise_draws(distribution, EntryNoise(np.ones((2, 2))), np.random.PCG64(9), 20_000)[:, *np.triu_indices(2)]
    lengths = np.linalg.norm(vectors, axis=1) * 2.0  # sd 1 is sqrt(3 + 1) scales
    assert stats.kstest(lengths, stats.gamma(3).cdf).pvalue > FALSE_ALARM
    assert stats.kstest(lengths, stats.gamma(2.8).cdf).pvalue < FALSE_ALARM
    # two of nine coordinates: the angle says nothing, and the kurtosis is 3 (9 + 3) / (9 + 1)
    some = upper("k-norm")
    assert float((some[:, 0] ** 4).mean()) == pytest.approx(3.6, abs=0.35)
    # a diagonal entry of a Wishart matrix is a chi-square variate
    sd = np.sqrt(12 * (1 + np.eye(2)))
    wishart = noise_draws(LAWS["wishart"], EntryNoise(sd), np.random.PCG64(10), 20_000)
    for index in (0, 1):
        assert stats.kstest(wishart[:, index, index] + 12, stats.chi2(12).cdf).pvalue > FALSE_ALARM


def test_the_square_of_an_indicator_has_the_noise_of_its_sum_and_no_other_entry_moves():
    plain, copied = (
        noise_draws(LAWS["discrete-gaussian"], EntryNoise(SD, copies), np.random.PCG64(7), 50) for copies in ((), (1,))
    )
    np.testing.assert_array_equal(copied[:, 1, 1], copied[:, 0, 1])
    copied[:, 1, 1] = plain[:, 1, 1]
    np.testing.assert_array_equal(copied, plain)
    assert (plain[:, 1, 1] != plain[:, 0, 1]).all()
