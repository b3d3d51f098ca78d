"""Write a table as text, Markdown, LaTeX, HTML or CSV."""

from __future__ import annotations

import csv
import html
import io
import math
import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from discreet.analyst.confidence_sets import set_words
from discreet.analyst.values import Interval, Number, unbounded
from discreet.number_text import DASH, rough, significant
from discreet.releases.reference_distribution import NotEstimable, known
from discreet.text import escape_control

if TYPE_CHECKING:
    from discreet.analyst.fitted import Fit
    from discreet.releases.release import Release

# -- grid --------------------------------------------------------------------------------------------------------------
# A table as cells of plain text.

Row: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """Cells of a table, with names in the first column and notes below."""

    title: str
    heads: tuple[Row, ...]
    body: tuple[Row, ...]
    statistics: tuple[Row, ...]
    notes: tuple[str, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows from top to bottom."""
        return (*self.heads, *self.body, *self.statistics)

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.heads[0])


# -- cells -------------------------------------------------------------------------------------------------------------
# Numbers of a fit as cells of a table.

MISSING: Final = "not estimable"
WEAK: Final = "Estimates in brackets are unreliable and have no standard error: their confidence sets are unbounded."


def estimate_cell(value: Number, ends: Interval, digits: int) -> str:
    """Format an estimate. If its confidence set is unbounded, use two digits and brackets."""
    if isinstance(value, NotEstimable):
        return MISSING
    return f"[{rough(value)}]" if unbounded(ends) else significant(value, digits)


def number_cell(value: Number, digits: int) -> str:
    """Format a number, or return a dash if it is not estimable."""
    return DASH if isinstance(value, NotEstimable) else significant(value, digits)


def set_cell(ends: Interval, digits: int) -> str:
    """Format a confidence set."""
    if isinstance(ends, NotEstimable):
        return MISSING
    low, high = (significant(end, digits) if math.isfinite(end) else "" for end in (ends.lower, ends.upper))
    return set_words(ends.kind, low, high)


def stars_of(value: Number, thresholds: Sequence[float]) -> str:
    """Return one star for each threshold that the p-value is below."""
    return "" if isinstance(value, NotEstimable) else "*" * sum(value < threshold for threshold in thresholds)


def rows_cell(fit: Fit) -> str:
    """Format the number of rows, with "about" if it is noisy."""
    rows = known(fit.nobs)
    if rows is None:
        return "not released"
    return f"about {round(rows)}" if fit.nobs_sd > 0 else str(round(rows))


def ratio_cell(value: Number, ends: Interval) -> str:
    """Format R^2 to three decimals, or in brackets if the release excludes no value."""
    if isinstance(value, NotEstimable):
        return DASH
    weak = known(ends) is not None and ends.reason
    return f"[{value:.2g}]" if weak else f"{value:.3f}"


def errors_cell(fit: Fit) -> str:
    """Name the type of standard errors, or return a dash."""
    if fit.interval_target == "none" or isinstance(fit._inputs.basis, NotEstimable):
        return DASH
    if not fit.is_robust:
        return "plain"
    return "by person" if fit.cov_type == "cluster" else fit.cov_type


def model_cell(fit: Fit) -> str:
    """Name the estimation method."""
    if fit.fitted_inside:
        return f"by {fit.release.mechanism}"
    if not fit.penalised:
        return "weighted least squares" if fit.release.weighted else "least squares"
    return fit.penalty if fit.strength is None else f"{fit.penalty} {fit.strength:.3g}"


def promise_note(release: Release) -> str:
    """Describe the guarantee and the mechanism in one line."""
    guarantee = release.guarantee
    if guarantee is None:
        return f"NOT PRIVATE: the release carries no privacy guarantee (mechanism {release.mechanism})."
    return (
        f"Differentially private: epsilon = {guarantee.epsilon:g}, delta = {guarantee.delta:g}; unit: "
        f"{guarantee.unit.words}; mechanism {release.mechanism}."
    )


def rows_note(fit: Fit) -> str | None:
    """Describe the noise of the row count, or return None if there is none."""
    if known(fit.nobs) is None or not fit.nobs_sd > 0:
        return None
    return f"The number of rows is noisy, with standard deviation {fit.nobs_sd:.3g}."


# -- text --------------------------------------------------------------------------------------------------------------

_NARROWEST: Final = 72  # minimum width of the notes


def text_table(grid: Grid) -> str:
    """Format a table as plain text.

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
    parts = {part: [_escaped(row) for row in getattr(grid, part)] for part in ("heads", "body", "statistics")}
    widths = [max(map(len, column)) for column in zip(*(row for rows in parts.values() for row in rows), strict=True)]
    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    lines = [escape_control(grid.title)]
    for rows in filter(None, parts.values()):
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


# -- markdown ----------------------------------------------------------------------------------------------------------
# Pipe tables for GitHub, Quarto and Pandoc. Every ASCII character with a meaning in Markdown is escaped by a backslash.

_ACTIVE: Final = re.compile(r"[\\`*_{}\[\]<>#~|$&!^]")


def markdown_table(grid: Grid) -> str:
    r"""Format a table in Markdown, with the title in bold and each note as a paragraph.

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
    table = "\n".join([_markdown_line(first), rule, *map(_markdown_line, others)])
    return "\n\n".join([f"**{markdown_escaped(grid.title)}**", table, *map(markdown_escaped, grid.notes)])


def markdown_escaped(text: str) -> str:
    r"""Escape text for Markdown.

    >>> print(markdown_escaped("<b> & [x](y) *z*"))
    \<b\> \& \[x\](y) \*z\*
    """
    return _ACTIVE.sub(lambda match: "\\" + match.group(), escape_control(text))


def _markdown_line(row: Row) -> str:
    return f"| {' | '.join(map(markdown_escaped, row))} |"


# -- latex -------------------------------------------------------------------------------------------------------------
# LaTeX with booktabs.

_SPELLED: Final = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedblright{}",
    "`": r"\textasciigrave{}",
    "–": "--",
    "²": r"\textsuperscript{2}",
    # a bracket at the start of a row would be read as an option of the previous row
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
}
_MINUS: Final = re.compile(r"(?<![\w.-])-(?=[0-9.])")


def latex_table(grid: Grid, *, caption: str | None = None, label: str | None = None) -> str:
    r"""Format a table in LaTeX. The preamble needs \usepackage{booktabs}.

    >>> print(latex_table(Grid("y", (("", "(1)"),), (("a_b", "-1.5"),), (("Rows", "100"),), ("A note.",))))
    \begin{table}[htbp]
    \centering
    \caption{y}
    \begin{tabular}{lr}
    \toprule
     & (1) \\
    \midrule
    a\_b & $-$1.5 \\
    \midrule
    Rows & 100 \\
    \bottomrule
    \end{tabular}
    \par\smallskip
    \parbox{0.9\linewidth}{\footnotesize A note.}
    \end{table}
    """
    lines = [r"\begin{table}[htbp]", r"\centering", rf"\caption{{{latex_escaped(caption or grid.title)}}}"]
    if label is not None:
        lines.append(rf"\label{{{label}}}")
    lines += [rf"\begin{{tabular}}{{l{'r' * (grid.width - 1)}}}", r"\toprule", *map(_latex_line, grid.heads)]
    for part in filter(None, (grid.body, grid.statistics)):
        lines += [r"\midrule", *map(_latex_line, part)]
    lines += [r"\bottomrule", r"\end{tabular}"]
    if grid.notes:
        lines += [
            r"\par\smallskip",
            rf"\parbox{{0.9\linewidth}}{{\footnotesize {' '.join(map(latex_escaped, grid.notes))}}}",
        ]
    return "\n".join([*lines, r"\end{table}"])


def latex_escaped(text: str) -> str:
    r"""Escape text for LaTeX.

    >>> print(latex_escaped(r"50% of a_b & \x"))
    50\% of a\_b \& \textbackslash{}x
    """
    return "".join(_SPELLED.get(character, character) for character in escape_control(text))


def _latex_line(row: Row) -> str:
    name, *values = row
    # only in values, a hyphen before a digit is a minus sign
    return " & ".join([latex_escaped(name), *(_MINUS.sub("$-$", latex_escaped(value)) for value in values)]) + r" \\"


# -- html --------------------------------------------------------------------------------------------------------------
# HTML as a fragment with inline styles, and as a page.

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
    """Format a table as an HTML fragment with inline styles."""
    head = "".join(_row(row, "th", scope="col") for row in grid.heads)
    parts = [f'<thead style="border-top:{_THICK};border-bottom:{_THIN}">{head}</thead>']
    bodies = list(filter(None, (grid.body, grid.statistics)))
    for rows in bodies:
        line = _THICK if rows is bodies[-1] else _THIN
        parts.append(f'<tbody style="border-bottom:{line}">{_rows(rows)}</tbody>')
    caption = f'<caption style="text-align:left;font-weight:bold;padding:.3em 0">{html_escaped(grid.title)}</caption>'
    table = (
        f'<table style="border-collapse:collapse;font-variant-numeric:tabular-nums">{caption}{"".join(parts)}</table>'
    )
    notes = "".join(f'<p style="margin:.3em 0">{html_escaped(note)}</p>' for note in grid.notes)
    below = f'<div style="font-size:85%;max-width:45em">{notes}</div>' if notes else ""
    return f'<div style="overflow-x:auto">{table}{below}</div>'


def html_page(grid: Grid) -> str:
    """Format a table as an HTML page without external resources."""
    return _PAGE.format(title=html_escaped(grid.title), table=html_grid(grid))


def html_escaped(text: str) -> str:
    """Escape text for HTML."""
    return html.escape(escape_control(text))


def _rows(rows: Sequence[Row]) -> str:
    return "".join(_row(row, "td") for row in rows)


def _row(row: Row, tag: str, scope: str | None = None) -> str:
    name, *values = row
    left, where = f'style="text-align:left;font-weight:normal;{_CELL}"', "" if scope is None else f' scope="{scope}"'
    # a row without a name continues the row above
    first = (
        f'<th scope="row" {left}>{html_escaped(name)}</th>'
        if name and scope is None
        else f"<td {left}>{html_escaped(name)}</td>"
    )
    style = f'style="text-align:right;white-space:nowrap;{_CELL}"'
    return f"<tr>{first}{''.join(f'<{tag}{where} {style}>{html_escaped(value)}</{tag}>' for value in values)}</tr>"


# -- csv ---------------------------------------------------------------------------------------------------------------
# CSV whose cells are never evaluated as spreadsheet formulas.

_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|-?inf")
_FORMULA: Final = ("=", "+", "-", "@")


def csv_text(rows: Iterable[Sequence[str]]) -> str:
    r"""Format rows as CSV (RFC 4180, with newlines as line ends).

    >>> csv_text([("name", "value"), ("=1+2", "-1.5"), ("a,b", "-x")])
    'name,value\n\'=1+2,-1.5\n"a,b",\'-x\n'
    """
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([safe_cell(cell) for cell in row] for row in rows)
    return out.getvalue()


def safe_cell(text: str) -> str:
    """Prepend a quote to a cell that a spreadsheet would evaluate as a formula.

    >>> safe_cell("@x"), safe_cell(" =x"), safe_cell("-1e-05"), safe_cell("age")
    ("'@x", "' =x", '-1e-05', 'age')
    """
    shown = escape_control(text)
    return f"'{shown}" if shown.lstrip().startswith(_FORMULA) and not _NUMBER.fullmatch(shown) else shown


def csv_table(grid: Grid) -> str:
    """Format a table as CSV, with each note as a row at the end."""
    blank = ("",) * (grid.width - 1)
    return csv_text([*grid.rows, *((note, *blank) for note in grid.notes)])
