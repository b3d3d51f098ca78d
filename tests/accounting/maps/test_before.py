"""The loss of a guard and its mechanism, forwards from their noise: within the budget, close to it, and never less."""

from __future__ import annotations

from dataclasses import replace

import pytest

from discreet.accounting.noise_distribution import GUARD, NoiseDistribution
from discreet.accounting.privacy_loss import keeps
from discreet.accounting.privacy_maps import loss_of, stopped_loss
from discreet.accounting.settings import checked_settings
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import SpecError
from discreet.mechanisms.guard import guarded_distribution
from discreet.mechanisms.registry import mechanism_named
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.gaussian_dp import delta_from
from discreet.privacy.spend import Loss

COLUMNS = {"y": (0, 1), "x": {"bounds": (0, 1), "missing": "drop"}, "z": (0, 1)}
UNITS = [{}, {"neighbours": "replace"}, {"id": "person", "max_rows": 3}]
CASES = [
    ("gaussian", {}, 1e-6), ("ssp", {}, 1e-6), ("adassp", {}, 1e-6), ("gradient", {"iterations": 3}, 1e-6),
    ("output", {}, 1e-6), ("irls", {"iterations": 3}, 1e-6), ("irls", {"iterations": 3}, 0.0),
    ("irls", {"iterations": 3, "composition": "basic"}, 1e-6), ("irls", {"iterations": 3, "composition": "zcdp"}, 1e-6),
    ("laplace", {}, 0.0), ("k-norm", {}, 0.0), ("functional", {}, 0.0), ("dpme", {}, 0.0),
    ("dpme", {"noise": "gaussian"}, 1e-6), ("frank-wolfe", {}, 0.0), ("frank-wolfe", {}, 1e-6),
]  # fmt: skip


def guarded(name: str, settings: dict[str, object], delta: float, unit: dict[str, object]):
    mechanism, design = mechanism_named(name), Design("y", COLUMNS, unit=unit)
    domain, public = RowDomain.of(design), checked_settings(name, mechanism.info.settings, settings)
    distribution = guarded_distribution(
        design, domain, PrivacyBudget(1.0, delta), lambda b: mechanism.noise_model(design, domain, b, public)
    )

    def loss(distribution: NoiseDistribution) -> Loss:
        return loss_of(name, design, distribution, public, 1.0, delta)

    return design, distribution, loss


@pytest.mark.no_cover
@pytest.mark.parametrize(("name", "settings", "delta"), CASES)
@pytest.mark.parametrize("unit", UNITS, ids=["row", "replace", "person"])
def test_guard_and_mechanism_keep_the_budget_and_half_the_noise_of_the_guard_does_not(name, settings, delta, unit):
    _, distribution, loss = guarded(name, settings, delta, unit)
    whole, alone = loss(distribution), loss(distribution.without_before())
    assert keeps(whole, 1.0, delta)
    assert whole.mu > alone.mu
    assert whole.rho > alone.rho
    quarter = replace(distribution, sigma={**distribution.sigma, GUARD: distribution.sigma[GUARD] // 4})
    if distribution.calibration != "composed":
        # composed noise keeps more than it promises
        assert not keeps(loss(quarter), 1.0, delta)
    assert loss(quarter).mu > whole.mu
    if distribution.family == "discrete-gaussian":
        # each count has a step to the lattice of its own
        assert whole.tau == pytest.approx(alone.tau + 2 / (16 * distribution.sigma[GUARD] ** 2), rel=1e-12, abs=0)
        assert whole.tau > alone.tau


@pytest.mark.parametrize(("name", "delta"), [("gaussian", 1e-6), ("laplace", 0.0)])
def test_a_stopped_release_costs_the_counts_alone(name, delta):
    design, distribution, loss = guarded(name, {}, delta, {})
    stopped, whole = stopped_loss(design, distribution, 1.0, delta), loss(distribution)
    share = stopped.mu**2 / whole.mu**2 if delta else stopped.epsilon / whole.epsilon
    assert share == pytest.approx(0.01, rel=0.02)
    assert stopped.tau < whole.tau or not delta


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 18.0])
def test_a_stopped_release_is_charged_little_of_epsilon_and_of_delta(epsilon):
    design, mechanism = Design("y", COLUMNS), mechanism_named("gaussian")
    domain = RowDomain.of(design)
    distribution = guarded_distribution(
        design, domain, PrivacyBudget(epsilon, 1e-6), lambda b: mechanism.noise_model(design, domain, b, {})
    )
    stopped = stopped_loss(design, distribution, epsilon, 1e-6)
    assert stopped.epsilon < 0.2 * epsilon
    assert stopped.delta < 0.03e-6
    # its own pair is true of its own noise
    assert keeps(stopped, stopped.epsilon, stopped.delta)
    assert delta_from(stopped.epsilon, stopped.mu) <= stopped.delta


def test_a_guard_without_noise_or_before_a_mechanism_that_has_none_is_refused():
    _, distribution, loss = guarded("gaussian", {}, 1e-6, {})
    with pytest.raises(SpecError, match=r"expected a noise scale from 1 to 2.100 steps for 'guard'"):
        loss(replace(distribution, sigma={**distribution.sigma, GUARD: 0}))
    design = Design("y", {"y": (0, 1), "x": (0, 1)})
    mechanism, domain = mechanism_named("wishart"), RowDomain.of(design)
    settings = checked_settings("wishart", mechanism.info.settings, {})
    wishart = mechanism.noise_model(design, domain, PrivacyBudget(1.0, 1e-6), settings)
    stated = replace(wishart, sigma={**wishart.sigma, GUARD: 10**9})
    with pytest.raises(SpecError, match="this mechanism takes no preliminary counts"):
        loss_of("wishart", design, stated, settings, 1.0, 1e-6)


def test_counts_are_stated_at_the_promised_epsilon_where_delta_leaves_no_other():
    design, distribution, _ = guarded("gaussian", {}, 1e-6, {})
    assert stopped_loss(design, distribution, 1.0, 1e-299).epsilon == 1.0
    assert stopped_loss(design, distribution, 1.0, 1e-6).epsilon < 0.5
