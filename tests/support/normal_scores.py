"""Whether numbers are independent standard normal draws, by their size and their mean."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import stats


def check_scores(scores: Sequence[float], *, wrong: float) -> None:
    """Their sum of squares is one of chi-square (false alarm 1e-9) and would not be if they were `wrong` times off.

    Their mean lies within 7 standard deviations of 0 (false alarm below 1e-11).
    """
    statistic = float(np.sum(np.square(scores)))
    low, high = stats.chi2.ppf([5e-10, 1 - 5e-10], len(scores))
    assert low < statistic < high
    assert not low < statistic * wrong**2 < high
    assert not low < statistic / wrong**2 < high
    assert abs(np.mean(scores)) < 7 / math.sqrt(len(scores))
