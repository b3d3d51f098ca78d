"""Streams and arrays of structs as tables: an entry that is null is a row of missing cells, and stops nothing."""

from __future__ import annotations

import traceback

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet
from discreet.errors import CellError, DataError
from discreet.tables.frames import TableStream
from discreet.testing.not_private import exact_release

ROWS = [{"x": 0.5, "y": 0.25}, {"x": 0.1, "y": 0.75}, {"x": None, "y": 0.5}]
STRUCTS = pa.struct({"x": pa.float64(), "y": pa.float64()})


class Streamed:
    """A stream of a library that nobody knows."""

    def __init__(self, rows) -> None:
        self._rows = rows

    def __arrow_c_stream__(self, requested_schema=None) -> object:
        return pa.chunked_array([pa.array([row], STRUCTS) for row in self._rows], STRUCTS).__arrow_c_stream__()


CONTAINERS = {
    "array": lambda rows: pa.array(rows, STRUCTS),
    "slice of an array": lambda rows: pa.array([None, *rows, None], STRUCTS).slice(1, len(rows)),
    "chunks": lambda rows: pa.chunked_array([pa.array([row], STRUCTS) for row in rows], STRUCTS),
    "polars": lambda rows: pl.Series(rows, dtype=pl.Struct({"x": pl.Float64, "y": pl.Float64})),
    "pandas": lambda rows: pd.Series(rows, dtype=pd.ArrowDtype(STRUCTS)),
    "another library": Streamed,
}


def design(missing="drop") -> discreet.Design:
    return discreet.Design("y", {name: {"bounds": (0, 1), "missing": missing} for name in "xy"})


def sums(rows, kind, missing) -> tuple[int, ...]:
    return exact_release(CONTAINERS[kind](rows), design(missing)).totals


@pytest.mark.parametrize("missing", ["drop", {"fill": 0.375}], ids=["drop", "fill"])
@pytest.mark.parametrize("kind", CONTAINERS)
def test_a_null_entry_is_a_row_of_missing_cells(kind, missing):
    spelled_out = {"x": None, "y": None}
    for index in range(len(ROWS) + 1):
        null, cells = ([*ROWS[:index], row, *ROWS[index:]] for row in (None, spelled_out))
        assert sums(null, kind, missing) == sums(cells, kind, missing)
    assert sums([None], kind, missing) == sums([spelled_out], kind, missing)


@pytest.mark.parametrize("kind", CONTAINERS)
def test_a_null_entry_is_released_and_refused_as_missing_cells_are(kind):
    data = CONTAINERS[kind]([ROWS[0], None])
    assert discreet.release(data, design(), epsilon=1.0, delta=1e-6).columns == ("1", "x", "y")
    with pytest.raises(CellError, match="column 'x' has a cell that is missing"):
        discreet.release(data, design("error"), epsilon=1.0, delta=1e-6)


@pytest.mark.parametrize("entries", [pa.chunked_array([[0.5]]), pa.array([0.5]), pl.Series([0.5])])
def test_entries_that_are_no_rows_are_refused_by_their_type(entries):
    with pytest.raises(DataError, match="cannot be converted to Arrow columns"):
        exact_release(entries, design())


@pytest.mark.parametrize("rows", [1, 0])
@pytest.mark.parametrize("null", [True, False])
def test_a_type_without_missing_cells_is_refused_by_its_type(rows, null):
    union = pa.UnionArray.from_sparse(pa.array([0] * 2, pa.int8()), [pa.array([0.5] * 2)])
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2], pa.int32()), pa.array([0.5]))
    for values in (union, runs):
        mask = pa.array([null, False])
        table = pa.StructArray.from_arrays([values, pa.array([0.5] * 2)], ["x", "y"], mask=mask).slice(0, rows)
        with pytest.raises(
            DataError,
            match=r"column 'x' must contain numbers, as declared, but has type (sparse_union|run_end_encoded)",
        ):
            exact_release(table, design())


def test_a_stream_is_read_array_by_array():
    taken = []

    def batches():
        for number in range(3):
            taken.append(number)
            yield pa.record_batch({"x": [0.5]})

    stream = TableStream(pa.RecordBatchReader.from_batches(pa.schema({"x": pa.float64()}), batches()))
    assert taken == []
    assert stream.next_batch(["x"]).to_pydict() == {"x": [0.5]}
    assert len(taken) < 3
    assert stream.next_batch([]).num_rows == 1


def test_a_stream_that_fails_is_refused_without_its_words():
    def batches():
        yield pa.record_batch({"x": [0.5], "y": [0.5]})
        raise RuntimeError("SECRETCELL")

    reader = pa.RecordBatchReader.from_batches(pa.schema({"x": pa.float64(), "y": pa.float64()}), batches())
    with pytest.raises(DataError, match="could not be read to its end") as caught:
        exact_release(reader, design())
    assert "SECRETCELL" not in "".join(traceback.format_exception(caught.value))
