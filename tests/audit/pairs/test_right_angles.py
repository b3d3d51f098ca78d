"""Pairs on which the smallest eigenvalue moves as far as one row can move it."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.audit.pairs import corner_pairs, orthogonal_pairs
from discreet.design.design import Design

COLUMNS = {"a": (-1, 1), "b": (-1, 1), "y": (-1, 1)}


def smallest(table, *, constant: bool) -> float:
    rows = np.column_stack([np.array(table[name], dtype=float) for name in ("a", "b")])
    X = np.column_stack([np.ones(len(rows)), rows]) if constant else rows
    return float(np.linalg.eigvalsh(X.T @ X)[0])


@pytest.mark.parametrize("intercept", [True, False])
def test_one_row_more_moves_the_smallest_eigenvalue_by_its_squared_length(intercept):
    """A row moves no eigenvalue by more than its squared length, 1 + d or d for a corner of the box."""
    design = Design("y", COLUMNS, intercept=intercept)
    (pair,) = orthogonal_pairs(design)
    with_row, without = (smallest(table, constant=intercept) for table in (pair.table, pair.neighbour))
    assert without == pytest.approx(0.0, abs=1e-9)
    assert with_row - without == pytest.approx(2 + intercept)
    assert max(smallest(one.table, constant=intercept) for one in corner_pairs(design)) < 1


def test_replaced_rows_keep_their_number_and_differ_in_one():
    pairs = orthogonal_pairs(Design("y", COLUMNS, unit={"neighbours": "replace"}))
    assert pairs
    for pair in pairs:
        rows, others = (list(zip(*table.values(), strict=True)) for table in (pair.table, pair.neighbour))
        assert sum(one != other for one, other in zip(rows, others, strict=True)) == 1, pair.name
        assert pair.name.endswith("orthogonal to the rest")


@pytest.mark.parametrize(
    ("columns", "more"),
    [
        ({"a": (-1, 1), "b": bool, "y": (-1, 1)}, {}),
        (COLUMNS, {"radius": 1.0}),
        ({"a": (-1, 1), "y": (-1, 1)}, {"intercept": False}),
        ({"a": {"bounds": [-1, 1], "release": False}, "a2": {"formula": "a ** 2"}, "y": (-1, 1)}, {}),
    ],
    ids=["booleans", "a ball", "one column", "formulas"],
)
def test_designs_without_such_a_row_have_no_pair(columns, more):
    assert orthogonal_pairs(Design("y", columns, **more)) == ()


def test_a_boolean_target_is_true_in_the_corner():
    (pair,) = orthogonal_pairs(Design("y", {"a": (0, 4), "y": bool}))
    assert (pair.table["a"][-1], pair.table["y"][-1]) == (4, True)
    assert not any(pair.neighbour["y"])
