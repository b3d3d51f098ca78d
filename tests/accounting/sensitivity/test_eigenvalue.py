"""Sensitivity of the smallest eigenvalue; neighbouring tables are tried in tests/mechanisms/moments/test_adassp.py."""

from __future__ import annotations

from discreet.accounting.moments import eigenvalue_sensitivity
from discreet.design.design import Design
from discreet.design.domain import RowDomain


def test_it_is_the_squared_length_of_the_longest_row():
    columns = {"y": (-1, 1), "x": (-1, 1), "z": (-1, 1)}
    for intercept, expected in ((True, 3.0), (False, 2.0)):
        design = Design("y", columns, intercept=intercept)
        assert eigenvalue_sensitivity(design, RowDomain.of(design)) == expected
