"""Output to the terminal: streams, tables and progress bars."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, TextIO

import click

from discreet.cli.flags import FLAGS
from discreet.errors import OutputError, PrivacyNotice
from discreet.text import aligned as aligned_lines
from discreet.text import escape_control
from discreet.wording import Message, worded

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from discreet.analyst.fitted import Fit
    from discreet.releases.release import Release

# -- terminal ----------------------------------------------------------------------------------------------------------
# Text without control characters for the two streams, and failures of the streams.

_PACKAGE: Final = str(Path(__file__).parents[1])


def say(text: str = "") -> None:
    """Print text on stdout, with line ends kept and other control characters escaped."""
    _echo(escape_control(text, keep="\n"))


def say_styled(text: str) -> None:
    """Print text that is already escaped and may contain terminal colours."""
    _echo(text)


def say_json(document: Mapping[str, object] | Sequence[object]) -> None:
    """Print one JSON document on stdout, with its messages in the wording of the command line."""
    _echo(json.dumps(in_flags(document), indent=1, ensure_ascii=True, allow_nan=False))


def in_flags(value: object) -> object:
    """Return a document with its messages in the wording of the command line."""
    if isinstance(value, Message):
        return value.message(FLAGS)
    if isinstance(value, Mapping):
        return {key: in_flags(item) for key, item in value.items()}
    return [in_flags(item) for item in value] if isinstance(value, list | tuple) else value


def complain(kind: str, text: str) -> None:
    """Print one line on stderr. A closed stderr must not stop the command."""
    with suppress(OSError, ValueError):
        click.echo(escape_control(f"{kind}: {text}"), err=True)


def complain_further(text: str) -> None:
    """Print one more line on stderr that belongs to the message above it."""
    with suppress(OSError, ValueError):
        click.echo(f"  {escape_control(text)}", err=True)


def flush() -> None:
    """Flush stdout while a failure can still be reported."""
    with _stdout_failures():
        if sys.stdout is not None:
            sys.stdout.flush()


def discard_stdout() -> None:
    """Discard further output to a closed pipe, so that the interpreter exits silently."""
    with suppress(OSError, ValueError, AttributeError):
        hole = os.open(os.devnull, os.O_WRONLY)
        os.dup2(hole, sys.stdout.fileno())
        os.close(hole)


def never_fail_to_encode(*streams: TextIO | None) -> None:
    """Make streams escape the characters that their encoding lacks."""
    for stream in streams:
        with suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # those without it are left alone


@contextmanager
def notices_on_stderr() -> Iterator[None]:
    """Print our warnings as `notice:` lines. Warnings of other libraries may quote data and are dropped."""

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if issubclass(category, PrivacyNotice) or filename.startswith(_PACKAGE):
            complain("notice", worded(_text_of(message), FLAGS))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


def _text_of(message: Warning | str) -> object:
    """Return the text of a warning, which may be a `Message`."""
    return message.args[0] if isinstance(message, Warning) and message.args else message


def _echo(text: str) -> None:
    with _stdout_failures():
        click.echo(text)


@contextmanager
def _stdout_failures() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        discard_stdout()
        raise OutputError(f"cannot write to standard output: {error.strerror}") from None


# -- render ------------------------------------------------------------------------------------------------------------
# Tables for people: coloured on a terminal, plain aligned text elsewhere.

NOT_PRIVATE: Final = "NOT PRIVATE: this release carries no privacy guarantee; do not publish anything made from it"
LABEL: Final = 9  # width of the labels on the left
_NARROWEST, _WIDEST = 60, 100  # limits for the length of wrapped lines on any terminal
_NAME: Final = 12  # letters of the first column that a table keeps on one line


def on_terminal() -> bool:
    """Return whether stdout is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def text_width() -> int | None:
    """Return the width at which text is wrapped on a terminal, or None if stdout is not a terminal."""
    return min(max(shutil.get_terminal_size().columns, _NARROWEST), _WIDEST) if on_terminal() else None


