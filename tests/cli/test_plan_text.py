"""Plans as text: what is expected, why some have no width, and what was assumed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from discreet.analyst.planning.assumptions import Assumptions, ColumnAssumption, Supposed
from discreet.analyst.planning.expected import Declared, Plan, PlannedCoefficient, PlannedNoise
from discreet.cli.plan import print_over, print_plan, print_plans

GOOD = PlannedCoefficient("x", 0.12345678, 0.5, 0.25, None, interval_share=0.999, supposed=1.0)
FEW = PlannedCoefficient("t", None, None, None, "too few rows", interval_share=0.4, supposed=2.0)
INSIDE = PlannedCoefficient("x", None, None, None, "no sums", privacy_sd=0.5)
NOISE = (PlannedNoise("selection", 3.25),)
SUPPOSED = Assumptions(5000.0, 0.5, Supposed((ColumnAssumption("x", mean=0.0, sd=0.5, stated=("sd",)),)), "y")


def plan(*coefficients: PlannedCoefficient, epsilon: float = 1.0, assumptions: Assumptions | None = None) -> Plan:
    return Plan(epsilon, 1e-6, 5000.0, 0.95, "gaussian", coefficients, NOISE, (), Declared("y", 1.0, ()), assumptions)


def lines(capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    return [line.split() for line in capsys.readouterr().out.splitlines()]


def test_a_share_of_tables_is_never_rounded_up(capsys):
    print_plan("Plan", plan(GOOD, FEW))
    shown = lines(capsys)
    assert ["x", "1", "0.1235", "0.5", "25%", "99%"] in shown
    assert ["t", "2", "not", "estimable", "40%"] in shown


def test_one_reason_is_said_once_with_all_its_names(capsys):
    print_plan("Plan", plan(GOOD, FEW, replace(FEW, name="u"), replace(FEW, name="v", reason="another")))
    told = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Not estimable")]
    assert told == ["Not estimable (t, u): too few rows", "Not estimable (v): another"]


def test_noise_of_coefficients_alone_has_a_table_of_its_own(capsys):
    print_plan("Plan", plan(INSIDE, assumptions=SUPPOSED))
    text = capsys.readouterr().out
    assert "privacy sd" in text
    assert "bounded in" not in text
    assert "Assumptions (the noise of this mechanism does not depend on them)\n" in text


def test_assumptions_follow_with_their_defaults_marked(capsys):
    print_plan("Plan", plan(GOOD, assumptions=SUPPOSED))
    text = capsys.readouterr().out
    assert "Assumptions\n" in text
    assert "mean 0 (default), sd 0.5\n" in text
    assert "does not depend" not in text
    print_plan("Plan", plan(GOOD))
    assert "Assumptions" not in capsys.readouterr().out


def test_plans_side_by_side_keep_their_order_and_say_which_has_no_number(capsys):
    print_plans("Two", [plan(GOOD), plan(replace(FEW, name="x"))])
    shown = lines(capsys)
    assert ["x", "0.1235", "0.5", "25%", "not", "estimable"] in shown
    assert ["Not", "estimable", "in", "2", "(x):", "too", "few", "rows"] in shown


def test_widths_over_budgets_or_the_noise_where_there_are_none(capsys):
    print_over([plan(GOOD, epsilon=0.1), plan(replace(GOOD, width=None), epsilon=2.0)], plan(GOOD))
    shown = lines(capsys)
    assert ["coefficient", "0.1", "2"] in shown
    assert ["x", "0.5", "-"] in shown
    print_over([plan(INSIDE)], plan(INSIDE))
    assert ["selection", "3.25"] in lines(capsys)
