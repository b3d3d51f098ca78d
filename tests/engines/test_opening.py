"""What a user gives becomes a source of rows, or an engine."""

from __future__ import annotations

import pyarrow as pa
import pytest

from discreet.curator.engine import Engine
from discreet.engines.opening import open_table
from discreet.engines.spark_source import SparkSource
from discreet.errors import SpecError
from discreet.tables.files.frame_source import FrameSource
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


def test_an_old_spark_is_refused():
    with pretended("3.5.1"), pytest.raises(SpecError, match=r"pyspark 3\.5\.1 is too old: expected 4\.0 or newer"):
        open_table(PretendFrame([pa.table({"x": [1.0]})]))
