"""`discreet path`: a table, a document or a picture of a model at many strengths."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

import discreet
from discreet.design.design import Design
from discreet.releases import Release
from discreet.testing.not_private import exact_release, seeded_release
from discreet.workflow import release
from support.cli_folder import Call, contents

PATH = "income.release.json"


@pytest.fixture
def not_private(folder: Path) -> str:
    design = Design("y", {"y": (0, 10), "x": (0, 5)})
    exact_release({"y": [1.0, 2.0, 4.0, 5.0], "x": [1.0, 2.0, 3.0, 5.0]}, design).save("x.NOT-PRIVATE.json")
    return "x.NOT-PRIVATE.json"


@pytest.mark.parametrize(
    ("penalty", "more"),
    [("lasso", {}), ("ridge", {}), ("elastic-net", {"l1_ratio": 0.5})],
    ids=lambda value: str(value),
)
def test_json_has_every_strength_with_its_model(penalty: str, more: dict[str, float], folder: Path, call: Call) -> None:
    flags = [word for name, value in more.items() for word in ("--" + name.replace("_", "-"), str(value))]
    result = call("path", PATH, "--json", "--penalty", penalty, *flags)
    assert (result.exit_code, result.stderr) == (0, "")
    told = json.loads(result.stdout)
    found = discreet.path(Release.load(PATH), penalty=penalty, **more)  # type: ignore[arg-type]
    assert [row["strength"] for row in told["path"]] == found.strengths.tolist()
    assert [row["criterion"] for row in told["path"]] == found.criterion.tolist()
    assert told["best"] == found.best
    assert told["path"][found.best]["params"] == dict(found.fit().params)
    assert told["l1_ratio"] == more.get("l1_ratio")
    counts = [row["nonzero"] for row in told["path"]]
    assert counts == [
        sum(value != 0 for name, value in row["params"].items() if name != "Intercept") for row in told["path"]
    ]
    assert counts[0] == (2 if penalty == "ridge" else 0)
    assert (told["target"], told["features"], told["private"]) == ("income", ["age", "region"], True)


def test_the_chosen_row_is_marked_and_the_next_command_fits_it(folder: Path, call: Call) -> None:
    result = call("path", PATH, "--features", "age", "--target", "income", "--no-intercept")
    assert (result.exit_code, result.stderr) == (0, "")
    found = discreet.path(Release.load(PATH), features=["age"], intercept=False)
    lines = result.stdout.splitlines()
    assert lines[1].split() == ["strength", "nonzero", "slopes", "criterion"]
    marked = [index for index, line in enumerate(lines) if line.startswith(">")]
    assert marked == [2 + found.shown.index(found.best)]
    assert lines[12].endswith("are not shown; --json lists all.")
    chosen = lines[marked[0]].split()
    assert chosen == [">", f"{found.strengths[found.best]:.6g}", "1", f"{found.criterion[found.best]:.6g}"]
    assert "(by criterion)" in result.stdout
    following = lines[-1].removeprefix("Next     discreet ").split()
    fitted = call(*following, "--json")
    assert json.loads(fitted.stdout)["params"] == dict(found.fit().params)


def test_the_next_command_has_the_ratio(folder: Path, call: Call) -> None:
    result = call("path", PATH, "--penalty", "elastic-net", "--l1-ratio", "0.25")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines()[-1].endswith("--penalty elastic-net --strength criterion --l1-ratio 0.25")


@pytest.mark.no_cover
@pytest.mark.parametrize(("name", "head"), [("p.svg", b"<?xml"), ("p.png", b"\x89PNG"), ("P.PDF", b"%PDF")])
def test_a_picture_is_drawn_beside_the_table(name: str, head: bytes, folder: Path, call: Call) -> None:
    result = call("path", PATH, "--plot", name)
    assert (result.exit_code, result.stderr) == (0, "")
    assert f"Picture  {name}\n" in result.stdout
    assert (folder / name).read_bytes().startswith(head)
    again = call("path", PATH, "--plot", name, "--json")
    assert again.exit_code == 2
    assert "--force" in again.stderr
    forced = call("path", PATH, "--plot", name, "--json", "--force")
    assert forced.exit_code == 0
    assert "path" in json.loads(forced.stdout)


def test_without_the_plotting_library_a_plot_names_the_extra(
    folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    before = contents(folder)
    result = call("path", PATH, "--plot", "p.svg")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "discreet[plots]" in result.stderr
    assert contents(folder) == before


def test_a_release_that_is_not_private_says_so(not_private: str, call: Call) -> None:
    text, document = call("path", not_private), call("path", not_private, "--json")
    assert text.stdout.startswith("NOT PRIVATE")
    assert "Promise" not in text.stdout
    assert json.loads(document.stdout)["epsilon"] is None
    assert document.stderr.startswith("notice: NOT PRIVATE")


def test_a_terminal_gets_a_table(folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.cli.terminal.on_terminal", lambda: True)
    result = call("path", PATH)
    assert result.exit_code == 0, result.stderr
    assert "━" in result.stdout
    assert sum("│ > " in line for line in result.stdout.splitlines()) == 1


def test_a_repair_is_told(folder: Path, call: Call) -> None:
    design = Design("y", {"y": (0, 1), "x": (0, 1), "z": (0, 1)})
    rows = {name: [i * step % 7 / 7 for i in range(30)] for name, step in (("y", 1), ("x", 2), ("z", 3))}
    seeded_release(rows, design, seed=1, epsilon=0.2, delta=1e-6).save("weak.NOT-PRIVATE.json")
    for command in (("path",), ("fit", "--penalty", "lasso", "--strength", "criterion")):
        told = call(command[0], "weak.NOT-PRIVATE.json", *command[1:])
        assert told.exit_code == 0, told.stderr
        assert "Repaired:" in told.stdout
        notes = json.loads(call(command[0], "weak.NOT-PRIVATE.json", *command[1:], "--json").stdout)["notes"]
        assert any(note.startswith("Repaired:") for note in notes)


def test_without_the_square_of_the_target_no_strength_is_chosen(folder: Path, call: Call) -> None:
    rows = 4000
    table = {"x": [(i % 101) / 101 for i in range(rows)], "y": [(i % 101) / 202 + (i % 7) / 20 for i in range(rows)]}
    design = Design("y", {"x": (0, 1), "y": (0, 1)})
    release(table, design, epsilon=8.0, delta=1e-6, mechanism="ssp").save(folder / "ssp.json")
    result = call("path", "ssp.json", "--plot", "path.svg")
    assert (result.exit_code, result.stderr) == (0, "")
    assert ">" not in result.stdout
    assert "Chosen   none: the release has no sum of squares of the target" in result.stdout
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("Next")]
    assert "criterion" not in line
    assert call(*shlex.split(line.removeprefix("Next"))[1:]).exit_code == 0
    document = json.loads(call("path", "ssp.json", "--json").stdout)
    assert (document["best"], document["path"][0]["criterion"]) == (None, None)
    assert "no sum of squares" in document["criterion_reason"]
    refused = call("fit", "ssp.json", "--penalty", "lasso", "--strength", "criterion")
    assert refused.exit_code == 2
    assert "pass the strength as a number" in refused.stderr
