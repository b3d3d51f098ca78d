"""Open a path, a folder, a pattern or an in-memory table as a source of rows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from discreet.design.columns import Readable
from discreet.errors import SpecError
from discreet.files import path_text
from discreet.tables.csv_format import (
    DEFAULT_READING,
    ReadOptions,
)
from discreet.tables.database import DatabaseSource, DatabaseTable
from discreet.tables.file_source import ACCEPTED, FileSource, check_reading, found_files
from discreet.tables.frames import frame_batches, is_frame, origin, reads_once
from discreet.tables.source import Place

if TYPE_CHECKING:
    from pyarrow import RecordBatch

    from discreet.tables.source import Source

# -- frame source ------------------------------------------------------------------------------------------------------


class FrameSource:
    """A table in memory, of any library that `discreet.tables.frames` can read. The table is never modified.

    >>> from discreet.design.columns import Numeric
    >>> source = FrameSource({"x": [1.0, 2.0, 3.0], "name": ["a", "b", "c"]})
    >>> [batch.to_pydict() for batch in source.batches({"x": Numeric((0, 9))}, 2)]
    [{'x': [1.0, 2.0]}, {'x': [3.0]}]
    """

    numbered: Final = "row"
    # None, because a table in memory has no canonical bytes; the digest is computed from the rows as they are read
    fingerprint: Final = None

    def __init__(self, data: object) -> None:
        self._data = data
        self._used = False
        self._before = 0
        self.origin: Final = origin(data)
        self.read_as: Final[Mapping[str, object]] = DEFAULT_READING.read_as()

    @property
    def share_read(self) -> float | None:
        """None, because the number of rows of a lazy table is unknown until the table has been read to its end."""
        return None

    def batches(self, columns: Mapping[str, Readable], batch_rows: int) -> Iterator[RecordBatch]:
        """Yield record batches of the declared columns, in declared order."""
        if self._used and reads_once(self._data):
            raise SpecError(
                f"this {type(self._data).__name__} has already been read and cannot be read again; "
                "pass a table or a file instead"
            )
        self._used = True
        return self._counted(frame_batches(self._data, columns, batch_rows))

    def parts(self, count: int) -> Sequence[FrameSource]:
        """Return the table as one part, because some objects can be read from only one thread."""
        return [self]

    def place(self, row: int) -> Place:
        """Return the index of a row in the table, counted from 0."""
        return Place(self._before + row, "row")

    def _counted(self, batches: Iterator[RecordBatch]) -> Iterator[RecordBatch]:
        self._before = 0
        for batch in batches:
            yield batch
            self._before += batch.num_rows


# -- opening -----------------------------------------------------------------------------------------------------------
_HINTS: Final = {
    "LazyFrame": "; call .collect() first",
    "DuckDBPyConnection": "; pass a relation such as con.sql('SELECT ...')",
}


def open_source(data: object, *, reading: ReadOptions = DEFAULT_READING) -> Source:
    """Open a path, a folder, a pattern, a database table or a table in memory as a source of rows.

    `reading` must have its default values unless the source consists of CSV files.
    """
    if isinstance(data, str | os.PathLike):
        return FileSource(found_files(path_text(data)), reading)
    if isinstance(data, DatabaseTable):
        check_reading(reading, "a table of a database")
        return DatabaseSource(data)
    if is_frame(data):
        check_reading(reading, "a table in memory")
        return FrameSource(data)
    hint = _HINTS.get(type(data).__name__, "")
    raise SpecError(f"cannot read an object of type {type(data).__name__}{hint}; expected {ACCEPTED}")
