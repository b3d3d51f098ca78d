"""List the queries of private scaling and of `refined`, with their sensitivities."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from discreet.accounting.moments import CLOSE, Blocks, weighted_loss
from discreet.accounting.noise_distribution import BLOCKS, JOINT, RADIUS, RESIDUAL_BLOCKS
from discreet.accounting.privacy_loss import Stated
from discreet.accounting.queries import (
    WEIGHTED_LABELS,
    Account,
    BlockScales,
    GramQuery,
    MomentsQuery,
    Query,
    VectorQuery,
    blocks_of,
    rows_query,
)
from discreet.design.columns import Numeric, SplineBasis
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import SpecError
from discreet.exact.rounding import MARGIN, up

# -- searches ----------------------------------------------------------------------------------------------------------
# Quantiles, grids and sensitivities of noisy searches. Proof: refined.proof.md.

# quantiles that are searched, in 32nds of the rows
HALF: Final = 16
THREE_QUARTERS: Final = 24
TARGET_QUANTILE: Final = 29
RADIUS_QUANTILE: Final = 13
WHOLE: Final = 32
# last index of each search grid
LAST: Final[Mapping[str, int]] = {"target_centre": 31, "target_spread": 16, "radius": 24, "clip": 48}
# number of times that counts or mean squares of the columns are released
_COLUMN_COUNTS: Final[Mapping[str, int]] = {
    "centre": 5, "spread": 2, "zoomed_centre": 4, "zoomed_spread": 2, "one_spread": 3, "mean_square": 2,
}  # fmt: skip
_QUANTILE: Final[Mapping[str, int]] = {
    "centre": HALF, "spread": THREE_QUARTERS, "zoomed_centre": HALF, "zoomed_spread": THREE_QUARTERS,
    "one_spread": THREE_QUARTERS, "mean_square": HALF, "target_centre": HALF,
    "target_spread": TARGET_QUANTILE, "radius": RADIUS_QUANTILE,
}  # fmt: skip
# descriptions of the searches, for readers of a report
_LABELS: Final[Mapping[str, str]] = {
    "centre": "comparisons in the search for centres of regressors",
    "spread": "comparisons in the search for scales of regressors",
    "zoomed_centre": "comparisons in the second search for centres",
    "zoomed_spread": "comparisons in the second search for scales",
    "target_centre": "comparisons in the search for the centre of the target",
    "target_spread": "comparisons in the search for the scale of the target",
    RADIUS: "comparisons in the search for the radius",
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


def search_query(design: Design, block: str, entries: int = 1) -> VectorQuery:
    """Return the query for the counts of a search, for `entries` columns at once."""
    below = _QUANTILE[block] / WHOLE
    one_row = 1.0 if design.unit.neighbours == "replace" else max(below, 1 - below)
    largest = one_row * math.sqrt(entries) * MARGIN * design.unit.max_rows  # [P:searches]
    return VectorQuery(block, entries, largest, times=comparisons(block), label=_LABELS.get(block, ""))


# -- scaled ------------------------------------------------------------------------------------------------------------
# Queries for moments of privately scaled rows, and their sensitivities. Proof: scaled.proof.md.

# products of regressors times fourth powers of weights
FOURTH_BLOCKS: Final = ("fourth_diagonal", "fourth_off_diagonal")
TARGET_SIZE: Final = "target_size"
# numbers of rows whose target is clipped at the lower and at the upper bound
TARGET_CLIPPED: Final = "target_clipped"
SIZE: Final = "size"
# a released radius is a multiple of 2^-20, so that sums in these units are integers
RADIUS_BITS: Final = 20


def target_searched(design: Design) -> bool:
    """Return whether the target's centre and scale are searched. Those of a boolean target are fixed."""
    return isinstance(design.columns[design.target], Numeric)


