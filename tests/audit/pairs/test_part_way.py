"""Pairs whose row goes part of the way: they move sums that no pair of corners moves as far."""

from __future__ import annotations

import numpy as np

from discreet.audit.pairs import corner_pairs, l1_pairs, middle_target_pairs
from discreet.design.design import Design

COLUMNS = {"x": (0, 10), "b": bool, "g": ["red", "green", "blue"], "y": (-5, 5)}


def l1_change(pair) -> float:
    """Change of all sums of products of (1, x, y), both scaled to [-1, 1]."""

    def sums(table):
        row = np.array([1.0, table["x"][0], table["y"][0]])
        return np.outer(row, row)[np.triu_indices(3)]

    return float(np.abs(sums(pair.table) - sums(pair.neighbour)).sum())


def test_where_rows_come_and_go_the_corners_are_all():
    design = Design("y", COLUMNS)
    assert l1_pairs(design) == corner_pairs(design)


def test_replaced_rows_lie_inside_their_bounds_and_differ():
    design = Design("y", COLUMNS, unit={"neighbours": "replace"})
    pairs = l1_pairs(design)
    assert pairs[: len(corner_pairs(design))] == corner_pairs(design)
    assert len({pair.name for pair in pairs}) == len(pairs) > 30
    for pair in pairs:
        assert pair.table != pair.neighbour, pair.name
        for side in (pair.table, pair.neighbour):
            assert {name: len(cells) for name, cells in side.items()} == dict.fromkeys(COLUMNS, 1)
            assert 0 <= side["x"][0] <= 10
            assert -5 <= side["y"][0] <= 5
            assert side["g"][0] in COLUMNS["g"]


def test_part_of_the_way_is_farther_than_from_corner_to_corner():
    """From (1, 1, 1) to (1, u, v): the changes 1-u + 1-v + 1-u^2 + 1-uv + 1-v^2 are largest inside the box."""
    design = Design("y", {"x": (-1, 1), "y": (-1, 1)}, unit={"neighbours": "replace"})
    grid = np.linspace(-1, 1, 401)
    u, v = np.meshgrid(grid, grid)
    largest = float(np.max((1 - u) + (1 - v) + (1 - u**2) + np.abs(1 - u * v) + (1 - v**2)))
    best = max(map(l1_change, l1_pairs(design)))
    assert 0.98 * largest < best <= largest + 1e-12
    assert max(map(l1_change, corner_pairs(design))) < 0.98 * largest


def test_no_two_pairs_are_the_same():
    for columns in (COLUMNS, {"b": bool, "y": bool}, {"x": (-1, 1), "y": (-1, 1)}):
        pairs = l1_pairs(Design("y", columns, unit={"neighbours": "replace"}))
        rows = [tuple(map(tuple, pair.neighbour.values())) for pair in pairs]
        assert len({pair.name for pair in pairs}) == len(set(rows)) == len(pairs)


def test_a_target_in_the_middle_moves_its_square_where_opposite_ones_do_not():
    design = Design("y", COLUMNS, unit={"neighbours": "replace"})
    pairs = middle_target_pairs(design)
    corners = corner_pairs(design)
    assert pairs[: len(corners)] == corners
    middle = pairs[len(corners) :]
    assert len(middle) == sum("y" in pair.name.removeprefix("replace ").split(", ") for pair in corners)
    assert {pair.neighbour["y"][0] for pair in middle} == {0.0}
    assert all(abs(pair.neighbour["y"][0]) == 5 for pair in corners)


def test_without_numeric_targets_that_are_exchanged_the_corners_are_all():
    for design in (Design("y", COLUMNS), Design("b", COLUMNS, unit={"neighbours": "replace"})):
        assert middle_target_pairs(design) == corner_pairs(design)
