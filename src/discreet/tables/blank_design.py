"""Incomplete designs for a file, written from its header or schema."""

from __future__ import annotations

import codecs
import csv
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import pyarrow as pa

from discreet.design.dates import Problems
from discreet.design.design import Design
from discreet.errors import DataError, DesignError, DesignProblem, SpecError, shown
from discreet.files import check_suffix, path_text, regular_state, write_bytes
from discreet.tables.csv import BLOCK_BYTES
from discreet.tables.csv_format import DEFAULT_READING, ReadOptions, TextBytes, checked_reading
from discreet.tables.database import DatabaseSource, DatabaseTable
from discreet.tables.file_formats import ArrowFile, StatisticalFile
from discreet.tables.file_source import FileSource, found_files, is_text
from discreet.tables.opening import open_source
from discreet.text import escape_control
from discreet.wording import Message, SetOption

if TYPE_CHECKING:
    from pyarrow import DataType

# -- header ------------------------------------------------------------------------------------------------------------
# Column names and types come from the header line or the schema. No row is read.
#
# A header line is read byte by byte, so that no later row enters memory. As before every read, the last eight bytes of
# a file are compared with the signatures of known formats. A compressed file must be decompressed in blocks, but only
# its header line is used.

# numbers, dates, times and amounts of money: a first line that contains one of them may be a row of data
_LIKE_A_VALUE: Final = re.compile(r"[-+.$€£¥]*[0-9][-+0-9.,:/ TZeE%$€£¥]*")


def column_names_and_types(path: str | Path, reading: ReadOptions = DEFAULT_READING) -> list[tuple[str, str | None]]:
    """Return the columns of a file with their types: `number`, `boolean`, `text`, `date` or the name of an Arrow type.

    The type is None if the file does not state it, as in CSV. For a folder or a pattern, the first file is read.
    """
    source = FileSource(found_files(str(path)), reading)
    file = source.files[0]
    if isinstance(file, ArrowFile):
        return _schema_columns(file)
    if isinstance(file, StatisticalFile):
        return [(name, _kind(kind)) for name, kind in file.all_types().items()]
    return [(name, None) for name in _header_names(file.path, source.reading)]


def database_columns(table: DatabaseTable, reading: ReadOptions = DEFAULT_READING) -> list[tuple[str, str | None]]:
    """Return the columns of a database table in the form of `column_names_and_types`. Reject CSV options."""
    source = cast("DatabaseSource", open_source(table, reading=reading))
    return [(field.name, _kind(field.type)) for field in source.schema]


def _schema_columns(file: ArrowFile) -> list[tuple[str, str | None]]:
    schema = file._schema()
    try:
        columns = [(name, _kind(schema.field(index).type)) for index, name in enumerate(schema.names)]
    except UnicodeDecodeError:
        problem = DataError(
            f"the file {file.path.name!r} has a column name that is not UTF-8; write the file again with UTF-8 names"
        )
    else:
        if columns:
            return columns
        problem = DataError(f"the file {file.path.name!r} has no columns")
    raise problem


def _kind(stored: DataType) -> str | None:
    if pa.types.is_dictionary(stored):
        # only the type of the dictionary is used, because its values are data
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
    # the names inside a nested type are not needed
    return str(stored).partition("<")[0]


def _header_names(path: Path, reading: ReadOptions) -> list[str]:
    names = split_names(first_line(path, reading), reading.delimiter or ",")
    if names is None:
        raise DataError(
            f"the header line of {path.name!r} has an unclosed quote, or a cell that is too long to be a column name"
        )
    _check_are_names(path, names, reading.delimiter or ",")
    return names


def split_names(line: str, delimiter: str) -> list[str] | None:
    """Split a header line into cells. Return None if its quotes are wrong."""
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True))
    except csv.Error:
        return None


def _check_are_names(path: Path, names: list[str], delimiter: str) -> None:
    """Reject a first line that may be a row of data, because its cells must not appear in a design or a message."""
    if any("\0" in name for name in names):
        raise DataError(
            f"the header of {path.name!r} contains a NUL byte",
            code="wrong-encoding",
            option="encoding",
            remedy=Message("if the file is UTF-16, ", SetOption("encoding", "utf-16")),
        )
    if len(names) == 1:
        raise DataError(
            f"the header of {path.name!r} has only one cell with the delimiter {delimiter!r}",
            code="wrong-delimiter",
            option="delimiter",
            remedy=SetOption("delimiter"),
        )
    if any(_LIKE_A_VALUE.fullmatch(name.strip()) for name in names):
        raise DataError(
            f"the first line of {path.name!r} must contain column names, but contains a number or a date; if it is a "
            "row of data, add a line of column names above it; if it is the header, write the design by hand"
        )


