"""The first figure compares every number with statsmodels."""

from __future__ import annotations

from dataclasses import replace

from discreet_papers.neunhoeffer.covariance_ols import ols_cov
from discreet_papers.neunhoeffer.neunhoeffer_line_figures import against_statsmodels
from discreet_papers.neunhoeffer.neunhoeffer_lines import notebook_table, sums_of_products


def test_a_wrong_number_is_found():
    x, y = notebook_table(rows=100)
    fit = ols_cov(sums_of_products(x, y))
    assert max(against_statsmodels(fit, x, y).values()) < 1e-10
    wrong = replace(fit, sigma=fit.sigma * (1 + 1e-8))
    assert against_statsmodels(wrong, x, y)["sigma"] > 1e-9
