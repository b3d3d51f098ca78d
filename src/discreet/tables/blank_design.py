"""Propose a blank design from the header of a file."""

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
from discreet.tables.csv_format import DEFAULT_READING, ReadOptions, TextBytes
from discreet.tables.database import DatabaseSource, DatabaseTable
from discreet.tables.file_formats import ArrowFile, StatisticalFile
from discreet.tables.opening import FileSource, found_files, is_text, open_source
from discreet.text import escape_control

if TYPE_CHECKING:
    from pyarrow import DataType

# -- header ------------------------------------------------------------------------------------------------------------
# Names and types of the columns of a file: its header line or its schema, and no row.
#
# A header line is read byte by byte, so that no row behind it is even in memory; only the last eight bytes of a file
# are compared with the marks of known formats, as before every read. A compressed file is unpacked in blocks, of which
# only the header line is looked at.

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


# -- proposals ---------------------------------------------------------------------------------------------------------
# Encoding and delimiter that a header line suggests, for a person to confirm; no byte behind it is looked at.

_DELIMITERS: Final = (",", ";", "\t", "|")
# cp1252 is what most programs write that do not write UTF-8; latin-1 has a character for every byte
_ENCODINGS: Final = ("utf-8", "cp1252", "latin-1")
_UTF16_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def proposed(path: Path, given: ReadOptions, *, encoding: bool, delimiter: bool) -> ReadOptions:
    """The given options, with a proposal for the encoding, the delimiter or both where asked for.

    The encoding: UTF-16 where the file begins with its mark, else the first of UTF-8, cp1252 and latin-1 in which the
    header line is text. The delimiter: the one of comma, semicolon, tab and bar that splits the line into the most
    cells, and none where that is what the name of the file says anyway.
    """
    if encoding:
        given = replace(given, encoding=_encoding(path, given))
    if not delimiter:
        return given
    line = first_line(path, given)
    usual = DEFAULT_READING.for_file(path).delimiter or ","
    cells = {sign: len(split_names(line, sign) or ()) for sign in (usual, *_DELIMITERS)}
    best = max(cells, key=lambda sign: cells[sign])
    # where the line is one cell however it is split, what is wrong with it is said by the usual delimiter
    return given if best == usual or cells[best] < 2 else replace(given, delimiter=best)


def _encoding(path: Path, given: ReadOptions) -> str:
    with TextBytes(path, buffering=0) as raw:
        if raw.read(2) in _UTF16_MARKS:
            return "utf-16"
    for name in _ENCODINGS[:-1]:
        # what else is wrong with the line is said where it is read
        with suppress(DataError):
            first_line(path, replace(given, encoding=name))
            return name
    return _ENCODINGS[-1]


# -- blank design ------------------------------------------------------------------------------------------------------
# A design that still has to be filled in: every column of a file by name, every bound blank.

SUFFIX: Final = ".toml"

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_BLANKS: Final = {
    None: (
        'bounds = ["", ""]  # lowest and highest value that can occur; dates like 2019-01-31, without quotes',
        "# levels = []      # instead, for a category: every value that can occur",
        '# dtype = "bool"   # instead, for true/false or 1/0; two other words are levels',
    ),
    "boolean": ('dtype = "bool"',),
    "text": ("levels = []  # every value that can occur",),
    "date": ('bounds = ["", ""]  # first and last date that can occur, such as 2019-01-31 without quotes',),
}
_UNIT: Final = """\
# If a person can have several rows: the column that identifies the person (delete it above) and how many rows count.
# [unit]
# id = ""
# max_rows = 1
"""
_KNOWN_UNIT: Final = """\
[unit]
id = {id}
max_rows = ""  # how many rows of a person count at most
"""


