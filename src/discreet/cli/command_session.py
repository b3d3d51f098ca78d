"""Track what a run of the command has done, and handle signals."""

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
# Signals that stop a command: each ends it like Ctrl-C does, and with the exit code of its own.

_WORDS: Final = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "hung up"}
_BASE: Final = 128  # what shells add to the number of a signal


class Stop:
    """The signal that stopped the command, if one did.

    It is kept here, because libraries that are at work when it arrives may raise an exception of their own instead.

    >>> stop = Stop()
    >>> stop.received, stop.word, stop.exit_code
    (False, 'interrupted', 130)
    """

    def __init__(self) -> None:
        self._signal: signal.Signals | None = None
        self._tell: Callable[[], object] | None = None
        self._late = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal: stop the command, or once it has ended tell of the signal."""
        if self._tell is None:
            self._signal = signal.Signals(number)
            raise KeyboardInterrupt
        if not self.received:
            self._signal, self._late = signal.Signals(number), True
            self._tell()

    def end(self, tell: Callable[[], object]) -> None:
        """Say that the command has ended and how the first signal from now on is reported; none stops anything."""
        self._tell = tell

    def handle_signals(self) -> None:
        """Take every signal that asks a program to end; one that was ignored from the start stays ignored."""
        known = sys.unraisablehook
        sys.unraisablehook = lambda one: None if one.exc_type is KeyboardInterrupt else known(one)
        # it is called after whatever is registered later, as all clearing up is
        atexit.register(self._keep_exit_code)
        for one in signal.Signals:
            if one.name in _WORDS and signal.getsignal(one) != signal.SIG_IGN:
                signal.signal(one, self)

    def accept(self) -> None:
        """Say that a signal was the ordinary end of the command, so that it is not reported.

        >>> stop = Stop()
        >>> stop._signal = signal.SIGINT
        >>> stop.accept()
        >>> stop.received
        False
        """
        self._signal = None

    def check(self) -> None:
        """Raise the interrupt again where a callback of the interpreter swallowed it."""
        if self.received:
            raise KeyboardInterrupt

    @property
    def received(self) -> bool:
        """Whether a signal has arrived."""
        return self._signal is not None

    @property
    def word(self) -> str:
        """What happened to the command."""
        return _WORDS[self._last.name]

    @property
    def exit_code(self) -> int:
        """What is reported to the shell."""
        return _BASE + self._last

    def _keep_exit_code(self) -> None:
        # an interrupt inside code that is compiled from text, such as that of a dataclass, is marked as unhandled, and
        # `python -m` would end by SIGINT whatever the exit code; any other such code takes the mark away
        exec("")
        # the interpreter keeps the exit code that it was given before the signal
        if self._late:
            os._exit(self.exit_code)

    @property
    def _last(self) -> signal.Signals:
        return signal.SIGINT if self._signal is None else self._signal


# -- session -----------------------------------------------------------------------------------------------------------
# What one run of the command line has done so far: the facts that an error message needs.


@dataclass
class Session:
    """Facts about the running command.

    Attributes
    ----------
    debug
        Whether a trace of our own frames was asked for.
    spent
        The budget that has been spent on private rows, in words; empty if none was.
    asking
        Whether a ledger is being asked: the spend may be recorded, though nothing has said so yet.
    again
        How to finish what was spent on, at no further cost, in words; empty where nobody keeps count.
    request
        Name under which a ledger has the request; empty without a ledger.
    repeated
        Whether the ledger had the request before, so that this run spends nothing.
    balance
        Says in one sentence what the data set has spent and what is left; nothing without a ledger.
    stop
        The signal that stopped the command, if one did.
    kept
        What a command that works in parts leaves behind, and how to go on, in words; empty for any other.
    """

    debug: bool = False
    spent: str = ""
    kept: str = ""
    asking: bool = False
    again: str = ""
    request: str = ""
    repeated: bool = False
    balance: Callable[[], str] = str
    stop: Stop = field(default_factory=Stop)
    _outputs: dict[str, int | None] = field(default_factory=dict)

    def will_write(self, *outputs: str) -> None:
        """Remember files that are about to be written, as the user named them, and what is there now."""
        self._outputs |= {output: _file_number(output) for output in outputs}

    @property
    def written(self) -> list[str]:
        """Files that are complete. A whole file takes the place of another at once, so its number tells."""
        return [output for output, before in self._outputs.items() if _file_number(output) not in (None, before)]

    @property
    def outcome(self) -> str:
        """What is left behind if the command ends here.

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
    """The number under which the system keeps a file; none where there is no file."""
    try:
        return Path(output).lstat().st_ino
    except (OSError, ValueError):
        return None
