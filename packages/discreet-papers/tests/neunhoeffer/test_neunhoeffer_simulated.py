"""The notebook's table."""

from __future__ import annotations

import numpy as np

from discreet_papers.neunhoeffer import neunhoeffer_lines


def test_the_table_is_the_notebooks():
    x, y = neunhoeffer_lines.notebook_table(4)
    residual = y - 2 - 3 * x
    # six standard errors of standard deviations of 10,000 normal variates: false alarm below 1e-8
    assert abs(x.std() / 2 - 1) < 6 / np.sqrt(20_000)
    assert abs(residual.std() - 1) < 6 / np.sqrt(20_000)
    assert len(neunhoeffer_lines.notebook_table(4, outlier=True)[0]) == 10_001
    assert (neunhoeffer_lines.notebook_table(4)[0] == x).all()


def test_no_row_leaves_our_declared_bounds():
    x, y = neunhoeffer_lines.notebook_table(outlier=True)
    assert np.abs(x).max() < neunhoeffer_lines.X_BOUNDS[1]
    assert np.abs(y).max() < neunhoeffer_lines.Y_BOUNDS[1]


def test_sums_of_products_have_the_count_in_the_middle():
    x, y = neunhoeffer_lines.notebook_table(rows=50)
    sums = neunhoeffer_lines.sums_of_products(x, y)
    assert sums[1, 1] == 50
    assert np.allclose(sums, sums.T)
    assert np.isclose(sums[0, 2], (x * y).sum())
