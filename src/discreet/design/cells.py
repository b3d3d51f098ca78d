"""Cells that come as Python objects: each is read by itself, by the declaration of its column.

A library would look at the whole column to choose one type for it, and so let one row change how the others are read.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa

from discreet.design.columns import Boolean, Categorical, Numeric, Readable

_LONGEST_ID_BITS: Final = 4096


def cell_array(column: Readable, cells: Iterable[object]) -> pa.Array:
    """An Arrow array of one fixed type; null where a cell is not of the declared kind.

    >>> cell_array(Numeric((0, 1)), [0.5, "0.5", None, 1]).to_pylist()
    [0.5, None, None, 1.0]
    >>> cell_array(Categorical(("a", "b")), ["a", 1]).to_pylist()
    ['a', None]
    """
    if isinstance(column, Numeric | Boolean):
        return pa.array([_number(cell) for cell in cells], pa.float64())
    if isinstance(column, Categorical):
        if isinstance(column.levels[0], str):
            return pa.array([_text(cell) for cell in cells], pa.string())
        return pa.array([None if isinstance(cell, bool | np.bool_) else _number(cell) for cell in cells], pa.float64())
    return pa.array([_name(cell) for cell in cells], pa.string())


def whole_numbers_below(kind: np.dtype[np.floating[Any]]) -> float:
    """Where floats of this type, read as doubles, begin to skip whole numbers: there two ids may have become one.

    >>> whole_numbers_below(np.dtype(np.float64)) == 2**53, whole_numbers_below(np.dtype(np.float32)) == 2**24
    (True, True)
    """
    return 2.0 ** (min(np.finfo(kind).nmant, np.finfo(np.float64).nmant) + 1)


def _number(cell: object) -> float | None:
    if not isinstance(cell, numbers.Real | Decimal | np.bool_) or isinstance(cell, np.timedelta64):
        return None
    try:
        with np.errstate(all="ignore"):
            return float(cell)
    except Exception:  # an overflow, a signalling NaN, or a number of somebody's own making
        return None


def _text(cell: object) -> str | None:
    if not isinstance(cell, str):
        return None
    try:
        cell.encode()
    except UnicodeEncodeError:
        return None
    return str(cell)


def _name(cell: object) -> str | None:
    if isinstance(cell, numbers.Integral) and not isinstance(cell, bool | np.timedelta64):
        whole = int(cell)
        # Python does not write out longer numbers, and nobody is called by one
        return str(whole) if whole.bit_length() < _LONGEST_ID_BITS else None
    if isinstance(cell, float | np.floating):
        number = _number(cell)
        kind = cell.dtype if isinstance(cell, np.floating) else np.dtype(np.float64)
        sure = number is not None and number.is_integer() and abs(number) < whole_numbers_below(kind)
        return str(int(number)) if sure and number is not None else None
    return _text(cell)
