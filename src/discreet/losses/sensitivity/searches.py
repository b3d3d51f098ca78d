"""Noisy counts: their quantiles and grids, and how far one unit moves a comparison. Proof: refined.proof.md."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from discreet.design.columns import Numeric, SplineBasis
from discreet.design.model import Design

# thirty-seconds of the rows below a quantile that is searched
HALF: Final = 16
THREE_QUARTERS: Final = 24
TARGET_QUANTILE: Final = 29
RADIUS_QUANTILE: Final = 13
WHOLE: Final = 32
# index of the last point of each grid that is searched
LAST: Final[Mapping[str, int]] = {"target_centre": 31, "target_spread": 16, "radius": 24, "clip": 48}
# how often the columns are counted for their centres and scales, and their mean squares released
_COLUMN_COUNTS: Final[Mapping[str, int]] = {
    "centre": 5, "spread": 2, "zoomed_centre": 4, "zoomed_spread": 2, "one_spread": 3, "mean_square": 2,
}  # fmt: skip
_QUANTILE: Final[Mapping[str, int]] = {
    "centre": HALF, "spread": THREE_QUARTERS, "zoomed_centre": HALF, "zoomed_spread": THREE_QUARTERS,
    "one_spread": THREE_QUARTERS, "mean_square": HALF, "target_centre": HALF,
    "target_spread": TARGET_QUANTILE, "radius": RADIUS_QUANTILE,
}  # fmt: skip
# covers the rounding of a few double operations
ROUNDED: Final = 1 + 2**-44


@dataclass(frozen=True, slots=True)
class Statistic:
    """One statistic: its largest Euclidean change in scaled units, its entries, and how often it is released."""

    sensitivity: float
    entries: int
    times: int = 1


def comparisons(block: str) -> int:
    """How many noisy counts are compared with a quantile: of a search on a grid as many as halve it to one point.

    >>> comparisons("centre"), comparisons("target_spread")
    (5, 5)
    """
    return LAST[block].bit_length() if block in LAST else _COLUMN_COUNTS[block]


def searched_columns(design: Design) -> list[int]:
    """Which columns of the rows (1, x, y) have their centre and scale searched: numbers and splines.

    >>> searched_columns(Design("y", {"y": (0, 1), "b": bool, "x": (0, 1)}))
    [2]
    """
    found: list[int] = []
    index = 1
    for name in design.regressors:
        width = len(design.columns[name].released(name))
        if isinstance(design.columns[name], Numeric | SplineBasis):
            found += range(index, index + width)
        index += width
    return found


def search_statistic(design: Design, block: str, entries: int = 1) -> Statistic:
    """Counts compared with a quantile, of so many columns at once.

    >>> search_statistic(Design("y", {"y": (0, 1), "x": (0, 1)}), "centre").times
    5
    """
    below = _QUANTILE[block] / WHOLE
    one = 1.0 if design.unit.neighbours == "replace" else max(below, 1 - below)
    largest = one * math.sqrt(entries) * ROUNDED * design.unit.max_rows  # [P:searches]
    return Statistic(largest, entries, comparisons(block))
