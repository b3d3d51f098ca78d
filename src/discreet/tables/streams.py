"""Arrow C streams of any library as record batches: an entry that is null is a row of missing cells.

A table comes as a stream of struct arrays. pyarrow reads such a stream as record batches, which cannot hold an entry
that is null, or all at once, in memory that grows with the table. So its arrays are taken one by one.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

if TYPE_CHECKING:
    from pyarrow import Array, RecordBatch, StructArray

_CALL: Final = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_POINTER: Final = ctypes.pythonapi.PyCapsule_GetPointer
_POINTER.restype, _POINTER.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)


class _CSchema(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("format", "name", "metadata")),
        *((name, ctypes.c_int64) for name in ("flags", "n_children")),
        *((name, ctypes.c_void_p) for name in ("children", "dictionary", "release", "private_data")),
    )


class _CArray(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int64) for name in ("length", "null_count", "offset", "n_buffers", "n_children")),
        *((name, ctypes.c_void_p) for name in ("buffers", "children", "dictionary", "release", "private_data")),
    )


class _CStream(ctypes.Structure):
    _fields_ = (
        *((name, _CALL) for name in ("get_schema", "get_next")),
        *((name, ctypes.c_void_p) for name in ("get_last_error", "release", "private_data")),
    )


class TableStream:
    """The batches of an object with `__arrow_c_stream__` or `__arrow_c_array__` whose entries are rows.

    Raises
    ------
    Exception
        Of any kind, with any words, here and from `next_batch`: where the object fails or its entries are no rows.

    Examples
    --------
    >>> stream = TableStream(pa.chunked_array([[{"x": 1.0, "y": 2.0}, None]]))
    >>> stream.names, stream.next_batch(["y"]).to_pydict(), stream.next_batch(["y"])
    (['x', 'y'], {'y': [2.0, None]}, None)
    """

    def __init__(self, data: Any) -> None:  # noqa: ANN401  # of any library
        if not hasattr(data, "__arrow_c_stream__"):
            data = pa.chunked_array([pa.array(data)])
        # it owns the stream, and releases it when it goes
        self._capsule = data.__arrow_c_stream__()
        self._stream = _CStream.from_address(_POINTER(self._capsule, b"arrow_array_stream"))
        schema = _CSchema()
        self._fill(self._stream.get_schema, schema)
        self._type = pa.DataType._import_from_c(ctypes.addressof(schema))
        if not pa.types.is_struct(self._type):
            raise TypeError("the entries of the stream are no rows")

    @property
    def names(self) -> list[str]:
        """Names of all columns, which may not be unique."""
        return [self._type.field(index).name for index in range(self._type.num_fields)]

    def empty_batch(self, names: Sequence[str]) -> RecordBatch:
        """A batch without rows: the types of the named columns."""
        return pa.record_batch([pa.nulls(0, self._type.field(name).type) for name in names], names=list(names))

    def next_batch(self, names: Sequence[str]) -> RecordBatch | None:
        """The named columns of the next rows; none at the end."""
        array = _CArray()
        self._fill(self._stream.get_next, array)
        if not array.release:
            return None
        rows = pa.Array._import_from_c(ctypes.addressof(array), self._type)
        columns = [_column(rows, self._type.get_field_index(name)) for name in names]
        # with one more column, so that a batch without columns keeps its number of rows
        return pa.record_batch([*columns, pa.nulls(len(rows))], names=[*names, ""]).select(range(len(names)))

    def _fill(self, call: Any, answer: ctypes.Structure) -> None:  # noqa: ANN401  # a function of the stream
        if call(ctypes.addressof(self._stream), ctypes.addressof(answer)):
            raise OSError("the stream failed")


def _column(rows: StructArray, index: int) -> Array:
    """One column, missing where the row is; a type without missing cells stays as it is, and no declaration has it."""
    values = rows.field(index)
    without = pa.types.is_union(values.type) or pa.types.is_run_end_encoded(values.type)
    if without or not rows.null_count:
        return values
    import pyarrow.compute as pc

    return pc.struct_field(rows, [index])
