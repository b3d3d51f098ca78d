"""What a plan supposes, with what is a default."""

from __future__ import annotations

import json

import pytest

from discreet.analyst.planning.assumptions import read_assumptions
from discreet.planning import plan
from support.planned_cells import SHARES
from support.planned_tables import BUDGET, DESIGN, by_name


def test_assumptions_are_told_and_defaults_are_marked():
    made = plan(
        DESIGN,
        rows=50_000,
        **BUDGET,
        assume={"a": {"mean": 30}, "t": {"share": 0.1, "slope": 2.0}, "g": {"share": SHARES}, "a2": {"slope": 0.0001}},
        correlation={("a", "b"): 0.5},
    )
    told = made.to_dict()["assumptions"]
    json.dumps(told, allow_nan=False)
    assert told["rows"] == 50_000
    assert told["rsquared"] == {"value": 0.5, "default": True}
    assert told["correlation"] == {"value": 0.0, "default": False, "pairs": [{"columns": ["a", "b"], "value": 0.5}]}
    assert told["columns"]["a"]["mean"] == {"value": 30.0, "default": False}
    assert told["columns"]["a"]["sd"]["default"] is True
    assert told["columns"]["b"]["mean"] == {"value": 100.0, "default": True}
    assert told["columns"]["t"] == {
        "share": {"value": 0.1, "default": False},
        "slope": {"value": {"t": 2.0}, "default": False},
    }
    assert told["columns"]["u"] == {"share": {"value": 0.5, "default": True}}
    assert told["columns"]["g"]["share"]["value"]["e"] == pytest.approx(0.03)
    assert told["columns"]["a2"] == {"formula": "a ** 2", "slope": {"value": {"a2": 0.0001}, "default": False}}
    lines = dict(made.assumptions.lines())
    assert lines["y, the target"] == "mean 0 (default), sd 5.7735 (default)"
    assert lines["a"].startswith("mean 30, sd ")
    assert lines["a"].endswith("(default)")
    assert lines["t"] == "share true 0.1, slope 2"
    assert lines["g"] == "a 0.55, b 0.25, c 0.1, d 0.07, e 0.03"
    assert lines["a2"] == "computed: a ** 2, slope 0.0001"
    assert lines["correlation of a and b"] == "0.5"
    assert by_name(made)["t"].supposed == pytest.approx(2.0, rel=1e-3)


def test_a_spread_that_is_given_is_no_default():
    made = read_assumptions(DESIGN, 50_000, spread=0.2, assume={"a": {"mean": 10}}, correlation=0.3)
    told = made.to_dict()
    assert told["columns"]["b"]["sd"] == {"value": pytest.approx(20.0), "default": False}
    # as a share of the largest sd that the bounds allow at this mean
    assert told["columns"]["a"]["sd"]["value"] == pytest.approx(0.2 * 30.0)
    assert told["columns"]["y"]["sd"]["default"] is True
    assert dict(made.lines())["correlation of numeric columns"] == "0.3"
