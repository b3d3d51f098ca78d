"""Every figure and every erratum is there, under the name that others use."""

import pytest

from discreet.errors import SpecError
from discreet_papers.figure import Run
from discreet_papers.figure_catalogue import DOCUMENTS, NAMES, errata, figure_named, shipped_run, shipped_verdicts
from discreet_papers.runner import MASTER_SEED


def test_the_documents_have_23_figures_and_the_baselines_four():
    assert len(NAMES) == len(set(NAMES)) == 23 + 4


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_has_its_name_document_cells_and_criteria(name):
    figure = figure_named(name)
    assert figure.name == name
    assert figure.document == name.partition("-")[0]
    assert name in DOCUMENTS[figure.document].figures
    cells = figure.cells(Run(quick=True))
    assert cells
    assert len({cell.name for cell in cells}) == len(cells)
    assert figure.criteria
    assert len({criterion.key for criterion in figure.criteria}) == len(figure.criteria)
    assert all(criterion.why and criterion.claim for criterion in figure.criteria)


@pytest.mark.parametrize("name", NAMES)
def test_a_quick_run_cuts_repetitions_and_no_cell(name):
    figure = figure_named(name)
    quick, full = (set(_subjects(figure.cells(Run(quick=quick)))) for quick in (True, False))
    assert quick == full


def _subjects(cells):
    """Lines, data sets and budgets of cells, whatever their repetitions."""
    counted = {"repeat", "repeats", "whole", "first", "count", "searched", "tables", "sets"}
    for cell in cells:
        yield cell.work.__qualname__, *sorted((k, str(v)) for k, v in cell.arguments.items() if k not in counted)


def test_every_document_has_the_errata_of_the_table():
    assert [erratum.number for erratum in errata()] == list(range(1, 31))
    assert {erratum.document for erratum in errata()} == set(DOCUMENTS)


def test_the_shipped_verdicts_are_of_every_figure():
    assert list(shipped_verdicts()) == list(NAMES)
    for verdict in shipped_verdicts().values():
        assert verdict["quick"] is False
        assert verdict["verdict"] in ("reproduced", "differs", "refuted")


def test_the_shipped_verdicts_come_from_the_criteria_and_the_seed_of_this_program():
    """A criterion or a seed that is changed after the run asks for a new run."""
    assert shipped_run()["master_seed"] == MASTER_SEED
    for name, known in shipped_verdicts().items():
        shipped = [(one["key"], one["claim"]) for one in known["criteria"]]
        assert shipped == [(one.key, one.claim) for one in figure_named(name).criteria]


def test_the_shipped_errata_are_all_refuted():
    shipped = shipped_run()["errata"]
    assert list(shipped) == [f"E{erratum.number}" for erratum in errata()]
    assert {one["verdict"] for one in shipped.values()} == {"refuted"}


def test_an_unknown_figure_is_refused_with_a_hint():
    with pytest.raises(SpecError, match=r"unknown figure 'kalaja-4\.9'; .*Did you mean 'kalaja-4\.\d'"):
        figure_named("kalaja-4.9")
