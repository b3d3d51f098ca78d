"""Construct neighbouring tables that test containers, readers, rules for missing cells, and caps on rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from discreet.audit.pairs import NeighbourPair, Table, worst_pairs
from discreet.design.design import Design

# -- containers --------------------------------------------------------------------------------------------------------
# pandas, polars and Arrow tables with one more row, in which a cell is missing or has another type.
#
# One cell may change the type that a library infers for a whole column. That must not change how other cells are read.

# builds a table from the cells of x and y
TableBuilder: TypeAlias = Callable[[list[Any], list[float]], Any]

_X: Final = [0.0, -1.0, 0.5, 0.25]
_Y: Final = [0.5, 1.0, -1.0, 0.0]


def container_pairs() -> Iterator[NeighbourPair]:
    """Yield pairs of tables for every installed table library."""
    for library, makers in (("arrow", _ARROW), ("pandas", _PANDAS), ("polars", _POLARS)):
        if library != "arrow" and find_spec(library) is None:
            continue
        for name, (cell, make) in makers.items():
            yield NeighbourPair(f"{name} in {library}", make([*_X, cell], [*_Y, 1.0]), make(_X, _Y))


def _arrow(kind: pa.DataType | None) -> TableBuilder:
    return lambda x, y: pa.table({"x": pa.array(x, kind), "y": pa.array(y)})


def _arrow_integers(x: list[Any], y: list[float]) -> Any:  # noqa: ANN401  # tables of any library
    """Build a table whose column x holds integers if all cells are whole numbers, and doubles otherwise."""
    return pa.table({"x": pa.array([int(cell) if float(cell).is_integer() else cell for cell in x]), "y": pa.array(y)})


def _arrow_levels(x: list[Any], y: list[float]) -> Any:  # noqa: ANN401  # tables of any library
    """Build a table whose column x is dictionary-encoded, so that one more cell may extend the dictionary."""
    return pa.table({"x": pa.array(x, pa.float64()).dictionary_encode(), "y": pa.array(y)})


def _pandas(kind: str | None) -> TableBuilder:
    def made(x: list[Any], y: list[float]) -> Any:  # noqa: ANN401  # tables of any library
        import pandas as pd

        return pd.DataFrame({"x": pd.Series(x, dtype=kind), "y": y})

    return made


def _polars(kind: str | None) -> TableBuilder:
    def made(x: list[Any], y: list[float]) -> Any:  # noqa: ANN401  # tables of any library
        import polars as pl

        cells = pl.Series("x", x, dtype=None if kind is None else getattr(pl, kind), strict=False)
        return pl.DataFrame({"x": cells, "y": y})

    return made


_ARROW: Final[dict[str, tuple[object, TableBuilder]]] = {
    "none": (None, _arrow(pa.float64())),
    "NaN": (math.nan, _arrow(pa.float64())),
    "1e300": (1e300, _arrow(pa.float64())),
    "none of single precision": (None, _arrow(pa.float32())),
    "an integer": (1.0, _arrow_integers),
    "none in a dictionary": (None, _arrow_levels),
    "another entry of a dictionary": (1.0, _arrow_levels),
}
_PANDAS: Final[dict[str, tuple[object, TableBuilder]]] = {
    "text among objects": ("1.0", _pandas("object")),
    "none among objects": (None, _pandas("object")),
    "a list among objects": ([1.0], _pandas("object")),
    "text in a column without a type": ("1.0", _pandas(None)),
    "none in a column without a type": (None, _pandas(None)),
    "NA of a nullable column": (None, _pandas("Float64")),
    "a category": (1.0, _pandas("category")),
    "infinity": (math.inf, _pandas("float64")),
}
_POLARS: Final[dict[str, tuple[object, TableBuilder]]] = {
    "none": (None, _polars("Float64")),
    "NaN": (math.nan, _polars("Float64")),
    "text among objects": ("1.0", _polars("Object")),
    "none among objects": (None, _polars("Object")),
    "none of single precision": (None, _polars("Float32")),
}


# -- situations --------------------------------------------------------------------------------------------------------
# Pairs that test neighbour relations, a ball, readers, missing-cell rules and row caps, each with its design.
#
# Whatever a cell holds, one unit must change a publication by no more than the noise covers. These pairs apply to every
# mechanism: rows that are replaced, dropped or outside a ball, an empty table, cells that are not numbers, positions of
# a row, boundaries of chunks, levels, and individuals.

_BOUNDS: Final = (-1, 1)
_RULES: Final[dict[str, object]] = {"drop": "drop", "fill": {"fill": 0.5}}
_ODD: Final[dict[str, object]] = {
    "1e300": 1e300, "-1e300": -1e300, "inf": math.inf, "-inf": -math.inf, "NaN": math.nan, "none": None,
    "text": "1.0", "a large integer": 10**400,
}  # fmt: skip
_PLACES: Final = {"first": 0, "in the middle": 2, "last": 4}
_CHUNK: Final = 16_384


@dataclass(frozen=True)
class Situation:
    """Pair of neighbouring tables with the design that they are released under."""

    design: Design
    pair: NeighbourPair


def situations(mechanism: str) -> tuple[Situation, ...]:
    """Return the pairs on which a mechanism is tested: its worst pairs under every design, and pairs of odd tables.

    >>> len(situations("gaussian")) > 30
    True
    """
    return (*_worst(mechanism), *reading_situations())


def relation_designs() -> dict[str, Design]:
    """Return one design for each way in which neighbouring tables can differ.

    A row is added, is replaced, is replaced by one that is dropped for a missing cell, or lies outside the ball.

    >>> [name for name, design in relation_designs().items() if design.count_public]
    ['replace']
    """
    box = {"y": _BOUNDS, "x": _BOUNDS}
    # with booleans, dropping a row changes the sums more than any replacement does
    dropped = {name: {"dtype": "bool", "missing": "drop"} for name in ("y", "b")}
    exchanged = {"neighbours": "replace"}
    return {
        "add-remove": Design("y", box),
        "replace": Design("y", box, unit=exchanged),
        "replace, rows dropped": Design("y", dropped, unit=exchanged),
        # the corner of the box lies outside the ball
        "ball": Design("y", {**box, "z": _BOUNDS}, radius=1.0),
    }


def _worst(mechanism: str) -> Iterator[Situation]:
    for kind, design in relation_designs().items():
        for pair in worst_pairs(mechanism, design):
            yield Situation(design, NeighbourPair(f"{kind}: {pair.name}", pair.table, pair.neighbour))


def reading_situations() -> Iterator[Situation]:
    """Yield the pairs that test how tables are read. They are the same for every mechanism."""
    dropping = _design("drop")
    corner = {"x": [1.0], "y": [1.0]}
    yield Situation(dropping, NeighbourPair("one row or none", corner, {"x": [], "y": []}))
    for rule in _RULES:
        for name, cell in _ODD.items():
            yield Situation(_design(rule), _added(f"{name} under {rule}", _four_rows(), {"x": cell, "y": 1.0}, 4))
    for column in ("x", "y"):
        beyond: dict[str, object] = {"x": 1.0, "y": 1.0, column: 3.0}
        yield Situation(dropping, _added(f"{column} beyond its bounds", _four_rows(), beyond, 4))
    small: dict[str, list[object]] = {"x": [0.1] * 50, "y": [0.1] * 50}
    yield Situation(dropping, _added("row larger than all others", small, {"x": 1.0, "y": 1.0}, 50))
    for name, index in _PLACES.items():
        yield Situation(dropping, _added(f"row {name}", _four_rows(), {"x": 1.0, "y": 1.0}, index))
    for rows in (_CHUNK - 1, _CHUNK, _CHUNK + 1):
        zeros = {"x": [0.0] * rows, "y": [0.0] * rows}
        yield Situation(dropping, _added(f"row after {rows:,}", zeros, {"x": 1.0, "y": 1.0}, rows))
    arrays: dict[str, object] = {name: np.array(cells, dtype=object) for name, cells in _four_rows().items()}
    odd = {
        name: np.array([*cells, cell], dtype=object)
        for (name, cells), cell in zip(_four_rows().items(), (None, 1.0), strict=True)
    }
    yield Situation(dropping, NeighbourPair("none in an array of objects", odd, arrays))  # type: ignore[arg-type]
    for pair in container_pairs():
        yield Situation(dropping, pair)
    levels = Design("y", {"y": _BOUNDS, "g": {"levels": ["a", "b", "c"], "missing": "drop"}})
    rows_of_levels: dict[str, list[object]] = {"g": ["a", "b", "a"], "y": [0.0, 1.0, -1.0]}
    for level in ("c", "unknown", None):
        yield Situation(levels, _added(f"level {level}", rows_of_levels, {"g": level, "y": 1.0}, 3))
    yield from _persons()


def _persons() -> Iterator[Situation]:
    """Yield pairs that differ in an individual at or above the cap on rows, or in a row without an id."""
    design = _design("drop", unit={"id": "who", "max_rows": 2})
    others: dict[str, list[object]] = {"x": [0.0, 0.5], "y": [0.0, 0.5], "who": ["a", "b"]}
    for rows in (1, 2, 3):
        added = {
            name: [*cells, *[cell] * rows] for (name, cells), cell in zip(others.items(), (1.0, 1.0, "c"), strict=True)
        }
        yield Situation(design, NeighbourPair(f"person of {rows} rows, 2 count", added, others))
    # several individuals above the cap; a new individual must not affect which of their rows are included
    corners = [(x, y, who) for y in (1.0, -1.0) for x in (-1.0, 1.0) for who in "abdefg"]
    crowded: dict[str, list[object]] = {
        "x": [x for x, _, _ in corners], "y": [y for _, y, _ in corners], "who": [who for _, _, who in corners],
    }  # fmt: skip
    for name, index in (("first", 0), ("last", len(corners))):
        row: dict[str, object] = {"x": 1.0, "y": 1.0, "who": "c"}
        yield Situation(design, _added(f"person {name} beside others above the cap", crowded, row, index))
    yield Situation(design, _added("row without a person", others, {"x": 1.0, "y": 1.0, "who": None}, 2))


def _design(rule: str, **more: object) -> Design:
    columns = {name: {"bounds": _BOUNDS, "missing": _RULES[rule]} for name in ("y", "x")}
    return Design("y", columns, **more)  # type: ignore[arg-type]


def _four_rows() -> dict[str, list[object]]:
    return {"x": [0.0, -1.0, 0.5, 0.25], "y": [0.5, 1.0, -1.0, 0.0]}


def _added(name: str, table: Table, row: dict[str, object], index: int) -> NeighbourPair:
    """Return the pair of a table with an inserted row and the same table without it."""
    extended = {column: [*cells[:index], row[column], *cells[index:]] for column, cells in table.items()}
    return NeighbourPair(name, extended, table)
