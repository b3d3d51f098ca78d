"""A table of a database in place of a file, and workers, on the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import duckdb
import pytest

import discreet
from discreet.errors import PrivacyNotice
from discreet.releases import Release
from support import cli_folder
from support.cli_folder import CANARY, SECRET, Call, contents

BUDGET = ("--design", "design.toml", "--epsilon", "1", "--delta", "1e-6", "-o", "out.json")
PEOPLE = ("--database", "people.duckdb", "--table", "people")
COMMANDS = {
    "release": ("release", *BUDGET),
    "check": ("check", "--design", "design.toml"),
    "init": ("init", "-o", "new.toml"),
    "predict": ("predict", "made.json", "-o", "out.csv"),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database and a release that every test begins with."""
    there = tmp_path_factory.mktemp("made")
    (there / "people.csv").write_text(cli_folder.PEOPLE)
    (there / "design.toml").write_text(cli_folder.DESIGN)
    with duckdb.connect(str(there / "people.duckdb")) as database:
        database.execute(f"CREATE TABLE people AS SELECT * FROM read_csv('{there / 'people.csv'}')")
        database.execute("CREATE VIEW old AS SELECT * FROM people WHERE age > 40")
    design = discreet.Design.load(there / "design.toml")
    # so little noise that there is a model to predict with
    with pytest.warns(PrivacyNotice):
        release = discreet.release(there / "people.csv", design, epsilon=1e6, allow_weak_privacy=True)
    release.save(there / "made.json")
    return there


@pytest.fixture
def stored(folder: Path, made: Path) -> Path:
    for name in ("people.duckdb", "made.json"):
        shutil.copy(made / name, folder / name)
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_that_reads_a_file_reads_a_table(stored: Path, call: Call, command: str) -> None:
    result = call(*COMMANDS[command], *PEOPLE)
    assert result.exit_code == 0, result.stderr
    assert CANARY not in result.stdout + result.stderr
    assert SECRET not in result.stdout + result.stderr


def test_init_repeats_the_table_in_the_commands_that_follow(stored: Path, call: Call) -> None:
    said = call(*COMMANDS["init"], *PEOPLE).stdout
    for verb in ("check", "release"):
        assert f"discreet {verb} --database people.duckdb --table people --design new.toml" in said


def test_a_view_is_a_query_and_the_promise_says_so(stored: Path, call: Call) -> None:
    result = call("release", *BUDGET, "--database", "people.duckdb", "--table", "old")
    assert result.exit_code == 0
    assert "in the result of the query from which the table was read" in result.stdout
    assert call("release", *BUDGET, *PEOPLE, "--force").stdout.count("result of the query") == 0


BAD = {
    ("people.csv", *PEOPLE): "or --database with --table, got both; leave one of them out",
    ("people.csv", "--table", "people"): "--database with --table, got both",
    PEOPLE[:2]: "--database and --table must be given together",
    PEOPLE[2:]: "--database and --table must be given together",
    (): "no table was given; pass",
    (*PEOPLE[:3], "peple"): "unknown table 'peple' of 'people.duckdb'; allowed: old, people",
    (*PEOPLE[:3], ""): "expected the name of a table or view for --table, got ''",
    ("--database", "people.csv", "--table", "people"): "'people.csv' is not a DuckDB database",
    ("--database", "none.duckdb", "--table", "people"): "there is no file 'none.duckdb'",
    ("--database", ".", "--table", "people"): "is a folder; give a regular file",
    (*PEOPLE, "--encoding", "latin-1"): "encoding = 'latin-1' is allowed only for CSV files",
}


@pytest.mark.parametrize("words", BAD)
@pytest.mark.parametrize("command", COMMANDS)
def test_what_names_no_table_is_refused_and_nothing_is_spent(
    stored: Path, call: Call, command: str, words: tuple[str, ...]
) -> None:
    before = contents(stored)
    given = (*COMMANDS[command][:2], *words, *COMMANDS[command][2:]) if command == "predict" else (
        command, *words, *COMMANDS[command][1:])  # fmt: skip
    result = call(*given)
    assert result.exit_code == 2
    assert BAD[words] in result.stderr
    assert contents(stored) == before


@pytest.mark.parametrize("command", ["release", "predict"])
def test_an_output_never_replaces_the_database(stored: Path, call: Call, command: str) -> None:
    words = ["people.duckdb" if word in ("out.json", "out.csv") else word for word in COMMANDS[command]]
    before = contents(stored)
    assert call(*words, *PEOPLE, "--force").exit_code == 2
    assert contents(stored) == before


@pytest.mark.parametrize("workers", ["1", "2", "7"])
def test_any_number_of_workers_makes_a_release(stored: Path, call: Call, workers: str) -> None:
    result = call("release", "people.csv", *BUDGET, "--workers", workers, "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["path"] == "out.json"
    assert Release.load("out.json").private


@pytest.mark.parametrize("workers", ["0", "-1", "1000", "two", "1.5"])
def test_a_number_of_workers_that_is_none_is_refused_and_nothing_is_spent(
    stored: Path, call: Call, workers: str
) -> None:
    before = contents(stored)
    result = call("release", "people.csv", *BUDGET, "--workers", workers)
    assert result.exit_code == 2
    assert "workers" in result.stderr
    assert contents(stored) == before
