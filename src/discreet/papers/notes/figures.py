"""The four figures of the class notes."""

from __future__ import annotations

from typing import Final

from discreet.papers.notes.gwas_figure import GWAS
from discreet.papers.notes.mean_figure import MEAN
from discreet.papers.notes.noisy_max_figure import NOISY_MAX
from discreet.papers.notes.response_figure import RESPONSE

FIGURES: Final = (RESPONSE, GWAS, NOISY_MAX, MEAN)
