"""Bounds of all columns of a matrix in three forms; what is none of them is refused."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.design.declarations import declared_bounds
from discreet.errors import SpecError

NAMES = ["a", "b"]


@pytest.mark.parametrize(
    "bounds",
    [
        {"b": (-2.0, 3.0), "a": (0.0, 1.0)},
        (np.array([0, -2]), np.array([1, 3])),
        np.array([[0.0, -2.0], [1.0, 3.0]]),
    ],
)
def test_every_form_says_the_same_in_column_order(bounds):
    declared = declared_bounds(bounds, NAMES)
    assert list(declared) == NAMES
    assert declared == {"a": (0.0, 1.0), "b": (-2.0, 3.0)}


@pytest.mark.parametrize(
    ("bounds", "said"),
    [
        (None, "bounds are missing; bounds are never read from the data"),
        ({"a": (0, 1)}, r"in X but not in bounds: \['b'\]"),
        ({"a": (0, 1), "b": (0, 1), "c": (0, 1)}, r"in bounds but not in X: \['c'\]"),
        ([(0, 1), (0, 1)], "two pairs may mean"),
        ((0, 1, 2), r"expected a mapping .*; the given tuple has none of these forms"),
        (([0, 0, 0], 1), r"expected a mapping .* of 2 numbers"),
        (("low", "high"), "expected a mapping"),
        (7, "the given int has none of these forms"),
    ],
)
def test_what_is_no_form_of_bounds_is_refused(bounds, said):
    with pytest.raises(SpecError, match=said):
        declared_bounds(bounds, NAMES)
