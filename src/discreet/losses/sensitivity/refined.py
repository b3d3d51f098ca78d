"""What `refined` releases, and how far one unit moves each of it. Proof: refined.proof.md."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from discreet.design.columns import Numeric, SplineBasis
from discreet.design.model import Design

# number of steps, each a pass over the table
STEPS: Final = 20
# thirty-seconds of the rows below a quantile that is searched
HALF: Final = 16
THREE_QUARTERS: Final = 24
TARGET_QUANTILE: Final = 29
RADIUS_QUANTILE: Final = 13
WHOLE: Final = 32
# index of the last point of each grid that is searched
LAST: Final[Mapping[str, int]] = {
    "centre": 31, "spread": 3, "zoomed_centre": 15, "zoomed_spread": 3, "one_spread": 7, "target_spread": 16,
    "radius": 24, "clip": 48,
}  # fmt: skip
_QUANTILE: Final[Mapping[str, int]] = {
    "centre": HALF, "spread": THREE_QUARTERS, "zoomed_centre": HALF, "zoomed_spread": THREE_QUARTERS,
    "one_spread": THREE_QUARTERS, "target_spread": TARGET_QUANTILE, "radius": RADIUS_QUANTILE,
}  # fmt: skip
# covers the rounding of a few double operations
_ROUNDING: Final = 1 + 2**-44


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


def in_declared_ball(design: Design) -> bool:
    """Whether rows keep their declared scale: a model through the origin whose design declares a radius."""
    return design.radius is not None and not design.intercept


def refined_statistics(design: Design) -> dict[str, Statistic]:
    """Everything that `refined` adds noise to, by the name of its scale in the law of the noise."""
    rows, replaced = design.unit.max_rows, design.unit.neighbours == "replace"
    searched, fitted = len(searched_columns(design)), len(design.released) - (1 if design.intercept else 2)
    ball = in_declared_ball(design)

    def search(grid: str, entries: int = 1) -> Statistic:
        below = _QUANTILE[grid] / WHOLE
        one = 1.0 if replaced else max(below, 1 - below)
        return Statistic(one * math.sqrt(entries) * _ROUNDING * rows, entries, comparisons(grid))  # [P:searches]

    found = {} if design.count_public else {"count": Statistic(float(rows), 1)}  # [P:counted]
    if searched and not ball:
        grids = ("centre", "spread", "zoomed_centre", "zoomed_spread") if design.intercept else ("one_spread",)
        found |= {grid: search(grid, searched) for grid in grids}
    bounded = Statistic((2.0 if replaced else 1.0) * rows, 1)  # [P:bounded-sums]
    if design.intercept:
        found |= {"target_mean": bounded}
    found |= {"target_spread": search("target_spread")}
    if design.intercept:
        found |= {"target_zoom": bounded}
    if not ball:
        found |= {"radius": search("radius")}
    # [P:unit-rows]
    gram = (math.sqrt(2) if replaced else 1.0) * _ROUNDING * rows
    found |= {
        "clip": Statistic(float(rows), 1, comparisons("clip")),
        "gram": Statistic(gram, fitted * fitted),
        "score": Statistic(bounded.sensitivity, fitted, STEPS),
        "below": Statistic(float(rows), 1, STEPS),
    }
    return found | ({"offset": bounded} if design.intercept else {})
