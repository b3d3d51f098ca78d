"""Rows kept in memory give the sums that a table gives."""

from __future__ import annotations

import numpy as np

from discreet.audit.subjects.rows import MadeUpRows
from discreet.curator.sums.gram import ExactGram
from discreet.curator.table import accumulate
from discreet.design.domain import RowDomain
from discreet.design.model import Design
from discreet.tables.files.opening import open_source
from discreet.tables.source import ComputeOptions


def test_sums_are_those_of_the_table_however_often_they_are_asked_for():
    design = Design("y", {"y": (-1, 1), "x": (0, 10), "g": ["a", "b"]})
    rng = np.random.default_rng(0)
    table = {"x": rng.uniform(-1, 11, 50), "y": rng.uniform(-1, 1, 50), "g": ["a", "b"] * 25}
    domain = RowDomain.of(design)
    whole = accumulate(open_source(table), design, domain, ComputeOptions())
    rows = MadeUpRows(table, design, domain)
    for _ in range(2):
        found = rows.sums(ExactGram(4, 16))
        assert (found.values, found.unit, found.count) == (whole.values, whole.unit, 50)
