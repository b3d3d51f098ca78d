"""Names and types of columns come from the header or the schema, and from nothing behind it."""

from __future__ import annotations

import codecs
import os
import traceback
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import ipc

from discreet.errors import DataError, DiscreetError, OptionError, SpecError
from discreet.tables import blank_design as header
from discreet.tables.blank_design import column_names_and_types
from discreet.tables.csv import BLOCK_BYTES
from discreet.tables.csv_format import ReadOptions

CANARY = "SECRETCELL"
NAMES = [("age", None), ("größe, in cm", None), ("", None)]
HEADER = 'age,"größe, in cm",'


def csv_file(folder: Path, content: str | bytes) -> Path:
    path = folder / "t.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refusal(path: Path, kind: type[DiscreetError], reading: ReadOptions | None = None) -> str:
    """The message of the refusal, after a search for cells in everything that comes with it."""
    with pytest.raises(kind) as caught:
        column_names_and_types(path, reading or ReadOptions())
    error = caught.value
    assert type(error) in (kind, OptionError)
    assert error.__context__ is None
    told = "".join(traceback.format_exception(error)) + repr(error.args)
    assert CANARY not in told
    return str(error)


BEHIND = {
    "nothing": b"",
    "a line end": b"\n",
    "rows": b"\r\n1,2,3\r\n",
    "an old line end": b"\r1,2,3\r",
    "too many cells": b"\n1,2,3,4,5\n",
    "bytes that are no text": b"\n\xff\xfe\x00\x00\x80\n",
    "a quote that is not closed": b'\n"SECRETCELL\n',
    "a line that does not end": b"\n" + b"x" * (2 * BLOCK_BYTES),
}


@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("before", [b"", b"\xef\xbb\xbf", b"\n\r\n", b"\xef\xbb\xbf\n"])
def test_names_do_not_depend_on_what_is_behind_the_header(tmp_path: Path, before: bytes, behind: str) -> None:
    path = csv_file(tmp_path, before + HEADER.encode() + BEHIND[behind])
    assert column_names_and_types(path) == NAMES


def test_no_byte_behind_the_header_is_taken_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = csv_file(tmp_path, HEADER + "\n" + CANARY)
    taken = []

    class Watched(codecs.getincrementaldecoder("utf-8")):  # type: ignore[misc]
        def decode(self, data: bytes, final: bool = False) -> str:
            taken.append(data)
            return str(super().decode(data, final))

    monkeypatch.setattr(header.codecs, "getincrementaldecoder", lambda name: Watched)
    assert column_names_and_types(path) == NAMES
    assert b"".join(taken) == f"{HEADER}\n".encode()


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1", "cp1252", "utf-8-sig"])
def test_encoding_and_delimiter_are_followed(tmp_path: Path, encoding: str) -> None:
    path = csv_file(
        tmp_path,
        (HEADER.replace('"größe, in cm"', "größe, in cm").replace("age,", "age;")[:-1] + ";\n1;2;3\n").encode(encoding),
    )
    assert column_names_and_types(path, ReadOptions(encoding, ";")) == NAMES


