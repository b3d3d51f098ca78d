"""Tests of laws hold their level by a proved inequality, and reject what is wrong. Draws are seeded."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import kstest, norm

from discreet.audit.statistics.laws import Check, agreement_check, bits_check, law_check


def test_the_distance_is_that_of_kolmogorov_and_smirnov():
    draws = np.random.default_rng(0).normal(size=500)
    assert law_check("noise", draws, norm.cdf, 0.01).distance == pytest.approx(kstest(draws, norm.cdf).statistic)


@pytest.mark.parametrize("factor", [0.5, 0.9, 1.1])
def test_another_scale_is_rejected(factor):
    draws = np.random.default_rng(1).normal(size=60_000)
    assert law_check("noise", draws, norm.cdf, 1e-9).passed
    assert not law_check("noise", factor * draws, norm.cdf, 1e-9).passed


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
    found = law_check("noise", np.zeros(100), norm.cdf, 0.02)
    assert 2 * math.exp(-2 * 100 * found.allowed**2) == pytest.approx(0.02)
    assert not found.passed
    assert Check("noise", 0.1, 0.1).passed
