"""What an attacker can learn: bounds against an independent computation, and at the ends of their range."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet.pages.attacker import (
    attacker,
    gaussian_power,
    group_delta,
    largest_power,
    odds_exceeded,
    posterior,
    zcdp_power,
)
from discreet.pages.page import render
from discreet.pages.view import report_view
from discreet.privacy.budget import PrivacyUnit
from discreet.privacy.gaussian_dp import delta_from, mu_from
from discreet.privacy.guarantee import Guarantee


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


DESIGN = discreet.Design("y", {"y": (0, 1), "x": (0, 1)})
TABLE = {"x": [0.1, 0.5, 0.9] * 20, "y": [0.2, 0.4, 0.8] * 20}


def promised(**budget: object) -> Guarantee:
    return discreet.release(TABLE, DESIGN, **budget).guarantee


def test_a_release_with_gaussian_noise_tells_the_risk_of_its_noise_beside_that_of_the_definition() -> None:
    told = attacker(promised(epsilon=1.0, delta=1e-6))
    assert told.curve == "gaussian"
    assert f"{told.power:.1%} {told.family_power:.1%}" == "13.6% 98.3%"
    assert f"{told.mechanism_power:.1%} {told.family_mechanism_power:.1%}" == "8.0% 24.3%"
    # a fresh computation of the family's figure: four times the distance between the two normal distributions
    mu = 4 * mu_from(1.0, 1e-6)
    assert told.family_mechanism_power == pytest.approx(stats.norm.sf(stats.norm.isf(0.05) - mu), abs=1e-6)
    page = render(report_view(discreet.release(TABLE, DESIGN, epsilon=1.0, delta=1e-6)))
    section = page[page.index('id="attacker"') : page.index("General facts")]
    assert section.count("by this mechanism") == section.count("by the definition") == 2


def test_a_pure_release_says_that_the_definition_is_its_curve() -> None:
    told = attacker(promised(epsilon=1.0))
    assert (told.curve, told.mechanism_power, told.family_mechanism_power) == ("pure", None, None)


def test_noise_by_zcdp_has_the_curve_of_zcdp() -> None:
    guarantee = promised(epsilon=8.0, delta=1e-30)
    told = attacker(guarantee)
    assert guarantee.mu is None
    assert told.curve == "zcdp"
    assert told.mechanism_power == zcdp_power(0.05, guarantee.rho) < told.power
    assert told.family_mechanism_power == zcdp_power(0.05, 16 * guarantee.rho)


def test_a_mechanism_without_a_curve_says_so() -> None:
    design = discreet.Design("y", {"y": (-1, 1), "x": (-1, 1)})
    table = {"x": [0.1] * 30, "y": [0.2] * 30}
    made = discreet.release(table, design, epsilon=1.0, delta=1e-6, mechanism="wishart")
    told = attacker(made.guarantee)
    assert (told.curve, told.mechanism_power) == ("none", None)


def test_a_curve_weaker_than_the_definition_gives_way_to_it() -> None:
    told = attacker(Guarantee(0.01, 1e-9, PrivacyUnit(), (), rho=5.0))
    assert (told.mechanism_power, told.family_mechanism_power) == (told.power, told.family_power)


@pytest.mark.parametrize("mu", [0.05, 0.2367, 1.0, 3.0])
def test_the_power_by_zcdp_covers_that_of_the_gaussian_mechanism(mu: float) -> None:
    for alpha in (0.001, 0.05, 0.3):
        assert gaussian_power(alpha, mu) <= zcdp_power(alpha, mu**2 / 2) <= 1


@pytest.mark.parametrize("rho", [0.01, 0.5, 4.0])
def test_the_power_by_zcdp_is_the_best_over_all_orders(rho: float) -> None:
    orders = 1 + np.geomspace(1e-4, 1e4, 200_001)
    for alpha in (0.001, 0.05, 0.3):
        forward = min(1.0, math.exp(np.min((1 - 1 / orders) * math.log(alpha) + (orders - 1) * rho)))
        # the same inequality for the test's silence: (1 - alpha)^a (1 - p)^(1 - a) <= e^(a (a - 1) rho)
        logs = (orders * math.log1p(-alpha) - orders * (orders - 1) * rho) / (orders - 1)
        backward = 1 - math.exp(np.max(logs))
        assert zcdp_power(alpha, rho) == pytest.approx(min(forward, backward), rel=1e-6)


def test_a_gap_adds_to_false_alarms_and_to_power() -> None:
    # a distribution that, with probability gap, tells all: the best test uses it on both sides
    mu, gap = 0.5, 0.01
    assert gaussian_power(0.05, mu, gap) == pytest.approx(gaussian_power(0.06, mu) + gap)
    assert gaussian_power(0.995, mu, gap) == 1.0


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


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.2, 1e-9), (8.0, 1e-5), (1.0, 1e-25)])
def test_the_factor_of_the_odds_is_exceeded_more_often_than_delta_and_at_most_as_often_as_said(
    epsilon: float, delta: float
) -> None:
    mu = mu_from(epsilon, delta)
    exact = float(stats.norm.sf(epsilon / mu - mu / 2))  # the loss of Gaussian noise is N(mu^2 / 2, mu^2)
    if (epsilon, delta) == (1.0, 1e-6):
        assert exact == pytest.approx(2.0e-5, rel=0.02)
    found = odds_exceeded(Guarantee(epsilon, delta, PrivacyUnit(), (), mu=mu))
    assert found is not None
    assert delta < exact < found
    # the outcome {noise > t} as one: the worst post-processing, with a factor of just e^epsilon
    alarm = stats.norm.isf(found) + mu
    assert stats.norm.sf(alarm) * math.exp(epsilon) == pytest.approx(found, rel=1e-8)
    # the gap between lattice and continuous distribution adds to it
    gap = delta / 10
    more = odds_exceeded(Guarantee(epsilon, delta, PrivacyUnit(), (), mu=mu, mu_gap=gap))
    assert found + gap < more < 2 * found + 2 * math.exp(epsilon) * gap


def test_the_bound_on_exceeding_follows_the_curve_that_is_proved() -> None:
    rho = 0.01
    by_zcdp = odds_exceeded(Guarantee(1.0, 1e-6, PrivacyUnit(), (), rho=rho))
    assert zcdp_power(by_zcdp / math.e, rho) == pytest.approx(by_zcdp)
    assert odds_exceeded(Guarantee(1.0, 1e-6, PrivacyUnit(), (), rho=2.0)) == 1.0
    assert odds_exceeded(Guarantee(1.0, 1e-6, PrivacyUnit(), ())) is None
    assert odds_exceeded(Guarantee(1.0, 0.0, PrivacyUnit(), (), mu=0.2)) == 0.0
    # nothing underflows or overflows
    assert odds_exceeded(Guarantee(1e6, 1e-6, PrivacyUnit(), (), mu=1.0)) < 1e-29
    assert odds_exceeded(Guarantee(1e-3, 1e-6, PrivacyUnit(), (), mu=50.0)) == pytest.approx(1.0)


def test_the_page_does_not_call_delta_the_probability_of_exceeding_the_factor() -> None:
    page = render(report_view(discreet.release(TABLE, DESIGN, epsilon=1.0, delta=1e-6)))
    said = page[page.index("The release can raise") :].split("</p>")[0]
    assert "except with probability at most 5." in said
    assert "1e-6" not in said
    inside = render(report_view(discreet.release(TABLE, DESIGN, epsilon=1.0, delta=1e-6, mechanism="irls")))
    said = inside[inside.index("The release can raise") :].split("</p>")[0]
    assert "except" in said or "delta does not bound how often" in said


def test_a_promise_that_says_nothing_is_still_told_in_finite_numbers() -> None:
    found = attacker(Guarantee(1e308, 0.0, PrivacyUnit(), ()))
    assert math.isfinite(found.family_epsilon)
    assert found.family_power == 1
