"""Text that commands nothing, in a terminal or on a page."""

from __future__ import annotations

import sys
import unicodedata
from html.parser import HTMLParser

import pytest

from discreet.design.design import Design
from discreet.errors import DiscreetError
from discreet.text import escape_control, has_invisible_characters, html_table, lookalikes


def test_a_table_of_html_obeys_no_character_of_its_cells():
    table = html_table("a\u2028", ["b\ue000"], [["c\x1b[31m<i>"]], ["two\nlines\u202e"])
    for said in (r"<caption>a\u2028<", r">b\ue000<", r">c\x1b[31m&lt;i&gt;<", "<p>two\nlines\\u202e</p>"):
        assert said in table


# Default_Ignorable_Code_Point of the categories of letters and marks, and the empty pattern of Braille
BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
BLANK += "".join(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))


def test_one_rule_decides_over_all_of_unicode_what_is_refused_in_names_and_escaped_in_print():
    by_category = {}
    for character in map(chr, range(sys.maxunicode + 1)):
        refused = has_invisible_characters(character)
        assert refused == (escape_control(character) != character), hex(ord(character))
        by_category.setdefault(unicodedata.category(character), []).append((character, refused))
    assert len(by_category) == 30
    for category, characters in by_category.items():
        refused = {character for character, hidden in characters if hidden}
        if category[0] == "C" or category in ("Zl", "Zp"):
            assert len(refused) == len(characters), category
        else:
            assert refused == {one for one in BLANK if unicodedata.category(one) == category}, category


@pytest.mark.parametrize(
    "character",
    ["\n", "\x1b", "\x7f", "\x85", "\x9b", "\xad", "\u061c", "\u200b", "\u200e", "\u2028", "\u2029", "\u202e",
     "\u2060", "\u2066", "\ufeff", "\ufff9", "\U000e0001", "\U000e0041", "\ud800", "\ue000", "\u0378", *BLANK[:12]],
)  # fmt: skip
def test_no_name_or_level_of_a_design_holds_a_character_that_cannot_be_seen(character):
    name = f"a{character}b"
    wrong = [
        {"y": (0, 1), name: (0, 1)},
        {"y": (0, 1), "g": ["p", name]},
        {"y": (0, 1), "g": {"levels": ["p", "q"], "reference": name}},
    ]
    for columns in wrong:
        with pytest.raises(DiscreetError) as caught:
            Design("y", columns)
        assert "invisible" in str(caught.value) or "reference" in str(caught.value)
    with pytest.raises(DiscreetError):
        Design("y", {"y": (0, 1), "x": (0, 1)}, unit={"id": name, "max_rows": 2})


def test_no_character_that_is_hidden_is_left_and_every_other_is():
    # every character of the common scripts, a sample of the others, and ends of the hidden ranges
    codes = [*range(0x3000), *range(0x3000, sys.maxunicode, 997), 0xD800, 0xE000, 0xFEFF, 0xE0001, sys.maxunicode]
    for character in map(chr, codes):
        category = unicodedata.category(character)
        if category[0] == "C" or category in ("Zl", "Zp") or character in BLANK:
            escaped = escape_control(character)
            assert escaped.isascii()
            assert escaped.isprintable()
            # a reader of escapes gets the character back
            assert escaped.encode().decode("unicode_escape") == character
        else:
            assert escape_control(character) == character


def test_what_is_asked_to_be_kept_is_kept_and_nothing_else():
    assert escape_control("a\nb\tc", keep="\n") == "a\nb\\tc"
    assert escape_control("a\nb") == "a\\nb"


class Tags(HTMLParser):
    """Names of the tags of a page, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(page: str) -> Tags:
    tags = Tags()
    tags.feed(page)
    return tags


def test_no_cell_title_or_note_can_add_a_tag_to_a_table():
    evil = '</td><script>alert("x")</script>&amp;'
    found = read(html_table(evil, [evil, "b"], [[evil, evil]], [evil]))
    assert found.tags == ["div", "table", "caption", "thead", "tr", "th", "th", "tbody", "tr", "td", "td", "p"]
    assert found.text.count(evil) == 5
    assert "script" in read(evil).tags


def test_only_the_first_column_is_set_to_the_left_and_only_notes_need_a_frame():
    page = html_table("t", ["name", "value"], [["x", "1"], ["y", "2"]], [])
    assert page.count("text-align:left") == 3
    assert page.startswith("<table>")
    assert html_table("t", ["name"], [], ["note"]).endswith("<p>note</p></div>")


def test_names_that_people_take_for_each_other_are_found_and_no_others():
    alike = [
        ("north", "NORTH"),
        ("north", "n\u043erth"),
        ("caf\xe9", "cafe\u0301"),
        ("a b", "a\u00a0 b"),
        ("\u0391A", "AA"),
    ]
    for pair in alike:
        assert list(lookalikes(pair)) == [pair]
        assert list(lookalikes(pair[::-1])) == [pair[::-1]]
    assert list(lookalikes(["s\xfcd", "sud", "\u6771", "\u041e\u043c\u0441\u043a", "ward 1", "ward 2", "l", "1"])) == []
    # three of one shape are two pairs, with the first of them
    assert list(lookalikes(["a", "A", "\u0430"])) == [("a", "A"), ("a", "\u0430")]
