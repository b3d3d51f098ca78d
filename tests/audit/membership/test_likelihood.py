"""The score is the exact logarithm of the likelihood ratio of the lattice distribution."""

from __future__ import annotations

import math

import pytest

from discreet.audit.membership import LikelihoodRatio, attack_question, drawn_releases, targets
from discreet.audit.runs import PooledSampler
from discreet.datasets import load
from discreet.privacy.budget import PrivacyBudget


def log_mass(value, sigma):
    """Of a discrete Gaussian variate, from its sum over the lattice."""
    total = math.fsum(math.exp(-z * z / (2 * sigma * sigma)) for z in range(-60 * sigma, 60 * sigma + 1))
    return -value * value / (2 * sigma * sigma) - math.log(total)


def test_the_score_is_the_ratio_of_the_masses_of_two_lattice_distributions():
    ratio = LikelihoodRatio(without=(100, -7), change=(5, 3), sigma=(4, 9))
    for output in [(100, -7), (105, -4), (93, 22)]:
        here = sum(
            log_mass(o - s - v, g) for o, s, v, g in zip(output, ratio.without, ratio.change, ratio.sigma, strict=True)
        )
        there = sum(log_mass(o - s, g) for o, s, g in zip(output, ratio.without, ratio.sigma, strict=True))
        assert ratio.scores([output])[0] == pytest.approx(here - there, abs=1e-12)


def test_the_distance_is_in_standard_deviations():
    assert LikelihoodRatio((0, 0), (3, 8), (1, 2)).mu == 5.0


def test_draws_are_what_the_mechanism_publishes():
    dataset = load("simulated-census", rows=50)
    asked = attack_question(dataset, PrivacyBudget(1.0, 1e-6))
    worst, _ = targets(dataset, asked)
    totals = worst.totals(asked, with_row=True)
    made = drawn_releases(asked, totals, PooledSampler(), 3)
    assert len(set(made)) == 3
    exact = totals.on_grid(asked.distribution.unit)
    sigma = asked.distribution.steps(len(asked.design.released))
    # beyond 12 standard deviations with probability below 1e-30 for each entry
    sigma = asked.distribution.with_copies(sigma, len(asked.design.released))
    assert all(abs(a - b) <= 12 * s for one in made for a, b, s in zip(one, exact, sigma, strict=True))


def test_a_copy_of_a_noisy_sum_tells_nothing_more():
    ratio = LikelihoodRatio(without=(100, -7, 5), change=(5, 3, 3), sigma=(4, 9, 0))
    less = LikelihoodRatio(without=(100, -7), change=(5, 3), sigma=(4, 9))
    assert ratio.mu == less.mu
    assert ratio.scores([(110, -2, 60)]).tolist() == less.scores([(110, -2)]).tolist()
