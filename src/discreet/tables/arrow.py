"""Arrow columns to the arrays that the encoder reads: float64, NaN where a cell is missing or not allowed.

Only types decide about errors here; a cell that breaks its declaration becomes NaN and the declared `missing` rule
speaks about it later, so that no value can appear in a message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from discreet.design.columns import Base, Boolean, Categorical, Numeric
from discreet.errors import DataError
from discreet.exact.arrays import FloatArray

if TYPE_CHECKING:
    from pyarrow import Array, ChunkedArray, DataType, DictionaryArray, RecordBatch


_BYTES_OF_TEXT: Final = (
    (pa.types.is_string, pa.binary()),
    (pa.types.is_large_string, pa.large_binary()),
    (pa.types.is_string_view, pa.binary_view()),
)


def declared_arrays(batch: RecordBatch, columns: Mapping[str, Base]) -> list[FloatArray]:
    """One float64 array for each declared column of a record batch, in the order of `columns`."""
    return [declared_array(name, column, batch.column(name)) for name, column in columns.items()]


def check_buffers(batch: RecordBatch) -> None:
    """Raise what Arrow raises where an offset leads outside its buffers; text may be any bytes.

    Text that is no text, a decimal with more digits than its type has, a time of no day, or an index without an entry
    in its dictionary is a matter of its own cell.
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
    """The same buffers, with text, decimals and times read as bytes."""
    for is_text, kind in _BYTES_OF_TEXT:
        if is_text(values.type):
            return values.view(kind)
    any_bits = pa.types.is_decimal(values.type) or pa.types.is_temporal(values.type)
    return values.view(pa.binary(values.type.byte_width)) if any_bits else values


def entry_indices(values: DictionaryArray) -> Array:
    """The entry that each cell of a dictionary column names, as int64; null where the dictionary has no such entry.

    Arrow does not look, and would read beyond the dictionary.

    >>> entry_indices(pa.DictionaryArray.from_arrays(pa.array([1, 5, None]), ["a", "b"], safe=False)).to_pylist()
    [1, None, None]
    """
    # an index that only an unsigned type can hold becomes negative
    indices = values.indices.cast(pa.int64(), safe=False)
    inside = pc.and_(pc.greater_equal(indices, 0), pc.less(indices, len(values.dictionary)))
    return pc.if_else(inside, indices, pa.scalar(None, pa.int64()))


def combined(values: ChunkedArray) -> Array:
    """All chunks as one array."""
    if values.num_chunks > 1 and pa.types.is_dictionary(values.type):
        # where dictionaries are made one, every index is followed
        chunks = [
            pa.DictionaryArray.from_arrays(entry_indices(chunk).cast(values.type.index_type), chunk.dictionary)
            for chunk in values.chunks
        ]
        values = pa.chunked_array(chunks)
    return values.combine_chunks()


def declared_array(name: str, column: Base, values: Array) -> FloatArray:
    """Numbers, 0/1 or level positions of one column; NaN where the cell is missing or breaks the declaration.

    >>> declared_array("g", Categorical(("a", "b")), pa.array(["b", None, "z"]))
    array([ 1., nan, nan])
    """
    if pa.types.is_dictionary(values.type):
        # each entry once, then by position: decoding first has no kernel for some kinds of text
        entries = pa.array(declared_array(name, column, values.dictionary))
        return _floats(entries.take(entry_indices(values)))
    if pa.types.is_null(values.type):
        return np.full(len(values), np.nan)
    if isinstance(column, Numeric):
        return _numbers(name, values, "numbers")
    if isinstance(column, Boolean):
        numbers = _numbers(name, values, "true and false or 0 and 1")
        return np.where((numbers == 0) | (numbers == 1), numbers, np.nan)
    return _codes(name, column, values)


def missing_cells(values: Array) -> npt.NDArray[np.bool_]:
    """Which cells are missing: null, or NaN, which NumPy and pandas write for a missing number.

    >>> missing_cells(pa.array([1.0, None, float("nan"), float("inf")])).tolist()
    [False, True, True, False]
    """
    if pa.types.is_dictionary(values.type):
        entries = pa.array(missing_cells(values.dictionary))
        return _flags(entries.take(entry_indices(values)).fill_null(True))
    if pa.types.is_null(values.type):
        return np.ones(len(values), dtype=np.bool_)
    return _flags(values.is_null(nan_is_null=pa.types.is_floating(values.type)))


def _flags(values: Array) -> npt.NDArray[np.bool_]:
    # bits have no buffer that NumPy could read
    return np.from_dlpack(values.cast(pa.int8())).astype(np.bool_)


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
    elif not text_levels and (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
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
