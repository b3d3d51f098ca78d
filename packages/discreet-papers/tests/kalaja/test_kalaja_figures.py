"""Every criterion gives both verdicts on numbers made for it, and every figure can be drawn."""

import numpy as np
import pytest
from pandas import DataFrame

from discreet_papers.figure import Run
from discreet_papers.kalaja.kalaja_criteria import CRITERIA
from discreet_papers.kalaja.kalaja_experiment import (
    NOT_CENTRED,
    PLANS,
    PRIVATE_LINE,
    PUBLISHED,
    SATURATING,
    TABLES,
    TRAINING_ONLY,
)
from discreet_papers.kalaja.kalaja_figures import FIGURES, label_of, styles_of
from discreet_papers.methods import READER

COLUMNS = {"airfoil": 5, "energy": 8, "protein": 9, "housing": 13, "bike": 17, "elevators": 18}
FIRST = ("airfoil", "energy", "protein")
CLIPPED = "adassp_clip_1.0"


def numbers(figure, value):
    """A table of a figure with `value(line, panel, epsilon)` for errors; published values are 0.5."""
    plan = PLANS[figure]
    panels = [*TABLES, SATURATING] if figure in ("kalaja-4.7", "kalaja-4.8") else list(TABLES)
    rows = [
        {
            "panel": panel + line.panel, "line": line.name, "epsilon": epsilon, "repeat": 0, "sd": 0.01,
            "value": value(line.name, panel + line.panel, epsilon), "test_norm": 2.0, "columns": COLUMNS.get(panel, 5),
        }
        for panel in panels
        for line in plan.lines
        for epsilon in plan.epsilons
    ]  # fmt: skip
    rows += [
        {
            "panel": panel, "line": f"published {method}", "epsilon": epsilon, "repeat": 0, "value": 0.5, "sd": 0.01,
            "test_norm": np.nan, "columns": np.nan,
        }
        for method in PUBLISHED.get(figure, {})
        for panel in TABLES
        for epsilon in plan.epsilons
    ]  # fmt: skip
    return DataFrame(rows)


def one(line_wanted, inside, otherwise=0.5):
    """An error for one line, by panel and epsilon, and 0.5 for the rest."""
    return lambda line, panel, epsilon: inside(panel, epsilon) if line == line_wanted else otherwise


def lines(table, otherwise=0.5):
    return lambda line, panel, epsilon: table.get(line, otherwise)


