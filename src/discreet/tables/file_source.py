"""Read a table from files: a path, a folder or a pattern."""

from __future__ import annotations

import glob
import hashlib
import hmac
import os
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, Protocol

from discreet.design.columns import Readable
from discreet.errors import DataError, SpecError
from discreet.files import check_unchanged, regular_state
from discreet.tables.csv_format import (
    CODECS,
    PACKED,
    TAB_SEPARATED,
    ReadOptions,
    TextBytes,
    text_suffix,
    wrong_mark,
)
from discreet.tables.file_formats import IPC_MAGIC, FilePart, IpcFile, ParquetFile, Piece, cut_files, unless_changed
from discreet.tables.frames import Origin
from discreet.tables.source import Part, Place
from discreet.wording import Message

if TYPE_CHECKING:
    from pyarrow import DataType, RecordBatch


# -- files -------------------------------------------------------------------------------------------------------------
# Problems that are visible without reading rows are reported here: files that are missing, empty, listed twice or
# remote, or whose format does not match their extension. Nothing is fetched from a network.

_BLOCK: Final = 1 << 20  # bytes read at a time
# what a path or object may be, for messages
ACCEPTED: Final = (
    "a .csv, .tsv, .parquet, .arrow, .feather or .ipc file, a Stata, SPSS or SAS file (.dta, .sav, .sas7bdat, .xpt), a "
    "folder of Parquet files, a pattern such as 'data/*.parquet', a discreet.DatabaseTable, or a table in memory "
    "(pandas, polars, pyarrow, DuckDB, NumPy, a mapping of columns)"
)
_TEXT: Final = "CSV"
_KINDS: Final = {
    ".csv": _TEXT, ".tsv": _TEXT, ".tab": _TEXT, ".parquet": "Parquet", ".arrow": "Arrow", ".feather": "Arrow",
    ".ipc": "Arrow", ".dta": "Stata", ".sav": "SPSS", ".zsav": "SPSS", ".sas7bdat": "SAS",
    ".xpt": "SAS",
}  # fmt: skip
_SHEETS: Final = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
_COMPRESSED: Final = (".gz", ".zst", ".bz2", ".xz", ".zip")
_REMOTE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
# the header of a CSV file may begin with PAR1 or FEA1, so these are tested at both ends of the file
_BINARY_ENDS: Final = (b"PAR1", b"PARE", b"FEA1")
_BINARY_HEADS: Final = (IPC_MAGIC + b"\0", b"\x1f\x8b", b"PK\x03\x04", b"\x28\xb5\x2f\xfd", b"SQLite f")


class TableFile(Piece, Protocol):
    """One file of a `FileSource`."""

    path: Path

    def column_types(self, names: Sequence[str]) -> Mapping[str, DataType]:
        """Return the types of the declared columns as stated by the file, or an empty mapping if it states none."""
        ...

    def line(self, row: int) -> int | None:
        """Return the line number, counted from 1, of a row of the last batch, or None if the file has no lines."""
        ...


