"""Declared columns to scaled rows (1, x, y): one encoder for release and predict.

Each scaled value is a function of its own cell and of public numbers, through elementwise IEEE operations, so it is
the same bit for bit whatever rows surround it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from discreet.design.columns import Base, Boolean, Column, Numeric, SplineBasis, bad_cell, remedy
from discreet.design.interactions import Interaction
from discreet.errors import CellError
from discreet.exact.arrays import FloatArray

# cells that are clipped and rounded at once: few calls, and what was just written is still in the processor's cache
_AT_ONCE: Final = 1 << 16


def settle_missing(
    columns: Mapping[str, Base], arrays: Sequence[FloatArray]
) -> tuple[list[FloatArray], npt.NDArray[np.bool_] | None]:
    """Apply each column's `missing` rule; give the arrays and which rows are kept (none: all of them).

    Non-finite cells are settled here, before any clipping: clipping lets NaN through, and a NaN in a sum would
    single out its row.

    >>> arrays, keep = settle_missing({"x": Numeric((0, 1), "drop")}, [np.array([0.5, np.nan])])
    >>> keep
    array([ True, False])
    """
    settled: list[FloatArray] = []
    keep: npt.NDArray[np.bool_] | None = None
    with np.errstate(over="ignore", invalid="ignore"):
        finite = [_surely_finite(values) for values in arrays]
    for (name, column), values, sure in zip(columns.items(), arrays, finite, strict=True):
        present = None if sure else np.isfinite(values)
        if present is None or present.all():
            settled.append(values)
        elif column.missing == "error":
            problem = f"column {name!r} has a cell that is missing or {bad_cell(column)}; {remedy(column)}"
            raise CellError(problem, column=name)
        elif column.fill is None:
            keep = present if keep is None else keep & present
            settled.append(values)
        else:
            settled.append(np.where(present, values, column.fill))
    if keep is not None:
        settled = [values[keep] for values in settled]
    return settled, keep


def _surely_finite(values: FloatArray) -> bool:
    """Whether the sum of all values is finite, for which each of them has to be; faster than a look at each.

    Once a partial sum is infinite or NaN, no finite number makes it finite again, in whatever order they are added.

    >>> _surely_finite(np.array([1.0, np.inf])), _surely_finite(np.ones(2))
    (False, True)
    """
    return math.isfinite(np.add.reduce(values))  # [P:finite-sum]


def shrink_scaled(x: FloatArray, radius: float) -> None:
    """Shrink the columns of `x` in place to the ball of a declared radius, as the released rows were shrunk.

    Released rows are then rounded to the grid, so the two maps differ by less than a grid step in each value.

    >>> x = np.array([[3.0, 0.3], [4.0, 0.4]]); shrink_scaled(x, 2.5); x.round(12).tolist()
    [[1.5, 0.3], [2.0, 0.4]]
    """
    norm = np.sqrt(np.einsum("ij,ij->j", x, x))
    outside = norm > radius
    x[:, outside] *= radius / norm[outside]


def write_scaled(
    columns: Mapping[str, Column],
    arrays: Sequence[FloatArray],
    out: npt.NDArray[np.float64],
    *,
    unit: float = 1.0,
    integers: bool = False,
) -> None:
    """Write the scaled columns into the rows of `out`, one row for each released column, times `unit`.

    Parameters
    ----------
    columns
        Declared columns in the order in which they are released.
    arrays
        Settled values of each, shape (m,); scaled ones, shape (released columns, m), for a spline or an interaction.
    out
        Shape (released columns, m); every element is overwritten.
    unit
        What a scaled 1 becomes; numbers and what is made of them lie in [-unit, unit], the others are 0 or unit.
    integers
        Whether all values are rounded to the nearest integer; `unit` is one then.

    Examples
    --------
    >>> out = np.empty((1, 3))
    >>> write_scaled({"x": Numeric((0, 2))}, [np.array([0.0, 1.4, 9.0])], out, unit=4.0, integers=True)
    >>> out.tolist()
    [[-4.0, 2.0, 4.0]]
    """
    row = begun = 0
    few = max(1, _AT_ONCE // max(1, out.shape[1]))
    numbers = [isinstance(column, Numeric) for column in columns.values()]
    pairs = zip(columns.values(), arrays, strict=True)
    # a number far outside its bounds may overflow to infinity on its way to the clip; that is no event
    with np.errstate(over="ignore"):
        for (column, values), is_number, more in zip(pairs, numbers, [*numbers[1:], False], strict=True):
            row += _write_column(column, values, out[row:], unit)
            if is_number and more and row - begun < few:
                continue
            block, begun = out[begun:row], row
            if is_number:
                np.clip(block, -unit, unit, out=block)
            if integers:
                np.rint(block, out=block)  # [P:grid-rounding]


def _write_column(column: Column, values: FloatArray, out: FloatArray, unit: float) -> int:
    """Write one scaled column, numbers not yet clipped; give the number of rows of `out` that it has."""
    if isinstance(column, Numeric):
        steps = unit / column.half
        if column.mid == 0:
            # a difference to 0 is the value itself
            np.multiply(values, steps, out=out[0])
        else:
            np.subtract(values, column.mid, out=out[0])
            np.multiply(out[0], steps, out=out[0])
        return 1
    if isinstance(column, Boolean):
        np.multiply(values, unit, out=out[0])
        return 1
    if isinstance(column, SplineBasis | Interaction):
        np.multiply(values, unit, out=out[: len(values)])
        return len(values)
    for row, code in enumerate(column.indicator_codes):
        np.multiply(values == code, unit, out=out[row])
    return len(column.indicator_codes)
