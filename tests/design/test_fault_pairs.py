"""Of any two faults of a design both are reported, unless one cannot be judged before the other is fixed."""

from __future__ import annotations

import copy
from itertools import combinations
from typing import Any

import pytest

from discreet.design.design import Design
from discreet.errors import DesignError

Path = tuple[str, ...]
RIGHT: dict[str, Any] = {
    "target": "y",
    "columns": {
        "y": {"bounds": [0, 1]}, "x": {"bounds": [0, 1]}, "k": {"bounds": [1, 2]}, "g": {"levels": ["a", "b", "c"]},
        "b": {"dtype": "bool"}, "h": {"bounds": [0, 1], "release": False}, "f": {"formula": "h + x"},
        "c": {"formula": "cut(x, 0.5)"},
    },
    "unit": {"id": "p", "max_rows": 2},
}  # fmt: skip
FAULTS: dict[str, dict[Path, object]] = {
    "target": {("target",): "zz"}, "target a number": {("target",): 5}, "target blank": {("target",): ""},
    "target categorical": {("target",): "g"}, "intercept": {("intercept",): "yes"}, "radius": {("radius",): 0},
    "weights": {("weights",): "w"}, "unknown key": {("colour",): 1}, "neighbours": {("unit", "neighbours"): "swap"},
    "id": {("unit", "id"): "  "}, "id a column": {("unit", "id"): "k"}, "max_rows": {("unit", "max_rows"): 0},
    "unit key": {("unit", "size"): 0}, "bounds": {("columns", "x", "bounds"): [2, 1]},
    "missing": {("columns", "x", "missing"): "no"}, "column key": {("columns", "x", "colour"): 1},
    "release": {("columns", "x", "release"): 3}, "reference": {("columns", "x", "reference"): "a"},
    "two kinds": {("columns", "x", "levels"): ["a", "b"]}, "fill": {("columns", "x", "missing"): {"fill": "q"}},
    "one bound": {("columns", "y", "bounds"): [0]}, "fill outside": {("columns", "k", "missing"): {"fill": 9}},
    "level twice": {("columns", "g", "levels"): ["a", "a", "b"]},
    "level blank": {("columns", "g", "levels"): ["a", ""]},
    "reference level": {("columns", "g", "reference"): "z"}, "fill level": {("columns", "g", "missing"): {"fill": "z"}},
    "levels hidden": {("columns", "g", "release"): False}, "dtype": {("columns", "b", "dtype"): "float"},
    "fill boolean": {("columns", "b", "missing"): {"fill": 3}}, "syntax": {("columns", "f", "formula"): "h +"},
    "name in a formula": {("columns", "f", "formula"): "h + q"}, "no value": {("columns", "f", "formula"): "h / x"},
    "bounds of a formula": {("columns", "f", "bounds"): [0, 9]},
    "formula missing": {("columns", "f", "missing"): "drop"},
    "cut reference": {("columns", "c", "reference"): "z"}, "cut bounds": {("columns", "c", "bounds"): [0, 1]},
    "cycle": {("columns", "q1", "formula"): "q2 + 1", ("columns", "q2", "formula"): "q1"},
    "other cycle": {("columns", "r1", "formula"): "r2 + 1", ("columns", "r2", "formula"): "r1"},
    "name": {("columns", " n", "bounds"): [0, 1]}, "reserved": {("columns", "Intercept", "bounds"): [0, 1]},
    "released twice": {("columns", "g[b]", "bounds"): [0, 1]},
    "unused": {("columns", "u", "bounds"): [0, 1], ("columns", "u", "release"): False},
    "no value either": {("columns", "z", "formula"): "1 / (k - 1.5)"},
    "look the same": {("columns", "caf\u00e9", "bounds"): [0, 1], ("columns", "cafe\u0301", "bounds"): [0, 1]},
}  # fmt: skip
# the second is a fault only once the first is fixed, or may be none then
WAITS = {
    ("level twice", "target categorical"), ("level blank", "target categorical"), ("level twice", "released twice"),
    ("level blank", "released twice"), ("bounds", "bounds of a formula"), ("bounds", "no value"),
    ("two kinds", "bounds of a formula"), ("two kinds", "no value"), ("two kinds", "reference"), ("two kinds", "fill"),
    ("dtype", "fill boolean"), ("syntax", "bounds of a formula"), ("name in a formula", "bounds of a formula"),
    ("no value", "bounds of a formula"),
}  # fmt: skip


def places(*names: str) -> set[tuple[str, str]]:
    """Where a design with these faults has problems."""
    table = copy.deepcopy(RIGHT)
    for name in names:
        for path, value in FAULTS[name].items():
            *above, last = path
            inner = table
            for one in above:
                inner = inner.setdefault(one, {})
            inner[last] = value
    with pytest.raises(DesignError) as caught:
        Design.from_dict(table)
    return {(one.column, one.key) for one in caught.value.problems}


def test_the_design_without_a_fault_is_right_and_each_fault_is_one() -> None:
    assert Design.from_dict(RIGHT).regressors
    assert all(len(places(name)) == 1 for name in FAULTS)


@pytest.mark.no_cover
@pytest.mark.parametrize("first", FAULTS)
def test_of_two_faults_both_are_reported(first: str) -> None:
    for one, other in combinations(FAULTS, 2):
        if first == one and not FAULTS[one].keys() & FAULTS[other].keys():
            found = places(one, other)
            waits = {second for pair in ((one, other), (other, one)) if pair in WAITS for second in pair[1:]}
            for name in (one, other):
                assert places(name) <= found or name in waits, (one, other)
                # the exceptions are no more than needed
                assert not (name in waits and places(name) <= found), (one, other)
