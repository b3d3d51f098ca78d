"""No page gives advice that only a command line could follow."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import discreet
from discreet.studio import advice
from discreet.studio.advice import BOXES, said
from support.studio_client import Browser


def joined_source() -> str:
    """The library's texts with the breaks between the parts of a literal taken out."""
    root = Path(discreet.__file__).parent
    rooms = ("analyst", "design", "ledger", "mechanisms", "privacy", "releases", "tables")
    texts = [path.read_text() for room in rooms for path in sorted((root / room).rglob("*.py"))]
    return re.sub(r"[\"']\s*\n\s*f?[\"']", "", "\n".join(texts))


def test_every_advice_is_one_that_the_library_gives():
    source = joined_source()
    assert [words for words in BOXES if words not in source] == []


@pytest.mark.parametrize("words", BOXES)
def test_no_option_or_command_is_left(words):
    text = said(f"refused; {words}")
    assert not re.search(r"--[a-z]|discreet [a-z]|=True", text), text


def test_boxes_that_are_named_are_there():
    pages = "".join(one.read_text() for one in sorted((Path(advice.__file__).parent / "templates").iterdir()))
    for name in re.findall("“([^”]+)”", " ".join(BOXES.values())):
        assert name in pages, name


def test_what_a_page_says_of_a_weak_budget(tmp_path):
    answer = Browser(tmp_path).declared().post("/plan", {"rows": "400", "epsilon": "50"})
    assert answer.status_code == 422
    assert "the studio makes no such release" in answer.text
    assert "--allow" not in answer.text
