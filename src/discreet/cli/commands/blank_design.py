"""The text of a design.toml that still has to be filled in: every column by name, every bound blank."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from discreet.errors import DataError, SpecError
from discreet.text import escape_control

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_BLANKS: Final = {
    None: (
        'bounds = ["", ""]  # lowest and highest value that can occur',
        "# levels = []      # instead, for a category: every value that can occur",
        '# dtype = "bool"   # instead, for true/false or 1/0; two other words are levels',
    ),
    "boolean": ('dtype = "bool"',),
    "text": ("levels = []  # every value that can occur",),
}
_UNIT: Final = """\
# If a person can have several rows: the column that tells who it is (delete it above), and how many rows may count.
# [unit]
# id = ""
# max_rows = 1
"""


@dataclass(frozen=True, slots=True)
class BlankDesign:
    """A design with blanks.

    Attributes
    ----------
    text
        What to write.
    listed
        Names of the columns that have a table of their own.
    left_out
        Name of every other column and why no design can declare it; a name may occur twice.
    """

    text: str
    listed: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]


def blank_design(file: str, columns: Sequence[tuple[str, str | None]], target: str | None = None) -> BlankDesign:
    """Lay out a design for columns of which names, and types if the file has them, are known.

    >>> print(blank_design("t.csv", [("age", None)]).text.split("# If")[0].split("# A ")[1], end="")
    missing cell is an error unless its column says missing = "drop" or missing = {fill = VALUE}.
    <BLANKLINE>
    target = ""  # name of the column to explain
    <BLANKLINE>
    [columns.age]
    bounds = ["", ""]  # lowest and highest value that can occur
    # levels = []      # instead, for a category: every value that can occur
    # dtype = "bool"   # instead, for true/false or 1/0; two other words are levels
    <BLANKLINE>
    """
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
        '# A missing cell is an error unless its column says missing = "drop" or missing = {fill = VALUE}.\n',
        f"target = {quoted(target or '')}  # name of the column to explain\n",
        *(_table(*column, reason) for column, reason in zip(columns, reasons, strict=True)),
        _UNIT,
    ]
    return BlankDesign("\n".join(parts), tuple(listed), tuple(left_out))


def quoted(text: str) -> str:
    r"""A TOML string that shows every sign: those that an editor would hide or obey become escapes.

    >>> print(quoted('say "hi"\u2028'))
    "say \"hi\"\U00002028"
    """
    return f'"{"".join(_escaped(sign) for sign in text)}"'


def _escaped(sign: str) -> str:
    if sign in '"\\':
        return f"\\{sign}"
    return sign if sign.isprintable() else f"\\U{ord(sign):08X}"


def _table(name: str, kind: str | None, reason: str | None) -> str:
    key = name if _BARE.fullmatch(name) else quoted(name)
    if reason is not None:
        return f"# [columns.{key}]\n# left out: {escape_control(reason)}\n"
    return "\n".join([f"[columns.{key}]", *_BLANKS.get(kind, _BLANKS[None]), ""])


def _why_not(name: str, kind: str | None, times: int) -> str | None:
    """Say why no design can declare a column, if so."""
    from discreet.design.model import Design

    if times > 1:
        return "the table has more than one column of this name; rename them"
    try:
        # the design itself is the judge of names; the second column is there because a design needs two
        Design(name, {name: bool, f"{name}.": bool})
    except SpecError as error:
        return str(error)
    if kind in (None, "number", "boolean", "text"):
        return None
    return f"its type {kind} is neither numbers nor true and false nor text; convert it first"


def _check_target(target: str, listed: dict[str, str | None], left_out: Sequence[tuple[str, str]]) -> None:
    if target in dict(left_out):
        raise SpecError(f"the target {target!r} cannot be released: {dict(left_out)[target]}")
    if target not in listed:
        raise SpecError.unknown_name("target", target, listed)
    if listed[target] == "text":
        raise SpecError(f"the target {target!r} is text; a target is numeric or boolean")
