"""Dyadic cells of a public range."""

from __future__ import annotations

import itertools
import math

from hypothesis import assume, given
from hypothesis import strategies as st

from discreet.design.columns import WIDEST, checked_bounds
from discreet.design.domain import cell_edges
from discreet.errors import SpecError


def test_without_a_range_the_cells_end_at_powers_of_two_and_0():
    powers = [2.0**k for k in range(-20, 21)]
    assert cell_edges(*WIDEST) == (*(-one for one in reversed(powers)), 0.0, *powers)


def test_the_origin_is_the_point_of_the_range_nearest_to_0():
    assert cell_edges(0.0, 100.0)[-3:] == (32.0, 64.0, 100.0)
    assert cell_edges(200.0, 456.0)[:1] + cell_edges(200.0, 456.0)[-3:] == (200.0, 264.0, 328.0, 456.0)
    assert cell_edges(-5.0, -1.0)[:3] == (-5.0, -3.0, -2.0)
    assert cell_edges(-1.0, 4.0)[:2] == (-1.0, -0.5)


def test_ranges_near_the_largest_double_and_far_from_0_have_cells_too():
    assert len(cell_edges(-8e307, 8e307)) == 83
    far = cell_edges(1e12, 1e12 + 8.0)
    assert far == (1e12, 1e12 + 8.0) or min(b - a for a, b in itertools.pairwise(far)) > 1e12 * 2**-25


@given(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300))
def test_any_run_of_cells_makes_bounds_that_a_column_can_have(one, other):
    low, high = sorted((one, other))
    try:
        checked_bounds((low, high))
    except SpecError:
        assume(False)
    edges = cell_edges(low, high)
    assert edges[0] == low
    assert edges[-1] == high
    assert len(edges) <= 83
    assert all(a < b for a, b in itertools.pairwise(edges))
    for start, stop in itertools.pairwise(edges):
        assert checked_bounds((start, stop)) == (start, stop)
        assert checked_bounds((low, stop)) == (low, stop)
    assert all(map(math.isfinite, edges))
