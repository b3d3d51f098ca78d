"""The law that a standardised error is held against: how far is far, and how likely is as far."""

from __future__ import annotations

import math

from discreet.releases.reference_law import DEFAULT_LEVEL as DEFAULT_LEVEL
from discreet.releases.reference_law import Family as Family
from discreet.releases.reference_law import checked_level as checked_level
from discreet.releases.reference_law import critical_value as critical_value
from discreet.releases.reference_law import family_of as family_of


def tail_probability(statistic: float, family: Family, df: float) -> float:
    """Probability of a standardised error at least this large on either side, under the law of `critical_value`.

    >>> round(tail_probability(-1.96, "gaussian", 1e6), 3), round(tail_probability(2.118, "laplace", 1e6), 3)
    (0.05, 0.05)
    """
    from scipy.special import stdtr

    far = abs(statistic)
    student = 2 * float(stdtr(df, -far))
    if family == "gaussian":
        return student
    return max(student, math.exp(-math.sqrt(2) * far))
