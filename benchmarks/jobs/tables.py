"""Seeded tables of the benchmarks in memory, as Parquet and as CSV, and their designs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

GROUP = 100_000  # rows in a row group
TARGET = (-8, 8)


def groups(rows: int, columns: int) -> Iterator[pa.Table]:
    """Yield groups of rows: every second column rounded to two digits, the rest and the target full doubles."""
    rng = np.random.default_rng(1)
    beta = np.linspace(-1, 1, columns) / np.sqrt(max(1.0, columns / 20))
    for start in range(0, rows, GROUP):
        X = rng.uniform(-1, 1, (columns, min(GROUP, rows - start)))
        X[::2] = X[::2].round(2)
        y = beta @ X + rng.normal(0, 0.5, X.shape[1])
        yield pa.table([*X, y], names=names(columns))


def names(columns: int) -> list[str]:
    """Return the names of the columns, target last."""
    return [*(f"x{index}" for index in range(columns)), "y"]


def parquet(path: str, rows: int, columns: int) -> None:
    """Write Parquet with Snappy. Only rounded columns have dictionaries, which slow down other doubles."""
    schema = pa.schema([(name, pa.float64()) for name in names(columns)])
    rounded = names(columns)[:-1:2]
    with pq.ParquetWriter(path, schema, compression="snappy", use_dictionary=rounded) as writer:
        for group in groups(rows, columns):
            writer.write_table(group, row_group_size=GROUP)


def copies(path: str, one: str, times: int) -> None:
    """Write a folder of copies of a file. Links would be refused, because no row may be included twice."""
    folder = Path(path)
    folder.mkdir()
    for index in range(times):
        shutil.copyfile(one, folder / f"part-{index:03d}.parquet")


def csv(path: str, rows: int, columns: int) -> None:
    """Write the same rows as CSV."""
    schema = pa.schema([(name, pa.float64()) for name in names(columns)])
    with arrow_csv.CSVWriter(path, schema) as writer:
        for group in groups(rows, columns):
            writer.write_table(group)


def design(path: str, columns: int) -> None:
    """Write the design file of a table."""
    lines = ['target = "y"', "[columns]", f"y = {{bounds = {list(TARGET)}}}"]
    Path(path).write_text("\n".join([*lines, *(f"{name} = {{bounds = [-1, 1]}}" for name in names(columns)[:-1])]))


def declared(columns: int) -> dict[str, object]:
    """Return the declared columns of a table."""
    return {"y": TARGET, **dict.fromkeys(names(columns)[:-1], (-1, 1))}


def in_memory(rows: int, columns: int) -> dict[str, np.ndarray]:
    """Return the rows in memory, column by column."""
    rng = np.random.default_rng(1)
    block = rng.uniform(-1, 1, (columns + 1, rows))
    return dict(zip(names(columns), block, strict=True))


def mixed(path: str, rows: int) -> None:
    """Write numbers, some missing or out of bounds, a boolean and a category, as CSV or Parquet by the file name."""
    rng = np.random.default_rng(1)
    numbers = {name: rng.normal(size=rows).round(4) for name in MIXED}
    numbers["x0"][rng.random(rows) < 0.01] = np.nan
    table = pa.table({
        "y": rng.normal(size=rows).round(4),
        **{name: pa.array(values, from_pandas=True) for name, values in numbers.items()},
        "b": rng.random(rows) < 0.5,
        "g": rng.choice(["a", "b", "c"], rows),
    })  # fmt: skip
    if path.endswith(".csv"):
        arrow_csv.write_csv(table, path)
    else:
        pq.write_table(table, path)


MIXED = {f"x{index}": {"bounds": (-2, 2), "missing": "drop"} for index in range(6)}
MIXED_COLUMNS = {"y": (-4, 4), **MIXED, "b": bool, "g": ["a", "b", "c"]}
PERSONS_COLUMNS = {"x": (0, 1), "z": (-1, 1), "b": bool, "y": (0, 10)}


def of_persons(rows: int, persons: int) -> pa.Table:
    """Return rows of random individuals."""
    rng = np.random.default_rng(1)
    return pa.table({
        "person": rng.integers(0, persons, rows),
        "x": rng.random(rows),
        "z": rng.uniform(-1, 1, rows),
        "b": rng.random(rows) < 0.5,
        "y": rng.uniform(0, 10, rows),
    })  # fmt: skip


def of_levels(rows: int, levels: int) -> tuple[pa.Table, dict[str, object]]:
    """Return two numbers and a category with the given number of levels, and the declared columns."""
    rng = np.random.default_rng(1)
    known = [f"level {index}" for index in range(levels)]
    codes = pa.array(rng.integers(0, levels, rows).astype(np.int32))
    table = pa.table({
        "y": rng.uniform(-1, 1, rows),
        "x": rng.uniform(-1, 1, rows),
        "g": pa.DictionaryArray.from_arrays(codes, pa.array(known)),
    })  # fmt: skip
    return table, {"y": (-1, 1), "x": (-1, 1), "g": known}
