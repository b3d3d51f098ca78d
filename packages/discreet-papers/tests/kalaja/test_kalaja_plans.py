"""Cells of a run: every line and table in quick runs too; what is missing is named."""

import pytest

from discreet_papers.figure import Run
from discreet_papers.kalaja import kalaja_experiment
from discreet_papers.kalaja.kalaja_experiment import PLANS, TABLES, cells_of, not_run, published_rows, tables_of

FIGURES = sorted(PLANS)


@pytest.mark.parametrize("figure", FIGURES)
def test_a_quick_run_has_every_line_and_table_of_a_full_one(figure):
    quick, full = cells_of(figure, Run(quick=True)), cells_of(figure, Run())
    assert len({cell.name for cell in full}) == len(full)
    for cells in (quick, full):
        whole = [cell.arguments["table"] for cell in cells if cell.arguments["whole"]]
        assert set(whole) == set(tables_of(figure, Run()))
    assert len([cell for cell in full if cell.arguments["whole"]]) == 10 * len(tables_of(figure, Run()))


@pytest.mark.parametrize("figure", FIGURES)
def test_every_figure_has_a_sound_line_and_one_name_per_line(figure):
    plan = PLANS[figure]
    assert {"ssp", "private statistics"} & {line.method for line in plan.lines}
    assert len({(line.name, line.panel) for line in plan.lines}) == len(plan.lines)
    assert {0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0} <= set(plan.epsilons)
    assert any(line.recipe == plan.reader for line in plan.lines)


def test_tables_without_a_folder_and_with_an_empty_one(tmp_path):
    assert tables_of("kalaja-4.1", Run()) == ("housing", "concrete")
    assert tables_of("kalaja-4.7", Run()) == ("housing", "concrete", "saturating")
    assert tables_of("kalaja-4.1", Run(data=tmp_path)) == ("housing",)


def test_what_is_missing_is_named(tmp_path):
    said = " ".join(not_run("kalaja-4.1", Run()))
    assert all(name in said for name in ("airfoil", "elevators", "energy", "protein", "bike", "crosses", "buzz"))
    assert "housing" not in said
    assert "crosses" not in " ".join(not_run("kalaja-4.3", Run()))


def test_published_values_are_a_cell_of_their_own(tmp_path):
    (tmp_path / "wang2018_results.csv").write_text(
        "dataset,method,epsilon,error,std\nairfoil,SSP,0.1,0.8,2.1\nairfoil,AdaSSP,0.1,0.09,0.02\nyacht,SSP,1,1,1\n"
    )
    rows = published_rows(seed=0, figure="kalaja-4.1", folder=str(tmp_path))
    assert [(row["panel"], row["line"], row["value"], row["sd"]) for row in rows] == [
        ("airfoil", "published SSP", 0.8, 2.1)
    ]
    names = [cell.name for cell in cells_of("kalaja-4.1", Run(data=tmp_path, quick=True))]
    assert "published" in names
    assert "crosses" not in " ".join(not_run("kalaja-4.1", Run(data=tmp_path)))


def test_one_round_runs_on_a_table_that_a_package_holds(monkeypatch):
    plan = kalaja_experiment.Plan(PLANS["kalaja-4.1"].lines, (1.0,))
    monkeypatch.setitem(PLANS, "kalaja-4.1", plan)
    common = {"seed": 1, "figure": "kalaja-4.1", "table": "housing", "folder": None, "repeat": 0, "method": None}
    rows = kalaja_experiment.one_round(**common, whole=False)
    assert {row["line"] for row in rows} == {line.name for line in plan.lines} - {"discreet ssp"}
    assert len(TABLES) == 6
