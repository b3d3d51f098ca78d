"""`discreet reproduce`: the list, one figure, all of them, and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from discreet.papers import reproduction, runner
from discreet.papers.catalogue import NAMES
from discreet.papers.figure import Criterion, Erratum, Outcome
from support.cli_folder import Call
from support.toy_figure import TOY


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    failing = Criterion("fails", "one is two", lambda numbers: Outcome(False, "1 != 2"), "refuted", "they differ")
    toy = replace(TOY, criteria=(*TOY.criteria, failing))
    monkeypatch.setattr(reproduction, "NAMES", ("park-1",))
    monkeypatch.setattr(reproduction, "figure_named", lambda name: toy)
    erratum = Erratum(1, "park", "page 1", "one is two", lambda: Outcome(False, "1 != 2"))
    monkeypatch.setattr(runner, "errata", lambda: (erratum,))


def test_the_list_names_every_figure_with_its_verdict(call: Call) -> None:
    result = call("reproduce")
    assert result.exit_code == 0
    assert "NOT PRIVATE" in result.stdout
    assert all(name in result.stdout for name in NAMES)
    found = json.loads(call("reproduce", "--json").stdout)
    assert [one["name"] for one in found] == list(NAMES)
    assert {one["verdict"] for one in found} <= {"reproduced", "differs", "refuted"}


@pytest.mark.usefixtures("toys")
def test_a_figure_prints_its_verdict_first_and_then_its_files(call: Call) -> None:
    result = call("reproduce", "park-1", "--quick", "--workers", "1", "-o", "out")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "Verdicts, NOT PRIVATE"
    assert lines[2].split()[:2] == ["park-1", "refuted"]
    assert lines[-1].startswith("Written  out/park-1.md")
    for words in ("they differ", "no: 1 != 2", "not run: no tables were given."):
        assert words in result.stdout


@pytest.mark.usefixtures("toys")
def test_all_figures_end_with_the_errata(call: Call) -> None:
    result = call("reproduce", "--all", "--quick", "--workers", "1", "-o", "out")
    assert result.exit_code == 0
    assert "E1" in result.stdout
    assert "out/verdicts.json" in result.stdout
    found = json.loads(call("reproduce", "--all", "--quick", "--workers", "1", "-o", "out", "--json").stdout)
    assert found["errata"]["E1"]["verdict"] == "refuted"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("park-1", "--all"), "give FIGURE or --all, not both"),
        (("park-7",), "unknown figure 'park-7'"),
        (("park-1", "--data", "nowhere"), "expected a folder of Parquet files"),
        (("park-1", "--workers", "0"), "--workers"),
        (("neunhoeffer-1", "--with", "math:sqrt"), "not about predictions"),
        (("kalaja-4.3", "--with", "nothing"), "expected a method as module:factory"),
    ],
)
def test_bad_arguments_end_with_2(call: Call, given: tuple[str, ...], words: str) -> None:
    result = call("reproduce", *given)
    assert result.exit_code == 2
    assert words in result.stderr
    assert list(Path().iterdir()) == []
