"""Tables for people: coloured on a terminal, plain aligned text elsewhere."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from discreet.cli.terminal import complain, say, say_styled
from discreet.text import aligned as aligned_lines
from discreet.text import escape_control

if TYPE_CHECKING:
    from discreet.analyst.model import Fit
    from discreet.releases import Release

NOT_PRIVATE: Final = "NOT PRIVATE: this release carries no privacy guarantee; do not publish anything made from it"
LABEL: Final = 9  # columns of the words on the left
_NARROWEST, _WIDEST = 60, 100  # lines of sentences, whatever the terminal
_NAME: Final = 12  # letters of the first column that a table keeps on one line


def on_terminal() -> bool:
    """Whether a person looks at stdout."""
    return sys.stdout is not None and sys.stdout.isatty()


def text_width() -> int | None:
    """Columns for sentences on a terminal; none elsewhere, where a sentence stays on its line."""
    return min(max(shutil.get_terminal_size().columns, _NARROWEST), _WIDEST) if on_terminal() else None


def wrapped(text: str, indent: str = "") -> str:
    """Break one line where a terminal would, but between words; the lines after the first are indented."""
    width = text_width()
    if width is None:
        return text
    return textwrap.fill(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def labelled(label: str, text: str, columns: int) -> str:
    """Put text beside a label, wrapped on a terminal.

    >>> labelled("Note", "this", 6)
    'Note  this'
    """
    return wrapped(f"{label:<{columns}}{text}", " " * columns)


def print_fit(fit: Fit, level: float) -> None:
    """Print a fitted model: coefficients with their errors, rows, penalty and promise."""
    from discreet.analyst.diagnostics.notes import notes
    from discreet.analyst.summary.coefficient_table import cells, headers
    from discreet.analyst.summary.summary import penalty_line, row_count

    if not on_terminal():
        say(fit.summary(level).rstrip("\n"))
        return
    say(labelled("Rows", row_count(fit), LABEL))
    print_table(f"{fit.target}: linear regression from a release", headers(fit, level), cells(fit, level))
    say(labelled("Penalty", penalty_line(fit), LABEL))
    guarantee = fit.release.guarantee
    if guarantee is not None:
        say(labelled("Promise", guarantee.sentence(), LABEL))
    for note in notes(fit, level):
        say(labelled("Note", note, LABEL))


def print_table(title: str, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table whose first column is text and whose other columns are numbers."""
    shown = [[escape_control(cell) for cell in row] for row in rows]
    say(wrapped(title))
    if not on_terminal():
        say(aligned(headers, shown))
        return
    from rich.box import SIMPLE_HEAVY
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    natural = [max(map(len, column)) for column in zip(headers, *shown, strict=True)]
    if sum(natural) + 3 * len(natural) + 1 <= console.width:
        table, widths = Table(), natural
    else:
        # without frames there is room for more; what still does not fit runs over the edge, but no number is cut
        table = Table(box=SIMPLE_HEAVY, show_edge=False, pad_edge=False, padding=0)
        widths = narrowed(headers, shown, console.width)
        console.width = max(console.width, sum(widths) + len(widths))
    for index, (header, width) in enumerate(zip(headers, widths, strict=True)):
        style = "red" if "NOT PRIVATE" in header else None
        table.add_column(Text(header), justify="right" if index else "left", style=style, width=width, overflow="fold")
    for row in shown:
        # as text, because a name such as region[south] would be read as markup
        table.add_row(*(Text(cell) for cell in row))
    with console.capture() as capture:
        console.print(table)
    say_styled(capture.get().rstrip("\n"))


def narrowed(headers: Sequence[str], rows: Sequence[Sequence[str]], room: int) -> list[int]:
    """Widths of columns one blank apart that fit if they can: names are folded first, then headers at their blanks.

    >>> narrowed(("", "std err"), [("a long name indeed", "1.25")], 22)
    [14, 7]
    >>> narrowed(("", "std err"), [("a long name indeed", "1.25")], 10)
    [12, 4]
    """
    widths = [max(map(len, column)) for column in zip(headers, *rows, strict=True)]
    excess = sum(widths) + len(widths) - 1 - room
    for index, (header, *cells) in enumerate(zip(headers, *rows, strict=True)):
        least = max(len(word) for word in ("", *header.split(), *(cells if index else ())))
        cut = min(max(excess, 0), max(widths[index] - (least if index else max(least, _NAME)), 0))
        widths[index] -= cut
        excess -= cut
    return widths


def warn_not_private(release: Release, *, as_json: bool) -> None:
    """Say that a release carries no guarantee: above what is printed, or on stderr beside JSON."""
    if release.private:
        return
    if as_json:
        complain("notice", NOT_PRIVATE)
    else:
        print_warning(NOT_PRIVATE)


def print_warning(text: str) -> None:
    """Print a line that nobody overlooks."""
    if not on_terminal():
        say(text)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console()
    with console.capture() as capture:
        console.print(Text(escape_control(text), style="bold white on red"))
    say_styled(capture.get().rstrip("\n"))


def aligned(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lay out a plain table: the first column to the left, the others to the right.

    >>> print(aligned(("name", "value"), [("age", "1.5"), ("height", "-20")]))
    name    value
    age       1.5
    height    -20
    """
    return "\n".join(aligned_lines([headers, *rows]))
