"""Input that cannot be read rightly is refused: exit code 2, a plain sentence, and no cell in it."""

from __future__ import annotations

import base64
import contextlib
import io
import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as parquet_encryption
import pytest
from pyarrow import ipc

from discreet.design.columns import Boolean, Categorical, Numeric
from discreet.errors import DataError, SpecError
from discreet.tables.arrow import declared_arrays
from discreet.tables.cells import settle_missing
from discreet.tables.csv import CsvFile
from discreet.tables.csv_format import ReadOptions, charset_named
from discreet.tables.opening import open_source
from support.refusals import COLUMNS, GOOD, HEADER, read_all, refusal


def csv_file(folder: Path, content: str | bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


CSV_FAULTS = {
    "short row": (HEADER + GOOD + "918273.5,true,a\n", "line 3 "),
    "short row after blank lines": ("\n" + HEADER + "\n\n" + GOOD + "\r\n918273.5,true,a\n", "line 7 "),
    "long row": (HEADER + "918273.5,true,a,1,SECRETCELL\n" + GOOD, "line 2 "),
    "every row longer": (HEADER + "0.5,true,a,1,SECRETCELL\n" * 3, "line 2 "),
    "row with quotes too short": (HEADER + '918273.5,true,"a,SECRETCELL"\n', "line 2 "),
    "blanks alone on a line": (HEADER + "   \n", "line 2 "),
    "comment line": (HEADER + "# SECRETCELL\n" + GOOD, "line 2 "),
    "decimal comma": (HEADER + "918273,5,true,a,1\n", "pass delimiter="),
    "unclosed quote": (HEADER + GOOD + '0.5,true,"SECRETCELL,1\n' + GOOD, "line 3 .* quote"),
    "unclosed quote in the last line": (HEADER + '0.5,true,a,"1', "line 2 .* quote"),
    "unclosed quote after a quoted cell": (HEADER + '"0.5",true,"SECRETCELL,1\n' + GOOD + '"x",,,', "line 2 .* quote"),
    "quote inside a cell": (HEADER + '0.5,true,SECRET"CELL,1\n', "line 2 .* quote"),
    "two quotes inside cells": (HEADER + '0.5,true,SECRET"CELL,"1\n', "line 2 .* quote"),
    "text behind a closing quote": (HEADER + '0.5,true,"a"SECRETCELL,1\n', "line 2 .* quote"),
    "line end inside quotes": (HEADER + '0.5,true,"SECRET\nCELL",1\n', "line 2 .* quote"),
    "carriage return inside quotes": (HEADER + '0.5,true,"SECRET\rCELL",1\n', "line 2 .* quote"),
    "quote in the header": ('x,y"es,g,n\n', "line 1 .* quote"),
    "NUL byte": (HEADER + GOOD + "0.5,true,SECRET\0CELL,1\n", "line 3 .* NUL"),
    "invalid UTF-8": (HEADER.encode() + b"0.5,true,SECRETCELL\xe9,1\n", "line 2 .* UTF-8.*pass encoding="),
    "invalid UTF-8 in a column not declared": (b"z," + HEADER.encode() + b"\xff,0.5,true,a,1\n", "pass encoding="),
    "UTF-16 without a mark": ((HEADER + GOOD).encode("utf-16-le"), "pass encoding="),
    "UTF-16 with a mark": ((HEADER + GOOD).encode("utf-16"), "pass encoding="),
    "UTF-16 big-endian": (b"\xfe\xff" + (HEADER + GOOD).encode("utf-16-be"), "pass encoding="),
    "UTF-32": ((HEADER + GOOD).encode("utf-32"), "UTF-32 text"),
    "must have a header line with the column names, but is blank": (
        "918273.5,SECRETCELL,a,1\n" + GOOD,
        "no column 'x'",
    ),
    "declared name missing": ("x,yes,g\n", "no column 'n'"),
    "name twice": ("x,yes,g,n,x\n", "more than one column 'x'"),
    "name twice up to case": ("x,yes,g,n,X\n", "case, blanks or Unicode"),
    "name twice up to blanks": ("x,yes,g,n, x\n", "case, blanks or Unicode"),
    "name twice up to Unicode form": ("x,yes,g,n,ｘ\n", "case, blanks or Unicode"),
    "name with a blank": ("x, yes,g,n\n", "no column 'yes'.*case, blanks"),
    "other delimiter": ("x;yes;g;n\n918273,5;true;a;1\n", "pass delimiter="),
    "comment line before the header": (
        "# SECRETCELL 918273.5\n" + HEADER + GOOD,
        "first line .*'t.csv' must contain the column names, but begins with '#'; remove comment lines",
    ),
    "comment line of as many cells": (
        "\n#SECRETCELL,a,b,c\n" + HEADER + GOOD,
        "but begins with '#'; remove comment lines",
    ),
    "only blank lines": ("\n\r\n\n", "must have a header line with the column names, but is blank"),
    "only a byte order mark": (b"\xef\xbb\xbf", "must have a header line with the column names, but is blank"),
    "a line that does not end": (HEADER + "SECRETCELL" * 200_000, "longer than"),
    "a line that ends too late": (HEADER + "SECRETCELL" * 104_900 + "\n" + GOOD, "longer than"),
    "a name that is too long": ("a" * 140_000 + "," + HEADER, "too long to be a column name"),
    "text in a numeric column": (HEADER + GOOD + "SECRETCELL,true,a,1\n", "'x'"),
    "word in a boolean column": (HEADER + "0.5,SECRETCELL,a,1\n", "'yes'"),
    "number in a boolean column": (HEADER + "0.5,918273,a,1\n", "'yes'"),
    "text in a column of whole levels": (HEADER + "0.5,true,a,SECRETCELL\n", "'n'"),
    "level that is not declared": (HEADER + "0.5,true,SECRETCELL,1\n", "'g'"),
    "whole level that is not declared": (HEADER + "0.5,true,a,918273\n", "'n'"),
    "empty cell": (HEADER + ",true,a,1\n", "'x'"),
    "quoted empty cell": (HEADER + '"",true,a,1\n', "'x'"),
    "empty text": (HEADER + "0.5,true,,1\n", "'g'"),
}
NOT_NUMBERS = [
    *("0x10", "1_000", "１２", "1d5", "--5", '"1,5"', '"918,273.5"', "$918273.5", "918273.5%"),
    *(" 0.5", "0.5 ", "\t0.5", '" 0.5"', '"0.5\t"', " ", "NA", "NULL", "null", "None", "true", "∞", "nan(918273)"),
    *("-", "+", ".", "e5", "1e", "1e+", "+-5", "1.5f", "1'000"),
]
NOT_FINITE = ["nan", "NaN", "-nan", "inf", "-inf", "Infinity", "1e999", "-1e999", "1.7976931348623159e308"]


@pytest.mark.parametrize("fault", CSV_FAULTS)
def test_a_faulty_csv_is_refused(fault, tmp_path) -> None:
    content, pattern = CSV_FAULTS[fault]
    message = refusal(csv_file(tmp_path, content), DataError)
    assert re.search(pattern, message), message


@pytest.mark.parametrize("cell", NOT_NUMBERS + NOT_FINITE)
def test_only_plain_finite_numbers_are_numbers(cell, tmp_path) -> None:
    message = refusal(csv_file(tmp_path, HEADER + GOOD * 3 + f"{cell},true,a,1\n" + GOOD), DataError)
    assert "'x'" in message
    assert "line" not in message


@pytest.mark.parametrize("cell", [*NOT_NUMBERS, *NOT_FINITE, ""])
@pytest.mark.parametrize("missing", ["drop", {"fill": 0.25}])
def test_a_cell_that_cannot_be_read_is_missing_where_cells_may_be(cell, missing, tmp_path) -> None:
    from discreet.design.declarations import column_from

    columns = {"x": column_from({"bounds": [0, 1], "missing": missing}), "g": Categorical(("a", "b"))}
    path = csv_file(tmp_path, f"x,g\n0.1,a\n{cell},b\n1e-1,b\n")
    batch = next(open_source(path).batches(columns, 10))
    arrays, keep = settle_missing(columns, declared_arrays(batch, columns))
    if missing == "drop":
        assert keep is not None
        assert keep.tolist() == [True, False, True]
    else:
        assert arrays[0].tolist() == [0.1, 0.25, 0.1]


@pytest.mark.parametrize("word", ["yes", "T", "tRUE", "2", "1.5", " true", "true ", '" 1"', "-1", "NA", "SECRETCELL"])
def test_only_the_listed_words_and_1_and_0_are_true_or_false(word, tmp_path) -> None:
    path = csv_file(tmp_path, f"yes,x\nTrue,0\nFALSE,0\n{word},0\n1,0\n0,0\n,0\n")
    lenient = {"yes": Boolean(missing="drop"), "x": Numeric((0, 1))}
    found = declared_arrays(next(open_source(path).batches(lenient, 10)), lenient)[0]
    assert np.array_equal(found, [1, 0, np.nan, 1, 0, np.nan], equal_nan=True)
    strict = {"yes": Boolean(), "x": Numeric((0, 1))}
    with pytest.raises(DataError, match="'yes' has a cell that is none of true, false, 1 and 0"):
        list(open_source(path).batches(strict, 10))


@pytest.mark.parametrize(
    ("row", "remedy"),
    [
        ("0.5,SECRETCELL,a,1\n", 'declare levels = ["no", "yes"] with the two words that can occur'),
        ("SECRETCELL,true,a,1\n", "if the column holds text, declare levels instead of bounds"),
        ("0.5,true,a,SECRETCELL\n", "declare every level that can occur"),
    ],
)
def test_words_of_another_kind_are_first_to_be_declared_and_last_to_be_dropped(row, remedy, tmp_path) -> None:
    message = refusal(csv_file(tmp_path, HEADER + GOOD + row), DataError)
    assert message.index(remedy) < message.index('or missing = "drop" to drop their rows')


def parquet_bytes(**options) -> bytes:
    rng = np.random.default_rng(3)
    table = pa.table(
        {
            "x": rng.random(5000),
            "yes": rng.random(5000) < 0.5,
            "g": pa.array(rng.choice(["a", "b"], 5000)),
            "n": rng.integers(1, 3, 5000),
        }
    )
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **options)
    return sink.getvalue().to_pybytes()


