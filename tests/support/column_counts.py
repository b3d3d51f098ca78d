"""A run of `refined` with two columns, and exact counts by cell, for tests of noisy searches."""

from __future__ import annotations

import numpy as np

from discreet.curator.sums.cell_counts import ColumnCells
from discreet.design.design import Design
from discreet.exact.arrays import FloatArray, IntArray
from discreet.mechanisms.protocol import RunContext
from discreet.mechanisms.refined import RefinedRegression
from discreet.mechanisms.sampler import Sampler
from support.iterative_runs import prepared


def context_of(
    sampler: Sampler | None = None, *, intercept: bool = True, target: tuple[float, float] | type = (-1, 1)
) -> RunContext:
    """Columns x and z between -1 and 1; without noise unless a sampler is given."""
    design = Design("y", {"x": (-1, 1), "z": (-1, 1), "y": target}, intercept=intercept)
    return prepared(RefinedRegression(), design, 1.0, 1e-6, sampler)


def cells_of(context: RunContext, *columns: FloatArray) -> IntArray:
    """Counts by cell of columns whose values are between -1 and 1."""
    rows = np.rint(np.stack([np.ones_like(columns[0]), *columns]) * 2**16)
    counts = ColumnCells(context.domain, range(1, len(rows)))
    counts.add(rows)
    return counts.cells()
