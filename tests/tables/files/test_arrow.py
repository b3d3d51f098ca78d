"""Parquet and Arrow files: types are refused whatever the rows, and what is odd about a cell is its own matter."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import ipc

import discreet
from discreet.errors import DataError
from discreet.testing.not_private import exact_release

DROP = {"bounds": (0, 1), "missing": "drop"}
NUMBERS = discreet.Design("y", {"x": DROP, "y": DROP})
LEVELS = discreet.Design("y", {"x": {"levels": ["a", "b"], "missing": "drop"}, "y": DROP})


def write_parquet(table: pa.Table, path: Path) -> None:
    pq.write_table(table, path)


def write_no_group(table: pa.Table, path: Path) -> None:
    with pq.ParquetWriter(path, table.schema):
        pass


def write_file(table: pa.Table, path: Path) -> None:
    with ipc.new_file(path, table.schema) as file:
        file.write_table(table)


def write_stream(table: pa.Table, path: Path) -> None:
    with ipc.new_stream(path, table.schema) as file:
        file.write_table(table)


WRITERS = {
    "groups.parquet": write_parquet,
    "none.parquet": write_no_group,
    "file.arrow": write_file,
    "stream.arrow": write_stream,
}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize(
    "kind", [pa.list_(pa.float64()), pa.string(), pa.date32(), pa.dictionary(pa.int32(), pa.string())], ids=str
)
def test_a_type_is_refused_in_a_file_without_rows(name, kind, tmp_path):
    WRITERS[name](pa.table({"x": pa.array([], kind), "y": pa.array([], pa.float64())}), tmp_path / name)
    with pytest.raises(DataError, match="column 'x' must contain numbers, as declared, but has type"):
        exact_release(tmp_path / name, NUMBERS)


@pytest.mark.parametrize("name", WRITERS)
def test_a_type_of_ids_is_refused_in_a_file_without_rows(name, tmp_path):
    persons = discreet.Design("y", {"y": DROP, "x": DROP}, unit={"id": "person", "max_rows": 2})
    numbers = pa.array([], pa.float64())
    for kind, refused in ((pa.list_(pa.float64()), True), (pa.string(), False)):
        WRITERS[name](pa.table({"person": pa.array([], kind), "x": numbers, "y": numbers}), tmp_path / name)
        if not refused:
            discreet.release(tmp_path / name, persons, epsilon=1.0, delta=1e-6)
            continue
        with pytest.raises(DataError, match="the id column 'person' must contain text or integers, but has type list"):
            discreet.release(tmp_path / name, persons, epsilon=1.0, delta=1e-6)


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_without_rows_is_a_table_without_rows(name, tmp_path):
    WRITERS[name](pa.table({"x": pa.array([], pa.float64()), "y": pa.array([], pa.float64())}), tmp_path / name)
    assert exact_release(tmp_path / name, NUMBERS).moments[0, 0] == 0


def byte_decimals(path: Path, cells: list[bytes | None], *, digits: int = 3) -> None:
    """Write decimals as byte arrays of any length, as some programs do and pyarrow does not: a type added by hand."""
    table = pa.table({"x": pa.array(cells, pa.binary()), "y": pa.array([0.5] * len(cells))})
    pq.write_table(table, path, store_schema=False, write_statistics=False)
    content = path.read_bytes()
    size = int.from_bytes(content[-8:-4], "little")
    body, footer = content[: -8 - size], content[-8 - size : -8]
    # behind the name of the column: converted type 5 (decimal), scale 0, precision
    end = footer.index(b"\x18\x01x") + 3
    footer = footer[:end] + bytes([0x25, 0x0A, 0x15, 0x00, 0x15, 2 * digits]) + footer[end:]
    path.write_bytes(body + footer + len(footer).to_bytes(4, "little") + b"PAR1")


@pytest.mark.parametrize("cells", [[b"\x01"], [b"\x01", b"\x01" * 17], [b"\x01", b""], [None], []])
def test_decimals_of_any_length_are_refused_by_their_type_whatever_the_cells(cells, tmp_path):
    byte_decimals(tmp_path / "t.parquet", cells)
    with pytest.raises(DataError, match=r"stores decimals of type decimal128\(3, 0\) in another number of bytes"):
        exact_release(tmp_path / "t.parquet", NUMBERS)


@pytest.mark.parametrize("as_integer", [True, False])
def test_a_decimal_beyond_its_precision_is_read_as_what_it_is(as_integer, tmp_path):
    wide = pa.array([1, 30_000, 2], pa.decimal128(38, 0))
    values = pa.Array.from_buffers(pa.decimal128(3, 2), 3, wide.buffers())
    table = pa.table({"x": values, "y": [0.5] * 3})
    pq.write_table(table, tmp_path / "t.parquet", store_decimal_as_integer=as_integer)
    expected = exact_release({"x": [0.01, 300.0, 0.02], "y": [0.5] * 3}, NUMBERS)
    assert exact_release(tmp_path / "t.parquet", NUMBERS).totals == expected.totals


@pytest.mark.parametrize("use_dictionary", [True, False])
@pytest.mark.parametrize("large", [True, False])
def test_text_that_is_not_utf8_is_a_missing_cell_in_a_dictionary_as_elsewhere(large, use_dictionary, tmp_path):
    raw, text = (pa.large_binary(), pa.large_string()) if large else (pa.binary(), pa.string())
    entries = pa.array([b"a", b"\xff", b"b"], raw).view(text)
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2], pa.int32()), entries)
    expected = exact_release({"x": ["a", None, None, "b"], "y": [0.5] * 4}, LEVELS)
    for values in (coded, entries.take(coded.indices)):
        table = pa.table({"x": values, "y": [0.5] * 4})
        pq.write_table(table, tmp_path / "t.parquet", use_dictionary=use_dictionary, row_group_size=2)
        write_file(table, tmp_path / "t.arrow")
        for name in ("t.parquet", "t.arrow"):
            assert exact_release(tmp_path / name, LEVELS).totals == expected.totals


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
def test_text_in_an_encoding_that_arrow_does_not_decode_is_not_called_damaged(encoding, tmp_path):
    table = pa.table({"x": pa.array(["a", "b"]).dictionary_encode(), "y": [0.5] * 2})
    pq.write_table(table, tmp_path / "t.parquet", use_dictionary=False, column_encoding={"x": encoding})
    with pytest.raises(
        DataError, match=r"column 'x' of 't.parquet' has a dictionary type in an encoding .*; write the column"
    ):
        exact_release(tmp_path / "t.parquet", LEVELS)
