"""A command runs with signals, streams and errors in hand."""

from __future__ import annotations

import signal

import pytest

from discreet.cli.command_session import Session
from discreet.cli.main import report_failure


def test_a_library_that_makes_an_error_of_its_own_of_a_signal_does_not_hide_it() -> None:
    session = Session()
    with pytest.raises(KeyboardInterrupt):
        session.stop(signal.SIGTERM, None)
    assert report_failure(RuntimeError("Query interrupted"), session) == 143
    assert report_failure(RuntimeError("another"), Session()) == 2


def test_after_a_recorded_spend_the_same_command_is_named() -> None:
    assert Session(spent="epsilon = 1").outcome == "the budget was spent (epsilon = 1), but nothing was written"
    told = Session(spent="epsilon = 1, request march", again="the same command finishes it free").outcome
    assert told.endswith("but nothing was written; the same command finishes it free")
    asked = Session(asking=True, again="the same command finishes it free").outcome
    assert asked == "nothing was written, but the spend may be recorded; the same command finishes it free"
    # a request that was recorded before spends nothing now
    assert Session(request="march", repeated=True).outcome == "nothing was written"
