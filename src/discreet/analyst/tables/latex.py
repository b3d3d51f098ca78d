r"""A table in LaTeX, with the rules of booktabs and nothing else that a preamble must bring."""

from __future__ import annotations

import re
from typing import Final

from discreet.analyst.tables.grid import Grid, Row
from discreet.text import escape_control

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
    lines = [r"\begin{table}[htbp]", r"\centering", rf"\caption{{{escaped(caption or grid.title)}}}"]
    if label is not None:
        lines.append(rf"\label{{{label}}}")
    lines += [rf"\begin{{tabular}}{{l{'r' * (grid.width - 1)}}}", r"\toprule", *map(_line, grid.heads)]
    for part in filter(None, (grid.body, grid.statistics)):
        lines += [r"\midrule", *map(_line, part)]
    lines += [r"\bottomrule", r"\end{tabular}"]
    if grid.notes:
        lines += [r"\par\smallskip", rf"\parbox{{0.9\linewidth}}{{\footnotesize {' '.join(map(escaped, grid.notes))}}}"]
    return "\n".join([*lines, r"\end{table}"])


def escaped(text: str) -> str:
    r"""Give text that LaTeX prints as it is.

    >>> print(escaped(r"50% of a_b & \x"))
    50\% of a\_b \& \textbackslash{}x
    """
    return "".join(_SPELLED.get(one, one) for one in escape_control(text))


def _line(row: Row) -> str:
    name, *values = row
    # a hyphen before a digit is a minus in a value, and a hyphen in a name
    return " & ".join([escaped(name), *(_MINUS.sub("$-$", escaped(value)) for value in values)]) + r" \\"
