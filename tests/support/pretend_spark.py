"""What Spark does for us, in this process and without Spark: parts, `mapInArrow`, a window, and answers as rows.

Integers of 64 bits are signed and bytes are compared without a sign, as in Spark.
"""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

PART = [0]


class PretendSession:
    """Remembers what it was asked to stop."""

    def __init__(self) -> None:
        self.tags: list[str] = []
        self.stopped: list[str] = []

    def addTag(self, tag: str) -> None:  # noqa: N802  # Spark's name
        self.tags.append(tag)

    def interruptTag(self, tag: str) -> None:  # noqa: N802  # Spark's name
        self.stopped.append(tag)

    def range(self, rows: int) -> PretendFrame:
        return PretendFrame([pa.table({"id": list(range(rows))})], self)


class PretendFrame:
    """A table in parts; every step makes a new one, and nothing is computed before it is asked for."""

    isStreaming = False  # noqa: N815  # Spark's name
    plan = "== Physical Plan ==\nFileScan parquet [y#1,x#2] Batched: true"

    def __init__(
        self, parts: Sequence[pa.Table], session: PretendSession | None = None, files: Sequence[str] = ()
    ) -> None:
        self._compute: Callable[[], list[pa.Table]] = lambda: list(parts)
        self.columns = parts[0].column_names if parts else []
        self._schema = parts[0].schema if parts else pa.schema([])
        self._files = files
        self.sparkSession = session or PretendSession()

    def _then(self, step: Callable[[list[pa.Table]], list[pa.Table]], schema: pa.Schema) -> PretendFrame:
        made = PretendFrame([], self.sparkSession)
        made._compute, made._schema, made.columns = lambda: step(self._compute()), schema, schema.names
        return made

    def inputFiles(self) -> Sequence[str]:  # noqa: N802  # Spark's name
        return self._files

    def explain(self, mode: str) -> None:
        assert mode == "simple"
        print(self.plan)

    def selectExpr(self, *words: str) -> PretendFrame:  # noqa: N802  # Spark's name
        if words[-1].startswith("row_number() OVER (PARTITION BY person ORDER BY kept DESC NULLS LAST, digest, row)"):
            assert words[:-1] == ("kept", "row")
            schema = pa.schema([*(self._schema.field(name) for name in ("kept", "row")), ("place", pa.int32())])
            return self._then(lambda parts: _placed(parts, schema), schema)
        pairs = [re.fullmatch(r"`(.*)` AS (c[0-9]+)", word).groups() for word in words]
        pairs = [(name.replace("``", "`"), alias) for name, alias in pairs]
        schema = pa.schema([self._schema.field(name).with_name(alias) for name, alias in pairs])
        names = [name for name, _ in pairs]
        return self._then(lambda parts: [part.select(names).rename_columns(schema.names) for part in parts], schema)

    def where(self, condition: str) -> PretendFrame:
        most = int(condition.removeprefix("place <= "))
        keep = lambda part: part.filter(pa.compute.less_equal(part["place"], most))  # noqa: E731  # short
        return self._then(lambda parts: [keep(part) for part in parts], self._schema)

    def limit(self, rows: int) -> PretendFrame:
        return PretendFrame([self._schema.empty_table()], self.sparkSession)

    def toArrow(self) -> pa.Table:  # noqa: N802  # Spark's name
        return pa.concat_tables(self._compute())

    def mapInArrow(self, task: Callable[..., Iterator[pa.RecordBatch]], types: str) -> PretendFrame:  # noqa: N802  # Spark's name
        kinds = {"string": pa.string(), "long": pa.int64(), "binary": pa.binary(), "boolean": pa.bool_()}
        schema = pa.schema([(name, kinds[kind]) for name, kind in map(str.split, types.split(", "))])

        def run(parts: list[pa.Table]) -> list[pa.Table]:
            found = []
            for number, part in enumerate(parts):
                PART[0] = number
                batches = list(task(iter(part.to_batches(max_chunksize=131))))
                assert all(batch.schema == schema for batch in batches)
                found.append(pa.Table.from_batches(batches, schema))
            return found

        return self._then(run, schema)

    def repartition(self, count: int, name: str) -> PretendFrame:
        def shuffled(parts: list[pa.Table]) -> list[pa.Table]:
            rows = pa.concat_tables(parts) if parts else self._schema.empty_table()
            numbers = rows[name].to_pylist()
            places = [[at for at, one in enumerate(numbers) if one % count == part] for part in range(count)]
            return [rows.take(pa.array(place, pa.int64())) for place in places] if parts else []

        return self._then(shuffled, self._schema)

    def collect(self) -> list[SimpleNamespace]:
        return [SimpleNamespace(**row) for part in self._compute() for row in part.to_pylist()]

    def toLocalIterator(self) -> Iterator[SimpleNamespace]:  # noqa: N802  # Spark's name
        return iter(self.collect())


def _placed(parts: list[pa.Table], schema: pa.Schema) -> list[pa.Table]:
    """Rows of persons together in two parts, numbered from 1 on in the order that the window states."""
    rows = [row for part in parts for row in part.to_pylist()]
    # true first, nothing last
    rows.sort(key=lambda row: (row["person"], {True: 0, False: 1, None: 2}[row["kept"]], row["digest"], row["row"]))
    last, place = None, 0
    found: list[list[dict[str, Any]]] = [[], []]
    for row in rows:
        place = place + 1 if row["person"] == last else 1
        last = row["person"]
        found[row["person"][0] % 2].append({"kept": row["kept"], "row": row["row"], "place": place})
    return [pa.Table.from_pylist(one, schema) for one in found]


@contextmanager
def pretended(version: str = "4.3.0") -> Iterator[None]:
    """Let `pyspark` be what is here."""
    library, sql = types.ModuleType("pyspark"), types.ModuleType("pyspark.sql")
    context = SimpleNamespace(partitionId=lambda: PART[0])
    library.__version__, library.TaskContext = version, SimpleNamespace(get=lambda: context)
    library.sql, sql.DataFrame = sql, PretendFrame
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "pyspark", library)
        patch.setitem(sys.modules, "pyspark.sql", sql)
        yield


def cut(table: pa.Table, *ends: int) -> list[pa.Table]:
    """Parts of a table between some rows; two equal ends make an empty part."""
    bounds = [0, *ends, table.num_rows]
    return [table.slice(first, last - first) for first, last in pairwise(bounds)]
