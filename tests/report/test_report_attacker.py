"""What an attacker can learn: bounds against an independent computation, and at the ends of their range."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.privacy.gaussian import delta_from
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.unit import PrivacyUnit
from discreet.report.attacker import attacker, gaussian_power, group_delta, largest_power, posterior


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_randomised_response_reaches_the_largest_power(epsilon: float) -> None:
    # the answer is true with probability e^eps / (1 + e^eps): the extreme pure mechanism
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    lie = 1 - truth
    alpha = 0.05
    # the best test cries out on the answer "in" with probability alpha / lie, or always on it and sometimes else
    power = alpha / lie * truth if alpha <= lie else truth + (alpha - lie) / truth * lie
    assert largest_power(alpha, epsilon, 0.0) == pytest.approx(power)


def test_a_gaussian_mechanism_stays_below_the_bound_of_every_pair_it_satisfies() -> None:
    for mu in (0.2, 1.0, 3.0):
        exact = gaussian_power(0.05, mu)
        bounds = [largest_power(0.05, epsilon, delta_from(epsilon, mu)) for epsilon in np.linspace(0.05, 12, 200)]
        assert exact <= min(bounds)
        # and the bounds together say as much as the curve itself
        assert min(bounds) == pytest.approx(exact, abs=0.01)


def test_power_grows_with_the_budget_up_to_one() -> None:
    powers = [largest_power(0.05, epsilon, 1e-6) for epsilon in (0.0, 0.5, 2.0, 10.0, 1e6)]
    assert powers == sorted(powers)
    assert powers[-1] == 1.0
    assert largest_power(0.05, 0.1, 0.99) == 1.0


def test_a_promise_with_mu_uses_its_curve() -> None:
    loose, tight = (attacker(Guarantee(1.0, 1e-6, PrivacyUnit(), (), mu=mu)) for mu in (None, 0.2))
    assert tight.power == gaussian_power(0.05, 0.2) < loose.power


def test_group_delta_is_the_sum_over_the_members() -> None:
    assert group_delta(4, 1.0, 1e-6) == pytest.approx(1e-6 * (math.exp(4) - 1) / (math.exp(1) - 1))
    assert group_delta(1, 1.0, 1e-6) == 1e-6


def test_a_budget_beyond_all_measure_leaves_nothing_hidden() -> None:
    told = attacker(Guarantee(1e6, 1e-6, PrivacyUnit(), ()))
    assert (told.power, told.odds_factor, told.family_delta, told.family_power) == (1.0, None, 1.0, 1.0)
    assert posterior(0.01, 1e6) == 1.0


def test_beliefs_move_by_the_odds() -> None:
    told = attacker(Guarantee(1.0, 1e-6, PrivacyUnit(), ()))
    for belief in told.beliefs:
        odds = belief.after / (1 - belief.after) / (belief.before / (1 - belief.before))
        assert odds == pytest.approx(told.odds_factor)