def wrapped(text: str, indent: str = "") -> str:
    """Wrap one line between words to the width of the terminal, with later lines indented."""
    width = text_width()
    if width is None:
        return text
    return textwrap.fill(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def labelled(label: str, text: str, columns: int) -> str:
    """Format text next to a label, wrapped on a terminal.

    >>> labelled("Note", "this", 6)
    'Note  this'
    """
    return wrapped(f"{label:<{columns}}{text}", " " * columns)


def print_fit(fit: Fit, level: float) -> None:
    """Print a fitted model: coefficients with their errors, rows, penalty and guarantee."""
    from discreet.analyst.notes import notes
    from discreet.analyst.summary import cells, headers, penalty_line, row_count, summary_text

    if not on_terminal():
        say(summary_text(fit, level, FLAGS).rstrip("\n"))
        return
    say(labelled("Rows", row_count(fit), LABEL))
    print_table(f"{fit.target}: linear regression from a release", headers(fit, level), cells(fit, level))
    say(labelled("Penalty", penalty_line(fit), LABEL))
    guarantee = fit.release.guarantee
    if guarantee is not None:
        say(labelled("Promise", guarantee.sentence(), LABEL))
    for note in notes(fit, level):
        say(labelled("Note", worded(note, FLAGS), LABEL))


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
        # tables without frames are narrower; if one still does not fit, its lines overflow, but no number is cut
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
    """Return column widths that fit into `room` if possible. Names are wrapped first, then headers at blanks.

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
    """Warn that a release has no guarantee: above the printed text, or on stderr if stdout has JSON."""
    if release.private:
        return
    if as_json:
        complain("notice", NOT_PRIVATE)
    else:
        print_warning(NOT_PRIVATE)


def print_warning(text: str) -> None:
    """Print a prominent warning."""
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
    """Format a plain table with the first column aligned left and the others right.

    >>> print(aligned(("name", "value"), [("age", "1.5"), ("height", "-20")]))
    name    value
    age       1.5
    height    -20
    """
    return "\n".join(aligned_lines([headers, *rows]))


# -- progress ----------------------------------------------------------------------------------------------------------
# Progress bars on stderr for slow reads and for long work in parts.

PATIENCE: Final = 1.0  # seconds before a bar appears


class ReadProgress:
    """Progress of reading the input, shown once it takes longer than a second.

    After the reading, the bar only shows that work continues.
    """

    def __init__(self) -> None:
        self._wanted = sys.stderr is not None and sys.stderr.isatty()
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._share: float | None = 0.0
        self._ended = False
        self._lock = threading.RLock()
        self._timer = threading.Timer(PATIENCE, self._show)
        self._timer.daemon = True

    def __call__(self, share: float | None) -> None:
        """Move the bar to `share`, from 0 to 1. None means that the remaining work is unknown."""
        with self._lock:
            changed = (share is None) != (self._share is None)
            self._share = share
            if self._bar is None:
                return
            if changed and self._task is not None:
                # a bar of known length is replaced by one of unknown length, or the other way round
                self._bar.remove_task(self._task)
                self._task = None
            self._draw(self._bar)

    def _show(self) -> None:
        with self._lock:
            if self._ended:
                return
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

            columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._draw(self._bar)

    def _draw(self, bar: Progress) -> None:
        if self._task is None:
            label, total = ("reading", 1.0) if self._share is not None else ("working", None)
            self._task = bar.add_task(label, total=total)
        if self._share is not None:
            bar.update(self._task, completed=self._share)

    def __enter__(self) -> ReadProgress:
        if self._wanted:
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        with self._lock:
            self._ended = True
            if self._bar is not None:
                self._bar.stop()


@contextmanager
def counting_bar() -> Iterator[Callable[[str, int, int], None]]:
    """Yield a function that shows completed parts and the remaining time as a bar on a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda name, done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None)
        yield lambda name, done, total: bar.update(task, description=name, completed=done, total=total)
