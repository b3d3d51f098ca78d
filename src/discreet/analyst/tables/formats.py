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
from discreet.analyst.values import Interval, Number, rough, unbounded
from discreet.releases.reference_law import NotEstimable, known
from discreet.text import escape_control

if TYPE_CHECKING:
    from discreet.analyst.fitted import Fit
    from discreet.releases.release import Release

# -- grid --------------------------------------------------------------------------------------------------------------
# A table as cells of plain text, before it is written in some format.

Row: TypeAlias = tuple[str, ...]

EMPTY: Final = "–"  # a cell for which there is nothing to say; the notes say why


@dataclass(frozen=True, slots=True)
class Grid:
    """Cells of a table; the first column has names, the others have values.

    Attributes
    ----------
    title
        What the table is about.
    heads
        Rows above the first rule.
    body
        Rows of coefficients.
    statistics
        Rows below the second rule.
    notes
        Sentences below the table.
    """

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
# Numbers of a fit as the cells of a table: a number that is not there is a word, a weak one is in brackets.

MISSING: Final = "not estimable"
WEAK: Final = (
    "In brackets: the release does not bound the number at this level, so it has no standard error; read its "
    "confidence set instead."
)
_WIDEST: Final = 9  # digits before the point of a number that is written without an exponent
_SMALLEST: Final = -4  # power of ten of the smallest such number


def figure(value: float, digits: int) -> str:
    """Give a number to at least so many significant digits, without an exponent where it can be read without.

    >>> figure(12345.678, 4), figure(-0.0012345, 4), figure(0.0, 4), figure(9.99996, 4), figure(3e-7, 2)
    ('12346', '-0.001234', '0', '10.00', '3.0e-07')
    """
    if value == 0:
        return "0"
    rounded = float(f"{value:.{digits - 1}e}")
    power = math.floor(math.log10(abs(rounded)))
    if not _SMALLEST <= power < _WIDEST:
        return f"{value:.{digits - 1}e}"
    return f"{value:.{max(digits - 1 - power, 0)}f}"


def estimate_cell(value: Number, ends: Interval, digits: int) -> str:
    """Give an estimate; in brackets and to two digits where the release does not bound it."""
    if isinstance(value, NotEstimable):
        return MISSING
    return f"[{rough(value)}]" if unbounded(ends) else figure(value, digits)


def number_cell(value: Number, digits: int) -> str:
    """Give a number, or a dash."""
    return EMPTY if isinstance(value, NotEstimable) else figure(value, digits)


def set_cell(ends: Interval, digits: int) -> str:
    """Give a confidence set in words.

    >>> from discreet.analyst.confidence_sets import ConfidenceSet
    >>> set_cell(ConfidenceSet("interval", -0.5, 1.25), 3), set_cell(ConfidenceSet("everything"), 3)
    ('-0.500 to 1.25', 'any value')
    """
    if isinstance(ends, NotEstimable):
        return MISSING
    low, high = (figure(end, digits) if math.isfinite(end) else "" for end in (ends.lower, ends.upper))
    return set_words(ends.kind, low, high)


def p_cell(value: Number) -> str:
    """Give a p-value to three digits after the point.

    >>> p_cell(0.04), p_cell(1e-5)
    ('0.040', '<0.001')
    """
    if isinstance(value, NotEstimable):
        return EMPTY
    return "<0.001" if value < 0.0005 else f"{value:.3f}"


def stars_of(value: Number, thresholds: Sequence[float]) -> str:
    """Give a star for every threshold that a p-value is below; none where there is no p-value.

    >>> stars_of(0.004, (0.05, 0.01, 0.001))
    '**'
    """
    return "" if isinstance(value, NotEstimable) else "*" * sum(value < one for one in thresholds)


def rows_cell(fit: Fit) -> str:
    """Give the number of rows: a noisy one as about so many."""
    rows = known(fit.nobs)
    if rows is None:
        return "not released"
    return f"about {round(rows)}" if fit.nobs_sd > 0 else str(round(rows))


def ratio_cell(value: Number, ends: Interval) -> str:
    """Give an R^2 to three digits after the point; in brackets where the release excludes no value of it."""
    if isinstance(value, NotEstimable):
        return EMPTY
    weak = known(ends) is not None and ends.reason
    return f"[{value:.2g}]" if weak else f"{value:.3f}"


def errors_cell(fit: Fit) -> str:
    """Name the kind of standard errors; nothing where the fit has none."""
    if fit.interval_target == "none" or isinstance(fit._inputs.basis, NotEstimable):
        return EMPTY
    if not fit.is_robust:
        return "plain"
    return "HC1" if fit.release.design.unit.id is None else "by person"


