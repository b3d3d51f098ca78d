"""Sensitivities of what `refined` releases; whole runs on neighbouring tables are in tests/mechanisms."""

from __future__ import annotations

import math

import pytest

from discreet.accounting.search_queries import in_declared_ball, refined_queries
from discreet.design.design import Design

COLUMNS = {"x": (-1, 1), "z": (-2, 2), "b": bool, "y": (-1, 1)}


def by_block(design):
    """Everything that is released, by the name of its first block."""
    return {next(iter(query.blocks)): query for query in refined_queries(design)}


def test_sensitivities_are_those_of_the_proof():
    added, replaced = (by_block(Design("y", COLUMNS, unit={"neighbours": one})) for one in RELATIONS)
    assert {name: one.sensitivity for name, one in added.items()} == pytest.approx({
        "count": 1, "centre": math.sqrt(2) / 2, "spread": 0.75 * math.sqrt(2), "zoomed_centre": math.sqrt(2) / 2,
        "zoomed_spread": 0.75 * math.sqrt(2), "target_mean": 1, "target_spread": 29 / 32, "target_zoom": 1,
        "radius": 19 / 32, "clip": 1, "gram_diagonal": 1, "score": 1, "below": 1, "offset": 1,
        "mean_square": math.sqrt(2) / 2,
    })  # fmt: skip
    assert {name: one.sensitivity for name, one in replaced.items()} == pytest.approx({
        "centre": math.sqrt(2), "spread": math.sqrt(2), "zoomed_centre": math.sqrt(2), "zoomed_spread": math.sqrt(2),
        "target_mean": 2, "target_spread": 1, "target_zoom": 2, "radius": 1, "clip": 1, "gram_diagonal": math.sqrt(2),
        "score": 2, "below": 1, "offset": 2, "mean_square": math.sqrt(2),
    })  # fmt: skip
    assert all(one.sensitivity >= {"gram_diagonal": math.sqrt(2)}.get(name, 0) for name, one in replaced.items())


RELATIONS = ("add-remove", "replace")


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_persons_with_three_rows_move_three_times_as_much(neighbours):
    one = by_block(Design("y", COLUMNS, unit={"neighbours": neighbours}))
    three = by_block(Design("y", COLUMNS, unit={"neighbours": neighbours, "id": "p", "max_rows": 3}))
    assert three["count"].sensitivity == 3
    assert all(three[name].sensitivity == pytest.approx(3 * one[name].sensitivity) for name in one)


def test_a_model_through_the_origin_centres_nothing_and_a_declared_ball_scales_nothing():
    origin = Design("y", COLUMNS, intercept=False)
    assert set(by_block(origin)) == {
        "count", "one_spread", "mean_square", "target_spread", "radius", "clip", "gram_diagonal", "score", "below",
    }  # fmt: skip
    ball = Design("y", COLUMNS, intercept=False, radius=1.0)
    assert in_declared_ball(ball)
    assert set(by_block(ball)) == {"count", "target_spread", "clip", "gram_diagonal", "score", "below"}
    assert not in_declared_ball(Design("y", COLUMNS, radius=1.0))
