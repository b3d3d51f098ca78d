"""What a run leaves behind says what was measured."""

import json
from dataclasses import replace

import pytest

from discreet_papers.figure import Criterion, Erratum, NumberTable, Outcome, Run
from discreet_papers.runner import MASTER_SEED, Result, ShownErratum, run_figures
from discreet_papers.writing import page, write_figure, write_verdicts
from support.toy_figure import TOY


@pytest.fixture(scope="module")
def result(tmp_path_factory) -> Result:
    (made,) = run_figures([TOY], Run(quick=True), tmp_path_factory.mktemp("cells"), workers=1)
    return made


@pytest.mark.no_cover
def test_four_files_and_the_same_bytes_each_time(result, tmp_path):
    first = write_figure(result, tmp_path / "a")
    again = write_figure(result, tmp_path / "b")
    assert [path.name for path in first] == ["park-1.png", "park-1.svg", "park-1.csv", "park-1.md"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in again]
    assert first[0].read_bytes().startswith(b"\x89PNG")


@pytest.mark.no_cover
def test_a_pdf_is_written_where_the_figure_asks_for_one(result, tmp_path):
    asked = replace(result, figure=replace(result.figure, pdf=True))
    first, again = write_figure(asked, tmp_path / "a"), write_figure(asked, tmp_path / "b")
    assert [path.suffix for path in first] == [".png", ".svg", ".pdf", ".csv", ".md"]
    assert first[2].read_bytes().startswith(b"%PDF")
    assert first[2].read_bytes() == again[2].read_bytes()


def test_numbers_have_versions_and_seeds_above_them(result, tmp_path):
    lines = write_figure(result, tmp_path)[2].read_text().splitlines()
    assert lines[0].startswith("# park-1, discreet ")
    assert "numpy" in lines[0]
    assert f"sha256('{MASTER_SEED}/figure/cell')" in lines[1]
    assert "NOT PRIVATE" in lines[1]
    assert lines[2] == "# quick: true"
    assert lines[3] == "panel,line,epsilon,repeat,value"
    assert len(lines) == 4 + 3 * 40


def test_the_page_has_claim_measurement_verdict_choices_and_gaps(result):
    text = page(result)
    for words in (
        "**Verdict: reproduced.**",
        "The error falls.",
        "| holds |",
        "Three budgets.",
        "no tables were given.",
    ):
        assert words in text
    assert "Why it differs" not in text


def test_the_page_has_the_tables_of_its_figure(result):
    table = NumberTable("Errors", ("table", "a | b"), (("toy", "0.5"), ("other", "0.25")))
    text = page(replace(result, figure=replace(result.figure, tables=lambda numbers: [table])))
    assert "## Errors\n\n| table | a \\| b |\n| --- | --- |\n| toy | 0.5 |\n| other | 0.25 |" in text


def test_the_page_of_a_figure_that_differs_says_why(result):
    criterion = Criterion("x", "a | b", lambda numbers: Outcome(False, "3\n4"), "refuted", "because of c")
    other = Result(result.figure, Run(), result.numbers, ((criterion, Outcome(False, "3\n4")),), 1.0)
    text = page(other)
    for words in ("**Verdict: refuted.**", "because of c", "a \\| b", "3 4", "does not hold"):
        assert words in text


def test_verdicts_are_written_as_json(result, tmp_path):
    erratum = Erratum(3, "notes", "page 1", "one is two", lambda: Outcome(False, "1 != 2"))
    shown = [ShownErratum(erratum, erratum.show(), 0.5), ShownErratum(erratum, Outcome(True, ""), 0.5)]
    found = json.loads(write_verdicts([result], shown[:1], tmp_path).read_text())
    assert found["figures"]["park-1"]["verdict"] == "reproduced"
    assert found["errata"]["E3"]["verdict"] == "refuted"
    assert shown[1].verdict == "holds"
