"""From what a user gives to what a release sums: a source of rows, or an engine that has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.curator.engine import Engine
from discreet.tables.files.opening import check_reading, open_source
from discreet.tables.files.reading import DEFAULT_READING, ReadOptions
from discreet.tables.frames import is_from

if TYPE_CHECKING:
    from discreet.tables.source import Source


def open_table(data: object, *, reading: ReadOptions = DEFAULT_READING) -> Source | Engine:
    """Open a path or a table in memory as a source, and a DataFrame of Spark as an engine.

    Parameters
    ----------
    data
        What `open_source` takes, a DataFrame of Spark, classic or of Spark Connect, or an engine of one's own.
    reading
        How CSV files are written.

    Examples
    --------
    >>> type(open_table({"x": [1.0, 2.0]})).__name__
    'FrameSource'
    """
    if is_from(data, "pyspark.sql", "DataFrame"):
        from discreet.engines.spark_source import SparkSource

        check_reading(reading, "a DataFrame of Spark")
        return SparkSource(data)
    if isinstance(data, Engine):
        check_reading(reading, "a table of an engine")
        return data
    return open_source(data, reading=reading)
