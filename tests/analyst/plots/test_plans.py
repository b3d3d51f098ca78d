"""The pictures of a plan."""

from __future__ import annotations

import sys

import pytest

from discreet.analyst.plots.style import LIGHT
from discreet.design.design import Design
from discreet.errors import OutputError, SpecError
from discreet.planning import plan
from support.picture_cases import texts

COLUMNS = {
    "x": (-1, 1), "b": bool, "g": ["u", "v", "w"], "hidden": {"bounds": [-1, 1], "release": False},
    "s": {"formula": "spline(hidden, 0, degree=2)"}, "y": (-2, 2),
}  # fmt: skip
DESIGN = Design("y", COLUMNS)


@pytest.fixture(scope="module")
def plans():
    return [plan(DESIGN, rows=20_000, epsilon=epsilon, delta=1e-6) for epsilon in (1.0, 2.0, 4.0)]


def test_a_plan_draws_the_intervals_to_expect_over_declared_ranges(plans):
    figure = plans[0].plot()
    written = texts(figure)
    assert {"Plan for y", "x", "g[v]", "s[1]", "change of y"} <= set(written)
    assert "About 20,000 rows, staged, epsilon 1, delta 1e-6" in written
    x = plans[0].coefficients[1]
    (axes,) = [one for one in figure.axes if one.get_xlim()[1] < 100 and one.get_xlim() != (-1.0, 1.0)]
    first = next(line.get_xdata() for line in axes.lines if line.get_color() == LIGHT.privacy)
    assert list(first) == pytest.approx([2 * (x.supposed - x.width / 2), 2 * (x.supposed + x.width / 2)])


def test_plans_at_several_budgets_draw_widths_against_epsilon(plans):
    figure = plans[1].plot(over=plans)
    (axes,) = figure.axes
    lines = {line.get_label(): line for line in axes.lines}
    assert list(lines["x"].get_xdata()) == [1.0, 2.0, 4.0]
    assert list(lines["x"].get_ydata()) == [one.coefficients[1].width for one in plans]
    assert axes.get_yscale() == "log"
    # the order in which they are given does not count, and this plan is one of them
    again = plans[1].plot(over=[plans[2], plans[0]])
    assert texts(again) == texts(figure)


def test_what_is_not_estimable_is_said(plans):
    few = plan(DESIGN, rows=250, epsilon=0.3, delta=1e-6)
    if any(one.width for one in few.coefficients):
        assert "not estimable" in texts(few.plot())
    else:
        with pytest.raises(SpecError, match="no interval width to plot"):
            few.plot()
    with pytest.raises(SpecError, match=r"no interval width to plot.*publishes coefficients"):
        plan(DESIGN, rows=1000, epsilon=1.0, delta=1e-6, mechanism="irls").plot()


def test_bad_arguments_are_refused(plans, tmp_path):
    other = plan(Design("y", {"y": (0, 1), "z": (0, 1)}), rows=1000, epsilon=1.0, delta=1e-6)
    for over, words in ((3, "list of plans"), ([1], "list of plans"), ([other], "plans with the same coefficients")):
        with pytest.raises(SpecError, match=words):
            plans[0].plot(over=over)
    with pytest.raises(OutputError, match="does not exist"):
        plans[0].plot(tmp_path / "none" / "p.svg")
    plans[0].plot(tmp_path / "p.svg")
    with pytest.raises(OutputError, match="exists"):
        plans[0].plot(tmp_path / "p.svg")


def test_a_picture_needs_matplotlib(plans, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    for over in ((), plans):
        with pytest.raises(SpecError, match="plots"):
            plans[0].plot(over=over)
