"""Rows with levels in place of indicators: the totals of all rows are the same integers as with indicators."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.curator import summing as coded_rows
from discreet.curator.rows import GridRows
from discreet.curator.summing import CodedRows, by_level, coding_of
from discreet.curator.sums.gram import ExactGram, LevelGram
from discreet.curator.sums.residuals import ScoreSum
from discreet.curator.table import Table, accumulate
from discreet.design.columns import Boolean, Categorical, Fill, Numeric
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import CellError
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions

RULES = ["drop", "fill"]


def random_large_design(rng: np.random.Generator, rule: str, **also: object) -> Design:
    """Numbers, booleans and small and large categories in any order, with derived columns that use them."""
    columns: dict[str, object] = {"x": Numeric((-2, 5), Fill(0.5) if rule == "fill" else rule)}
    for j in range(rng.integers(1, 4)):
        levels = tuple(f"l{code}" for code in range(rng.integers(2, 40)))
        reference = str(rng.choice(levels))
        columns[f"g{j}"] = Categorical(levels, reference, Fill(reference) if rule == "fill" else rule)
    columns["b"] = Boolean(Fill(True) if rule == "fill" else rule)
    columns["y"] = Numeric((0, 1), Fill(0.0) if rule == "fill" else rule)
    columns["slope"] = {"formula": "x:g0"}
    columns["part"] = {"formula": f"cut(x, {', '.join(str(edge / 2) for edge in range(-3, 8))})"}
    if "g1" in columns and rng.random() < 0.5:
        columns["both"] = {"formula": "g0:g1"}
    order = list(columns)
    rng.shuffle(order)
    return Design("y", {name: columns[name] for name in order}, **also)


def random_cells(design: Design, rows: int, rng: np.random.Generator) -> dict[str, list[object]]:
    """Cells of every column of the table, one in ten of them bad."""
    bad = {"x": [np.nan, np.inf, -np.inf, None], "b": [None, 7], "y": [np.nan, None]}

    def cell(name: str) -> object:
        if rng.random() < 0.1:
            return rng.choice(np.array(bad.get(name, [None, "zebra"]), dtype=object))
        column = design.columns[name]
        if isinstance(column, Categorical):
            return str(rng.choice(column.levels))
        return float(rng.random() < 0.5) if isinstance(column, Boolean) else float(rng.normal() * 3)

    return {name: [cell(name) for _ in range(rows)] for name in design.table_columns}


def dense_totals(table: object, design: Design, domain: RowDomain) -> tuple[tuple[int, ...], tuple[int, int], int]:
    """Totals over rows that are kept, which have all their columns."""
    with Table(open_source(table), design, domain, ComputeOptions(), again=True) as kept:
        found = kept.sums()
    return found.values, found.counts.fitting, found.counts.units


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("grid_bits", [8, 16, 23])
def test_totals_are_those_of_rows_with_indicators(rule, grid_bits, monkeypatch):
    made, before = [], 0

    class Recorded(LevelGram):
        def __init__(self, *given):
            super().__init__(*given)
            made.append(self)

    monkeypatch.setattr(coded_rows, "LevelGram", Recorded)
    rng = np.random.default_rng(grid_bits)
    for _ in range(4):
        design = random_large_design(rng, rule)
        domain = RowDomain.of(design, grid_bits)
        table = random_cells(design, 300, rng)
        options = ComputeOptions(batch_rows=int(rng.integers(1, 400)), chunk_rows=int(rng.integers(1, 400)))
        coded = accumulate(open_source(table), design, domain, options, clip_counts=True)
        assert len(made) > before
        before = len(made)
        assert (coded.values, coded.counts.fitting, coded.counts.units) == dense_totals(table, design, domain)


def test_totals_of_persons_with_one_row_each_are_those_of_rows():
    rng = np.random.default_rng(5)
    design = random_large_design(rng, "drop")
    table = random_cells(design, 200, rng)
    domain = RowDomain.of(design)
    rows = accumulate(open_source(table), design, domain, ComputeOptions())
    persons = Design("y", design.columns, unit={"id": "who", "max_rows": 2})
    table["who"] = [f"person {number}" for number in range(200)]
    assert accumulate(open_source(table), persons, domain, ComputeOptions()).values == rows.values


def test_a_bad_cell_is_an_error_that_names_only_the_column():
    design = Design("y", {"g": [f"l{code}" for code in range(12)], "y": (0, 1)})
    table = {"g": ["l1", "zebra"], "y": [0.5, 0.25]}
    with pytest.raises(
        CellError, match="column 'g' has a cell that is missing or none of the declared levels"
    ) as found:
        accumulate(open_source(table), design, RowDomain.of(design), ComputeOptions())
    assert "zebra" not in str(found.value)


def test_coded_rows_hold_levels_and_what_other_rows_hold():
    rng = np.random.default_rng(6)
    design = random_large_design(rng, "drop")
    domain = RowDomain.of(design, 16)
    coding = coding_of(design, domain)
    assert sorted(len(one.codes) + 1 for one in coding.categories) == sorted(
        len(column.levels)
        for name, column in design.columns.items()
        if isinstance(column, Categorical) and len(column.levels) >= 9
    )
    columns = design.table_columns
    cells = [
        rng.integers(0, len(column.levels), 50).astype(float)
        if isinstance(column, Categorical)
        else (rng.random(50) < 0.5).astype(float)
        for column in columns.values()
    ]
    plain, coded = GridRows(design, domain, 16), CodedRows(design, domain, coding, 16)
    dense = plain.encoded(plain.completed(cells))
    rows = coded.encoded(coded.completed(cells))
    assert len(rows) == coding.width < len(dense) == coding.size
    places = len(coding.plain)
    assert rows[:places].tolist() == dense[list(coding.plain)].tolist()
    for category, levels in zip(coding.categories, rows[places:], strict=True):
        for code, indicator in zip(category.codes, dense[category.columns], strict=True):
            assert (indicator == domain.unit).tolist() == (levels == code).tolist()


def test_small_categories_shrunk_rows_and_other_sums_keep_their_columns():
    large, small = [f"l{code}" for code in range(9)], [f"l{code}" for code in range(8)]
    design = Design("y", {"g": large, "x": (0, 1), "y": (0, 1)})
    domain = RowDomain.of(design)
    gram = ExactGram(len(design.released), 16)
    assert isinstance(by_level(gram, design, domain), LevelGram)
    scores = ScoreSum(domain, 9, [0.0] * 9, np.ones_like)
    assert by_level(scores, design, domain) is scores
    for other in (
        Design("y", {"g": small, "x": (0, 1), "y": (0, 1)}),
        Design("y", {"g": large, "x": (0, 1), "y": (0, 1)}, radius=1.2),
        Design("y", {"g": large, "x": "private", "y": (0, 1)}),
    ):
        assert coding_of(other, RowDomain.of(other)) is None
        assert by_level(gram, other, RowDomain.of(other)) is gram
    # a ball that holds the whole box shrinks nothing
    wide = Design("y", {"g": large, "x": (0, 1), "y": (0, 1)}, radius=1.5)
    assert coding_of(wide, RowDomain.of(wide)) == coding_of(design, domain)
