"""The audit of everything, and that broken production code is caught by it.

The production sampler cannot be seeded. Right mechanisms are judged at a confidence of 1 - 1e-9; how far broken ones
are from passing is stated with each.
"""

from __future__ import annotations

import numpy as np
import pytest

from discreet.audit import auditing as running
from discreet.audit.audited_mechanisms import mechanism_entries
from discreet.audit.auditing import DRAWS, EPSILONS, Task, audited, chosen_names, run_audit, subject_names
from discreet.audit.situations import situations
from discreet.errors import SpecError
from discreet.mechanisms import sampler
from discreet.mechanisms.gaussian import GaussianMoments
from discreet.mechanisms.laplace import LaplaceMoments
from discreet.mechanisms.protocol import NoisyMoments
from discreet.mechanisms.registry import HOMES
from discreet.primitives import grid_noise as lattice
from support.mutant_table import RUNS, false_alarms

SURE = 1 - 1e-9


def test_names_stand_for_themselves_and_for_the_same_with_other_noise():
    assert set(HOMES) < set(subject_names())
    assert chosen_names("irls") == ["irls", "irls gaussian", "irls moment", "irls wishart"]
    assert chosen_names(None) == list(subject_names())
    with pytest.raises(SpecError, match="Did you mean 'gaussian'"):
        chosen_names("gausian")


def test_one_subject_is_audited_at_every_epsilon_and_progress_is_reported():
    said = []
    result = run_audit("functional", draws=200, confidence=SURE, workers=1, progress=lambda *one: said.append(one))
    assert result.passed
    assert [case.judgement.claim.epsilon for case in result.cases] == list(EPSILONS)
    assert said == [("functional", 1, 2), ("functional", 2, 2)]
    assert all(case.seconds > 0 and case.draws == 200 for case in result.cases)


def test_two_processes_give_the_cases_in_their_order():
    result = run_audit("primitives.randomised_response", draws=200, confidence=SURE, workers=2)
    assert [case.judgement.claim.epsilon for case in result.cases] == list(EPSILONS)
    assert result.passed


def halved(variates):
    return lambda scale, how_many: [value // 2 for value in variates(scale, how_many)]


def test_half_the_gaussian_noise_is_caught_by_mu_and_by_its_distribution(monkeypatch):
    """The true mu is 1.68, its bound some 0.34 lower, the claim 0.84: passing is 12 standard errors away."""
    monkeypatch.setattr(sampler, "_gaussian", halved(sampler._gaussian))
    found = audited(Task("gaussian", 4.0, 4000, 1e-9))
    assert found.judgement.mu > found.judgement.claim.mu
    assert [check.name for check in found.checks if not check.passed] == [
        "noise distribution",
        "distribution of the draws",
    ]
    assert len(found.violations) == 3


def test_half_the_laplace_noise_is_caught_by_its_distribution(monkeypatch):
    """Half of it lies 0.125 from its distribution; 24,000 draws err by 0.1 with probability below 1e-200."""
    monkeypatch.setattr(sampler, "laplace_variates", halved(sampler.laplace_variates))
    found = audited(Task("laplace", 4.0, 2000, 1e-9))
    assert [check.name for check in found.checks if not check.passed] == [
        "noise distribution",
        "distribution of the draws",
    ]


def test_half_the_noise_of_a_primitive_is_caught_by_its_events(monkeypatch):
    """Epsilon is 2 where 1 is claimed; the bound is some 0.25 lower, passing 10 standard errors away."""
    whole = lattice.laplace_noise
    monkeypatch.setattr(
        "discreet.primitives.laplace_noise.laplace_noise", lambda scale, how_many: whole(scale / 2, how_many)
    )
    found = audited(Task("primitives.discrete_laplace", 1.0, 10_000, 1e-9))
    assert found.judgement.epsilon > 1
    assert found.verdict == "violation"


@pytest.mark.parametrize("mechanism", [GaussianMoments, LaplaceMoments])
def test_exact_sums_beside_noisy_ones_are_caught(mechanism, monkeypatch):
    """The event happens in every draw of one table and in none of the other."""
    passes = mechanism.passes

    def leaking(self, context):
        run = passes(self, context)
        totals = yield next(run)
        try:
            run.send(totals)
        except StopIteration as done:
            return NoisyMoments(done.value.totals, {"exact": totals.values[0]})

    monkeypatch.setattr(mechanism, "passes", leaking)
    found = audited(Task(mechanism.name, 1.0, 200, 1e-3))
    assert found.judgement.epsilon > 1
    assert (found.judgement.witness.hits, found.judgement.witness.other_hits) == (100, 0)


def test_floating_point_noise_is_caught_by_its_lowest_bits(monkeypatch):
    """A quarter of the outputs for 1 is impossible for 0; passing would take a count 30 standard errors lower."""

    def floating(values, changes, epsilon):
        noisy = np.asarray(values) + np.random.default_rng().laplace(0, 1 / epsilon, len(values))
        return type("Noisy", (), {"values": noisy, "scales": (1 / epsilon,)})

    monkeypatch.setattr("discreet.audit.audited_primitives.laplace", floating)
    found = audited(Task("primitives.laplace", 1.0, 4000, 1e-6))
    assert found.judgement.witness.kind == "low-order bits"
    assert found.judgement.epsilon > 1


@pytest.mark.slow
def test_everything_passes_the_quick_audit_within_its_time():
    """A right program fails by chance with probability of at most 1e-9; CPU time is judged, other work may go on."""
    result = run_audit(confidence=SURE)
    print(result.summary())
    assert result.passed
    assert result.seconds < 480
    wanted = {name: running._draws(name, DRAWS) for name in subject_names()}
    assert {case.name: case.draws for case in result.cases} == wanted


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gaussian", "laplace"])
def test_false_alarms_of_the_entries_are_as_rare_as_stated(name):
    """300 runs at 1%: if the rate is at most 1%, more than 19 alarms have a chance below 1e-9."""
    alarms = false_alarms(name)
    print(name, "false alarms:", alarms, "of", RUNS)
    assert alarms <= 19


def test_all_pairs_go_through_the_whole_path(monkeypatch):
    chosen = [situations("laplace")[k] for k in (0, 3, -2)]
    monkeypatch.setattr(running, "situations", lambda mechanism: chosen)
    monkeypatch.setattr(running, "EPSILONS", (1.0,))
    result = run_audit("laplace guard", full=True, draws=40, confidence=SURE, workers=1)
    assert [case.pair for case in result.cases[1:]] == [one.pair.name for one in chosen]
    assert result.passed
    assert all(check.name != "whole path, table" for case in result.cases[1:] for check in case.checks)
    # persons of several rows are not served by Wishart noise
    assert len(run_audit("irls wishart", full=True, draws=20, confidence=SURE, workers=1).cases) == 1 + 2
    assert len(run_audit("primitives.randomised_response", full=True, draws=40, confidence=SURE, workers=1).cases) == 1


def test_the_estimator_is_given_lists_without_ids():
    entry = mechanism_entries()["gaussian estimator"]
    served = [situations("gaussian")[place] for place in running._situation_indices(entry)]
    assert "text under drop" in [one.pair.name for one in served]
    assert all(isinstance(one.pair.table, dict) and one.design.unit.id is None for one in served)
