"""What a user gives becomes a source of rows, or an engine."""

from __future__ import annotations

from functools import reduce
from operator import add

import pyarrow as pa
import pytest

import discreet
from discreet.curator.engine import Engine, PartSums, part_sums
from discreet.errors import SpecError
from discreet.spark.dataframe import SparkSource, open_table
from discreet.tables.opening import FrameSource
from discreet.testing import exact_release
from support.pretend_spark import PretendFrame, pretended


def test_tables_in_memory_are_sources():
    source = open_table({"x": [1.0]})
    assert isinstance(source, FrameSource)
    assert not isinstance(source, Engine)


def test_a_dataframe_of_spark_is_an_engine():
    with pretended():
        source = open_table(PretendFrame([pa.table({"x": [1.0]})]))
    assert isinstance(source, SparkSource)
    assert isinstance(source, Engine)
    assert (source.origin, source.fingerprint) == ("spark", None)


class InParts:
    """An engine of one's own, in the lines that a recipe has."""

    origin, read_as, fingerprint = None, {}, None

    def __init__(self, parts):
        self.parts = parts

    def sum_rows(self, work, sums):
        found = [part_sums(part.to_batches(), work, sums.empty(), number) for number, part in enumerate(self.parts)]
        return reduce(add, map(PartSums.unpacked, [one.packed() for one in found]))

    def set_aside(self, work, take):
        raise SpecError("mechanisms of one pass only")


def test_an_engine_of_ones_own():
    table = pa.table({"x": [0.1, 0.5, 0.9], "y": [0.2, 0.4, 0.8]})
    design = discreet.Design("y", {"y": (0, 1), "x": (0, 1)})
    engine = InParts([table.slice(0, 1), table.slice(1)])
    assert open_table(engine) is engine
    assert exact_release(engine, design) == exact_release(table, design)
    with pytest.raises(SpecError, match="is allowed only for CSV files"):
        discreet.release(engine, design, epsilon=1.0, reading=discreet.ReadOptions(delimiter=";"))


def test_an_old_spark_is_refused():
    with pretended("3.5.1"), pytest.raises(SpecError, match=r"pyspark 3\.5\.1 is too old: expected 4\.0 or newer"):
        open_table(PretendFrame([pa.table({"x": [1.0]})]))


def test_a_dataframe_of_spark_is_for_releases_alone():
    """Its Arrow stream would be read by the driver, text files and all."""

    class Streaming(PretendFrame):
        def __arrow_c_stream__(self, requested_schema=None):
            raise AssertionError("the stream was opened")

    design = discreet.Design("y", {"y": (0, 1), "x": (0, 1)})
    with pretended():
        given = Streaming([pa.table({"x": [0.1], "y": [0.2]})])
        for read in (
            lambda: discreet.check(given, design),
            lambda: discreet.PrivateLinearRegression(epsilon=1.0, bounds=[(0, 1)], target_bounds=(0, 1)).fit(
                given, [0.1]
            ),
        ):
            with pytest.raises(SpecError, match=r"can be passed only to discreet\.release"):
                read()
