"""Whether a loss keeps a promise, and what it gives."""

from __future__ import annotations

import math

import pytest

from discreet.accounting.privacy_loss import TOLERANCE, concentrated_delta, epsilon_given, gaussian_delta, keeps
from discreet.privacy.gaussian_dp import delta_from, mu_from, rho_from
from discreet.privacy.spend import Loss


def gaussian(mu, tau=1e-15):
    return Loss.gaussian(1.0, 0.5, mu=mu, tau=tau)


def test_a_promise_is_kept_up_to_the_last_bits_and_no_further():
    mu = mu_from(1.0, 1e-6)
    assert keeps(gaussian(mu * 0.9999), 1.0, 1e-6)
    assert keeps(gaussian(mu * (1 + TOLERANCE / 2)), 1.0, 1e-6)
    assert not keeps(gaussian(mu * (1 + 3 * TOLERANCE)), 1.0, 1e-6)
    assert keeps(Loss.pure(1 + TOLERANCE / 2), 1.0, 0.0)
    assert not keeps(Loss.pure(1 + 2 * TOLERANCE), 1.0, 0.5)
    assert keeps(Loss.approximate(1.0, 1e-6), 1.0, 1e-6)
    assert not keeps(Loss.approximate(1.0, 1.1e-6), 1.0, 1e-6)
    assert not keeps(Loss.approximate(1.1, 1e-6), 1.0, 1e-6)


def test_no_delta_and_no_epsilon_are_kept_by_pure_noise_only():
    assert not keeps(gaussian(0.1), 1.0, 0.0)
    assert not keeps(gaussian(0.1), 0.0, 1e-6)


def test_the_tolerance_costs_next_to_nothing_in_delta():
    for epsilon, delta in ((0.1, 1e-9), (1.0, 1e-6), (20.0, 1e-12), (50.0, 1e-6)):
        mu = mu_from(epsilon, delta)
        assert delta_from(epsilon, mu * (1 + TOLERANCE)) <= delta * (1 + 1e-3)


def test_coarse_noise_is_kept_by_its_own_concentrated_privacy():
    mu = math.sqrt(2 * rho_from(1.0, 1e-6)) * 0.999999
    coarse = Loss.gaussian(1.0, 0.5, mu=mu, tau=1e-3)
    assert keeps(coarse, 1.0, 1e-6)
    assert gaussian_delta(1.0, mu, 1e-3) == concentrated_delta(1.0, mu * mu / 2)
    assert epsilon_given(coarse, 1.0, 1e-6) == pytest.approx(1.0, rel=1e-4)


def test_what_is_outside_the_range_of_the_curves_keeps_nothing():
    assert gaussian_delta(1.0, 1e6, 0.0) == gaussian_delta(1e12, 1.0, 0.0) == 1.0
    assert gaussian_delta(800.0, 1.0, 1e-9) < 1e-30
    assert gaussian_delta(1.0, 1e-15, 0.0) < 1e-30
    assert math.isinf(epsilon_given(Loss.gaussian(1.0, 0.5, mu=1e7, tau=1e-9), 1.0, 1e-6))


def test_a_choice_is_judged_by_rho_and_not_by_mu():
    rho = rho_from(1.0, 1e-6)
    assert keeps(Loss(1.0, 0.5, 5.0, rho), 1.0, 1e-6)
    assert not keeps(Loss(1.0, 0.5, 0.01, rho * 1.1), 1.0, 1e-6)
    assert epsilon_given(Loss(1.0, 0.5, 5.0, rho), 1.0, 1e-6) == pytest.approx(1.0, rel=1e-4)


def test_what_the_noise_gives():
    assert epsilon_given(gaussian(mu_from(1.0, 1e-6)), 1.0, 1e-6) == pytest.approx(1.0, rel=1e-6)
    assert epsilon_given(gaussian(mu_from(0.5, 1e-6)), 1.0, 1e-6) == pytest.approx(0.5, rel=1e-6)
    assert epsilon_given(Loss.pure(0.7), 1.0, 0.0) == 0.7
    assert epsilon_given(Loss.approximate(1.0, 1e-9), 1.0, 1e-6) == 1.0
