"""Convert in-memory tables of any library to Arrow batches, by column name."""

from __future__ import annotations

import ctypes
import sys
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set, Sized
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.design.columns import Numeric, Readable
from discreet.errors import DataError, SpecError
from discreet.tables.arrow import check_buffers, combined
from discreet.tables.cells import cell_array, days_of, ends_program, text_array

if TYPE_CHECKING:
    from pyarrow import Array, RecordBatch, StructArray

# -- streams -----------------------------------------------------------------------------------------------------------
# An Arrow C stream of struct arrays is a table, and a null entry is a row of missing cells. pyarrow reads such a stream
# either as record batches, which cannot hold null entries, or all at once, in memory that grows with the table. We
# therefore import its arrays one by one.

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
    """Record batches of an object with `__arrow_c_stream__` or `__arrow_c_array__` whose entries are rows.

    The constructor and `next_batch` may raise any exception of the library behind the object.

    >>> stream = TableStream(pa.chunked_array([[{"x": 1.0, "y": 2.0}, None]]))
    >>> stream.names, stream.next_batch(["y"]).to_pydict(), stream.next_batch(["y"])
    (['x', 'y'], {'y': [2.0, None]}, None)
    """

    def __init__(self, data: Any) -> None:  # noqa: ANN401  # an object of any library
        if not hasattr(data, "__arrow_c_stream__"):
            data = pa.chunked_array([pa.array(data)])
        # the capsule owns the stream and releases it
        self._capsule = data.__arrow_c_stream__()
        self._stream = _CStream.from_address(_POINTER(self._capsule, b"arrow_array_stream"))
        schema = _CSchema()
        self._fill(self._stream.get_schema, schema)
        self._type = pa.DataType._import_from_c(ctypes.addressof(schema))
        if not pa.types.is_struct(self._type):
            raise TypeError("the entries of the stream are not rows")

    @property
    def names(self) -> list[str]:
        """Names of all columns, with repetitions."""
        return [self._type.field(index).name for index in range(self._type.num_fields)]

    def empty_batch(self, names: Sequence[str]) -> RecordBatch:
        """Return a batch without rows that has the types of the named columns."""
        return pa.record_batch([pa.nulls(0, self._type.field(name).type) for name in names], names=list(names))

    def next_batch(self, names: Sequence[str]) -> RecordBatch | None:
        """Return the named columns of the next rows, or None at the end."""
        array = _CArray()
        self._fill(self._stream.get_next, array)
        if not array.release:
            return None
        rows = pa.Array._import_from_c(ctypes.addressof(array), self._type)
        columns = [_column(rows, self._type.get_field_index(name)) for name in names]
        # the extra column preserves the number of rows if no columns are named
        return pa.record_batch([*columns, pa.nulls(len(rows))], names=[*names, ""]).select(range(len(names)))

    def _fill(self, call: Any, answer: ctypes.Structure) -> None:  # noqa: ANN401  # a function of the stream
        if call(ctypes.addressof(self._stream), ctypes.addressof(answer)):
            raise OSError("the stream failed")


def _column(rows: StructArray, index: int) -> Array:
    """Return a column with null where the row is null, unless its type cannot hold nulls."""
    values = rows.field(index)
    without = pa.types.is_union(values.type) or pa.types.is_run_end_encoded(values.type)
    if without or not rows.null_count:
        return values
    import pyarrow.compute as pc

    return pc.struct_field(rows, [index])


# -- frames ------------------------------------------------------------------------------------------------------------
# Exceptions of other libraries may quote cells. Errors are therefore raised outside the `except` blocks, so that the
# original exception is not chained.
_DUCKDB: Final = frozenset(("duckdb", "_duckdb"))
_LASTING: Final = frozenset(("pandas", "polars", "pyarrow")) | _DUCKDB
_TYPED: Final = ("__array__", "__array_interface__", "__array_struct__")
_IN_USE: Final = "ResourceInUseException"  # of DuckDB
_BUSY: Final = (
    "the DuckDB connection of the relation has another unfinished result; read that result to its end, or create the "
    "relation with con.cursor().sql(...)"
)
_NO_COLUMNS: Final = "the table cannot be converted to Arrow columns; check the query or object behind the table"
_UNREADABLE: Final = "the table could not be read to its end; check the query or file behind the table"
Origin: TypeAlias = Literal["query", "stream", "quoted", "spark"]
AnyArray: TypeAlias = npt.NDArray[Any]  # element types are checked later, against the declaration


