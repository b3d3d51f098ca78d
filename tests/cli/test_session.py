"""A command runs with signals, streams and errors in hand."""

from __future__ import annotations

import signal

import pytest

from discreet.cli.failures import report_failure
from discreet.cli.session import Session


def test_a_library_that_makes_an_error_of_its_own_of_a_signal_does_not_hide_it() -> None:
    session = Session()
    with pytest.raises(KeyboardInterrupt):
        session.stop(signal.SIGTERM, None)
    assert report_failure(RuntimeError("Query interrupted"), session) == 143
    assert report_failure(RuntimeError("another"), Session()) == 2
