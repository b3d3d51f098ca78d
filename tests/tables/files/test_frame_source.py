"""Tables in memory as a source: the declared columns, in batches, as often as the table can be read."""

from __future__ import annotations

import pyarrow as pa
import pytest

from discreet.design.columns import Numeric
from discreet.errors import DataError, SpecError
from discreet.tables.opening import FrameSource

TABLE = pa.table({"unused": ["a"] * 5, "x": [1.0, 2.0, 3.0, 4.0, 5.0], "y": [5.0, 4.0, 3.0, 2.0, 1.0]})
COLUMNS = {"y": Numeric((0, 9)), "x": Numeric((0, 9))}


def rows(source: FrameSource, batch_rows: int) -> dict[str, list[float]]:
    batches = [batch.to_pydict() for batch in source.batches(COLUMNS, batch_rows)]
    assert all(list(batch) == list(COLUMNS) for batch in batches)
    assert all(len(batch["x"]) <= batch_rows for batch in batches)
    return {name: [cell for batch in batches for cell in batch[name]] for name in COLUMNS}


@pytest.mark.parametrize("batch_rows", [1, 2, 5, 100])
def test_batches_hold_the_declared_columns_in_their_order_and_every_row_once(batch_rows):
    expected = {"y": TABLE["y"].to_pylist(), "x": TABLE["x"].to_pylist()}
    source = FrameSource(TABLE)
    assert rows(source, batch_rows) == expected
    assert rows(source, batch_rows) == expected, "a table can be read again"


def test_a_reader_is_used_up_by_its_first_reading():
    source = FrameSource(TABLE.to_reader())
    assert len(rows(source, 2)["x"]) == 5
    with pytest.raises(
        SpecError, match=r"this RecordBatchReader has already been read and cannot be read again; pass a table"
    ):
        source.batches(COLUMNS, 2)


def test_how_much_was_read_is_not_known_and_a_stored_table_has_no_origin():
    source = FrameSource(TABLE)
    assert source.share_read is None
    assert source.origin is None


def test_a_declared_column_that_the_table_lacks_is_refused():
    with pytest.raises(DataError, match="the table has no column 'z'"):
        list(FrameSource(TABLE).batches({"z": Numeric((0, 9))}, 2))


def test_a_table_in_memory_has_no_bytes_of_its_own():
    assert FrameSource({"x": [1.0]}).fingerprint is None