def scaled_queries(design: Design, domain: RowDomain, *, robust: bool) -> list[Query]:
    """List the queries of private scaling: searches, moments of weighted rows, and one more Gram matrix."""
    rows, replaced = design.unit.max_rows, design.unit.neighbours == "replace"
    largest = (math.sqrt(2) if replaced else 1.0) * MARGIN
    searched, columns = len(searched_columns(design)), len(design.released) - 1
    queries: list[Query] = [ScaledMomentsQuery(design, domain)]
    queries += [] if design.count_public else [rows_query(design)]  # [P:rows-counted]
    if searched:
        grids = ("centre", "spread", "zoomed_centre", "zoomed_spread")
        queries += [search_query(design, grid, searched) for grid in grids]
        label = "squared distances of regressors from their centres"
        queries.append(VectorQuery(SIZE, searched, math.sqrt(searched) * MARGIN * rows, label=label))  # [P:sizes]
    if target_searched(design):
        queries += [search_query(design, grid) for grid in ("target_centre", "target_spread")]
        label = "squared distances of the target from its centre"
        queries.append(VectorQuery(TARGET_SIZE, 1, float(rows), label=label))
        label = "numbers of rows with a clipped target"
        queries.append(VectorQuery(TARGET_CLIPPED, 2, largest * rows, label=label))  # [P:target-clipped]
    queries.append(search_query(design, RADIUS))
    if robust:
        labels = ("squared residuals times squares", "squared residuals times products")
        residual = GramQuery(*RESIDUAL_BLOCKS, columns, largest, label=labels)  # [P:one-row-a-person]
        return [*queries, residual]
    labels = (
        "squares of regressors times fourth powers of weights",
        "products of regressors times fourth powers of weights",
    )
    return [*queries, GramQuery(*FOURTH_BLOCKS, columns, largest * rows, label=labels)]  # [P:weight-twice]


@dataclass(frozen=True, slots=True)
class ScaledMomentsQuery(MomentsQuery):
    """Moments of privately scaled and weighted rows. Their seven blocks share three noise scales."""

    @property
    def labels(self) -> dict[str, str]:
        """Description of the entries by block."""
        return {**WEIGHTED_LABELS, "count": "sum of squared weights"}

    def squared_loss(self, scales: BlockScales) -> Fraction:
        """Return mu^2: the largest squared change of all blocks together, each kind of entry at its smallest scale."""
        unit, weight = self.design.unit, {block: 1 / scales[block] ** 2 for block in BLOCKS}
        diagonal = max(weight["count"], weight["gram_diagonal"])
        off = max(weight["sum_x"], weight["gram_off_diagonal"])
        loss = weighted_loss(
            weighted_domain(self.design, self.domain.grid_bits),
            unit.neighbours,
            Blocks(
                count=0.0,
                sum_x=0.0,
                gram=up(max(diagonal, off / 2)),
                sum_y=0.0,
                cross=up(max(weight["sum_y"], weight["cross"])),
                target_square=up(weight["target_square"]),
            ),
            count_public=self.design.count_public,
            rows_per_unit=unit.max_rows,
            close=CLOSE,
        )
        return Fraction(loss)  # [P:forward-scaled]


def weighted_domain(design: Design, grid_bits: int) -> RowDomain:
    """Return the domain of weighted rows (a, t). Here a includes the constant and is in the unit ball, t in [-1, 1]."""
    return RowDomain(len(design.released) - 1, 0, 0, 1.0, False, grid_bits)


def scaled_account(stated: Stated) -> Account:
    """Account for `gaussian` with private scaling."""
    robust = any(block in stated.distribution.sigma for block in RESIDUAL_BLOCKS)
    queries = scaled_queries(stated.design, stated.domain, robust=robust)
    stated.check("discrete-gaussian", JOINT, blocks_of(queries))
    if stated.distribution.sigma["count"] == 0:
        raise SpecError("expected a noise scale above 0 for the sum of squared weights, got 0")
    return Account(stated, queries)


# -- refined -----------------------------------------------------------------------------------------------------------
# Queries of `refined`, and their sensitivities. Proof: refined.proof.md.

# number of steps, each of which is a pass over the table
STEPS: Final = 20


def in_declared_ball(design: Design) -> bool:
    """Return whether rows keep their declared scale, as in a design with a radius and without an intercept."""
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
        queries.append(search_query(design, RADIUS))
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
