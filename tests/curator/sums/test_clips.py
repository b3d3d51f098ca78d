"""Counts of clipped rows: how far one unit can move them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from discreet.curator.sums.clips import ClipCounter
from discreet.design.model import Design
from support.unit_changes import UNITS, bounds, contributions, l1, largest, squares


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_counts_move_by_at_most_the_stated_sensitivities_and_by_more_than_half_of_them(unit):
    design = Design("y", {"y": (0, 1), "x": (0, 5), "z": (-1, 1)}, unit=unit)
    # below, inside and above the bounds of every column
    cells = np.array(list(itertools.product((-2.0, 0.5, 7.0), repeat=3))).T
    marks = ClipCounter(design).marks(list(cells))[:, ::2]
    assert marks.any(axis=1).all()
    added = contributions(lambda: ClipCounter(design), marks, unit)
    assert bounds(largest(l1, added, unit), ClipCounter.l1_sensitivity(design), 1) == (True, False)
    # the square root of three is rounded in the last bit, which calibration covers
    stated = ClipCounter.l2_sensitivity(design) * (1 + 2**-50)
    assert bounds(largest(squares, added, unit), stated, 1, power=2) == (True, False)
