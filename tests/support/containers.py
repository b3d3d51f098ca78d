"""Containers in which a user may give X and y, each made from rows or cells that are Python objects."""

from __future__ import annotations

import collections
import math
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa


def objects(cells) -> np.ndarray:
    """An array of objects, also of lists, which NumPy would take apart."""
    out = np.empty(len(cells), dtype=object)
    for index, cell in enumerate(cells):
        out[index] = cell
    return out


def object_matrix(rows) -> np.ndarray:
    return np.column_stack([objects(column) for column in zip(*rows, strict=True)])


def masked_matrix(rows) -> np.ma.MaskedArray:
    """A masked array of objects: what is None is masked, with a number under the mask."""
    mask = [[cell is None for cell in row] for row in rows]
    return np.ma.MaskedArray(
        object_matrix([[0.7 if cell is None else cell for cell in row] for row in rows]), mask=mask
    )


def object_series(cells) -> pd.Series:
    return pd.Series(objects(cells), dtype=object)


def categories(cells) -> pd.Series:
    """Categories that are objects; pandas would give them a type by their looks."""
    found = {(type(cell), cell): cell for cell in cells if not pd.isna(cell)}
    indices = list(found)
    codes = [-1 if pd.isna(cell) else indices.index((type(cell), cell)) for cell in cells]
    return pd.Series(pd.Categorical.from_codes(codes, pd.Index(objects(list(found.values())), dtype=object)))


def object_frame(rows) -> pd.DataFrame:
    return pd.DataFrame({name: object_series(cells) for name, cells in by_name(rows).items()})


def by_name(rows) -> dict[str, list[object]]:
    return {name: list(cells) for name, cells in zip("ab", zip(*rows, strict=True), strict=True)}


class Sequenced:
    """What NumPy takes for a list: it has a length and gives its entries by position."""

    def __init__(self, entries) -> None:
        self._entries = list(entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, index):
        return self._entries[index]

    def __iter__(self):
        return iter(self._entries)


class Arrayed:
    """What gives an array of its own type, and nothing else."""

    def __init__(self, values) -> None:
        self._values = values

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        return self._values


# any cell may be in these
X_OF_OBJECTS = {
    "list of lists": lambda rows: [list(row) for row in rows],
    "list of tuples": lambda rows: [tuple(row) for row in rows],
    "tuple of lists": lambda rows: tuple(list(row) for row in rows),
    "deque of lists": lambda rows: collections.deque(list(row) for row in rows),
    "another sequence": lambda rows: Sequenced(list(row) for row in rows),
    "list of arrays": lambda rows: [objects(row) for row in rows],
    "list of series": lambda rows: [object_series(row) for row in rows],
    "array": object_matrix,
    "array of another order": lambda rows: np.asfortranarray(object_matrix(rows)),
    "masked array": masked_matrix,
    "what gives an array": lambda rows: Arrayed(object_matrix(rows)),
    "pandas": object_frame,
    "pandas with numbers for names": lambda rows: object_frame(rows).set_axis([0, 1], axis=1),
    "pandas categories": lambda rows: pd.DataFrame({name: categories(cells) for name, cells in by_name(rows).items()}),
}
Y_OF_OBJECTS = {
    "list": list,
    "tuple": tuple,
    "deque": collections.deque,
    "another sequence": Sequenced,
    "list of lists": lambda cells: [[cell] for cell in cells],
    "list of tuples": lambda cells: [(cell,) for cell in cells],
    "list of arrays": lambda cells: [objects([cell]) for cell in cells],
    "array": objects,
    "masked array": lambda cells: masked_matrix([[cell] for cell in cells])[:, 0],
    "what gives an array": lambda cells: Arrayed(objects(cells)),
    "pandas": object_series,
    "pandas index": lambda cells: pd.Index(objects(cells), dtype=object),
    "pandas array": lambda cells: pd.array(objects(cells), dtype=object),
    "pandas categories": categories,
}
# an entry of these is a cell, or a row of one cell
FLAT_LISTS = ("list", "tuple", "deque", "another sequence")


def floats(cells) -> list[float]:
    return [math.nan if cell is None else float(cell) for cell in cells]


def masked(cells, kind="f8") -> np.ma.MaskedArray:
    return np.ma.MaskedArray([0.7 if cell is None else cell for cell in cells], [cell is None for cell in cells], kind)


def dictionary(cells) -> pa.DictionaryArray:
    """Entries in the order of the cells, each once; the first is used by none."""
    entries = [0.123, *dict.fromkeys(cell for cell in cells if cell is not None)]
    indices = [None if cell is None else entries.index(cell) for cell in cells]
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int8()), pa.array(entries, pa.float64()))


def in_chunks(cells) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array([cell], pa.float64()) for cell in cells])


def arrow_decimals(cells) -> pa.Array:
    kind = pa.decimal128(38, 18)
    exact = [None if cell is None or not math.isfinite(cell) else round(Decimal(cell), 18) for cell in cells]
    return pa.array(exact, kind)


# columns with a type of their own; None is a missing cell where the type has one
TYPED = {
    "float64": lambda cells: np.array(floats(cells)),
    "float32": lambda cells: np.array(floats(cells), "f4"),
    "other byte order": lambda cells: np.array(floats(cells), ">f8"),
    "longdouble": lambda cells: np.array(floats(cells), np.longdouble),
    "masked": masked,
    "masked float32": lambda cells: masked(cells, "f4"),
    "pandas float": lambda cells: pd.Series(floats(cells)),
    "pandas nullable": lambda cells: pd.Series(cells, dtype="Float64"),
    "pandas nullable float32": lambda cells: pd.Series(cells, dtype="Float32"),
    "pandas arrow": lambda cells: pd.Series(cells, dtype=pd.ArrowDtype(pa.float64())),
    "pandas sparse": lambda cells: pd.Series(floats(cells), dtype=pd.SparseDtype("float64", 0.0)),
    "pandas categories of floats": lambda cells: pd.Series(floats(cells), dtype="category"),
    "polars": lambda cells: pl.Series(cells, dtype=pl.Float64),
    "polars float32": lambda cells: pl.Series(cells, dtype=pl.Float32),
    "arrow": lambda cells: pa.array(cells, pa.float64()),
    "arrow in chunks": in_chunks,
    "arrow float32": lambda cells: pa.array(cells, pa.float32()),
    "arrow dictionary": dictionary,
    "arrow decimals": arrow_decimals,
}


def matrix_of(kind, rows):
    """Two typed columns as the X of their library."""
    columns = {name: TYPED[kind](cells) for name, cells in by_name(rows).items()}
    first = columns["a"]
    if isinstance(first, np.ndarray):
        stack = np.ma.column_stack if np.ma.isMaskedArray(first) else np.column_stack
        return stack(list(columns.values()))
    if isinstance(first, pd.Series):
        return pd.DataFrame(columns)
    return pl.DataFrame(columns) if isinstance(first, pl.Series) else pa.table(columns)
