"""Counts by cell: exact, one cell for each row, the same whatever the order and the chunks."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting.fitted_models import cells_l1_sensitivity, cells_l2_sensitivity
from discreet.curator.sums.cell_counts import Axis, CellCounts, Partition
from discreet.curator.table import accumulate
from discreet.design.columns import Boolean, Numeric
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import SpecError
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions
from support.tables import random_design, random_table
from support.unit_changes import UNITS, bounds, contributions, corner_rows, l1, largest, squares


def counts_of(table, design, bins, grid_bits=16, **options) -> tuple[int, ...]:
    domain = RowDomain.of(design, grid_bits)
    sums = CellCounts(domain, Partition.of(design, bins))
    totals = accumulate(open_source(table), design, domain, ComputeOptions(**options), sums).values
    assert all(total % domain.unit**2 == 0 for total in totals)
    return tuple(total // domain.unit**2 for total in totals)


def cell_by_hand(design, row, bins, unit) -> tuple[int, ...]:
    """The cell of one row, from its declared values in exact fractions."""
    cell = []
    for name in (*design.regressors, design.target):
        column, value = design.columns[name], row[name]
        if isinstance(column, Numeric):
            low, high = column.bounds
            scaled = (min(max(value, low), high) - column.mid) * (unit / column.half)
            steps = Fraction(round(max(-unit, min(unit, scaled))))
            cell.append(min(bins - 1, math.floor((steps / unit + 1) / 2 * bins)))
        elif isinstance(column, Boolean):
            cell.append(int(value))
        else:
            codes = [column.levels[code] for code in column.indicator_codes]
            cell.append(codes.index(value) + 1 if value in codes else 0)
    return tuple(cell)


@pytest.mark.no_cover
@pytest.mark.parametrize("trial", range(40))
def test_every_row_is_counted_in_the_cell_it_belongs_to(trial):
    rng = np.random.default_rng(trial)
    design = random_design(rng, ball=False)
    bins, grid_bits = int(rng.integers(2, 6)), int(rng.choice([8, 16, 26]))
    table = random_table(design, 30, rng)
    partition = Partition.of(design, bins)
    shape = [axis.cells for axis in partition.axes]
    expected = Counter(
        int(np.ravel_multi_index(cell_by_hand(design, row, bins, 2**grid_bits), shape))
        for row in ({name: values[k] for name, values in table.items()} for k in range(30))
    )
    counts = counts_of(table, design, bins, grid_bits)
    assert len(counts) == partition.cells == math.prod(shape)
    assert {cell: count for cell, count in enumerate(counts) if count} == expected


def test_order_and_chunks_do_not_change_a_bit():
    rng = np.random.default_rng(5)
    design = Design("y", {"x": (0, 1), "g": ["a", "b", "c"], "b": bool, "y": (0, 1)})
    table = random_table(design, 200, rng)
    results = set()
    for _ in range(20):
        order = rng.permutation(200)
        shuffled = {name: [values[k] for k in order] for name, values in table.items()}
        options = {"batch_rows": int(rng.integers(1, 300)), "chunk_rows": int(rng.integers(1, 300))}
        results.add(counts_of(shuffled, design, 7, **options))
    assert len(results) == 1
    assert sum(results.pop()) == 200


@pytest.mark.parametrize("bins", [2, 3, 7, 100_000])
def test_the_corners_lie_in_the_outermost_intervals(bins):
    indices = Axis(1, bins).indices(np.array([[-65536.0, 65536.0, -1.0, 0.0]]), 65536)
    assert indices.tolist()[:2] == [0, bins - 1]
    assert indices[2] <= indices[3]


def test_a_centre_lies_in_the_cell_that_it_stands_for():
    design = Design("y", {"x": (-1, 1), "g": ["a", "b", "c"], "b": bool, "z": (-1, 1), "y": (-1, 1)})
    partition = Partition.of(design, 4)
    unit = 2**16
    x, y = partition.regressor_centres(), partition.target_centres()
    rows = np.concatenate([np.repeat(x, len(y), axis=0), np.tile(y, len(x))[:, None]], axis=1)
    assert rows.shape == (partition.cells, len(design.released))
    assert partition.indices(np.rint(rows.T * unit), unit).tolist() == list(range(partition.cells))
    assert (np.abs(rows) <= 1).all()
    assert (x[:, 0] == 1).all()


def test_derived_columns_have_cells_of_their_own_and_splines_are_refused():
    base = {"x": (0, 1), "y": (0, 1), "square": {"formula": "x ** 2"}, "part": {"formula": "cut(x, 0.3, 0.6)"}}
    partition = Partition.of(Design("y", base), 5)
    assert (partition.cells, partition.numbers) == (5 * 5 * 5 * 3, 3)
    with pytest.raises(SpecError, match=r"'curve' is a spline.*declare a cut"):
        Partition.of(Design("y", base | {"curve": {"formula": "spline(x, 0.5)"}}), 5)


def test_an_empty_table_has_empty_cells():
    design = Design("y", {name: {"bounds": [0, 1], "missing": "drop"} for name in ("x", "y")})
    assert counts_of({"x": [], "y": []}, design, 2) == (0, 0, 0, 0)


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_counts_move_by_at_most_the_stated_sensitivities_and_by_more_than_half_of_them(unit):
    design = Design("y", {"x": (-1, 1), "b": bool, "y": (-1, 1)})
    domain, partition = RowDomain.of(design), Partition.of(design, 3)

    def fresh():
        return CellCounts(domain, partition)

    added = contributions(fresh, corner_rows(domain, booleans=1), unit)
    assert bounds(largest(l1, added, unit), cells_l1_sensitivity(unit), fresh().unit) == (True, False)
    # the square root of two is rounded in the last bit, which calibration covers
    stated = cells_l2_sensitivity(unit) * (1 + 2**-50)
    assert bounds(largest(squares, added, unit), stated, fresh().unit, power=2) == (True, False)


def test_an_interaction_with_a_number_has_no_cells_and_one_without_has_those_of_its_pairs():
    columns = {"x": (0, 1), "b": bool, "g": ["a", "b", "c"], "y": (0, 1)}
    with pytest.raises(SpecError, match="an interaction with a number, which cannot be divided into cells"):
        Partition.of(Design("y", {**columns, "xg": {"formula": "x:g"}}), 4)
    assert Partition.of(Design("y", {**columns, "bg": {"formula": "b:g"}}), 4).cells == 4 * 2 * 3 * 3 * 4
