"""Cells before they are written."""

from __future__ import annotations

from discreet.analyst.tables.formats import Grid


def test_a_grid_knows_its_rows_and_width():
    grid = Grid("t", (("", "(1)"), ("Target", "y")), (("a", "1"),), (("Rows", "9"),), ())
    assert grid.width == 2
    assert grid.rows == (("", "(1)"), ("Target", "y"), ("a", "1"), ("Rows", "9"))
