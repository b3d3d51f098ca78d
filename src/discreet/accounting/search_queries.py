"""List the queries of noisy searches and of `refined`, with their sensitivities."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from discreet.accounting.noise_distribution import JOINT
from discreet.accounting.privacy_loss import Stated
from discreet.accounting.queries import Account, GramQuery, VectorQuery, blocks_of
from discreet.design.columns import Numeric, SplineBasis
from discreet.design.design import Design
from discreet.exact.rounding import MARGIN

# -- searches ----------------------------------------------------------------------------------------------------------
# Quantiles, grids and sensitivities of noisy searches. Proof: refined.proof.md.

# quantiles that are searched, in 32nds of the rows
HALF: Final = 16
THREE_QUARTERS: Final = 24
TARGET_QUANTILE: Final = 29
RADIUS_QUANTILE: Final = 13
WHOLE: Final = 32
# last index of each search grid
LAST: Final[Mapping[str, int]] = {"target_spread": 16, "radius": 24, "clip": 48}
# mean squares of the columns around their centres
SIZE: Final = "size"
# number of times that counts or mean squares of the columns are released
_COLUMN_COUNTS: Final[Mapping[str, int]] = {
    "centre": 5, "spread": 2, "zoomed_centre": 4, "zoomed_spread": 2, "one_spread": 3, "mean_square": 2,
}  # fmt: skip
_QUANTILE: Final[Mapping[str, int]] = {
    "centre": HALF, "spread": THREE_QUARTERS, "zoomed_centre": HALF, "zoomed_spread": THREE_QUARTERS,
    "one_spread": THREE_QUARTERS, "mean_square": HALF, "target_spread": TARGET_QUANTILE,
    "radius": RADIUS_QUANTILE,
}  # fmt: skip
# descriptions of the searches, for readers of a report
_LABELS: Final[Mapping[str, str]] = {
    "centre": "comparisons in the search for centres of regressors",
    "spread": "comparisons in the search for scales of regressors",
    "zoomed_centre": "comparisons in the second search for centres",
    "zoomed_spread": "comparisons in the second search for scales",
    "target_spread": "comparisons in the search for the scale of the target",
    "radius": "comparisons in the search for the radius",
}


def comparisons(block: str) -> int:
    """Return the number of noisy counts in a search, which is fixed in advance.

    >>> comparisons("centre"), comparisons("target_spread")
    (5, 5)
    """
    return LAST[block].bit_length() if block in LAST else _COLUMN_COUNTS[block]


def searched_columns(design: Design) -> list[int]:
    """Return the columns of (1, x, y) whose centre and scale are searched: numeric columns and splines.

    >>> searched_columns(Design("y", {"y": (0, 1), "b": bool, "x": (0, 1)}))
    [2]
    """
    searched: list[int] = []
    index = 1
    for name in design.regressors:
        width = len(design.columns[name].released(name))
        if isinstance(design.columns[name], Numeric | SplineBasis):
            searched += range(index, index + width)
        index += width
    return searched


def target_searched(design: Design) -> bool:
    """Return whether the centre of the target is estimated. The centre of a boolean target is fixed."""
    return isinstance(design.columns[design.target], Numeric)


def search_query(design: Design, block: str, entries: int = 1) -> VectorQuery:
    """Return the query for the counts of a search, for `entries` columns at once."""
    below = _QUANTILE[block] / WHOLE
    one_row = 1.0 if design.unit.neighbours == "replace" else max(below, 1 - below)
    largest = one_row * math.sqrt(entries) * MARGIN * design.unit.max_rows  # [P:searches]
    return VectorQuery(block, entries, largest, times=comparisons(block), label=_LABELS.get(block, ""))


# -- refined -----------------------------------------------------------------------------------------------------------
# Queries of `refined`, and their sensitivities. Proof: refined.proof.md.

# number of steps, each of which is a pass over the table
STEPS: Final = 20


def in_declared_ball(design: Design) -> bool:
    """Return whether rows are not rescaled, which holds for a design with a radius and without an intercept."""
    return design.radius is not None and not design.intercept


def refined_queries(design: Design) -> list[VectorQuery | GramQuery]:
    """List the queries of `refined`."""
    rows, replaced = design.unit.max_rows, design.unit.neighbours == "replace"
    searched, fitted = len(searched_columns(design)), len(design.released) - (1 if design.intercept else 2)
    ball = in_declared_ball(design)

    queries: list[VectorQuery | GramQuery] = []
    queries += [] if design.count_public else [VectorQuery("count", 1, float(rows))]  # [P:counted]
    if searched and not ball:
        grids = ("centre", "spread", "zoomed_centre", "zoomed_spread") if design.intercept else ("one_spread",)
        queries += [search_query(design, grid, searched) for grid in (*grids, "mean_square")]
    bounded = (2.0 if replaced else 1.0) * rows  # [P:bounded-sums]
    if design.intercept:
        queries.append(VectorQuery("target_mean", 1, bounded))
    queries.append(search_query(design, "target_spread"))
    if design.intercept:
        queries.append(VectorQuery("target_zoom", 1, bounded))
    if not ball:
        queries.append(search_query(design, "radius"))
    # [P:unit-rows]
    gram = (math.sqrt(2) if replaced else 1.0) * MARGIN * rows
    queries += [
        VectorQuery("clip", 1, float(rows), times=comparisons("clip")),
        GramQuery("gram_diagonal", "gram_off_diagonal", fitted, gram),
        VectorQuery("score", fitted, bounded, times=STEPS),
        VectorQuery("below", 1, float(rows), times=STEPS),
    ]
    return [*queries, VectorQuery("offset", 1, bounded)] if design.intercept else queries


def refined(stated: Stated) -> Account:
    """Account for `refined`, which releases searches, a Gram matrix, and clipped scores."""
    queries = refined_queries(stated.design)
    stated.check("discrete-gaussian", JOINT, blocks_of(queries))
    return Account(stated, queries)  # [P:forward-refined]
