"""What promises allow, checked against the definition and against numerical integration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from discreet.audit.judging import Claim
from discreet.audit.membership_result import allowed_area, allowed_power, gaussian_area, own_power

CLAIMS = [Claim(0.5), Claim(1.0, 1e-6), Claim(4.0, 1e-6), Claim(1.0, 0.3)]


@pytest.mark.parametrize("claim", CLAIMS)
def test_the_allowed_curve_is_the_largest_power_with_both_inequalities_of_the_definition(claim):
    growth = math.exp(claim.epsilon)
    for rate in np.linspace(0, 1, 41):
        (power,) = allowed_power(rate, claim)
        for p, kept in ((power, True), (power + 1e-6, False)):
            # the event, and its complement with the tables exchanged
            holds = p <= growth * rate + claim.delta + 1e-12 and 1 - rate <= growth * (1 - p) + claim.delta + 1e-12
            assert bool(holds) is kept or power == 1.0


@pytest.mark.parametrize("claim", CLAIMS)
def test_areas_are_integrals(claim):
    area, _ = quad(lambda rate: float(allowed_power(rate, claim)[0]), 0, 1, limit=400)
    assert allowed_area(claim) == pytest.approx(area, abs=1e-6)


@pytest.mark.parametrize("mu", [0.1, 1.0, 3.0])
def test_the_gaussian_curve_is_that_of_two_normal_distributions(mu):
    claim = Claim(50.0, 0.0, mu)
    rates = np.linspace(0.01, 0.99, 33)
    cut = norm.isf(rates)
    assert own_power(rates, claim) == pytest.approx(norm.sf(cut, loc=mu), abs=1e-12)
    area, _ = quad(lambda rate: float(own_power(rate, claim)[0]), 0, 1, limit=400)
    assert gaussian_area(mu) == pytest.approx(area, abs=1e-6)
    assert gaussian_area(mu) == pytest.approx(norm.cdf(mu / math.sqrt(2)), abs=1e-12)


def test_the_least_of_what_is_proved_holds():
    rates = np.linspace(0, 1, 21)
    assert (own_power(rates, Claim(0.1, 0.0, 5.0)) == allowed_power(rates, Claim(0.1))).all()
    assert (own_power(rates, Claim(0.1)) == allowed_power(rates, Claim(0.1))).all()
