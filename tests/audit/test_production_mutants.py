"""Mistakes in the production path are seen by a judge, and the judge passes the program as it is.

Judges that draw noise raise a false alarm with probability of at most 1e-9 each.
"""

from __future__ import annotations

import json

import pytest

from support.mutant_table import said
from support.mutants import ROOT
from support.production_judges import choices, lockstep
from support.production_mutants import MUTANTS

SLOW = [name for name, mutant in MUTANTS.items() if not mutant.quick]
QUICK = [name for name, mutant in MUTANTS.items() if mutant.quick]
JUDGES = {(mutant.judge.kind, mutant.judge.name): mutant.judge for mutant in MUTANTS.values()}
QUICK_JUDGES = {(MUTANTS[name].judge.kind, MUTANTS[name].judge.name) for name in QUICK}


def found_by_its_judge(name):
    mutant = MUTANTS[name]
    with pytest.MonkeyPatch.context() as patch:
        mutant.apply(patch)
        return mutant.judge.findings()


@pytest.mark.no_cover
@pytest.mark.parametrize("name", QUICK)
def test_a_mistake_is_seen(name):
    assert found_by_its_judge(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_every_mistake_is_seen(name):
    assert found_by_its_judge(name)


@pytest.mark.no_cover
@pytest.mark.parametrize("judge", sorted(QUICK_JUDGES), ids=" ".join)
def test_the_same_judge_passes_the_program_as_it_is(judge):
    assert not JUDGES[judge].findings()


@pytest.mark.slow
@pytest.mark.parametrize("judge", sorted(set(JUDGES) - QUICK_JUDGES), ids=" ".join)
def test_every_judge_passes_the_program_as_it_is(judge):
    assert not JUDGES[judge].findings()


def test_the_table_in_the_documentation_is_that_of_these_mistakes():
    """`make mutants` writes it; a mistake that is new, gone or has another judge is missing there until then."""
    document = json.loads((ROOT / "docs" / "reference" / "mutants.json").read_text(encoding="utf-8"))
    shown = document["mutants"]
    assert {(one["kind"], one["where"]) for one in shown} == {(one.kind, one.where) for one in MUTANTS.values()}
    assert {(one["judge"], one["on"]) for one in shown} == set(JUDGES)
    assert all(one["caught"] and one["passes_without"] for one in shown)
    # what a judge says, and not the first word of it
    assert not {one["found"] for one in shown} & {"", "what", "the"}
    assert set(document["run"]) == {"date", "version", "commit", "python", "machine"}


def test_what_is_found_is_shown_without_its_figures():
    assert said("the exact mu of 'second corner row' is 0.5, claimed 0.2", "audit") == (
        "the exact mu of 'second corner row'"
    )
    assert said("tables in lockstep: distance 3, at most 0 expected", "audit") == "tables in lockstep"
    for judge in (lockstep("irls score of a power"), choices()):
        assert said("what is published is no function of the choices", judge.kind).endswith("the choices")
