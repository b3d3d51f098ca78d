"""No page gives advice that only a command line or Python could follow."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import discreet
from discreet.errors import DataError, OptionError
from discreet.wording import Call, LeaveOut, Message, Option, SetOption
from discreet_studio import advice
from discreet_studio.advice import BOXES, SCREENS, TICKS, WITHOUT, here
from discreet_studio.views.release_settings import OPTIONS, ROBUST
from support.studio_client import Browser


@pytest.mark.parametrize("name", [*BOXES, *TICKS, *WITHOUT, "allow_weak_privacy", "new_release"])
def test_no_option_or_command_is_left(name):
    value = "utf-16" if name in BOXES else True
    text = here(Message(SetOption(name, value), "; ", Option(name, value), "; ", LeaveOut(name)))
    assert not re.search(r"--[a-z]|discreet [a-z]|=True|[a-z]_[a-z]", text), text


@pytest.mark.parametrize("function", ["Ledger.grant", "Ledger.create", "discreet.check", "discreet.merge"])
def test_functions_are_pages(function):
    assert "." not in here(Call(function, "raise the budget"))
    assert here(Call(function)).startswith("the ")


def test_boxes_that_are_named_are_there():
    pages = "".join(one.read_text() for one in sorted((Path(advice.__file__).parent / "templates").iterdir()))
    # the plan has a field for each of these; a test of the plan looks for their labels
    pages += " ".join(one.label for one in (*OPTIONS.values(), *ROBUST.values()))
    labels = [label for label, _ in (*BOXES.values(), *TICKS.values())]
    for name in [*labels, *re.findall("“([^”]+)”", " ".join(WITHOUT.values()))]:
        assert name in pages, name


def test_an_error_and_its_remedy_are_worded_for_the_screens():
    error = DataError("the file is UTF-16 text", option="encoding", remedy=SetOption("encoding", "utf-16"))
    assert here(error) == "the file is UTF-16 text; write utf-16 under “Encoding” on the table page"
    refusal = OptionError(option="delimiter", given=";;", allowed="one character")
    assert here(refusal) == "expected one character for “Separator” on the table page, got ';;'"
    assert here("plain") == "plain"
    both = OptionError("no level", remedy=(SetOption("level", 0.95), SetOption("alpha", 0.05)))
    assert here(both) == "no level; write 95 under “Level of the intervals, %” on the analyse page"
    assert isinstance(error, discreet.DiscreetError)
    assert SCREENS.install("plots").endswith("'discreet[plots]'")


def test_what_a_page_says_of_a_weak_budget(tmp_path):
    answer = Browser(tmp_path).declared().post("/plan", {"rows": "400", "epsilon": "50"})
    assert answer.status_code == 422
    assert "the studio does not allow epsilon above 20" in answer.text
    assert "--allow" not in answer.text
