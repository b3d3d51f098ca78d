"""Read cells one by one, and scale the values of the declared columns."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.design.columns import (
    Base,
    Boolean,
    Categorical,
    Column,
    Interaction,
    Numeric,
    Readable,
    SplineBasis,
    bad_cell,
    remedy,
)
from discreet.design.dates import FIRST_DAY, LAST_DAY, day_of, day_of_text
from discreet.errors import CellError
from discreet.exact.arrays import FloatArray

# -- cells -------------------------------------------------------------------------------------------------------------
# Cells that are Python objects are read one by one, as their column is declared. A library would infer a type from the
# whole column, so that one row could change how other rows are read.

# marks of invalid cells under the rule `mark`: they lie outside all bounds and are not levels
MARK_NUMBER: Final = math.inf
MARK_TEXT: Final = "\0"
# the last day that date32 can hold, after the year 9999
MARK_DAY: Final = 2**31 - 1
# time units that are finer than nanoseconds, with their number per second
_FINEST: Final = {"ps": 10**12, "fs": 10**15, "as": 10**18}
_LONGEST_ID_BITS: Final = 4096
# names of the types of missing cells in pandas and NumPy
_ABSENT: Final = frozenset(("NAType", "NaTType", "MaskedConstant"))
_LONGEST_ID_DIGITS: Final = 1000
# types whose methods raise only subclasses of Exception
_PLAIN: Final = frozenset((
    int, float, complex, bool, str, bytes, type(None), list, tuple, Decimal, Fraction, np.ndarray,
    *np.sctypeDict.values(),
))  # fmt: skip


def cell_array(column: Readable, cells: Iterable[object]) -> pa.Array:
    """Return an Arrow array of the declared type, with null for missing and invalid cells.

    With the rule `mark`, only missing cells become null, and invalid cells become marks.

    >>> cell_array(Numeric((0, 1)), [0.5, "0.5", None, 1]).to_pylist()
    [0.5, None, None, 1.0]
    >>> cell_array(Categorical(("a", "b")), ["a", 1]).to_pylist()
    ['a', None]
    >>> cell_array(Numeric((0, 1), missing="mark"), [0.5, "0.5", None]).to_pylist()
    [0.5, inf, None]
    """
    marks = column.missing == "mark"
    mark = MARK_NUMBER if marks else None
    if isinstance(column, Numeric) and column.is_date:
        days = [_read(_day, cell, MARK_DAY if marks else None) for cell in cells]
        return pa.array(days, pa.int32()).cast(pa.date32())
    if isinstance(column, Numeric | Boolean):
        # most cells are floats already
        return pa.array([cell if type(cell) is float else _read(_number, cell, mark) for cell in cells], pa.float64())
    if isinstance(column, Categorical):
        if isinstance(column.levels[0], str):
            return text_array(cells, marks=marks)
        return pa.array([_read(_level_number, cell, mark) for cell in cells], pa.float64())
    return pa.array([_read(_name, cell) for cell in cells], pa.string())


def text_array(cells: Iterable[object], *, marks: bool = False) -> pa.Array:
    """Return an Arrow array of text with null for other cells. With `marks`, invalid cells become marks instead."""
    mark = MARK_TEXT if marks else None
    return pa.array([_read(_text, cell, mark) for cell in cells], pa.string())


def integers_below(kind: np.dtype[np.floating[Any]]) -> float:
    """Return the integer above which a float type cannot represent every integer, so that two ids could coincide."""
    return 2.0 ** (min(np.finfo(kind).nmant, np.finfo(np.float64).nmant) + 1)


def _read(reader: Callable[[Any], Any], cell: object, mark: float | str | None = None) -> Any:  # noqa: ANN401  # what the reader gives
    """Apply a reader to a cell, and return the mark if the cell is invalid or the reader raises an exception."""
    try:
        value = reader(cell)
        return mark if value is None and mark is not None and not _is_missing(cell) else value
    except BaseException as error:
        if ends_program(error, cell):
            raise
        return mark


def _is_missing(cell: Any) -> bool:  # noqa: ANN401  # a cell may hold anything
    kind = type(cell)
    is_nan = issubclass(kind, float | np.floating | np.datetime64) and bool(cell != cell)
    return cell is None or kind.__name__ in _ABSENT or is_nan


def ends_program(error: BaseException, cell: object) -> bool:
    """Return whether an exception raised while reading a cell must end the program, such as an interrupt.

    A custom object may raise anything, even `SystemExit`, but must not affect a release. While a cell of a plain type
    is read, only a signal handler can raise such an exception.

    >>> ends_program(KeyboardInterrupt(), 0.5), ends_program(SystemExit(), 0.5), ends_program(ValueError(), 0.5)
    (True, True, False)
    """
    if isinstance(error, Exception):
        return False
    return isinstance(error, KeyboardInterrupt) or any(type(cell) is plain for plain in _PLAIN)


def _number(cell: Any) -> float | None:  # noqa: ANN401  # a cell may hold anything
    # checks the type, because an object can override `isinstance`
    kind = type(cell)
    if not issubclass(kind, numbers.Real | Decimal | np.bool_) or issubclass(kind, np.timedelta64):
        return None
    if issubclass(kind, np.longdouble):
        # values outside the range of doubles become infinite without a warning
        with np.errstate(over="ignore"):
            return float(cell)
    return float(cell)


def _day(cell: Any) -> int | None:  # noqa: ANN401  # as above
    """Return the days since 1970-01-01 of a date, a time without a time zone, or ISO 8601 text."""
    kind = type(cell)
    if kind.__name__ in _ABSENT:
        return None
    if issubclass(kind, str):
        return day_of_text(str.__str__(cell))
    if issubclass(kind, np.datetime64):
        (day,) = days_of(np.array([cell])).to_pylist()
        return None if day == MARK_DAY else day
    zoned = issubclass(kind, datetime) and datetime.tzinfo.__get__(cell) is not None
    # a pandas timestamp with a year that `datetime` cannot hold reports another year to `datetime`
    misfit = issubclass(kind, datetime) and cell.year != datetime.year.__get__(cell)
    return day_of(cell) if issubclass(kind, date) and not zoned and not misfit else None


def days_of(values: npt.NDArray[np.datetime64]) -> pa.Array:
    """Convert dates of any unit to days since 1970-01-01, with null for NaT and a mark outside the years 1 to 9999.

    >>> days_of(np.array(["1970-01-02T03", "NaT"], "datetime64[h]")).to_pylist()
    [1, None]
    """
    kind = values.dtype.newbyteorder("=")
    unit, times = np.datetime_data(kind)
    if unit == "generic":
        # without a unit all values are NaT
        return pa.nulls(len(values), pa.int32())
    absent = np.isnat(values)
    steps = values.astype(kind).view(np.int64)
    if unit in _FINEST:
        # NumPy does not convert these units to years
        unbounded = [step * times // (86_400 * _FINEST[unit]) for step in steps.tolist()]
        marked = [day if FIRST_DAY <= day <= LAST_DAY else MARK_DAY for day in unbounded]
        return pa.array(np.array(marked, np.int32), mask=absent)
    # NumPy multiplies units longer than days, which could overflow; all dates are within these limits
    inside = ~absent & (np.abs(steps) <= (10**7 if unit in ("Y", "M", "W") else 2**63 - 1) // times)
    years = np.where(inside, steps, 0).view(kind).astype("datetime64[Y]").astype(np.int64) + 1970
    inside &= (years >= 1) & (years <= 9999)
    days = np.where(inside, steps, 0).view(kind).astype("datetime64[D]").astype(np.int64)
    return pa.array(np.where(inside, days, MARK_DAY).astype(np.int32), mask=absent)


def _level_number(cell: Any) -> float | None:  # noqa: ANN401  # as above
    return None if issubclass(type(cell), bool | np.bool_) else _number(cell)


def _text(cell: Any) -> str | None:  # noqa: ANN401  # as above
    if not issubclass(type(cell), str):
        return None
    text = str.__str__(cell)
    text.encode()
    return text


def _name(cell: Any) -> str | None:  # noqa: ANN401  # as above
    kind = type(cell)
    if issubclass(kind, numbers.Integral) and not issubclass(kind, bool | np.timedelta64):
        whole = int(cell)
        # Python does not convert longer integers to text
        return str(whole) if whole.bit_length() < _LONGEST_ID_BITS else None
    if issubclass(kind, Decimal):
        # check the length first, because writing out a huge exponent would take all memory
        short = Decimal.adjusted(cell) < _LONGEST_ID_DIGITS
        return str(int(cell)) if short and cell == Decimal.to_integral_value(cell) else None
    if issubclass(kind, float | np.floating):
        number = _number(cell)
        digits = cell.dtype if issubclass(kind, np.floating) else np.dtype(np.float64)
        exact = number is not None and number.is_integer() and abs(number) < integers_below(digits)
        return str(int(number)) if exact and number is not None else None
    return _text(cell)


# -- encoder -----------------------------------------------------------------------------------------------------------
# Release and prediction scale declared columns to rows (1, x, y). Each scaled value is computed from its own cell and
# public numbers by elementwise IEEE operations, so its bits do not depend on other rows.

# number of cells that are clipped and rounded at once, small enough for the processor's cache
_AT_ONCE: Final = 1 << 16


def settle_missing(
    columns: Mapping[str, Base], arrays: Sequence[FloatArray]
) -> tuple[list[FloatArray], npt.NDArray[np.bool_] | None]:
    """Apply the `missing` rule of each column. Return the arrays and a mask of the kept rows, or None if all are kept.

    Non-finite cells are handled here, before clipping, because clipping keeps NaN, and a NaN in a sum would reveal its
    row.

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
            problem = f"column {name!r} has a cell that is missing or {bad_cell(column)}"
            raise CellError(problem, column=name, remedy=remedy(column))
        elif column.fill is None:
            keep = present if keep is None else keep & present
            settled.append(values)
        else:
            settled.append(np.where(present, values, column.fill))
    if keep is not None:
        settled = [values[keep] for values in settled]
    return settled, keep


