"""Rules of `staged` that are functions of released numbers: bounds of lengths, residuals and scores."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest

from discreet.design.design import Design
from discreet.releases.staged_rules import box_of, largest_score, whitening_of


def corners(box, levels, numbers):
    """Every corner of the box, with at most one level of the factor in the last coordinates."""
    ends = [(box.low[1 + j], box.high[1 + j]) for j in range(numbers)]
    for values in itertools.product(*ends):
        for level in range(levels + 1):
            yield np.array([1.0, *values, *(2.0 * (place == level) for place in range(1, levels + 1))])


def setting(levels, numbers, seed):
    rng = np.random.default_rng(seed)
    columns = {f"x{j}": (-1, 1) for j in range(numbers)}
    columns |= {"g": [str(k) for k in range(levels + 1)]} if levels else {}
    design = Design("y", columns | {"y": (-1, 1)})
    centres = [*rng.uniform(-0.8, 0.8, numbers), *[0.0] * levels]
    scales = [*rng.uniform(1 / 64, 0.5, numbers), *[0.5] * levels]
    box = box_of(design, centres, scales, float(rng.uniform(-0.5, 0.5)))
    size = numbers + levels + 1
    root = rng.normal(size=(size, size))
    return box, whitening_of(root @ root.T * 10, 10.0), rng.normal(0, 0.3, size)


@pytest.mark.parametrize(("levels", "numbers"), [(0, 1), (0, 4), (3, 0), (3, 2), (6, 3)])
def test_no_corner_is_longer_than_the_bounds_and_they_are_not_far_off(levels, numbers):
    """A convex function is largest at a corner."""
    ratios = []
    for seed in range(20):
        box, whitening, line = setting(levels, numbers, seed)
        rows = np.array(list(corners(box, levels, numbers)))
        lengths = np.linalg.norm(rows @ whitening.T, axis=1)
        residuals = np.abs(np.subtract.outer(rows @ line, box.target)).max(axis=1)
        assert np.linalg.norm(rows, axis=1).max() <= box.longest * (1 + 1e-12)
        assert residuals.max() == pytest.approx(box.largest_residual(line), rel=1e-12)
        assert lengths.max() <= box.largest_length(whitening)
        assert (lengths * residuals).max() <= largest_score(box, whitening, line)
        ratios.append(box.largest_length(whitening) / lengths.max())
    assert np.median(ratios) < 1.25


def test_one_level_of_a_factor_counts():
    """All levels together would be the root of their number longer."""
    box, whitening, _ = setting(40, 1, 3)
    columns = float(np.linalg.norm(whitening, axis=0) @ np.maximum(np.abs(box.low), np.abs(box.high)))
    assert box.largest_length(whitening) < columns / 3


def test_the_bounds_are_cheap_for_five_hundred_columns():
    box, whitening, line = setting(0, 500, 4)
    start = time.process_time()
    assert np.isfinite(largest_score(box, whitening, line))
    assert time.process_time() - start < 2.0
