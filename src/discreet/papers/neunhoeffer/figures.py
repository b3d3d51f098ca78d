"""The five figures of the notebook."""

from __future__ import annotations

from typing import Final

from discreet.papers.neunhoeffer.density_figure import DENSITY
from discreet.papers.neunhoeffer.line_figures import JIANG, PER_ENTRY
from discreet.papers.neunhoeffer.objective_figure import OBJECTIVE
from discreet.papers.neunhoeffer.scatter_figure import SCATTER

FIGURES: Final = (SCATTER, JIANG, PER_ENTRY, DENSITY, OBJECTIVE)
