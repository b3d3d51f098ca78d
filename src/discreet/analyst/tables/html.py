"""A table in HTML: a fragment with its own style, and a page around it."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Final

from discreet.analyst.tables.grid import Grid, Row
from discreet.text import escape_control

_THICK: Final = "2px solid currentColor"
_THIN: Final = "1px solid currentColor"
_CELL: Final = "padding:.15em .7em"
_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>:root{{color-scheme:light dark}}body{{font:16px/1.4 system-ui,sans-serif;margin:2em auto;\
max-width:60em;padding:0 1em}}</style>
</head>
<body>
{table}
</body>
</html>"""


def html_grid(grid: Grid) -> str:
    """Write a fragment whose lines are those of a printed table, in the colour of the text around it.

    >>> print(html_grid(Grid("y", (("", "(1)"),), (("<b>", "1.5"),), (), ())).count("&lt;b&gt;"))
    1
    """
    head = "".join(_row(row, "th", scope="col") for row in grid.heads)
    parts = [f'<thead style="border-top:{_THICK};border-bottom:{_THIN}">{head}</thead>']
    bodies = list(filter(None, (grid.body, grid.statistics)))
    for rows in bodies:
        line = _THICK if rows is bodies[-1] else _THIN
        parts.append(f'<tbody style="border-bottom:{line}">{_rows(rows)}</tbody>')
    caption = f'<caption style="text-align:left;font-weight:bold;padding:.3em 0">{escaped(grid.title)}</caption>'
    table = (
        f'<table style="border-collapse:collapse;font-variant-numeric:tabular-nums">{caption}{"".join(parts)}</table>'
    )
    notes = "".join(f'<p style="margin:.3em 0">{escaped(note)}</p>' for note in grid.notes)
    below = f'<div style="font-size:85%;max-width:45em">{notes}</div>' if notes else ""
    return f'<div style="overflow-x:auto">{table}{below}</div>'


def html_page(grid: Grid) -> str:
    """Write a whole page that loads nothing from anywhere."""
    return _PAGE.format(title=escaped(grid.title), table=html_grid(grid))


def escaped(text: str) -> str:
    """Give text that a browser shows as it is.

    >>> escaped("a < b & c")
    'a &lt; b &amp; c'
    """
    return html.escape(escape_control(text))


def _rows(rows: Sequence[Row]) -> str:
    return "".join(_row(row, "td") for row in rows)


def _row(row: Row, tag: str, scope: str | None = None) -> str:
    name, *values = row
    left, where = f'style="text-align:left;font-weight:normal;{_CELL}"', "" if scope is None else f' scope="{scope}"'
    # a row without a name belongs to the one above it
    first = (
        f'<th scope="row" {left}>{escaped(name)}</th>' if name and scope is None else f"<td {left}>{escaped(name)}</td>"
    )
    style = f'style="text-align:right;white-space:nowrap;{_CELL}"'
    return f"<tr>{first}{''.join(f'<{tag}{where} {style}>{escaped(value)}</{tag}>' for value in values)}</tr>"
