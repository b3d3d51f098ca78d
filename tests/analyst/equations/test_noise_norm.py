"""The quantile of the norm of noise matrices."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.analyst.equations.noise import EntryNoise, _draws, _norms, ensemble_edge, noise_norm_quantile
from support.quantile_range import exceedances_expected


def goe(size, sd=1.0):
    """Entry deviations of the rotation-invariant ensemble: sqrt(2) larger on the diagonal."""
    return sd * (np.ones((size, size)) + (math.sqrt(2) - 1) * np.eye(size))


@pytest.mark.parametrize("size", [3, 8, 20])
def test_noise_exceeds_its_quantile_one_time_in_twenty_and_a_wrong_quantile_is_found_out(size):
    sd = np.abs(np.random.default_rng(size).normal(1, 0.3, (size, size)))
    sd = np.maximum(sd, sd.T)
    q = noise_norm_quantile(EntryNoise(sd), np.eye(size), "sha256:test")
    trials = 4000
    random = np.random.default_rng(17)
    upper = np.triu(random.standard_normal((trials, size, size)) * sd)
    norms = np.linalg.norm(upper + np.triu(upper, 1).transpose(0, 2, 1), ord=2, axis=(1, 2))
    low, high = exceedances_expected(_draws(size), trials)
    assert low <= np.sum(norms > q) <= high
    assert np.sum(norms > 0.7 * q) > high
    assert np.sum(norms > 1.8 * q) < low


def test_the_quantile_grows_in_proportion_to_the_noise():
    one = noise_norm_quantile(EntryNoise(goe(6)), np.eye(6), "d")
    assert noise_norm_quantile(EntryNoise(goe(6, 2.0)), np.eye(6), "d") == pytest.approx(2 * one, rel=1e-12)
    # more noise in one entry, same random numbers
    more = goe(6)
    more[2, 3] = more[3, 2] = 3.0
    assert noise_norm_quantile(EntryNoise(more), np.eye(6), "d") > one


def test_one_fingerprint_gives_one_quantile_and_another_a_slightly_different_one():
    first = noise_norm_quantile(EntryNoise(goe(6)), np.eye(6), "sha256:a")
    assert first == noise_norm_quantile(EntryNoise(goe(6)), np.eye(6), "sha256:a")
    second = noise_norm_quantile(EntryNoise(goe(6)), np.eye(6), "sha256:b")
    assert first != second
    assert first == pytest.approx(second, rel=0.15)


@pytest.mark.parametrize(("small", "large"), [(20, 21), (100, 101)])
def test_cheaper_rules_for_larger_matrices_change_little_and_meet_the_edge_of_the_ensemble(small, large):
    few, many = (noise_norm_quantile(EntryNoise(goe(size)), np.eye(size), "d") for size in (large, small))
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
    norms = np.sort(np.concatenate(list(_norms(EntryNoise(sd), noise_map, 39, "d"))))
    assert norms[36] < ensemble_edge(sd, noise_map) < 1.35 * norms[36]
    assert noise_norm_quantile(EntryNoise(sd), noise_map, "d") == ensemble_edge(sd, noise_map)


@pytest.mark.parametrize("size", [1, 20, 21, 100])
def test_the_number_of_draws_makes_the_rank_a_whole_number(size):
    assert (_draws(size) + 1) % 20 == 0


def test_batches_do_not_change_the_draws():
    norms = np.concatenate(list(_norms(EntryNoise(goe(60)), np.eye(60), 599, "d")))
    assert len(norms) == 599
    assert len(list(_norms(EntryNoise(goe(60)), np.eye(60), 599, "d"))) == 2
    np.testing.assert_allclose(norms[:5], next(_norms(EntryNoise(goe(60)), np.eye(60), 5, "d")), rtol=1e-12)
