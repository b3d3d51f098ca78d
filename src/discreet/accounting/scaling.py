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
# Noisy counts: their quantiles and grids, and the sensitivity of a comparison. Proof: refined.proof.md.

# thirty-seconds of the rows below a quantile that is searched
HALF: Final = 16
THREE_QUARTERS: Final = 24
TARGET_QUANTILE: Final = 29
RADIUS_QUANTILE: Final = 13
WHOLE: Final = 32
# index of the last point of each grid that is searched
LAST: Final[Mapping[str, int]] = {"target_centre": 31, "target_spread": 16, "radius": 24, "clip": 48}
# numbers of counts of the columns for centres and scales, and of releases of their mean squares
_COLUMN_COUNTS: Final[Mapping[str, int]] = {
    "centre": 5, "spread": 2, "zoomed_centre": 4, "zoomed_spread": 2, "one_spread": 3, "mean_square": 2,
}  # fmt: skip
_QUANTILE: Final[Mapping[str, int]] = {
    "centre": HALF, "spread": THREE_QUARTERS, "zoomed_centre": HALF, "zoomed_spread": THREE_QUARTERS,
    "one_spread": THREE_QUARTERS, "mean_square": HALF, "target_centre": HALF,
    "target_spread": TARGET_QUANTILE, "radius": RADIUS_QUANTILE,
}  # fmt: skip
# descriptions of what is searched, for readers of a report
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
    """Return the number of noisy counts compared with a quantile: for a search, the halvings of its grid.

    >>> comparisons("centre"), comparisons("target_spread")
    (5, 5)
    """
    return LAST[block].bit_length() if block in LAST else _COLUMN_COUNTS[block]


def searched_columns(design: Design) -> list[int]:
    """Return the columns of (1, x, y) whose centre and scale are searched: numbers and splines.

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


def search_query(design: Design, block: str, entries: int = 1) -> VectorQuery:
    """Return the counts of a search, each compared with a quantile, for several columns at once.

    >>> search_query(Design("y", {"y": (0, 1), "x": (0, 1)}), "centre").times
    5
    """
    below = _QUANTILE[block] / WHOLE
    one_row = 1.0 if design.unit.neighbours == "replace" else max(below, 1 - below)
    largest = one_row * math.sqrt(entries) * MARGIN * design.unit.max_rows  # [P:searches]
    return VectorQuery(block, entries, largest, times=comparisons(block), label=_LABELS.get(block, ""))


# -- scaled ------------------------------------------------------------------------------------------------------------
# Queries for moments of privately scaled rows, and their sensitivities. Proof: scaled.proof.md.

# products of rows weighted twice
FOURTH_BLOCKS: Final = ("fourth_diagonal", "fourth_off_diagonal")
TARGET_SIZE: Final = "target_size"
# rows whose target is clipped at the released bound: below, above
TARGET_CLIPPED: Final = "target_clipped"
SIZE: Final = "size"
# a released radius is a multiple of 2 to minus this, so that sums in units of it are integers
RADIUS_BITS: Final = 20


def target_searched(design: Design) -> bool:
    """Return whether centre and scale of the target are searched. Those of a boolean target are fixed."""
    return isinstance(design.columns[design.target], Numeric)


def scaled_queries(design: Design, domain: RowDomain, *, robust: bool) -> list[Query]:
    """List the queries of privately scaled rows: searches, moments of weighted rows, and one Gram matrix."""
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
        words = ("squared residuals times squares", "squared residuals times products")
        residual = GramQuery(*RESIDUAL_BLOCKS, columns, largest, label=words)  # [P:one-row-a-person]
        return [*queries, residual]
    words = (
        "squares of regressors times fourth powers of weights",
        "products of regressors times fourth powers of weights",
    )
    return [*queries, GramQuery(*FOURTH_BLOCKS, columns, largest * rows, label=words)]  # [P:weight-twice]


@dataclass(frozen=True, slots=True)
class ScaledMomentsQuery(MomentsQuery):
    """Sums of products of privately scaled and weighted rows, whose seven blocks have three scales."""

    @property
    def labels(self) -> dict[str, str]:
        """Description of the entries by block."""
        return {**WEIGHTED_LABELS, "count": "sum of squared weights"}

    def squared_loss(self, scales: BlockScales) -> Fraction:
        """Return mu^2: the largest squared change of all blocks together, each kind of entry at its least scale."""
        unit, one = self.design.unit, {block: 1 / scales[block] ** 2 for block in BLOCKS}
        diagonal, off = max(one["count"], one["gram_diagonal"]), max(one["sum_x"], one["gram_off_diagonal"])
        loss = weighted_loss(
            weighted_domain(self.design, self.domain.grid_bits),
            unit.neighbours,
            Blocks(
                count=0.0,
                sum_x=0.0,
                gram=up(max(diagonal, off / 2)),
                sum_y=0.0,
                cross=up(max(one["sum_y"], one["cross"])),
                target_square=up(one["target_square"]),
            ),
            count_public=self.design.count_public,
            rows_per_unit=unit.max_rows,
            close=CLOSE,
        )
        return Fraction(loss)  # [P:forward-scaled]


def weighted_domain(design: Design, grid_bits: int) -> RowDomain:
    """Return the set of weighted rows (a, t): a, with the constant, in the unit ball, and t in [-1, 1].

    >>> weighted_domain(Design("y", {"y": (0, 1), "b": bool}), 16).norm2_bound == 4**16
    True
    """
    return RowDomain(len(design.released) - 1, 0, 0, 1.0, False, grid_bits)


def scaled_account(stated: Stated) -> Account:
    """Account for `gaussian` on privately scaled rows."""
    robust = any(block in stated.distribution.sigma for block in RESIDUAL_BLOCKS)
    queries = scaled_queries(stated.design, stated.domain, robust=robust)
    stated.check("discrete-gaussian", JOINT, blocks_of(queries))
    if stated.distribution.sigma["count"] == 0:
        raise SpecError("expected noise on the sum of squared weights, got none")
    return Account(stated, queries)


# -- refined -----------------------------------------------------------------------------------------------------------
# Queries of `refined`, and their sensitivities. Proof: refined.proof.md.

# number of steps, each a pass over the table
STEPS: Final = 20


def in_declared_ball(design: Design) -> bool:
    """Return whether rows keep their declared scale: a model through the origin with a declared radius."""
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
    """Account for `refined`: searches, a Gram matrix, clipped scores and their companions."""
    queries = refined_queries(stated.design)
    stated.check("discrete-gaussian", JOINT, blocks_of(queries))
    return Account(stated, queries)  # [P:forward-refined]