class FileSource:
    """One or more regular files of the same format, read in the given order."""

    def __init__(self, paths: Sequence[Path], reading: ReadOptions) -> None:
        self._states = {path: regular_state(path) for path in paths}
        self._check_distinct()
        kinds = {_kind(path) for path in paths}
        if len(kinds) > 1:
            raise SpecError(f"the pattern must match files of one format, but matches {', '.join(sorted(kinds))} files")
        if kinds != {_TEXT}:
            check_reading(reading, f"the file {paths[0].name!r}")
        elif reading.delimiter is None and len({text_suffix(path) in TAB_SEPARATED for path in paths}) > 1:
            raise SpecError(
                "the pattern must match files of one format, but matches .csv and .tsv files; set a delimiter if they "
                "have the same one"
            )
        self.reading = reading.for_file(paths[0])
        self.files = [_table_file(path, reading) for path in paths]
        self._share = 0.0
        self._parts: Sequence[FilePart] = ()
        self._checking = threading.Lock()
        self._checked: list[str] | None = None
        self._reading, self._before = self.files[0], 0

    @property
    def origin(self) -> Origin | None:
        """`quoted` if quotes decide where records end, else None."""
        return "quoted" if self.reading.quoted_line_breaks else None

    @property
    def read_as(self) -> Mapping[str, object]:
        """The reading options, as recorded in a ledger."""
        return self.reading.read_as()

    @property
    def numbered(self) -> Literal["line", "row"]:
        """`line` for CSV files, `row` for other files."""
        return "line" if is_text(self.files[0].path) else "row"

    @property
    def share_read(self) -> float | None:
        """Fraction of the bytes of all files that `batches` or the parts have read."""
        return sum(part.bytes_read for part in self._parts) / self._size if self._parts else self._share

    @property
    def _size(self) -> int:
        return sum(state.st_size for state in self._states.values())

    def batches(self, columns: Mapping[str, Readable], batch_rows: int) -> Iterator[RecordBatch]:
        """Yield record batches of the declared columns. Raise DataError if a file changed in the meantime."""
        self._check_schemas(list(columns))
        total, done = self._size, 0
        self._share, self._parts = 0.0, ()
        for file in self.files:
            size = self._states[file.path].st_size
            self._reading, self._before = file, 0
            for batch, share in unless_changed(file.batches(columns, batch_rows), self._check_unchanged):
                self._share = (done + share * size) / total
                yield batch
                self._before += batch.num_rows
            done += size
        self._share = 1.0
        self._check_unchanged()

    def parts(self, count: int) -> Sequence[Part]:
        """Split the files into parts of similar size. Files that cannot be split form one part."""
        sizes = [(file, self._states[file.path].st_size) for file in self.files]
        lists = cut_files(sizes, count) if count > 1 else []
        if len(lists) < 2:
            return [self]
        self._parts = [FilePart(pieces, self._check_schemas, self._check_unchanged) for pieces in lists]
        return self._parts

    def fingerprint(self, key: bytes) -> str:
        """Return a keyed digest of the bytes of all files, in order."""
        digest = hmac.new(key, digestmod=hashlib.sha256)
        for path, state in self._states.items():
            digest.update(state.st_size.to_bytes(8, "big"))
            try:
                with path.open("rb") as file:
                    # stop at the original size, because the file may grow while it is read
                    while file.tell() <= state.st_size and (block := file.read(_BLOCK)):
                        digest.update(block)
            except OSError as error:
                problem: DataError | None = DataError(f"the file {path.name!r} cannot be read: {error.strerror}")
            else:
                problem = None
            if problem is not None:
                raise problem
        self._check_unchanged()
        return f"files:{digest.hexdigest()}"

    def _check_unchanged(self) -> None:
        for path, before in self._states.items():
            check_unchanged(path, before)

    def place(self, row: int) -> Place:
        """Return the line of a CSV file, counted from 1, or the row of any other file, counted from 0."""
        line = self._reading.line(row)
        name = self._reading.path.name if len(self.files) > 1 else None
        return Place(self._before + row, "row", name) if line is None else Place(line, "line", name)

    def _check_distinct(self) -> None:
        seen: dict[tuple[int, int], Path] = {}
        for path, state in self._states.items():
            other = seen.setdefault((state.st_dev, state.st_ino), path)
            if other is not path:
                raise DataError(
                    f"{other.name!r} and {path.name!r} are the same file; its rows would be included twice, which the "
                    "privacy unit does not allow; remove one of them"
                )

    def _check_schemas(self, names: list[str]) -> None:
        # check only once for all parts
        with self._checking:
            if self._checked != names:
                self._check_columns(names)
                self._checked = names

    def _check_columns(self, names: list[str]) -> None:
        first: dict[str, DataType] = {}
        for file in self.files:
            for name, kind in file.column_types(names).items():
                # if all cells of a column are missing, the file may not state a type
                if str(kind) != "null" and str(first.setdefault(name, kind)) != str(kind):
                    raise DataError(
                        f"column {name!r} has type {kind} in {file.path.name!r} and type {first[name]} in an "
                        "earlier file; write all files with the same schema"
                    )


def check_reading(reading: ReadOptions, what: str) -> None:
    """Reject CSV options for a source that is not a CSV file."""
    for name, value in reading.given().items():
        raise SpecError(f"{name} = {value!r} is allowed only for CSV files, not for {what}; leave {name} out")


def found_files(name: str) -> list[Path]:
    """List the files that a path, folder or pattern names."""
    if not name:
        raise SpecError(f"expected {ACCEPTED}, got {name!r}")
    if _REMOTE.match(name):
        raise SpecError(f"expected a local path, got {name!r}; copy remote files to this machine first")
    path = Path(name)
    if os.path.isdir(name):
        return _folder_files(path)
    if os.path.lexists(path) or not any(sign in name for sign in "*?["):
        return [path]
    matched = sorted(map(Path, glob.glob(name, recursive=True)))
    if not matched:
        raise SpecError(f"the pattern {name!r} matches no file")
    return matched


