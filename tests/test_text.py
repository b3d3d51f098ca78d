"""Text that commands nothing, in a terminal or on a page."""

from __future__ import annotations

import sys
import unicodedata
from html.parser import HTMLParser

from discreet.text import escape_control, html_table, lookalikes


def test_a_table_of_html_obeys_no_character_of_its_cells():
    table = html_table("a\u2028", ["b\ue000"], [["c\x1b[31m<i>"]], ["two\nlines\u202e"])
    for said in (r"<caption>a\u2028<", r">b\ue000<", r">c\x1b[31m&lt;i&gt;<", "<p>two\nlines\\u202e</p>"):
        assert said in table


def test_no_character_that_is_hidden_is_left_and_every_other_is():
    # every character of the common scripts, a sample of the others, and ends of the hidden ranges
    codes = [*range(0x3000), *range(0x3000, sys.maxunicode, 997), 0xD800, 0xE000, 0xFEFF, 0xE0001, sys.maxunicode]
    for character in map(chr, codes):
        category = unicodedata.category(character)
        if category[0] == "C" or category in ("Zl", "Zp"):
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
