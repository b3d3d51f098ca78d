"""Signals that stop a command: each ends it like Ctrl-C does, and with the exit code of its own."""

from __future__ import annotations

import signal
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

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        self._signal = signal.Signals(number)
        raise KeyboardInterrupt

    def handle_signals(self) -> None:
        """Take every signal that asks a program to end; one that was ignored from the start stays ignored."""
        for one in signal.Signals:
            if one.name in _WORDS and signal.getsignal(one) != signal.SIG_IGN:
                signal.signal(one, self)

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
        """What the shell is told."""
        return _BASE + self._last

    @property
    def _last(self) -> signal.Signals:
        return signal.SIGINT if self._signal is None else self._signal
