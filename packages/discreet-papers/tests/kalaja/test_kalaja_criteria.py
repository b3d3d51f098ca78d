"""Parts of the criteria that the tests of the figures do not see: standard errors, medians, missing numbers."""

import math

import pytest
from pandas import DataFrame, Series

from discreet_papers.kalaja import kalaja_criteria


def cell(line, value, sd=0.1, repeat=0, panel="airfoil", epsilon=1.0, columns=5):
    return {
        "panel": panel, "line": line, "epsilon": epsilon, "repeat": repeat, "value": value, "sd": sd, "columns": columns
    }  # fmt: skip


@pytest.mark.parametrize(("distance", "holds"), [(0.99, True), (1.01, False)])
def test_agreement_allows_two_standard_errors_of_both(distance, holds):
    """Published sd 0.1 over ten folds, ours 0.1 over two rounds of ten folds."""
    allowed = 2 * 0.1 / math.sqrt(10) + 2 * 0.1 / math.sqrt(20)
    rows = [cell("a", 1 + distance * allowed, repeat=repeat) for repeat in (0, 1)] + [cell("published A", 1.0)]
    assert kalaja_criteria.agrees(DataFrame(rows), line="a", published="published A").holds is holds


def test_agreement_needs_the_published_values():
    found = kalaja_criteria.agrees(DataFrame([cell("a", 1.0)]), line="a", published="published A")
    assert found.holds is None
    assert "published A" in found.measured


def test_one_exploding_round_moves_the_mean_and_not_the_median():
    rows = DataFrame([cell("a", value, repeat=repeat) for repeat, value in enumerate((1.0, 1.0, 100.0))])
    assert kalaja_criteria.errors(rows)["a"].iloc[0] == 34
    assert kalaja_criteria.typical(rows)["a"].iloc[0] == 1


def test_geometric_mean():
    assert kalaja_criteria.geometric(Series([1.0, 4.0])) == pytest.approx(2)


def test_a_trend_over_two_tables_is_no_trend():
    rows = [cell(line, 1.0, panel=panel) for line in ("a", "b") for panel in ("airfoil", "bike")]
    assert kalaja_criteria.with_columns(DataFrame(rows), line="a", against="b", size=False).holds is None


def test_six_tables_are_needed_for_the_geometric_means():
    assert kalaja_criteria.our_error(DataFrame([cell("ridge", 1.0)]), excess=False).holds is None
