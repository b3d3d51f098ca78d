"""Mean squares of columns, and centre and bound of a target, from counts with noise. Proof: scaled.proof.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from discreet.curator.sums.column_cells import CELLS
from discreet.exact.arrays import IntArray
from discreet.losses.sensitivity.scaled import TARGET_SIZE
from discreet.losses.sensitivity.searches import HALF, LAST
from discreet.mechanisms.interface.protocol import RunContext
from discreet.mechanisms.scaling.searches import (
    NARROWEST,
    NORMAL_TARGET_SPREAD,
    VALUE_BITS,
    Counts,
    in_steps,
    noisy,
    search,
    target_spread,
)

# a bounded target keeps values up to so many scales: the more rows there are for the noise, the more
_FEWEST_SCALES, _MOST_SCALES, _FEW_ROWS = 2.0, 6.0, 300.0
# standard deviations of its noise by which a mean square is lowered before it is believed
_DOUBT: Final = 1.0


def sizes(context: RunContext, block: str, cells: IntArray, centres: Sequence[int], many: float) -> list[float]:
    """Root of the mean square of each column around its centre, in scaled units, as far as it is surely there.

    Parameters
    ----------
    block
        Names the noise.
    cells
        Exact counts by cell of each column.
    centres
        Released, in cells.
    many
        Released number of rows.
    """
    # no value is farther from a centre than two scaled units
    places, fine = np.arange(-CELLS, CELLS + 1), context.law.unit >> VALUE_BITS
    squares = [((places - centre) ** 2 << VALUE_BITS) // (2 * CELLS) ** 2 for centre in centres]  # [P:square-of-a-cell]
    exact = [int(counts @ parts) * fine for counts, parts in zip(cells, squares, strict=True)]
    surely = [one / context.law.unit - _DOUBT * context.law.sd(block) for one in noisy(context, block, exact)]
    return [2 * math.sqrt(max(one, 0.0) / many) for one in surely]


def target_bounded(context: RunContext, cells: IntArray, rows: int, many: float) -> tuple[float, float]:
    """Centre of the target, and how far from it weighted values are kept: some scales, no farther than any value is.

    The scale is that of the spread around the centre, or the root of the mean square where that is surely larger, as
    of a target that is mostly one value. Where rows are few for the noise two scales are kept, where they are many six:
    what is cut then weighs less than the noise that a wider bound would bring. `many` is the released number of rows.
    """
    counts, last = Counts(cells[None, :]), LAST["target_centre"]
    points = [round(CELLS * (2 * k / last - 1)) for k in range(last + 1)]
    half = in_steps(context, HALF)
    centre = points[search(context, "target_centre", lambda k: counts.up_to([points[k]])[0], rows, half)]
    spread = target_spread(context, counts, centre, CELLS, rows)
    (size,) = sizes(context, TARGET_SIZE, cells[None, :], [centre], many)
    scale = max(spread / CELLS / NORMAL_TARGET_SPREAD, size, NARROWEST)
    strength = many / (context.law.sd("cross") * math.sqrt(len(context.design.released) - 1))
    scales = min(max(_FEWEST_SCALES * math.sqrt(strength / _FEW_ROWS), _FEWEST_SCALES), _MOST_SCALES)
    return centre / CELLS, min(scales * scale, 1 + abs(centre) / CELLS)
