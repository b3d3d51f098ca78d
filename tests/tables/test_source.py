"""How the work is done is checked, reported, and changes nothing."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.design.columns import Numeric
from discreet.errors import SpecError
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions, Place


@pytest.mark.parametrize("value", [0, -1, 2.5, True, "many"])
def test_bad_compute_options_are_refused(value):
    with pytest.raises(SpecError, match="chunk_rows"):
        ComputeOptions(chunk_rows=value)


@pytest.mark.parametrize("name", ["batch_rows", "chunk_rows"])
def test_either_number_of_rows_is_refused_by_name_and_the_smallest_is_taken(name):
    with pytest.raises(SpecError, match=f"^expected a positive integer for {name}, got 0$"):
        ComputeOptions(**{name: 0})
    assert getattr(ComputeOptions(**{name: 1}), name) == 1


class Halves:
    """A source of which a half is read."""

    share_read = 0.5
    origin = None

    def batches(self, columns, batch_rows):
        return iter(())


def test_progress_hears_the_share_and_then_that_all_is_read():
    heard = []
    options = ComputeOptions(progress=heard.append)
    options.report_progress(Halves())
    options.report_read()
    assert heard == [0.5, None]


def test_without_a_listener_nothing_is_reported_and_the_source_is_not_asked():
    class Silent(Halves):
        @property
        def share_read(self):
            raise AssertionError("the source was asked")

    ComputeOptions().report_progress(Silent())
    ComputeOptions().report_read()
    with pytest.raises(AssertionError, match="the source was asked"):
        ComputeOptions(progress=print).report_progress(Silent())


def test_a_place_is_a_line_or_a_row_and_names_its_file_only_among_several(tmp_path):
    (tmp_path / "a.csv").write_text("x\n\n1\n2\n\n\n3\n")
    columns = {"x": Numeric((0, 9))}
    source = open_source(tmp_path / "a.csv")
    found = [source.place(row) for batch in source.batches(columns, 2) for row in range(batch.num_rows)]
    assert found == [Place(3, "line"), Place(4, "line"), Place(7, "line")]
    assert source.numbered == "line"
    table = open_source({"x": [1.0, 2.0, 3.0]})
    for _ in range(2):
        rows = [table.place(row) for batch in table.batches(columns, 2) for row in range(batch.num_rows)]
        assert rows == [Place(0, "row"), Place(1, "row"), Place(2, "row")]
    assert table.numbered == "row"
    pq.write_table(pa.table({"x": [1.0, 2.0, 3.0]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": [4.0]}), tmp_path / "b.parquet")
    parts = open_source(str(tmp_path / "*.parquet"))
    named = [parts.place(row) for batch in parts.batches(columns, 2) for row in range(batch.num_rows)]
    assert named == [*(Place(row, "row", "a.parquet") for row in range(3)), Place(0, "row", "b.parquet")]
    assert parts.numbered == "row"


@pytest.mark.parametrize("progress", [5, "often", [print]])
def test_a_progress_that_cannot_be_called_is_refused_before_anything_is_read(progress):
    with pytest.raises(SpecError, match="progress: expected a function of one argument, got "):
        ComputeOptions(progress=progress)


@pytest.mark.parametrize("workers", [0, -1, 257, 2.0, True, "2", None])
def test_a_number_of_workers_that_is_none_is_refused(workers):
    with pytest.raises(SpecError, match=r"expected an integer from 1 to 256 for workers, got"):
        ComputeOptions(workers=workers)


def test_integers_of_numpy_are_integers():
    options = ComputeOptions(batch_rows=np.int32(7), chunk_rows=np.uint8(5), workers=np.int64(2))
    assert [type(value) for value in (options.batch_rows, options.chunk_rows, options.workers)] == [int] * 3
    assert options == ComputeOptions(batch_rows=7, chunk_rows=5, workers=2)
    with pytest.raises(SpecError, match=r"expected an integer from 1 to 256 for workers"):
        ComputeOptions(workers=np.int64(0))


def test_there_are_as_many_workers_as_cores_and_no_more_than_four(monkeypatch):
    for cores, expected in ((1, 1), (3, 3), (64, 4)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, cores=cores: set(range(cores)), raising=False)
        assert ComputeOptions().workers == expected
    monkeypatch.delattr(os, "sched_getaffinity")
    for cores, expected in ((2, 2), (None, 1)):
        monkeypatch.setattr(os, "cpu_count", lambda cores=cores: cores)
        assert ComputeOptions().workers == expected
