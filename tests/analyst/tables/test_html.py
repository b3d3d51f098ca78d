"""HTML that shows every name as it is and loads nothing."""

from __future__ import annotations

from html.parser import HTMLParser

from discreet.analyst.tables.formats import Grid, html_grid, html_page

GRID = Grid("<t>", (("", "(1)"),), (('<script>"&', "-1.5"), ("", "(2)")), (("Rows", "9"),), ("A <b>note</b>.",))


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.text, self.open = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def read(text):
    reader = Reader()
    reader.feed(text)
    assert reader.open == []
    return reader


def test_a_browser_shows_every_name_as_it_is_written():
    reader = read(html_grid(GRID))
    assert {"script", "b", "t"}.isdisjoint(reader.tags)
    assert {"<t>", '<script>"&', "-1.5", "A <b>note</b>."} <= set(reader.text)
    assert reader.tags.count("tbody") == 2


def test_a_page_is_whole_and_forbids_itself_to_load_anything():
    text = html_page(GRID)
    assert read(text).tags[:2] == ["html", "head"]
    assert "default-src 'none'" in text
    assert "&lt;t&gt;</title>" in text


def test_without_notes_there_is_no_place_for_them():
    assert "<p" not in html_grid(Grid("t", (("", "(1)"),), (("a", "1"),), (), ()))
