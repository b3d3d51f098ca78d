"""Tables for people: coloured on a terminal, plain aligned text elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from discreet.cli.terminal import say, say_styled, visible

if TYPE_CHECKING:
    from discreet.analyst.model import Fit

NOT_PRIVATE: Final = "NOT PRIVATE: this release carries no privacy guarantee; do not publish anything made from it"


def on_terminal() -> bool:
    """Whether a person looks at stdout."""
    return sys.stdout is not None and sys.stdout.isatty()


def print_fit(fit: Fit) -> None:
    """Print a fitted model: coefficients, rows, penalty and promise."""
    from discreet.analyst.summary import notes, penalty_line, row_count

    if not fit.release.private:
        print_warning(NOT_PRIVATE)
    if not on_terminal():
        say(fit.summary().rstrip("\n"))
        return
    rows = [(name, f"{value:.6g}") for name, value in fit.params.items()]
    print_table(f"{fit.target}: linear regression from a release", ("coefficient", "value"), rows)
    say(f"Rows     {row_count(fit)}")
    say(f"Penalty  {penalty_line(fit)}")
    guarantee = fit.release.guarantee
    if guarantee is not None:
        say(f"Promise  {guarantee.sentence()}")
    for note in notes(fit):
        say(f"Note     {note}")


def print_table(title: str, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table whose first column is text and whose other columns are numbers."""
    shown = [[visible(cell) for cell in row] for row in rows]
    say(title)
    if not on_terminal():
        say(aligned(headers, shown))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table()
    for place, header in enumerate(headers):
        style = "red" if "NOT PRIVATE" in header else None
        table.add_column(Text(header), justify="right" if place else "left", style=style)
    for row in shown:
        # as text, because a name such as region[south] would be read as markup
        table.add_row(*(Text(cell) for cell in row))
    console = Console()
    with console.capture() as capture:
        console.print(table)
    say_styled(capture.get().rstrip("\n"))


def print_warning(text: str) -> None:
    """Print a line that nobody overlooks."""
    if not on_terminal():
        say(text)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console()
    with console.capture() as capture:
        console.print(Text(visible(text), style="bold white on red"))
    say_styled(capture.get().rstrip("\n"))


def aligned(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lay out a plain table: the first column to the left, the others to the right.

    >>> print(aligned(("name", "value"), [("age", "1.5"), ("height", "-20")]))
    name    value
    age       1.5
    height    -20
    """
    widths = [max(map(len, column)) for column in zip(headers, *rows, strict=True)]
    lines = []
    for row in (headers, *rows):
        first, *others = zip(row, widths, strict=True)
        lines.append("  ".join([f"{first[0]:<{first[1]}}", *(f"{cell:>{width}}" for cell, width in others)]))
    return "\n".join(lines)
