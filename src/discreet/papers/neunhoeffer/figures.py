"""The five figures of the notebook."""

from __future__ import annotations

from typing import Final

from discreet.papers.neunhoeffer.line_figures import JIANG, PER_ENTRY

FIGURES: Final = (JIANG, PER_ENTRY)
