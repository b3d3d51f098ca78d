"""Markdown shows every name as it is."""

from __future__ import annotations

from markdown_it import MarkdownIt

from discreet.analyst.tables.formats import Grid, markdown_table

NAMES = ("a|b", "*bold*", "_x_", "<script>", "[a](b)", "`code`", "a\\b", "&amp;", "~~x~~", "![i](u)", "$x^2$", "a\nb")


def cells(text):
    """What a reader of Markdown sees in the first column, and the tags of the page."""
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    inline = [token for token in tokens if token.type == "inline"]
    shown = ["".join(child.content for child in token.children) for token in inline]
    kinds = {child.type for token in inline[1:] for child in token.children}
    return shown, kinds


def test_a_reader_sees_every_name_as_it_is_written():
    grid = Grid("t*", (("", "(1)"),), tuple((name, "-1.5") for name in NAMES), (), ("A <b>note</b>.",))
    shown, kinds = cells(markdown_table(grid))
    assert shown[0] == "t*"
    assert shown[3:-1:2] == [*NAMES[:-1], r"a\nb"]
    assert shown[-1] == "A <b>note</b>."
    assert kinds <= {"text", "text_special"}


def test_a_name_that_is_not_escaped_is_seen():
    shown, kinds = cells("| a | b |\n| --- | --- |\n| *bold* | 1 |\n| x|y | 1 |")
    assert "em_open" in kinds
    assert "x" in shown