def ipc_bytes(*, stream: bool = False, codec: str | None = None) -> bytes:
    table = pq.read_table(pa.BufferReader(parquet_bytes()))
    sink = pa.BufferOutputStream()
    new = ipc.new_stream if stream else ipc.new_file
    with new(sink, table.schema, options=ipc.IpcWriteOptions(compression=codec)) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def flipped(content: bytes, share: float, count: int = 64) -> bytes:
    start = int(len(content) * share)
    return content[:start] + bytes(byte ^ 0xFF for byte in content[start : start + count]) + content[start + count :]


def without_zstd_frames(content: bytes) -> bytes:
    return content.replace(b"\x28\xb5\x2f\xfd", b"\xff\xff\xff\xff")


FILE_FAULTS: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "empty csv": ("t.csv", lambda: b"", "empty"),
    "empty parquet": ("t.parquet", lambda: b"", "empty"),
    "csv named parquet": ("t.parquet", lambda: (HEADER + GOOD).encode(), "not in the Parquet format"),
    "csv named arrow": ("t.arrow", lambda: (HEADER + GOOD).encode(), "not in the Arrow format"),
    "one byte named parquet": ("t.parquet", lambda: b"P", "not in the Parquet format"),
    "parquet named csv": ("t.csv", parquet_bytes, "not CSV text"),
    "arrow named csv": ("t.csv", ipc_bytes, "not CSV text"),
    "gzip named csv": ("t.csv", lambda: b"\x1f\x8b\x08\0", "not CSV text"),
    "parquet named arrow": ("t.feather", parquet_bytes, "not in the Arrow format"),
    "old feather": ("t.feather", lambda: b"FEA1....FEA1", "in Feather version 1"),
    "cut parquet": ("t.parquet", lambda: parquet_bytes()[:-100], "is truncated"),
    "cut ipc": ("t.arrow", lambda: ipc_bytes()[:-100], "is truncated"),
    "cut stream": ("t.arrow", lambda: ipc_bytes(stream=True)[:-5000], "cannot be read"),
    "encrypted parquet": ("t.parquet", lambda: b"PARE" + bytes(20) + b"PARE", "encrypted"),
    "parquet of marks only": ("t.parquet", lambda: b"PAR1" + bytes(50) + b"PAR1", "cannot be read"),
    "bad footer": ("t.parquet", lambda: flipped(parquet_bytes(), 0.97), "cannot be read"),
    "bad page": ("t.parquet", lambda: flipped(parquet_bytes(write_page_checksum=True), 0.3), "cannot be read"),
    "bad compressed page": (
        "t.parquet",
        lambda: without_zstd_frames(parquet_bytes(compression="zstd")),
        "cannot be read",
    ),
    "arrow of marks only": ("t.arrow", lambda: b"ARROW1\0\0" + bytes(50) + b"ARROW1", "cannot be read"),
    "bad compressed buffer": ("t.arrow", lambda: without_zstd_frames(ipc_bytes(codec="zstd")), "cannot be read"),
    "bad page header": ("t.parquet", lambda: flipped(parquet_bytes(), 0.0001, 20), "cannot be read"),
    "bad stream": ("t.arrow", lambda: b"\xff\xff\xff\xff" + bytes(200), "cannot be read|no column"),
}


