"""From a failure to one line and an exit code. The text of foreign exceptions is never shown: it may quote cells."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from discreet.cli.session import Session
from discreet.cli.terminal import complain, complain_further, discard_stdout
from discreet.errors import AfterSpendError, DesignError, DiscreetError

BAD_INPUT: Final = 2
_PACKAGE: Final = Path(__file__).parents[1]


def report_failure(error: BaseException, session: Session) -> int:
    """Tell a failure of a running command and give its exit code."""
    if isinstance(error, KeyboardInterrupt) or session.stop.received:
        return report_interrupt(session)
    if isinstance(error, BrokenPipeError):
        # whoever read our output has seen enough; what was asked for as a file is complete
        discard_stdout()
        return AfterSpendError.exit_code if session.spent and not session.written else 0
    if session.debug:
        for line in trace(error):
            complain("debug", line)
    if isinstance(error, DiscreetError):
        heading, *details = error.lines if isinstance(error, DesignError) else [str(error)]
        complain("error", f"{heading}; {session.outcome}" if session.written else heading)
        for detail in details:
            complain_further(detail)
        return AfterSpendError.exit_code if session.spent else error.exit_code
    complain("error", f"unexpected failure ({type(error).__name__}); {session.outcome}. Run with --debug and report it")
    return AfterSpendError.exit_code if session.spent else BAD_INPUT


def report_interrupt(session: Session) -> int:
    """Tell that a signal stopped the command, and what is left behind."""
    complain("error", f"{session.stop.word}; {session.outcome}")
    return session.stop.exit_code


def report_usage(error: click.ClickException) -> int:
    """Tell in one line what is wrong with the arguments."""
    context = getattr(error, "ctx", None)
    hint = f" See '{context.command_path} --help'" if context is not None else ""
    message = " ".join(error.format_message().split())
    stop = "" if message.endswith((".", "?")) else "."
    complain("error", f"{message}{stop}{hint}")
    return BAD_INPUT


def trace(error: BaseException) -> Iterator[str]:
    """Our own frames and the types of the exceptions: no text of an exception, no source line, no local value."""
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield f"{type(link).__name__} passed through"
        for frame, line in traceback.walk_tb(link.__traceback__):
            path = Path(frame.f_code.co_filename)
            if path.is_relative_to(_PACKAGE):
                yield f"  discreet/{path.relative_to(_PACKAGE).as_posix()}:{line} in {frame.f_code.co_name}"
        link = link.__cause__ or link.__context__
