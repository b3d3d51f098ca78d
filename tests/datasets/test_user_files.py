"""A user's own files by path."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.datasets import load
from discreet.design.design import Design
from discreet.errors import DataError, SpecError
from discreet.testing.not_private import exact_release
from discreet.workflow import release

DESIGN = Design("y", {"y": (0, 8), "x": (0, 4)})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "parts").mkdir()
    for part in range(2):
        table = pa.table({"x": [1.0 + part, 2.0], "y": [2.0, 4.0], "unused": ["a", "b"]})
        pq.write_table(table, tmp_path / "parts" / f"{part}.parquet")
    (tmp_path / "table.csv").write_text("x,y\n1,2\n2,4\n")
    return tmp_path


@pytest.mark.parametrize("name", ["./parts", "parts/0.parquet", "table.csv", "parts/*.parquet", Path("parts")])
def test_a_path_is_ready_for_a_release_from_any_working_folder(
    name: str | Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    dataset = load(name, design=DESIGN)
    assert (dataset.name, dataset.title) == (str(name), "y on x")
    assert (dataset.design, dict(dataset.reasons), dataset.simulated) == (DESIGN, {}, False)
    monkeypatch.chdir(folder.parent)
    assert release(dataset.data, dataset.design, epsilon=1.0, delta=1e-6).columns == ("1", "x", "y")


def test_a_folder_counts_all_its_files(folder: Path) -> None:
    dataset = load(folder / "parts", design=DESIGN)
    assert exact_release(dataset.data, dataset.design).moments[0, 0] == 4


def test_a_path_is_not_read_into_memory(folder: Path) -> None:
    dataset = load(folder / "table.csv", design=DESIGN)
    with pytest.raises(SpecError, match=r"stay in their files; pass the attribute data to discreet\.release"):
        _ = dataset.table
    assert "4" not in repr(dataset).replace(str(folder), "").replace("(0.0, 4.0)", "")


def test_a_path_needs_a_design(folder: Path) -> None:
    with pytest.raises(SpecError, match="needs a design, declared before looking at the data"):
        load(folder / "table.csv")
    with pytest.raises(SpecError, match="expected a Design, got dict"):
        load(folder / "table.csv", design={"target": "y"})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none.parquet", "there is no file"),
        ("none.CSV", "there is no file"),
        (f"no{os.sep}where", "there is no file"),
        ("s3://bucket/people.parquet", "expected a local path, got 's3://bucket/people.parquet'"),
        ("./*.ipc", "matches no file"),
    ],
)
def test_a_path_that_leads_nowhere_is_told_at_once(
    name: str, message: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises(SpecError, match=message):
        load(name, design=DESIGN)


def test_a_file_that_is_not_what_its_name_says_is_told_at_once(folder: Path) -> None:
    (folder / "text.parquet").write_text("x,y\n1,2\n")
    with pytest.raises(DataError, match="not in the Parquet format"):
        load(folder / "text.parquet", design=DESIGN)
