"""Slopes that are stated, and what R^2 leaves to the others."""

from __future__ import annotations

import numpy as np
import pytest

import discreet
from discreet.analyst.planning.assumptions import read_assumptions
from discreet.analyst.planning.simulation import regressor_moments, supposed_slopes, target_moments
from discreet.errors import SpecError
from discreet.planning import plan
from support.planned_tables import BUDGET, by_name


def test_every_slope_stated_settles_the_variance_explained():
    design = discreet.Design("y", {"x": (-1, 1), "t": bool, "y": (-3, 3)})
    slopes = {"x": {"slope": 1.0}, "t": {"slope": -0.5}, "y": {"sd": 1.0}}
    made = plan(design, rows=50_000, **BUDGET, assume=slopes)
    assert made.assumptions.rsquared == pytest.approx(1 / 3 + 0.25 * 0.25)
    assert made.to_dict()["assumptions"]["rsquared"]["default"] is False
    assert "follows from the slopes" in dict(made.assumptions.lines())["variance explained"]
    found = by_name(made)
    assert (found["x"].supposed, found["t"].supposed) == (pytest.approx(1.0), pytest.approx(-0.5))
    assert found["Intercept"].supposed == pytest.approx(0.25)
    with pytest.raises(SpecError, match=r"all slopes are stated and they imply an R\^2 of 0\.3958"):
        plan(design, rows=50_000, **BUDGET, assume=slopes, rsquared=0.4)
    with pytest.raises(SpecError, match=r"explain 1\.583 times the variance of the target 'y'"):
        plan(design, rows=50_000, **BUDGET, assume=slopes | {"y": {"sd": 0.5}})
    with pytest.raises(SpecError, match=r"explain 0\.3333 times the variance .* more than the R\^2 of 0\.2"):
        plan(design, rows=50_000, **BUDGET, assume={"x": {"slope": 1.0}, "y": {"sd": 1.0}}, rsquared=0.2)
    half = by_name(plan(design, rows=50_000, **BUDGET, assume={"x": {"slope": 1.0}, "y": {"sd": 1.0}}))
    assert half["t"].supposed == pytest.approx(np.sqrt(4 * (0.5 - 1 / 3)))


@pytest.mark.parametrize("stated", [{}, {"a": {"slope": 0.02}}, {"a": {"slope": -0.02}, "t": {"slope": 1.0}}], ids=str)
def test_all_slopes_together_explain_the_stated_share_of_the_variance(stated):
    design = discreet.Design("y", {"y": (-10, 10), "a": (0, 100), "b": (0, 200), "t": bool})
    supposed = read_assumptions(design, 5000, rsquared=0.3, assume=stated, correlation={("a", "b"): 0.6})
    _, covariance = regressor_moments(design, supposed.supposed)
    _, target_sd = target_moments(design, supposed.supposed)
    slopes = supposed_slopes(design, supposed, covariance, target_sd)
    assert slopes @ covariance @ slopes == pytest.approx(0.3 * target_sd**2)
    assert 1.1 * slopes @ covariance @ slopes != pytest.approx(0.3 * target_sd**2)
    # from a half width of a, 50, and of y, 10
    for index, (name, half) in enumerate({"a": 50, "b": 100, "t": 1}.items()):
        if name in stated:
            assert slopes[index] == pytest.approx(stated[name]["slope"] * half / 10)


CROSSED = {"y": (0, 100), "x": (20, 80), "g": ["a", "b", "c"], "xg": {"formula": "x:g"}}


@pytest.mark.parametrize("stated", [
    {"x": 0.1, "g": {"b": 3.0, "c": 0.0}, "xg": {"b": 0.2, "c": -0.1}}, {"xg": {"b": 0.2, "c": 0.0}},
    {"g": {"b": 3.0, "c": 0.0}}, {"x": 0.1, "xg": {"b": 0.0, "c": -0.1}},
], ids=str)  # fmt: skip
def test_stated_slopes_are_those_of_the_table_of_a_fit_beside_an_interaction_too(stated):
    made = plan(
        discreet.Design("y", CROSSED), rows=50_000, **BUDGET, assume={name: {"slope": b} for name, b in stated.items()}
    )
    found = by_name(made)
    for name, slope in stated.items():
        for coefficient, b in ({name: slope} if name == "x" else {f"{name}[{k}]": b for k, b in slope.items()}).items():
            assert found[coefficient].supposed == pytest.approx(b, rel=1e-6, abs=0.0), coefficient


def test_slopes_of_all_levels_stay_where_the_number_is_not_released():
    columns = CROSSED | {"x": {"bounds": (20, 80), "release": False}}
    slopes = {"a": 0.1, "b": 0.3, "c": 0.0}
    assume = {"xg": {"slope": slopes}, "g": {"slope": {"b": -2.0, "c": 1.0}}}
    found = by_name(plan(discreet.Design("y", columns), rows=50_000, **BUDGET, assume=assume))
    stated = {f"xg[{level}]": b for level, b in slopes.items()} | {"g[b]": -2.0, "g[c]": 1.0}
    assert {name: found[name].supposed for name in stated} == pytest.approx(stated, rel=1e-6, abs=0.0)
