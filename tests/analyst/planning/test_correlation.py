"""Correlations that a planner states."""

from __future__ import annotations

import pytest

import discreet
from discreet.errors import SpecError
from discreet.planning import plan
from support.planned_tables import BUDGET, COLUMNS, DESIGN, by_name


def test_one_correlation_holds_for_every_pair_of_numbers():
    design = discreet.Design("y", {name: COLUMNS[name] for name in ("y", "a", "b", "t")})
    common = plan(design, rows=50_000, **BUDGET, correlation=0.9)
    pair = plan(design, rows=50_000, **BUDGET, correlation={("b", "a"): 0.9})
    none = plan(design, rows=50_000, **BUDGET)
    assert by_name(common)["a"].std_error == by_name(pair)["a"].std_error > 2 * by_name(none)["a"].std_error


BAD = [
    ({"correlation": 1.0}, "expected a number between -1 and 1 for correlation, got 1.0"),
    ({"correlation": "x"}, "for correlation, got 'x'"),
    ({"correlation": {"a": 0.3}}, r"expected pairs of regressors such as \('a', 'b'\) for correlation, got 'a'"),
    ({"correlation": {("a", "a"): 0.3}}, "expected two different columns in a correlation, got 'a' twice"),
    ({"correlation": {("a", "b"): 0.3, ("b", "a"): 0.3}}, "got a correlation of 'b' and 'a' twice"),
    ({"correlation": {("a", "b"): -1}}, "for the correlation of 'a' and 'b', got -1"),
    ({"correlation": {("a", "y"): 0.1}}, "the target 'y', but correlations must be between regressors"),
    (
        {"correlation": {("a", "g"): 0.1}},
        "unknown numeric or boolean column 'g' in a correlation; allowed: a, b, t, u, h",
    ),
    ({"correlation": {("a", "a2"): 0.1}}, "unknown numeric or boolean column 'a2'"),
    (
        {"correlation": {("t", "u"): 0.5}, "assume": {"t": {"share": 0.02}}},
        r"expected a number from -0.143 to 0.143 for the correlation of 't' and 'u', .* got 0.5",
    ),
    (
        {"correlation": {("t", "a"): 0.9, ("t", "b"): 0.9, ("a", "b"): -0.9}},
        "not positive definite",
    ),
]


@pytest.mark.parametrize(("bad", "message"), BAD, ids=str)
def test_correlations_that_no_table_can_have_are_refused(bad, message):
    with pytest.raises(SpecError, match=message):
        plan(DESIGN, **({"rows": 1000, **BUDGET} | bad))
