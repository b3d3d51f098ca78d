"""Counts of cells outside their bounds: exact, row by row, and only of columns that can be clipped."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from discreet.accounting.moments import clips_l1_sensitivity, clips_l2_sensitivity
from discreet.curator.sums.cell_counts import ClipCounter
from discreet.design.design import Design
from support.unit_changes import UNITS, bounds, contributions, l1, largest, squares

DESIGN = Design("y", {"y": (0, 1), "b": bool, "x": (-2, 5), "g": ["u", "v"]})


def cells(rows: int) -> list[np.ndarray]:
    """Settled arrays of y, b, x and the codes of g; about half of the numbers lie outside."""
    random = np.random.default_rng(rows)
    return [
        random.choice([0.0, 1.0, -0.1, 1.1, 0.5], rows),
        random.integers(0, 2, rows).astype(float),
        random.choice([-2.0, 5.0, 5.1, -1e300, 0.0], rows),
        random.integers(0, 2, rows).astype(float),
    ]


def test_a_cell_on_a_bound_is_inside_and_the_next_double_is_not():
    counter = ClipCounter(DESIGN)
    beyond = [np.nextafter(0.0, -1), np.nextafter(1.0, 2)]
    zeros = np.zeros(4)
    marks = counter.marks([np.array([0.0, 1.0, *beyond]), zeros, np.array([-2.0, 5.0, -2.0, 5.0]), zeros])
    assert marks.tolist() == [[False, False, True, True], [False] * 4]


def test_totals_are_those_of_counting_by_hand_whatever_the_batches():
    settled = cells(200)
    expected = tuple(
        sum(not low <= cell <= high for cell in settled[k].tolist()) for k, low, high in ((0, 0, 1), (2, -2, 5))
    )
    assert DESIGN.clippable == ("y", "x")
    for size in (1, 7, 200):
        counter = ClipCounter(DESIGN)
        for start in range(0, 200, size):
            counter.add(counter.marks([values[start : start + size] for values in settled]))
        assert counter.totals() == expected
    assert min(expected) > 0


def test_a_mark_does_not_depend_on_other_rows():
    counter, settled = ClipCounter(DESIGN), cells(50)
    together = counter.marks(settled)
    for row in range(50):
        assert counter.marks([values[row : row + 1] for values in settled])[:, 0].tolist() == together[:, row].tolist()
    # marking alone counts nothing
    assert counter.totals() == (0, 0)


def test_marks_may_come_as_ones_and_zeros_and_add_up_beyond_a_byte():
    counter = ClipCounter(DESIGN)
    for _ in range(3):
        counter.add(np.ones((2, 200), np.uint8))
    assert counter.totals() == (600, 600)
    counter.add(np.zeros((2, 0), np.bool_))
    assert counter.totals() == (600, 600)


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_counts_move_by_at_most_the_stated_sensitivities_and_by_more_than_half_of_them(unit):
    design = Design("y", {"y": (0, 1), "x": (0, 5), "z": (-1, 1)}, unit=unit)
    # below, inside and above the bounds of every column
    cells = np.array(list(itertools.product((-2.0, 0.5, 7.0), repeat=3))).T
    marks = ClipCounter(design).marks(list(cells))[:, ::2]
    assert marks.any(axis=1).all()
    added = contributions(lambda: ClipCounter(design), marks, unit)
    assert bounds(largest(l1, added, unit), clips_l1_sensitivity(design), 1) == (True, False)
    # the square root of three is rounded in the last bit, which calibration covers
    stated = clips_l2_sensitivity(design) * (1 + 2**-50)
    assert bounds(largest(squares, added, unit), stated, 1, power=2) == (True, False)
