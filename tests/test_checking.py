"""`discreet.check`: what it takes and refuses, and that it leaves nothing behind."""

from __future__ import annotations

import numpy as np
import pytest

import discreet
from discreet.errors import ColumnNotice, SpecError

DESIGN = discreet.Design("y", {"y": (0, 1), "x": (0, 1)})


def test_what_is_no_design_or_no_table_is_refused() -> None:
    with pytest.raises(SpecError, match="expected a Design, got dict"):
        discreet.check({"x": [1.0]}, {})  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="cannot read an object of type"):
        discreet.check(3, DESIGN)
    with pytest.raises(SpecError, match="compute: expected ComputeOptions, got int"):
        discreet.check({"y": [1.0], "x": [1.0]}, DESIGN, compute=3)  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="delimiter"):
        discreet.check({"y": [1.0], "x": [1.0]}, DESIGN, reading=discreet.ReadOptions(delimiter=";"))


def test_encoding_and_delimiter_are_those_of_a_release(tmp_path) -> None:
    (tmp_path / "t.csv").write_bytes("y;x;größe\n0;1;ä\n".encode("latin-1"))
    assert discreet.check(tmp_path / "t.csv", DESIGN, reading=discreet.ReadOptions("latin-1", ";")).rows_fit == 1


def test_an_array_is_read_by_position_and_a_notice_points_to_the_call() -> None:
    with pytest.warns(ColumnNotice, match="column 0 as 'y', column 1 as 'x'") as heard:
        found = discreet.check(np.array([[0.5, 2.0]]), DESIGN)
    assert heard[0].filename == __file__
    assert found.column("x").clipped_high.count == 1


def test_progress_is_reported_and_no_file_is_left(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    heard: list[float | None] = []
    unit = {"id": "who", "max_rows": 1}
    design = discreet.Design("y", {"y": (0, 1), "x": (0, 1)}, unit=unit)
    table = {"y": [0.5] * 5, "x": [0.5] * 5, "who": list("abcab")}
    found = discreet.check(table, design, compute=discreet.ComputeOptions(batch_rows=2, progress=heard.append))
    assert (found.rows_fit, len(heard)) == (3, 3)
    assert list(tmp_path.iterdir()) == []
