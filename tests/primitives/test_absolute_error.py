"""The distribution of the least absolute error on a range: its exact loss at the exact rate, and its sampler."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.primitives import mean as absolute_error
from discreet.primitives.mean import absolute_error_draw, absolute_error_rate
from support.discrete_distributions import absolute_error_distribution

FALSE_ALARM = 1e-9


def worst_loss(n: int, unit: int, scale: float) -> float:
    """Largest log ratio over all sums of n numbers of at most `unit` steps and all exchanges of one of them."""
    furthest = n * unit
    distributions = np.array(
        [absolute_error_distribution(total, furthest, scale) for total in range(-furthest, furthest + 1)]
    )
    return max(float(np.abs(distributions[moved:] - distributions[:-moved]).max()) for moved in range(1, 2 * unit + 1))


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 4.0, 20.0, 1000.0, 1e6])
def test_the_rate_is_rounded_down_and_lies_between_half_of_epsilon_and_epsilon(epsilon):
    rate = absolute_error_rate(epsilon)
    assert epsilon / 2 < rate < epsilon
    known = epsilon + math.log1p(math.expm1(-epsilon) / 2)
    assert rate == pytest.approx(known, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
@pytest.mark.parametrize(("n", "unit"), [(1, 5), (2, 4), (12, 3), (40, 2)])
def test_no_exchange_of_a_number_loses_more_than_epsilon(n, unit, epsilon):
    assert worst_loss(n, unit, 2 * unit / absolute_error_rate(epsilon)) <= epsilon


@pytest.mark.no_cover
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_the_rate_cannot_be_much_larger(epsilon):
    """With many numbers and fine steps nearly all of epsilon is spent, and the rate of the whole line breaks it."""
    n, unit = 30, 20
    assert worst_loss(n, unit, 2 * unit / absolute_error_rate(epsilon)) > 0.97 * epsilon
    assert worst_loss(n, unit, 2 * unit / (1.05 * absolute_error_rate(epsilon))) > epsilon
    assert worst_loss(n, unit, 2 * unit / epsilon) == pytest.approx(math.log(2 * math.exp(epsilon) - 1), rel=0.03)


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.parametrize(("total", "furthest", "scale"), [(3, 4, 2.0), (-4, 4, 2.0), (2, 3, 10.0)])
def test_draws_have_the_distribution(total, furthest, scale):
    p = np.exp(absolute_error_distribution(total, furthest, scale))
    draws = np.array([absolute_error_draw(total, furthest, scale) for _ in range(3000)])
    observed = np.bincount(draws + furthest, minlength=2 * furthest + 1)
    # false alarm 1e-9
    assert stats.chisquare(observed, p * 3000).pvalue > FALSE_ALARM
    # negative control: the distribution around the mirrored sum is rejected
    assert stats.chisquare(observed, p[::-1] * 3000).pvalue < FALSE_ALARM


def test_a_nearly_flat_distribution_is_drawn_from_uniform_proposals(monkeypatch):
    caught = []
    monkeypatch.setattr(absolute_error, "bernoulli_exp", lambda exponent: caught.append(exponent) or len(caught) == 3)
    proposals = iter([0, 4, 2])
    monkeypatch.setattr(absolute_error, "below", lambda limit: next(proposals))
    assert absolute_error_draw(1, 2, 8.0) == 0
    assert caught == [Fraction(3, 8), Fraction(1, 8), Fraction(1, 8)]


def test_noise_is_drawn_anew_until_it_stays_in_the_range(monkeypatch):
    noise = iter([[5], [-9], [-3]])
    monkeypatch.setattr(absolute_error, "laplace_noise", lambda scale, how_many: next(noise))
    assert absolute_error_draw(2, 6, 4.0) == -1
