"""The public geometry of a row: no encoded row of any table leaves it, and corner rows touch it."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.curator.rows import GridRows
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.tables.arrow import declared_arrays
from discreet.tables.cells import settle_missing
from discreet.tables.opening import open_source
from support.tables import random_design, random_table


def encoded(table, design: Design, domain: RowDomain) -> np.ndarray:
    columns = design.table_columns
    grid = GridRows(design, domain, 64)
    parts = []
    for batch in open_source(table).batches(columns, 64):
        settled, _ = settle_missing(columns, declared_arrays(batch, columns))
        parts.append(grid.encoded(grid.completed(settled)))
    return np.concatenate(parts, axis=1)


def squared_norms(x: np.ndarray) -> list[int]:
    return [sum(int(value) ** 2 for value in row) for row in x.T]


@pytest.mark.parametrize("grid_bits", [8, 16, 26])
def test_no_row_of_any_table_leaves_the_domain(grid_bits):
    rng = np.random.default_rng(grid_bits)
    for _ in range(40):
        design = random_design(rng, derived=bool(rng.random() < 0.4))
        domain = RowDomain.of(design, grid_bits)
        grid = encoded(random_table(design, 40, rng), design, domain)
        assert (grid == np.rint(grid)).all()
        assert (grid[0] == domain.unit).all()
        assert np.abs(grid).max() <= domain.unit
        assert max(squared_norms(grid[1:-1])) <= domain.norm2_bound
        if domain.target_nonnegative:
            assert grid[-1].min() >= 0


@pytest.mark.parametrize("columns", [
    {"x": (0, 1), "z": (-3, 5)}, {"x": (0, 1), "b": bool}, {"g": ["a", "b", "c"], "h": ["u", "v"], "x": (0, 1)},
])  # fmt: skip
def test_a_corner_row_reaches_the_bound(columns):
    design = Design("y", {**columns, "y": (0, 1)})
    domain = RowDomain.of(design)
    last = {name: kind[-1] if not isinstance(kind, type) else True for name, kind in columns.items()}
    grid = encoded({**{name: [cell] for name, cell in last.items()}, "y": [1.0]}, design, domain)
    assert squared_norms(grid[1:-1]) == [domain.norm2_bound]


def test_a_ball_smaller_than_the_box_is_the_bound_and_is_rounded_down():
    design = Design("y", {"x": (0, 1), "z": (0, 1), "y": (0, 1)}, radius=0.7)
    domain = RowDomain.of(design)
    assert domain.norm2_bound == domain.ball_norm2 == int(0.7**2 * 2**32)
    assert domain.norm2_bound < 0.7**2 * 2**32 < domain.norm2_bound + 1
    wide = RowDomain.of(Design("y", dict(design.columns), radius=9.0))
    assert wide.norm2_bound == wide.box_norm2 == 2 * 2**32


@pytest.mark.parametrize(("target", "nonnegative"), [((0, 1), False), (bool, True)])
def test_only_a_boolean_target_is_known_not_to_be_negative(target, nonnegative):
    design = Design("y", {"x": (0, 1), "y": target})
    domain = RowDomain.of(design)
    assert domain.target_nonnegative == nonnegative
    grid = encoded({"x": [0.5], "y": [0.0 if target == (0, 1) else False]}, design, domain)
    assert grid[-1, 0] == (0 if nonnegative else -domain.unit)
