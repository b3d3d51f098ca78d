"""`discreet mechanisms`: the table, one mechanism in full, and `auto`."""

from __future__ import annotations

import json
from pathlib import Path

from discreet.cli.mechanisms import FIGURES, HEADERS, cells
from discreet.mechanisms.registry import mechanism_table
from support.cli_folder import Call

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "mechanisms.md"


def test_one_mechanism_is_told_with_the_range_of_every_setting(call: Call) -> None:
    result = call("mechanisms", "irls")
    assert result.exit_code == 0
    for words in ("score, moment", "basic", "0 to 1000", "true, false", "Park & Welling", "Noise, d = 20"):
        assert words in result.stdout
    assert "True" not in result.stdout
    assert "Persons      a unit may have several rows" in result.stdout
    assert "Persons      one row for each person only" in call("mechanisms", "wishart").stdout


def test_a_refused_design_is_told_as_such(call: Call) -> None:
    assert "Noise, d = 20  refused: " in call("mechanisms", "dpme").stdout
    noise = json.loads(call("mechanisms", "dpme", "--json").stdout)["noise"]
    assert list(noise["20"]) == ["refused"]


def test_auto_says_what_it_takes(call: Call) -> None:
    assert call("mechanisms", "auto").stdout.startswith("With delta above 0: staged")
    assert json.loads(call("mechanisms", "auto", "--json").stdout)["name"] == "auto"


def test_the_table_names_the_statistic_whose_noise_it_shows(call: Call) -> None:
    lines = {line.split()[0]: line.split() for line in call("mechanisms").stdout.splitlines() if line}
    rows = {row["name"]: row for row in json.loads(call("mechanisms", "--json").stdout)}
    for name, statistic in (("gaussian", "equation"), ("irls", "score"), ("gradient", "score"), ("objective", "linear"),
                            ("dpme", "cells")):  # fmt: skip
        assert rows[name]["main"] == statistic
        shown = [f"{sds[statistic]:.3g}" if statistic in sds else "refused" for sds in rows[name]["noise"].values()]
        assert lines[name][-3:] == [statistic, *shown]


def test_the_table_says_at_which_budget_and_that_figures_do_not_compare(call: Call) -> None:
    lines = call("mechanisms").stdout.splitlines()
    (told,) = [line for line in lines if line.startswith("d = 5, 20")]
    assert told.split(maxsplit=4)[-1] == FIGURES
    for words in ("epsilon = 1", "delta = 1e-6", "scaled units", "different statistics cannot be compared"):
        assert words in FIGURES


def test_the_page_shows_the_same_columns_and_explains_every_one(call: Call) -> None:
    lines = call("mechanisms").stdout.splitlines()
    assert lines[1].split() == " ".join(HEADERS).split()
    for line, row in zip(lines[2:], mechanism_table(), strict=False):
        assert line.split() == " ".join(cells(row)).split()
    page = PAGE.read_text()
    explained = [name for line in page.splitlines() if line.startswith("- **") for name in HEADERS[1:] if name in line]
    assert explained == list(HEADERS[1:])


def test_the_table_fits_into_80_columns() -> None:
    """A terminal prints it with one space between columns where two do not fit."""
    widths = map(max, *([len(cell) for cell in row] for row in (HEADERS, *map(cells, mechanism_table()))))
    assert sum(widths) + len(HEADERS) - 1 <= 80


def test_a_setting_says_with_what_it_counts(call: Call) -> None:
    told = call("mechanisms", "dpme").stdout
    assert "only with loss = huber" in told
    settings = {one["name"]: one for one in json.loads(call("mechanisms", "dpme", "--json").stdout)["settings"]}
    assert settings["threshold"]["only_with"] == {"loss": "huber"}
    assert settings["loss"]["only_with"] is None


def test_an_unknown_name_is_one_line_and_exit_code_2(call: Call) -> None:
    result = call("mechanisms", "gausian")
    assert result.exit_code == 2
    assert "Did you mean 'gaussian'" in result.stderr
    result = call("mechanisms", "posterior")
    assert result.exit_code == 2
    assert "not offered" in result.stderr
    assert result.stderr.count("\n") == 1
