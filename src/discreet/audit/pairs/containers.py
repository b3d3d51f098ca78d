"""Tables of pandas, polars and Arrow with one row more, whose cell is missing, of another kind or of another type.

One cell may change the type that a library gives to a whole column. How the other cells are read must not depend on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any, Final, TypeAlias

import pyarrow as pa

from discreet.audit.pairs.pair import NeighbourPair

# cells of x and of y to a table of a library
Made: TypeAlias = Callable[[list[Any], list[float]], Any]

_X: Final = [0.0, -1.0, 0.5, 0.25]
_Y: Final = [0.5, 1.0, -1.0, 0.0]


def container_pairs() -> Iterator[NeighbourPair]:
    """Pairs of tables of every library that is installed.

    >>> "none in arrow" in [pair.name for pair in container_pairs()]
    True
    """
    for library, makers in (("arrow", _ARROW), ("pandas", _PANDAS), ("polars", _POLARS)):
        if library != "arrow" and find_spec(library) is None:
            continue
        for name, (cell, make) in makers.items():
            yield NeighbourPair(f"{name} in {library}", make([*_X, cell], [*_Y, 1.0]), make(_X, _Y))


def _arrow(kind: pa.DataType | None) -> Made:
    return lambda x, y: pa.table({"x": pa.array(x, kind), "y": pa.array(y)})


def _arrow_integers(x: list[Any], y: list[float]) -> Any:  # noqa: ANN401  # tables of any library
    """Cells that are integers where all of them are, doubles otherwise."""
    return pa.table({"x": pa.array([int(cell) if float(cell).is_integer() else cell for cell in x]), "y": pa.array(y)})


def _arrow_levels(x: list[Any], y: list[float]) -> Any:  # noqa: ANN401  # tables of any library
    """Cells as entries of a dictionary, which one cell may make longer."""
    return pa.table({"x": pa.array(x, pa.float64()).dictionary_encode(), "y": pa.array(y)})


def _pandas(kind: str | None) -> Made:
    def made(x: list[Any], y: list[float]) -> Any:  # noqa: ANN401  # tables of any library
        import pandas as pd

        return pd.DataFrame({"x": pd.Series(x, dtype=kind), "y": y})

    return made


def _polars(kind: str | None) -> Made:
    def made(x: list[Any], y: list[float]) -> Any:  # noqa: ANN401  # tables of any library
        import polars as pl

        cells = pl.Series("x", x, dtype=None if kind is None else getattr(pl, kind), strict=False)
        return pl.DataFrame({"x": cells, "y": y})

    return made


_ARROW: Final[dict[str, tuple[object, Made]]] = {
    "none": (None, _arrow(pa.float64())),
    "NaN": (math.nan, _arrow(pa.float64())),
    "1e300": (1e300, _arrow(pa.float64())),
    "none of single precision": (None, _arrow(pa.float32())),
    "an integer": (1.0, _arrow_integers),
    "none in a dictionary": (None, _arrow_levels),
    "another entry of a dictionary": (1.0, _arrow_levels),
}
_PANDAS: Final[dict[str, tuple[object, Made]]] = {
    "text among objects": ("1.0", _pandas("object")),
    "none among objects": (None, _pandas("object")),
    "a list among objects": ([1.0], _pandas("object")),
    "text in a column without a type": ("1.0", _pandas(None)),
    "none in a column without a type": (None, _pandas(None)),
    "NA of a nullable column": (None, _pandas("Float64")),
    "a category": (1.0, _pandas("category")),
    "infinity": (math.inf, _pandas("float64")),
}
_POLARS: Final[dict[str, tuple[object, Made]]] = {
    "none": (None, _polars("Float64")),
    "NaN": (math.nan, _polars("Float64")),
    "text among objects": ("1.0", _polars("Object")),
    "none among objects": (None, _polars("Object")),
    "none of single precision": (None, _polars("Float32")),
}
