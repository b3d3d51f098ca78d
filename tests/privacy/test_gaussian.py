"""The exact Gaussian profile: against an independent eighty-digit oracle, on both sides of every float."""

from __future__ import annotations

import math

import mpmath
import pytest
from dp_accounting import gaussian_mechanism
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import SpecError
from discreet.privacy import gaussian_dp as gaussian

DIGITS = 80
EPSILONS = [1e-9, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 0.7, 1.0, 3.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6, 1e7, 1e9]
DELTAS = [1e-300, 1e-200, 1e-100, 1e-40, 1e-20, 1e-10, 1e-6, 1e-3, 0.1, 0.5]
GRID = [(epsilon, delta) for epsilon in EPSILONS for delta in DELTAS]

# dp_accounting stops its search at 1e-12 absolute and works in floats
ORACLE_TOLERANCE = 1e-8


def true_delta(epsilon: float, mu: float) -> mpmath.mpf:
    """The profile as it stands in the paper, by complementary error functions: shares nothing with the code."""
    with mpmath.workdps(DIGITS):
        e, m = mpmath.mpf(epsilon), mpmath.mpf(mu)
        root = mpmath.sqrt(2)
        upper = mpmath.erfc((e / m - m / 2) / root) / 2
        return upper - mpmath.exp(e) * mpmath.erfc((e / m + m / 2) / root) / 2


def steps(value: float, count: int) -> float:
    """`value` moved by `count` floats, up or down."""
    for _ in range(abs(count)):
        value = math.nextafter(value, math.inf if count > 0 else -math.inf)
    return value


def test_mu_keeps_the_promise_and_two_floats_more_would_break_it():
    for epsilon, delta in GRID:
        mu = gaussian.mu_from(epsilon, delta)
        assert true_delta(epsilon, mu) <= mpmath.mpf(delta), (epsilon, delta)
        assert true_delta(epsilon, steps(mu, 2)) > mpmath.mpf(delta), (epsilon, delta)


def test_epsilon_keeps_the_promise_and_two_floats_less_would_break_it():
    for epsilon, delta in GRID:
        mu = gaussian.mu_from(epsilon, delta)
        found = gaussian.epsilon_from(mu, delta)
        assert true_delta(found, mu) <= mpmath.mpf(delta), (epsilon, delta)
        assert true_delta(steps(found, -2), mu) > mpmath.mpf(delta), (epsilon, delta)


def test_delta_is_above_the_truth_by_less_than_two_floats():
    for epsilon, delta in GRID:
        mu = gaussian.mu_from(epsilon, delta)
        found = gaussian.delta_from(epsilon, mu)
        truth = true_delta(epsilon, mu)
        assert truth <= mpmath.mpf(found), (epsilon, delta)
        assert truth > mpmath.mpf(steps(found, -2)), (epsilon, delta)
        logarithm = gaussian.log_delta_from(epsilon, mu)
        with mpmath.workdps(DIGITS):
            exact = mpmath.log(truth)
        assert exact <= mpmath.mpf(logarithm), (epsilon, delta)
        assert exact > mpmath.mpf(steps(logarithm, -2)), (epsilon, delta)


@pytest.mark.parametrize(
    ("epsilon", "mu"), [(0.0, 1e-12), (0.0, 1e-3), (0.0, 1.0), (0.0, 7.0), (1e-30, 2.0), (0.5, 30.0)]
)
def test_delta_where_it_is_large_or_epsilon_is_nothing(epsilon, mu):
    found = gaussian.delta_from(epsilon, mu)
    truth = true_delta(epsilon, mu)
    assert truth <= mpmath.mpf(found)
    assert truth > mpmath.mpf(steps(found, -2))


