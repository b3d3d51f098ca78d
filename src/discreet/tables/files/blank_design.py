"""A design that still has to be filled in: every column of a file by name, every bound blank."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from discreet.design.model import Design
from discreet.errors import DataError, DesignError, SpecError, shown
from discreet.files import check_suffix, path_text, write_bytes
from discreet.tables.files.header import column_names_and_types
from discreet.tables.files.opening import ReadOptions
from discreet.text import escape_control

SUFFIX: Final = ".toml"

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_BLANKS: Final = {
    None: (
        'bounds = ["", ""]  # lowest and highest value that can occur',
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
    """

    text: str
    listed: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the text to a `.toml` file; an existing file is left alone unless `force`."""
        check_suffix(path, SUFFIX, example="design.toml")
        write_bytes(path, self.text.encode(), force=force)


def blank_design(
    path: str | Path, *, target: str | None = None, encoding: str = "utf-8", delimiter: str = ","
) -> BlankDesign:
    r"""Begin a design from the column names of a file, and their types where the file states them.

    Only the header line or the schema is read: no value and no statistic of any row.

    Parameters
    ----------
    path
        A CSV, Parquet or Arrow file, or a folder or pattern of them, of which the first file counts.
    target
        Column to explain; left blank unless named.
    encoding, delimiter
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
    bounds = ["", ""]  # lowest and highest value that can occur
    # levels = []      # instead, for a category: every value that can occur
    # dtype = "bool"   # instead, for true/false or 1/0; two other words are levels
    <BLANKLINE>
    [columns.income]
    bounds = ["", ""]  # lowest and highest value that can occur
    # levels = []      # instead, for a category: every value that can occur
    # dtype = "bool"   # instead, for true/false or 1/0; two other words are levels
    <BLANKLINE>
    """
    if not isinstance(path, str | os.PathLike):
        raise SpecError(f"blank_design needs the path of a file, got {type(path).__name__}")
    file = path_text(path)
    return design_with_blanks(file, column_names_and_types(file, ReadOptions(encoding, delimiter)), target)


def design_with_blanks(file: str, columns: Sequence[tuple[str, str | None]], target: str | None = None) -> BlankDesign:
    """Lay out a design for columns of which names, and types if the file has them, are known."""
    times = Counter(name for name, _ in columns)
    reasons = [_why_not(name, kind, times[name]) for name, kind in columns]
    listed = {name: kind for (name, kind), reason in zip(columns, reasons, strict=True) if reason is None}
    left_out = [(name, reason) for (name, _), reason in zip(columns, reasons, strict=True) if reason is not None]
    if not listed:
        raise DataError(f"no column of {file!r} can be released: {left_out[0][1]}")
    if target is not None:
        _check_target(target, listed, left_out)
    typed = any(kind is not None for _, kind in columns)
    parts = [
        f"# Written by discreet init from the {'schema' if typed else 'header'} of {escape_control(file)}: "
        f"{'names and types' if typed else 'names'} only, no value was read.\n"
        "# Fill in every blank from public knowledge, never from the data; delete columns you do not release.\n"
        '# A missing cell is an error unless its column says missing = "drop" or missing = {fill = VALUE}.\n'
        "# discreet check counts such cells, and the rows that fit, before anything is spent.\n",
        f"target = {quoted(target or '')}  # name of the column to explain\n",
        *(_table(*column, reason) for column, reason in zip(columns, reasons, strict=True)),
        _UNIT,
    ]
    return BlankDesign("\n".join(parts), tuple(listed), tuple(left_out))


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


def _check_target(target: object, listed: dict[str, str | None], left_out: Sequence[tuple[str, str]]) -> None:
    if not isinstance(target, str):
        raise SpecError(f"target is {shown(target)}; it is the name of a column")
    if target in dict(left_out):
        raise SpecError(f"the target {shown(target)} cannot be released: {dict(left_out)[target]}")
    if target not in listed:
        raise SpecError.unknown_name("target", target, listed)
    if listed[target] == "text":
        raise SpecError(f"the target {shown(target)} is text; a target is numeric or boolean")
