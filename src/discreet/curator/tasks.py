"""What a worker of an engine does with its part of a table: from record batches to sums, or to rows that wait.

Everything here depends on its arguments alone, so a part that is computed again gives the same bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.curator.engine import PartSums, Work
from discreet.curator.kept_rows import Marks, whole_persons
from discreet.curator.persons import cap_key, known_persons, person_digests, row_digests
from discreet.curator.row_set_digest import RowSetDigest
from discreet.curator.rows import row_size
from discreet.curator.summing import summed, table_rows, totals_of
from discreet.curator.sums.clips import ClipCounter
from discreet.curator.sums.gram import chunk_rows
from discreet.curator.sums.protocol import PersonSums, Sums, Totals
from discreet.exact.arrays import FloatArray
from discreet.tables.arrow import declared_arrays
from discreet.tables.encoder import settle_missing

if TYPE_CHECKING:
    from pyarrow import Array, RecordBatch

# what a row of a person is on its way to the others of that person
PERSON_ROWS: Final = pa.schema(
    [("person", pa.binary()), ("kept", pa.bool_()), ("digest", pa.int64()), ("row", pa.binary())]
)
# rows that count as integers, one to a column; the first of each says whether a person begins
Block: TypeAlias = npt.NDArray[np.int32]
# an unsigned integer of 64 bits as a signed one in the same order
_TOP: Final = np.uint64(1 << 63)
_TOP_32: Final = np.uint32(1 << 31)
_PERSON_BYTES: Final = 32


class NoSums:
    """Sums of nothing: for a pass that only sets rows aside."""

    unit: Final = 1

    def empty(self) -> Self:
        """The same: there is nothing in it."""
        return self

    def add(self, chunk: FloatArray) -> None:
        """Take a chunk of rows, and leave it."""

    def totals(self) -> tuple[int, ...]:
        """Nothing."""
        return ()


def part_sums(batches: Iterable[RecordBatch], work: Work, sums: Sums, part: int) -> PartSums:
    """Sum one part of a table whose units are rows.

    >>> from discreet.curator.sums.gram import ExactGram
    >>> from discreet.design.domain import RowDomain
    >>> from discreet.design.model import Design
    >>> design = Design("y", {"y": (-1, 1), "x": (-1, 1)})
    >>> work = Work(design, RowDomain.of(design, 8), chunk_rows=16)
    >>> batch = pa.record_batch({"y": [1.0, 1.0], "x": [1.0, 0.5]})
    >>> part_sums([batch], work, ExactGram(3, 8), part=4).totals.count
    2
    """
    digest = RowSetDigest(work.design, work.domain) if work.digest else None
    totals = summed(
        batches,
        work.design,
        work.domain,
        sums,
        chunk_rows=work.chunk_rows,
        clip_counts=work.clip_counts,
        take=None if digest is None else digest.add,
    )
    return PartSums(totals, 0 if digest is None else digest.total, (part,))


def part_rows(batches: Iterable[RecordBatch], work: Work, part: int) -> Iterator[Block | PartSums]:
    """The rows of one part on the grid, or as settled cells, block by block, and at the end their counts."""
    digest = RowSetDigest(work.design, work.domain) if work.digest else None
    blocks: list[Block] = []

    def take(chunk: FloatArray) -> None:
        if chunk.shape[1]:
            blocks.append(_block(np.ones(chunk.shape[1], dtype=np.bool_), chunk[1:]))
        if digest is not None:
            digest.add(chunk)

    done = summed([], work.design, work.domain, NoSums(), clip_counts=work.clip_counts)
    for batch in batches:
        done += summed(
            [batch],
            work.design,
            work.domain,
            NoSums(),
            chunk_rows=work.chunk_rows,
            clip_counts=work.clip_counts,
            take=take,
        )
        yield from blocks
        blocks.clear()
    yield PartSums(done, 0 if digest is None else digest.total, (part,))


def person_rows(batches: Iterable[RecordBatch], work: Work, key: bytes) -> Iterator[RecordBatch]:
    """The rows of one part with their persons, as `PERSON_ROWS`: to be brought together and capped.

    The order of a person's rows is that of `kept` (true first), `digest` and `row`: the same as of `PersonCap`. Whoever
    sorts has signed integers only, so the top bit of a digest is flipped; bytes are compared as unsigned ones, so the
    values of a row are written from the highest byte on, with their top bits flipped too.

    Parameters
    ----------
    batches, work
        Rows that hold the design's columns and ids, and what they mean.
    key
        Secret of this one release: what is left on a disk cannot be tied to ids without it.
    """
    name, columns = str(work.design.unit.id), work.design.table_columns
    rows = table_rows(work.design, work.domain, work.chunk_rows)
    clips = ClipCounter(work.design) if work.marks else None
    keyed = hashlib.blake2b(key=key, digest_size=_PERSON_BYTES)
    for batch in batches:
        arrays = declared_arrays(batch, columns)
        persons, known = known_persons(name, batch.column(name), total=work.design.total)
        if known is not None:
            arrays = [values[known] for values in arrays]
        settled, keep = settle_missing(columns, arrays)
        grid = rows.encoded(rows.completed(settled))[1:]
        if clips is not None:
            grid = np.concatenate([grid, clips.marks(settled)])
        mask = np.ones(len(persons), dtype=np.bool_) if keep is None else keep
        values = np.zeros((len(grid), len(persons)), dtype=np.int32)
        values[:, mask] = grid
        digests = row_digests(values, cap_key(work.design)) ^ _TOP  # [P:signed-digest]
        whose = np.ascontiguousarray(person_digests(persons, keyed).T)
        yield pa.record_batch(
            [
                _fixed(whose.tobytes(), len(persons), _PERSON_BYTES),
                pa.array(mask),
                pa.array(digests.view(np.int64)),
                _fixed(_ordered_bytes(values), len(persons), 4 * len(values)),
            ],
            schema=PERSON_ROWS,
        )


def capped_sums(batches: Iterable[RecordBatch], work: Work, sums: Sums, part: int) -> PartSums:
    """Sum rows of whole persons that are within the cap; batches have `place`, counted from 1, `kept` and `row`."""
    capped = _Capped(batches, work)
    if isinstance(sums, PersonSums):
        for chunk, starts in whole_persons(capped.marked_chunks()):
            sums.add_persons(chunk, starts)
    else:
        for chunk, _ in capped.marked_chunks():
            sums.add(chunk)
    return capped.part_sums(sums, part)


def capped_rows(batches: Iterable[RecordBatch], work: Work, part: int) -> Iterator[Block | PartSums]:
    """The same rows block by block, with the marks of clipped cells behind them, and at the end their counts."""
    capped = _Capped(batches, work)
    for values, first in capped.rows():
        if len(first):
            yield _block(first, values)
    yield capped.part_sums(NoSums(), part)


class _Capped:
    """Rows that count of whole persons, and what is counted of them on the way."""

    def __init__(self, batches: Iterable[RecordBatch], work: Work) -> None:
        self._batches = batches
        self._work = work
        self._size = row_size(work.design)
        self._digest = RowSetDigest(work.design, work.domain) if work.digest else None
        self._clips = ClipCounter(work.design) if work.marks else None
        self._persons = self._fitting = self._other = 0
        self._last_place = 0

    def rows(self) -> Iterator[tuple[npt.NDArray[np.int32], Marks]]:
        """The integers of rows that no rule drops besides the constant, and which rows are the first of a person."""
        width = self._size - 1 + self._work.marks
        # a sum takes no more rows at a time than its arithmetic is exact for
        most = chunk_rows(self._work.chunk_rows, self._size, self._work.domain.grid_bits)
        for batch in self._batches:
            for start in range(0, batch.num_rows, most):
                one = batch.slice(start, most)
                place = np.from_dlpack(one.column("place").cast(pa.int64()))
                kept = np.from_dlpack(one.column("kept").cast(pa.int8())) == 1
                self._check_order(place)
                values = _values(one.column("row"), width)
                self._persons += int((place == 1).sum())
                self._fitting += int(kept.sum())
                self._other += int((~kept).sum())
                if self._digest is not None:
                    self._digest.add(np.concatenate([np.ones((1, len(place))), [kept], [place], values]))
                yield values[:, kept], place[kept] == 1

    def _check_order(self, place: npt.NDArray[Any]) -> None:
        """Refuse rows that do not follow one another person by person, each from its first place on."""
        before = np.concatenate([[self._last_place], place[:-1]])
        if not ((place == 1) | (place == before + 1)).all():  # [P:whole-persons-of-an-engine]
            raise RuntimeError("rows of persons are out of order")
        self._last_place = int(place[-1])

    def marked_chunks(self) -> Iterator[tuple[FloatArray, Marks]]:
        """The same as rows (1, x, y); clipped cells are counted."""
        for values, first in self.rows():
            if self._clips is not None:
                self._clips.add(values[self._size - 1 :])
            chunk = np.empty((self._size, len(first)))
            chunk[0] = self._work.domain.unit
            chunk[1:] = values[: self._size - 1]
            yield chunk, first

    def part_sums(self, sums: Sums, part: int) -> PartSums:
        """What was summed and counted."""
        clipped = () if self._clips is None else self._clips.totals()
        totals: Totals = totals_of(sums, self._persons, clipped, (self._fitting, self._other))
        return PartSums(totals, 0 if self._digest is None else self._digest.total, (part,))


def _block(first: Marks, values: npt.NDArray[np.generic]) -> Block:
    block = np.empty((1 + len(values), len(first)), dtype=np.int32)
    block[0] = first
    block[1:] = values
    return block


def _fixed(data: bytes, count: int, width: int) -> Array:
    """Cells of one number of bytes each, of a type without a fixed width, which is all that Spark has."""
    ends = np.arange(count + 1, dtype=np.int32) * np.int32(width)
    return pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(ends), pa.py_buffer(data)])


def _ordered_bytes(values: npt.NDArray[np.int32]) -> bytes:
    """Each column of integers as bytes in whose order the columns are sorted as the integers are."""
    return (values.view(np.uint32) ^ _TOP_32).T.astype(">u4").tobytes()  # [P:ordered-values]


def _values(rows: Array, width: int) -> npt.NDArray[np.int32]:
    """The columns of integers that `_ordered_bytes` wrote."""
    data = b"".join(rows.to_pylist()) if pa.types.is_large_binary(rows.type) else _joined(rows)
    found = np.frombuffer(data, dtype=">u4").astype(np.uint32) ^ _TOP_32
    return np.ascontiguousarray(found.view(np.int32).reshape(-1, width).T)


def _joined(rows: Array) -> memoryview:
    _, ends, data = rows.buffers()
    bounds = np.frombuffer(ends, dtype=np.int32)[[rows.offset, rows.offset + len(rows)]]
    return memoryview(data)[int(bounds[0]) : int(bounds[1])]
