"""Standard errors that a plan expects."""

from __future__ import annotations

import pytest

from discreet.analyst.model import read_model
from discreet.analyst.planning.assumption_reading import read_assumptions
from discreet.analyst.planning.expected import expected_release
from discreet.analyst.planning.expected_errors import drawn_errors
from discreet.planning import noise_law_for
from support.planned_cells import LEVELS, Cell, levels


@pytest.mark.no_cover
def test_a_rare_level_has_more_rows_in_one_table_than_in_another():
    """The same 300 draws of noise, so that only the tables differ."""
    cell = Cell("five levels", LEVELS, levels, 800, 2.0)
    law = noise_law_for(cell.design, cell.epsilon, cell.delta)
    expected = expected_release(cell.design, law, read_assumptions(cell.design, cell.rows, **cell.stated()))
    _, equations = read_model(expected, None, None, None)
    fixed, varying = (drawn_errors(equations, 0.95, one_table=one).interval_share for one in (True, False))
    rare = cell.plan_names().index("g[e]")
    assert varying[rare] < fixed[rare] - 0.02
