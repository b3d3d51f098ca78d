"""Pairs of tables that differ in a corner row."""

from __future__ import annotations

from discreet.audit.pairs import orthogonal_row_pairs, worst_pairs
from discreet.design.design import Design

ONE_COLUMN = {"x": (-1, 1), "y": (-1, 1)}


def test_designs_without_a_row_at_right_angles_have_the_other_pairs():
    for design in (
        Design("y", ONE_COLUMN, intercept=False),
        Design("y", {"y": bool, "x": (0, 1)}),
        Design("y", {"y": (0, 1), "b": bool}),
        Design("y", ONE_COLUMN, unit={"neighbours": "replace"}),
    ):
        assert orthogonal_row_pairs(design) == ()
        assert worst_pairs("objective", design)
