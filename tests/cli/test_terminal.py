"""Streams that fail, close or cannot encode."""

from __future__ import annotations

import errno
import sys
import warnings
from io import BytesIO, StringIO, TextIOWrapper

import pytest

from discreet.cli import terminal
from discreet.cli.terminal import complain, discard_stdout, never_fail_to_encode, notices_on_stderr
from discreet.errors import OutputError


def test_a_failure_of_stdout_is_told_in_our_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(terminal, "discard_stdout", lambda: None)
    monkeypatch.setattr(terminal.click, "echo", full)
    with pytest.raises(OutputError, match="standard output: No space left"):
        terminal.say("text")
    monkeypatch.setattr(sys, "stdout", None)
    terminal.flush()


def test_warnings_of_other_libraries_are_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with notices_on_stderr():
        warnings.warn("cell 918273.5", RuntimeWarning, stacklevel=1)
        warnings.warn("cell 918273.5", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == ""


def test_a_stderr_that_cannot_be_written_does_not_stop_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    complain("notice", "unheard")


def test_streams_without_an_encoding_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = BytesIO()
    ascii_only = TextIOWrapper(raw, encoding="ascii")
    never_fail_to_encode(None, StringIO(), ascii_only)
    ascii_only.write("ü")
    ascii_only.flush()
    assert raw.getvalue() == b"\\xfc"
    monkeypatch.setattr(sys, "stdout", None)
    discard_stdout()
