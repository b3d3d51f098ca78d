"""Counts by dyadic cell: each row by itself, in the cell that its settled value lies in."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.accounting.preliminary_counts import discovery_l1_sensitivity, discovery_sensitivity
from discreet.curator.rows import GridRows, SettledRows, settled_cells
from discreet.curator.sums.cell_counts import DyadicCells
from discreet.curator.table import Table
from discreet.design.design import Design
from discreet.design.domain import RowDomain, cell_edges
from discreet.errors import CellError, SpecError
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions

DESIGN = Design("y", {"y": {"bounds": "private", "within": (0, 100)}, "g": ["a", "b", "c"], "x": "private"})


def counted(table, design=DESIGN, **options):
    with Table(open_source(table), design, RowDomain.of(design), ComputeOptions(**options)) as opened:
        return opened.sums(DyadicCells(design)).values


def by_definition(values, low, high):
    """One cell for each value, by comparisons alone."""
    edges = cell_edges(low, high)
    cells = [0] * (len(edges) - 1)
    for value in values:
        inside = [i for i in range(len(cells)) if edges[i] <= value < edges[i + 1]]
        cells[inside[0] if inside else (0 if value < low else -1)] += 1
    return tuple(cells)


@pytest.mark.parametrize("chunk", [2, 1000])
def test_each_row_is_in_one_cell_of_each_column_whatever_its_place(chunk):
    edges = [one for one in cell_edges(-(2.0**20), 2.0**20) if math.isfinite(one)]
    near = [math.nextafter(one, way) for one in edges for way in (-math.inf, math.inf)]
    x = [*edges, *near, 1e300, -1e300, -0.0, 5e-324]
    y = [1.5 * place for place in range(len(x))]
    table = {"x": x, "y": y, "g": ["abc"[place % 3] for place in range(len(x))]}
    expected = (*by_definition(y, 0.0, 100.0), *by_definition(x, -(2.0**20), 2.0**20), len(x))
    assert counted(table, chunk_rows=chunk, batch_rows=7) == expected
    turned = {name: cells[::-1] for name, cells in table.items()}
    assert counted(turned, batch_rows=5) == expected


def test_missing_and_unusable_cells_follow_their_rule_first():
    cells = [1.5, None, math.inf, math.nan, "7", 3.0]
    table = {"y": [1.0] * 6, "g": ["a"] * 6, "x": cells}
    with pytest.raises(CellError, match="'x'"):
        counted(table)
    dropping = Design("y", {**DESIGN.columns, "x": {"bounds": "private", "missing": "drop"}})
    assert counted(table, dropping)[-1] == 2
    filling = Design("y", {**DESIGN.columns, "x": {"bounds": "private", "missing": {"fill": 1.75}}})
    start = len(cell_edges(0.0, 100.0)) - 1
    at = start + list(cell_edges(-(2.0**20), 2.0**20)).index(1.0)
    assert counted(table, filling)[at : at + 2] == (5, 1)


def test_settled_cells_are_read_back_bit_for_bit_and_no_grid_is_without_bounds():
    values = [np.array([0.1, -2e300]), np.array([2.0, 0.0]), np.array([5e-324, 1.0])]
    rows = SettledRows(DESIGN, RowDomain.of(DESIGN), 4)
    back = settled_cells(rows.encoded(rows.completed(values)))
    assert [one.tobytes() for one in back] == [one.tobytes() for one in values]
    with pytest.raises(SpecError, match=r"the bounds of 'y', 'x' are private, which only discreet.release supports"):
        GridRows(DESIGN, RowDomain.of(DESIGN), 4)


@pytest.mark.parametrize("clip_counts", [False, True])
@pytest.mark.parametrize("person", [False, True])
def test_rows_on_the_grid_of_found_bounds_are_those_of_the_same_bounds_declared(person, clip_counts):
    """With every row of every person counting, so that both tables have the same rows."""
    rng = np.random.default_rng(4)
    unit = {"id": "who", "max_rows": 3} if person else {}
    design = Design("y", dict(DESIGN.columns), unit=unit)
    found = design.with_found({"y": (0.0, 32.0), "x": (-2.0, 4.0)})
    table = {
        "y": rng.uniform(-5, 50, 60), "x": rng.normal(0, 3, 60), "g": ["abc"[place % 3] for place in range(60)],
        "who": [f"p{place // 3}" for place in range(60)],
    }  # fmt: skip
    domain, options = RowDomain.of(design), ComputeOptions(chunk_rows=8, batch_rows=9)
    with Table(open_source(table), design, domain, options, clip_counts=clip_counts) as opened:
        counts = opened.sums(DyadicCells(design))
        opened.resolve(found)
        made = [opened.sums(), opened.sums()]
    declared = found.redeclared()
    with Table(open_source(table), declared, domain, options, again=True, clip_counts=clip_counts) as opened:
        plain = opened.sums()
    assert counts.values[-1] == 60
    for one in made:
        assert (one.values, one.counts.units, one.counts.clipped, one.counts.fitting) == (
            plain.values, plain.counts.units, plain.counts.clipped, plain.counts.fitting,
        )  # fmt: skip
    assert (len(plain.counts.clipped) == 2) is clip_counts


ODD = [0.0, 1.5, -3.0, 1e9, -1e300, 5e-324, None, math.nan, math.inf, "7"]


@pytest.mark.parametrize("unit", [{}, {"neighbours": "replace"}, {"id": "who", "max_rows": 2},
                                  {"neighbours": "replace", "id": "who", "max_rows": 2}])  # fmt: skip
def test_neighbouring_tables_are_within_both_sensitivities_and_some_reach_them(unit):
    """Random tables of odd cells, with one row, or one person of up to four rows, added, removed or replaced."""
    rng = np.random.default_rng(6)
    columns = {name: {"bounds": "private", "missing": "drop"} for name in ("y", "x", "z")}
    design = Design("y", columns, unit=unit)
    length, size = discovery_sensitivity(3, design.unit), discovery_l1_sensitivity(3, design.unit)
    most = 4 if "id" in unit else 1
    largest = [0.0, 0.0]
    for turn in range(15 if "id" in unit else 100):
        others = _some(rng, ODD, int(rng.integers(0, 6)), "a")
        one, other = (_some(rng, ODD, int(rng.integers(1, most + 1)), "b") for _ in range(2))
        if turn == 0:
            # as many rows as there can be, all in one cell, and in the other table all in another
            one, other = (_some(rng, [cell], most, "b") for cell in (1.5, -3.0))
        pair = [_joined(others, one), _joined(others, other if "neighbours" in unit else _some(rng, ODD, 0, "b"))]
        here, there = (np.array(counted(table, design)) for table in pair)
        change = here - there
        found = float(np.linalg.norm(change)), float(np.abs(change).sum())
        assert found[0] <= length
        assert found[1] <= size
        largest = [max(a, b) for a, b in zip(largest, found, strict=True)]
    assert largest == [pytest.approx(length), size]


def _some(rng, cells, rows, who):
    made = {name: [cells[int(place)] for place in rng.integers(0, len(cells), rows)] for name in ("y", "x", "z")}
    return made | {"who": [f"{who}{place // 2}" if who == "a" else who for place in range(rows)]}


def _joined(one, other):
    return {name: [*one[name], *other[name]] for name in one}