SSP = ("SSP, paper", "SSP, as coded", "SSP, symmetric")
ADASSP = ("AdaSSP, as coded", "AdaSSP, Algorithm 2", "AdaSSP, Algorithm 3")
# errors on which the criterion holds, and on which it does not
NUMBERS = {
    ("kalaja-4.1", "unstable"): (lines(dict.fromkeys(SSP, 2.0)), lines({})),
    ("kalaja-4.1", "symmetry"): (
        lines({"SSP, as coded": 0.4, "SSP, symmetric": 0.7}),
        lines({"SSP, as coded": 0.7, "SSP, symmetric": 0.4}),
    ),
    ("kalaja-4.1", "ours"): (lines({"discreet ssp": 0.4}), lines({"discreet ssp": 0.6})),
    ("kalaja-4.2", "bounded"): (lines(dict.fromkeys(ADASSP, 0.69)), lines({"AdaSSP, as coded": 0.71})),
    ("kalaja-4.2", "useful"): (
        lambda line, panel, epsilon: 0.4 if line in ADASSP and epsilon >= 0.5 - 0.3 * (panel != "housing") else 0.5,
        lines({"AdaSSP, Algorithm 3": 0.51}, 0.5),
    ),
    ("kalaja-4.2", "similar"): (lines({"AdaSSP, Algorithm 3": 0.55}), lines({"AdaSSP, Algorithm 3": 0.7})),
    ("kalaja-4.2", "ours-error"): (lines({"discreet ssp": 0.42}), lines({"discreet ssp": 0.49})),
    ("kalaja-4.2", "ours-excess"): (
        lines({"ridge": 0.3, "discreet ssp": 0.38}),
        lines({"ridge": 0.3, "discreet ssp": 0.42}),
    ),
    ("kalaja-4.3", "depends"): (
        one("nonprivate_row", lambda panel, epsilon: 0.4 if panel in FIRST else 0.6),
        lines({"nonprivate_row": 0.4}),
    ),
    ("kalaja-4.3", "row"): (lines({"adassp_row": 0.4}), lines({"adassp_row": 0.6})),
    ("kalaja-4.3", "columns"): (
        one("adassp_row", lambda panel, epsilon: 0.5 - COLUMNS[panel] / 100),
        one("adassp_row", lambda panel, epsilon: 0.5 + COLUMNS[panel] / 100),
    ),
    ("kalaja-4.4", "mixed"): (
        one("nonprivate_y_included", lambda panel, epsilon: 0.4 if panel in FIRST else 0.6),
        lines({"nonprivate_y_included": 0.6}),
    ),
    ("kalaja-4.4", "converges"): (
        lambda line, panel, epsilon: 0.5 + 0.1 / epsilon if line.startswith("adassp") else 0.5,
        one("adassp", lambda panel, epsilon: 0.5 + 0.1 * epsilon),
    ),
    ("kalaja-4.5", "identical"): (lines({"adassp_after_cv": 0.52}), lines({"adassp_after_cv": 0.54})),
    ("kalaja-4.5", "ours"): (lines({PRIVATE_LINE: 0.4}), lines({PRIVATE_LINE: 0.6})),
    ("kalaja-4.6", "accident"): (lines({"adassp_intercept": 0.4}), lines({"adassp_intercept": 0.6})),
    ("kalaja-4.6", "needed"): (
        one("adassp_intercept", lambda panel, epsilon: 0.1 if panel.endswith(NOT_CENTRED) else 0.5),
        lines({"adassp_intercept": 0.4}),
    ),
    ("kalaja-4.6", "columns"): (
        one("adassp_intercept", lambda panel, epsilon: 0.5 + 1 / COLUMNS[panel.removesuffix(NOT_CENTRED)]),
        one("adassp_intercept", lambda panel, epsilon: 0.5 + COLUMNS[panel.removesuffix(NOT_CENTRED)]),
    ),
    ("kalaja-4.7", "helps"): (
        one(CLIPPED, lambda panel, epsilon: 0.4 if panel in FIRST else 0.5),
        one(CLIPPED, lambda panel, epsilon: 0.4 if panel in FIRST[:2] else 0.5),
    ),
    ("kalaja-4.7", "best"): (lines({"adassp_clip_1.6": 0.3}), lines({"adassp_clip_2.0": 0.3})),
    ("kalaja-4.7", "riddle"): (
        lambda line, panel, epsilon: 0.5 + 0.1 * epsilon if "clip" in line else 0.5,
        lambda line, panel, epsilon: 0.5 - 0.1 * epsilon if line == CLIPPED else 0.5 + 0.1 * epsilon,
    ),
    ("kalaja-4.8", "worse"): (lines({TRAINING_ONLY: 0.4}), lines({TRAINING_ONLY: 0.48})),
    ("kalaja-4.8", "riddle"): (
        lambda line, panel, epsilon: 0.5 - 0.1 * epsilon if "clip" in line else 0.5,
        lambda line, panel, epsilon: 0.5 + 0.1 * epsilon if line == CLIPPED else 0.5 - 0.1 * epsilon,
    ),
} | {
    (figure, f"published-{method}"): (lines({}), one(line, lambda panel, epsilon: 0.5 + (panel in FIRST[:1]) * 0.1))
    for figure, methods in PUBLISHED.items()
    for method, line in methods.items()
}
ALL = [(name, criterion) for name, some in CRITERIA.items() for criterion in some]


