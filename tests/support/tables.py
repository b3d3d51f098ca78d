"""Random designs and tables for the tests: corners, one-hot blocks, rows outside their bounds."""

from __future__ import annotations

import numpy as np

from discreet.design.columns import Boolean, Categorical, Numeric
from discreet.design.design import Design

# columns on which a calibration must be tight
CALIBRATED = {
    "numbers": {"x": (0, 1), "z": (-2, 2), "v": (0, 9), "y": (0, 1)},
    "boolean target": {"x": (0, 1), "z": (0, 1), "y": bool},
    "one number": {"x": (0, 1), "y": (0, 1)},
    "mixed": {"x": (0, 1), "b": bool, "g": ["a", "b", "c"], "y": (0, 1)},
}


def random_design(
    rng: np.random.Generator,
    *,
    neighbours: str = "add-remove",
    ball: bool | None = None,
    missing: object = "error",
    derived: bool = False,
) -> Design:
    """A design with one to three numeric columns, perhaps booleans, categories, a ball and a boolean target."""
    columns: dict[str, object] = {}
    for j in range(rng.integers(0, 4)):
        low = float(rng.normal() * 10.0 ** rng.integers(-2, 3))
        columns[f"x{j}"] = Numeric((low, low + float(10 ** rng.uniform(-2, 3))), missing)
    for j in range(rng.integers(0, 3)):
        columns[f"b{j}"] = Boolean(missing)
    for j in range(rng.integers(0, 3)):
        levels = tuple("abcdef"[: rng.integers(2, 6)])
        columns[f"g{j}"] = Categorical(levels, str(rng.choice(levels)), missing)
    if not columns:
        columns["x0"] = Numeric((-1.0, 1.0), missing)
    columns["y"] = Boolean(missing) if rng.random() < 0.25 else Numeric((-5.0, 7.0), missing)
    if derived and "x0" in columns:
        low, high = columns["x0"].bounds
        middle = float(low + (high - low) * rng.uniform(0.2, 0.8))
        columns["square"] = {"formula": "x0 ** 2"}
        columns["above"] = {"formula": f"x0 >= {middle!r}"}
        columns["part"] = {"formula": f"cut(x0, {middle!r})"}
        columns["curve"] = {"formula": f"spline(x0, {middle!r})"}
    if derived and "g0" in columns:
        columns["is a"] = {"formula": 'g0 == "a"'}
        for name, other in (("slope", "x0"), ("yes", "b0"), ("pair", "g1")):
            if other in columns:
                columns[name] = {"formula": f"{other}:g0"}
    radius = None
    if ball or (ball is None and rng.random() < 0.4):
        radius = float(rng.uniform(0.3, 1.0) * np.sqrt(len(columns) - 1))
    order = list(columns)
    rng.shuffle(order)
    return Design("y", {name: columns[name] for name in order}, radius=radius, unit={"neighbours": neighbours})


def random_model(rng: np.random.Generator, neighbours: str) -> Design:
    """A random design with or without an intercept."""
    design = random_design(rng, neighbours=neighbours)
    return Design("y", design.columns, radius=design.radius, unit=design.unit, intercept=bool(rng.random() < 0.5))


def random_table(design: Design, rows: int, rng: np.random.Generator) -> dict[str, list[object]]:
    """Rows with corners, values outside the bounds and interior values mixed."""
    return {name: [_cell(column, rng) for _ in range(rows)] for name, column in design.table_columns.items()}


def neighbouring_table(
    design: Design, base: dict[str, list[object]], rng: np.random.Generator, *, missing: str = "error"
) -> dict[str, list[object]]:
    """A table with one more random row, or with it in place of the first; where rows may be dropped it may be."""
    row = random_table(design, 1, rng)
    if missing == "drop" and rng.random() < 0.3:
        row[str(rng.choice(list(row)))] = [None]
    kept = slice(None) if design.unit.neighbours == "add-remove" else slice(1, None)
    return {name: [*row[name], *values[kept]] for name, values in base.items()}


def reordered(
    table: dict[str, list[object]], rng: np.random.Generator
) -> tuple[dict[str, list[object]], dict[str, int]]:
    """The rows of a table in another order, and sizes in which to read and multiply them."""
    order = rng.permutation(len(next(iter(table.values()))))
    options = {"batch_rows": int(rng.integers(1, 300)), "chunk_rows": int(rng.integers(1, 300))}
    return {name: [values[i] for i in order] for name, values in table.items()}, options


class Untouchable:
    """Data that raises as soon as anybody looks at it."""

    def __getattribute__(self, name: str) -> object:
        raise AssertionError(f"the data was touched: {name}")


def _cell(column: Numeric | Boolean | Categorical, rng: np.random.Generator) -> object:
    if isinstance(column, Numeric):
        low, high = column.bounds
        kind = rng.random()
        if kind < 0.4:
            return high if rng.random() < 0.5 else low
        if kind < 0.6:
            return float(rng.normal() * 100 * (high - low))
        return float(rng.uniform(low, high))
    if isinstance(column, Boolean):
        return bool(rng.random() < 0.5)
    return str(rng.choice(column.levels))
