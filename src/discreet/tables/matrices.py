"""X and y as users of scikit-learn give them, taken apart into columns: no cell changes how another is read.

NumPy would look at every cell of a list to choose one type for all of them. So only a container with a type of its own
becomes an array. A list is taken apart into cells, which `discreet.tables.frames` reads one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from discreet.errors import DataError, SpecError
from discreet.tables.cells import ends_program
from discreet.tables.frames import AnyArray, cells_of, has_own_type, is_from, is_list, own_array, refuse_spark

_ONE_TARGET: Final = "one target is fitted at a time: give one number for each row"


def table_names(X: Any) -> list[str]:  # noqa: ANN401  # tables of any library
    """Names of the columns of a table; none for an array, or for a table whose columns are only numbered.

    >>> table_names(pa.table({"age": [30.0]})), table_names([[30.0]])
    (['age'], [])
    """
    if not hasattr(X, "__arrow_c_stream__"):
        return []
    names = X.schema.names if isinstance(X, pa.Table | pa.RecordBatch) else getattr(X, "columns", ())
    return list(names) if any(isinstance(name, str) for name in names) else []


def matrix_columns(X: Any, width: int = 0) -> list[Any]:  # noqa: ANN401  # as above
    """Columns of a container with two dimensions: of a table, slices of an array, or lists of cells.

    A list without rows does not say how many columns it has: `width`, or it is refused where that is not known.

    Rows of different lengths in a list are a fault of structure, like a line of a CSV file with more or fewer cells
    than the header: they are refused by their position, whatever the rule for missing cells.

    >>> matrix_columns([[1.0, "n/a"], [2.0, 5]])
    [[1.0, 2.0], ['n/a', 5]]
    """
    refuse_spark(X)
    if is_from(X, "pandas", "DataFrame"):
        return [X.iloc[:, position] for position in range(X.shape[1])]
    if isinstance(X, pa.Table | pa.RecordBatch):
        # by position, since two columns may have one name
        return list(X.columns)
    if names := table_names(X):
        return [X[name] for name in names]
    if is_from(X, "polars", "Series"):
        # an array of structs or lists would get its type from missing entries
        raise _other_dimensions(1, "Series")
    rows = _own_array("X", X)
    if rows is None and is_list(X):
        return _columns_of_rows(cells_of("X", X), type(X).__name__, width)
    if rows is None or rows.ndim != 2:
        raise _other_dimensions(0 if rows is None else rows.ndim, type(X).__name__)
    return [rows[:, position] for position in range(rows.shape[1])]


def target_column(y: Any) -> tuple[Any, bool]:  # noqa: ANN401  # as above
    """The column of a target, and whether its container has two dimensions.

    An entry of a list is a cell, or a list of one cell as in a list of shape (n, 1); each is looked at by itself.

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
        raise SpecError(f"y has {0 if values is None else values.ndim} dimensions; {_ONE_TARGET}")
    return (values, False) if values.ndim == 1 else (_only_column(matrix_columns(values)), True)


def _own_array(name: str, values: Any) -> AnyArray | None:  # noqa: ANN401  # as above
    """The array behind a container that has a type of its own; none for lists and other containers of objects."""
    if not has_own_type(values):
        return None
    found = own_array(name, values)
    if found.dtype.kind == "c":
        # by its type, in the words that scikit-learn's checks look for
        raise SpecError(f"Complex data not supported: {name} is an array of complex numbers; give real ones")
    return found


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
            raise DataError(
                f"X[{position}] has more or fewer cells than X[0], or is not a list of cells; "
                "give every row one cell for each column"
            )
        taken.append(cells)
    return [list(column) for column in zip(*taken, strict=True)]


def _row(row: Any) -> list[object] | None:  # noqa: ANN401  # a row may be anything
    """The cells of a row; none if it is no row."""
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
    """The cell of an entry that is a row of one cell; any other entry is a cell itself."""
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
        raise SpecError(f"y has 2 dimensions and {len(columns)} columns; {_ONE_TARGET}")
    return columns[0]


def _other_dimensions(dimensions: int, kind: str) -> SpecError:
    how = "Reshape your data with reshape(-1, 1) if it is one column, or reshape(1, -1) if it is one row"
    article = "an" if kind[0] in "aeiouAEIOU" else "a"
    return SpecError(f"Expected 2D array, got {dimensions}D array instead, {article} {kind}. {how}")