CSV_FAULTS = {
    "only blank lines": ("\n\r\n\n", "must have a header line with the column names, but is blank"),
    "only a byte order mark": (b"\xef\xbb\xbf", "must have a header line with the column names, but is blank"),
    "empty": ("", "is empty"),
    "one cell": ("SECRETCELL;x;y\n", "pass delimiter="),
    "a row with a number": ("SECRETCELL,12,y\n", "must contain column names, but contains a number or a date"),
    "a row with a decimal comma": (
        'SECRETCELL,"-1,5",y\n',
        "must contain column names, but contains a number or a date",
    ),
    "a row with a date": ("SECRETCELL,2024-02-29,y\n", "must contain column names, but contains a number or a date"),
    "a row with a time": (
        "SECRETCELL, 2024-02-29T12:00:00Z,y\n",
        "must contain column names, but contains a number or a date",
    ),
    "a row with an amount": ("SECRETCELL,$1.50,y\n", "must contain column names, but contains a number or a date"),
    "an unclosed quote": ('"SECRETCELL,x\n1,2\n', "has an unclosed quote"),
    "a line end inside quotes": ('"SECRETCELL\nx",y\n', "has an unclosed quote"),
    "a name that is too long": ("a" * 140_000 + ",y\n", "too long to be a column name"),
    "a header that does not end": ("SECRETCELL," * (BLOCK_BYTES // 10), "does not end within"),
    "blank lines without end": ("\n" * (BLOCK_BYTES + 1), "does not end within"),
    "NUL": ("SECRETCELL,x\0y\n", "utf-16"),
    "not UTF-8": ("SECRETCELL,größe\n".encode("latin-1"), "pass encoding="),
    "half a sign at the end": (b"SECRETCELL,x\xc3", "pass encoding="),
    "UTF-16": ("SECRETCELL,x\n".encode("utf-16"), "pass encoding="),
    "Parquet under a wrong name": (b"PAR1SECRETCELL,xPAR1", "not CSV"),
}


@pytest.mark.parametrize("fault", CSV_FAULTS)
def test_a_first_line_that_is_no_header_is_refused_without_its_cells(tmp_path: Path, fault: str) -> None:
    content, message = CSV_FAULTS[fault]
    assert message in refusal(csv_file(tmp_path, content), DataError)


@pytest.mark.parametrize("names", ["2nd_visit,x", "x2019,y", "y,1st", "-,x"])
def test_names_with_digits_are_names(tmp_path: Path, names: str) -> None:
    assert column_names_and_types(csv_file(tmp_path, names)) == [(name, None) for name in names.split(",")]


def test_a_file_that_fails_while_it_is_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = csv_file(tmp_path, HEADER)
    ordinary = Path.open

    def failing(self: Path, mode: str = "r", buffering: int = -1) -> object:
        if buffering == 0:
            raise OSError(5, "Input/output error")
        return ordinary(self, mode, buffering)

    monkeypatch.setattr(Path, "open", failing)
    assert "Input/output error" in refusal(path, DataError)


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    assert "pipe" in refusal(tmp_path / "pipe.csv", SpecError)
    assert "no file" in refusal(tmp_path / "none.csv", SpecError)
    assert "no .parquet file" in refusal(tmp_path, SpecError)


TYPES = {
    "number": (
        pa.int8(), pa.uint64(), pa.float16(), pa.float64(), pa.decimal128(9, 2), pa.dictionary(pa.int8(), pa.int64())
    ),
    "boolean": (pa.bool_(),),
    "text": (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())),
    "timestamp[us, tz=UTC]": (pa.timestamp("us", "UTC"),),
    "date": (pa.date32(), pa.date64(), pa.timestamp("us")),
    "binary": (pa.binary(),),
    "struct": (pa.struct([("evil\x1b", pa.int8())]),),
    "list": (pa.list_(pa.int64()),),
    None: (pa.null(),),
}  # fmt: skip


@pytest.mark.parametrize("kind", TYPES)
def test_a_schema_tells_the_kind_of_each_column(tmp_path: Path, kind: str | None) -> None:
    schema = pa.schema([(f"c{index}", stored) for index, stored in enumerate(TYPES[kind])])
    with ipc.new_file(tmp_path / "t.arrow", schema):
        pass
    with ipc.new_stream(tmp_path / "s.arrow", schema):
        pass
    wanted = [(name, kind) for name in schema.names]
    assert column_names_and_types(tmp_path / "t.arrow") == wanted
    assert column_names_and_types(tmp_path / "s.arrow") == wanted


def test_a_parquet_file_needs_only_its_footer(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    table = pa.table(
        {
            "age": [float(i) for i in range(9000)],
            "g": pa.array([CANARY] * 9000).dictionary_encode(),
            "ok": [True] * 9000,
        }
    )
    pq.write_table(table, path, compression="none")
    content = path.read_bytes()
    size = int.from_bytes(content[-8:-4], "little") + 8
    # every page is destroyed
    path.write_bytes(b"PAR1" + b"\xff" * (len(content) - size - 4) + content[-size:])
    assert column_names_and_types(path) == [("age", "number"), ("g", "text"), ("ok", "boolean")]


def test_of_a_folder_the_first_file_counts(tmp_path: Path) -> None:
    for name in ("b", "a"):
        pq.write_table(pa.table({name: [1]}), tmp_path / f"{name}.parquet")
    assert column_names_and_types(tmp_path) == [("a", "number")]


def test_a_damaged_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1" + b"\xff" * 64 + b"PAR1")
    assert "damaged" in refusal(path, DataError)
    pq.write_table(pa.table({}), path)
    assert "no columns" in refusal(path, DataError)


def test_a_name_that_is_not_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.arrow"
    with ipc.new_file(path, pa.schema([("SECRETCELLS", pa.int8())])):
        pass
    path.write_bytes(path.read_bytes().replace(b"CELLS", b"CELL\xff"))
    assert "not UTF-8" in refusal(path, DataError)