@pytest.mark.parametrize("fault", FILE_FAULTS)
def test_a_damaged_or_misnamed_file_is_refused(fault, tmp_path) -> None:
    name, content, pattern = FILE_FAULTS[fault]
    message = refusal(csv_file(tmp_path, content(), name), DataError)
    assert re.search(pattern, message), message
    assert name in message or "no column" in message


def test_offsets_of_text_that_lead_outside_their_buffer_are_refused(tmp_path) -> None:
    offsets = np.array([0, 10**9, 2], "i4")
    bad = pa.Array.from_buffers(pa.string(), 2, [None, pa.py_buffer(offsets), pa.py_buffer(b"ab")])
    batch = pa.record_batch({"x": [0.1, 0.2], "yes": [True, True], "g": bad, "n": [1, 2]})
    with ipc.new_file(str(tmp_path / "t.arrow"), batch.schema) as writer:
        writer.write_batch(batch)
    assert "cannot be read" in refusal(tmp_path / "t.arrow", DataError)


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.parametrize("kind", ["parquet", "ipc", "stream", "ipc lz4"])
def test_a_damaged_byte_anywhere_is_refused_or_harmless(kind, tmp_path) -> None:
    content = {
        "parquet": lambda: parquet_bytes(row_group_size=1000, write_page_checksum=True),
        "ipc": ipc_bytes,
        "stream": lambda: ipc_bytes(stream=True),
        "ipc lz4": lambda: ipc_bytes(codec="lz4"),
    }[kind]()
    rng = np.random.default_rng(11)
    ends = np.concatenate([np.arange(0, 400, 7), len(content) - 1 - np.arange(0, 1500, 13)])
    path = tmp_path / ("t.parquet" if kind == "parquet" else "t.arrow")
    for index in np.concatenate([ends, rng.integers(0, len(content), 60)]):
        damaged = bytearray(content)
        damaged[index] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        with contextlib.suppress(DataError):
            read_all(path)


