"""Convert Arrow columns to the float64 arrays that the encoder reads, with NaN for missing and invalid cells.

Only wrong types raise errors here. An invalid cell becomes NaN and is handled by the declared `missing` rule, so no
message can contain a value. `pyarrow.compute` is imported inside functions, because importing it takes longer than
reading a small table.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.design.columns import Base, Boolean, Level, Numeric
from discreet.design.dates import FIRST_DAY, ISO, LAST_DAY
from discreet.errors import DataError
from discreet.exact.arrays import FloatArray

if TYPE_CHECKING:
    from pyarrow import Array, ChunkedArray, DataType, DictionaryArray, RecordBatch

_STEPS_OF_A_DAY: Final = {"D": 1, "s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_BYTES_OF_TEXT: Final = (
    (pa.types.is_string, pa.binary()),
    (pa.types.is_large_string, pa.large_binary()),
    (pa.types.is_string_view, pa.binary_view()),
)


def declared_arrays(batch: RecordBatch, columns: Mapping[str, Base]) -> list[FloatArray]:
    """Return a float64 array for each declared column of a record batch, in the order of `columns`."""
    return [declared_array(name, column, batch.column(name)) for name, column in columns.items()]


def check_buffers(batch: RecordBatch) -> None:
    """Raise an Arrow error if an offset points outside its buffers.

    Invalid text, decimals with too many digits, invalid times and indices outside a dictionary only affect their own
    cell, so they are not errors.
    """
    try:
        batch.validate(full=True)
    except pa.ArrowInvalid:
        for values in batch.columns:
            _check_array(values)


def _check_array(values: Array) -> None:
    if pa.types.is_dictionary(values.type):
        values.indices.validate(full=True)
        _check_array(values.dictionary)
    else:
        _as_bytes(values).validate(full=True)


def _as_bytes(values: Array) -> Array:
    """Return the same buffers, with text, decimals and times viewed as bytes."""
    for is_text, kind in _BYTES_OF_TEXT:
        if is_text(values.type):
            return values.view(kind)
    any_bits = pa.types.is_decimal(values.type) or pa.types.is_temporal(values.type)
    return values.view(pa.binary(values.type.byte_width)) if any_bits else values


def entry_indices(values: DictionaryArray) -> Array:
    """Return the dictionary index of each cell as int64, or null for an index outside the dictionary.

    Arrow does not check indices and would read beyond the dictionary.

    >>> entry_indices(pa.DictionaryArray.from_arrays(pa.array([1, 5, None]), ["a", "b"], safe=False)).to_pylist()
    [1, None, None]
    """
    import pyarrow.compute as pc

    # an unsigned index beyond the signed range becomes negative
    indices = values.indices.cast(pa.int64(), safe=False)
    inside = pc.and_(pc.greater_equal(indices, 0), pc.less(indices, len(values.dictionary)))
    return pc.if_else(inside, indices, pa.scalar(None, pa.int64()))


def combined(values: ChunkedArray) -> Array:
    """Concatenate all chunks."""
    if values.num_chunks > 1 and pa.types.is_dictionary(values.type):
        # Arrow looks up every index when it unifies dictionaries, so indices must be valid
        chunks = [
            pa.DictionaryArray.from_arrays(entry_indices(chunk).cast(values.type.index_type), chunk.dictionary)
            for chunk in values.chunks
        ]
        values = pa.chunked_array(chunks)
    return values.combine_chunks()


def declared_array(name: str, column: Base, values: Array) -> FloatArray:
    """Return the numbers, 0/1 values or level indices of a column, with NaN for missing and invalid cells.

    >>> from discreet.design.columns import Categorical
    >>> declared_array("g", Categorical(("a", "b")), pa.array(["b", None, "z"]))
    array([ 1., nan, nan])
    """
    if pa.types.is_dictionary(values.type):
        # convert the entries and look them up by index, because Arrow cannot decode some text types
        entries = pa.array(declared_array(name, column, values.dictionary))
        return _floats(entries.take(entry_indices(values)))
    if pa.types.is_null(values.type):
        return np.full(len(values), np.nan)
    if isinstance(column, Numeric):
        cells = _days(name, values) if column.is_date else _numbers(name, values, "numbers")
        return np.where(np.isin(cells, _stored(column, values.type)), np.nan, cells) if column.missing_codes else cells
    if isinstance(column, Boolean):
        numbers = _numbers(name, values, "true and false or 0 and 1")
        return np.where((numbers == 0) | (numbers == 1), numbers, np.nan)
    return _codes(name, column.levels, values)


def missing_cells(column: Base | None, values: Array) -> npt.NDArray[np.bool_]:
    """Return a mask of the missing cells, which are null, NaN or a declared missing code.

    Pass None as the column to ignore missing codes, if the type of the cells does not match the declaration.
    """
    if column is None or isinstance(column, Boolean) or not column.missing_codes:
        return _absent(values)
    if isinstance(column, Numeric):
        kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
        coded = np.isin(declared_array("", replace(column, missing_codes=()), values), _stored(column, kind))
    else:
        coded = np.isfinite(_codes("", column.missing_codes, values))
    return _absent(values) | coded


def _stored(column: Numeric, kind: DataType) -> list[float]:
    """Return the missing codes as stored in the type of the cells, omitting codes that this type cannot store.

    >>> _stored(Numeric((0, 1), missing_codes=(99.9,)), pa.float32())
    [99.9000015258789]
    """
    codes = list(column.missing_codes)
    if pa.types.is_float16(kind) or pa.types.is_float32(kind):
        with np.errstate(over="ignore"):
            rounded: list[float] = np.array(codes).astype(kind.to_pandas_dtype()).astype(np.float64).tolist()
        return rounded
    if not pa.types.is_decimal(kind):
        return codes
    decimals: list[float] = []
    for code in codes:
        with suppress(pa.ArrowInvalid):
            decimals += pa.array([Decimal(repr(code))], kind).cast(pa.float64(), safe=False).to_pylist()
    return decimals


def _absent(values: Array) -> npt.NDArray[np.bool_]:
    if pa.types.is_dictionary(values.type):
        entries = pa.array(_absent(values.dictionary))
        return _flags(entries.take(entry_indices(values)).fill_null(True))
    if pa.types.is_null(values.type):
        return np.ones(len(values), dtype=np.bool_)
    return _flags(values.is_null(nan_is_null=pa.types.is_floating(values.type)))


def _flags(values: Array) -> npt.NDArray[np.bool_]:
    # NumPy cannot read the bits of Arrow booleans
    return np.from_dlpack(values.cast(pa.int8())).astype(np.bool_)


def _numbers(name: str, values: Array, wanted: str) -> FloatArray:
    kind = values.type
    if pa.types.is_boolean(kind):
        values = values.cast(pa.int8())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        levels = ", or declare levels instead" if _is_text(kind) else ""
        raise DataError(
            f"column {name!r} must contain {wanted}, as declared, but has type {kind}; convert the column{levels}"
        )
    if not pa.types.is_float64(values.type):
        # not "safe": an integer above 2**53 is rounded to a double, independently of other cells
        values = values.cast(pa.float64(), safe=False)
    return _floats(values)


def _days(name: str, values: Array) -> FloatArray:
    """Convert dates, times without a time zone, and ISO 8601 text to days since 1970-01-01."""
    kind = values.type
    if _is_text(kind):
        return _days_of_text(values.cast(pa.string()))
    zoned = pa.types.is_timestamp(kind) and kind.tz is not None
    if zoned or not (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        why = ", and the date depends on the time zone" if zoned else ""
        raise DataError(
            f"column {name!r} must contain dates, as declared, but has type {kind}{why}; convert the column to dates"
        )
    whole = values.cast(pa.int32()).cast(pa.int64()) if pa.types.is_date32(kind) else values.cast(pa.int64())
    steps = np.from_dlpack(whole.fill_null(0))
    unit = "ms" if pa.types.is_date64(kind) else "D" if pa.types.is_date32(kind) else kind.unit
    days = np.floor_divide(steps, _STEPS_OF_A_DAY[unit])
    valid = (days >= FIRST_DAY) & (days <= LAST_DAY) & ~_absent(values)
    return np.where(valid, days, np.nan)


def _days_of_text(text: Array) -> FloatArray:
    """Convert ISO 8601 text to days, with NaN for any other text."""
    import pyarrow.compute as pc

    matches = pc.match_substring_regex(text, ISO).fill_null(False)
    dates = pc.if_else(matches, text, "1970-01-01")
    year, month, day = (
        np.from_dlpack(pc.utf8_slice_codeunits(dates, *ends).cast(pa.int64())).astype(np.int64)
        for ends in ((0, 4), (5, 7), (8, 10))
    )
    valid = (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1)
    months = np.where(valid, (year - 1970) * 12 + month - 1, 0).astype("datetime64[M]")
    days = months.astype("datetime64[D]").astype(np.int64) + day - 1
    # a day beyond the end of its month, such as February 30, falls into the next month
    valid &= days.astype("datetime64[D]").astype("datetime64[M]") == months
    return np.where(valid & _flags(matches), days, np.nan)


def _codes(name: str, levels: tuple[Level, ...], values: Array) -> FloatArray:
    """Return the index of each cell in a list of levels, which must be all text or all integers."""
    if pa.types.is_dictionary(values.type):
        entries = pa.array(_codes(name, levels, values.dictionary))
        return _floats(entries.take(entry_indices(values)))
    import pyarrow.compute as pc

    kind = values.type
    text_levels = isinstance(levels[0], str)
    if text_levels and _is_text(kind):
        codes = pc.index_in(values.cast(pa.string()), value_set=_text(levels))
    elif not text_levels and (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        # index_in compares bits; adding zero turns -0.0 into 0.0 and changes nothing else
        numbers = pc.add(values.cast(pa.float64(), safe=False), 0.0)
        codes = pc.index_in(numbers, value_set=pa.array(levels, pa.float64()))
    else:
        wanted = "text" if text_levels else "integers"
        raise DataError(
            f"column {name!r} must contain {wanted}, like its declared levels, but has type {kind}; convert the column "
            "or declare other levels"
        )
    return _floats(codes.cast(pa.float64()))


def _text(levels: tuple[Level, ...]) -> Array:
    """Build an Arrow array of text without `pa.array`, which would import pandas."""
    cells = [str(level).encode() for level in levels]
    ends = np.cumsum([0, *map(len, cells)], dtype=np.int32)
    return pa.StringArray.from_buffers(len(cells), pa.py_buffer(ends), pa.py_buffer(b"".join(cells)))


def _is_text(kind: DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _floats(values: Array) -> FloatArray:
    """Convert an Arrow array to doubles, with NaN for null, without `Array.to_numpy`, which would import pandas."""
    return np.from_dlpack(values.fill_null(np.nan) if values.null_count else values).astype(np.float64, copy=False)
