"""Discovery of bounds: the joint loss against the budget, and the distribution of its noise."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from discreet.accounting.noise_distribution import DISCOVERY, GUARD
from discreet.accounting.preliminary_counts import discovery_l1_sensitivity, discovery_sensitivity
from discreet.accounting.privacy_loss import keeps
from discreet.accounting.privacy_maps import loss_of, stopped_loss
from discreet.accounting.settings import checked_settings
from discreet.curator.sums.gram import Totals
from discreet.curator.sums.row_counts import RowCounts
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import SpecError
from discreet.mechanisms.guard import discovered, discovered_distribution, guarded_distribution
from discreet.mechanisms.registry import mechanism_named
from discreet.mechanisms.sampler import ExactSampler
from discreet.privacy.budget import PrivacyBudget

COLUMNS = {"y": "private", "x": {"bounds": "private", "within": (0, 100), "missing": "drop"}, "z": (0, 1)}
UNITS = {"row": {}, "replace": {"neighbours": "replace"}, "person": {"id": "who", "max_rows": 3}}
CASES = [
    ("gaussian", {}, 1e-6), ("ssp", {}, 1e-6), ("adassp", {}, 1e-6), ("gradient", {"iterations": 3}, 1e-6),
    ("output", {}, 1e-6), ("refined", {}, 1e-6), ("irls", {"iterations": 3}, 1e-6), ("irls", {"iterations": 3}, 0.0),
    ("irls", {"iterations": 3, "composition": "basic"}, 1e-6), ("laplace", {}, 0.0), ("k-norm", {}, 0.0),
    ("functional", {}, 0.0), ("dpme", {}, 0.0), ("frank-wolfe", {}, 0.0), ("frank-wolfe", {}, 1e-6),
]  # fmt: skip


def made(name, settings, delta, unit="row", *, guard=False, bits=16, epsilon=1.0):
    mechanism, design = mechanism_named(name), Design("y", COLUMNS, unit=UNITS[unit])
    domain, public = RowDomain.of(design, bits), checked_settings(name, mechanism.info.settings, settings)

    def searched(budget):
        return discovered_distribution(
            design, domain, budget, lambda b: mechanism.noise_model(design, domain, b, public)
        )

    budget = PrivacyBudget(epsilon, delta)
    distribution = guarded_distribution(design, domain, budget, searched) if guard else searched(budget)

    def loss(distribution, of=design):
        return loss_of(name, of, distribution, public, epsilon, delta)

    return design, distribution, loss


@pytest.mark.no_cover
@pytest.mark.parametrize(("name", "settings", "delta"), CASES)
@pytest.mark.parametrize(("unit", "guard"), [("row", True), ("replace", False), ("person", False)])
def test_discovery_and_mechanism_keep_the_budget_and_less_noise_does_not(name, settings, delta, unit, guard):
    design, distribution, loss = made(name, settings, delta, unit, guard=guard)
    whole = loss(distribution)
    assert keeps(whole, 1.0, delta)
    found = design.with_found({"y": (0.0, 8.0), "x": (1.0, 2.0)})
    assert loss(distribution, found) == whole
    for block in (DISCOVERY, *((GUARD,) if guard else ())):
        quarter = replace(distribution, sigma={**distribution.sigma, block: distribution.sigma[block] // 4})
        if distribution.calibration != "composed":
            # composed noise keeps more than it promises
            assert not keeps(loss(quarter), 1.0, delta)
        assert loss(quarter).mu > whole.mu


@pytest.mark.parametrize("unit", UNITS)
def test_the_share_is_a_twentieth_of_mu_squared_or_of_epsilon(unit):
    design, distribution, loss = made("gaussian", {}, 1e-6, unit)
    mu = discovery_sensitivity(2, design.unit) * distribution.unit / distribution.sigma[DISCOVERY]
    assert mu**2 == pytest.approx(loss(distribution).mu ** 2 / 20, rel=0.02)
    design, distribution, _ = made("laplace", {}, 0.0, unit)
    epsilon = discovery_l1_sensitivity(2, design.unit) * distribution.unit / distribution.sigma[DISCOVERY]
    assert epsilon == pytest.approx(0.05, rel=1e-6)


@pytest.mark.parametrize("guard", [False, True])
@pytest.mark.parametrize(("name", "delta"), [("gaussian", 1e-6), ("laplace", 0.0)])
def test_where_nothing_is_found_the_counts_alone_are_spent(name, delta, guard):
    design, distribution, loss = made(name, {}, delta, guard=guard)
    spent, whole = stopped_loss(design, distribution, 1.0, delta, found_nothing=True), loss(distribution)
    share = spent.mu**2 / whole.mu**2 if delta else spent.epsilon / whole.epsilon
    # of the nine or ten tenths that a guard leaves
    assert share == pytest.approx(0.05 * (0.99 if guard else 1.0) + (0.01 if guard else 0.0), rel=0.02)
    assert keeps(spent, spent.epsilon, spent.delta)
    if guard:
        first = stopped_loss(design, distribution, 1.0, delta)
        assert first.mu < spent.mu
        assert first.epsilon < spent.epsilon


@pytest.mark.parametrize("name", ["wishart", "objective"])
def test_a_mechanism_that_is_proved_as_a_whole_only_is_refused(name):
    with pytest.raises(
        SpecError,
        match=r"bounds cannot be combined .* cannot be divided; declare all bounds, or pass mechanism='gaussian'",
    ):
        made(name, {}, 1e-6)


def test_a_distribution_and_a_design_that_contradict_each_other_are_refused():
    design, distribution, loss = made("gaussian", {}, 1e-6)
    with pytest.raises(SpecError, match="if and only if the design has private bounds"):
        loss(distribution.without_before())
    with pytest.raises(SpecError, match="if and only if the design has private bounds"):
        loss(distribution, design.with_found({"y": (0.0, 1.0), "x": (0.0, 1.0)}).redeclared())
    with pytest.raises(SpecError, match=r"expected a noise scale from 1 to 2.100 steps for 'discovery'"):
        loss(replace(distribution, sigma={**distribution.sigma, DISCOVERY: 0}))


@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_the_noise_of_the_counts_has_its_distribution(delta):
    """Kolmogorov-Smirnov, 4,200 variates; false alarm 1e-9, and a scale that is 60% off fails."""
    design, distribution, _ = made("gaussian" if delta else "laplace", {}, delta)
    exact = tuple(range(82 + 41 + 1))
    noise = []
    for _ in range(34):
        part = discovered(Totals(exact, 1, RowCounts(5)), design, distribution, ExactSampler())
        assert list(part.cells) == ["y", "x"]
        noisy = [*part.cells["y"], *part.cells["x"], part.rows]
        noise += [one - count * distribution.unit for one, count in zip(noisy, exact, strict=True)]
    scaled = np.array(noise, dtype=float) / distribution.sigma[DISCOVERY]
    reference = stats.norm if delta else stats.laplace
    assert stats.kstest(scaled, reference.cdf).pvalue > 1e-9
    assert stats.kstest(scaled * 1.6, reference.cdf).pvalue < 1e-9
    assert abs(np.corrcoef(scaled[:-1], scaled[1:])[0, 1]) < 7 / math.sqrt(len(scaled))
