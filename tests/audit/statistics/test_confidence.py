"""Clopper-Pearson limits cover, and what they rule out follows from the definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, norm

from discreet.audit.judging import Limits, limits, lower_limit, upper_limit


@pytest.mark.parametrize("share", [0.001, 0.1, 0.5, 0.97])
def test_limits_are_wrong_at_most_as_often_as_stated_exactly(share):
    draws, alpha = 200, 0.01
    counts = np.arange(draws + 1)
    chances = binom.pmf(counts, draws, share)
    assert chances[lower_limit(counts, draws, alpha) > share].sum() <= alpha
    assert chances[upper_limit(counts, draws, alpha) < share].sum() <= alpha
    # and not much less often: limits that never err would certify nothing
    assert chances[lower_limit(counts, draws, 0.3) > share].sum() > 0.01 or share < 0.01


def test_limits_at_the_ends():
    assert lower_limit(0, 10, 0.01) == 0
    assert upper_limit(10, 10, 0.01) == 1
    assert float(upper_limit(0, 100, 0.01)) == pytest.approx(1 - 0.01 ** (1 / 100))
    assert float(lower_limit(100, 100, 0.01)) == pytest.approx(0.01 ** (1 / 100))


def test_epsilon_and_mu_of_known_probabilities():
    known = Limits(np.array([0.5, 0.9]), np.array([0.1, 0.5]))
    assert known.epsilon(0.0).tolist() == pytest.approx([math.log(5), math.log(5)])
    assert known.epsilon(0.1).tolist() == pytest.approx([math.log(4), math.log(4)])
    assert known.mu(0.0).tolist() == pytest.approx([-norm.ppf(0.1), norm.ppf(0.9)])
    assert np.all(known.mu(0.01) < known.mu(0.0))


def test_nothing_is_ruled_out_where_probabilities_are_alike_or_limits_are_trivial():
    alike = Limits(np.array([0.4, 0.0, 0.0]), np.array([0.5, 1.0, 0.3]))
    assert alike.epsilon(0.0).tolist()[1:] == pytest.approx([0.0, 0.0])
    assert alike.mu(0.0).tolist() == [0.0, 0.0, 0.0]
    assert alike.mu(0.9).tolist() == [0.0, 0.0, 0.0]


def test_more_draws_certify_more():
    few, many = (limits(draws // 2, draws, draws // 10, draws, 0.01).epsilon(0.0) for draws in (100, 10_000))
    assert few < many < math.log(5)
