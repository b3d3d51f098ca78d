"""Tables of fixed width."""

from __future__ import annotations

from discreet.analyst.tables.formats import Grid, text_table


def test_parts_stand_between_rules_and_notes_are_wrapped():
    grid = Grid("t\x1b[31m", (("", "(1)"),), (("a\nb", "-1.5"),), (), ("word " * 40,))
    lines = text_table(grid).splitlines()
    assert lines[0] == r"t\x1b[31m"
    assert lines[4] == r"a\nb  -1.5"
    assert lines.count("-" * 10) == 3
    assert max(map(len, lines)) <= 72
