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
from discreet.tables.csv_format import DEFAULT_READING, ReadOptions, TextBytes, checked_reading
from discreet.tables.database import DatabaseSource, DatabaseTable
from discreet.tables.file_formats import ArrowFile, StatisticalFile
from discreet.tables.opening import FileSource, found_files, is_text, open_source
from discreet.text import escape_control
from discreet.wording import Message, SetOption

if TYPE_CHECKING:
    from pyarrow import DataType

# -- header ------------------------------------------------------------------------------------------------------------
# Names and types of the columns of a file, from its header line or schema, without reading rows.
#
# A header line is read byte by byte, so that no later row enters memory. Only the last eight bytes of a file are
# compared with the signatures of known formats, as before every read. A compressed file is unpacked in blocks, of
# which only the header line is used.

# numbers, dates, times and amounts: a first line that contains one is a row
_LIKE_A_VALUE: Final = re.compile(r"[-+.$€£¥]*[0-9][-+0-9.,:/ TZeE%$€£¥]*")


def column_names_and_types(path: str | Path, reading: ReadOptions = DEFAULT_READING) -> list[tuple[str, str | None]]:
    """Return the columns of a file in order, each with `number`, `boolean`, `text` or the name of another Arrow type.

    A type is None if the file does not state it, as in CSV or in a column written without any value. For a folder or a
    pattern, the first file is read.

    Raises
    ------
    SpecError
        If the path names nothing readable.
    DataError
        If the file does not have the format of its name, or its first line is not a header.
    """
    source = FileSource(found_files(str(path)), reading)
    file = source.files[0]
    if isinstance(file, ArrowFile):
        return _schema_columns(file)
    if isinstance(file, StatisticalFile):
        return [(name, _kind(kind)) for name, kind in file.all_types().items()]
    return [(name, None) for name in _header_names(file.path, source.reading)]


def database_columns(table: DatabaseTable, reading: ReadOptions = DEFAULT_READING) -> list[tuple[str, str | None]]:
    """Return the columns of a database table as `column_names_and_types` does; refuse CSV options."""
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
        # the values of the dictionary are data; only its type is used
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
            f"the header line of {path.name!r} has a quote that is not closed or a cell that is too long for a name"
        )
    _check_are_names(path, names, reading.delimiter or ",")
    return names


def split_names(line: str, delimiter: str) -> list[str] | None:
    """Split a header line into cells; return None if its quotes are wrong.

    >>> split_names('a;"b;c"', ";"), split_names('"a', ";")
    (['a', 'b;c'], None)
    """
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True))
    except csv.Error:
        return None


def _check_are_names(path: Path, names: list[str], delimiter: str) -> None:
    """Refuse a possible row of data: its cells must not appear in a design or in a message."""
    if any("\0" in name for name in names):
        raise DataError(
            f"the header of {path.name!r} has a NUL byte",
            code="wrong-encoding",
            option="encoding",
            remedy=Message("if the file is UTF-16, ", SetOption("encoding", "utf-16")),
        )
    if len(names) == 1:
        raise DataError(
            f"the header of {path.name!r} is one cell when split at {delimiter!r}",
            code="wrong-delimiter",
            option="delimiter",
            remedy=SetOption("delimiter"),
        )
    if any(_LIKE_A_VALUE.fullmatch(name.strip()) for name in names):
        raise DataError(
            f"the first line of {path.name!r} has a number or a date instead of a column name; if it is a row, "
            "add a line of names above it, and if these are names, write the design by hand"
        )


