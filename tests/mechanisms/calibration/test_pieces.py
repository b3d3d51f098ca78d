"""Several Gaussian statistics under one account: the loss of all together is the budget's, and not less."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from discreet.accounting.queries import VectorQuery
from discreet.design.domain import RowDomain
from discreet.errors import SpecError
from discreet.mechanisms.calibration import queries_distribution
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.gaussian_dp import delta_from, delta_from_rho

DOMAIN = RowDomain(3, 0, 0, None, False, 16)
SHARES = [
    (VectorQuery("score", 4, 2.0, times=10), 0.7), (VectorQuery("gram", 10, 4.0), 0.25),
    (VectorQuery("count", 1, 1.0), 0.05),
]  # fmt: skip


def mu2(distribution) -> Fraction:
    """Exact loss of all pieces together under the noise that is really drawn."""
    unit4 = Fraction(DOMAIN.unit) ** 4
    return sum(
        Fraction(query.times) * Fraction(query.sensitivity) ** 2 * unit4 / distribution.sigma[query.block] ** 2
        for query, _ in SHARES
    )


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-6), (5.0, 1e-9), (20.0, 1e-3)])
def test_all_pieces_together_spend_the_budget_and_no_more(epsilon, delta):
    distribution = queries_distribution(DOMAIN, PrivacyBudget(epsilon, delta), SHARES)
    assert distribution.calibration == "gaussian"
    mu = float(mu2(distribution)) ** 0.5
    assert delta_from(epsilon, mu) <= delta
    assert delta_from(epsilon, mu * 1.001) > delta


@pytest.mark.parametrize(("epsilon", "delta"), [(1e4, 1e-6), (1.0, 1e-200), (30.0, 1e-6)])
def test_where_the_lattice_is_too_coarse_its_own_distribution_is_charged(epsilon, delta):
    distribution = queries_distribution(DOMAIN, PrivacyBudget(epsilon, delta), SHARES)
    assert distribution.calibration == "discrete-zcdp"
    rho = float(mu2(distribution)) / 2
    assert delta_from_rho(epsilon, rho) <= delta
    assert delta_from_rho(epsilon, rho * 1.01) > delta


def test_shares_are_what_the_pieces_spend():
    distribution = queries_distribution(DOMAIN, PrivacyBudget(1.0, 1e-6), SHARES)
    total = float(mu2(distribution))
    for query, share in SHARES:
        spent = query.times * (query.sensitivity / distribution.sd(query.block)) ** 2
        assert spent / total == pytest.approx(share, rel=1e-6)


def test_ten_passes_at_1_and_1e_6_have_the_exact_multiplier():
    """maths.md, section 7: 18.9 for twenty Gaussian pieces of equal share; classical and basic give 116.7."""
    distribution = queries_distribution(
        DOMAIN, PrivacyBudget(1.0, 1e-6), [(VectorQuery("piece", 1, 1.0, times=20), 1.0)]
    )
    assert distribution.sd("piece") == pytest.approx(18.9, abs=0.05)
    assert math.isclose(distribution.sd("piece") / math.sqrt(20), 4.2248, rel_tol=1e-4)


def test_budgets_without_delta_or_in_another_currency_are_refused():
    with pytest.raises(SpecError, match="got delta = 0"):
        queries_distribution(DOMAIN, PrivacyBudget(1.0), SHARES)
    with pytest.raises(SpecError, match="zcdp"):
        queries_distribution(DOMAIN, PrivacyBudget.zcdp(0.1), SHARES)


def test_noise_beyond_the_sampler_is_refused():
    with pytest.raises(SpecError, match="64-bit sampler"):
        queries_distribution(
            RowDomain(3, 0, 0, None, False, 26),
            PrivacyBudget(1e-4, 1e-12),
            [(VectorQuery("score", 1, 9.0, times=100), 1.0)],
        )
