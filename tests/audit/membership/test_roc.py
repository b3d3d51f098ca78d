"""Limits of a curve hold for all thresholds together, and an excess is certified where there is one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from discreet.audit.judging import Claim
from discreet.audit.membership_result import RATES, certain, measured, thresholds


def scores(mu, draws, seed):
    """Logarithms of the likelihood ratio of two normal distributions, with the row and without it."""
    rng = np.random.default_rng(seed)
    return (rng.normal(mu * mu / 2, mu, draws), rng.normal(-mu * mu / 2, mu, draws))


def test_thresholds_have_the_rates_that_they_are_made_for():
    mu = 0.7
    cuts = thresholds(mu)
    assert norm.sf(cuts[cuts != 0], loc=-mu * mu / 2, scale=mu) == pytest.approx(RATES, abs=1e-12)
    assert (cuts == 0).sum() == 1


def test_the_true_curve_is_inside_the_limits():
    """At alpha = 1% over 200 runs the expected number of failures is at most 2; seeded."""
    mu, failures = 1.0, 0
    for seed in range(200):
        roc = measured(*scores(mu, 500, seed), thresholds(mu), 0.01)
        alarms, found = (norm.sf(thresholds(mu), loc=side * mu * mu / 2, scale=mu) for side in (-1, 1))
        inside = (roc.false_alarms_low <= alarms) & (roc.false_alarms_high >= alarms)
        inside &= (roc.found_low <= found) & (roc.found_high >= found)
        failures += not inside.all()
    assert failures <= 4


def test_an_excess_is_certified_only_where_there_is_one():
    right = measured(*scores(1.0, 5000, 1), thresholds(1.0), 1e-9)
    assert not right.certified_above(Claim(9.0, 0.0, 1.0)).any()
    assert right.certified_above(Claim(9.0, 0.0, 0.7)).any()
    assert not right.certified_above(Claim(4.0)).any()
    assert right.certified_above(Claim(0.5)).any()


def test_area_and_power_at_one_percent():
    with_row, without_row = scores(1.5, 50_000, 3)
    roc = measured(with_row, without_row, thresholds(1.5), 0.01)
    assert roc.area == pytest.approx(norm.cdf(1.5 / np.sqrt(2)), abs=0.01)
    assert roc.found_at_one_percent == pytest.approx(norm.sf(norm.isf(0.01) - 1.5), abs=0.02)


def test_ties_count_half():
    same = np.zeros(10)
    assert measured(same, same, np.array([0.0]), 0.01).area == 0.5


def test_a_test_that_knows_and_one_that_guesses():
    assert certain(known=True).found_at_one_percent == 1.0
    assert certain(known=False).found_at_one_percent == 0.01
    assert np.trapezoid(certain(known=True).found, certain(known=True).false_alarms) == 1.0
    assert np.trapezoid(certain(known=False).found, certain(known=False).false_alarms) == 0.5
