"""The first figure compares every number with statsmodels."""

from __future__ import annotations

from dataclasses import replace

from discreet.papers.neunhoeffer.ols import ols_cov
from discreet.papers.neunhoeffer.scatter_figure import against_statsmodels
from discreet.papers.neunhoeffer.simulated import notebook_table, sums_of_products


def test_a_wrong_number_is_found():
    x, y = notebook_table(rows=100)
    fit = ols_cov(sums_of_products(x, y))
    assert max(against_statsmodels(fit, x, y).values()) < 1e-10
    wrong = replace(fit, sigma=fit.sigma * (1 + 1e-8))
    assert against_statsmodels(wrong, x, y)["sigma"] > 1e-9
