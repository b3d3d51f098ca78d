"""A table as plain text of fixed width."""

from __future__ import annotations

import textwrap
from typing import Final

from discreet.analyst.tables.grid import Grid, Row
from discreet.text import escape_control

_NARROWEST: Final = 72  # columns of the notes, whatever the table


def text_table(grid: Grid) -> str:
    """Write names to the left, values to the right, rules between the parts and the notes below.

    >>> print(text_table(Grid("y", (("", "(1)"),), (("age", "1.5"), ("", "(0.2)")), (("Rows", "100"),), ("A note.",))))
    y
    -----------
            (1)
    -----------
    age     1.5
          (0.2)
    -----------
    Rows    100
    -----------
    A note.
    """
    shown = {part: [_escaped(row) for row in getattr(grid, part)] for part in ("heads", "body", "statistics")}
    widths = [max(map(len, column)) for column in zip(*(row for rows in shown.values() for row in rows), strict=True)]
    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    lines = [escape_control(grid.title)]
    for rows in filter(None, shown.values()):
        lines += [rule, *(_line(row, widths) for row in rows)]
    lines.append(rule)
    for note in grid.notes:
        lines += textwrap.wrap(escape_control(note), max(len(rule), _NARROWEST), break_on_hyphens=False)
    return "\n".join(lines)


def _escaped(row: Row) -> Row:
    return tuple(escape_control(cell) for cell in row)


def _line(row: Row, widths: list[int]) -> str:
    cells = [f"{row[0]:<{widths[0]}}", *(f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))]
    return "  ".join(cells).rstrip()
