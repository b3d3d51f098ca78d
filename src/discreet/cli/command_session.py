"""What a run of a command has done so far, and handling of signals."""

from __future__ import annotations

import atexit
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Final

# -- stopping ----------------------------------------------------------------------------------------------------------
# Signals that stop a command. Each ends it as Ctrl-C does, with a separate exit code.

_WORDS: Final = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "hung up"}
_BASE: Final = 128  # shells add this to the number of a signal


class Stop:
    """The signal that stopped the command, if any.

    It is stored here because a library that is running when the signal arrives may raise a different exception.

    >>> stop = Stop()
    >>> stop.received, stop.word, stop.exit_code
    (False, 'interrupted', 130)
    """

    def __init__(self) -> None:
        self._signal: signal.Signals | None = None
        self._tell: Callable[[], object] | None = None
        self._late = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal: stop the command, or report the signal if the command has already ended."""
        if self._tell is None:
            self._signal = signal.Signals(number)
            raise KeyboardInterrupt
        if not self.received:
            self._signal, self._late = signal.Signals(number), True
            self._tell()

    def end(self, tell: Callable[[], object]) -> None:
        """Mark the command as ended, and call `tell` on the next signal instead of stopping."""
        self._tell = tell

    def handle_signals(self) -> None:
        """Handle every signal that asks a program to end, except signals that were already ignored."""
        known = sys.unraisablehook
        sys.unraisablehook = lambda one: None if one.exc_type is KeyboardInterrupt else known(one)
        # called after every function registered later, which includes all cleanup
        atexit.register(self._keep_exit_code)
        for one in signal.Signals:
            if one.name in _WORDS and signal.getsignal(one) != signal.SIG_IGN:
                signal.signal(one, self)

    def accept(self) -> None:
        """Treat the signal as the ordinary end of the command, so that it is not reported.

        >>> stop = Stop()
        >>> stop._signal = signal.SIGINT
        >>> stop.accept()
        >>> stop.received
        False
        """
        self._signal = None

    def check(self) -> None:
        """Raise the interrupt again if a callback of the interpreter swallowed it."""
        if self.received:
            raise KeyboardInterrupt

    @property
    def received(self) -> bool:
        """Whether a signal has arrived."""
        return self._signal is not None

    @property
    def word(self) -> str:
        """Word for the signal that ended the command."""
        return _WORDS[self._last.name]

    @property
    def exit_code(self) -> int:
        """The exit code for the shell."""
        return _BASE + self._last

    def _keep_exit_code(self) -> None:
        # an interrupt in code that is compiled from text, such as a dataclass method, is marked as unhandled, and
        # `python -m` would then end by SIGINT whatever the exit code; running other such code removes the mark
        exec("")
        # the interpreter keeps the exit code that was set before the signal
        if self._late:
            os._exit(self.exit_code)

    @property
    def _last(self) -> signal.Signals:
        return signal.SIGINT if self._signal is None else self._signal


# -- session -----------------------------------------------------------------------------------------------------------
# What a run of the command line has done so far, for error messages.


@dataclass
class Session:
    """Facts about the running command, for error messages."""

    debug: bool = False  # whether to print a trace of our own frames
    as_json: bool = False  # whether to print one JSON document, also for an error
    spent: str = ""  # description of the budget spent on private rows; empty if none was
    kept: str = ""  # what a command that works in parts leaves behind, and how to continue; empty for any other
    asking: bool = False  # whether a ledger is handling the request, so that the spend may already be recorded
    again: str = ""  # how to finish at no additional cost; empty without a ledger
    request: str = ""  # the ledger's name of the request; empty without a ledger
    repeated: bool = False  # whether the ledger had the request already, so that this run spends nothing
    balance: Callable[[], str] = str  # what the data set has spent and has left; returns "" without a ledger
    stop: Stop = field(default_factory=Stop)
    _outputs: dict[str, int | None] = field(default_factory=dict)

    def will_write(self, *outputs: str) -> None:
        """Remember the output files as the user named them, and whether they exist before they are written."""
        self._outputs |= {output: _file_number(output) for output in outputs}

    @property
    def written(self) -> list[str]:
        """Output files that are complete, recognised by a new inode number because files are replaced in one step."""
        return [output for output, before in self._outputs.items() if _file_number(output) not in (None, before)]

    @property
    def outcome(self) -> str:
        """Description of what was spent and written so far.

        >>> Session().outcome, Session(spent="epsilon = 1").outcome
        ('nothing was written', 'the budget was spent (epsilon = 1), but nothing was written')
        """
        if self.kept:
            return self.kept
        spent = f"the budget was spent ({self.spent})" if self.spent else ""
        if self.written:
            files = f"already written: {', '.join(map(repr, self.written))}"
            return f"{spent}; {files}" if spent else files
        again = f"; {self.again}" if self.again else ""
        if spent:
            return f"{spent}, but nothing was written{again}"
        return f"nothing was written, but the spend may be recorded{again}" if self.asking else "nothing was written"


def _file_number(output: str) -> int | None:
    """Return the inode number of a file, or None if there is no file."""
    try:
        return Path(output).lstat().st_ino
    except (OSError, ValueError):
        return None
