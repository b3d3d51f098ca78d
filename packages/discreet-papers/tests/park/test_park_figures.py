"""The figure: its cells, each criterion on numbers that hold and on numbers that do not, and the picture."""

from __future__ import annotations

import pandas as pd
import pytest

from discreet_papers.figure import Run, verdict_of
from discreet_papers.park.park_figures import (
    ADVANCED,
    BASIC,
    CAPS,
    EQUAL,
    EXACT,
    FIGURES,
    GAUSSIAN,
    ITERATIONS,
    LAPLACE,
    LEAST_SQUARES,
    OURS,
    PURE,
    SIZES,
    WRITTEN,
    levels,
    panel_name,
)

(FIGURE,) = FIGURES
GOOD = {GAUSSIAN: 1.0, LAPLACE: 1.1, BASIC: -5.0, ADVANCED: -9.0, EXACT: 1.6, LEAST_SQUARES: 1.6, OURS: 1.5, PURE: 1.2}


def numbers(changes=None, *, level_changes=None, share=0.5):
    """Numbers on which every curve is as the note draws it, with changes of lines or levels."""
    rows = [
        {"panel": panel_name(kind, J, cap), "line": line, "n": n, "repeat": str(repeat), "value": value + repeat / 100}
        for kind in (WRITTEN, EQUAL) for J in ITERATIONS for cap in CAPS for n in SIZES for repeat in range(2)
        for line, value in {**GOOD, **(changes or {}).get((kind, J, cap, n), {})}.items()
    ]  # fmt: skip
    for row in levels(0, most=40):
        row["value"] *= (level_changes or {}).get((row["line"], row["iterations"]), 1.0)
        rows.append(row)
    rows += [
        {"panel": "wishart", "line": line, "level": level, "repeat": "0", "value": value}
        for level in (0.1, 1.0) for line, value in (("measured", share), ("1 - exp(-level)", 0.5))
    ]  # fmt: skip
    return pd.DataFrame(rows)


AS_EXPECTED = {"cdp-above": True, "advanced-level": True, "like-for-like": False, "wishart": False, "sound": True}
OTHERWISE = {
    "cdp-above": numbers({(WRITTEN, 30, 10.0, 30_000): {BASIC: 1.05}}),
    "advanced-level": numbers(level_changes={(ADVANCED, 5): 5.0}),
    "like-for-like": numbers(level_changes={(EQUAL, 10): 2.1, (EQUAL, 30): 1.2}),
    "wishart": numbers(share=0.0),
    "sound": numbers({(WRITTEN, 10, 10.0, 1_000): {OURS: 1.05}}),
}


@pytest.mark.parametrize("criterion", FIGURE.criteria, ids=lambda criterion: criterion.key)
def test_each_criterion_can_give_both_verdicts_and_none(criterion):
    assert criterion.check(numbers()).holds is AS_EXPECTED[criterion.key]
    assert criterion.check(OTHERWISE[criterion.key]).holds is not AS_EXPECTED[criterion.key]
    nothing = numbers().assign(panel="another")
    assert criterion.check(nothing).holds is None


def test_sizes_above_a_hundred_thousand_are_not_ordered():
    by_key = {criterion.key: criterion for criterion in FIGURE.criteria}
    assert by_key["cdp-above"].check(numbers({(WRITTEN, 10, 10.0, 300_000): {BASIC: 1.7}})).holds
    assert by_key["advanced-level"].check(numbers(level_changes={(ADVANCED, 30): 0.5})).holds is False


def test_the_verdict_says_that_the_guarantee_is_refuted():
    found = numbers()
    assert verdict_of([(criterion, criterion.check(found)) for criterion in FIGURE.criteria]) == "refuted"


def test_a_quick_run_cuts_tables_and_no_size():
    by_size = {}
    for quick in (True, False):
        cells = FIGURE.cells(Run(quick=quick, method="module:factory"))
        assert len({cell.name for cell in cells}) == len(cells)
        sized = [cell.arguments for cell in cells if "rows" in cell.arguments]
        assert {one["method"] for one in sized} == {"module:factory"}
        by_size[quick] = {rows: sum(one["sets"] for one in sized if one["rows"] == rows) for rows in SIZES}
    assert by_size[False] == dict.fromkeys(SIZES, 20) | {1_000_000: 5}
    assert min(by_size[True].values()) == 2
    assert all(by_size[True][rows] <= by_size[False][rows] for rows in SIZES)


@pytest.mark.no_cover
def test_the_picture_has_a_panel_for_each_cap_kind_and_number_of_iterations():
    picture = FIGURE.draw(numbers(), Run())
    titles = [axes.get_title() for axes in picture.axes if axes.get_title()]
    assert len(titles) == 14
    assert panel_name(EQUAL, 30, 100.0) in titles
    (legend,) = picture.legends
    words = [text.get_text() for text in legend.get_texts()]
    assert len(words) == 8
    assert any("(7.3, 1e-06)" in word and "infinite" in word for word in words)
