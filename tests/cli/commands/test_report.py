"""`discreet report`: a page, a document, or a message that says what to do."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from discreet.analyst.model import fit
from discreet.cli.terminal import in_flags
from discreet.design.design import Design
from discreet.pages.page import render
from discreet.pages.view import report_view
from discreet.releases import Release
from discreet.testing.not_private import exact_release, seeded_release
from discreet.workflow import release
from support.cli_folder import CANARY, SECRET, Call, contents

PATH = "income.release.json"


def test_the_page_is_the_view_of_the_model(folder: Path, call: Call) -> None:
    result = call("report", PATH, "-o", "R.html")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "Written  R.html\n", "")
    release = Release.load(PATH)
    page = (folder / "R.html").read_text(encoding="utf-8")
    assert page == render(report_view(release, fit(release), file=PATH))
    assert f"<code>{PATH}</code>" in page
    assert not [marker for marker in (CANARY, SECRET, "people.csv", str(folder)) if marker in page]


def test_a_report_on_robust_errors_is_asked_for_with_a_word(folder: Path, call: Call) -> None:
    design = Design("y", {"y": (0, 10), "x": (0, 1)})
    rows = [i / 400 for i in range(400)]
    table = {"x": rows, "y": [3 + 4 * x for x in rows]}
    made = release(table, design, epsilon=8.0, delta=1e-6, robust=True)
    made.save(folder / "robust.json")
    result = call("report", "robust.json", "-o", "R.html", "--robust")
    assert (result.exit_code, result.stderr) == (0, "")
    model = fit(Release.load("robust.json")).robust()
    assert (folder / "R.html").read_text(encoding="utf-8") == render(
        report_view(model.release, model, file="robust.json")
    )
    assert call("report", PATH, "-o", "plain.html", "--robust").exit_code == 2


def test_options_reach_the_model_and_json_is_the_view(folder: Path, call: Call) -> None:
    flags = ("--features", "age", "--penalty", "ridge", "--strength", "0.1", "--level", "0.8", "--no-intercept")
    flags += ("--title", "Ages & pay")
    result = call("report", PATH, "-o", "R.html", "--json", *flags)
    assert (result.exit_code, result.stderr) == (0, "")
    release = Release.load(PATH)
    model = fit(release, features=["age"], penalty="ridge", strength=0.1, intercept=False)
    view = report_view(release, model, level=0.8, title="Ages & pay", file=PATH)
    assert json.loads(result.stdout) == json.loads(json.dumps(in_flags(view.to_dict())))
    assert (folder / "R.html").read_text(encoding="utf-8") == render(view)
    alone = call("report", PATH, "--json", *flags)
    assert alone.stdout == result.stdout


def test_an_existing_page_is_replaced_only_by_force(folder: Path, call: Call) -> None:
    (folder / "R.html").write_text("precious")
    refused = call("report", PATH, "-o", "R.html")
    assert refused.exit_code == 2
    assert "--force" in refused.stderr
    assert (folder / "R.html").read_text() == "precious"
    assert call("report", PATH, "-o", "R.html", "--force").exit_code == 0
    assert (folder / "R.html").read_text() != "precious"


def test_without_a_name_the_page_is_beside_the_release(folder: Path, call: Call) -> None:
    (folder / "out").mkdir()
    (folder / "out" / "income.release.json").write_bytes((folder / PATH).read_bytes())
    result = call("report", "out/income.release.json")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "Written  out/income.html\n", "")
    page = (folder / "out" / "income.html").read_text(encoding="utf-8")
    assert "out/income" not in page
    again = call("report", "out/income.release.json")
    assert again.exit_code == 2
    assert "--force" in again.stderr
    before = contents(folder)
    assert call("report", PATH, "--json").exit_code == 0
    assert contents(folder) == before


def test_the_title_and_the_file_are_at_the_head_of_the_page(folder: Path, call: Call) -> None:
    assert call("report", PATH, "-o", "R.html", "--title", "Income & <age>").exit_code == 0
    page = (folder / "R.html").read_text(encoding="utf-8")
    assert "<h1>Income &amp; &lt;age&gt;</h1>" in page
    assert '<p class="from">income, from <code>income.release.json</code></p>' in page
    assert "discreet fit income.release.json" in page


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["-o", "people.csv", "--force"], "must end in .html"),
        (["-o", "R.html", "--title", " "], "expected text for"),
        (["-o", "no/R.html"], "does not exist"),
        (["-o", "R.html", "--level", "95"], "level"),
        (["-o", "R.html", "--level", "0.05"], "for --level, got 0.05; pass --level 0.95"),
        (["-o", "R.html", "--level", "x"], "not a number"),
        (["-o", "R.html", "--features", "hight"], "unknown feature"),
    ],
)
def test_bad_input_is_told_and_nothing_is_written(arguments: list[str], told: str, folder: Path, call: Call) -> None:
    before = contents(folder)
    result = call("report", PATH, *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert told in result.stderr
    assert contents(folder) == before


def test_a_release_is_never_replaced_by_its_report(folder: Path, call: Call) -> None:
    (folder / "R.html").write_bytes((folder / PATH).read_bytes())
    result = call("report", "R.html", "-o", "R.html", "--force")
    assert result.exit_code == 2
    assert "is the same file as the input" in result.stderr


@pytest.fixture
def weak(folder: Path) -> str:
    """A release whose noise leaves no least squares."""
    names = ("y", "x", "z")
    rows = {name: [index * step % 7 / 7 for index in range(30)] for name, step in zip(names, (1, 2, 3), strict=True)}
    design = Design("y", dict.fromkeys(names, (0, 1)))
    seeded_release(rows, design, seed=3, epsilon=0.2, delta=1e-6).save("weak.NOT-PRIVATE.json")
    return "weak.NOT-PRIVATE.json"


def test_a_model_that_is_not_estimable_gives_a_page_with_any_value(weak: str, folder: Path, call: Call) -> None:
    result = call("report", weak, "-o", "R.html")
    assert result.exit_code == 0
    assert "the coefficients are not estimable; the page says why" in result.stderr
    page = (folder / "R.html").read_text(encoding="utf-8")
    assert "any value" in page
    told = json.loads(call("report", weak, "--json").stdout)
    assert told["refusal"].startswith("the released sums")
    assert told["model"]["penalty"].startswith("none")
    assert {row["kind"] for row in told["coefficients"]} == {"everything"}


@pytest.mark.parametrize("model", [[], ["--formula", "y ~ x + z"]], ids=["columns", "formula"])
def test_twins_without_noise_give_a_page_with_any_value(model: list[str], folder: Path, call: Call) -> None:
    design = Design("y", {"y": (0, 9), "x": (0, 9), "z": (0, 9), "w": (0, 9)})
    rows = {"y": [1.0, 2.0, 4.0, 5.0], "x": [1.0, 2.0, 3.0, 5.0], "w": [1.0, 0.0, 0.0, 2.0]}
    exact_release({**rows, "z": rows["x"]}, design).save("twins.NOT-PRIVATE.json")
    result = call("report", "twins.NOT-PRIVATE.json", "-o", "R.html", *model)
    assert result.exit_code == 0
    assert result.stdout.startswith("NOT PRIVATE")
    assert "the coefficients are not estimable" in result.stderr
    assert "any value" in (folder / "R.html").read_text(encoding="utf-8")


def test_a_release_that_is_not_private_says_so(weak: str, call: Call) -> None:
    assert call("report", weak, "-o", "R.html").stdout.startswith("NOT PRIVATE")
    document = call("report", weak, "--json")
    assert document.stderr.startswith("notice: NOT PRIVATE")
    assert json.loads(document.stdout)["private"] is False


@pytest.mark.parametrize("absent", [("matplotlib.figure",), ("markupsafe",), ("jinja2", "markupsafe", "matplotlib")])
def test_without_the_libraries_of_reports_the_extra_is_named(
    absent: tuple[str, ...], folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in absent:
        monkeypatch.setitem(sys.modules, module, None)
    before = contents(folder)
    result = call("report", PATH, "-o", "R.html")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "discreet[report]" in result.stderr
    assert contents(folder) == before
