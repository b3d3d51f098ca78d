"""Tables drawn under the assumptions of a plan."""

from __future__ import annotations

import numpy as np
import pytest

import discreet
from discreet.analyst.planning.assumptions import read_assumptions
from discreet.analyst.planning.simulation import declared_moments, drawn_moments
from discreet.errors import SpecError
from discreet.planning import plan
from discreet.testing.not_private import exact_release
from support.planned_cells import SHARES
from support.planned_tables import COLUMNS


def test_drawn_tables_have_the_stated_properties():
    """Where no formula is there, a drawn table must have the moments that hold by definition."""
    design = discreet.Design("y", {name: COLUMNS[name] for name in ("y", "a", "b", "t", "u", "g")})
    assumptions = read_assumptions(
        design,
        1000,
        assume={
            "a": {"mean": 20, "sd": 10},
            "t": {"share": 0.02},
            "u": {"share": 0.3},
            "g": {"share": SHARES},
        },
        correlation={("a", "b"): 0.8, ("a", "t"): 0.1, ("u", "b"): -0.2},
    )
    mean, covariance = declared_moments(design, assumptions.supposed)
    drawn_mean, drawn = drawn_moments(design, assumptions.supposed)
    np.testing.assert_allclose(drawn_mean, mean, atol=1e-4)
    sds = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(drawn / np.outer(sds, sds), covariance / np.outer(sds, sds), atol=0.02)
    assert covariance[0, 1] == pytest.approx(0.8 * sds[0] * sds[1])
    assert mean[2] == pytest.approx(0.02)
    assert mean[4:].tolist() == pytest.approx([0.25, 0.10, 0.07, 0.03])


@pytest.mark.no_cover
def test_formulas_and_the_ball_follow_the_columns_they_use():
    design = discreet.Design("y", COLUMNS, radius=1.2)
    supposed = read_assumptions(design, 1000).supposed
    mean, covariance = drawn_moments(design, supposed)
    random = np.random.default_rng(3)
    rows = 200_000
    table = {
        "y": random.uniform(-10, 10, rows), "a": random.uniform(0, 100, rows), "b": random.uniform(0, 200, rows),
        "h": random.uniform(0, 200, rows),
        "t": random.random(rows) < 0.5, "u": random.random(rows) < 0.5, "g": random.choice(list(SHARES), rows),
    }  # fmt: skip
    real = exact_release(table, design).moments / rows
    assert len(mean) == len(real) - 2
    np.testing.assert_allclose(mean, real[0, 1:-1], atol=0.01)
    np.testing.assert_allclose(covariance, real[1:-1, 1:-1] - np.outer(real[0, 1:-1], real[0, 1:-1]), atol=0.01)


@pytest.mark.no_cover
def test_a_number_and_a_boolean_cannot_be_as_close_in_a_drawn_table_as_their_bounds_alone_allow():
    """Rows are drawn where a formula uses the columns; a uniform number and a boolean have at most sqrt(3) / 2."""
    design = discreet.Design("y", {"a": (0, 100), "t": bool, "a2": {"formula": "a ** 2"}, "y": (-10, 10)})
    with pytest.raises(SpecError, match="could not simulate a table with these means, sds, shares and correlations"):
        plan(design, rows=1000, epsilon=1.0, delta=1e-6, correlation={("t", "a"): 0.95})
    assert plan(design, rows=1000, epsilon=1.0, delta=1e-6, correlation={("t", "a"): 0.8})
