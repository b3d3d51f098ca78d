"""The optimal zCDP conversion against an independent high-precision minimum."""

from __future__ import annotations

import math

import mpmath
import pytest
from dp_accounting.rdp import rdp_privacy_accountant
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import SpecError
from discreet.privacy import gaussian_dp as gaussian
from discreet.privacy import gaussian_dp as zcdp

# orders as close to 1 as exp(-200) need their digits
DIGITS = 110
EPSILONS = [1e-6, 1e-3, 0.1, 1.0, 10.0, 1e3, 1e5, 1e7]
DELTAS = [1e-300, 1e-100, 1e-20, 1e-6, 1e-2, 0.5]
GRID = [(epsilon, delta) for epsilon in EPSILONS for delta in DELTAS]

# floats choose the order; what that costs is of second order
ACCURACY = 1e-12


def best_log_delta(epsilon: float, rho: float) -> mpmath.mpf:
    """Minimum over the order a of the bound as printed in the paper, by halving on its derivative."""
    with mpmath.workdps(DIGITS):
        e, r = mpmath.mpf(epsilon), mpmath.mpf(rho)
        low, high = mpmath.mpf(-200), mpmath.mpf(200)
        for _ in range(140):
            middle = (low + high) / 2
            b = mpmath.exp(middle)
            if (2 * b + 1) * r - e + mpmath.log(b / (b + 1)) < 0:
                low = middle
            else:
                high = middle
        a = 1 + mpmath.exp(low)
        return (a - 1) * (a * r - e) + a * mpmath.log(1 - 1 / a) - mpmath.log(a - 1)


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_rho_keeps_the_promise_and_is_nearly_the_largest(epsilon, delta):
    rho = zcdp.rho_from(epsilon, delta)
    with mpmath.workdps(DIGITS):
        target = mpmath.log(mpmath.mpf(delta))
    assert best_log_delta(epsilon, rho) <= target
    assert best_log_delta(epsilon, rho * (1 + ACCURACY)) > target


@pytest.mark.no_cover
@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_epsilon_and_delta_are_not_below_the_best_bound(epsilon, delta):
    rho = zcdp.rho_from(epsilon, delta)
    with mpmath.workdps(DIGITS):
        target = mpmath.log(mpmath.mpf(delta))
        found = zcdp.epsilon_from_rho(rho, delta)
        assert best_log_delta(found, rho) <= target
        assert best_log_delta(found * (1 - ACCURACY), rho) > target
        found = zcdp.delta_from_rho(epsilon, rho)
        exact = mpmath.exp(best_log_delta(epsilon, rho))
        assert exact <= mpmath.mpf(found) <= exact * (1 + ACCURACY)


def test_teeth_one_percent_more_rho_breaks_the_promise_everywhere():
    for epsilon, delta in GRID:
        with mpmath.workdps(DIGITS):
            assert best_log_delta(epsilon, 1.01 * zcdp.rho_from(epsilon, delta)) > mpmath.log(mpmath.mpf(delta))


def test_the_published_noise_multiplier():
    assert round(1 / math.sqrt(2 * zcdp.rho_from(1.0, 1e-6)), 2) == 4.53


def test_agrees_with_the_renyi_accountant_over_a_fine_grid_of_orders():
    rho, delta = 0.1, 1e-6
    orders = [1 + k / 1000 for k in range(5000, 20000)]
    epsilon, _ = rdp_privacy_accountant.compute_epsilon(orders, [order * rho for order in orders], delta)
    assert zcdp.epsilon_from_rho(rho, delta) == pytest.approx(epsilon, rel=1e-7)
    assert zcdp.epsilon_from_rho(rho, delta) <= epsilon


@settings(max_examples=60, deadline=None)
@given(st.floats(-10, 10), st.floats(-600, -0.7))
def test_the_gaussian_profile_is_never_worse_than_its_zcdp(log_epsilon, log_delta):
    epsilon, delta = math.exp(log_epsilon), math.exp(log_delta)
    assert gaussian.mu_from(epsilon, delta) ** 2 / 2 >= zcdp.rho_from(epsilon, delta) * (1 - 1e-15)


@settings(max_examples=60, deadline=None)
@given(st.floats(-10, 10), st.floats(-600, -0.7), st.floats(1.0, 10.0))
def test_more_rho_never_costs_less(log_rho, log_delta, factor):
    rho, delta = math.exp(log_rho), math.exp(log_delta)
    assert zcdp.epsilon_from_rho(rho * factor, delta) >= zcdp.epsilon_from_rho(rho, delta) * (1 - 1e-15)
    assert zcdp.delta_from_rho(1.0, rho * factor) >= zcdp.delta_from_rho(1.0, rho) * (1 - 1e-12)


def test_epsilon_is_zero_where_delta_pays_for_everything():
    assert zcdp.epsilon_from_rho(1e-6, 0.5) == 0.0


def test_delta_is_at_most_one_and_above_zero():
    assert zcdp.delta_from_rho(0.0, 1e10) == 1.0
    assert zcdp.delta_from_rho(2e10, 1e-25) == math.ulp(0.0)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, "1", True, 1e-26, 1e11])
def test_rho_out_of_range_is_refused(bad):
    for call in (lambda: zcdp.delta_from_rho(1.0, bad), lambda: zcdp.epsilon_from_rho(bad, 1e-6)):
        with pytest.raises(SpecError, match="rho: expected a number"):
            call()


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf, "1", None, 1e11])
def test_epsilon_out_of_range_is_refused(bad):
    for call in (lambda: zcdp.delta_from_rho(bad, 0.1), lambda: zcdp.rho_from(bad, 1e-6)):
        with pytest.raises(SpecError, match="epsilon: expected a number"):
            call()


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, 0.6, "1"])
def test_delta_out_of_range_is_refused(bad):
    for call in (lambda: zcdp.epsilon_from_rho(0.1, bad), lambda: zcdp.rho_from(1.0, bad)):
        with pytest.raises(SpecError, match="zCDP needs delta > 0"):
            call()
