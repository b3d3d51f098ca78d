"""Lines of the schemes and of our releases."""

from __future__ import annotations

import math

import numpy as np
import pytest
from pandas import DataFrame

from discreet_papers.neunhoeffer import neunhoeffer_lines
from discreet_papers.neunhoeffer.neunhoeffer_lines import notebook_table


def test_rows_of_a_scheme_say_whether_the_interval_holds_the_slope():
    x, y = notebook_table()
    rows = neunhoeffer_lines.scheme_rows("jiang", x, y, 100_000.0, np.random.default_rng(1), 3)
    assert all(row["known"] and row["covers"] and abs(row["value"] - 3) < 0.02 for row in rows)
    assert rows[0]["width"] == pytest.approx(2 * 1.96 * 0.005, rel=0.05)


def test_an_error_that_is_no_number_is_not_known():
    x, y = notebook_table()
    rows = neunhoeffer_lines.scheme_rows("per entry", x, y, 0.01, np.random.default_rng(1), 60)
    assert {row["known"] for row in rows} == {0, 1}
    assert all(not row["covers"] for row in rows if not row["known"])


@pytest.mark.parametrize("line", neunhoeffer_lines.OURS)
def test_our_line_at_a_large_budget_is_least_squares(line):
    row = neunhoeffer_lines.our_row(neunhoeffer_lines.notebook_sums(outlier=False), line, 5000.0, 3, 0)
    assert row["value"] == pytest.approx(3, abs=0.02)
    assert row["known"]
    assert row["covers"]


def test_our_set_without_ends_holds_every_value_at_a_tiny_budget():
    rows = [
        neunhoeffer_lines.our_row(neunhoeffer_lines.notebook_sums(outlier=False), "ours, pure", 1e-4, seed, 0)
        for seed in range(4)
    ]
    assert all(not row["known"] and row["width"] == math.inf for row in rows)


def test_cells_repeat_with_their_seed_and_have_both_tables():
    rows = neunhoeffer_lines.lines(seed=3, scheme="jiang", epsilon=1.0, repeats=2)
    assert rows == neunhoeffer_lines.lines(seed=3, scheme="jiang", epsilon=1.0, repeats=2)
    numbers = DataFrame(rows)
    assert set(numbers["data"]) == {"plain", "with outlier"}
    assert set(numbers["line"]) == {"jiang", *neunhoeffer_lines.OURS}
    assert len(neunhoeffer_lines.chosen(numbers, "jiang", epsilon=1.0)) == 2
    assert len(neunhoeffer_lines.spreads(numbers, "jiang")) == 1


def test_coverage_counts_unknown_intervals_of_ours_only():
    kinds = {"known": [0, 1], "covers": [1, 0]}
    assert neunhoeffer_lines.coverage(DataFrame({"line": ["ours, pure"] * 2, **kinds})) == 0.5
    assert neunhoeffer_lines.coverage(DataFrame({"line": ["jiang"] * 2, **kinds})) == 0.0
