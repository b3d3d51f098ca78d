"""Tests of distributions hold their level by a proved inequality, and reject what is wrong. Draws are seeded."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import kstest, norm

from discreet.audit import noise_tests as distributions
from discreet.audit.noise_tests import Check, agreement_check, bits_check, distribution_check, integer_check
from support.biased_sampler import biased_draws


def test_the_distance_is_that_of_kolmogorov_and_smirnov():
    draws = np.random.default_rng(0).normal(size=500)
    assert distribution_check("noise", draws, norm.cdf, 0.01).distance == pytest.approx(
        kstest(draws, norm.cdf).statistic
    )


@pytest.mark.parametrize("factor", [0.5, 0.9, 1.1])
def test_another_scale_is_rejected(factor):
    draws = np.random.default_rng(1).normal(size=60_000)
    assert distribution_check("noise", draws, norm.cdf, 1e-9).passed
    assert not distribution_check("noise", factor * draws, norm.cdf, 1e-9).passed


@pytest.mark.parametrize("scale", [1, 3, 5000])
@pytest.mark.parametrize("family", ["gaussian", "laplace"])
def test_discrete_distributions_are_told_from_those_of_another_scale_or_family(family, scale):
    sums = np.arange(-80 * scale, 80 * scale + 1, dtype=float)
    shape = {"gaussian": lambda z: -(z**2) / (2 * scale**2), "laplace": lambda z: -np.abs(z) / scale}[family]
    chances = np.exp(shape(sums))
    draws = np.random.default_rng(5).choice(sums, 20_000, p=chances / chances.sum())
    other = {"gaussian": "laplace", "laplace": "gaussian"}[family]
    assert integer_check("noise", {(family, scale): draws}, 1e-9).passed
    assert not integer_check("noise", {(family, 2 * scale): draws}, 1e-9).passed
    assert not integer_check("noise", {(family, scale): draws, (other, scale): draws}, 1e-9).passed


@pytest.mark.parametrize(("family", "scale"), [("gaussian", 2), ("laplace", 3)])
def test_bias_in_single_probabilities_is_rejected_by_their_frequencies(family, scale):
    draws = np.array(biased_draws(family, scale, 50_000), dtype=float)
    found = integer_check("noise", {(family, scale): draws}, 1e-9)
    assert found.distance > 2 * found.allowed
    # the distribution function alone does not show it
    assert distributions._cdf_distance(family, scale, draws) < distributions._allowed(len(draws), 0.5e-9) * 1.05


def test_the_allowed_relative_entropy_is_that_of_the_inequality():
    found = distributions._frequencies("noise", "gaussian", 2, np.zeros(1000), 0.02)
    free, most = 13, 1000 * found.allowed
    assert math.exp(-most) * (math.e * most / free) ** free == pytest.approx(0.02)
    assert most > free
    # all draws in one cell: the relative entropy is minus the logarithm of its probability
    assert found.distance == pytest.approx(math.log(sum(math.exp(-(z**2) / 8) for z in range(-40, 41))))


def test_the_relative_entropy_exceeds_what_is_allowed_as_seldom_as_stated():
    """1,000 sets of 200 seeded draws at a level of 5%: the inequality is not tight, so at most 50 are expected."""
    z = np.arange(-80, 81)
    weights = np.exp(-(z**2) / 8)
    rng = np.random.default_rng(6)
    sets = rng.choice(z, (1000, 200), p=weights / weights.sum()).astype(float)
    assert sum(not distributions._frequencies("noise", "gaussian", 2, one, 0.05).passed for one in sets) <= 50


def test_outputs_of_other_widths_do_not_agree():
    assert not agreement_check("path", np.zeros((20, 3)), np.zeros((50, 2)), 1e-9).passed


def test_bits_that_are_not_uniform_are_rejected():
    draws = np.random.default_rng(2).integers(-(2**40), 2**40, (10_000, 6))
    assert bits_check("bits", draws, 4, 1e-9).passed
    for wrong in (draws & ~1, draws | 8, np.zeros_like(draws)):
        assert not bits_check("bits", wrong, 4, 1e-9).passed


def test_two_sets_of_draws_agree_or_not_in_any_number():
    rng = np.random.default_rng(3)
    some, many = rng.normal(size=(200, 4)), rng.normal(size=(10_000, 4))
    assert agreement_check("path", some, many, 1e-9).passed
    shifted = some.copy()
    shifted[:, 2] += 2
    assert not agreement_check("path", shifted, many, 1e-9).passed


def test_the_allowed_distance_is_that_of_the_inequality():
    found = distribution_check("noise", np.zeros(100), norm.cdf, 0.02)
    assert 2 * math.exp(-2 * 100 * found.allowed**2) == pytest.approx(0.02)
    assert not found.passed
    assert Check("noise", 0.1, 0.1).passed