def is_frame(data: object) -> bool:
    """Return whether `frame_batches` can read this object."""
    return isinstance(data, Mapping | np.ndarray) or any(
        hasattr(data, mark) for mark in ("__arrow_c_stream__", "__arrow_c_array__")
    )


def reads_once(data: object) -> bool:
    """Return whether an object can be read only once, which is assumed for streams of unknown libraries."""
    if isinstance(data, pa.RecordBatchReader):
        return True
    rereadable = type(data).__module__.partition(".")[0] in _LASTING
    return hasattr(data, "__arrow_c_stream__") and not (rereadable or isinstance(data, Mapping | np.ndarray))


def origin(data: object) -> Origin | None:
    """Return `query` for rows that a query may compute, `stream` for a stream, or None for a stored table.

    >>> origin({"x": [1.0]}), origin(pa.table({"x": [1.0]}).to_reader())
    (None, 'stream')
    """
    if type(data).__module__.partition(".")[0] in _DUCKDB:
        try:
            kind = getattr(data, "type", None)
        except Exception:
            # the connection is closed; the error is reported when the relation is read
            kind = None
        # only this type is a scan of a stored table; other types may compute anything
        return None if kind == "TABLE_RELATION" else "query"
    return "stream" if reads_once(data) else None


def frame_batches(data: object, columns: Mapping[str, Readable], batch_rows: int) -> Iterator[RecordBatch]:
    """Yield the declared columns of an in-memory table as record batches, with as little copying as possible.

    Accepted are objects with an Arrow C stream (pandas, polars, pyarrow, DuckDB relations), Arrow arrays of structs in
    which a null entry is a row of missing cells, mappings of names to one-dimensional arrays, structured arrays, and
    two-dimensional arrays with their columns in the order of `columns`. A table without rows yields an empty batch, so
    that types are always checked. Undeclared columns may hold anything.

    >>> from discreet.design.columns import Numeric
    >>> [batch.num_rows for batch in frame_batches({"x": [1.0, 2.0, 3.0]}, {"x": Numeric((0, 1))}, 2)]
    [2, 1]
    """
    names = list(columns)
    if isinstance(data, np.ndarray):
        data = _array_columns(data, names)
    elif is_from(data, "pandas", "DataFrame"):
        data = _pandas_columns(data, names)
    elif is_from(data, "polars", "DataFrame"):
        data = _polars_columns(data, names)
    if isinstance(data, Mapping):
        check_names(names, list(data))
        yield from _column_batches(_taken(data, names), columns, batch_rows)
        return
    stream = _opened(data)
    check_names(names, stream.names)
    has_rows = False
    while (batch := _next(stream, names)) is not None:
        for start in range(0, batch.num_rows, batch_rows):
            has_rows = True
            yield batch.slice(start, batch_rows)
    if not has_rows:
        yield stream.empty_batch(names)


def position_notice(data: object, names: Sequence[str]) -> str | None:
    """Return a notice that an array without column names is read by position, or None for a table with names.

    An array with the wrong number of columns is rejected.

    >>> print(str(position_notice(np.zeros((3, 2)), ["y", "age"])).partition(". ")[0])
    the array has no column names and is read by position: column 0 as 'y', column 1 as 'age'
    """
    if not isinstance(data, np.ndarray) or data.dtype.names is not None:
        return None
    _check_width(data, names)
    read = ", ".join(f"column {position} as {name!r}" for position, name in enumerate(names))
    how = "Tables with column names (pandas, polars, pyarrow, a dict of columns) are read by name, in any column order"
    return f"the array has no column names and is read by position: {read}. {how}"


