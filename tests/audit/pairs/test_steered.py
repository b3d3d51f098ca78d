"""Pairs steered by the other rows."""

from __future__ import annotations

import pytest

from discreet.audit.pairs import corner_pairs, worst_pairs
from discreet.design.design import Design

RELATIONS = ("add-remove", "replace")


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize(
    ("columns", "declared"),
    [
        ({"b": bool, "y": (0, 1)}, {}),
        ({"x": (0, 1), "y": bool}, {}),
        ({"b": bool, "g": ["a", "b", "c"], "y": (-1, 1)}, {"intercept": False, "radius": 0.5}),
    ],
)
def test_designs_that_cannot_be_steered_have_corner_pairs_alone(columns, declared, neighbours):
    design = Design("y", columns, unit={"neighbours": neighbours}, **declared)
    assert worst_pairs("output", design) == corner_pairs(design)
