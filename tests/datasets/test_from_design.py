"""Simulated rows fit their design: within bounds, of declared levels, with the supposed spread and R^2."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

import discreet
from discreet.datasets import simulated_rows

DESIGN = discreet.Design(
    "y",
    {
        "y": (0, 100),
        "x": (0, 5),
        "b": bool,
        "g": ["a", "b", "c"],
        "code": {"levels": [1, 2, 3]},
        "day": (date(2019, 1, 1), date(2020, 1, 1)),
        "square": {"formula": "x ** 2"},
        "income": "private",
        "w": (0, 3),
    },
    unit={"id": "person", "max_rows": 3},
    weights="w",
)


def test_every_kind_of_column_fits():
    table = simulated_rows(DESIGN, 400)
    found = discreet.check(table, DESIGN)
    assert (found.rows_read, found.rows_fit) == (400, 400)
    assert [column.name for column in found.columns if column.misfits or column.clipped_low.count] == []
    assert table.schema.metadata[b"discreet"].startswith(b"SIMULATED")
    assert "square" not in table.column_names


def test_a_release_can_be_made_of_them_and_has_the_supposed_properties():
    design = discreet.Design("y", {"y": (0, 100), "x": (0, 5), "z": (0, 1)})
    table = simulated_rows(design, 20_000, rsquared=0.6, assume={"x": {"mean": 1.0, "sd": 0.3}})
    x = np.asarray(table["x"])
    # 20,000 draws: the mean is within 5 of its standard errors with a probability of 0.9999994, and the seed is fixed
    assert abs(x.mean() - 1.0) < 5 * 0.3 / 20_000**0.5
    assert abs(x.std() - 0.3) < 0.01
    fit = discreet.fit(discreet.testing.exact_release(table, design))
    assert abs(float(fit.rsquared) - 0.6) < 0.05
    other = discreet.fit(discreet.testing.exact_release(simulated_rows(design, 20_000, rsquared=0.1), design))
    assert abs(float(other.rsquared) - 0.6) > 0.3


def test_a_boolean_target_has_its_share():
    design = discreet.Design("b", {"b": bool, "x": (0, 5)})
    table = simulated_rows(design, 1000, assume={"b": {"share": 0.2}})
    assert np.asarray(table["b"]).mean() == pytest.approx(0.2, abs=0.01)


def test_a_target_by_formula_is_not_drawn():
    design = discreet.Design("t", {"t": {"formula": "x + z"}, "x": (0, 5), "z": (0, 5)})
    assert simulated_rows(design, 5).column_names == ["x", "z"]


@pytest.mark.parametrize(("sd", "most"), [(0.0, 1), (2.5, 2)])
def test_no_spread_and_the_largest_one(sd, most):
    design = discreet.Design("y", {"y": (0, 1), "x": (0, 5)})
    if sd == 0:
        with pytest.raises(discreet.DiscreetError):
            simulated_rows(design, 50, assume={"x": {"mean": 2.5, "sd": sd}})
        return
    x = np.asarray(simulated_rows(design, 50, assume={"x": {"mean": 2.5, "sd": sd}})["x"])
    assert len(set(x.tolist())) == most


def test_the_seed_repeats_the_rows():
    design = discreet.Design("y", {"y": (0, 1), "x": (0, 5)})
    assert simulated_rows(design, 9, seed=4).equals(simulated_rows(design, 9, seed=4))
    assert not simulated_rows(design, 9, seed=4).equals(simulated_rows(design, 9, seed=5))


@pytest.mark.parametrize("wrong", [{"rows": 0}, {"rows": 10**7}, {"rows": 2.5}, {"seed": -1}, {"spread": 7}])
def test_bad_input_is_refused(wrong):
    with pytest.raises(discreet.DiscreetError):
        simulated_rows(discreet.Design("y", {"y": (0, 1), "x": (0, 5)}), **{"rows": 5} | wrong)


def test_what_is_no_design_is_refused():
    with pytest.raises(discreet.DiscreetError, match="expected a Design"):
        simulated_rows({"y": (0, 1)}, 5)
