"""What `refined` releases, and how far one unit moves each of it. Proof: refined.proof.md."""

from __future__ import annotations

import math
from typing import Final

from discreet.design.model import Design
from discreet.losses.sensitivity.searches import ROUNDED, Statistic, comparisons, search_statistic, searched_columns

# number of steps, each a pass over the table
STEPS: Final = 20


def in_declared_ball(design: Design) -> bool:
    """Whether rows keep their declared scale: a model through the origin whose design declares a radius."""
    return design.radius is not None and not design.intercept


def refined_statistics(design: Design) -> dict[str, Statistic]:
    """Everything that `refined` adds noise to, by the name of its scale in the law of the noise."""
    rows, replaced = design.unit.max_rows, design.unit.neighbours == "replace"
    searched, fitted = len(searched_columns(design)), len(design.released) - (1 if design.intercept else 2)
    ball = in_declared_ball(design)

    found = {} if design.count_public else {"count": Statistic(float(rows), 1)}  # [P:counted]
    if searched and not ball:
        grids = ("centre", "spread", "zoomed_centre", "zoomed_spread") if design.intercept else ("one_spread",)
        found |= {grid: search_statistic(design, grid, searched) for grid in (*grids, "mean_square")}
    bounded = Statistic((2.0 if replaced else 1.0) * rows, 1)  # [P:bounded-sums]
    if design.intercept:
        found |= {"target_mean": bounded}
    found |= {"target_spread": search_statistic(design, "target_spread")}
    if design.intercept:
        found |= {"target_zoom": bounded}
    if not ball:
        found |= {"radius": search_statistic(design, "radius")}
    # [P:unit-rows]
    gram = (math.sqrt(2) if replaced else 1.0) * ROUNDED * rows
    found |= {
        "clip": Statistic(float(rows), 1, comparisons("clip")),
        "gram": Statistic(gram, fitted * fitted),
        "score": Statistic(bounded.sensitivity, fitted, STEPS),
        "below": Statistic(float(rows), 1, STEPS),
    }
    return found | ({"offset": bounded} if design.intercept else {})
