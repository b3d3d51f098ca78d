"""Rows that an attacker asks about, and the two tables between which the attack decides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.audit.pairs.corners import corner_pairs
from discreet.audit.subjects.rows import MadeUpRows
from discreet.curator.sums.gram import ExactGram, chunk_rows
from discreet.curator.sums.protocol import Totals
from discreet.datasets.dataset import Dataset
from discreet.exact.arrays import FloatArray
from discreet.exact.triangle import pairs as places
from discreet.losses.law import NoiseLaw
from discreet.tables.source import ComputeOptions
from discreet.workflow import Question


@dataclass(frozen=True)
class Target:
    """A row, and all others: the attacker knows both, and asks whether the row was in the table.

    Attributes
    ----------
    name
        For people.
    row
        The row (1, x, y) on the grid, one column.
    others
        All other rows, one in each column.
    """

    name: str
    row: FloatArray
    others: FloatArray

    def totals(self, asked: Question, *, with_row: bool) -> Totals:
        """Exact sums of products of the table with the row, or without it."""
        size, bits = len(asked.design.released), asked.domain.grid_bits
        gram, step = ExactGram(size, bits), chunk_rows(ComputeOptions().chunk_rows, size, bits)
        for start in range(0, self.others.shape[1], step):
            gram.add(self.others[:, start : start + step])
        if with_row:
            gram.add(self.row)
        return Totals(gram.totals(), gram.unit, self.others.shape[1] + with_row)


def targets(dataset: Dataset, asked: Question) -> tuple[Target, Target]:
    """The worst row inside the declared bounds, added to the table; and a typical row of it, taken away.

    The worst row moves the noisy sums farthest. The typical one does so more than half of the rows do, and less than
    the other half.
    """
    rows = MadeUpRows(dataset.table, asked.design, asked.domain).grid
    (corner,) = corner_pairs(asked.design)
    worst = MadeUpRows(corner.neighbour, asked.design, asked.domain).grid
    order = np.argsort(reach(rows, asked.law, asked.domain.unit), kind="stable")
    typical = int(order[rows.shape[1] // 2])
    return (
        Target("worst row", worst, rows),
        Target("typical row", rows[:, [typical]], np.delete(rows, typical, axis=1)),
    )


def reach(rows: FloatArray, law: NoiseLaw, unit: int) -> FloatArray:
    """How far each row moves the sums of products, in standard deviations of their noise: its own mu."""
    scaled = rows / unit
    entry_sd = law.entry_sd(len(rows))
    # what is a copy of another sum, or has no noise, is no more to see
    entry_sd[law.indicator_columns, law.indicator_columns] = 0.0
    squares = np.zeros(rows.shape[1])
    for i, j in places(len(rows)):
        if entry_sd[i, j] > 0:
            squares += (scaled[i] * scaled[j] / entry_sd[i, j]) ** 2
    found: FloatArray = np.sqrt(squares)
    return found
