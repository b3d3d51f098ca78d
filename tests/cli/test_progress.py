"""Progress is shown on a terminal and only for long work."""

from __future__ import annotations

import sys
from io import StringIO

import pytest

from discreet.cli import terminal as progress_module
from discreet.cli.terminal import ReadProgress


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_a_long_read_on_a_terminal_shows_a_bar_and_a_short_one_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with ReadProgress() as progress:
        progress(0.5)
    # a timer that has fired while the work ended draws nothing
    progress._show()
    assert screen.getvalue() == ""
    monkeypatch.setattr(progress_module, "PATIENCE", 0.0)
    with ReadProgress() as progress:
        progress(0.25)
        progress._timer.join()
        progress(0.5)
    assert "reading" in screen.getvalue()
    assert "working" not in screen.getvalue()
    with ReadProgress() as progress:
        progress._timer.join()
        progress(1.0)
        progress(None)
    assert "working" in screen.getvalue()
    monkeypatch.setattr(sys, "stderr", StringIO())
    with ReadProgress() as progress:
        progress(0.5)
    assert sys.stderr.getvalue() == ""


def test_work_that_goes_on_after_a_short_read_is_shown_without_another_report(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress_module, "PATIENCE", 0.02)
    with ReadProgress() as progress:
        progress(1.0)
        progress(None)
        progress._timer.join()
    assert "working" in screen.getvalue()
    assert "reading" not in screen.getvalue()
