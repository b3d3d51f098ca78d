"""Sensitivities of what privately scaled moments release; whole runs on neighbouring tables are in tests/mechanisms."""

from __future__ import annotations

import math

import pytest

from discreet.accounting.scaling import ScaledMomentsQuery, scaled_queries, target_searched, weighted_domain
from discreet.design.design import Design
from discreet.design.domain import RowDomain, norm2

COLUMNS = {"x": (-1, 1), "z": (-2, 2), "b": bool, "y": (-1, 1)}


def sensitivities(neighbours, *, robust=False, rows=1):
    unit = {"neighbours": neighbours} | ({"id": "p", "max_rows": rows} if rows > 1 else {})
    return {name: query.sensitivity for name, query in others(Design("y", COLUMNS, unit=unit), robust=robust).items()}


def others(design, *, robust=False):
    """All queries but the moments, by the name of their first block."""
    moments, *queries = scaled_queries(design, RowDomain.of(design), robust=robust)
    assert isinstance(moments, ScaledMomentsQuery)
    return {next(iter(query.blocks)): query for query in queries}


def test_sensitivities_are_those_of_the_proof():
    root = math.sqrt(2)
    assert sensitivities("add-remove") == pytest.approx({
        "rows": 1, "centre": root / 2, "spread": 0.75 * root, "zoomed_centre": root / 2, "zoomed_spread": 0.75 * root,
        "size": root, "target_centre": 0.5, "target_spread": 29 / 32, "target_size": 1, "target_clipped": 1,
        "radius": 19 / 32, "fourth_diagonal": 1,
    })  # fmt: skip
    assert sensitivities("replace", robust=True) == pytest.approx({
        "centre": root, "spread": root, "zoomed_centre": root, "zoomed_spread": root, "size": root,
        "target_centre": 1, "target_spread": 1, "target_size": 1, "target_clipped": root, "radius": 1,
        "residual_diagonal": root,
    })  # fmt: skip


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_persons_with_three_rows_move_three_times_as_much_but_have_one_residual_row(neighbours):
    one, three = (sensitivities(neighbours, rows=rows) for rows in (1, 3))
    assert three.pop("rows") == 3
    assert three == pytest.approx({name: 3 * one[name] for name in three})
    one, three = (sensitivities(neighbours, rows=rows, robust=True)["residual_diagonal"] for rows in (1, 3))
    assert one == three


def test_a_boolean_target_is_not_searched_and_weighted_rows_are_in_the_unit_ball():
    design = Design("y", {"b": bool, "y": bool})
    assert not target_searched(design)
    assert set(others(design)) == {"rows", "radius", "fourth_diagonal"}
    assert norm2(weighted_domain(design, 16)) == 1.0