def first_line(path: Path, reading: ReadOptions) -> str:
    """Return the first nonblank line, without a byte order mark.

    If quoted cells may contain line breaks, return the first record.
    """
    line: list[str] = []
    inside = False
    for sign in _signs(path, reading.charset):
        inside ^= sign == '"' and reading.quoted_line_breaks
        if sign in "\r\n" and not inside:
            if line:
                break
        elif line or sign != "\ufeff":
            line.append(sign)
    if not line:
        raise DataError(f"the file {path.name!r} must have a header line with the column names, but is blank")
    return "".join(line)


def _signs(path: Path, encoding: str) -> Iterator[str]:
    """Yield the characters of a text one at a time, without reading ahead."""
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        with TextBytes(path, buffering=0) as raw:
            for _ in range(BLOCK_BYTES):
                byte = raw.read(1)
                # an empty read is the end of the file, where an incomplete character is an error
                yield from decoder.decode(byte, final=not byte)
                if not byte:
                    return
        problem = DataError(
            f"the header of {path.name!r} does not end within {BLOCK_BYTES} bytes; check the line ends of the file"
        )
    except UnicodeError:
        # a fixed message, because some codecs quote the bytes
        problem = DataError(
            f"the header of {path.name!r} is not valid {encoding}",
            code="wrong-encoding",
            option="encoding",
            remedy=SetOption("encoding"),
        )
    raise problem


# -- proposals ---------------------------------------------------------------------------------------------------------
# The encoding and the delimiter are proposed from the header line, for a person to confirm. No later byte is read.

_DELIMITERS: Final = (",", ";", "\t", "|")
# cp1252 is the most common encoding besides UTF-8; latin-1 has a character for every byte
_ENCODINGS: Final = ("utf-8", "cp1252", "latin-1")
_UTF16_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def proposed(path: Path, reading: ReadOptions) -> ReadOptions:
    """Fill in a proposed encoding and delimiter, unless they are set or the proposal is the default.

    The proposed encoding is UTF-16 if the file begins with a UTF-16 byte order mark, and otherwise the first of UTF-8,
    cp1252 and latin-1 that decodes the header line. The proposed delimiter is the comma, semicolon, tab or bar that
    splits the line into the most cells.
    """
    if reading.encoding is None and (encoding := _encoding(path, reading)) != _ENCODINGS[0]:
        reading = replace(reading, encoding=encoding)
    if reading.delimiter is not None:
        return reading
    line = first_line(path, reading)
    usual = DEFAULT_READING.for_file(path).delimiter or ","
    cells = {sign: len(split_names(line, sign) or ()) for sign in (usual, *_DELIMITERS)}
    best = max(cells, key=lambda sign: cells[sign])
    # if no delimiter splits the line, keep the default and let the reader report the problem
    return reading if best == usual or cells[best] < 2 else replace(reading, delimiter=best)


def _encoding(path: Path, reading: ReadOptions) -> str:
    with TextBytes(path, buffering=0) as raw:
        if raw.read(2) in _UTF16_MARKS:
            return "utf-16"
    for name in _ENCODINGS[:-1]:
        # other problems of the line are reported when it is read
        with suppress(DataError):
            first_line(path, replace(reading, encoding=name))
            return name
    return _ENCODINGS[-1]


# -- blank design ------------------------------------------------------------------------------------------------------
SUFFIX: Final = ".toml"

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_BLANKS: Final = {
    None: (
        'bounds = ["", ""]  # lowest and highest value that can occur; dates like 2019-01-31, without quotes',
        "# levels = []      # instead, for a category: every value that can occur",
        '# dtype = "bool"   # instead, for true/false or 1/0; declare any other two words as levels',
    ),
    "boolean": ('dtype = "bool"',),
    "text": ("levels = []  # every value that can occur",),
    "date": ('bounds = ["", ""]  # first and last date that can occur, such as 2019-01-31 without quotes',),
}
_UNIT: Final = """\
# If a person can have several rows, name the column that identifies the person (and delete this column above), and set
# the largest number of rows that a release uses for each person.
# [unit]
# id = ""
# max_rows = 1
"""
_KNOWN_UNIT: Final = """\
[unit]
id = {id}
max_rows = ""  # the largest number of rows that a release uses for each person
"""


