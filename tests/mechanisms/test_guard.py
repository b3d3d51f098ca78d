"""The guard: sensitivities on all small pairs, the joint loss against the budget, its noise, false stops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from discreet.accounting.noise_distribution import GUARD, NoiseDistribution
from discreet.accounting.preliminary_counts import guard_l1_sensitivity, guard_sensitivity
from discreet.accounting.settings import checked_settings
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import SpecError
from discreet.mechanisms.guard import GuardCounts, guard_counts, guarded_distribution, stops
from discreet.mechanisms.registry import mechanism_named
from discreet.mechanisms.sampler import ExactSampler
from discreet.privacy.budget import PrivacyBudget, PrivacyUnit
from discreet.privacy.gaussian_dp import delta_from, delta_from_rho, rho_from
from discreet.privacy.lattice import LATTICE_SHARE, lattice_gap

COLUMNS = {"y": (0, 1), "x": {"bounds": (0, 1), "missing": "drop"}, "z": (0, 1)}
BUDGET = PrivacyBudget(1.0, 1e-6)


def distribution_for(name: str, design: Design, bits: int = 16, **settings: object):
    mechanism, domain = mechanism_named(name), RowDomain.of(design, bits)
    public = checked_settings(name, mechanism.info.settings, settings)
    return domain, lambda budget: mechanism.noise_model(design, domain, budget, public)


def guarded(
    name: str, budget: PrivacyBudget, unit: PrivacyUnit, bits: int = 16, **settings: object
) -> NoiseDistribution:
    design = Design("y", COLUMNS, unit=unit)
    domain, distribution = distribution_for(name, design, bits, **settings)
    return guarded_distribution(design, domain, budget, distribution)


@pytest.mark.parametrize(
    "unit", [PrivacyUnit(), PrivacyUnit(neighbours="replace"), PrivacyUnit(id="person", max_rows=3)]
)
@pytest.mark.parametrize("budget", [BUDGET, PrivacyBudget(0.1, 1e-8), PrivacyBudget(5.0, 1e-5)])
def test_guard_and_gaussian_mechanism_together_keep_the_budget(unit, budget):
    """The mechanism's share is read off by how much its noise grew; gaussian.proof.md says what it had alone."""
    design = Design("y", COLUMNS, unit=unit)
    domain, distribution = distribution_for("gaussian", design)
    alone, joint = distribution(budget), guarded_distribution(design, domain, budget, distribution)
    assert joint.calibration == "gaussian"
    grown = min(joint.sigma[block] / alone.sigma[block] for block in alone.sigma if alone.sigma[block])
    # alone it has at most the mu of the whole budget
    whole = budget.gdp_mu()
    mechanism, guard = whole / grown, guard_sensitivity(unit) * joint.unit / joint.sigma[GUARD]
    together = delta_from(budget.epsilon, math.hypot(mechanism, guard))
    assert together <= budget.delta * (1 + 1e-9)
    assert together >= 0.95 * budget.delta
    assert guard**2 == pytest.approx(0.01 * whole**2, rel=0.02)
    gap = lattice_gap(budget.epsilon, [(2, joint.sigma[GUARD])])
    assert gap <= LATTICE_SHARE * budget.delta
    # negative control: a guard with half the noise does not fit
    assert delta_from(budget.epsilon, math.hypot(mechanism, 2 * guard)) > budget.delta * (1 + 1e-3)


@pytest.mark.parametrize("name", ["laplace", "k-norm", "functional", "dpme", "irls", "frank-wolfe"])
def test_without_delta_the_guard_takes_a_hundredth_of_epsilon(name):
    budget = PrivacyBudget(1.0)
    unit = PrivacyUnit(neighbours="replace")
    design = Design("y", COLUMNS, unit=unit)
    domain, distribution = distribution_for(name, design)
    alone, joint = distribution(budget), guarded_distribution(design, domain, budget, distribution)
    spent = guard_l1_sensitivity(unit) * joint.unit / joint.sigma[GUARD]
    grown = min(joint.sigma[block] / alone.sigma[block] for block in alone.sigma)
    assert spent + 1 / grown <= 1 + 1e-9
    assert spent == pytest.approx(0.01, rel=1e-6)