def check_names(wanted: Sequence[str], found: Sequence[str]) -> None:
    """Raise DataError unless every required column occurs exactly once.

    Names in the table are quoted only if they nearly equal a required name, because in a file without a header the
    first row is read as names.
    """
    by_fold: dict[str, list[str]] = {}
    for other in found:
        by_fold.setdefault(_folded(other), []).append(other)
    for name in wanted:
        alike = by_fold.get(_folded(name), [])
        if name not in alike:
            hint = _near(name, by_fold)
            if not hint and len(wanted) > 1 and not set(wanted) & set(found):
                hint = ", nor any other required column; the first line of a CSV file must contain the column names"
            raise DataError(f"the table has no column {name!r}, which is required{hint}")
        if alike.count(name) > 1:
            raise DataError(f"the table has more than one column {name!r}; required columns must occur exactly once")
        others = [other for other in alike if other != name]
        if others:
            raise DataError(
                f"the columns {name!r} and {others[0]!r} differ only in case, blanks or Unicode form; rename one of "
                "them"
            )


def _near(name: str, folded: Collection[str]) -> str:
    """Return a hint if another column has a name similar to `name`, without quoting that column."""
    if _folded(name) in folded:
        return "; another column differs from this name only in case, blanks or Unicode form"
    near = get_close_matches(_folded(name), list(folded), n=1)
    return "; another column has a very similar name: compare the spelling" if near else ""


def _folded(name: object) -> str:
    return unicodedata.normalize("NFKC", label_text(name)).strip().casefold()


def label_text(label: object) -> str:
    """Return the label of a column as text, or an empty text if the label cannot be converted."""
    try:
        return str(label)
    except Exception:
        return ""


def is_from(data: object, library: str, kind: str) -> bool:
    """Return whether an object is an instance of a class of a library, without importing the library."""
    module = sys.modules.get(library)
    return module is not None and isinstance(data, getattr(module, kind))


def refuse_spark(data: object) -> None:
    """Reject a Spark DataFrame, because its stream needs files and its errors quote cells."""
    if is_from(data, "pyspark.sql", "DataFrame"):
        raise SpecError(
            "a Spark DataFrame can be passed only to discreet.release; otherwise write the declared columns as "
            "Parquet, and pass the path"
        )


def _opened(data: object) -> TableStream:
    refuse_spark(data)
    try:
        return TableStream(data)
    except Exception as error:
        problem = DataError(_BUSY if type(error).__name__ == _IN_USE else _NO_COLUMNS)
    raise problem


def _next(stream: TableStream, names: Sequence[str]) -> RecordBatch | None:
    try:
        batch = stream.next_batch(names)
    except Exception:
        problem = DataError(_UNREADABLE)
    else:
        return None if batch is None else _checked(batch)
    raise problem


def _checked(batch: RecordBatch) -> RecordBatch:
    """Raise DataError for offsets outside their buffers, which would otherwise fail later with another exception."""
    try:
        check_buffers(batch)
    except Exception:
        problem = DataError(_UNREADABLE)
    else:
        return batch
    raise problem


def _array_columns(data: AnyArray, names: Sequence[str]) -> Mapping[str, AnyArray]:
    if not isinstance(data, np.ma.MaskedArray):
        data = np.asarray(data)
    if data.dtype.names is not None:
        check_names(names, data.dtype.names)
        return {name: data[name] for name in names}
    _check_width(data, names)
    return {name: data[:, position] for position, name in enumerate(names)}


def _check_width(data: AnyArray, names: Sequence[str]) -> None:
    if data.ndim != 2 or data.shape[1] != len(names):
        shape = (
            f"an array with {data.ndim} dimension{'' if data.ndim == 1 else 's'}"
            if data.ndim != 2
            else f"{data.shape[1]} columns"
        )
        raise SpecError(
            f"expected an array with two dimensions and {len(names)} columns, in this order: "
            f"{', '.join(map(repr, names))}; got {shape}. To match columns by name instead, "
            "pass a table with column names"
        )


def _taken(data: Mapping[str, object], names: Sequence[str]) -> dict[str, object]:
    try:
        return {name: data[name] for name in names}
    except Exception:
        problem = DataError(_UNREADABLE)
    raise problem


