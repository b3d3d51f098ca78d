"""`discreet check`: exact counts for the curator alone; with the printed noisy count three stories are seen in time."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import discreet
from discreet.releases.fields import released_count
from support.cli_folder import CANARY, PEOPLE, SECRET, Call, contents

CHECK = ("check", "people.csv", "--design", "design.toml")
MARK = "NOT FOR PUBLICATION"


def test_it_counts_and_writes_nothing(folder: Path, call: Call) -> None:
    before = contents(folder)
    result = call(*CHECK)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(MARK)
    assert "Rows that fit  61 of 61 would be included in a release" in result.stdout
    assert "Nothing was spent and nothing was written." in result.stdout
    assert contents(folder) == before


def test_no_cell_is_quoted_and_the_exit_code_is_0_whatever_is_found(folder: Path, call: Call) -> None:
    (folder / "people.csv").write_text(PEOPLE + f"{SECRET},{CANARY},{SECRET},\n,,,\n")
    for more in ((), ("--json",)):
        result = call(*CHECK, *more)
        assert result.exit_code == 0
        assert SECRET not in result.output
        assert CANARY not in result.output
    assert call("release", *CHECK[1:], "--epsilon", "1", "-o", "out.json").exit_code == 2


def test_json_says_that_it_is_not_private(folder: Path, call: Call) -> None:
    result = call(*CHECK, "--json")
    document = json.loads(result.stdout)
    assert document["private"] is False
    assert MARK in document["format"]
    assert MARK in result.stderr
    assert document == discreet.check("people.csv", discreet.Design.load("design.toml")).to_dict()


def test_a_file_must_carry_the_mark(folder: Path, call: Call) -> None:
    before = contents(folder)
    for name in ("check.json", "check.txt", "people.csv", "existing.json"):
        result = call(*CHECK, "-o", name, "--force")
        assert result.exit_code == 2
        assert "must end in '.NOT-FOR-PUBLICATION.json'" in result.stderr
    assert contents(folder) == before
    name = "people.NOT-FOR-PUBLICATION.json"
    result = call(*CHECK, "-o", name)
    assert result.exit_code == 0
    assert f"File  {name}" in result.stdout
    assert json.loads((folder / name).read_text())["rows_fit"] == 61
    assert call(*CHECK, "-o", name).exit_code == 2
    assert call(*CHECK, "-o", name, "--force").exit_code == 0
    assert call("fit", name).exit_code == 2


def test_faults_of_structure_are_errors(folder: Path, call: Call) -> None:
    (folder / "ragged.csv").write_text(PEOPLE + "1,2\n")
    for words, why in (
        (("none.csv", "--design", "design.toml"), "there is no file"),
        (("ragged.csv", "--design", "design.toml"), "line 63"),
        (("new.csv", "--design", "design.toml"), "has no column 'income'"),
        (("people.csv", "--design", "none.toml"), "cannot read the design"),
        (("people.csv", "--design", "design.toml", "--delimiter", ";"), "--delimiter"),
    ):
        result = call("check", *words)
        assert result.exit_code == 2
        assert why in result.stderr
        assert result.stdout == ""


@pytest.mark.parametrize("columns", ["60", "100", "200"])
def test_a_terminal_gets_a_table(folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    monkeypatch.setattr("discreet.cli.terminal.on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", columns)
    (folder / "people.csv").write_text(PEOPLE + "1,2,east,\n")
    result = call(*CHECK)
    assert result.exit_code == 0
    plain = re.sub(r"\x1b\[[0-9;]*m", "", result.stdout)
    assert plain.startswith(MARK)
    for words in ("Rows read", "region: none of the declared levels: 1, in line 63", "age", "leak information"):
        assert words in plain


STORIES = {
    # how it is written, with which delimiter, and which column is at fault
    "yes and no": (lambda i: ("1" if i % 540 == 0 else ("yes", "no")[i % 2], "44"), ",", "smoker"),
    "decimal commas": (lambda i: ("1", f"{20 + i % 60},5"), ";", "age"),
    "dates": (lambda i: ("1", f"19{30 + i % 60}-05-12"), ",", "age"),
}
RULES = """\
target = "income"
[columns.income]
bounds = [0, 100000]
[columns.smoker]
dtype = "bool"
[columns.age]
bounds = [18, 90]
"""


@pytest.mark.parametrize("story", STORIES)
def test_a_table_that_hardly_fits_is_seen_before_and_after_the_spend(folder: Path, call: Call, story: str) -> None:
    cells, sign, column = STORIES[story]
    rows = 20_000
    lines = [sign.join((str(i % 100_000), *cells(i))) for i in range(rows)]
    (folder / "t.csv").write_text("\n".join([sign.join(("income", "smoker", "age")), *lines]) + "\n")
    (folder / "d.toml").write_text(RULES)
    words = ("t.csv", "--design", "d.toml", "--delimiter", sign)
    spend = ("release", *words, "--epsilon", "1", "--delta", "1e-6", "-o", "r.json")
    refused = call(*spend)
    assert refused.exit_code == 2
    assert 'missing = "drop"' in refused.stderr
    assert "discreet check" in refused.stderr
    (folder / "d.toml").write_text(RULES.replace(f"[columns.{column}]", f'[columns.{column}]\nmissing = "drop"'))
    fit = sum(i % 540 == 0 for i in range(rows)) if story == "yes and no" else 0
    found = call("check", *words)
    assert found.exit_code == 0
    assert f"{fit} of 20,000 would be included in a release" in found.stdout
    assert "A release would leave out more than half of the rows." in found.stdout
    assert re.search(
        rf"^{column}: .*: {rows - fit:,}, first in lines ", found.stdout.replace("\n  ", " "), re.MULTILINE
    )
    made = call(*spend)
    assert made.exit_code == 0
    count = re.search(
        r"^Count {7}about (-?[0-9,]+) rows \(noisy count, standard deviation ([0-9.]+)\)$", made.stdout, re.M
    )
    assert count is not None
    # the published number, not another draw; its noise exceeds 20 standard deviations with probability below 1e-80
    shown, sd = int(count[1].replace(",", "")), float(count[2])
    assert shown == round(released_count(discreet.Release.load("r.json")).value)
    assert abs(shown - fit) < 20 * sd < rows / 4
