"""The map of noise in shares: what is charged, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from discreet.accounting.privacy_loss import keeps
from discreet.accounting.privacy_maps import loss_of
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import SpecError
from discreet.mechanisms.gaussian import GaussianShares
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.gaussian_dp import mu_from

COLUMNS = {"x": (-1, 1), "g": ["a", "b", "c"], "y": (-1, 1)}
DESIGN = Design("y", COLUMNS)


def distribution_of(design=DESIGN, shares=3, honest=2, most=1, grid_bits=16, epsilon=1.0):
    made = GaussianShares(shares=shares, honest=honest, parts_per_person=most)
    return made.noise_model(design, RowDomain.of(design, grid_bits), PrivacyBudget(epsilon, 1e-6), {})


def loss(distribution, design=DESIGN, epsilon=1.0):
    return loss_of("gaussian", design, distribution, {}, epsilon, 1e-6)


@pytest.mark.parametrize("unit", [{}, {"neighbours": "replace"}, {"id": "p", "max_rows": 3}])
@pytest.mark.parametrize(("shares", "honest"), [(3, 2), (3, 1), (20, 19), (1, 1)])
def test_the_noise_keeps_its_promise_and_hardly_more(unit, shares, honest):
    design = Design("y", COLUMNS, unit=unit)
    found = loss(distribution_of(design, shares, honest), design)
    assert 0.98 * mu_from(1.0, 1e-6) <= found.mu <= mu_from(1.0, 1e-6)
    assert keeps(found, 1.0, 1e-6)


@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_person_in_several_parts_costs_the_same_with_so_many_times_the_noise(most):
    distribution = distribution_of(most=most)
    assert loss(distribution).mu == pytest.approx(loss(distribution_of()).mu, rel=1e-6)
    assert distribution.sd("cross") == pytest.approx(most * distribution_of().sd("cross"), rel=1e-6)
    # negative control: the noise for a person in one part, stated for more
    assert most == 1 or not keeps(loss(replace(distribution_of(), parameters=distribution.parameters)), 1.0, 1e-6)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 20.0])
@pytest.mark.parametrize("grid_bits", [8, 16])
def test_both_accounts_are_kept(epsilon, grid_bits):
    distribution = distribution_of(grid_bits=grid_bits, epsilon=epsilon)
    assert keeps(loss(distribution, epsilon=epsilon), epsilon, 1e-6)


def test_one_honest_share_less_breaks_the_promise():
    distribution = distribution_of()
    fewer = replace(distribution, parameters={**distribution.parameters, "honest": 1})
    assert not keeps(loss(fewer), 1.0, 1e-6)


def test_less_noise_on_any_block_costs_more():
    distribution = distribution_of()
    for name in distribution.sigma:
        less = replace(distribution, sigma={**distribution.sigma, name: distribution.sigma[name] // 2})
        assert loss(less).mu > 1.001 * loss(distribution).mu, name


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shares": 2}, "'shares': expected 1 or 3 to 1000, got 2"),
        ({"shares": 1001}, "'shares': expected 1 or 3 to 1000"),
        ({"honest": 3}, "'honest': expected 1 to 2, got 3"),
        ({"honest": 0}, "'honest': expected 1"),
        ({"shares": 1, "honest": 2}, "'honest': expected 1"),
        ({"parts_per_person": 0}, "'parts_per_person': expected 1"),
        ({"parts_per_person": 4}, "'parts_per_person': expected 1"),
        ({"more": 1}, "takes no parameter 'more', but the release states one"),
        ({"honest": None}, "needs a parameter 'honest', but the release states none"),
    ],
)
def test_other_terms_are_refused(change, message):
    distribution = distribution_of()
    terms = {name: value for name, value in {**distribution.parameters, **change}.items() if value is not None}
    with pytest.raises(SpecError, match=message):
        loss(replace(distribution, parameters=terms))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"count": 15}, "at least 16 grid steps .*, got 15"),
        ({"count": 0}, "must have noise unless the neighbouring relation makes it public"),
        ({"clipped": 100}, "takes no scale 'clipped', but the release states one"),
    ],
)
def test_another_distribution_is_refused(change, message):
    distribution = distribution_of()
    with pytest.raises(SpecError, match=message):
        loss(replace(distribution, sigma={**distribution.sigma, **change}))


def test_a_person_in_several_parts_is_refused_for_replaced_rows():
    design = Design("y", COLUMNS, unit={"neighbours": "replace"})
    distribution = distribution_of(design)
    several = replace(distribution, parameters={**distribution.parameters, "parts_per_person": 2})
    with pytest.raises(SpecError, match='neighbours = "replace" needs parts_per_person = 1'):
        loss(several, design)
