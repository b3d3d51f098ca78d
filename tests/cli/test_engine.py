"""Which program sums a table: options that fit together, or plain words."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from discreet.cli.options import opened, table_of, written_over
from discreet.errors import SpecError
from discreet.spark.spark_session import SparkInput
from discreet.tables.database import DatabaseTable


def test_without_an_engine_it_is_what_was_named():
    assert table_of("here", None, "people.csv", None, None) == "people.csv"
    assert table_of("here", None, None, "p.duckdb", "people") == DatabaseTable("p.duckdb", "people")
    assert written_over("people.csv") == ["people.csv"]
    with opened("people.csv") as given:
        assert given == "people.csv"


def test_spark(monkeypatch):
    given = table_of("spark", "local[2]", "people.parquet", None, None)
    assert given == SparkInput("local[2]", path="people.parquet")
    assert written_over(given) == ["people.parquet"]
    assert written_over(table_of("spark", "yarn", None, None, "people")) == []

    @contextmanager
    def frame(self):
        yield f"a frame of {self.path}"

    monkeypatch.setattr(SparkInput, "opened", frame)
    with opened(given) as rows:
        assert rows == "a frame of people.parquet"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("dask", None, "p.csv", None, None), "unknown engine 'dask'; allowed: here, spark"),
        (("here", "local[2]", "p.csv", None, None), "--master requires --engine spark"),
        (("spark", None, "p.parquet", None, None), "--engine spark requires --master"),
        (("spark", "local[2]", None, "p.duckdb", "people"), "--engine spark cannot read a DuckDB file"),
        (("spark", "local[2]", "p.csv", None, None), "a CSV file; CSV files are not read through Spark"),
        (("spark", "somewhere", "p.parquet", None, None), "for master, got 'somewhere'"),
        (("spark", "local[2]", None, None, None), "expected a path or a table, got neither"),
    ],
)
def test_what_does_not_fit_together(words, problem):
    with pytest.raises(SpecError, match=problem):
        table_of(*words)
