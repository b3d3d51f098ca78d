"""Densities and coverage."""

from __future__ import annotations

import numpy as np
import pytest

from discreet_papers.neunhoeffer.neunhoeffer_line_figures import covered, kernel_density
from discreet_papers.neunhoeffer.neunhoeffer_lines import PER_ENTRY_EPSILONS


def test_a_density_integrates_to_one_and_has_the_width_of_r():
    values = np.random.default_rng(1).normal(size=200)
    grid = np.linspace(-8, 8, 4001)
    density = kernel_density(values, grid)
    assert np.trapezoid(density, grid) == pytest.approx(1, abs=1e-6)
    # a kernel adds its own variance
    width = 0.9 * min(values.std(ddof=1), np.subtract(*np.percentile(values, [75, 25])) / 1.34) * 200**-0.2
    variance = np.trapezoid(density * (grid - values.mean()) ** 2, grid)
    assert variance == pytest.approx(values.var() + width**2, rel=1e-3)


def test_a_fresh_table_gives_a_line_of_every_kind_at_every_epsilon():
    rows = covered(seed=2, sets=1)
    assert len(rows) == 4 * len(PER_ENTRY_EPSILONS)
    assert {row["panel"] for row in rows} == {"fresh tables"}
