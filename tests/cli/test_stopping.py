"""Signals that stop a command: which one it was, its word and its exit code."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from discreet.cli import command_session as stopping
from discreet.cli.command_session import Stop

STOPPED = {signal.SIGINT: (130, "interrupted"), signal.SIGTERM: (143, "terminated"), signal.SIGHUP: (129, "hung up")}


@pytest.mark.parametrize("sent", STOPPED)
def test_a_signal_interrupts_and_keeps_its_word_and_its_exit_code(sent):
    stop = Stop()
    stop.check()
    with pytest.raises(KeyboardInterrupt):
        stop(sent, None)
    assert stop.received
    assert (stop.exit_code, stop.word) == STOPPED[sent]
    with pytest.raises(KeyboardInterrupt):
        stop.check()


@pytest.mark.parametrize("sent", STOPPED)
def test_after_the_end_the_first_signal_is_said_once_and_stops_nothing(sent, monkeypatch):
    ends, said, stop = [], [], Stop()
    monkeypatch.setattr(stopping.os, "_exit", ends.append)
    stop.end(lambda: said.append(stop.word))
    stop._keep_exit_code()
    assert ends == [], "without a signal the exit code stays as it was"
    stop(sent, None)
    stop(signal.SIGTERM, None)
    code, word = STOPPED[sent]
    assert (said, stop.exit_code) == ([word], code)
    stop._keep_exit_code()
    assert ends == [code]


def test_a_signal_before_the_end_is_not_said_again_after_it(monkeypatch):
    ends, said, stop = [], [], Stop()
    monkeypatch.setattr(stopping.os, "_exit", ends.append)
    with pytest.raises(KeyboardInterrupt):
        stop(signal.SIGTERM, None)
    stop.end(lambda: said.append(stop.word))
    stop(signal.SIGHUP, None)
    stop._keep_exit_code()
    assert (said, ends, stop.exit_code) == ([], [], 143)


def test_a_signal_that_was_ignored_from_the_start_stays_ignored(monkeypatch):
    """As under nohup."""
    monkeypatch.setattr(stopping.atexit, "register", lambda _: None)
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    before = {sent: signal.getsignal(sent) for sent in STOPPED}
    stop = Stop()
    try:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        stop.handle_signals()
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
        assert signal.getsignal(signal.SIGTERM) is stop
    finally:
        for sent, handler in before.items():
            signal.signal(sent, handler)


@pytest.mark.parametrize("sent", STOPPED)
def test_a_signal_while_code_is_made_from_text_keeps_its_exit_code(sent, tmp_path):
    """As dataclasses do it, of which many are made while the program loads."""
    (tmp_path / "program.py").write_text(
        "import signal, sys\n"
        "from discreet.cli.command_session import Stop\n"
        # the parent may ignore it, as nohup does
        f"signal.signal({int(sent)}, signal.default_int_handler if {int(sent)} == 2 else signal.SIG_DFL)\n"
        "stop = Stop()\n"
        "stop.handle_signals()\n"
        "try:\n"
        f"    exec('signal.raise_signal({int(sent)})')\n"
        "except KeyboardInterrupt:\n"
        "    sys.exit(stop.exit_code)\n"
    )
    ended = subprocess.run([sys.executable, "-m", "program"], cwd=tmp_path, check=False)
    assert ended.returncode == STOPPED[sent][0]
