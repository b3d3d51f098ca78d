"""A folder with private rows, their design and a release of them, and a way to call the command line on it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from discreet.cli.main import program
from discreet.design.design import Design
from discreet.workflow import release
from support.cli_folder import DESIGN, NEW, PEOPLE, Call


def released(mechanism: str) -> str:
    rows = 4000
    table = {
        "age": [18.0 + i % 73 for i in range(rows)],
        "region": ["north" if i % 3 else "south" for i in range(rows)],
        "income": [10_000.0 * (i % 73) + 50_000.0 * (i % 2) for i in range(rows)],
    }
    return release(table, Design.from_toml(DESIGN), epsilon=8.0, delta=1e-6, mechanism=mechanism).to_json()


@pytest.fixture(scope="session")
def release_text() -> str:
    """The release of a table large enough for a fit that does not fail."""
    return released("auto")


@pytest.fixture(scope="session")
def sums_text() -> str:
    """A release of the sums of the declared columns of the same table."""
    return released("gaussian")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release_text: str, sums_text: str) -> Path:
    """The working folder of the command."""
    (tmp_path / "people.csv").write_text(PEOPLE)
    (tmp_path / "new.csv").write_text(NEW)
    (tmp_path / "design.toml").write_text(DESIGN)
    (tmp_path / "income.release.json").write_text(release_text)
    (tmp_path / "sums.release.json").write_text(sums_text)
    (tmp_path / "existing.json").write_bytes(b"precious")
    (tmp_path / "existing.csv").write_bytes(b"precious")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def call() -> Call:
    """Call the command line in this process."""

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(program, list(arguments))

    return run
