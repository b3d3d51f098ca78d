"""Options of the command line become settings."""

from __future__ import annotations

import pytest

from discreet.cli.options import settings_table
from discreet.errors import SpecError


def test_words_of_the_command_line_become_a_table():
    assert settings_table(("passes=4", " form = moment ")) == {"passes": "4", "form": "moment"}
    assert settings_table(()) == {}


@pytest.mark.parametrize("words", [("passes",), ("=4",), ("passes=4", "passes=5")])
def test_words_that_are_no_settings_are_refused(words):
    with pytest.raises(SpecError, match="as NAME=VALUE"):
        settings_table(words)