class LocalKeys(parquet_encryption.KmsClient):
    def wrap_key(self, key_bytes, master_key_identifier):
        return base64.b64encode(key_bytes)

    def unwrap_key(self, wrapped_key, master_key_identifier):
        return base64.b64decode(wrapped_key)


@pytest.mark.parametrize("plain_footer", [True, False])
def test_an_encrypted_file_is_refused(plain_footer, tmp_path) -> None:
    table = pq.read_table(pa.BufferReader(parquet_bytes()))
    factory = parquet_encryption.CryptoFactory(lambda _: LocalKeys())
    encryption = parquet_encryption.EncryptionConfiguration(
        footer_key="footer", column_keys={"column": table.column_names}, plaintext_footer=plain_footer
    )
    properties = factory.file_encryption_properties(parquet_encryption.KmsConnectionConfig(), encryption)
    with pq.ParquetWriter(tmp_path / "t.parquet", table.schema, encryption_properties=properties) as writer:
        writer.write_table(table)
    assert "encrypted" in refusal(tmp_path / "t.parquet", DataError)


PATH_FAULTS = {
    "missing": ("nowhere.csv", "no file"),
    "empty name": ("", "expected a .csv"),
    "NUL in the name": ("a\0b.csv", "not a path"),
    "URL": ("https://example.org/t.csv", "expected a local path, got"),
    "bucket": ("s3://bucket/t.parquet", "expected a local path, got"),
    "bucket as path": (Path("s3://bucket/t.parquet"), "expected a local path, got"),
    "file URL": ("file:///t.csv", "expected a local path, got"),
    "pattern without a match": ("*.csv", "matches no file"),
    "too long a name": ("a" * 300 + ".csv", "cannot be read"),
    "device": ("/dev/null", "device"),
}


