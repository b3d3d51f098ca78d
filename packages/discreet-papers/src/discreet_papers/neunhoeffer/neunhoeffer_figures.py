"""The five figures of the notebook."""

from __future__ import annotations

from typing import Final

from discreet_papers.neunhoeffer.neunhoeffer_line_figures import DENSITY, JIANG, PER_ENTRY, SCATTER
from discreet_papers.neunhoeffer.neunhoeffer_objective import OBJECTIVE

FIGURES: Final = (SCATTER, JIANG, PER_ENTRY, DENSITY, OBJECTIVE)
