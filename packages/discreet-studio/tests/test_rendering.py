"""Templates escape everything and show hidden characters."""

from __future__ import annotations

import pytest
from jinja2 import UndefinedError

from discreet_studio.rendering import environment, number, pairs, share, visible


def test_what_is_printed_is_escaped_and_visible():
    text = environment().from_string("{{ a }}").render(a="<b>\u202e\x00")
    assert text == "&lt;b&gt;\\u202e\\x00"
    assert visible("a\nb") == "a\nb"


def test_a_name_that_is_not_there_fails():
    with pytest.raises(UndefinedError):
        environment().from_string("{{ nothing }}").render()


def test_numbers_and_choices():
    assert [number(value) for value in (None, 12345.6, 0.123456)] == ["–", "12,346", "0.1235"]
    assert share(0.5) == "50%"
    assert pairs(["a", "b"]) == [("a", "a"), ("b", "b")]