def _pandas_columns(data: Any, names: Sequence[str]) -> Mapping[str, object]:  # noqa: ANN401  # pandas has no types here
    labels = [label_text(label) for label in data.columns]
    check_names(names, labels)
    return {name: data.iloc[:, labels.index(name)] for name in names}


def _polars_columns(data: Any, names: Sequence[str]) -> object:  # noqa: ANN401  # polars is not imported for its types
    check_names(names, data.columns)
    # leaves out undeclared columns, which Arrow may not be able to hold
    wanted = data[names]
    return {name: wanted[name] for name in names} if any(map(_is_polars_only, wanted.dtypes)) else wanted


def _is_polars_only(kind: object) -> bool:
    """Return whether a polars type has no Arrow equivalent."""
    return str(kind) in ("Object", "Int128", "UInt128")


def _column_batches(
    data: Mapping[str, object], columns: Mapping[str, Readable], batch_rows: int
) -> Iterator[RecordBatch]:
    """Convert columns slice by slice, so that the table is never copied as a whole."""
    ready = {name: _plain(name, columns[name], values) for name, values in data.items()}
    lengths = {len(values) for values in ready.values()}
    if len(lengths) > 1:
        raise DataError("the columns of the table must have equal lengths, with a cell in every column for each row")
    for start in range(0, max(1, *lengths) if lengths else 0, batch_rows):
        rows = slice(start, start + batch_rows)
        arrays = [_arrow(name, values[rows]) for name, values in ready.items()]
        yield _checked(pa.record_batch(arrays, names=list(ready)))


def _plain(name: str, column: Readable, values: Any) -> AnyArray | Array:  # noqa: ANN401  # any kind of column
    """Return arrays of a fixed NumPy type unchanged, and convert anything else to Arrow."""
    if is_from(values, "pandas", "Index"):
        # converting objects to a series would infer a type from the cells
        values = values.to_numpy() if values.dtype == object else values.to_series()
    if is_from(values, "pandas.api.extensions", "ExtensionArray"):
        values = sys.modules["pandas"].Series(values, dtype=values.dtype)
    if is_from(values, "pandas", "Series"):
        values = _series_values(values)
    if is_from(values, "polars", "Series") and _is_polars_only(values.dtype):
        values = values.to_list()
    if getattr(getattr(values, "dtype", None), "storage", None) == "python":
        # pandas text stored as Python objects; Arrow would reject the whole column because of one cell
        return text_array(list(values), marks=column.missing == "mark")
    if is_from(values, "xarray", "DataArray"):
        # the Arrow stream of a DataArray is a table, not a column
        values = own_array(f"column {name!r}", values)
    if any(hasattr(values, mark) for mark in ("__arrow_array__", "__arrow_c_array__", "__arrow_c_stream__")):
        return _arrow(name, values)
    if has_own_type(values):
        values = own_array(f"column {name!r}", values)
        if values.ndim != 1:
            raise DataError(f"column {name!r} must be one-dimensional, with one value for each row")
        if values.dtype.kind == "c":
            raise DataError(f"column {name!r} must contain real numbers, but contains complex numbers")
        if values.dtype.kind in "UT":
            # the array type is public, and text is never read as a number
            return text_array(values.tolist())
        if values.dtype.kind == "M" and isinstance(column, Numeric) and column.is_date:
            # Arrow does not have all time units of NumPy
            mask = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else False
            return days_of(np.where(mask, np.datetime64("NaT"), np.asarray(values))).cast(pa.date32())
        if values.dtype.kind != "O":
            return values
        values = values.tolist()
    return cell_array(column, cells_of(f"column {name!r}", values))


def has_own_type(values: object) -> bool:
    """Return whether a container, such as one of xarray, PyTorch or JAX, converts to an array of a fixed type.

    >>> has_own_type(np.zeros(2)), has_own_type(memoryview(b"ab")), has_own_type([0.5])
    (True, True, False)
    """
    return not isinstance(values, list | tuple) and (
        isinstance(values, memoryview) or any(hasattr(values, mark) for mark in _TYPED)
    )


