"""A design that still has to be filled in: every column of a file by name, every bound blank."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from discreet.design.model import Design
from discreet.design.problems import Problems
from discreet.errors import DataError, DesignError, DesignProblem, SpecError, shown
from discreet.files import check_suffix, path_text, regular_state, write_bytes
from discreet.tables.files.database import DatabaseTable
from discreet.tables.files.header import column_names_and_types, database_columns
from discreet.tables.files.opening import found_files, is_text
from discreet.tables.files.proposals import proposed
from discreet.tables.files.reading import DEFAULT_READING, ReadOptions
from discreet.text import escape_control

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
