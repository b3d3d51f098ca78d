"""A table with planted markers, in every container and file that can be released."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.csv as arrow_csv
import pyarrow.feather
import pyarrow.parquet

from discreet.design.columns import Categorical, Numeric
from discreet.design.design import Design
from discreet.privacy.budget import PrivacyUnit
from support.markers import BOUNDS, DROPPED, LEVEL, PERSON, REMARK, ROWS, VALUE

AT = 700  # where the planted row stands: in the third batch of 256


def design(*, missing: str = "drop", persons: bool = False, bounds: str | None = None) -> Design:
    """The declaration, without any marker in it; of both numbers the bounds may be private."""
    unit = PrivacyUnit(id="person", max_rows=2) if persons else PrivacyUnit()
    return Design(
        "income",
        {
            "income": {"bounds": bounds or BOUNDS, "missing": missing},
            "age": {"bounds": bounds or (18, 90), "missing": missing},
            "region": Categorical(["north", "south"], missing=missing),
        },
        unit=unit,
    )


NUMBERS = Design("income", {"income": Numeric(BOUNDS, missing="drop"), "age": Numeric((18, 90), missing="drop")})


def columns() -> dict[str, list[object]]:
    """All rows: the first ones are dropped for their region, one holds the planted value."""
    rng = np.random.default_rng(11)
    age = np.floor(rng.uniform(18, 90, ROWS))
    income = np.round(9_000 * age + rng.normal(0, 20_000, ROWS), 1)
    income = np.clip(income, 1_000.5, 999_000.5)
    region = np.where(rng.uniform(size=ROWS) < 0.4, "north", "south")
    income[AT], region = VALUE, [LEVEL if i < DROPPED else str(one) for i, one in enumerate(region)]
    person = [f"p{i // 2}" for i in range(ROWS)]
    person[AT] = PERSON
    return {
        "income": income.tolist(),
        "age": age.tolist(),
        "region": region,
        "person": person,
        "remark": [REMARK] * ROWS,
    }


def arrow() -> pa.Table:
    return pa.table(columns())


def _csv(folder: Path) -> str:
    arrow_csv.write_csv(arrow(), folder / "people.csv")
    return str(folder / "people.csv")


def _parquet(folder: Path) -> str:
    pa.parquet.write_table(arrow(), folder / "people.parquet")
    return str(folder / "people.parquet")


def _parquet_folder(folder: Path) -> str:
    parts = folder / "parts"
    parts.mkdir()
    for index, start in enumerate((0, 600)):
        pa.parquet.write_table(arrow().slice(start, 600 if start == 0 else None), parts / f"{index}.parquet")
    return str(parts)


def _csv_pattern(folder: Path) -> str:
    for index, start in enumerate((0, 600)):
        arrow_csv.write_csv(arrow().slice(start, 600 if start == 0 else None), folder / f"part-{index}.csv")
    return str(folder / "part-*.csv")


def _feather(folder: Path) -> str:
    pa.feather.write_feather(arrow(), str(folder / "people.feather"), compression="uncompressed")
    return str(folder / "people.feather")


def _ipc(folder: Path) -> str:
    with pa.OSFile(str(folder / "people.arrow"), "wb") as sink, pa.ipc.new_file(sink, arrow().schema) as writer:
        writer.write_table(arrow())
    return str(folder / "people.arrow")


def _relation(folder: Path) -> duckdb.DuckDBPyRelation:
    con = duckdb.connect()
    people = arrow()
    con.execute("CREATE TABLE people AS SELECT * FROM people")
    del people
    return con.table("people")


def _query(folder: Path) -> duckdb.DuckDBPyRelation:
    con = duckdb.connect()
    people = arrow()
    con.execute("CREATE TABLE people AS SELECT * FROM people")
    del people
    return con.sql("SELECT * FROM people WHERE age >= 18")


def _database(folder: Path) -> duckdb.DuckDBPyRelation:
    con = duckdb.connect(str(folder / "people.duckdb"))
    people = arrow()
    con.execute("CREATE TABLE people AS SELECT * FROM people")
    del people
    return con.table("people")


# each from a folder to what `release` takes
SOURCES = {
    "mapping of lists": lambda folder: columns(),
    "mapping of arrays": lambda folder: {name: np.array(cells) for name, cells in columns().items()},
    "mapping of arrays of objects": lambda folder: {n: np.array(c, dtype=object) for n, c in columns().items()},
    "CSV": _csv,
    "CSV pattern": _csv_pattern,
    "Parquet": _parquet,
    "Parquet folder": _parquet_folder,
    "Feather": _feather,
    "Arrow file": _ipc,
    "Arrow table": lambda folder: arrow(),
    "Arrow batch": lambda folder: arrow().combine_chunks().to_batches()[0],
    "Arrow stream": lambda folder: arrow().to_reader(256),
    "pandas": lambda folder: pd.DataFrame(columns()),
    "pandas categories": lambda folder: pd.DataFrame(columns()).astype({"region": "category"}),
    "polars": lambda folder: pl.DataFrame(columns()),
    "DuckDB table": _relation,
    "DuckDB query": _query,
    "DuckDB file": _database,
    "structured array": lambda folder: pd.DataFrame(columns()).to_records(index=False).view(np.ndarray),
    "array": lambda folder: np.column_stack([columns()["income"], columns()["age"]]),
}
