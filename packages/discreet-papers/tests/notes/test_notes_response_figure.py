"""The cells of one figure of the notes are the same for the same seed."""

from __future__ import annotations

from discreet_papers.figure import Run
from discreet_papers.notes import notes_response


def test_cells_repeat_with_their_seed():
    cell = notes_response.RESPONSE.cells(Run(quick=True))[0]
    assert cell.work(seed=3, **cell.arguments) == cell.work(seed=3, **cell.arguments)
    assert cell.work(seed=3, **cell.arguments) != cell.work(seed=4, **cell.arguments)
