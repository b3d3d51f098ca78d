"""Plans as plain values."""

from __future__ import annotations

import json

import pytest

from discreet.analyst.planning.expected import Declared, Plan, PlannedCoefficient, PlannedNoise

GOOD = PlannedCoefficient("x", 0.1, 0.4, 0.5, None, privacy_sd=0.07, interval_share=0.99, supposed=1.0)
BAD = PlannedCoefficient("t", None, None, None, "only 40% of tables give a bounded interval", interval_share=0.4)


def plan(*coefficients: PlannedCoefficient) -> Plan:
    noise = (PlannedNoise("count", 2.0), PlannedNoise("cross", 3.0))
    return Plan(
        1.0, 1e-6, 5000.0, 0.95, "gaussian", coefficients, noise, ((2.0, None), (None, 3.0)), Declared("y", 1.0, ())
    )


def test_a_plan_is_estimable_if_no_coefficient_has_a_reason_against_it():
    assert plan(GOOD).estimable
    assert plan().estimable
    assert not plan(GOOD, BAD).estimable


def test_json_has_null_where_nothing_is_expected_and_noise_by_name():
    plain = json.loads(json.dumps(plan(GOOD, BAD).to_dict(), allow_nan=False))
    good, bad = plain["coefficients"]
    assert (good["name"], good["std_error"], good["reason"]) == ("x", 0.1, None)
    assert (bad["std_error"], bad["width"], bad["supposed"]) == (None, None, None)
    assert bad["reason"] == BAD.reason
    assert plain["noise"] == {"count": 2.0, "cross": 3.0}
    assert plain["estimable"] is False
    assert plain["assumptions"] is None


def test_a_plan_cannot_be_changed():
    for value, field in ((plan(GOOD), "rows"), (GOOD, "width"), (PlannedNoise("count", 1.0), "sd")):
        with pytest.raises(AttributeError):
            setattr(value, field, 0.0)
