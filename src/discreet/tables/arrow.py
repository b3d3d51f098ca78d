"""Arrow columns to the arrays that the encoder reads: float64, NaN where a cell is missing or not allowed.

Only types decide about errors here; a cell that breaks its declaration becomes NaN and the declared `missing` rule
speaks about it later, so that no value can appear in a message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.design.columns import Base, Boolean, Categorical, Numeric
from discreet.errors import DataError
from discreet.exact.arrays import FloatArray

if TYPE_CHECKING:
    from pyarrow import Array, DataType, RecordBatch


_BYTES_OF_TEXT: Final = (
    (pa.types.is_string, pa.binary()),
    (pa.types.is_large_string, pa.large_binary()),
    (pa.types.is_string_view, pa.binary_view()),
)


def declared_arrays(batch: RecordBatch, columns: Mapping[str, Base]) -> list[FloatArray]:
    """One float64 array for each declared column of a record batch, in the order of `columns`."""
    return [declared_array(name, column, batch.column(name)) for name, column in columns.items()]


def check_buffers(batch: RecordBatch) -> None:
    """Raise what Arrow raises where an offset or an index leads outside its buffers; text may be any bytes.

    Text that is no text, or a decimal with more digits than its type has, is a matter of its own cell.
    """
    try:
        batch.validate(full=True)
    except pa.ArrowInvalid:
        for values in batch.columns:
            _as_bytes(values).validate(full=True)


def _as_bytes(values: Array) -> Array:
    """The same buffers, with text and decimals read as bytes."""
    if pa.types.is_dictionary(values.type):
        return pa.DictionaryArray.from_arrays(values.indices, _as_bytes(values.dictionary), safe=False)
    for is_text, kind in _BYTES_OF_TEXT:
        if is_text(values.type):
            return values.view(kind)
    return values.view(pa.binary(values.type.byte_width)) if pa.types.is_decimal(values.type) else values


def declared_array(name: str, column: Base, values: Array) -> FloatArray:
    """Numbers, 0/1 or level positions of one column; NaN where the cell is missing or breaks the declaration.

    >>> declared_array("g", Categorical(("a", "b")), pa.array(["b", None, "z"]))
    array([ 1., nan, nan])
    """
    if pa.types.is_dictionary(values.type):
        # each entry once, then by position: decoding first has no kernel for some kinds of text
        entries = pa.array(declared_array(name, column, values.dictionary))
        return _floats(entries.take(values.indices))
    if pa.types.is_null(values.type):
        return np.full(len(values), np.nan)
    if isinstance(column, Numeric):
        return _numbers(name, values, "numbers")
    if isinstance(column, Boolean):
        numbers = _numbers(name, values, "true and false or 0 and 1")
        return np.where((numbers == 0) | (numbers == 1), numbers, np.nan)
    return _codes(name, column, values)


def _numbers(name: str, values: Array, wanted: str) -> FloatArray:
    kind = values.type
    if pa.types.is_boolean(kind):
        values = values.cast(pa.int8())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        levels = ", or declare levels if it holds words" if _is_text(kind) else ""
        raise DataError(f"column {name!r} has type {kind}; its declaration needs {wanted}. Convert it first{levels}")
    if not pa.types.is_float64(values.type):
        # not "safe": an integer above 2**53 is rounded to a double, by itself and before any clipping
        values = values.cast(pa.float64(), safe=False)
    return _floats(values)


def _codes(name: str, column: Categorical, values: Array) -> FloatArray:
    kind = values.type
    text_levels = isinstance(column.levels[0], str)
    if text_levels and _is_text(kind):
        found = pc.index_in(values.cast(pa.string()), value_set=pa.array(column.levels, pa.string()))
    elif not text_levels and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        # the look-up goes by bits; adding zero turns -0.0 into 0.0 and leaves all else
        numbers = pc.add(values.cast(pa.float64(), safe=False), 0.0)
        found = pc.index_in(numbers, value_set=pa.array(column.levels, pa.float64()))
    else:
        wanted = "text" if text_levels else "integers"
        raise DataError(f"column {name!r} has type {kind}; its levels are declared as {wanted}. Change one of the two")
    return _floats(found.cast(pa.float64()))


def _is_text(kind: DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _floats(values: Array) -> FloatArray:
    """The doubles of an Arrow array, NaN where it has none; `Array.to_numpy` would import pandas for the same."""
    return np.from_dlpack(values.fill_null(np.nan) if values.null_count else values).astype(np.float64, copy=False)
