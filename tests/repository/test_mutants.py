"""Mutants of the program that would break its promise are caught, each by the test that is named for it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from support import ledger_mutants, mutants, parts_mutants
from support.mutant_runs import mutated_copy, place_of, rewritten, tried
from support.mutants import ROOT

TABLES = (mutants, ledger_mutants, parts_mutants)
MUTANTS = {name: mutant for table in TABLES for name, mutant in table.MUTANTS.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_fails_its_test(name, tmp_path):
    mutant = MUTANTS[name]
    mutated_copy(tmp_path, mutant)
    result = tried(tmp_path, mutant.test, mutant.words)
    # 1: tests ran and failed; anything else is a mutant that survives or a test that did not run
    assert result.returncode == 1, result.stdout[-3000:] + result.stderr[-3000:]
    # a program that stops with a mistake of the mutant's own shows nothing
    assert "unexpected failure" not in result.stdout, result.stdout[-3000:]
    assert not any(f"{kind}Error" in result.stdout for kind in ("Syntax", "Name", "Attribute", "Type", "Value"))


@pytest.mark.slow
@pytest.mark.parametrize("test", sorted({(mutant.test, mutant.words) for mutant in MUTANTS.values()}))
def test_the_program_itself_passes_every_test_that_is_named(test, tmp_path):
    mutated_copy(tmp_path, None)
    result = tried(tmp_path, *test)
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]


@pytest.mark.parametrize("name", MUTANTS)
def test_every_mutant_still_has_its_place_and_is_another_program(name):
    mutant = MUTANTS[name]
    module, function = place_of(mutant)
    source = (ROOT / "src" / Path(*module.split(".")).with_suffix(".py")).read_text(encoding="utf-8")
    changed = rewritten(source, function, mutant.old, mutant.new)
    assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(source))


def test_no_place_is_left_without_a_mutant():
    for table in TABLES:
        assert {mutant.index for mutant in table.MUTANTS.values()} == set(table.PLACES)
    assert len({place for table in TABLES for place in table.PLACES}) == sum(len(table.PLACES) for table in TABLES)
    assert len(MUTANTS) == sum(len(table.MUTANTS) for table in TABLES)
