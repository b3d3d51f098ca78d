r"""A table in Markdown: pipes, as GitHub, Quarto and Pandoc read them.

Every character of ASCII that has a meaning in a line of Markdown gets a backslash in front, which makes it plain text.
"""

from __future__ import annotations

import re
from typing import Final

from discreet.analyst.tables.grid import Grid, Row
from discreet.text import escape_control

_ACTIVE: Final = re.compile(r"[\\`*_{}\[\]<>#~|$&!^]")


def markdown_table(grid: Grid) -> str:
    r"""Write the title in bold, the table, and each note as a paragraph.

    >>> print(markdown_table(Grid("y", (("", "(1)"),), (("a|b_c", "-1.5"),), (("Rows", "100"),), ())))
    **y**
    <BLANKLINE>
    |  | (1) |
    | :--- | ---: |
    | a\|b\_c | -1.5 |
    | Rows | 100 |
    """
    first, *others = grid.rows
    rule = f"| {' | '.join([':---', *['---:'] * (grid.width - 1)])} |"
    table = "\n".join([_line(first), rule, *map(_line, others)])
    return "\n\n".join([f"**{escaped(grid.title)}**", table, *map(escaped, grid.notes)])


def escaped(text: str) -> str:
    r"""Give text that Markdown shows as it is.

    >>> print(escaped("<b> & [x](y) *z*"))
    \<b\> \& \[x\](y) \*z\*
    """
    return _ACTIVE.sub(lambda found: "\\" + found.group(), escape_control(text))


def _line(row: Row) -> str:
    return f"| {' | '.join(map(escaped, row))} |"
