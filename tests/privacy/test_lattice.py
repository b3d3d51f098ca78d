"""The step from continuous to discrete Gaussian noise: what it costs, when it is taken, and who is refused."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest

from discreet.errors import SpecError
from discreet.privacy import lattice
from discreet.privacy.budget import PrivacyBudget, as_pair
from discreet.privacy.gaussian_dp import delta_from, delta_from_rho, mu_from
from discreet.privacy.lattice import (
    LATTICE_SHARE,
    approximate,
    concentrated_mu,
    delta_left,
    gaussian_mu,
    lattice_curve,
    lattice_gap,
)

VARIATES = [(3, 200), (1, 1000), (7, 450)]


def exact_gap(epsilon: float, variates: list[tuple[int, int]]) -> Fraction:
    """(1 + e^epsilon) times the sum of 1 / (16 sigma^2), from a power of e with sixty digits."""
    with mpmath.workdps(60):
        odds = Fraction(str(1 + mpmath.exp(epsilon)))
    return odds * sum((Fraction(how_many, 16 * sigma**2) for how_many, sigma in variates), Fraction(0))


def total_variation(sigma: int) -> mpmath.mpf:
    """Distance of the discrete Gaussian from the rounded continuous one, summed over the integers."""
    with mpmath.workdps(40):
        points = range(-12 * sigma, 12 * sigma + 1)
        weights = [mpmath.exp(-(mpmath.mpf(z) ** 2) / (2 * sigma**2)) for z in points]
        total = mpmath.fsum(weights)
        rounded = [
            mpmath.ncdf((z + mpmath.mpf(1) / 2) / sigma) - mpmath.ncdf((z - mpmath.mpf(1) / 2) / sigma) for z in points
        ]
        return mpmath.fsum(abs(w / total - r) for w, r in zip(weights, rounded, strict=True)) / 2


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 8.0, 30.0, 700.0])
def test_the_gap_is_the_formula_rounded_up(epsilon):
    gap, exact = lattice_gap(epsilon, VARIATES), exact_gap(epsilon, VARIATES)
    assert exact <= Fraction(gap) <= exact * (1 + Fraction(1, 2**39))


@pytest.mark.parametrize("sigma", [1, 2, 5])
def test_the_gap_covers_the_distance_of_the_two_distributions(sigma):
    distance = total_variation(sigma)
    claimed = lattice_gap(1.0, [(1, sigma)]) / (1 + math.e)
    assert distance <= claimed
    # negative control: a bound that is four times smaller would be broken
    assert distance > claimed / 4


def test_beyond_the_doubles_the_gap_is_infinite():
    assert lattice_gap(700.1, VARIATES) == math.inf
    assert delta_left(700.1, 0.5, VARIATES) is None


def test_what_is_left_of_delta_is_delta_less_the_gap_up_to_a_hundredth():
    gap = lattice_gap(1.0, VARIATES)
    enough = gap / LATTICE_SHARE
    left = delta_left(1.0, enough * (1 + 1e-9), VARIATES)
    assert left is not None
    assert Fraction(left) + exact_gap(1.0, VARIATES) <= Fraction(enough * (1 + 1e-9))
    assert left == pytest.approx(enough - gap, rel=1e-8)
    assert delta_left(1.0, enough * (1 - 1e-9), VARIATES) is None


@pytest.mark.parametrize("epsilon", [0.5, 4.0, 10.0])
def test_the_noise_and_the_lattice_together_keep_delta(epsilon):
    delta = 1e-4

    def variates(mu):
        return [(4, math.ceil(2000 * math.exp(epsilon / 2) / mu))]

    mu, rule = gaussian_mu(PrivacyBudget(epsilon, delta), variates)
    assert rule == "gaussian"
    gap = lattice_gap(epsilon, variates(mu_from(epsilon, delta)))
    assert delta_from(epsilon, mu) + gap <= delta
    # negative control: without a gap there would be room for a larger mu, which breaks the promise
    assert delta_from(epsilon, mu_from(epsilon, delta)) + gap > delta


def test_without_a_gap_the_promise_is_broken(monkeypatch):
    def variates(mu):
        return [(4, math.ceil(100 / mu))]

    budget = PrivacyBudget(1.0, 1e-3)
    kept, _ = gaussian_mu(budget, variates)
    gap = lattice_gap(1.0, variates(kept))
    assert delta_from(1.0, kept) + gap <= 1e-3
    monkeypatch.setattr(lattice, "lattice_gap", lambda epsilon, variates: 0.0)
    broken, _ = gaussian_mu(budget, variates)
    assert delta_from(1.0, broken) + gap > 1e-3


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (20.0, 1e-6), (900.0, 1e-3)])
def test_on_a_coarse_lattice_the_discrete_distribution_is_calibrated_itself(epsilon, delta):
    mu, rule = gaussian_mu(PrivacyBudget(epsilon, delta), lambda mu: [(2, math.ceil(3 / mu))])
    assert rule == "discrete-zcdp"
    assert mu == concentrated_mu(epsilon, delta)
    assert delta_from_rho(epsilon, mu**2 / 2) <= delta < delta_from_rho(epsilon, (1.001 * mu) ** 2 / 2)


@pytest.mark.parametrize("sigma", [10**9, 3])
def test_a_rule_of_composition_is_asked_for_one_release(sigma):
    seen = []

    def halves(epsilon, delta):
        seen.append(epsilon)
        return epsilon / 2, delta / 2

    mu, rule = gaussian_mu(PrivacyBudget(2.0, 1e-6), lambda mu: [(1, sigma)], halves)
    assert seen == [2.0, 2.0]
    one = mu_from(1.0, 5e-7) if rule == "gaussian" else concentrated_mu(1.0, 5e-7)
    assert mu == pytest.approx(one, rel=1e-9)


@pytest.mark.parametrize("asked", [approximate, lambda budget: gaussian_mu(budget, lambda mu: VARIATES)])
def test_other_budgets_are_refused(asked):
    with pytest.raises(SpecError, match=r"^this mechanism needs a budget in epsilon and delta, got a budget in zcdp$"):
        asked(PrivacyBudget.zcdp(0.1))
    with pytest.raises(SpecError, match=r"^Gaussian noise needs delta above 0.*got delta = 0"):
        asked(PrivacyBudget(1.0))


def test_a_pair_may_be_pure_and_the_message_says_what_is_wanted():
    assert as_pair(PrivacyBudget(1.5)) == (1.5, 0.0)
    with pytest.raises(SpecError, match=r"^this mechanism needs a budget in epsilon, got a budget in gdp$"):
        as_pair(PrivacyBudget.gdp(0.1), wanted="epsilon")


def test_the_curve_bounds_every_gap_that_is_paid():
    delta = lattice_gap(1.0, VARIATES) / LATTICE_SHARE
    mu, gap = lattice_curve(1.0, delta)
    assert mu == mu_from(1.0, delta)
    assert sum(how_many / (16 * sigma**2) for how_many, sigma in VARIATES) <= gap * (1 + 1e-12)
