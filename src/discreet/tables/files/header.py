"""Names and types of the columns of a file: its header line or its schema, and no row.

A header line is read byte by byte, so that no row behind it is even in memory; only the last eight bytes of a file are
compared with the marks of known formats, as before every read. A compressed file is unpacked in blocks, of which only
the header line is looked at.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import pyarrow as pa

from discreet.errors import DataError
from discreet.tables.files.arrow import ArrowFile
from discreet.tables.files.csv import BLOCK_BYTES
from discreet.tables.files.database import DatabaseSource, DatabaseTable
from discreet.tables.files.opening import FileSource, found_files, open_source
from discreet.tables.files.packed import TextBytes
from discreet.tables.files.reading import DEFAULT_READING, ReadOptions
from discreet.tables.files.statistical import StatisticalFile

if TYPE_CHECKING:
    from pyarrow import DataType

# numbers, dates, times and amounts: a first line that holds one is a row
_LIKE_A_VALUE: Final = re.compile(r"[-+.$€£¥]*[0-9][-+0-9.,:/ TZeE%$€£¥]*")


def column_names_and_types(path: str | Path, reading: ReadOptions = DEFAULT_READING) -> list[tuple[str, str | None]]:
    """Columns of a file in their order, each with `number`, `boolean`, `text` or the name of another Arrow type.

    A type is none where the file does not give it: in CSV, and in a column that was written without any value. Of a
    folder or a pattern the first file counts.

    Raises
    ------
    SpecError
        If nothing readable is named.
    DataError
        If the file is not what its name says, or its first line is not a line of names.
    """
    source = FileSource(found_files(str(path)), reading)
    file = source.files[0]
    if isinstance(file, ArrowFile):
        return _schema_columns(file)
    if isinstance(file, StatisticalFile):
        return [(name, _kind(kind)) for name, kind in file.all_types().items()]
    return [(name, None) for name in _header_names(file.path, source.reading)]


def database_columns(table: DatabaseTable, reading: ReadOptions = DEFAULT_READING) -> list[tuple[str, str | None]]:
    """Columns of a table of a database, as `column_names_and_types` gives them; options of CSV files are refused."""
    source = cast("DatabaseSource", open_source(table, reading=reading))
    return [(field.name, _kind(field.type)) for field in source.schema]


def _schema_columns(file: ArrowFile) -> list[tuple[str, str | None]]:
    schema = file._schema()
    try:
        columns = [(name, _kind(schema.field(index).type)) for index, name in enumerate(schema.names)]
    except UnicodeDecodeError:
        problem = DataError(f"the file {file.path.name!r} has a column name that is not UTF-8; write it again")
    else:
        if columns:
            return columns
        problem = DataError(f"the file {file.path.name!r} has no columns")
    raise problem


def _kind(stored: DataType) -> str | None:
    if pa.types.is_dictionary(stored):
        # what the dictionary holds is data; only its type is looked at
        stored = stored.value_type
    if pa.types.is_null(stored):
        return None
    if pa.types.is_boolean(stored):
        return "boolean"
    if pa.types.is_integer(stored) or pa.types.is_floating(stored) or pa.types.is_decimal(stored):
        return "number"
    if pa.types.is_string(stored) or pa.types.is_large_string(stored) or pa.types.is_string_view(stored):
        return "text"
    if pa.types.is_date(stored) or (pa.types.is_timestamp(stored) and stored.tz is None):
        return "date"
    # the names inside a nested type are of no use here
    return str(stored).partition("<")[0]


def _header_names(path: Path, reading: ReadOptions) -> list[str]:
    names = split_names(first_line(path, reading), reading.delimiter or ",")
    if names is None:
        raise DataError(
            f"the header line of {path.name!r} has a quote that is not closed or a cell that is too long for a name"
        )
    _check_are_names(path, names, reading.delimiter or ",")
    return names


def split_names(line: str, delimiter: str) -> list[str] | None:
    """The cells of a header line; none where its quotes are wrong.

    >>> split_names('a;"b;c"', ";"), split_names('"a', ";")
    (['a', 'b;c'], None)
    """
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True))
    except csv.Error:
        return None


def _check_are_names(path: Path, names: list[str], delimiter: str) -> None:
    """Refuse what may be a row: its cells must not get into a design, nor into a message."""
    if any("\0" in name for name in names):
        raise DataError(f"the header of {path.name!r} has a NUL byte; if the file is UTF-16, pass --encoding utf-16")
    if len(names) == 1:
        raise DataError(
            f"the header of {path.name!r} is one cell when split at {delimiter!r}; give the delimiter with --delimiter"
        )
    if any(_LIKE_A_VALUE.fullmatch(name.strip()) for name in names):
        raise DataError(
            f"the first line of {path.name!r} has a number or a date instead of a column name; if it is a row, "
            "add a line of names above it, and if these are names, write the design by hand"
        )


def first_line(path: Path, reading: ReadOptions) -> str:
    """The first line that is not blank, without the mark that some writers put before it.

    Where quoted cells may hold line breaks, it is the first record.
    """
    line: list[str] = []
    inside = False
    for sign in _signs(path, reading.encoding):
        inside ^= sign == '"' and reading.quoted_line_breaks
        if sign in "\r\n" and not inside:
            if line:
                break
        elif line or sign != "\ufeff":
            line.append(sign)
    if not line:
        raise DataError(f"the file {path.name!r} has no header line; its first line must name the columns")
    return "".join(line)


def _signs(path: Path, encoding: str) -> Iterator[str]:
    """Yield the characters of a text, none read before it is needed."""
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        with TextBytes(path, buffering=0) as raw:
            for _ in range(BLOCK_BYTES):
                byte = raw.read(1)
                # no byte is left: the end of the file, where no character may be left half decoded
                yield from decoder.decode(byte, final=not byte)
                if not byte:
                    return
        problem = DataError(f"the header of {path.name!r} does not end within {BLOCK_BYTES} bytes; check its line ends")
    except UnicodeError:
        # also sums up codecs whose own message quotes the bytes
        problem = DataError(f"the header of {path.name!r} is not valid {encoding}; give its encoding with --encoding")
    raise problem
