"""Rules from one definition of privacy to another: their figures, their order and their ranges."""

from __future__ import annotations

import math

import pytest

from discreet.errors import SpecError
from discreet.privacy import gaussian_dp as conversions
from discreet.privacy import gaussian_dp as zcdp


def test_the_simple_zcdp_rule_is_never_below_the_best():
    for rho in (1e-6, 0.01, 1.0, 100.0):
        for delta in (1e-12, 1e-6, 0.1):
            best = conversions.zcdp_to_approximate(rho, delta)
            assert best == zcdp.epsilon_from_rho(rho, delta)
            assert best <= conversions.zcdp_to_approximate_simple(rho, delta)


def test_the_best_renyi_order_is_the_zcdp_conversion():
    mu, delta = 0.4, 1e-6
    best = min(
        conversions.rdp_to_approximate(1 + k / 100, conversions.gaussian_rdp(1 + k / 100, mu), delta)
        for k in range(1, 4000)
    )
    assert conversions.zcdp_to_approximate(mu**2 / 2, delta) == pytest.approx(best, rel=1e-6)


def test_a_renyi_bound_is_not_negative():
    assert conversions.rdp_to_approximate(2.0, 1e-9, 0.5) == 0.0


@pytest.mark.parametrize("bad", [1.0, 0.5, 0.0, -2.0, math.nan, math.inf, "2"])
def test_a_renyi_order_is_above_one(bad):
    for call in (lambda: conversions.gaussian_rdp(bad, 1.0), lambda: conversions.rdp_to_approximate(bad, 1.0, 1e-6)):
        with pytest.raises(SpecError, match=r"alpha: expected a .*, got"):
            call()


def test_concentrated_dp_of_the_robust_regression_example():
    # ten steps at sqrt(2 * 0.9 / 10): the mean-concentrated sum passes the 0.9 it was meant to meet, zCDP meets it
    step = math.sqrt(2 * 0.9 / 10)
    mean, spread = conversions.pure_to_cdp(step)
    assert spread == step
    assert 10 * mean > 0.9
    assert 10 * conversions.pure_to_zcdp(step) == pytest.approx(0.9, rel=1e-14)
    assert conversions.zcdp_to_cdp(0.9) == (0.9, math.sqrt(1.8))


def test_concentrated_dp_as_a_pair():
    # "0.9-CDP" is about (7.3, 1e-6)
    assert round(conversions.zcdp_to_approximate(0.9, 1e-6), 1) == 7.3


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, "1", True])
def test_conversions_refuse_what_is_no_amount(bad):
    for call in (
        conversions.pure_to_zcdp,
        conversions.pure_to_cdp,
        conversions.zcdp_to_cdp,
        lambda value: conversions.zcdp_to_approximate_simple(value, 1e-6),
        lambda value: conversions.zcdp_to_approximate_simple(0.1, value),
        lambda value: conversions.rdp_to_approximate(2.0, value, 1e-6),
        lambda value: conversions.gaussian_rdp(2.0, value),
    ):
        with pytest.raises(SpecError):
            call(bad)
