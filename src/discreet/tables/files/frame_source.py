"""In-memory tables as a source of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from discreet.design.columns import Readable
from discreet.errors import SpecError
from discreet.tables.files.reading import DEFAULT_READING
from discreet.tables.frames import frame_batches, origin, reads_once
from discreet.tables.source import Place

if TYPE_CHECKING:
    from pyarrow import RecordBatch


class FrameSource:
    """A table in memory, of any library that `discreet.tables.frames` can read; it is never modified.

    >>> from discreet.design.columns import Numeric
    >>> source = FrameSource({"x": [1.0, 2.0, 3.0], "name": ["a", "b", "c"]})
    >>> [batch.to_pydict() for batch in source.batches({"x": Numeric((0, 9))}, 2)]
    [{'x': [1.0, 2.0]}, {'x': [3.0]}]
    """

    numbered: Final = "row"
    # a table in memory has no bytes of its own: the rows are digested as they are read
    fingerprint: Final = None

    def __init__(self, data: object) -> None:
        self._data = data
        self._used = False
        self._before = 0
        self.origin: Final = origin(data)
        self.read_as: Final[Mapping[str, object]] = DEFAULT_READING.read_as()

    @property
    def share_read(self) -> float | None:
        """None: the number of rows of a lazy table is not known before its end."""
        return None

    def batches(self, columns: Mapping[str, Readable], batch_rows: int) -> Iterator[RecordBatch]:
        """Record batches that hold the declared columns, in their order."""
        if self._used and reads_once(self._data):
            raise SpecError(
                f"this {type(self._data).__name__} has already been read and cannot be read again; "
                "give a table or a file"
            )
        self._used = True
        return self._counted(frame_batches(self._data, columns, batch_rows))

    def parts(self, count: int) -> Sequence[FrameSource]:
        """The table as it is: its batches cost next to nothing, and some objects are bound to one thread."""
        return [self]

    def place(self, row: int) -> Place:
        """Position in the table, counted from 0."""
        return Place(self._before + row, "row")

    def _counted(self, batches: Iterator[RecordBatch]) -> Iterator[RecordBatch]:
        self._before = 0
        for batch in batches:
            yield batch
            self._before += batch.num_rows
