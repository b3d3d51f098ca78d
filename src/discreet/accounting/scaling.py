"""Account for privately scaled moments, weighted moments and `refined`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from discreet.accounting.moments import (
    CLOSE,
    JOINT,
    Blocks,
    gaussian_loss,
    gram_weight,
    joint_square,
    residual_square,
    weighted_loss,
)
from discreet.accounting.noise_distribution import BLOCKS, RESIDUAL_BLOCKS, WEIGHT_STEPS
from discreet.accounting.privacy_loss import Stated
from discreet.design.columns import Numeric, SplineBasis
from discreet.design.design import Design
from discreet.design.domain import WEIGHT_BITS, RowDomain
from discreet.errors import SpecError
from discreet.exact.rounding import up
from discreet.privacy.spend import Loss

# -- searches ----------------------------------------------------------------------------------------------------------
# Noisy counts: their quantiles and grids, and how far one unit moves a comparison. Proof: refined.proof.md.

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


# -- scaled ------------------------------------------------------------------------------------------------------------
# What moments of privately scaled rows release, and how far one unit moves each of it. Proof: scaled.proof.md.

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


# -- scaled ------------------------------------------------------------------------------------------------------------
# Map of `gaussian` on privately scaled rows: searches, moments of weighted rows, a Gram. Proof: maps.proof.md.


def scaled_moments(stated: Stated) -> Loss:
    """Every statistic at its largest change, as often as it is released, and the moments at their joint one."""
    sigma, x = stated.law.sigma, stated.size - 2
    robust = any(block in sigma for block in RESIDUAL_BLOCKS)
    statistics = scaled_statistics(stated.design, robust=robust)
    gram, blocks = (RESIDUAL, RESIDUAL_BLOCKS) if robust else (FOURTH, FOURTH_BLOCKS)
    products = statistics.pop(gram)
    stated.check("discrete-gaussian", JOINT, [*BLOCKS, *statistics, *blocks])
    if sigma["count"] == 0:
        raise SpecError("expected noise on the sum of squared weights, got none")
    square = _moments(stated)
    square += Fraction(products.sensitivity) ** 2 * gram_weight(stated, *blocks, columns=x + 1)
    for name, one in statistics.items():
        square += one.times * stated.over(one.sensitivity, name) ** 2
    entries = {"sum_x": x, "gram_diagonal": x, "gram_off_diagonal": x * (x - 1) // 2, "cross": x}
    entries |= {blocks[0]: x + 1, blocks[1]: x * (x + 1) // 2}
    entries |= {name: one.times * one.entries for name, one in statistics.items()}
    return gaussian_loss(stated, square, [(entries.get(block, 1), scale) for block, scale in sigma.items()])


def _moments(stated: Stated) -> Fraction:
    """The largest squared change of the moments of weighted rows in units of their scales, each block at its least."""
    unit, one = stated.design.unit, {block: 1 / stated.scale(block) ** 2 for block in BLOCKS}
    diagonal, off = max(one["count"], one["gram_diagonal"]), max(one["sum_x"], one["gram_off_diagonal"])
    loss = weighted_loss(
        weighted_domain(stated.design, stated.law.grid_bits),
        unit.neighbours,
        Blocks(
            count=0.0,
            sum_x=0.0,
            gram=up(max(diagonal, off / 2)),
            sum_y=0.0,
            cross=up(max(one["sum_y"], one["cross"])),
            target_square=up(one["target_square"]),
        ),
        count_public=stated.design.count_public,
        rows_per_unit=unit.max_rows,
        close=CLOSE,
    )
    return Fraction(loss)  # [P:forward-scaled]


# -- refined -----------------------------------------------------------------------------------------------------------
# What `refined` releases, and how far one unit moves each of it. Proof: refined.proof.md.

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


# -- refined -----------------------------------------------------------------------------------------------------------
# Map of `refined`: searches, a Gram, clipped scores and their companions. Proof: maps.proof.md.

_GRAM = ("gram_diagonal", "gram_off_diagonal")


def refined(stated: Stated) -> Loss:
    """Every statistic at its largest change, as often as it is released."""
    statistics = refined_statistics(stated.design)
    gram = statistics.pop("gram")
    stated.check("discrete-gaussian", JOINT, [*statistics, *_GRAM])
    sigma, columns = stated.law.sigma, stated.fitted
    square = Fraction(gram.sensitivity) ** 2 * gram_weight(stated, *_GRAM, columns=columns)
    variates = [(columns, sigma[_GRAM[0]]), (columns * (columns - 1) // 2, sigma[_GRAM[1]])]
    for name, one in statistics.items():
        square += one.times * stated.over(one.sensitivity, name) ** 2
        variates.append((one.times * one.entries, sigma[name]))
    return gaussian_loss(stated, square, variates)  # [P:forward-refined]


# -- weighted ----------------------------------------------------------------------------------------------------------
# Map of `gaussian` on rows with weights: their moments, their number, a residual Gram. Proof: maps.proof.md.


def weighted_moments(stated: Stated) -> Loss:
    """Map of its first version: every moment but those that are 0 in every table."""
    return _weighted_moments(stated, ())


def weighted_indicators_once(stated: Stated) -> Loss:
    """The same, with one number for the sum and the square of an indicator."""
    return _weighted_moments(stated, stated.design.indicators)


def _weighted_moments(stated: Stated, indicators: tuple[tuple[int, int], ...]) -> Loss:
    """Moments, the number of rows unless it is public, any sums over residuals."""
    sigma, x, design = stated.law.sigma, stated.size - 2, stated.design
    robust = any(block in sigma for block in RESIDUAL_BLOCKS) or bool(stated.law.models)
    grams = stated.law.residual_entries(stated.size) if robust else {}
    rows = [] if design.rows_public else [ROWS]
    blocks, at = [*stated.moments_blocks(), *rows, *grams], {"factors": design.factors, "indicators": indicators}
    stated.check("discrete-gaussian", JOINT, blocks, [WEIGHT_STEPS], **at, models=True)
    if stated.law.parameters[WEIGHT_STEPS] != WEIGHT_BITS:
        raise SpecError(f"expected weights of {WEIGHT_BITS} bits, got {stated.law.parameters[WEIGHT_STEPS]}")
    # a weighted row may move the sums as far as one that is absent from a table, or less
    square = joint_square(stated)  # [P:forward-weights]
    if rows:
        square += stated.over(design.unit.max_rows, ROWS) ** 2
    if robust:
        square += residual_square(stated)
    products, squares = x * (x - 1) // 2 - stated.law.zeros, x - len(stated.law.indicator_columns)
    entries = {"sum_x": x, "gram_diagonal": squares, "gram_off_diagonal": products, "cross": x} | grams
    return gaussian_loss(stated, square, [(entries.get(block, 1), scale) for block, scale in sigma.items()])
