"""Rows that count, set aside on disk: read and decided once, summed as often as a mechanism asks."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import suppress
from types import TracebackType
from typing import Final

import numpy as np
import numpy.typing as npt

from discreet.curator.scratch import no_room, scratch_folder
from discreet.exact.arrays import FloatArray

IntArray = npt.NDArray[np.int32]

_CELL: Final = np.dtype(np.int32)


class KeptRows:
    """Rows (1, x, y) in grid steps, those of a person together, in a file without a name.

    The system removes the file when it is closed or the program ends in any way. Only the same user and root can reach
    it meanwhile, through the running program.

    >>> with KeptRows(columns=2) as kept:
    ...     kept.add(np.array([True, False, True]), np.array([[5, 6, 7]], dtype=np.int32))
    ...     [chunk.tolist() for chunk in kept.chunks(unit=8, chunk_rows=2)]
    ...     [starts.tolist() for _, starts in kept.whole_persons(unit=8, chunk_rows=3)]
    [[[8.0, 8.0], [5.0, 6.0]], [[8.0], [7.0]]]
    [[0], [0]]
    """

    def __init__(self, columns: int) -> None:
        self._columns = columns
        try:
            self._file = tempfile.TemporaryFile(prefix="discreet-", dir=scratch_folder())  # noqa: SIM115  # closed later
        except OSError as error:
            raise no_room(error.strerror) from None

    def __enter__(self) -> KeptRows:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the rows up."""
        # what could not be written is not needed any more, and must not hide why the work ended
        with suppress(OSError):
            self._file.close()

    def add(self, first: npt.NDArray[np.bool_], values: IntArray) -> None:
        """Take rows (x, y) as columns of `values`, and which of them are the first of a person."""
        rows = np.empty((len(first), self._columns), dtype=_CELL)
        # the constant is public: its place says where a person begins
        rows[:, 0] = first
        rows[:, 1:] = values.T
        try:
            self._file.write(rows.data)
            self._file.flush()
        except OSError as error:
            raise no_room(error.strerror) from None

    def chunks(self, unit: int, chunk_rows: int) -> Iterator[FloatArray]:
        """All rows, as chunks of shape (columns, rows) with `unit` for the constant."""
        for chunk, _ in self.marked_chunks(unit, chunk_rows):
            yield chunk

    def whole_persons(self, unit: int, chunk_rows: int) -> Iterator[tuple[FloatArray, npt.NDArray[np.intp]]]:
        """All rows, as chunks of whole persons with the place of each one's first row."""
        held = np.empty((self._columns, 0))
        held_first = np.empty(0, dtype=np.bool_)
        for chunk, chunk_first in self.marked_chunks(unit, chunk_rows):
            rows = np.concatenate([held, chunk], axis=1)
            first = np.concatenate([held_first, chunk_first])
            # the last person may go on in the next chunk
            end = int(np.flatnonzero(first)[-1])
            held, held_first = rows[:, end:], first[end:]
            if end:
                yield rows[:, :end], np.flatnonzero(first[:end])
        if held.shape[1]:
            yield held, np.flatnonzero(held_first)

    def marked_chunks(self, unit: int, chunk_rows: int) -> Iterator[tuple[FloatArray, npt.NDArray[np.bool_]]]:
        """All rows as `chunks` gives them, each chunk with which of its rows are the first of a person."""
        self._file.seek(0)
        while block := self._file.read(chunk_rows * self._columns * _CELL.itemsize):
            rows = np.frombuffer(block, dtype=_CELL).reshape(-1, self._columns)
            chunk = np.empty(rows.shape[::-1])
            chunk[0] = unit
            chunk[1:] = rows[:, 1:].T
            yield chunk, rows[:, 0] == 1