@dataclass(frozen=True, slots=True)
class BlankDesign:
    """An incomplete design, to be filled in from public knowledge before a release.

    Attributes
    ----------
    text
        TOML text that `Design.load` rejects until every blank is filled in.
    listed
        Names of the columns in the design.
    left_out
        Name of every other column, with the reason why no design can declare it. A name may occur twice.
    reading
        Format of the file, as options of `discreet.release`. Omitted options are proposed from the header line.
    kinds
        Type of each listed column: `number`, `boolean`, `text`, `date`, or None if the file states no type, as in CSV.
    """

    text: str
    listed: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]
    reading: ReadOptions = DEFAULT_READING
    kinds: tuple[str | None, ...] = ()

    @property
    def blanks(self) -> tuple[DesignProblem, ...]:
        """The blanks that must still be filled in, each with its line, as reported by `Design.load`."""
        try:
            Design.from_toml(self.text)
        except DesignError as error:
            return error.problems
        return ()

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the text to a `.toml` file. Replace an existing file only with `force`."""
        check_suffix(path, SUFFIX, example="design.toml")
        write_bytes(path, self.text.encode(), force=force)


def blank_design(
    path: str | Path | DatabaseTable,
    *,
    target: str | None = None,
    columns: Sequence[str] | None = None,
    id: str | None = None,  # noqa: A002  # the same name as in a design
    reading: ReadOptions | None = None,
) -> BlankDesign:
    r"""Write an incomplete design from the column names of a file and, if the file states them, the column types.

    Only the header line or the schema is read. Values and statistics of rows are not read.

    Parameters
    ----------
    path
        A CSV, Parquet, Arrow, Stata, SPSS or SAS file, a folder or pattern that matches such files, or a
        `DatabaseTable`. If there are several files, the first one is read.
    target
        Name of the outcome column, left blank by default.
    columns
        Columns to declare in addition to the target, by default every column of the file.
    id
        Column that identifies a person who may have several rows. It is never released.
    reading
        Format of a CSV file. If the encoding or the delimiter is omitted, it is proposed from the header line, and
        `BlankDesign.reading` contains the proposal.

    Returns
    -------
    BlankDesign
        The text of a `design.toml` with blanks, and the columns that cannot be declared.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import discreet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "people.csv")
    ...     _ = file.write_text("age,income\n")
    ...     blank = discreet.blank_design(file, target="income")
    >>> blank.listed
    ('age', 'income')
    >>> print(blank.text.split("# If")[0].split("# A ", 1)[1], end="")
    missing cell is an error unless its column says missing = "drop" or missing = {fill = VALUE}.
    # To count such cells before any privacy budget is spent, check the table.
    <BLANKLINE>
    target = "income"  # name of the column to explain
    <BLANKLINE>
    [columns.age]
    bounds = ["", ""]  # lowest and highest value that can occur; dates like 2019-01-31, without quotes
    # levels = []      # instead, for a category: every value that can occur
    # dtype = "bool"   # instead, for true/false or 1/0; declare any other two words as levels
    <BLANKLINE>
    [columns.income]
    bounds = ["", ""]  # lowest and highest value that can occur; dates like 2019-01-31, without quotes
    # levels = []      # instead, for a category: every value that can occur
    # dtype = "bool"   # instead, for true/false or 1/0; declare any other two words as levels
    <BLANKLINE>
    """
    if not isinstance(path, str | os.PathLike | DatabaseTable):
        raise SpecError(f"blank_design: expected the path of a file, got {type(path).__name__}")
    written = checked_reading(reading)
    if isinstance(path, DatabaseTable):
        return design_with_blanks(str(path), database_columns(path, written), target, columns, id)
    file = path_text(path)
    first = found_files(file)[0]
    if is_text(first) and regular_state(first).st_size:
        written = proposed(first, written)
    names = column_names_and_types(file, written)
    return design_with_blanks(file, names, target, columns, id, reading=written)


def design_with_blanks(
    file: str,
    columns: Sequence[tuple[str, str | None]],
    target: object = None,
    wanted: object = None,
    person: object = None,
    *,
    reading: ReadOptions = DEFAULT_READING,
) -> BlankDesign:
    """Write an incomplete design for columns with known names and, if available, types.

    Problems with the target, the requested columns and the id are reported together.
    """
    times = Counter(name for name, _ in columns)
    reasons = {name: _why_not(name, kind, times[name]) for name, kind in columns}
    if all(reasons.values()):
        raise DataError(f"no column of {file!r} can be released: {next(iter(reasons.values()))}")
    kinds = dict(columns)
    problems = Problems()
    with problems.at(key="target"):
        _check_target(target, kinds, reasons)
    chosen = _chosen(problems, wanted, reasons)
    with problems.at(key="unit.id"):
        _check_person(person, kinds, [name for name in (target, *(chosen or ())) if isinstance(name, str)])
    problems.check()
    shown_columns = [
        (name, kind) for name, kind in columns if name != person and (chosen is None or name in (target, *chosen))
    ]
    typed = any(kind is not None for _, kind in columns)
    parts = [
        f"# Written by discreet from the {'schema' if typed else 'header'} of {escape_control(file)}: "
        f"{'names and types' if typed else 'names'} only. No values were read.\n"
        "# Fill in every blank from public knowledge, never from the data. Delete columns that you do not release.\n"
        '# A missing cell is an error unless its column says missing = "drop" or missing = {fill = VALUE}.\n'
        "# To count such cells before any privacy budget is spent, check the table.\n",
        f"target = {quoted(str(target or ''))}  # name of the column to explain\n",
        *(_table(name, kind, reasons[name]) for name, kind in shown_columns),
        _UNIT if person is None else _KNOWN_UNIT.format(id=quoted(str(person))),
    ]
    listed = tuple(name for name, _ in shown_columns if reasons[name] is None)
    left_out = tuple((name, reason) for name, _ in shown_columns if (reason := reasons[name]) is not None)
    return BlankDesign("\n".join(parts), listed, left_out, reading, tuple(kinds[name] for name in listed))


def quoted(text: str) -> str:
    """Quote a TOML string and escape characters that an editor would hide or interpret."""
    return f'"{"".join(_escaped(character) for character in text)}"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return character if character.isprintable() else f"\\U{ord(character):08X}"


def _table(name: str, kind: str | None, reason: str | None) -> str:
    key = name if _BARE.fullmatch(name) else quoted(name)
    if reason is not None:
        return f"# [columns.{key}]\n# left out: {escape_control(reason)}\n"
    return "\n".join([f"[columns.{key}]", *_BLANKS.get(kind, _BLANKS[None]), ""])


def _why_not(name: str, kind: str | None, times: int) -> str | None:
    """Return the reason why no design can declare a column, or None if a design can."""
    if times > 1:
        return "the table has more than one column with this name; rename them"
    try:
        # checks the name; a design must have at least two columns
        Design(name, {name: bool, f"{name}.": bool})
    except DesignError as error:
        return error.problems[0].message
    if kind in (None, "number", "boolean", "text", "date"):
        return None
    return f"the column must contain numbers, booleans, text or dates, but has type {kind}; convert the column"


def _check_target(target: object, kinds: Mapping[str, str | None], reasons: Mapping[str, str | None]) -> None:
    if target is None:
        return
    if not isinstance(target, str):
        raise SpecError(f"target: expected the name of a column, got {shown(target)}")
    if target not in kinds:
        raise SpecError.unknown_name("target", target, [name for name, reason in reasons.items() if reason is None])
    if reasons[target] is not None:
        raise SpecError(f"the target {shown(target)} cannot be released: {reasons[target]}")
    if kinds[target] == "text":
        raise SpecError(f"the target must be a numeric or boolean column, but {shown(target)} is text")


def _chosen(problems: Problems, wanted: object, reasons: Mapping[str, str | None]) -> tuple[str, ...] | None:
    """Check each requested column. Return None if all columns are requested."""
    if wanted is None:
        return None
    if isinstance(wanted, str) or not isinstance(wanted, Sequence):
        problems.add(f"columns: expected a list of names, got {shown(wanted)}", key="columns")
        return ()
    known = [name for name, reason in reasons.items() if reason is None]
    for name in wanted:
        with problems.at(key="columns"):
            if not isinstance(name, str) or name not in reasons:
                raise SpecError.unknown_name("column", name, known)
            if reasons[name] is not None:
                raise SpecError(f"the column {shown(name)} cannot be released: {reasons[name]}")
    return tuple(name for name in wanted if isinstance(name, str))


def _check_person(person: object, kinds: Mapping[str, str | None], released: Sequence[str]) -> None:
    if person is None:
        return
    if not isinstance(person, str):
        raise SpecError(f"id: expected the name of a column, got {shown(person)}")
    if person not in kinds:
        raise SpecError.unknown_name("id", person, kinds)
    if person in released:
        raise SpecError(f"the id {shown(person)} must not be the target or one of the columns: an id is never released")
    if kinds[person] not in (None, "number", "text"):
        raise SpecError(f"the id must be text or an integer, but {shown(person)} has type {kinds[person]}")
