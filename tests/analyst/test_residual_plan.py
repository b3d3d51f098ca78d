"""Bound and ratio of the residual part are read off released numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import discreet
from discreet.analyst.residual_plan import WIDEST_BOUND, residual_plan
from discreet.design.design import Design
from discreet.testing import seeded_release


@pytest.mark.filterwarnings("ignore::discreet.errors.PrivacyNotice")
def test_bound_and_ratio_of_the_second_part_are_read_off_the_first():
    """The same noisy moments give the same numbers, whatever the table was; a declared bound is taken as it is."""
    rng = np.random.default_rng(46)
    design = Design("y", {"x": (-1, 1), "y": (-10, 10)})
    x = rng.uniform(-1, 1, 20_000)
    asked = {"mechanism": "gaussian", "robust": True, "delta": 1e-6}
    made = discreet.release({"x": x, "y": x + rng.normal(0, 0.5, 20_000)}, design, epsilon=5.0, **asked)
    weak = {"allow_weak_privacy": True}
    part, first = made.residuals, replace(made, residuals=None)
    plan = residual_plan(first)
    assert (plan.coefficients, plan.bound, plan.ratio, plan.mean) == (
        part.coefficients, part.bound, part.ratio.ratio, part.ratio.mean,
    )  # fmt: skip
    assert part.ratio.bound == plan.ratio_bound == pytest.approx(50 / 20**2 * part.bound**2)
    # twenty residual deviations of 0.05 scaled units, and what the noise may hide
    assert 0.9 < part.bound < 1.6
    tight = discreet.release({"x": x, "y": x}, design, epsilon=1e6, **asked, **weak)
    assert tight.residuals.bound < 0.05
    assert residual_plan(first, 1.5).bound == 1.5
    assert 0.3 < part.ratio.ratio < 0.6


@pytest.mark.no_cover
def test_where_noise_leaves_no_least_squares_the_second_part_takes_the_widest_bound():
    design = Design("y", {"x": (-1, 1), "z": (-1, 1), "y": (-1, 1)})
    table = {"x": [0.5] * 3, "z": [0.5] * 3, "y": [0.5] * 3}
    seen = set()
    for _ in range(60):
        made = discreet.release(table, design, epsilon=0.5, delta=1e-6, mechanism="gaussian", robust=True)
        part = made.residuals
        assert 0 < part.bound <= WIDEST_BOUND
        assert 0 <= part.ratio.ratio <= 1
        assert -1 <= part.ratio.mean <= 1
        seen.add(np.linalg.eigvalsh(made.moments[:-1, :-1])[0] > 0)
        if np.linalg.eigvalsh(made.moments[:-1, :-1])[0] <= 0:
            assert (part.bound, part.ratio.ratio, part.ratio.bound) == (WIDEST_BOUND, 1.0, WIDEST_BOUND)
    assert False in seen


@pytest.mark.parametrize("rows", [1, 2])
def test_where_there_are_not_more_rows_than_coefficients_the_second_part_of_weighted_rows_takes_the_widest_bound(rows):
    """Their number is public, so that what the residual sum is divided by may be exactly 0."""
    columns = {"x": (-1, 1), "y": (-1, 1), "w": (0, 1)}
    design = Design("y", columns, weights="w", unit={"neighbours": "replace"})
    table = {"x": [-1.0, 1.0][:rows], "y": [0.5, 0.2][:rows], "w": [1.0, 1.0][:rows]}
    # noise that leaves sums of one or two rows positive definite
    for seed in range(6):
        made = seeded_release(table, design, seed=seed, epsilon=2.0, delta=1e-6, robust=True)
        assert made.residuals.bound == WIDEST_BOUND
