"""Noisy searches on counts, and the centre and spread of a target by them. Proof: refined.proof.md."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from discreet.curator.sums.column_cells import CELLS
from discreet.exact.arrays import IntArray
from discreet.losses.sensitivity.searches import (
    LAST,
    TARGET_QUANTILE,
    WHOLE,
    comparisons,
)
from discreet.mechanisms.interface.protocol import RunContext

# the number of rows up to the point at an index of a grid
CountAt: TypeAlias = Callable[[int], int]

# the 29/32 quantile of abs(z) of a standard normal z, which is searched for of a target
NORMAL_TARGET_SPREAD: Final = 1.68
# no scale is smaller, in scaled units: of a column that is mostly one value the quantile says nothing
NARROWEST: Final = 1 / 32
# how far the centre of a column or a target is from the middle of its range, as a standard deviation, in half ranges
CENTRE_PRIOR: Final = 0.35
# bits of the grid of a cell's value in a sum of clipped targets; every product grid is as fine
VALUE_BITS: Final = 16


def noisy(context: RunContext, block: str, exact: Sequence[int]) -> list[int]:
    """Exact sums in steps of the product grid with independent noise of a block's scale."""
    noise = context.sampler.draw([context.law.sigma[block]] * len(exact))
    return [total + variate for total, variate in zip(exact, noise, strict=True)]  # [P:refined-noise]


def in_steps(context: RunContext, thirty_seconds: int) -> int:
    """A quantile in steps of the product grid."""
    return thirty_seconds * (context.law.unit // WHOLE)


def search(context: RunContext, block: str, count_at: CountAt, rows: int, below: int) -> int:
    """The index of the grid point where a quantile seems to be, by noisy binary search.

    Parameters
    ----------
    block
        Names the grid, and the noise of a comparison.
    count_at
        Exact number of rows up to a grid point.
    rows, below
        Number of rows, exactly, and the quantile in steps of the product grid. Only the sum over rows of
        1[value up to the point] - quantile is used, with noise.
    """
    low, high = 0, LAST[block]
    # all comparisons are made, whatever they say
    for _ in range(comparisons(block)):
        middle = (low + high) // 2
        (value,) = noisy(context, block, [count_at(middle) * context.law.unit - below * rows])  # [P:centred-count]
        if low < high:
            low, high = (low, middle) if value >= 0 else (middle + 1, high)
    return high


class Counts:
    """Numbers of rows up to any cell of each column, from counts by cell. Sensitive."""

    def __init__(self, cells: IntArray) -> None:
        # before the first cell there is none
        self._up_to = np.concatenate([np.zeros((len(cells), 1), dtype=np.int64), np.cumsum(cells, axis=1)], axis=1)

    def up_to(self, cells: Sequence[int]) -> list[int]:
        """Rows up to a cell, one for each column."""
        indices = np.clip(np.asarray(cells, dtype=np.int64), -CELLS - 1, CELLS) + CELLS + 1
        found: list[int] = self._up_to[np.arange(len(indices)), indices].tolist()
        return found

    def around(self, centres: Sequence[int], widths: Sequence[int]) -> list[int]:
        """Rows in the cells within a width of a centre, one for each column."""
        upper = self.up_to([c + w for c, w in zip(centres, widths, strict=True)])
        lower = self.up_to([c - w for c, w in zip(centres, widths, strict=True)])
        return [a - b for a, b in zip(upper, lower, strict=True)]


@dataclass(frozen=True, slots=True)
class TargetScale:
    """Released numbers about the target, in scaled units.

    Attributes
    ----------
    low, high
        Its public range.
    centre, variance
        Where its mean seems to be, and how far off that may be.
    spread
        Within which nine tenths of the values seem to be.
    """

    low: float
    high: float
    centre: float
    variance: float
    spread: float

    @property
    def span(self) -> float:
        """How far a value can be from the centre."""
        return max(self.high - self.centre, self.centre - self.low)

    @property
    def likely_sd(self) -> float:
        """Standard deviation of a normal target of this spread, and at most that of a uniform one."""
        return min(self.spread / NORMAL_TARGET_SPREAD, (self.high - self.low) / math.sqrt(12))


def target_spread(context: RunContext, counts: Counts, centre: int, half: int, rows: int) -> int:
    """Within how many cells of a centre nine tenths of the target seem to be; `half` is half of its range, in cells."""
    widths = [round(half * math.pow(2, (k - 14) / 2)) for k in range(LAST["target_spread"] + 1)]
    below = in_steps(context, TARGET_QUANTILE)
    return widths[search(context, "target_spread", lambda k: counts.around([centre], [widths[k]])[0], rows, below)]


def target_centred(context: RunContext, cells: IntArray, rows: int, many: float) -> TargetScale:
    """Centre of the target: a noisy mean, a search for the spread, and a noisy mean of what is not far off.

    `many` is the released number of rows.
    """
    low = 0 if context.domain.target_nonnegative else -CELLS
    middle, half = (low + CELLS) // 2, (CELLS - low) // 2
    counts, values = Counts(cells[None, :]), np.arange(-CELLS, CELLS + 1) - middle
    centre, variance = middle, 0.0
    if context.design.intercept:
        mean, error = _mean(context, "target_mean", cells, values, half, many)
        gain = CENTRE_PRIOR**2 / (CENTRE_PRIOR**2 + error**2)
        centre += round(half * min(max(gain * mean, -1.0), 1.0))
        variance = gain * error**2 * half**2
    spread = target_spread(context, counts, centre, half, rows)
    exact = float(centre)
    if context.design.intercept:
        farthest = half + abs(centre - middle)
        width = math.ceil(min(max(1.5 * spread, 2 * math.sqrt(variance)), farthest))
        mean, error = _mean(context, "target_zoom", cells, values - (centre - middle), width, many)
        gain = variance / (variance + (width * error) ** 2)
        exact = min(max(centre + gain * mean * width, low), CELLS)
        variance = gain * (width * error) ** 2
    return TargetScale(low / CELLS, 1.0, exact / CELLS, variance / CELLS**2, spread / CELLS)


def _mean(
    context: RunContext, block: str, cells: IntArray, values: IntArray, width: int, many: float
) -> tuple[float, float]:
    """Noisy mean of values over a width, cut to [-1, 1], with the standard deviation of its noise."""
    cut = np.clip(values, -width, width) << VALUE_BITS
    parts = np.sign(cut) * (np.abs(cut) // width)  # [P:value-of-a-cell]
    total = int(cells @ parts) * (context.law.unit >> VALUE_BITS)
    (released,) = noisy(context, block, [total])
    return released / context.law.unit / many, context.law.sd(block) / many
