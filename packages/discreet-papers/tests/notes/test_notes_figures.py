"""The figures of the notes: cells run, pictures are drawn, each criterion gives the other verdict on other numbers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pandas import DataFrame

from discreet_papers.figure import Figure, Run
from discreet_papers.notes import notes_counts, notes_mean, notes_noisy_max, notes_response
from discreet_papers.notes.notes_figures import FIGURES

QUICK = Run(quick=True)
# arguments of a cell that make it small
SMALL = {"repeats": 40}
EXPECTED = {
    "notes-response": {"unbiased": True, "loss": True, "belief": True, "exposed": True},
    "notes-gwas": {"millions": True, "twenty": True, "needed": False},
    "notes-noisy-max": {"naive": True, "likely": True, "added": True, "exchanged": False},
    "notes-mean": {"laplace": True, "absolute": True, "rate": True, "kept": False},
}


def small(figure: Figure) -> DataFrame:
    rows = []
    for position, cell in enumerate(figure.cells(QUICK)):
        arguments = dict(cell.arguments)
        if figure.name == "notes-noisy-max" and "repeats" in arguments:
            arguments |= SMALL
        if figure.name == "notes-gwas":
            arguments["repeats"] = max(1, arguments["repeats"] // 4) if arguments["how_many"] <= 10 else 1
        rows += cell.work(seed=position + 11, **arguments)
    return DataFrame(rows)


@pytest.fixture(scope="module")
def numbers() -> dict[str, DataFrame]:
    return {figure.name: small(figure) for figure in FIGURES}


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_criteria_find_what_is_known_and_the_picture_is_drawn(figure, numbers):
    found = {criterion.key: criterion.check(numbers[figure.name]).holds for criterion in figure.criteria}
    assert found == EXPECTED[figure.name]
    picture = figure.draw(numbers[figure.name], QUICK)
    assert all(axes.get_xlabel() and axes.get_ylabel() for axes in picture.axes)
    assert any("ours" in text.get_text() for text in picture.legends[0].get_texts())


def changed(panel: str, line: str, factor: float) -> Callable[[DataFrame], DataFrame]:
    """The same numbers with one line of one panel multiplied."""

    def doctored(numbers: DataFrame) -> DataFrame:
        chosen = (numbers["panel"] == panel) & (numbers["line"] == line)
        assert chosen.any()
        return numbers.assign(value=numbers["value"].where(~chosen, numbers["value"] * factor))

    return doctored


def steeper(panel: str, line: str) -> Callable[[DataFrame], DataFrame]:
    def doctored(numbers: DataFrame) -> DataFrame:
        chosen = (numbers["panel"] == panel) & (numbers["line"] == line)
        return numbers.assign(value=numbers["value"].where(~chosen, numbers["value"] / numbers["x"]))

    return doctored


COUNTER = {
    ("notes-response", "unbiased"): changed("bias", "q = 0.5", 100.0),
    ("notes-response", "loss"): changed(notes_response.STRENGTH, "true", 1.1),
    ("notes-response", "belief"): changed(notes_response.BELIEF, "q = 0.5", 1.1),
    ("notes-response", "exposed"): changed(notes_response.EXPOSED, "share", 0.5),
    ("notes-gwas", "millions"): changed(notes_counts.ONE, "as written", 0.25),
    ("notes-gwas", "twenty"): changed(notes_counts.ONE, "as written", 0.25),
    ("notes-gwas", "needed"): changed(notes_counts.ONE, "as written", 0.25),
    ("notes-noisy-max", "naive"): lambda numbers: numbers.assign(value=1.0),
    ("notes-noisy-max", "likely"): changed(notes_noisy_max.RIGHT, "as written", 0.1),
    ("notes-noisy-max", "added"): changed(notes_noisy_max.LOSS, "add-remove", 1.5),
    ("notes-noisy-max", "exchanged"): changed(notes_noisy_max.LOSS, "replace", 0.5),
    ("notes-mean", "laplace"): steeper(notes_mean.SAMPLE, "laplace"),
    ("notes-mean", "absolute"): changed(notes_mean.SAMPLE, "absolute", 4.0),
    ("notes-mean", "rate"): steeper(notes_mean.POPULATION, "squared"),
    ("notes-mean", "kept"): changed(notes_mean.LOST, "squared", 1e-4),
}
ALL = [(figure, criterion) for figure in FIGURES for criterion in figure.criteria]


@pytest.mark.no_cover
@pytest.mark.parametrize(("figure", "criterion"), ALL, ids=lambda one: getattr(one, "key", getattr(one, "name", "")))
def test_a_criterion_gives_the_other_verdict_on_other_numbers(figure, criterion, numbers):
    doctored = COUNTER[figure.name, criterion.key](numbers[figure.name])
    assert criterion.check(doctored).holds is (not EXPECTED[figure.name][criterion.key])


def test_every_criterion_has_counter_numbers():
    assert set(COUNTER) == {(figure.name, criterion.key) for figure, criterion in ALL}


@pytest.mark.parametrize(
    ("figure", "key"),
    [(notes_counts.GWAS, "millions"), (notes_counts.GWAS, "needed"), (notes_noisy_max.NOISY_MAX, "likely"),
     (notes_response.RESPONSE, "exposed")],
)  # fmt: skip
def test_missing_numbers_give_no_verdict(figure, key, numbers):
    (criterion,) = [one for one in figure.criteria if one.key == key]
    assert criterion.check(numbers[figure.name].iloc[:0]).holds is None


def test_quick_cuts_repetitions_only():
    for figure in FIGURES:
        quick, full = figure.cells(QUICK), figure.cells(Run())
        assert [cell.name for cell in quick] == [cell.name for cell in full]
