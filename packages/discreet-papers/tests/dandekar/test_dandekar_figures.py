"""The five figures: their cells, and for each criterion numbers on which it gives the other verdict."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pandas import DataFrame

from discreet_papers.dandekar.dandekar_experiment import CORRECTED, NOT_PRIVATE, OURS, WINE, WRITTEN
from discreet_papers.dandekar.dandekar_figures import FIGURES, QUICK_RUNS, RUNS
from discreet_papers.figure import Criterion, Figure, Run
from support.dandekar_numbers import HIGH, LOW, claimed_numbers

Change = Callable[[DataFrame], None]


def changed(line: str, regressions: tuple[str, ...], epsilon: float | None, **cells: float) -> Change:
    """Overwrite cells of a line, at one budget or at all."""

    def change(numbers: DataFrame) -> None:
        mask = (numbers["line"] == line) & numbers["regression"].isin(regressions)
        if epsilon is not None:
            mask &= numbers["epsilon"] == epsilon
        for name, value in cells.items():
            numbers.loc[mask, name] = value

    return change


def stretched(line: str, regression: str, epsilon: float, factor: float) -> Change:
    """Multiply the values of a line about their mean."""

    def change(numbers: DataFrame) -> None:
        mask = (numbers["line"] == line) & (numbers["regression"] == regression) & (numbers["epsilon"] == epsilon)
        values = numbers.loc[mask, "value"]
        numbers.loc[mask, "value"] = values.mean() + factor * (values - values.mean())

    return change


ALL = ("linear", "ridge", "LASSO", "elastic net")
_SOLVED = changed(WRITTEN, ("LASSO",), LOW, value=float("nan"), refused=1)
_COMPARISON = {
    "cost": changed(WRITTEN, ("ridge",), HIGH, value=0.9),
    "falls": changed(WRITTEN, ("linear",), LOW, value=1.0),
    "approaches": changed(WRITTEN, ("elastic net",), HIGH, value=1.2),
    "solved": _SOLVED,
    "corrected": changed(CORRECTED, ("ridge",), LOW, value=2.0),
}
COUNTER: dict[str, dict[str, Change]] = {
    "dandekar-1": {
        "outliers": changed(WRITTEN, ("elastic net",), LOW, value=3.0),
        "solved": _SOLVED,
        "ours": changed(OURS, ("elastic net",), LOW, value=9.0),
    },
    "dandekar-2": _COMPARISON,
    "dandekar-3": _COMPARISON,
    "dandekar-4": {
        "non-private": stretched(NOT_PRIVATE, "LASSO", HIGH, 1e4),
        "falls": stretched(WRITTEN, "ridge", HIGH, 1e4),
        "linear": stretched(WRITTEN, "linear", LOW, 0.5),
        "linear at n/100": stretched(WRITTEN, "linear", HIGH, 0.5),
        "lambda": changed(NOT_PRIVATE, ALL, None, strength=0.001),
    },
    "dandekar-5": {
        "functional": changed(WRITTEN, ("DPME",), HIGH, value=0.5),
        "corrected": changed(CORRECTED, ("DPME",), LOW, value=0.5),
        "stable": stretched(WRITTEN, "DPME", LOW, 1e4),
    },
}
CASES = [(figure, criterion) for figure in FIGURES for criterion in figure.criteria]


@pytest.mark.parametrize(("figure", "criterion"), CASES, ids=lambda one: getattr(one, "key", getattr(one, "name", "")))
def test_a_criterion_holds_on_the_claimed_numbers_and_fails_on_others(figure: Figure, criterion: Criterion) -> None:
    numbers = claimed_numbers()
    assert criterion.check(numbers).holds is True, criterion.check(numbers)
    COUNTER[figure.name][criterion.key](numbers)
    assert criterion.check(numbers).holds is False, criterion.check(numbers)


@pytest.mark.parametrize(("figure", "criterion"), CASES, ids=lambda one: getattr(one, "key", getattr(one, "name", "")))
def test_a_criterion_without_numbers_is_open(figure: Figure, criterion: Criterion) -> None:
    assert criterion.check(DataFrame()).holds is None
    numbers = claimed_numbers()
    assert criterion.check(numbers[numbers["line"] == "your method"]).holds is None


def test_every_figure_says_what_it_claims_and_what_is_our_choice() -> None:
    assert [figure.name for figure in FIGURES] == [f"dandekar-{k}" for k in range(1, 6)]
    for figure in FIGURES:
        assert figure.predictions
        assert len(figure.choices) >= 6


@pytest.mark.parametrize("quick", [True, False])
def test_cells_cover_ten_or_fifty_runs_of_every_table(quick: bool) -> None:
    for figure in FIGURES:
        cells = figure.cells(Run(quick=quick))
        if figure.name == "dandekar-2":
            assert [cell.name for cell in cells] == ["nothing"]
            continue
        runs: dict[object, int] = {}
        for cell in cells:
            count = cell.arguments["count"]
            assert isinstance(count, int)
            runs[cell.arguments["table"]] = runs.get(cell.arguments["table"], 0) + count
        assert runs == dict.fromkeys(("cpssw8", "simulated-ipums"), QUICK_RUNS if quick else RUNS)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    missing = {figure.name: " ".join(figure.not_run(Run())) for figure in FIGURES}
    assert all(("wine_white.parquet" in missing[name]) == (name in ("dandekar-2", "dandekar-4")) for name in missing)
    assert all(("ipums.csv" in missing[name]) == (name != "dandekar-2") for name in missing)
    for name in (f"{WINE}.parquet", "ipums.csv"):
        (tmp_path / name).write_text("")
    assert [list(figure.not_run(Run(data=tmp_path))) for figure in FIGURES] == [[]] * 5
    both = {cell.arguments["table"] for cell in FIGURES[3].cells(Run(data=tmp_path))}
    assert both == {WINE, "cpssw8", "simulated-ipums", "ipums"}
