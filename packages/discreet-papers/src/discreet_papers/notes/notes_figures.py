"""The four figures of the class notes."""

from __future__ import annotations

from typing import Final

from discreet_papers.notes.notes_counts import GWAS
from discreet_papers.notes.notes_mean import MEAN
from discreet_papers.notes.notes_noisy_max import NOISY_MAX
from discreet_papers.notes.notes_response import RESPONSE

FIGURES: Final = (RESPONSE, GWAS, NOISY_MAX, MEAN)
