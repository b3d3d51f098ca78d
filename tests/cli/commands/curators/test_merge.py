"""`discreet merge`: one release from the parts of all curators, and exit code 2 for what is not one."""

from __future__ import annotations

import json

import pytest

import discreet
from support.cli_folder import contents
from support.curators import curators, rows


@pytest.fixture
def parts(folder):
    made = curators(folder)
    made.session.save(folder / "S.toml")
    for place, one in enumerate(made.parts([rows(k, 400) for k in range(3)])):
        one.save(folder / f"{place}.part")
    return folder


FILES = ("0.part", "1.part", "2.part")


def test_parts_are_merged_into_an_ordinary_release(parts, call):
    made = call("merge", *FILES, "--session", "S.toml", "-o", "R.json")
    assert made.exit_code == 0, made.output
    assert "at least 2 of the 3 curators" in made.stdout
    for words in (("verify", "R.json"), ("fit", "R.json"), ("show", "R.json")):
        assert call(*words).exit_code == 0
    found = json.loads(call("merge", *reversed(FILES), "-o", "again.json", "--json").stdout)
    assert found["curators"]["honest"] == 2
    assert (parts / "again.json").read_bytes() == (parts / "R.json").read_bytes()


def test_the_merger_draws_the_noise_only_if_so_agreed(folder, call):
    made = curators(folder, noise="merger")
    for place, one in enumerate(made.parts([rows(k) for k in range(3)])):
        one.save(folder / f"{place}.part")
    assert call("merge", *FILES, "-o", "R.json").exit_code == 2
    found = call("merge", *FILES, "-o", "R.json", "--merger-noise")
    assert found.exit_code == 0, found.output
    assert "which saw the exact pooled sums" in found.stdout
    call("merge", *FILES, "-o", "again.json", "--merger-noise")
    assert (folder / "again.json").read_bytes() == (folder / "R.json").read_bytes()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (FILES[:2], "got 2 parts; expected at least 3"),
        ((*FILES[:2], "1.part"), "there are two parts of 'süd'"),
        ((*FILES[:2], "no.part"), "cannot read 'no.part'"),
        ((*FILES[:2], "people.csv"), "this is not a part"),
        ((*FILES, "--merger-noise"), "leave --merger-noise"),
        ((*FILES, "--session", "design.toml"), "a session"),
    ],
)
def test_what_is_not_one_part_of_each_is_refused(parts, call, words, message):
    before = contents(parts)
    found = call("merge", *words, "-o", "R.json")
    assert (found.exit_code, message in found.stderr) == (2, True), found.stderr
    assert contents(parts) == before


def test_outputs_are_checked_first(parts, call):
    assert call("merge", *FILES).exit_code == 2
    assert "exists" in call("merge", *FILES, "-o", "existing.json").stderr
    assert "is the input" in call("merge", *FILES, "-o", "0.part", "--force").stderr


def test_the_release_of_a_command_is_that_of_the_function(parts, call):
    call("merge", *FILES, "-o", "R.json")
    assert discreet.Release.load("R.json") == discreet.merge(list(FILES))
