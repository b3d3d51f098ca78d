"""One budget for counts and for the mechanism after them, in every kind of accounting."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.accounting.noise_distribution import GUARD, NoiseDistribution
from discreet.accounting.queries import VectorQuery
from discreet.design.domain import RowDomain
from discreet.errors import SpecError
from discreet.mechanisms.calibration import preceded_distribution
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.gaussian_dp import delta_from, mu_from, rho_from

DOMAIN = RowDomain(1, 0, 0, None, False, 16)
COUNTS = VectorQuery(GUARD, 7, 2.5, 4)
HALF = Fraction(1, 2)


def after(family="discrete-gaussian", calibration="gaussian"):
    """A mechanism whose distribution says which budget it was given."""
    given = []

    def distribution_for(budget):
        given.append(budget)
        return NoiseDistribution(16, {"part": 5}, calibration, family)

    return distribution_for, given


def mu_of(distribution):
    return COUNTS.sensitivity * distribution.unit / distribution.sigma[GUARD]


def test_gaussian_noise_shares_the_square_of_mu():
    distribution_for, given = after()
    distribution = preceded_distribution(COUNTS, HALF, DOMAIN, PrivacyBudget(1.0, 1e-6), distribution_for)
    whole = mu_from(1.0, 0.99e-6)
    rest = given[-1]
    assert rest.epsilon == 1.0
    assert mu_from(1.0, rest.delta) ** 2 + mu_of(distribution) ** 2 <= whole**2
    assert mu_of(distribution) ** 2 == pytest.approx(whole**2 / 2, rel=1e-5)
    assert delta_from(1.0, whole) < 1e-6


def test_concentrated_noise_gets_what_the_mechanism_leaves():
    distribution_for, given = after(calibration="discrete-zcdp")
    distribution = preceded_distribution(COUNTS, HALF, DOMAIN, PrivacyBudget(1.0, 1e-6), distribution_for)
    assert mu_of(distribution) ** 2 / 2 + rho_from(1.0, given[-1].delta) <= rho_from(1.0, 1e-6)


def test_composed_noise_splits_both_numbers_and_pure_noise_epsilon():
    distribution_for, given = after(calibration="composed")
    distribution = preceded_distribution(COUNTS, HALF, DOMAIN, PrivacyBudget(1.0, 1e-6), distribution_for)
    assert given[-1].epsilon == pytest.approx(0.5)
    assert given[-1].delta == pytest.approx(0.5e-6)
    assert mu_of(distribution) <= mu_from(0.5, 0.5e-6)
    distribution_for, given = after("discrete-laplace", "pure")
    distribution = preceded_distribution(COUNTS, HALF, DOMAIN, PrivacyBudget(1.0), distribution_for)
    assert given[-1].epsilon + COUNTS.l1_sensitivity * distribution.unit / distribution.sigma[GUARD] <= 1.0


def test_a_bound_as_a_whole_and_a_coarse_lattice_are_refused():
    distribution_for, _ = after(calibration="bound")
    with pytest.raises(SpecError, match="leave guard out"):
        preceded_distribution(COUNTS, HALF, DOMAIN, PrivacyBudget(1.0, 1e-6), distribution_for)
    many = VectorQuery("discovery", 10**9, 1.0, 1)
    coarse = RowDomain(1, 0, 0, None, False, 8)
    with pytest.raises(SpecError, match=r"too coarse for private bounds .* declare all bounds"):
        preceded_distribution(many, HALF, coarse, PrivacyBudget(1.0, 1e-6), after()[0])
