"""The cells of one figure of the notes are the same for the same seed."""

from __future__ import annotations

from discreet.papers.figure import Run
from discreet.papers.notes import noisy_max_figure


def test_cells_repeat_with_their_seed():
    # two counts are told apart in every run
    cell = noisy_max_figure.NOISY_MAX.cells(Run(quick=True))[1]
    assert cell.work(seed=3, **cell.arguments) == cell.work(seed=3, **cell.arguments)
    assert cell.work(seed=3, **cell.arguments) != cell.work(seed=4, **cell.arguments)