@pytest.mark.parametrize("fault", PATH_FAULTS)
def test_a_path_that_names_no_readable_file_is_refused(fault, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    path, pattern = PATH_FAULTS[fault]
    assert pattern in refusal(path, SpecError)


def test_a_pipe_is_refused_without_waiting_for_it(tmp_path) -> None:
    os.mkfifo(tmp_path / "t.csv")
    assert "pipe" in refusal(tmp_path / "t.csv", SpecError)


@pytest.mark.parametrize("name", ["t.txt", "t", "t.csv.bz2", "t.gz", "t.parquet.zst", "t.pickle"])
def test_an_unknown_ending_is_refused_by_name(name, tmp_path) -> None:
    message = refusal(csv_file(tmp_path, HEADER + GOOD, name), SpecError)
    assert "must end in one of" in message
    assert ("decompress" in message) == name.endswith(("gz", "zst", "bz2"))


def test_a_link_to_nothing_is_refused(tmp_path) -> None:
    (tmp_path / "t.csv").symlink_to(tmp_path / "gone.csv")
    assert "no file" in refusal(tmp_path / "t.csv", SpecError)


def test_a_folder_needs_parquet_files(tmp_path) -> None:
    csv_file(tmp_path, HEADER + GOOD)
    assert "no .parquet file" in refusal(tmp_path, SpecError)


def test_a_delta_table_is_refused(tmp_path) -> None:
    csv_file(tmp_path, parquet_bytes(), "t.parquet")
    (tmp_path / "_delta_log").mkdir()
    assert "Delta" in refusal(tmp_path, SpecError)


def test_a_pattern_that_matches_a_folder_is_refused(tmp_path) -> None:
    csv_file(tmp_path, parquet_bytes(), "a.parquet")
    (tmp_path / "b.parquet").mkdir()
    assert "a folder" in refusal(str(tmp_path / "*.parquet"), SpecError)


def test_files_of_several_kinds_are_refused(tmp_path) -> None:
    csv_file(tmp_path, parquet_bytes(), "a.parquet")
    csv_file(tmp_path, HEADER + GOOD, "b.csv")
    assert "files of one format, but matches CSV, Parquet files" in refusal(str(tmp_path / "*"), SpecError)


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_the_same_file_twice_is_refused(link, tmp_path) -> None:
    csv_file(tmp_path, HEADER + GOOD, "a.csv")
    link(tmp_path / "a.csv", tmp_path / "b.csv")
    assert "'a.csv' and 'b.csv' are the same file" in refusal(str(tmp_path / "*.csv"), DataError)


def test_a_file_that_may_not_be_opened_is_refused(tmp_path, monkeypatch) -> None:
    path = csv_file(tmp_path, HEADER + GOOD)

    def closed(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "SECRETCELL")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", closed)
        assert "Permission denied" in refusal(path, DataError)
    source = open_source(path)
    monkeypatch.setattr(Path, "open", closed)
    with pytest.raises(DataError, match=r"'t.csv' cannot be opened: Permission denied") as caught:
        list(source.batches(COLUMNS, 10))
    assert caught.value.__context__ is None


def test_a_file_that_breaks_off_is_refused(tmp_path, monkeypatch) -> None:
    class Broken(io.BytesIO):
        def read(self, _: int = -1) -> bytes:
            raise OSError(5, "Input/output error", "SECRETCELL")

    source = open_source(csv_file(tmp_path, HEADER + GOOD))
    monkeypatch.setattr(Path, "open", lambda *_, **__: Broken())
    with pytest.raises(DataError, match="to its end: Input/output error") as caught:
        list(source.batches(COLUMNS, 10))
    assert caught.value.__context__ is None


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.arrow"])
@pytest.mark.parametrize("change", ["touched", "grown", "replaced"])
def test_a_file_that_changes_during_the_scan_is_refused(name, change, tmp_path) -> None:
    content = {"t.csv": (HEADER + GOOD).encode(), "t.parquet": parquet_bytes(), "t.arrow": ipc_bytes()}[name]
    path = csv_file(tmp_path, content, name)
    source = open_source(path)
    batches = source.batches(COLUMNS, 100_000)
    next(batches)
    before = path.stat()
    if change == "touched":
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    elif change == "grown":
        with path.open("ab") as file:
            file.write(b"\n")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    else:
        csv_file(tmp_path, content, "new").replace(path)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(DataError, match=f"'{name}' changed while it was read"):
        list(batches)


def test_files_with_other_schemas_are_named(tmp_path) -> None:
    csv_file(tmp_path, parquet_bytes(), "a.parquet")
    table = pq.read_table(tmp_path / "a.parquet")
    pq.write_table(table.set_column(0, "x", pa.array(["SECRETCELL"] * len(table))), tmp_path / "b.parquet")
    message = refusal(tmp_path, DataError)
    assert "'x' has type string in 'b.parquet' and type double" in message
    csv_file(tmp_path, HEADER + GOOD, "a.csv")
    csv_file(tmp_path, "x,yes,g\n", "b.csv")
    assert refusal(str(tmp_path / "*.csv"), DataError) == (
        "the table has no column 'n', which is required (file 'b.csv')"
    )


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_the_file_of_a_pattern_that_lacks_a_column_is_named(ending, tmp_path) -> None:
    whole = pa.table({"x": [0.5], "yes": [True], "g": ["a"], "n": [1]})
    for name, table in (("m1", whole), ("m2", whole.rename_columns(["x", "yes", "g", "z"]))):
        path = tmp_path / f"{name}.{ending}"
        if ending == "csv":
            arrow_csv.write_csv(table, path)
        elif ending == "parquet":
            pq.write_table(table, path)
        else:
            with ipc.new_file(path, table.schema) as file:
                file.write_table(table)
    message = refusal(str(tmp_path / f"*.{ending}"), DataError)
    assert message == f"the table has no column 'n', which is required (file 'm2.{ending}')"


def test_a_name_may_begin_like_a_comment(tmp_path) -> None:
    read_all(csv_file(tmp_path, "#id," + HEADER + "1," + GOOD))


def test_text_that_its_encoding_does_not_allow_is_refused(tmp_path) -> None:
    path = csv_file(tmp_path, HEADER.encode() + b"0.5,true,SECRETCELL\xe9,1\n")
    assert "not valid ascii" in refusal(path, DataError, ReadOptions(encoding="ascii"))
    odd = csv_file(tmp_path, (HEADER + GOOD).encode("utf-16") + b"\0", "odd.csv")
    assert "not valid utf-16" in refusal(odd, DataError, ReadOptions(encoding="utf-16"))


def test_a_reader_that_gives_up_without_a_reason_is_no_leak(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(CsvFile, "_parsed", lambda *_: None)
    assert "near line 1" in refusal(csv_file(tmp_path, HEADER + GOOD), DataError)


@pytest.mark.parametrize("name", ["PAR1", "PARENT", "FEA1", "ARROW1", "SQLite"])
def test_a_column_may_be_called_like_a_format(name, tmp_path) -> None:
    read_all(csv_file(tmp_path, f"{name},{HEADER}z,{GOOD}"))


@pytest.mark.parametrize("encoding", ["nonsense", "base64", "zlib", "rot13", "undefined", "a\0b", "", 8])
def test_an_encoding_that_is_not_known_is_refused(encoding) -> None:
    with pytest.raises(SpecError, match=r"encoding: expected one of .*, got "):
        ReadOptions(encoding=encoding)


def test_no_encoding_is_that_of_the_default() -> None:
    assert ReadOptions(encoding=None) == ReadOptions()
    assert ReadOptions(encoding=None).charset == "utf-8"
    with pytest.raises(SpecError, match=r"encoding: expected one of ascii, .*, got None"):
        charset_named(None)


@pytest.mark.parametrize("delimiter", ["", ",,", '"', "'", "\n", "\r", "\0", "é", "a", "5", ".", "-", "+", b","])
def test_a_delimiter_that_cannot_part_cells_is_refused(delimiter) -> None:
    with pytest.raises(SpecError, match="delimiter"):
        ReadOptions(delimiter=delimiter)
