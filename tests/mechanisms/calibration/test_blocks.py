"""Noise of the blocks of a joint release."""

from __future__ import annotations

import math

import pytest

from discreet.design.domain import RowDomain
from discreet.mechanisms.calibration.blocks import DEFAULT_SHARES, noise_law, variates
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.lattice import lattice_gap
from discreet.privacy.zcdp import delta_from_rho
from support.joint_loss import exact_mu2

UNIT_BALL = RowDomain(5, 0, 0, 1.0, False, 16)


def test_the_lattice_gap_is_what_its_formula_says():
    domain = RowDomain(3, 0, 0, None, False, 8)
    law = noise_law(domain, "add-remove", 5, PrivacyBudget(1.0, 1e-3), count_public=False)
    expected = (1 + math.e) * sum(1 / (16 * sigma**2) for sigma in law.steps(5))
    assert lattice_gap(1.0, variates(law, 5)) == pytest.approx(expected, rel=1e-9)
    assert lattice_gap(1.0, variates(law, 5)) >= expected


def test_the_default_shares_are_what_the_blocks_spend():
    domain = RowDomain(4, 0, 0, None, False, 16)
    law = noise_law(domain, "add-remove", 6, PrivacyBudget(1.0, 1e-6), count_public=False)
    mu2 = float(exact_mu2(domain, law))
    assert (domain.unit**2 / law.sigma["count"]) ** 2 / mu2 == pytest.approx(DEFAULT_SHARES.count, rel=1e-6)
    assert (4 * domain.unit**2 / law.sigma["gram_diagonal"]) ** 2 / mu2 == pytest.approx(DEFAULT_SHARES.gram, rel=1e-6)


def test_off_diagonal_noise_is_smaller_by_the_square_root_of_two():
    law = noise_law(UNIT_BALL, "add-remove", 7, PrivacyBudget(1.0, 1e-6), count_public=False)
    assert law.sigma["gram_diagonal"] / law.sigma["gram_off_diagonal"] == pytest.approx(math.sqrt(2), rel=1e-9)


@pytest.mark.parametrize(("epsilon", "delta"), [(30.0, 1e-6), (1e4, 1e-6), (1e6, 1e-6), (1.0, 1e-200)])
def test_where_the_lattice_gap_is_not_small_the_discrete_law_is_calibrated_itself(epsilon, delta):
    domain = RowDomain(2, 0, 0, None, False, 16)
    law = noise_law(domain, "add-remove", 4, PrivacyBudget(epsilon, delta), count_public=False)
    assert law.calibration == "discrete-zcdp"
    mu2 = float(exact_mu2(domain, law))
    assert delta_from_rho(epsilon, mu2 / 2) <= delta
    assert delta_from_rho(epsilon, mu2 * 1.01 / 2) > delta
