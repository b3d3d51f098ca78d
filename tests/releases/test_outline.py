"""A release in ten lines."""

from __future__ import annotations

import datetime
from dataclasses import replace

import numpy as np
import pytest

import discreet
from discreet.design.design import Design
from discreet.options import RobustErrors
from discreet.releases.release_summary import outline, outline_facts
from discreet.testing.not_private import exact_release, seeded_release

COLUMNS = {"y": (0, 8), "x": (0, 2), "flag": bool, "g": ["p", "q", "r"], "s": {"formula": "spline(x, 1)"}}
TABLE = {
    "x": [0.5, 1.0, 2.0, 1.5] * 5,
    "y": [2.0, 5.0, 6.0, 7.0] * 5,
    "flag": [True, False] * 10,
    "g": ["p", "q", "r", "p"] * 5,
}


@pytest.fixture(scope="module")
def made():
    return discreet.release(
        TABLE, Design("y", COLUMNS), epsilon=1.0, delta=1e-6, robust=True, clip_counts=True, guard=False
    )


def test_a_release_of_sums_in_ten_lines(made):
    lines = dict(outline(made))
    assert len(outline(made)) == 10
    assert lines["Holds"].startswith("noisy sums of products of ")
    assert lines["Target"] == "y, 0 to 8"
    assert lines["Features"] == "x (0 to 2), flag (true or false), g (3 levels), s (spline(x, 1))"
    assert lines["Rows"].startswith("about ")
    assert lines["Promise"] == "epsilon = 1, delta = 1e-06, add-remove neighbours, unit: a row"
    assert lines["Also"] == "sums for robust standard errors, counts of clipped rows"
    assert lines["Ledger"].startswith("untracked")
    assert lines["Digest"].endswith("..., not signed")
    assert made.summary().splitlines() == [f"{label:<11}{text}" for label, text in lines.items()]


def test_the_same_as_plain_values(made):
    facts = outline_facts(made)
    assert facts["features"] == ["x", "flag", "g", "s"]
    assert facts["rows"] == made.moments[0, 0]
    assert facts["guarantee"] == made.guarantee.to_dict()
    assert facts["digest"] == made.digest
    assert facts["signed"] is False


def test_many_columns_are_cut_and_a_model_without_intercept_says_so():
    names = [f"x{j}" for j in range(15)]
    design = Design("y", {"y": (0, 1), **dict.fromkeys(names, (0, 1))}, intercept=False)
    lines = dict(outline(exact_release({name: [0.5, 1.0] for name in ("y", *names)}, design)))
    assert lines["Features"].endswith("x11 (0 to 1), and 3 more, no intercept")
    assert lines["Promise"].startswith("NOT PRIVATE")
    assert lines["Rows"] == "2"
    assert lines["Also"] == "nothing else"


def test_persons_recorded_and_signed_releases_say_so(made):
    unit = {"id": "person", "max_rows": 2}
    design = Design("y", {"y": (0, 8), "x": (0, 2)}, unit=unit)
    persons = discreet.release({**TABLE, "person": list(range(20))}, design, epsilon=1.0, delta=1e-6)
    assert dict(outline(persons))["Promise"].endswith("unit: a person (person, at most 2 rows)")
    marked = replace(made, anchor="ledger:1", signature="ed25519:abc")
    lines = dict(outline(marked))
    assert lines["Ledger"] == "ledger:1"
    assert lines["Digest"].endswith("..., signed")


def test_a_release_of_one_model_says_so():
    made = seeded_release(
        {name: TABLE[name] for name in "xy"}, Design("y", {"y": (0, 8), "x": (0, 2)}), seed=1, epsilon=1.0, delta=1e-6,
        mechanism="gradient",
    )  # fmt: skip
    lines = dict(outline(made))
    assert lines["Holds"] == "2 coefficients of one model; no other model can be fitted"
    assert lines["Rows"] == "not released"
    assert outline_facts(made)["rows"] is None
    assert outline_facts(made)["guarantee"] is None


def test_staged_and_found_bounds_are_named():
    random = np.random.default_rng(1)
    table = {name: random.uniform(0, 1, 2_000) for name in "xy"}
    staged = seeded_release(
        table, Design("y", {"y": (0, 8), "x": (0, 2)}), seed=1, epsilon=20.0, delta=1e-6, mechanism="staged"
    )
    assert " weighted " not in dict(outline(staged))["Holds"]
    assert dict(outline(staged))["Also"] == (
        "a noisy number of rows, centres and scales, a pilot line, and counts of rows by norm"
    )
    found = seeded_release(
        table,
        Design("y", {"y": (0, 8), "x": {"bounds": "private"}}),
        seed=1,
        epsilon=20.0,
        delta=1e-6,
        mechanism="gaussian",
    )
    lines = dict(outline(found))
    assert "found privately)" in lines["Features"]
    assert lines["Also"] == "counts from which private bounds were computed"


def test_dates_are_shown_as_dates():
    first, last = datetime.date(2023, 3, 1), datetime.date(2024, 12, 31)
    design = Design("y", {"y": (0, 1), "day": (first, last)})
    lines = dict(outline(exact_release({"y": [0.5, 1.0], "day": [first, last]}, design)))
    assert lines["Features"] == "day (2023-03-01 to 2024-12-31)"


def test_further_models_with_robust_errors_are_named():
    design = Design("y", {"y": (0, 8), "x": (0, 2), "flag": bool})
    made = seeded_release(
        TABLE, design, seed=1, epsilon=1.0, delta=1e-6, robust=RobustErrors(models=["y ~ x", "x ~ flag"])
    )
    assert dict(outline(made))["Also"] == "sums for robust standard errors of the full model and of 'y ~ x', 'x ~ flag'"
    assert outline_facts(made)["robust_models"] == ["y ~ x", "x ~ flag"]


def test_a_release_by_staged_holds_least_squares_and_the_numbers_that_define_its_sums():
    design = Design("y", COLUMNS)
    lines = dict(outline(seeded_release(TABLE, design, seed=1, epsilon=5.0, delta=1e-6)))
    size = len(design.released)
    assert lines["Holds"] == (
        f"least squares of {size} columns (with the constant), from noisy sums; any linear model can be fitted"
    )
    assert "centres and scales, a pilot line, and counts of rows by norm" in lines["Also"]
