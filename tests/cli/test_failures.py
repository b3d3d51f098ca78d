"""Failures become one message and an exit code."""

from __future__ import annotations

from discreet.cli.main import trace


def test_a_trace_ends_even_if_exceptions_go_round_in_a_circle() -> None:
    first, second = ValueError("918273.5"), KeyError("918273.5")
    first.__cause__, second.__cause__ = second, first
    assert list(trace(first)) == ["ValueError passed through", "KeyError passed through"]
