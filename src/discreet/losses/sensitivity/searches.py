"""Noisy searches: their grids and quantiles, and how far one unit moves a comparison. Proof: refined.proof.md."""

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
LAST: Final[Mapping[str, int]] = {
    "centre": 31, "spread": 3, "zoomed_centre": 15, "zoomed_spread": 3, "one_spread": 7, "target_centre": 31,
    "target_spread": 16, "radius": 24, "clip": 48,
}  # fmt: skip
_QUANTILE: Final[Mapping[str, int]] = {
    "centre": HALF, "spread": THREE_QUARTERS, "zoomed_centre": HALF, "zoomed_spread": THREE_QUARTERS,
    "one_spread": THREE_QUARTERS, "target_centre": HALF, "target_spread": TARGET_QUANTILE, "radius": RADIUS_QUANTILE,
}  # fmt: skip
# covers the rounding of a few double operations
ROUNDED: Final = 1 + 2**-44


@dataclass(frozen=True, slots=True)
class Statistic:
    """One statistic: its largest Euclidean change in scaled units, its entries, and how often it is released."""

    sensitivity: float
    entries: int
    times: int = 1


def comparisons(grid: str) -> int:
    """How many noisy comparisons the search on a grid makes.

    >>> comparisons("centre"), comparisons("target_spread")
    (5, 5)
    """
    return LAST[grid].bit_length()


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


def search_statistic(design: Design, grid: str, entries: int = 1) -> Statistic:
    """The comparisons of a search, of so many columns at once.

    >>> search_statistic(Design("y", {"y": (0, 1), "x": (0, 1)}), "centre").times
    5
    """
    below = _QUANTILE[grid] / WHOLE
    one = 1.0 if design.unit.neighbours == "replace" else max(below, 1 - below)
    largest = one * math.sqrt(entries) * ROUNDED * design.unit.max_rows  # [P:searches]
    return Statistic(largest, entries, comparisons(grid))