def own_array(what: str, values: object) -> AnyArray:
    """Convert a container with a fixed type to an array, without quoting errors of its library."""
    if isinstance(values, np.ma.MaskedArray):
        return values
    try:
        return np.asarray(values)
    except Exception:
        problem = DataError(f"{what}: expected an array or a table, got an unreadable {type(values).__name__}")
    raise problem


def cells_of(what: str, values: Any) -> list[object]:  # noqa: ANN401  # as above
    """Return the entries of an ordered and sized container of objects."""
    if not is_list(values):
        raise DataError(f"{what}: expected a list or an array, got {type(values).__name__}")
    try:
        return list(values)
    except Exception:
        problem = DataError(f"{what}: expected a list or an array, got an unreadable {type(values).__name__}")
    raise problem


def is_list(values: object) -> bool:
    """Return whether a container of objects is ordered and sized."""
    unordered = isinstance(values, str | bytes | Mapping | Set)
    return not unordered and isinstance(values, Sized) and isinstance(values, Iterable)


def _series_values(values: Any) -> Any:  # noqa: ANN401  # pandas has no types here
    if hasattr(values, "sparse"):
        return np.asarray(values)
    if hasattr(values, "cat") and type(values.dtype).__name__ == "CategoricalDtype":
        # converted cell by cell, because the categories and their type may depend on rows, and because pandas does not
        # check for codes beyond the categories
        entries = dict(enumerate(values.cat.categories.astype(object)))
        return [entries.get(code) for code in values.cat.codes.tolist()]
    return values.to_numpy() if isinstance(values.dtype, np.dtype) else values


def _arrow(name: str, values: Any) -> Array:  # noqa: ANN401  # as above
    try:
        if isinstance(values, pa.Array):
            return values
        if isinstance(values, np.ndarray):
            mask = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
            plain = np.asarray(values)
            if plain.dtype.kind == "f" and plain.dtype.itemsize > 8:
                with np.errstate(over="ignore"):
                    plain = plain.astype(np.float64)
            # Arrow requires native byte order
            return pa.array(plain.astype(plain.dtype.newbyteorder("="), copy=False), mask=mask)
        if hasattr(values, "__arrow_c_stream__") and not hasattr(values, "__arrow_array__"):
            # `pa.array` would infer a type from the cells
            return combined(pa.chunked_array(values))
        array = pa.array(values)
        return combined(array) if isinstance(array, pa.ChunkedArray) else array
    except Exception:
        problem = DataError(f"column {name!r} has a type that Arrow cannot read; convert the column to numbers or text")
    raise problem


# -- matrices ----------------------------------------------------------------------------------------------------------
# X and y in the style of scikit-learn are split into columns, so that no cell changes how another is read. NumPy would
# infer one type from all cells of a list. Therefore only a container with a fixed type is converted to an array, and
# the cells of a list are read one by one.

_ONE_TARGET: Final = "pass a single target, with one number for each row"


def table_names(X: Any) -> list[str]:  # noqa: ANN401  # tables of any library
    """Return the column names of a table, or an empty list for an array or a table with numbered columns."""
    if not hasattr(X, "__arrow_c_stream__"):
        return []
    names = X.schema.names if isinstance(X, pa.Table | pa.RecordBatch) else getattr(X, "columns", ())
    return list(names) if any(isinstance(name, str) for name in names) else []


def matrix_columns(X: Any, width: int = 0) -> list[Any]:  # noqa: ANN401  # as above
    """Split a two-dimensional container into columns of a table, columns of an array, or lists of cells.

    A list without rows has `width` columns, and is an error if `width` is 0. Rows of different lengths are an error
    under every rule for missing cells, as in a CSV file.

    >>> matrix_columns([[1.0, "n/a"], [2.0, 5]])
    [[1.0, 2.0], ['n/a', 5]]
    """
    refuse_spark(X)
    if is_from(X, "pandas", "DataFrame"):
        return [X.iloc[:, position] for position in range(X.shape[1])]
    if isinstance(X, pa.Table | pa.RecordBatch):
        # by position, because two columns may have the same name
        return list(X.columns)
    if names := table_names(X):
        return [X[name] for name in names]
    if is_from(X, "polars", "Series"):
        # the array type of a series of structs or lists would depend on missing entries
        raise _other_dimensions(1, "Series")
    rows = _own_array("X", X)
    if rows is None and is_list(X):
        return _columns_of_rows(cells_of("X", X), type(X).__name__, width)
    if rows is None or rows.ndim != 2:
        raise _other_dimensions(0 if rows is None else rows.ndim, type(X).__name__)
    return [rows[:, position] for position in range(rows.shape[1])]


