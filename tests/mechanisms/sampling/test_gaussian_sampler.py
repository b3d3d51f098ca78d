"""The discrete Gaussian sampler draws from its own distribution, not from a rounded continuous one, down to the last
bit.

Each test alarms falsely with probability at most 1e-9, and shows that rounded normal variates fail it.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet.mechanisms.sampler import MAX_SIGMA, ExactSampler

FALSE_ALARM = 1e-9


def fits_the_discrete_distribution(draws: np.ndarray, sigma: float) -> bool:
    """Chi-square test of P(z) proportional to exp(-z^2 / (2 sigma^2)), both tails in a cell each."""
    z = np.arange(-40, 41)
    p = np.exp(-(z**2) / (2 * sigma**2))
    p /= p.sum()
    edge = 3 * round(sigma)
    inner = np.abs(z) <= edge
    observed = [(draws < -edge).sum(), *((draws == value).sum() for value in z[inner]), (draws > edge).sum()]
    expected = np.array([p[z < -edge].sum(), *p[inner], p[z > edge].sum()]) * len(draws)
    return bool(stats.chisquare(observed, expected).pvalue > FALSE_ALARM)


def test_at_sigma_1_the_probabilities_are_the_discrete_ones():
    """A rounded normal variate is 0 in 38.3 % of the draws, a discrete one in 39.9 %."""
    draws = np.array(ExactSampler().draw([1] * 60_000))
    assert fits_the_discrete_distribution(draws, 1.0)
    assert not fits_the_discrete_distribution(draws, 1.05)
    rounded = np.rint(np.random.default_rng(1).standard_normal(60_000)).astype(int)
    assert not fits_the_discrete_distribution(rounded, 1.0)


def test_at_sigma_2_the_probabilities_are_the_discrete_ones():
    """The proposals are then of scale 3, which no binary fraction divides."""
    draws = np.array(ExactSampler().draw([2] * 40_000))
    assert fits_the_discrete_distribution(draws, 2.0)
    assert not fits_the_discrete_distribution(draws, 2.1)


def low_bits_are_uniform(values: list[int], bits: int) -> bool:
    """Chi-square test of the lowest bits, all combinations alike."""
    counts = np.bincount([value % 2**bits for value in values], minlength=2**bits)
    return bool(stats.chisquare(counts).pvalue > FALSE_ALARM)


def test_at_the_largest_sigma_low_bits_are_uniform():
    """A double of this size is a multiple of 16 or more; the probability of each residue is even to within 1e-9."""
    assert MAX_SIGMA == 2**57
    assert low_bits_are_uniform(ExactSampler().draw([2**57] * 3000), 6)
    doubles = 2.0**57 * np.random.default_rng(1).standard_normal(3000)
    assert not low_bits_are_uniform([round(float(value)) for value in doubles], 6)


@pytest.mark.no_cover
@pytest.mark.parametrize(("robust", "epsilon"), [(False, 0.9), (True, 1.5)])
def test_published_sums_have_uniform_low_bits(robust, epsilon):
    """Through `discreet.release`, on the finest grid: noise of 2^53 steps or more under every sum."""
    design = discreet.Design("y", {"x": (0, 1), "y": (0, 1)})
    table = {"x": [0.25, 0.5], "y": [0.5, 0.75]}
    budget = {"epsilon": epsilon, "delta": 1e-6, "grid_bits": 26, "mechanism": "gaussian"}
    made = [discreet.release(table, design, robust=robust, **budget) for _ in range(120)]
    totals = [total for one in made for total in (one.residuals.totals if robust else one.totals)[:3]]
    least = min(made[0].noise.sigma.values())
    assert least > 2**53
    assert low_bits_are_uniform(totals, 2)
    doubles = least * np.random.default_rng(1).standard_normal(len(totals))
    assert not low_bits_are_uniform([round(float(value)) for value in doubles], 2)
