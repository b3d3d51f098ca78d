"""What moments of privately scaled rows release, and how far one unit moves each of it. Proof: scaled.proof.md."""

from __future__ import annotations

import math
from typing import Final

from discreet.design.columns import Numeric
from discreet.design.domain import RowDomain
from discreet.design.model import Design
from discreet.losses.sensitivity.searches import ROUNDED, Statistic, search_statistic, searched_columns

# number of rows, apart from the sum of their squared weights
ROWS: Final = "rows"
# products of rows that have their weight twice
FOURTH_BLOCKS: Final = ("fourth_diagonal", "fourth_off_diagonal")
FOURTH: Final = "fourth"
RESIDUAL: Final = "residual"
TARGET_SIZE: Final = "target_size"
# rows whose target is clipped at the released bound: below, above
TARGET_CLIPPED: Final = "target_clipped"
SIZE: Final = "size"
# a released radius is a multiple of two to minus this, so that sums in units of it stay integers
RADIUS_BITS: Final = 20


def target_searched(design: Design) -> bool:
    """Whether centre and scale of the target are searched: a boolean one has them by itself."""
    return isinstance(design.columns[design.target], Numeric)


def scaled_statistics(design: Design, *, robust: bool) -> dict[str, Statistic]:
    """Everything beside the moments that noise is added to, by the name of its scale; Grams have two scales."""
    rows, replaced = design.unit.max_rows, design.unit.neighbours == "replace"
    largest = (math.sqrt(2) if replaced else 1.0) * ROUNDED
    searched, columns = len(searched_columns(design)), len(design.released) - 1
    found = {} if design.count_public else {ROWS: Statistic(float(rows), 1)}  # [P:rows-counted]
    if searched:
        grids = ("centre", "spread", "zoomed_centre", "zoomed_spread")
        found |= {grid: search_statistic(design, grid, searched) for grid in grids}
        found |= {SIZE: Statistic(math.sqrt(searched) * ROUNDED * rows, searched)}  # [P:sizes]
    if target_searched(design):
        found |= {grid: search_statistic(design, grid) for grid in ("target_centre", "target_spread")}
        found |= {TARGET_SIZE: Statistic(float(rows), 1)}
        found |= {TARGET_CLIPPED: Statistic(largest * rows, 2)}  # [P:target-clipped]
    found |= {"radius": search_statistic(design, "radius")}
    if robust:
        return found | {RESIDUAL: Statistic(largest, columns * columns)}  # [P:one-row-a-person]
    return found | {FOURTH: Statistic(largest * rows, columns * columns)}  # [P:weight-twice]


def weighted_domain(design: Design, grid_bits: int) -> RowDomain:
    """The set that weighted rows (a, t) lie in: a, the constant among it, in the unit ball, and t in [-1, 1].

    >>> weighted_domain(Design("y", {"y": (0, 1), "b": bool}), 16).norm2_bound == 4**16
    True
    """
    return RowDomain(len(design.released) - 1, 0, 0, 1.0, False, grid_bits)
