"""Hypotheses from text, names and weights, and the tests of them."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.analyst.inference.tests import hypotheses
from discreet.analyst.model import fit
from discreet.design.design import Design
from discreet.errors import SpecError
from support.made_releases import made

NAMES = ("Intercept", "age", "age2", "region[a, b = c]", "2x")


@pytest.mark.parametrize(
    ("text", "weights", "value"),
    [
        ("age = 0", [0, 1, 0, 0, 0], 0),
        ("age = age2", [0, 1, -1, 0, 0], 0),
        ("0.5 = 2*age - age2*3 + 1", [0, -2, 3, 0, 0], 0.5),
        ("-age + 1 = -2", [0, -1, 0, 0, 0], -3),
        ("region[a, b = c] = 1e-3", [0, 0, 0, 1, 0], 1e-3),
        ("2x = 2*2x + .5", [0, 0, 0, 0, -1], 0.5),
        ("+ Intercept = 1.", [1, 0, 0, 0, 0], 1),
    ],
)
def test_equations_are_read(text, weights, value):
    read = hypotheses(text, NAMES)
    np.testing.assert_array_equal(read.weights, [weights])
    np.testing.assert_allclose(read.values, [value])


def test_several_equations_mappings_and_weights():
    read = hypotheses("age = 0, region[a, b = c] = 2", NAMES)
    assert read.labels == ("age = 0", "region[a, b = c] = 2")
    np.testing.assert_array_equal(read.values, [0, 2])
    named = hypotheses({"age": 1.5, "2x": 0}, NAMES)
    assert named.labels == ("age = 1.5", "2x = 0")
    np.testing.assert_array_equal(named.weights, [[0, 1, 0, 0, 0], [0, 0, 0, 0, 1]])
    row = hypotheses([0, 1, -1, 0, 2.5], NAMES)
    assert row.labels == ("age - age2 + 2.5*2x = 0",)
    assert hypotheses(np.eye(5)[:2], NAMES).labels == ("Intercept = 0", "age = 0")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("age", "expected exactly one '='"),
        ("age = 1 = 2", "expected exactly one '='"),
        ("aeg = 0", "unknown coefficient 'aeg'.*Did you mean 'age'"),
        ("age = ", "cannot read the hypothesis"),
        ("age 2 = 0", "cannot read the hypothesis"),
        ("age * age2 = 0", "cannot read the hypothesis"),
        ("2 * = 0", "cannot read the hypothesis"),
        ("1 = 2", "every hypothesis must contain a coefficient"),
        ("age = age", "every hypothesis must contain a coefficient"),
        ({"aeg": 0}, "unknown coefficient 'aeg'"),
        ({}, "expected at least one hypothesis, got an empty mapping"),
        ({"age": "old"}, "cannot read the hypothesis"),
        ({"age": []}, "cannot read the hypothesis"),
        ({"age": float("nan")}, "every number in a hypothesis must be finite"),
        ([1, 2], r"give one weight for each of: Intercept, age"),
        (np.zeros((0, 5)), "expected rows of 5 weights"),
        (np.zeros((1, 1, 5)), "expected rows of 5 weights"),
        (None, "coefficient with a nonzero weight|expected rows of 5 weights|cannot read the hypothesis"),
        ([[1, 2], [3]], "cannot read the hypothesis"),
        ([0, float("inf"), 0, 0, 0], "every number in a hypothesis must be finite"),
    ],
)
def test_what_is_no_hypothesis_is_refused(spec, message):
    with pytest.raises(SpecError, match=message):
        hypotheses(spec, NAMES)


def test_hypotheses_that_follow_from_each_other_are_refused():
    random = np.random.default_rng(0)
    x = random.uniform(0, 1, 50)
    design = Design("y", {"y": (-3, 3), "x": (0, 1)})
    result = fit(made(design, {"x": x.tolist(), "y": (x + random.normal(0, 0.2, 50)).tolist()}, sigma=0.05).release)
    with pytest.raises(SpecError, match="repeat or contradict"):
        result.f_test("x = 0, x = 1")
    shown = repr(result.t_test({"x": 0}))
    assert shown.startswith("x = 0: effect ")
    assert "p = " in shown
