"""`discreet reproduce`: the list, one figure, all of them, and refusals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from discreet_papers import reproduction, runner
from discreet_papers.figure import Criterion, Erratum, Outcome
from discreet_papers.figure_catalogue import DOCUMENTS, NAMES, figure_named, shipped_verdicts
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


def test_the_list_names_every_figure_with_document_claim_verdict_and_seconds(call: Call) -> None:
    result = call("reproduce")
    assert result.exit_code == 0
    assert "NOT PRIVATE" in result.stdout
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 100
    one_line = " ".join(result.stdout.split())
    for name in NAMES:
        figure, known = figure_named(name), shipped_verdicts()[name]
        (line,) = (line for line in lines if line.startswith(f"{name} "))
        assert line.split()[1:3] == [known["verdict"], f"{known['seconds']:.0f}"]
        assert figure.says in one_line
    for document in DOCUMENTS.values():
        assert document.citation in one_line
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
        (("park-1", "--all"), "expected FIGURE or --all, got both"),
        (("park-7",), "unknown figure 'park-7'"),
        (("park-1", "--data", "nowhere"), "expected a folder with Parquet files"),
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


STOPPED = {
    "cells": "",
    # the toy of the first figure is being drawn while cells of the second one run
    "drawing": (
        "from discreet_papers import reproduction\n"
        "def write(result, folder):\n    print('drawing', flush=True)\n    time.sleep(600)\n"
        "reproduction.write_figure = write\n"
    ),
}


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("stage", STOPPED)
def test_a_signal_ends_every_process_and_says_what_is_kept(stage: str, sent: signal.Signals, tmp_path: Path) -> None:
    """The signal goes to the whole group of processes, as Ctrl-C in a terminal does."""
    code = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\nsignal.signal(signal.SIGTERM, signal.SIG_DFL)\n"
        "from dataclasses import replace\n"
        "from discreet_papers import reproduction\n"
        "from support.toy_figure import ENDLESS, TOY\n"
        "known = {'kalaja-4.1': replace(TOY, name='kalaja-4.1'), 'park-1': ENDLESS}\n"
        "reproduction.NAMES = tuple(known)\nreproduction.figure_named = known.__getitem__\n"
        f"{STOPPED[stage]}"
        "from discreet.cli.main import run\nrun()"
    )
    paths = os.pathsep.join([str(Path(__file__).parents[3] / "tests"), *sys.path])
    words = ["reproduce", "--all", "--quick", "--workers", "2", "-o", "out"]
    child = subprocess.Popen(
        [sys.executable, "-c", code, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, env={**os.environ, "PYTHONPATH": paths},
    )  # fmt: skip
    with child:
        if stage == "drawing":
            assert child.stdout is not None
            assert child.stdout.readline() == "drawing\n"
        else:
            _wait(lambda: len(list((tmp_path / "out" / runner.KEPT).rglob("*.json"))) == 6)
        os.killpg(child.pid, sent)
        _, told = child.communicate(timeout=60)
    word = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}[sent]
    kept = "finished cells are kept in 'out', and the same command continues from them"
    assert f"error: {word}; {kept}\n" in told
    assert child.returncode == 128 + sent
    _wait(lambda: not _alive(child.pid))


def _wait(until: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < end
        time.sleep(0.05)


def _alive(group: int) -> bool:
    """Whether any process of a group is left: its leader, a worker, or what keeps track of them."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("options", [["--quick"], ["--with", "a:b"], ["--data", "x"], ["--workers", "1"]])
def test_options_of_a_run_need_a_figure(call: Call, options: list[str]) -> None:
    result = call("reproduce", *options)
    assert result.exit_code == 2
    assert "give FIGURE, or --all" in result.stderr


def test_an_output_folder_has_a_name(call: Call) -> None:
    result = call("reproduce", "notes-response", "--quick", "-o", "")
    assert result.exit_code == 2
    assert "expected the name of a folder" in result.stderr
