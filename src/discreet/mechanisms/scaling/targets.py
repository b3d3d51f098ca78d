"""Centre of a target, and how far from it weighted values are kept, by noisy searches. Proof: scaled.proof.md."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from discreet.curator.sums.column_cells import CELLS
from discreet.exact.arrays import IntArray
from discreet.losses.sensitivity.scaled import TARGET_SIZE
from discreet.losses.sensitivity.searches import HALF, LAST, TARGET_QUANTILE
from discreet.mechanisms.interface.protocol import RunContext
from discreet.mechanisms.scaling.searches import NARROWEST, VALUE_BITS, Counts, in_steps, noisy, search

# the 29/32 quantile of abs(z) of a standard normal z
_NORMAL_SPREAD: Final = 1.68
# a bounded target keeps values up to so many scales: the more rows there are for the noise, the more
_FEWEST_SCALES, _MOST_SCALES, _FEW_ROWS = 2.0, 6.0, 67.0
# standard deviations of its noise by which a mean square is lowered before it is believed
_DOUBT: Final = 2.0


def target_bounded(context: RunContext, cells: IntArray, rows: int, many: float) -> tuple[float, float]:
    """Centre of the target, and how far from it weighted values are kept: some scales, no farther than any value is.

    The scale is that of the spread around the centre, or the root of the mean square where that is surely larger, as
    of a target that is mostly one value. Where rows are few for the noise two scales are kept, where they are many six:
    what is cut then weighs less than the noise that a wider bound would bring. `many` is the released number of rows.
    """
    counts, last = Counts(cells[None, :]), LAST["target_centre"]
    points = [round(CELLS * (2 * k / last - 1)) for k in range(last + 1)]
    half = in_steps(context, HALF)
    (at,) = search(context, "target_centre", lambda at: counts.up_to([points[k] for k in at]), rows, half)
    centre = points[at]
    widths = [round(CELLS * math.pow(2, (k - 14) / 2)) for k in range(LAST["target_spread"] + 1)]
    (found,) = search(
        context,
        "target_spread",
        lambda at: counts.around([centre], [widths[k] for k in at]),
        rows,
        in_steps(context, TARGET_QUANTILE),
    )
    # no value is farther from the centre than two scaled units
    squares = ((np.arange(-CELLS, CELLS + 1) - centre) ** 2 << VALUE_BITS) // (2 * CELLS) ** 2  # [P:square-of-a-cell]
    (released,) = noisy(context, TARGET_SIZE, [int(cells @ squares) * (context.law.unit >> VALUE_BITS)])
    surely = released / context.law.unit - _DOUBT * context.law.sd(TARGET_SIZE)
    size = 2 * math.sqrt(max(surely, 0.0) / many)
    scale = max(widths[found] / CELLS / _NORMAL_SPREAD, size, NARROWEST)
    strength = many / (context.law.sd("cross") * math.sqrt(len(context.design.released) - 1))
    scales = min(max(_FEWEST_SCALES * math.sqrt(strength / _FEW_ROWS), _FEWEST_SCALES), _MOST_SCALES)
    return centre / CELLS, min(scales * scale, 1 + abs(centre) / CELLS)