@pytest.mark.parametrize(("epsilon", "mu"), [(1e10, 1e-12), (1e10, 1e5), (0.0, 1e5), (1e3, 1e-3), (5.0, 0.01)])
def test_log_delta_at_the_corners_of_the_range(epsilon, mu):
    # a thousand digits: the oracle subtracts terms that agree to many places
    with mpmath.workdps(1000):
        e, m = mpmath.mpf(epsilon), mpmath.mpf(mu)
        u = e / m - m / 2
        # ln of phi(u) (M(u) - M(v)) by the asymptotic series where erfc cannot be evaluated
        if u > 1e6:
            ratio = [sum((-1) ** k * mpmath.fac2(2 * k - 1) / x ** (2 * k + 1) for k in range(12)) for x in (u, u + m)]
            exact = mpmath.log(ratio[0] - ratio[1]) - u * u / 2 - mpmath.log(2 * mpmath.pi) / 2
        else:
            upper = mpmath.erfc(u / mpmath.sqrt(2)) / 2
            exact = mpmath.log(upper - mpmath.exp(e) * mpmath.erfc((u + m) / mpmath.sqrt(2)) / 2)
        found = gaussian.log_delta_from(epsilon, mu)
        assert exact <= mpmath.mpf(found)
        # where delta is within 1e-30 of 1 its logarithm is given as 0
        assert exact > mpmath.mpf(steps(found, -2))


def test_a_delta_below_every_float_is_still_above_zero():
    assert gaussian.delta_from(1e3, 1e-3) == math.ulp(0.0)


def test_a_delta_of_one_is_not_exceeded():
    assert gaussian.delta_from(0.0, 1e5) == 1.0
    assert gaussian.log_delta_from(0.0, 1e5) == 0.0


def test_epsilon_is_zero_where_delta_pays_for_everything():
    assert gaussian.epsilon_from(0.1, 0.1) == 0.0
    assert true_delta(0.0, 0.1) <= mpmath.mpf(0.1)


def test_epsilon_next_to_zero_stays_on_the_private_side():
    mu = 1.0
    delta = steps(gaussian.delta_from(0.0, mu), -1)
    found = gaussian.epsilon_from(mu, delta)
    assert 0 < found < 1e-14
    assert true_delta(found, mu) <= mpmath.mpf(delta)


def test_teeth_one_percent_more_mu_breaks_the_promise_everywhere():
    for epsilon, delta in GRID:
        wrong = 1.01 * gaussian.mu_from(epsilon, delta)
        assert true_delta(epsilon, wrong) > 1.003 * mpmath.mpf(delta)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 10.0, 100.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-8, 1e-5, 1e-2])
def test_agrees_with_dp_accounting(epsilon, delta):
    sigma = gaussian_mechanism.get_sigma_gaussian(epsilon, delta)
    assert 1 / gaussian.mu_from(epsilon, delta) == pytest.approx(sigma, rel=ORACLE_TOLERANCE)
    found = gaussian.epsilon_from(1 / sigma, delta)
    assert found == pytest.approx(gaussian_mechanism.get_epsilon_gaussian(sigma, delta), rel=ORACLE_TOLERANCE)


def test_the_published_figure_at_one_and_one_in_a_million():
    assert round(1 / gaussian.mu_from(1.0, 1e-6), 3) == 4.225


# the exact column of the AdaSSP table: noise per statistic when three are released, sqrt(3)/mu
@pytest.mark.parametrize(
    ("epsilon", "delta", "figure"),
    [
        (0.1, 1e-5, 53.26),
        (0.5, 1e-5, 12.18),
        (1.0, 1e-5, 6.46),
        (3.0, 1e-5, 2.41),
        (10.0, 1e-5, 0.87),
        (0.1, 1e-6, 62.88),
        (0.5, 1e-6, 13.96),
        (1.0, 1e-6, 7.32),
        (3.0, 1e-6, 2.67),
        (10.0, 1e-6, 0.94),
        (0.1, 1e-8, 79.57),
        (0.5, 1e-8, 17.08),
        (1.0, 1e-8, 8.83),
        (3.0, 1e-8, 3.15),
        (10.0, 1e-8, 1.07),
    ],
)
def test_the_published_noise_for_three_statistics(epsilon, delta, figure):
    assert round(math.sqrt(3) / gaussian.mu_from(epsilon, delta), 2) == figure


log_epsilons = st.floats(math.log(1e-9), math.log(1e9))
log_deltas = st.floats(math.log(1e-299), math.log(0.49))


