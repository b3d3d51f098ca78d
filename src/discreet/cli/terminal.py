"""The two streams: text that cannot command a terminal, and failures of the streams themselves."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TextIO

import click

from discreet.errors import OutputError, PrivacyNotice
from discreet.text import escape_control

_PACKAGE: Final = str(Path(__file__).parents[1])


def say(text: str = "") -> None:
    """Print text on stdout, line ends kept and other control characters escaped."""
    _echo(escape_control(text, keep="\n"))


def say_styled(text: str) -> None:
    """Print text that is already safe and carries the colours of a terminal."""
    _echo(text)


def say_json(document: Mapping[str, object] | Sequence[object]) -> None:
    """Print one JSON document on stdout."""
    _echo(json.dumps(document, indent=1, ensure_ascii=True, allow_nan=False))


def complain(kind: str, text: str) -> None:
    """Print one line on stderr; a closed stderr must not stop the work."""
    with suppress(OSError, ValueError):
        click.echo(escape_control(f"{kind}: {text}"), err=True)


def complain_further(text: str) -> None:
    """Print one more line on stderr that belongs to the complaint above it."""
    with suppress(OSError, ValueError):
        click.echo(f"  {escape_control(text)}", err=True)


def flush() -> None:
    """Send out what stdout still holds, while a failure can still be reported."""
    with _stdout_failures():
        if sys.stdout is not None:
            sys.stdout.flush()


def discard_stdout() -> None:
    """Let nothing more be written to a pipe that nobody reads, so that the interpreter ends in silence."""
    with suppress(OSError, ValueError, AttributeError):
        hole = os.open(os.devnull, os.O_WRONLY)
        os.dup2(hole, sys.stdout.fileno())
        os.close(hole)


def never_fail_to_encode(*streams: TextIO | None) -> None:
    """Make streams escape what their encoding lacks."""
    for stream in streams:
        with suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # those without it are left alone


@contextmanager
def notices_on_stderr() -> Iterator[None]:
    """Turn our own warnings into `notice:` lines; those of other libraries may quote data and are dropped."""

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if issubclass(category, PrivacyNotice) or filename.startswith(_PACKAGE):
            complain("notice", str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


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
