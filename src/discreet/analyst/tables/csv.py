"""Comma-separated values that no spreadsheet takes for a formula."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Final

from discreet.analyst.tables.grid import Grid
from discreet.text import escape_control

_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|-?inf")
_FORMULA: Final = ("=", "+", "-", "@")


def csv_text(rows: Iterable[Sequence[str]]) -> str:
    r"""Write rows of cells by RFC 4180, but with line ends of one character.

    >>> csv_text([("name", "value"), ("=1+2", "-1.5"), ("a,b", "-x")])
    'name,value\n\'=1+2,-1.5\n"a,b",\'-x\n'
    """
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([safe_cell(cell) for cell in row] for row in rows)
    return out.getvalue()


def safe_cell(text: str) -> str:
    """Give a cell that spreadsheets read as text or number: one that would begin a formula gets a quote in front.

    >>> safe_cell("@x"), safe_cell(" =x"), safe_cell("-1e-05"), safe_cell("age")
    ("'@x", "' =x", '-1e-05', 'age')
    """
    shown = escape_control(text)
    return f"'{shown}" if shown.lstrip().startswith(_FORMULA) and not _NUMBER.fullmatch(shown) else shown


def csv_table(grid: Grid) -> str:
    """Write the rows with the names of the columns first, and below them each note as a row of its own."""
    blank = ("",) * (grid.width - 1)
    return csv_text([*grid.rows, *((note, *blank) for note in grid.notes)])