def test_under_concentrated_accounting_the_guard_gets_what_the_mechanism_leaves():
    unit, budget = PrivacyUnit(), PrivacyBudget(1.0, 1e-12)
    design = Design("y", COLUMNS)
    domain, distribution = distribution_for("gaussian", design, bits=8)
    alone, joint = distribution(budget), guarded_distribution(design, domain, budget, distribution)
    assert joint.calibration == "discrete-zcdp"
    grown = min(joint.sigma[block] / alone.sigma[block] for block in alone.sigma)
    mechanism = rho_from(1.0, 1e-12) / grown**2
    guard = (guard_sensitivity(unit) * joint.unit / joint.sigma[GUARD]) ** 2 / 2
    # scales are integers of a million steps, so their ratio is known to 1e-6, and delta to a hundred times that
    assert delta_from_rho(1.0, mechanism + guard) <= 1e-12 * (1 + 1e-4)
    assert delta_from_rho(1.0, mechanism + 4 * guard) > 1e-12 * (1 + 1e-2)
    assert guard / mechanism == pytest.approx(0.01, rel=0.2)


def test_passes_added_up_by_another_rule_and_the_guard_split_both_numbers():
    joint = guarded("irls", BUDGET, PrivacyUnit(), composition="basic", iterations=3)
    assert joint.calibration == "composed"
    guard = joint.unit / joint.sigma[GUARD]
    assert delta_from(0.01, guard) <= 0.01 * 1e-6
    choices = guarded("frank-wolfe", BUDGET, PrivacyUnit())
    assert (choices.calibration, choices.unit / choices.sigma[GUARD]) == ("composed", pytest.approx(0.01))


@pytest.mark.parametrize(
    ("name", "settings"), [("wishart", {}), ("objective", {}), ("irls", {"form": "moment", "noise": "wishart"})]
)
def test_a_mechanism_that_is_proved_as_a_whole_only_is_refused(name, settings):
    with pytest.raises(SpecError, match="leave guard out"):
        guarded(name, BUDGET, PrivacyUnit(), **settings)


@pytest.mark.parametrize("options", [{}, {"composition": "basic", "iterations": 1}])
def test_a_lattice_that_is_too_coarse_for_the_counts_is_refused(options, monkeypatch):
    monkeypatch.setattr("discreet.mechanisms.calibration.lattice_gap", lambda *_: 1.0)
    with pytest.raises(SpecError, match="raise grid_bits"):
        guarded("irls", BUDGET, PrivacyUnit(), **options)


class Fixed:
    """Draws that were set beforehand, and the calls that asked for them."""

    private = False

    def __init__(self):
        self.calls = []

    def draw(self, sigmas):
        self.calls.append(("gaussian", *sigmas))
        return [5, 7]

    def laplace(self, scales):
        self.calls.append(("laplace", *scales))
        return [5, 7]


@pytest.mark.parametrize(
    ("family", "asked"), [("discrete-gaussian", "gaussian"), ("discrete-laplace", "laplace"), ("k-norm", "laplace")]
)
def test_each_count_gets_one_variate_of_the_family_that_was_charged(family, asked):
    distribution, sampler = NoiseDistribution(8, {GUARD: 9}, "pure", family, {"dimension": 3}), Fixed()
    huge = 2**90
    assert guard_counts((huge, 2), distribution, sampler) == GuardCounts(huge * 4**8 + 5, 2 * 4**8 + 7)
    assert sampler.calls == [(asked, 9, 9)]


@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_the_noise_of_the_counts_has_its_distribution(delta):
    """Kolmogorov-Smirnov, 4,000 variates; false alarm 1e-9, and a scale that is 60% off fails."""
    joint = guarded("gaussian" if delta else "laplace", PrivacyBudget(1.0, delta), PrivacyUnit())
    drawn = [guard_counts((3, 1), joint, ExactSampler()) for _ in range(2000)]
    noise = [one.fitting - 3 * joint.unit for one in drawn] + [one.other - joint.unit for one in drawn]
    scaled = np.array(noise, dtype=float) / joint.sigma[GUARD]
    distribution = stats.norm if delta else stats.laplace
    assert stats.kstest(scaled, distribution.cdf).pvalue > 1e-9
    assert stats.kstest(scaled * 1.6, distribution.cdf).pvalue < 1e-9


@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_a_table_in_which_half_the_rows_fit_is_stopped_less_than_once_in_a_hundred(delta):
    """From the two densities, and by 40,000 draws: between 0.5% and 1.5% but for a probability below 1e-9."""
    joint = guarded("gaussian" if delta else "laplace", PrivacyBudget(1.0, delta), PrivacyUnit())
    scale, sampler = joint.sigma[GUARD], ExactSampler()
    draw = sampler.draw if delta else sampler.laplace
    first, second = draw([scale] * 40_000), draw([scale] * 40_000)
    share = np.mean([stops(GuardCounts(a, b), joint) for a, b in zip(first, second, strict=True)])
    assert 0.005 < share < 0.015
    exact = stats.norm.sf(2.33) if delta else (1 + 2.6) * math.exp(-5.2) / 2
    assert 0.009 < exact < 0.01
