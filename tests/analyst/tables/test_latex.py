"""LaTeX with the rules of booktabs, and names that cannot command it."""

from __future__ import annotations

import re

import pytest

from discreet.analyst.tables.formats import Grid, latex_table
from discreet.analyst.tables.formats import latex_escaped as escaped

GRID = Grid("t", (("", "(1)"),), (("a-1", "-1.5"), ("", "(1e-05)")), (("R²", "–"),), ("A note.",))


def test_the_rules_are_those_of_booktabs_in_their_order():
    rules = re.findall(r"\\(toprule|midrule|bottomrule)", latex_table(GRID))
    assert rules == ["toprule", "midrule", "midrule", "bottomrule"]
    text = latex_table(GRID)
    assert r"a-1 & $-$1.5 \\" in text
    assert r" & (1e-05) \\" in text
    assert r"R\textsuperscript{2} & -- \\" in text


def test_without_notes_and_statistics_there_is_less():
    text = latex_table(Grid("t", (("", "(1)"),), (("a", "1"),), (), ()), caption="50% of_it", label="tab:one")
    assert text.count(r"\midrule") == 1
    assert "parbox" not in text
    assert r"\caption{50\% of\_it}" in text
    assert r"\label{tab:one}" in text


@pytest.mark.parametrize("sign", list("\\{}$&#%_^~"))
def test_no_character_with_a_meaning_is_left_alone(sign):
    shown = escaped(f"a{sign}b")
    # what is left after the known spellings is text
    rest = re.sub(r"\\(text[a-z]+\{\}|[{}$&#%_])", "", shown)
    assert sign not in rest


def test_every_row_has_as_many_cells_as_columns():
    text = latex_table(Grid("t", (("", "a&b"),), (("x\\\\y", "1"), ("[opt]", "2")), (), ()))
    rows = [line for line in text.splitlines() if line.endswith(r" \\")]
    assert [len(re.findall(r"(?<!\\)&", row)) for row in rows] == [1, 1, 1]
    assert not any(row.startswith("[") for row in rows)
