"""A release describes each declared column in one line."""

from __future__ import annotations

import discreet
from discreet.design.model_columns import parse_model
from discreet.releases.release_summary import describe_column

DESIGN = discreet.Design(
    "y",
    {
        "y": (0, 1),
        "x": (0, 2),
        "b": bool,
        "g": ["a", "b", "c"],
        "xg": {"formula": "x:g"},
        "bg": {"formula": "b:g"},
    },
)


def test_all_levels_and_values_of_a_column_are_described():
    described = {name: describe_column(column, all_levels=True) for name, column in DESIGN.columns.items()}
    assert described["g"] == "a (reference), b, c"
    assert described["b"] == "0 or 1"
    assert described["xg"].endswith("and 0 in other rows, 2 columns")
    assert described["bg"] == "0 and 1, 2 columns"


def test_a_level_may_be_written_with_a_blank_or_a_quoted_name():
    for formula in ("y ~ g [b]", "y ~ `g`[b]"):
        assert tuple(parse_model(formula, DESIGN).features) == ("g[b]",), formula
