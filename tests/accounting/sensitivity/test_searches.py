"""Grids of noisy searches, and how far one unit moves a comparison."""

from __future__ import annotations

import math

import pytest

from discreet.accounting.search_queries import LAST, comparisons, search_query, searched_columns
from discreet.design.design import Design


def test_numbers_and_splines_are_searched_and_indicators_are_not():
    columns = {
        "b": bool, "x": (0, 9), "g": ["a", "b", "c"], "y": (0, 1), "s": {"formula": "spline(x, 3)"}, "v": (0, 1),
    }  # fmt: skip
    design = Design("y", columns)
    names = [design.released[index] for index in searched_columns(design)]
    assert names[0] == "x"
    assert names[-1] == "v"
    assert {name.split("[")[0] for name in names} == {"x", "s", "v"}


@pytest.mark.parametrize(("grid", "points"), [("target_spread", 17), ("radius", 25), ("clip", 49)])
def test_as_many_comparisons_as_a_binary_search_needs(grid, points):
    assert LAST[grid] == points - 1
    assert comparisons(grid) == math.ceil(math.log2(points))


@pytest.mark.parametrize(("neighbours", "largest"), [("add-remove", 0.75), ("replace", 1.0)])
def test_a_comparison_of_several_columns_moves_by_the_root_of_their_number(neighbours, largest):
    unit = {"id": "p", "max_rows": 3, "neighbours": neighbours}
    found = search_query(Design("y", {"x": (0, 1), "y": (0, 1)}, unit=unit), "spread", 4)
    assert found.sensitivity == pytest.approx(3 * 2 * largest)
    assert (found.entries, found.times) == (4, comparisons("spread")) == (4, 2)
