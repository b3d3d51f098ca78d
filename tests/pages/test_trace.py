"""Coefficients after each pass, drawn."""

from __future__ import annotations

from discreet.pages.view import coefficient_traces
from support.report_cases import example
from support.report_pages import inside, page_of


def test_ways_are_drawn_inside_their_box_and_only_where_they_were_published() -> None:
    for way in coefficient_traces(inside(intercept=False)):
        indices = [tuple(map(float, pair.split(","))) for pair in way.points.split()]
        assert len(indices) == 3
        assert all(0 <= x <= 180 and 0 <= y <= 28 for x, y in indices)
    assert [way.name for way in coefficient_traces(inside(intercept=False))] == ["a", "b", "c"]
    assert coefficient_traces(inside(trace=False)) == coefficient_traces(example()) == ()
    assert 'id="trace"' not in page_of(inside(trace=False))