def first_line(path: Path, reading: ReadOptions) -> str:
    """Return the first line that is not blank, without a byte order mark.

    If quoted cells may contain line breaks, it is the first record.
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
        raise DataError(f"the file {path.name!r} has no header line; its first line must name the columns")
    return "".join(line)


def _signs(path: Path, encoding: str) -> Iterator[str]:
    """Yield the characters of a text one at a time, without reading ahead."""
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        with TextBytes(path, buffering=0) as raw:
            for _ in range(BLOCK_BYTES):
                byte = raw.read(1)
                # the end of the file, where no character may be incomplete
                yield from decoder.decode(byte, final=not byte)
                if not byte:
                    return
        problem = DataError(f"the header of {path.name!r} does not end within {BLOCK_BYTES} bytes; check its line ends")
    except UnicodeError:
        # also covers codecs whose messages quote the bytes
        problem = DataError(
            f"the header of {path.name!r} is not valid {encoding}",
            code="wrong-encoding",
            option="encoding",
            remedy=SetOption("encoding"),
        )
    raise problem


# -- proposals ---------------------------------------------------------------------------------------------------------
# Encoding and delimiter suggested by a header line, for a person to confirm; no later byte is read.

_DELIMITERS: Final = (",", ";", "\t", "|")
# cp1252 is the most common encoding besides UTF-8; latin-1 has a character for every byte
_ENCODINGS: Final = ("utf-8", "cp1252", "latin-1")
_UTF16_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def proposed(path: Path, given: ReadOptions) -> ReadOptions:
    """Return the options with a proposal for the encoding and the delimiter if they are omitted.

    The encoding is UTF-16 if the file begins with its byte order mark, otherwise the first of UTF-8, cp1252 and latin-1
    that decodes the header line. The delimiter is the one of comma, semicolon, tab and bar that splits the line into
    the most cells. The option stays omitted if the proposal is the default.
    """
    if given.encoding is None and (encoding := _encoding(path, given)) != _ENCODINGS[0]:
        given = replace(given, encoding=encoding)
    if given.delimiter is not None:
        return given
    line = first_line(path, given)
    usual = DEFAULT_READING.for_file(path).delimiter or ","
    cells = {sign: len(split_names(line, sign) or ()) for sign in (usual, *_DELIMITERS)}
    best = max(cells, key=lambda sign: cells[sign])
    # if no delimiter splits the line, report its problem with the default delimiter
    return given if best == usual or cells[best] < 2 else replace(given, delimiter=best)


def _encoding(path: Path, given: ReadOptions) -> str:
    with TextBytes(path, buffering=0) as raw:
        if raw.read(2) in _UTF16_MARKS:
            return "utf-16"
    for name in _ENCODINGS[:-1]:
        # other problems of the line are reported when it is read
        with suppress(DataError):
            first_line(path, replace(given, encoding=name))
            return name
    return _ENCODINGS[-1]


# -- blank design ------------------------------------------------------------------------------------------------------
# An incomplete design: every column of a file by name, every bound blank.

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
    """A design with blanks, to be filled in from public knowledge before a release.

    Attributes
    ----------
    text
        TOML text that `Design.load` refuses until every blank is filled in.
    listed
        Names of the columns in the design.
    left_out
        Name of every other column and why no design can declare it; a name may occur twice.
    reading
        Format of the file, as options of `discreet.release`; omitted options are proposed from the header line.
    kinds
        Type of each listed column in the file, `number`, `boolean`, `text` or `date`; None if the file does not state
        it, as in CSV.
    """

    text: str
    listed: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]
    reading: ReadOptions = DEFAULT_READING
    kinds: tuple[str | None, ...] = ()

    @property
    def blanks(self) -> tuple[DesignProblem, ...]:
        """Blanks that are still to be filled in, each with its line, as reported by `Design.load`."""
        try:
            Design.from_toml(self.text)
        except DesignError as error:
            return error.problems
        return ()

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the text to a `.toml` file; an existing file is replaced only with `force`."""
        check_suffix(path, SUFFIX, example="design.toml")
        write_bytes(path, self.text.encode(), force=force)


def blank_design(
    path: str | Path | DatabaseTable,
    *,
    target: str | None = None,
    columns: Sequence[str] | None = None,
    id: str | None = None,  # noqa: A002  # the word that a design has for it
    reading: ReadOptions | None = None,
) -> BlankDesign:
    r"""Begin a design from the column names of a file, and their types if the file states them.

    Only the header line or the schema is read: no value and no statistic of any row.

    Parameters
    ----------
    path
        A CSV, Parquet, Arrow, Stata, SPSS or SAS file, a folder or pattern of them, of which the first file is read, or
        a `DatabaseTable`.
    target
        Column to explain; blank by default.
    columns
        Columns to declare besides the target; by default every column of the file.
    id
        Column that identifies a person who may have several rows; it is never released.
    reading
        Format of a CSV file. If the encoding or the delimiter is omitted, it is proposed from the header line, and
        `BlankDesign.reading` contains the proposal.

    Returns
    -------
    BlankDesign
        The text of a `design.toml` with blanks, and the columns that were left out.

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
    # A check counts such cells, and the rows that fit, before anything is spent.
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
    """Lay out a design for columns with known names and, if available, types.

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
        f"{'names and types' if typed else 'names'} only, no value was read.\n"
        "# Fill in every blank from public knowledge, never from the data; delete columns you do not release.\n"
        '# A missing cell is an error unless its column says missing = "drop" or missing = {fill = VALUE}.\n'
        "# A check counts such cells, and the rows that fit, before anything is spent.\n",
        f"target = {quoted(str(target or ''))}  # name of the column to explain\n",
        *(_table(name, kind, reasons[name]) for name, kind in shown_columns),
        _UNIT if person is None else _KNOWN_UNIT.format(id=quoted(str(person))),
    ]
    listed = tuple(name for name, _ in shown_columns if reasons[name] is None)
    left_out = tuple((name, reason) for name, _ in shown_columns if (reason := reasons[name]) is not None)
    return BlankDesign("\n".join(parts), listed, left_out, reading, tuple(kinds[name] for name in listed))


def quoted(text: str) -> str:
    r"""Quote a TOML string and escape characters that an editor would hide or interpret.

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
    """Return why no design can declare a column; None if a design can."""
    if times > 1:
        return "the table has more than one column of this name; rename them"
    try:
        # the design checks the name; the second column is there because a design needs two
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
    """Check each requested column; return None if all columns are requested."""
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
