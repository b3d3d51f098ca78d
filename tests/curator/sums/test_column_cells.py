"""Counts by cell answer every comparison with a threshold, exactly and in any order."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.curator.sums.cell_counts import CELLS, ColumnCells
from discreet.design.domain import RowDomain


def chunk_of(rng, rows, bits):
    chunk = rng.integers(-(2**bits), 2**bits + 1, (3, rows)).astype(float)
    chunk[0] = 2**bits
    return chunk


@pytest.mark.parametrize("bits", [8, 12, 16, 26])
def test_counts_up_to_a_cell_are_those_of_values_up_to_its_edge(bits):
    rng = np.random.default_rng(bits)
    chunk = chunk_of(rng, 2000, bits)
    counts = ColumnCells(RowDomain(1, 0, 0, None, False, bits), [1, 2])
    counts.add(chunk)
    cells = counts.cells()
    assert (counts.totals(), counts.unit, cells.dtype) == ((), 1, np.int64)
    assert cells.shape == (2, 2 * CELLS + 1)
    up_to = np.cumsum(cells, axis=1)
    for edge in (-CELLS, -1, 0, 1, 77, CELLS - 1, CELLS):
        exact = (chunk[1:] * CELLS <= edge * 2**bits).sum(axis=1)
        assert (up_to[:, edge + CELLS] == exact).all()


def test_chunks_add_up_and_one_row_changes_one_cell_of_each_column():
    rng = np.random.default_rng(2)
    chunk = chunk_of(rng, 500, 16)
    whole, parts, fewer = (ColumnCells(RowDomain(1, 0, 0, None, False, 16), [1, 2]) for _ in range(3))
    whole.add(chunk)
    for part in np.array_split(chunk[:, rng.permutation(500)], 7, axis=1):
        parts.add(part)
    fewer.add(chunk[:, 1:])
    assert (whole.cells() == parts.cells()).all()
    change = whole.cells() - fewer.cells()
    assert change.sum(axis=1).tolist() == [1, 1]
    assert np.abs(change).sum() == 2