@settings(max_examples=60, deadline=None)
@given(log_epsilons, log_deltas)
def test_round_trip_through_mu_returns_at_most_the_epsilon(log_epsilon, log_delta):
    epsilon, delta = math.exp(log_epsilon), math.exp(log_delta)
    mu = gaussian.mu_from(epsilon, delta)
    assert gaussian.epsilon_from(mu, delta) <= steps(epsilon, 1)
    assert gaussian.delta_from(epsilon, mu) <= steps(delta, 1)
    # how far one float of mu moves delta depends on the slope there, so the other side is asked two floats on
    assert gaussian.delta_from(epsilon, steps(mu, 2)) >= delta
    assert gaussian.epsilon_from(steps(mu, 2), delta) >= epsilon


@settings(max_examples=40, deadline=None)
@given(log_epsilons, log_deltas, st.floats(1.0001, 100.0))
def test_more_epsilon_or_more_delta_never_gives_less_mu(log_epsilon, log_delta, factor):
    epsilon, delta = math.exp(log_epsilon), math.exp(log_delta)
    mu = gaussian.mu_from(epsilon, delta)
    assert gaussian.mu_from(min(epsilon * factor, 1e9), delta) >= mu
    assert gaussian.mu_from(epsilon, min(delta * factor, 0.5)) >= mu


@settings(max_examples=40, deadline=None)
@given(st.floats(0.0, 50.0), st.floats(1e-6, 50.0), st.floats(0.0, 10.0))
def test_delta_falls_in_epsilon_and_grows_in_mu(epsilon, mu, more):
    delta = gaussian.delta_from(epsilon, mu)
    assert gaussian.delta_from(epsilon + more, mu) <= delta
    assert gaussian.delta_from(epsilon, mu + more) >= delta


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(1e-150, 1e150), min_size=1, max_size=6))
def test_composition_is_the_root_of_the_sum_of_squares_rounded_up(mus):
    total = gaussian.compose_mu(*mus)
    with mpmath.workdps(700):
        exact = mpmath.sqrt(sum(mpmath.mpf(mu) ** 2 for mu in mus))
        assert exact <= mpmath.mpf(total)
        assert exact > mpmath.mpf(steps(total, -1))


def test_composition_of_one_piece_is_that_piece():
    assert gaussian.compose_mu(0.1) == 0.1


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, "1", None, True, 1e-13, 1e6, 10**400])
def test_mu_out_of_range_is_refused(bad):
    for call in (lambda: gaussian.delta_from(1.0, bad), lambda: gaussian.epsilon_from(bad, 1e-6)):
        with pytest.raises(SpecError, match=r"mu: expected a .*number"):
            call()


@pytest.mark.parametrize("bad", [-1e-9, math.nan, math.inf, "1", None, True, 1e11])
def test_epsilon_out_of_range_is_refused(bad):
    for call in (
        lambda: gaussian.delta_from(bad, 1.0),
        lambda: gaussian.log_delta_from(bad, 1.0),
        lambda: gaussian.mu_from(bad, 1e-6),
    ):
        with pytest.raises(SpecError, match="epsilon: expected a number"):
            call()


@pytest.mark.parametrize("bad", [0.0, -1e-9, math.nan, math.inf, "1e-6", None, False, 0.6, 1.0, 1e-301])
def test_delta_out_of_range_is_refused_with_advice(bad):
    for call in (lambda: gaussian.epsilon_from(1.0, bad), lambda: gaussian.mu_from(1.0, bad)):
        with pytest.raises(SpecError, match="needs delta > 0"):
            call()


def test_mu_needs_an_epsilon_above_zero():
    with pytest.raises(SpecError, match="expected a number from 1e-09 to 1e"):
        gaussian.mu_from(0.0, 1e-6)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, "1", True])
def test_composition_refuses_what_is_no_mechanism(bad):
    with pytest.raises(SpecError, match=r"mu: expected a .*number"):
        gaussian.compose_mu(1.0, bad)


def test_composition_of_nothing_is_refused():
    with pytest.raises(SpecError, match="at least one mu"):
        gaussian.compose_mu()
