"""Tables with planted markers that cannot be read to their end, or hold what their design does not allow."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa

from support.marked_tables import AT, SOURCES, arrow, columns
from support.markers import LEVEL, PERSON, QUOTED, REMARK, VALUE


class Spiteful:
    """A cell that quotes the row when it is read."""

    def __float__(self):
        raise ValueError(QUOTED)

    __int__ = __index__ = __str__ = __repr__ = __float__


def _torn_stream():
    def batches():
        for start in (0, 256, 512):
            yield from arrow().slice(start, 256).combine_chunks().to_batches()
        raise RuntimeError(QUOTED)

    return pa.RecordBatchReader.from_batches(arrow().schema, batches())


def _csv_with(line):
    def make(folder):
        path = SOURCES["CSV"](folder)
        lines = Path(path).read_text().splitlines()
        lines[AT] = line
        Path(path).write_text("\n".join(lines))
        return path

    return make


def _cut(source, keep):
    def make(folder):
        path = Path(SOURCES[source](folder))
        path.write_bytes(path.read_bytes()[:keep])
        return str(path)

    return make


def _replaced(cell, column="income"):
    def make(folder):
        table = columns()
        table[column][AT] = cell
        return table

    return make


def _query(text):
    def make(folder):
        con = duckdb.connect()
        people = arrow()
        con.execute("CREATE TABLE people AS SELECT * FROM people")
        del people
        return con.sql(text)

    return make


FAILING_READERS = {
    "text in a list of numbers": _replaced(REMARK),
    "no cell": _replaced(None),
    "a cell that quotes the row": _replaced(Spiteful()),
    "an undeclared level": lambda folder: columns(),
    "a region that is a number": _replaced(VALUE, "region"),
    "text in CSV": _csv_with(f'"{REMARK}",44,"south","{PERSON}","{LEVEL}"'),
    "CSV line too short": _csv_with(f"{VALUE},44"),
    "CSV line too long": _csv_with(f'{VALUE},44,"{LEVEL}","{PERSON}","{REMARK}",1,2'),
    "CSV quote not closed": _csv_with(f'{VALUE},44,"{LEVEL},{PERSON},{REMARK}'),
    "Parquet cut off": _cut("Parquet", 5000),
    "Arrow file cut off": _cut("Arrow file", 9000),
    "Feather cut off": _cut("Feather", 9000),
    "stream torn in the fourth batch": lambda folder: _torn_stream(),
    "query that fails to convert": _query("SELECT CAST(remark AS DOUBLE) AS income, age, region, person FROM people"),
    "query that raises": _query(
        "SELECT CASE WHEN income = 531417.862193 THEN error('cell ' || income || region) ELSE income END AS income, "
        "age, region, person FROM people"
    ),
    "pandas with objects": lambda folder: pd.DataFrame(_replaced(Spiteful())(folder)),
    "array of objects": lambda folder: {n: np.array(c, dtype=object) for n, c in _replaced(REMARK)(folder).items()},
}
