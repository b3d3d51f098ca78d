"""Rows of a declared box lie in the unit ball, whatever the cells hold."""

import numpy as np
import pytest

from discreet.errors import SpecError
from discreet_papers.baselines.boxed_rows import Box, BoxedRegressor

GIVEN = {"epsilon": 1.0, "delta": 1e-6, "bounds": [(0.0, 4.0)], "target_bounds": (0.0, 2.0)}


def test_no_cell_leaves_the_unit_ball():
    box = Box.of([(0.0, 4.0), (-1.0, 1.0)], (0.0, 2.0))
    wild = np.array([[np.nan, np.inf], [-np.inf, 1e300], [2.0, 0.0], [1e9, -1e9]])
    rows = box.rows(wild)
    assert np.isfinite(rows).all()
    assert np.linalg.norm(rows, axis=1).max() <= 1 + 1e-12
    assert rows[3] == pytest.approx(np.array([1, 1, -1]) / np.sqrt(3))
    assert box.scaled(np.array([np.nan, np.inf, -5.0, 1.5])).tolist() == [0.0, 1.0, -1.0, 0.5]
    assert box.unscaled(np.array([0.5])).tolist() == [1.5]


def test_a_row_is_a_function_of_itself_alone():
    box = Box.of([(0.0, 4.0)] * 3, (0.0, 2.0))
    x = np.random.default_rng(1).uniform(-1, 5, (50, 3))
    assert (box.rows(x)[7] == box.rows(x[7:8])[0]).all()


@pytest.mark.parametrize("bounds", [[(1.0, 1.0)], [(0.0, np.inf)], [(2.0, 1.0)]])
def test_bounds_that_are_no_box_are_refused(bounds):
    with pytest.raises(SpecError, match="low < high"):
        Box.of(bounds, (0.0, 1.0))


@pytest.mark.parametrize("wrong", [{"epsilon": 0.0}, {"delta": 0.0}, {"delta": 1.0}])
def test_a_budget_that_is_none_is_refused(wrong):
    with pytest.raises(SpecError, match="expected epsilon above 0 and delta between 0 and 1, got"):
        BoxedRegressor(**(GIVEN | wrong))


def test_a_method_without_coefficients_is_no_method():
    with pytest.raises(NotImplementedError):
        BoxedRegressor(**GIVEN).fit(np.zeros((2, 1)), np.zeros(2))
