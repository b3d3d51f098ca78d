"""A design in one line and as a table."""

from __future__ import annotations

import discreet

COLUMNS = {"y": (0, 1), "a<b": (18, 90), "g": ["n", "s"], "m": bool, "old": {"formula": "m * 2", "bounds": (0, 2)}}


def test_a_design_is_one_line():
    design = discreet.Design("y", COLUMNS, unit={"id": "who", "max_rows": 3})
    assert repr(design) == (
        "<Design of y on a<b, g, m, old: 5 columns, unit one person (who, at most 3 rows; add-remove)>"
    )


def test_a_notebook_shows_every_declaration():
    html = discreet.Design("y", COLUMNS, radius=1.5)._repr_html_()
    assert "a&lt;b" in html
    assert "bounds = [18" in html
    assert "levels = [" in html
    assert "ball of radius 1.5" in html
    assert html.count("<tr>") == 6
    assert "ball" not in discreet.Design("y", COLUMNS)._repr_html_()


def test_an_ingredient_of_formulas_is_named_as_such():
    design = discreet.Design("y", {"y": (0, 1), "x": {"bounds": (0, 1), "release": False}, "x2": {"formula": "x**2"}})
    assert "in formulas only" in design._repr_html_()
