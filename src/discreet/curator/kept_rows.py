"""Rows that count, set aside: read and decided once, summed as often as a mechanism asks."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from io import BufferedRandom
from types import TracebackType
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.curator import scratch
from discreet.exact.arrays import FloatArray

Marks: TypeAlias = npt.NDArray[np.bool_]

# on disk; 32 bits hold every value
_CELL: Final = np.dtype(np.int32)


class KeptRows:
    """Rows (1, x, y) in grid steps, those of a person together, in chunks of one size, column by column.

    The first 64 MiB of all parts wait in memory, the rest in a file without a name. The system removes the file when it
    is closed or the program ends in any way. Only the same user and root can reach it meanwhile, through the running
    program.

    Parameters
    ----------
    columns
        Integers of 32 bits in a row, the constant among them.
    unit
        What the constant is given back as.
    chunk_rows
        Rows in each chunk but the last.
    parts
        How many such parts a set of rows may have; they share the room in memory.

    Examples
    --------
    >>> with KeptRows(columns=2, unit=8, chunk_rows=2) as kept:
    ...     kept.add(np.array([True, False, True]), np.array([[5, 6, 7]]))
    ...     [chunk.tolist() for chunk in kept.chunks()]
    ...     [starts.tolist() for _, starts in kept.whole_persons()]
    [[[8.0, 8.0], [5.0, 6.0]], [[8.0], [7.0]]]
    [[0], [0]]
    """

    def __init__(self, columns: int, unit: int, chunk_rows: int, *, parts: int = 1) -> None:
        self._shape = columns, chunk_rows
        self._room = scratch.IN_MEMORY_BYTES // parts
        # asked for before it is known whether there are many rows, so that an error does not depend on that
        self._folder = scratch.scratch_folder()
        self._unit = unit
        self._full: list[tuple[FloatArray, Marks]] = []
        self._file: BufferedRandom | None = None
        self._on_disk = 0
        self._closed = False
        self._filling, self._used = self._fresh(), 0

    def __enter__(self) -> KeptRows:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the rows up."""
        self._closed = True
        self._full.clear()
        self._filling, self._used = self._fresh(), 0
        if self._file is not None:
            # what could not be written is not needed any more, and must not hide why the work ended
            with suppress(OSError):
                self._file.close()

    def add(self, first: Marks, values: npt.NDArray[Any]) -> None:
        """Take rows (x, y) as columns of `values`, integers of any type, and which are the first of a person."""
        start, rows = 0, len(first)
        while start < rows:
            block, marks = self._filling
            taken = min(rows - start, len(marks) - self._used)
            into, given = slice(self._used, self._used + taken), slice(start, start + taken)
            # a zero has no sign, in memory as on disk
            np.add(values[:, given], 0.0, out=block[1:, into])
            marks[into] = first[given]
            self._used += taken
            start += taken
            if self._used == len(marks):
                self._set_aside(block, marks)

    def chunks(self) -> Iterator[FloatArray]:
        """All rows, as chunks of shape (columns, rows); each is valid until the next one is asked for."""
        for chunk, _ in self.marked_chunks():
            yield chunk

    def whole_persons(self) -> Iterator[tuple[FloatArray, npt.NDArray[np.intp]]]:
        """All rows, as chunks of whole persons with the place of each one's first row."""
        yield from whole_persons(self.marked_chunks())

    def marked_chunks(self) -> Iterator[tuple[FloatArray, Marks]]:
        """All rows as `chunks` gives them, each chunk with which of its rows are the first of a person."""
        if self._closed:
            raise ValueError("these rows are closed")
        yield from self._full
        yield from self._from_disk()
        if self._used:
            block, marks = self._filling
            yield _protected(block[:, : self._used]), marks[: self._used]

    def _fresh(self) -> tuple[FloatArray, Marks]:
        block = np.empty(self._shape)
        block[0] = self._unit
        return block, np.empty(self._shape[1], dtype=np.bool_)

    def _set_aside(self, block: FloatArray, marks: Marks) -> None:
        """Keep a full block where there is room, and begin the next one."""
        if (len(self._full) + 1) * block.nbytes <= self._room:
            self._full.append((_protected(block), marks))
            self._filling = self._fresh()
        else:
            cells = block.astype(_CELL)
            # the constant is public: its place says where a person begins
            cells[0] = marks
            self._write(cells)
            self._on_disk += 1
        self._used = 0

    def _write(self, cells: npt.NDArray[np.int32]) -> None:
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="discreet-", dir=self._folder)  # noqa: SIM115
            self._file.seek(self._on_disk * cells.nbytes)
            self._file.write(cells.data)
            self._file.flush()
        except OSError as error:
            raise scratch.no_room(error.strerror) from None

    def _from_disk(self) -> Iterator[tuple[FloatArray, Marks]]:
        if self._file is None:
            return
        cells = np.empty(self._shape, dtype=_CELL)
        chunk, _ = self._fresh()
        for index in range(self._on_disk):
            self._file.seek(index * cells.nbytes)
            if self._file.readinto(cells.data) != cells.nbytes:
                raise OSError("rows that were set aside are gone")
            chunk[1:] = cells[1:]
            yield _protected(chunk), cells[0] == 1


def whole_persons(
    chunks: Iterable[tuple[FloatArray, Marks]],
) -> Iterator[tuple[FloatArray, npt.NDArray[np.intp]]]:
    """Chunks of whole persons with the place of each one's first row, from chunks that may divide persons.

    >>> rows = [(np.array([[5.0, 6.0]]), np.array([True, False])), (np.array([[7.0, 8.0]]), np.array([False, True]))]
    >>> [(chunk.tolist(), starts.tolist()) for chunk, starts in whole_persons(rows)]
    [([[5.0, 6.0, 7.0]], [0]), ([[8.0]], [0])]
    """
    held: list[FloatArray] = []
    for chunk, first in chunks:
        starts = np.flatnonzero(first)
        # rows in front of the first start, or all where there is none, are of the person before
        before, last = (starts[0], starts[-1]) if starts.size else (len(first), len(first))
        if held:
            held.append(chunk[:, :before].copy())
        if held and starts.size:
            yield np.concatenate(held, axis=1), np.zeros(1, dtype=np.intp)
        if starts.size > 1:
            yield chunk[:, before:last], starts[:-1] - before
        if starts.size:
            # the last person may go on in the next chunk
            held = [chunk[:, last:].copy()]
    if held:
        yield np.concatenate(held, axis=1), np.zeros(1, dtype=np.intp)


def _protected(block: FloatArray) -> FloatArray:
    """The same numbers, which nobody can change: later passes see them again."""
    view = block.view()
    view.flags.writeable = False
    return view