def test_every_criterion_has_numbers_for_both_verdicts():
    assert sorted(NUMBERS) == sorted((name, criterion.key) for name, criterion in ALL)


@pytest.mark.no_cover
@pytest.mark.parametrize(("name", "criterion"), ALL, ids=lambda one: getattr(one, "key", one))
def test_a_criterion_gives_both_verdicts(name, criterion):
    good, bad = NUMBERS[name, criterion.key]
    found, doctored = criterion.check(numbers(name, good)), criterion.check(numbers(name, bad))
    assert found.holds is True, found.measured
    assert doctored.holds is False, doctored.measured


def test_the_figures_of_the_thesis_are_all_here():
    assert [figure.name for figure in FIGURES] == [f"kalaja-4.{number}" for number in range(1, 9)]
    assert all(figure.predictions and figure.cells(Run(quick=True)) for figure in FIGURES)
    assert all("buzz" in " ".join(figure.not_run(Run())) for figure in FIGURES)


@pytest.mark.no_cover
@pytest.mark.parametrize("figure", [FIGURES[0], FIGURES[5], FIGURES[7]], ids=lambda figure: figure.name)
def test_a_figure_is_drawn_with_a_panel_for_each_table(figure):
    made = numbers(figure.name, lambda line, panel, epsilon: 0.5 - epsilon / 30)
    picture = figure.draw(made, Run())
    titles = [axes.get_title() for axes in picture.axes if axes.get_title()]
    assert len(titles) == made["panel"].nunique()
    texts = [text.get_text() for text in picture.legends[0].get_texts()]
    assert sum("claimed" in text for text in texts) >= 2
    assert ("published SSP" in texts) is (figure.name == "kalaja-4.1")
    assert ("saturating (simulated, 5 columns)" in titles) is (figure.name in ("kalaja-4.7", "kalaja-4.8"))


def test_errors_and_r2_are_two_tables():
    made = numbers("kalaja-4.3", lambda line, panel, epsilon: 0.5).assign(r2=0.25)
    first, second = FIGURES[2].tables(made)
    assert "y_max" in first.title
    assert "R^2" in second.title
    assert first.headers == second.headers
    assert first.headers[2:] == tuple(f"epsilon {epsilon:g}" for epsilon in PLANS["kalaja-4.3"].epsilons)
    assert {row[2:] for row in first.rows} == {("0.5",) * 9}
    assert {row[2:] for row in second.rows} == {("0.25",) * 9}
    assert {row[:2] for row in first.rows} == {
        (table, line.name) for table in TABLES for line in PLANS["kalaja-4.3"].lines
    }


def test_of_a_pair_that_coincides_the_first_is_the_wider():
    looks = styles_of("kalaja-4.3")
    for method in ("trivial", "nonprivate"):
        wide, narrow = looks[f"{method}_row"], looks[f"{method}_max"]
        assert wide["linewidth"] > narrow["linewidth"]
        assert (wide["linestyle"], narrow["linestyle"]) == ("-", "--")
    assert styles_of("kalaja-4.7")["trivial"]["linewidth"] == 1.4


def test_a_readers_method_is_drawn():
    made = numbers("kalaja-4.3", lambda line, panel, epsilon: 0.5)
    made.loc[made["line"] == "adassp_max", "line"] = READER
    picture = FIGURES[2].draw(made, Run())
    assert READER in [text.get_text() for text in picture.legends[0].get_texts()]


def test_legends_show_what_is_truly_spent():
    assert "true 1.587" in label_of("kalaja-4.1", "SSP, as coded")
    assert "not known" in label_of("kalaja-4.1", "AdaOPS")
    assert "claimed ε = true ε" in label_of("kalaja-4.1", "discreet ssp")
    assert "no privacy" in label_of("kalaja-4.3", "nonprivate_max")
