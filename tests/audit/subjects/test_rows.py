"""Rows kept in memory give the sums that a table gives."""

from __future__ import annotations

import numpy as np

from discreet.audit.runs import SyntheticRows
from discreet.curator.sums.cell_counts import ColumnCells
from discreet.curator.sums.gram import ExactGram
from discreet.curator.sums.residuals import ResidualGram
from discreet.curator.sums.scaled_rows import ClippedScores, Scaling, ShrunkRows
from discreet.curator.table import Table, accumulate
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions


def test_sums_are_those_of_the_table_however_often_they_are_asked_for():
    design = Design("y", {"y": (-1, 1), "x": (0, 10), "g": ["a", "b"]})
    rng = np.random.default_rng(0)
    table = {"x": rng.uniform(-1, 11, 50), "y": rng.uniform(-1, 1, 50), "g": ["a", "b"] * 25}
    domain = RowDomain.of(design)
    whole = accumulate(open_source(table), design, domain, ComputeOptions())
    rows = SyntheticRows(table, design, domain)
    for _ in range(2):
        found = rows.sums(ExactGram(4, 16))
        assert (found.values, found.unit, found.counts.units) == (whole.values, whole.unit, 50)


def test_a_run_reads_rows_that_it_has_had_written_anew_and_the_next_run_does_not():
    design = Design("y", {"y": (-1, 1), "x": (-1, 1)})
    domain = RowDomain.of(design)
    rows = SyntheticRows({"x": [0.5, -0.25], "y": [0.0, 1.0]}, design, domain)
    for _ in range(2):
        read = rows.reader()
        assert read(ColumnCells(domain, [1])).cells.sum() == 2
        scaling = Scaling((0.0,), (0.5,), 4.0, 1)
        first = read(ShrunkRows(domain, scaling, 2.0, 0.0, [1.0]))
        assert first.values[-1] == 2 * 4**16
        assert read(ClippedScores(domain, [0, 0], 1.0)).values[-1] == 2 * 4**16


def test_rows_of_a_person_are_summed_together_as_a_release_sums_them():
    design = Design("y", {"y": (-1, 1), "x": (-1, 1)}, unit={"id": "who", "max_rows": 2})
    domain = RowDomain.of(design)
    table = {"x": [1.0, 0.5, 1.0, -1.0], "y": [1.0, -1.0, 1.0, 0.0], "who": ["a", "b", "a", "c"]}
    rows = SyntheticRows(table, design, domain)
    with Table(open_source(table), design, domain, ComputeOptions(), again=True) as whole:
        whole.sums(None)
        expected = whole.sums(ResidualGram(domain, 2, [0.0, 0.0], 1.0, 2)).values
    assert rows.sums(ResidualGram(domain, 2, [0.0, 0.0], 1.0, 2)).values == expected
    # one person of two equal rows counts as one row
    assert expected[0] == (1 + 0.25) * 4**16
    nobody = SyntheticRows({"x": [None], "y": [1.0], "who": ["a"]}, _dropping(), domain)
    assert nobody.sums(ResidualGram(domain, 2, [0.0, 0.0], 1.0, 2)).values == (0, 0, 0)


def _dropping():
    columns = {name: {"bounds": (-1, 1), "missing": "drop"} for name in ("y", "x")}
    return Design("y", columns, unit={"id": "who", "max_rows": 2})