def _surely_finite(values: FloatArray) -> bool:
    """Return whether the sum of all values is finite, which implies that each value is finite.

    Once a partial sum is infinite or NaN, adding finite numbers cannot make it finite again, whatever the order. This
    is faster than checking each value.
    """
    return math.isfinite(np.add.reduce(values))  # [P:finite-sum]


def shrink_scaled(x: FloatArray, radius: float) -> None:
    """Shrink each column of `x` in place to a ball, as the rows of a release are shrunk.

    Released rows are also rounded to the grid, so the two maps differ by less than one grid step in each value.

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
    """Write the scaled columns, multiplied by `unit`, into the array `out`, one array row for each released column.

    `arrays` holds values of shape (m,), or scaled values of shape (released columns, m) for a spline or an interaction.
    Numbers are written in [-unit, unit] and booleans and indicators as 0 or unit. With `integers`, values are rounded
    to integers.

    >>> out = np.empty((1, 3))
    >>> write_scaled({"x": Numeric((0, 2))}, [np.array([0.0, 1.4, 9.0])], out, unit=4.0, integers=True)
    >>> out.tolist()
    [[-4.0, 2.0, 4.0]]
    """
    row = begun = 0
    few = max(1, _AT_ONCE // max(1, out.shape[1]))
    numbers = [isinstance(column, Numeric) for column in columns.values()]
    pairs = zip(columns.values(), arrays, strict=True)
    # a number far outside its bounds may overflow to infinity before it is clipped
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
    """Write a scaled column without clipping. Return the number of array rows written."""
    if isinstance(column, Numeric):
        steps = unit / column.half
        if column.mid == 0:
            # subtracting 0 would change nothing
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
