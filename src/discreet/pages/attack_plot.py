"""Plot of the largest power of an attacker's test against its false positive rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.analyst.plots.line_plots import Line, Words, line_figure
from discreet.analyst.plots.style import budget_words
from discreet.pages.attacker import largest_power, power_by_noise
from discreet.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_RATES = np.geomspace(0.001, 0.5, 60)


def attack_figure(guarantee: Guarantee) -> Figure:
    """Plot the largest power of a test: by guessing, under the definition and, if known, under this noise."""
    by_definition = [largest_power(float(rate), guarantee.epsilon, guarantee.delta) for rate in _RATES]
    by_noise = [power_by_noise(float(rate), guarantee) for rate in _RATES]
    lines = [Line("guessing", _RATES, _RATES)]
    if by_noise[0] is not None:
        least = np.minimum(np.array(by_noise, dtype=np.float64), by_definition)
        lines.append(Line("by this noise", _RATES, least))
    lines.append(Line("by the definition", _RATES, np.array(by_definition)))
    about = "Largest probability that a test detects a person who is in the table, by its false positive rate"
    words = Words(
        "What an attacker could learn",
        (about,),
        "false positive rate",
        budget_words(guarantee.epsilon, guarantee.delta),
    )
    return line_figure(lines, words)
