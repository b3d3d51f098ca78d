"""Prints that fit on a screen, and tables for notebooks."""

from __future__ import annotations

import numpy as np
import pytest

import discreet
from discreet.analyst.inference.tests import JointTest
from discreet.privacy.budget import PrivacyUnit
from discreet.privacy.guarantee import Guarantee
from discreet.releases.reference_distribution import NotEstimable
from discreet.testing import exact_release

WIDE = discreet.Design("y", {"y": (0, 8), **{f"x{k}": (0, 2) for k in range(20)}})


def rows(n=300, wide=1):
    rng = np.random.default_rng(3)
    x = {f"x{k}": rng.uniform(0, 2, n) for k in range(wide)}
    return x | {"y": 2 + x["x0"] + rng.uniform(0, 1, n)}


@pytest.fixture(scope="module")
def release():
    return exact_release(rows(), discreet.Design("y", {"y": (0, 8), "x0": (0, 2)}))


def test_a_prediction_is_a_table_of_at_most_twenty_lines(release):
    made = discreet.fit(release).get_prediction({"x0": np.linspace(0, 2, 290)})
    lines = repr(made).splitlines()
    assert len(lines) <= 20
    assert lines[0].split() == ["row", "mean", "std", "err", "95%", "set", "of", "the", "mean"]
    assert "275 more rows" in lines[-1]
    assert made._repr_html_().count("<tr>") == 16


def test_a_short_prediction_has_all_its_rows_and_says_which_are_dropped():
    design = discreet.Design("y", {"y": (0, 8), "x0": {"bounds": (0, 2), "missing": "drop"}})
    made = discreet.fit(exact_release(rows(), design)).get_prediction({"x0": [1.0, None]})
    assert repr(made).splitlines()[2].split()[:3] == ["1", "dropped", "-"]
    assert "more rows" not in repr(made)


def test_a_path_shows_ten_strengths_around_its_choice(release):
    found = discreet.path(release)
    assert len(found.shown) == 10
    assert found.chosen in found.shown
    assert sum(mark == ">" for mark, *_ in found.cells(found.shown)) == 1
    assert "other strengths" in found._repr_html_()
    few = discreet.path(release, strengths=[0.5, 0.1])
    assert list(few.shown) == [0, 1]
    assert "other strengths" not in few._repr_html_()
    assert found.nonzero[0] == 0
    assert discreet.path(release, intercept=False, strengths=[0.01]).nonzero == [1]


def test_a_joint_test_is_one_line(release):
    found = discreet.fit(release).f_test("x0 = 0")
    assert repr(found).startswith("F(1, 298) = ")
    assert repr(discreet.fit(release).wald_test("x0 = 0", use_f=False)).startswith("chi-square(1) = ")
    assert "298" in found._repr_html_()
    refused = JointTest(NotEstimable("too much noise"), 1.0, 2, None)
    assert repr(refused) == "chi-square(2) = not estimable, p = 1 (too much noise)"
    assert "too much noise" in refused._repr_html_()
    assert "x0 = 0" in discreet.fit(release).t_test("x0 = 0")._repr_html_()


def test_a_plan_is_a_short_table():
    made = discreet.plan(WIDE, rows=5000, epsilon=1.0, delta=1e-6, rsquared=0.5)
    lines = repr(made).splitlines()
    assert lines[0] == "Plan: staged, epsilon = 1, delta = 1e-06, 5,000 rows"
    assert any("more coefficients" in line for line in lines)
    assert len(lines) < 25
    assert made._repr_html_().count("<tr>") == 22
    small = discreet.Design("y", {"y": (0, 8), "x0": (0, 2)})
    noise = discreet.plan(small, rows=500, epsilon=1.0, delta=1e-6, mechanism="output")
    assert "privacy sd" in repr(noise)
    assert "Not estimable" in repr(noise)


def test_a_guarantee_is_one_line():
    assert repr(Guarantee(1.0, 1e-6, PrivacyUnit(), ("one",))) == (
        "<Guarantee: epsilon=1, delta=1e-06, unit one row (add-remove), 1 condition>"
    )
    html = Guarantee(1.0, 1e-6, PrivacyUnit(id="who"), (), mu=0.2)._repr_html_()
    assert "one person (who, one row; add-remove)" in html
    assert "mu" in html
    assert "rho" not in html