def _folder_files(folder: Path) -> list[Path]:
    if (folder / "_delta_log").exists():
        raise SpecError(
            f"{folder.name!r} is a Delta table, whose files may contain deleted rows; export the table to Parquet"
        )
    paths = [path for path in sorted(folder.rglob("*")) if not _is_hidden(path.relative_to(folder))]
    files = [path for path in paths if path.suffix.lower() == ".parquet" and not path.is_dir()]
    texts = [path for path in paths if _KINDS.get(text_suffix(path)) == _TEXT and not path.is_dir()]
    if files and texts:
        raise SpecError(
            f"the folder {str(folder)!r} contains both Parquet files and CSV files such as {texts[0].name!r}; select "
            "the files of the table by a pattern, such as '*.parquet' or '*.csv' in that folder"
        )
    if not files:
        raise SpecError(f"the folder {str(folder)!r} contains no .parquet file; select other files by a pattern")
    return files


def _is_hidden(path: Path) -> bool:
    """Return whether a path contains the name of a temporary or metadata file or folder."""
    return any(part.startswith(("_", ".")) for part in path.parts)


def _kind(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix in _SHEETS:
        raise SpecError(
            f"spreadsheets such as {path.name!r} are not supported, because readers infer the type of a column from "
            "cells, so that one cell could change how others are read; save the sheet as CSV (UTF-8)"
        )
    kind = _KINDS.get(text_suffix(path) if is_text(path) else suffix)
    if kind is None:
        packed = "; decompress the file first" if suffix in _COMPRESSED else ""
        raise SpecError(
            f"the file name {path.name!r} must end in one of {', '.join(_KINDS)}{packed}. Expected {ACCEPTED}"
        )
    return kind


def is_text(path: Path) -> bool:
    """Return whether a file name is the name of a CSV file, compressed or not."""
    return _KINDS.get(text_suffix(path)) == _TEXT


def _table_file(path: Path, reading: ReadOptions) -> TableFile:
    kind = _kind(path)
    head, tail = _ends(path)
    if not head:
        content = "a header line and rows" if kind == _TEXT else "columns and rows"
        raise DataError(f"the file {path.name!r} is empty; expected {content}")
    if kind == _TEXT:
        if path.suffix.lower() in PACKED:
            head, tail = _unpacked_head(path, head), b""
        _check_is_text(path, head, tail, reading)
        from discreet.tables.csv import CsvFile

        return CsvFile(path, reading)
    if kind in ("Stata", "SPSS", "SAS"):
        from discreet.tables.file_formats import StatisticalFile

        return StatisticalFile(path)
    if kind == "Parquet":
        if b"PARE" in (head[:4], tail[-4:]):
            raise DataError(f"the file {path.name!r} is encrypted; write the file without encryption")
        _check_marks(path, kind, begins=head.startswith(b"PAR1"), ends=tail.endswith(b"PAR1"))
        return ParquetFile(path)
    if head.startswith(b"FEA1"):
        raise DataError(
            f"the file {path.name!r} is in Feather version 1, which is not supported; save it as Arrow or Parquet"
        )
    in_stream = head.startswith(b"\xff\xff\xff\xff")
    begins = in_stream or head.startswith(IPC_MAGIC)
    _check_marks(path, kind, begins=begins, ends=in_stream or tail.endswith(IPC_MAGIC))
    return IpcFile(path)


def _check_marks(path: Path, kind: str, *, begins: bool, ends: bool) -> None:
    if not begins:
        raise DataError(
            f"the file {path.name!r} is not in the {kind} format; give the file the extension that matches its content"
        )
    if not ends:
        raise DataError(f"the file {path.name!r} is truncated; write or copy the file again")


def _check_is_text(path: Path, head: bytes, tail: bytes, reading: ReadOptions) -> None:
    if head.startswith(_BINARY_HEADS) or (head[:4] == tail[-4:] and head.startswith(_BINARY_ENDS)):
        raise DataError(f"the file {path.name!r} is not CSV text; give the file the extension that matches its content")
    problem = wrong_mark(head, reading.charset)
    if problem is not None:
        raise DataError(Message(f"the file {path.name!r} ", problem), code="wrong-encoding", option="encoding")


def _unpacked_head(path: Path, head: bytes) -> bytes:
    """Return the first bytes of the decompressed text."""
    suffix = path.suffix.lower()
    if not head.startswith(CODECS[suffix][0]):
        raise DataError(
            f"the file {path.name!r} is not compressed as its extension says; give the file the extension that matches "
            "its content"
        )
    with TextBytes(path) as raw:
        if first := raw.read(8):
            return first
    raise DataError(f"the file {path.name!r} is empty after decompression; expected a header line and rows")


def _ends(path: Path) -> tuple[bytes, bytes]:
    """Read the first and the last eight bytes."""
    try:
        with path.open("rb") as file:
            head = file.read(8)
            file.seek(-len(head), os.SEEK_END)
            return head, file.read(8)
    except OSError as error:
        problem = DataError(f"the file {path.name!r} cannot be opened: {error.strerror}")
    raise problem