def target_column(y: Any) -> tuple[Any, bool]:  # noqa: ANN401  # as above
    """Return the column of a target, and whether its container has two dimensions.

    An entry of a list is a cell or a list of one cell. Each entry is examined separately.

    >>> target_column([1.0, [2.0], "n/a"])
    ([1.0, 2.0, 'n/a'], False)
    """
    if is_from(y, "pandas", "DataFrame") or table_names(y):
        return _only_column(matrix_columns(y)), True
    if hasattr(y, "to_numpy") and len(getattr(y, "shape", (0,))) == 1:
        return y, False
    values = _own_array("y", y)
    if values is None and is_list(y):
        return [_only_cell(entry) for entry in cells_of("y", y)], False
    if values is None or values.ndim not in (1, 2):
        raise SpecError(f"y must have 1 dimension, got {0 if values is None else values.ndim}; {_ONE_TARGET}")
    return (values, False) if values.ndim == 1 else (_only_column(matrix_columns(values)), True)


def _own_array(name: str, values: Any) -> AnyArray | None:  # noqa: ANN401  # as above
    """Convert a container with a fixed type to an array. Return None for lists and other containers of objects."""
    if not has_own_type(values):
        return None
    array = own_array(name, values)
    if array.dtype.kind == "c":
        # decided by the array type; scikit-learn checks the first words of this message
        raise SpecError(f"Complex data not supported: {name} must be an array of real numbers")
    return array


def _columns_of_rows(rows: Sequence[object], kind: str, width: int) -> list[list[object]]:
    if not rows and width:
        return [[] for _ in range(width)]
    first = _row(rows[0]) if rows else None
    if first is None:
        raise _other_dimensions(1, kind)
    taken: list[list[object]] = []
    for position, row in enumerate(rows):
        cells = _row(row)
        if cells is None or len(cells) != len(first):
            raise DataError(f"X[{position}] must be a list with as many cells as X[0], one for each column")
        taken.append(cells)
    return [list(column) for column in zip(*taken, strict=True)]


def _row(row: Any) -> list[object] | None:  # noqa: ANN401  # a row may be anything
    """Return the cells of a row, or None if the object is not a row."""
    try:
        kind = type(row)
        if issubclass(kind, str | bytes):
            return None
        if issubclass(kind, Sequence):
            return list(row)
        cells = row if issubclass(kind, np.ndarray) else _own_array("a row", row)
        return None if cells is None or cells.ndim != 1 else list(cells)
    except BaseException as error:
        if ends_program(error, row):
            raise
        return None


def _only_cell(entry: Any) -> object:  # noqa: ANN401  # as above
    """Return the cell of a one-cell row, and any other entry unchanged."""
    try:
        kind = type(entry)
        is_row = issubclass(kind, list | tuple) or (issubclass(kind, np.ndarray) and entry.ndim == 1)
        return entry[0] if is_row and len(entry) == 1 else entry
    except BaseException as error:
        if ends_program(error, entry):
            raise
        return entry


def _only_column(columns: Sequence[Any]) -> Any:  # noqa: ANN401  # as above
    if len(columns) != 1:
        raise SpecError(f"y must have 1 column, got {len(columns)} columns; {_ONE_TARGET}")
    return columns[0]


def _other_dimensions(dimensions: int, kind: str) -> SpecError:
    how = "Reshape your data with reshape(-1, 1) if it is one column, or reshape(1, -1) if it is one row"
    article = "an" if kind[0] in "aeiouAEIOU" else "a"
    return SpecError(f"Expected 2D array, got {dimensions}D array instead, {article} {kind}. {how}")
