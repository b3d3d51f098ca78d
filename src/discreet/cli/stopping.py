"""Signals that stop a command: each ends it like Ctrl-C does, and with the exit code of its own."""

from __future__ import annotations

import atexit
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Final

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
