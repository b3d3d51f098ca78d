"""The folder where rows wait: the one that was named, or none."""

from __future__ import annotations

import pytest

import discreet
from discreet.curator.buffered_rows import scratch_folder
from discreet.design.design import Design
from discreet.errors import DataError
from discreet.tables.source import ComputeOptions

BUDGET = {"epsilon": 1.0, "delta": 1e-6}
PERSONS = Design("y", {"x": (0, 1), "y": (0, 1)}, unit={"id": "person", "max_rows": 2})
ROWS = Design("y", {"x": (0, 1), "y": (0, 1)})
TABLE = {"person": ["a", "a", "a", "b"], "x": [0.5, 0.25, 0.75, 1.0], "y": [0.0, 0.5, 1.0, 1.0]}


@pytest.mark.parametrize("plan", [PERSONS, ROWS])
@pytest.mark.parametrize("named", ["missing", "file"])
def test_rows_wait_nowhere_but_where_they_were_told_to(plan, named, tmp_path, monkeypatch):
    """Python would fall back to another folder, perhaps one that is not encrypted."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TMPDIR", str(tmp_path / named))
    spent = []
    with pytest.raises(DataError, match="TMPDIR must name a writable folder"):
        discreet.release(TABLE, plan, **BUDGET, mechanism="irls", spend=spent.append)
    assert spent == []


def test_without_any_folder_for_temporary_files_that_is_said(monkeypatch):
    def none_found():
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.delenv("TMPDIR", raising=False)
    monkeypatch.setattr("tempfile.gettempdir", none_found)
    with pytest.raises(DataError, match="there is no folder for temporary files; set TMPDIR"):
        discreet.release(TABLE, ROWS, **BUDGET, mechanism="irls")


@pytest.mark.parametrize(
    ("plan", "what"), [(PERSONS, "os.mkdir"), (PERSONS, "tempfile.TemporaryFile"), (ROWS, "tempfile.TemporaryFile")]
)
def test_a_folder_that_takes_no_file_is_told(plan, what, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(what, full)
    monkeypatch.setattr("discreet.curator.buffered_rows.IN_MEMORY_BYTES", 0)
    with pytest.raises(DataError, match=r"could not be stored on disk \(No space left on device\)"):
        discreet.release(TABLE, plan, **BUDGET, mechanism="irls", compute=ComputeOptions(chunk_rows=1))


def test_the_folder_is_the_one_that_is_named_or_that_of_the_system(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert scratch_folder() == str(tmp_path)
    monkeypatch.delenv("TMPDIR")
    monkeypatch.setattr("tempfile.gettempdir", lambda: "/of/the/system")
    assert scratch_folder() == "/of/the/system"
    # an empty name is no name
    monkeypatch.setenv("TMPDIR", "")
    assert scratch_folder() == "/of/the/system"


def test_a_folder_whose_name_is_not_text_is_refused_before_rows_are_read(tmp_path, monkeypatch):
    """DuckDB, in which persons wait, ends with an error of its own there."""
    (tmp_path / "a\udc80b").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "a\udc80b"))
    with pytest.raises(DataError, match="TMPDIR must name a folder with a UTF-8 name"):
        discreet.release(TABLE, PERSONS, **BUDGET)