def model_cell(fit: Fit) -> str:
    """Name what was minimised, in a few words."""
    if fit.fitted_inside:
        return f"by {fit.release.mechanism}"
    if not fit.penalised:
        return "weighted least squares" if fit.release.weighted else "least squares"
    return fit.penalty if fit.strength is None else f"{fit.penalty} {fit.strength:.3g}"


def promise_note(release: Release) -> str:
    """Say in one line who is hidden, how well, and by which mechanism."""
    guarantee = release.guarantee
    if guarantee is None:
        return f"NOT PRIVATE: the release carries no privacy guarantee (mechanism {release.mechanism})."
    return (
        f"Differentially private: epsilon = {guarantee.epsilon:g}, delta = {guarantee.delta:g}; unit: "
        f"{guarantee.unit.words}; mechanism {release.mechanism}."
    )


def rows_note(fit: Fit) -> str | None:
    """Say how noisy the number of rows is; nothing where it has no noise."""
    if known(fit.nobs) is None or not fit.nobs_sd > 0:
        return None
    return f"The number of rows is noisy, with standard deviation {fit.nobs_sd:.3g}."


# -- text --------------------------------------------------------------------------------------------------------------
# A table as plain text of fixed width.

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


# -- markdown ----------------------------------------------------------------------------------------------------------
# A table in Markdown: pipes, as GitHub, Quarto and Pandoc read them.
#
# Every character of ASCII that has a meaning in a line of Markdown gets a backslash in front, which makes it plain
# text.

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
    table = "\n".join([_markdown_line(first), rule, *map(_markdown_line, others)])
    return "\n\n".join([f"**{markdown_escaped(grid.title)}**", table, *map(markdown_escaped, grid.notes)])


def markdown_escaped(text: str) -> str:
    r"""Give text that Markdown shows as it is.

    >>> print(markdown_escaped("<b> & [x](y) *z*"))
    \<b\> \& \[x\](y) \*z\*
    """
    return _ACTIVE.sub(lambda found: "\\" + found.group(), escape_control(text))


def _markdown_line(row: Row) -> str:
    return f"| {' | '.join(map(markdown_escaped, row))} |"


# -- latex -------------------------------------------------------------------------------------------------------------
# A table in LaTeX, with the rules of booktabs and nothing else that a preamble must bring.

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
    # a bracket at the start of a row would be read as an option of the row before
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
}
_MINUS: Final = re.compile(r"(?<![\w.-])-(?=[0-9.])")


def latex_table(grid: Grid, *, caption: str | None = None, label: str | None = None) -> str:
    r"""Write a `table` with a `tabular` in it; it needs \usepackage{booktabs} and nothing more.

    Parameters
    ----------
    grid
        What to write.
    caption
        Title of the table; the grid's own unless given.
    label
        Name for \ref, if any; letters, digits and -_:. alone.

    Examples
    --------
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
    r"""Give text that LaTeX prints as it is.

    >>> print(latex_escaped(r"50% of a_b & \x"))
    50\% of a\_b \& \textbackslash{}x
    """
    return "".join(_SPELLED.get(one, one) for one in escape_control(text))


def _latex_line(row: Row) -> str:
    name, *values = row
    # a hyphen before a digit is a minus in a value, and a hyphen in a name
    return " & ".join([latex_escaped(name), *(_MINUS.sub("$-$", latex_escaped(value)) for value in values)]) + r" \\"


# -- html --------------------------------------------------------------------------------------------------------------
# A table in HTML: a fragment with its own style, and a page around it.

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
    caption = f'<caption style="text-align:left;font-weight:bold;padding:.3em 0">{html_escaped(grid.title)}</caption>'
    table = (
        f'<table style="border-collapse:collapse;font-variant-numeric:tabular-nums">{caption}{"".join(parts)}</table>'
    )
    notes = "".join(f'<p style="margin:.3em 0">{html_escaped(note)}</p>' for note in grid.notes)
    below = f'<div style="font-size:85%;max-width:45em">{notes}</div>' if notes else ""
    return f'<div style="overflow-x:auto">{table}{below}</div>'


def html_page(grid: Grid) -> str:
    """Write a whole page that loads nothing from anywhere."""
    return _PAGE.format(title=html_escaped(grid.title), table=html_grid(grid))


def html_escaped(text: str) -> str:
    """Give text that a browser shows as it is.

    >>> html_escaped("a < b & c")
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
        f'<th scope="row" {left}>{html_escaped(name)}</th>'
        if name and scope is None
        else f"<td {left}>{html_escaped(name)}</td>"
    )
    style = f'style="text-align:right;white-space:nowrap;{_CELL}"'
    return f"<tr>{first}{''.join(f'<{tag}{where} {style}>{html_escaped(value)}</{tag}>' for value in values)}</tr>"


# -- csv ---------------------------------------------------------------------------------------------------------------
# Comma-separated values that no spreadsheet takes for a formula.

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
