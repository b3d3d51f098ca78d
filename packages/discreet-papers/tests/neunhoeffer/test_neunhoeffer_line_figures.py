"""The two figures of lines."""

from __future__ import annotations

import pytest

from discreet_papers.neunhoeffer.neunhoeffer_line_figures import ols_line, row_losses


def test_losses_of_rows_are_the_known_ones():
    jiang = {row["line"]: row["value"] for row in row_losses(seed=1, scheme="jiang")}
    assert jiang["outlier"] == pytest.approx(28.5)
    assert jiang["outlier"] > jiang["median row"] > 1
    entries = {row["line"]: row["value"] for row in row_losses(seed=1, scheme="per entry")}
    assert entries["unit box"] == pytest.approx(6, rel=1e-3)
    assert 2.5 < entries["corner"] < 6


def test_the_outlier_moves_least_squares_down():
    assert ols_line(outlier=True)[1] < ols_line()[1]