@dataclass(frozen=True, slots=True)
class BlankDesign:
    """A design with blanks, to be filled in from public knowledge before anything is released.

    Attributes
    ----------
    text
        What to write: TOML that `Design.load` refuses until every blank is filled in.
    listed
        Names of the columns that have a table of their own.
    left_out
        Name of every other column and why no design can declare it; a name may occur twice.
    reading
        How the file is written, with what the header line suggested where nothing was given; as options of
        `discreet.release`.
    kinds
        For each listed column what the file says it is, `number`, `boolean`, `text` or `date`; none where it says
        nothing, as a CSV file does.
    """

    text: str
    listed: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]
    reading: ReadOptions = DEFAULT_READING
    kinds: tuple[str | None, ...] = ()

    @property
    def blanks(self) -> tuple[DesignProblem, ...]:
        """Everything that is still to be filled in, each with its line: what `Design.load` would refuse."""
        try:
            Design.from_toml(self.text)
        except DesignError as error:
            return error.problems
        return ()

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the text to a `.toml` file; an existing file is left alone unless `force`."""
        check_suffix(path, SUFFIX, example="design.toml")
        write_bytes(path, self.text.encode(), force=force)


def blank_design(
    path: str | Path | DatabaseTable,
    *,
    target: str | None = None,
    columns: Sequence[str] | None = None,
    id: str | None = None,  # noqa: A002  # the word that a design has for it
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str = ".",
    thousands: str | None = None,
    quoted_line_breaks: bool = False,
) -> BlankDesign:
    r"""Begin a design from the column names of a file, and their types where the file states them.

    Only the header line or the schema is read: no value and no statistic of any row.

    Parameters
    ----------
    path
        A CSV, Parquet, Arrow, Stata, SPSS or SAS file, or a folder or pattern of them, of which the first file counts;
        or a `DatabaseTable`.
    target
        Column to explain; left blank unless named.
    columns
        Columns to declare besides the target; every column of the file unless given.
    id
        Column that names a person who may have several rows; it is never released.
    encoding, delimiter
        As for `discreet.release`. Where one is not given, the header line suggests it, and `BlankDesign.reading` says
        what was taken.
    decimal, thousands, quoted_line_breaks
        As for `discreet.release`.

    Returns
    -------
    BlankDesign
        The text of a `design.toml` with blanks, and what was left out of it.

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
    >>> print(blank.text.split("# If")[0].split("# A ")[1], end="")
    missing cell is an error unless its column says missing = "drop" or missing = {fill = VALUE}.
    # discreet check counts such cells, and the rows that fit, before anything is spent.
    <BLANKLINE>
    target = "income"  # name of the column to explain
    <BLANKLINE>
    [columns.age]
    bounds = ["", ""]  # lowest and highest value that can occur; dates like 2019-01-31, without quotes
    # levels = []      # instead, for a category: every value that can occur
    # dtype = "bool"   # instead, for true/false or 1/0; two other words are levels
    <BLANKLINE>
    [columns.income]
    bounds = ["", ""]  # lowest and highest value that can occur; dates like 2019-01-31, without quotes
    # levels = []      # instead, for a category: every value that can occur
    # dtype = "bool"   # instead, for true/false or 1/0; two other words are levels
    <BLANKLINE>
    """
    if not isinstance(path, str | os.PathLike | DatabaseTable):
        raise SpecError(f"blank_design needs the path of a file, got {type(path).__name__}")
    named = DEFAULT_READING.encoding if encoding is None else encoding
    reading = ReadOptions(named, delimiter, decimal, thousands, quoted_line_breaks)
    if isinstance(path, DatabaseTable):
        return design_with_blanks(str(path), database_columns(path, reading), target, columns, id)
    file = path_text(path)
    first = found_files(file)[0]
    if is_text(first) and (encoding is None or delimiter is None) and regular_state(first).st_size:
        reading = proposed(first, reading, encoding=encoding is None, delimiter=delimiter is None)
    found = column_names_and_types(file, reading)
    return design_with_blanks(file, found, target, columns, id, reading=reading)


def design_with_blanks(
    file: str,
    columns: Sequence[tuple[str, str | None]],
    target: object = None,
    wanted: object = None,
    person: object = None,
    *,
    reading: ReadOptions = DEFAULT_READING,
) -> BlankDesign:
    """Lay out a design for columns of which names, and types if the file has them, are known.

    What is wrong with the target, the wanted columns and the id is refused at once.
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
        f"# Written by discreet init from the {'schema' if typed else 'header'} of {escape_control(file)}: "
        f"{'names and types' if typed else 'names'} only, no value was read.\n"
        "# Fill in every blank from public knowledge, never from the data; delete columns you do not release.\n"
        '# A missing cell is an error unless its column says missing = "drop" or missing = {fill = VALUE}.\n'
        "# discreet check counts such cells, and the rows that fit, before anything is spent.\n",
        f"target = {quoted(str(target or ''))}  # name of the column to explain\n",
        *(_table(name, kind, reasons[name]) for name, kind in shown_columns),
        _UNIT if person is None else _KNOWN_UNIT.format(id=quoted(str(person))),
    ]
    listed = tuple(name for name, _ in shown_columns if reasons[name] is None)
    left_out = tuple((name, reason) for name, _ in shown_columns if (reason := reasons[name]) is not None)
    return BlankDesign("\n".join(parts), listed, left_out, reading, tuple(kinds[name] for name in listed))


def quoted(text: str) -> str:
    r"""A TOML string that shows every character: those that an editor would hide or obey become escapes.

    >>> print(quoted('say "hi"\u2028'))
    "say \"hi\"\U00002028"
    """
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
    """Say why no design can declare a column, if so."""
    if times > 1:
        return "the table has more than one column of this name; rename them"
    try:
        # the design itself is the judge of names; the second column is there because a design needs two
        Design(name, {name: bool, f"{name}.": bool})
    except DesignError as error:
        return error.problems[0].message
    if kind in (None, "number", "boolean", "text", "date"):
        return None
    return f"its type {kind} is neither numbers nor true and false nor text nor dates; convert it first"


def _check_target(target: object, kinds: Mapping[str, str | None], reasons: Mapping[str, str | None]) -> None:
    if target is None:
        return
    if not isinstance(target, str):
        raise SpecError(f"target is {shown(target)}; it is the name of a column")
    if target not in kinds:
        raise SpecError.unknown_name("target", target, [name for name, reason in reasons.items() if reason is None])
    if reasons[target] is not None:
        raise SpecError(f"the target {shown(target)} cannot be released: {reasons[target]}")
    if kinds[target] == "text":
        raise SpecError(f"the target {shown(target)} is text; a target is numeric or boolean")


def _chosen(problems: Problems, wanted: object, reasons: Mapping[str, str | None]) -> tuple[str, ...] | None:
    """The columns that were asked for, each judged by itself; none where every column is wanted."""
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
        raise SpecError(f"id is {shown(person)}; it is the name of a column")
    if person not in kinds:
        raise SpecError.unknown_name("id", person, kinds)
    if person in released:
        raise SpecError(f"the id {shown(person)} is named as a column to release too; an id is never released")
    if kinds[person] not in (None, "number", "text"):
        raise SpecError(f"the id {shown(person)} has type {kinds[person]}; an id is text or an integer")
