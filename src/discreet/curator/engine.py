"""Define the interface of an external engine, and the work that its workers do."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from operator import add as add_totals
from typing import TYPE_CHECKING, Any, Final, Protocol, Self, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.curator.buffered_rows import Marks, whole_persons
from discreet.curator.individuals import cap_key, known_persons, person_digests, row_digests
from discreet.curator.rows import digest_kind, row_size
from discreet.curator.summing import summed, table_rows, totals_of
from discreet.curator.sums.cell_counts import ClipCounter
from discreet.curator.sums.gram import IndividualSums, Sums, Totals, chunk_rows
from discreet.curator.sums.row_counts import RowCounts
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import DataError
from discreet.exact.arrays import FloatArray
from discreet.tables.arrow import declared_arrays
from discreet.tables.cells import settle_missing
from discreet.tables.frames import Origin

if TYPE_CHECKING:
    from pyarrow import Array, RecordBatch

# -- engine ------------------------------------------------------------------------------------------------------------
# An engine sums rows where they are stored. Exact sums add up, so an engine is anything that calls `summed` on parts of
# a table and adds the results. Only the release draws noise, after the sums of all parts are complete.

# bytes of one exact sum that is sent between workers, far more than any number of rows needs
_WIDTH: Final = 32
# function of marks on the first row of each individual, and of rows as columns of integers
TakeRows: TypeAlias = Callable[[npt.NDArray[np.bool_], npt.NDArray[np.int32]], None]


@dataclass(frozen=True, slots=True)
class Work:
    """Public settings that every worker receives. `chunk_rows` does not affect the result."""

    design: Design
    domain: RowDomain
    chunk_rows: int
    clip_counts: bool = False
    digest: bool = False

    @property
    def marks(self) -> int:
        """Number of clipping indicators stored after the values of each row if the privacy unit is an individual."""
        counted = self.clip_counts and self.design.unit.id is not None and not self.design.searched
        return len(self.design.clippable) if counted else 0


@runtime_checkable
class Engine(Protocol):
    """Table whose rows an external program reads and sums. It takes the place of a source."""

    @property
    def origin(self) -> Origin | None:
        """How the rows are produced, or None."""
        ...

    @property
    def read_as(self) -> Mapping[str, object]:
        """Reading options, as recorded in a ledger."""
        ...

    @property
    def fingerprint(self) -> Callable[[bytes], str] | None:
        """Always None, because the fingerprint is computed from the rows while they are read."""
        ...

    def sum_rows(self, work: Work, sums: Sums) -> PartSums:
        """Sum the rows exactly, including no more rows of an individual than the cap allows."""
        ...

    def set_aside(self, work: Work, take: TakeRows) -> PartSums:
        """Call `take` with the included rows, grouped by individual, and return their counts."""
        ...


class PartSums:
    """Exact sums over some parts of a table. Sensitive: they must stay with the curator.

    `parts` holds the indices of the parts, so that a missing or repeated part is detected. `digest` is the sum of the
    row digests, or 0 if rows are not digested. The ledger stores only a keyed hash of the digest.

    >>> first = PartSums(Totals((3, -4), 8, RowCounts(2, (2, 0))), 5, (0,))
    >>> both = first + PartSums.unpacked(PartSums(Totals((1, 1), 8, RowCounts(1, (1, 0))), 6, (1,)).packed())
    >>> both.totals.values, both.totals.counts.units, both.digest, both.parts
    ((4, -3), 3, 11, (0, 1))
    """

    __slots__ = ("digest", "parts", "totals")

    def __init__(self, totals: Totals, digest: int = 0, parts: Sequence[int] = ()) -> None:
        self.totals = totals
        self.digest = digest
        self.parts = tuple(parts)

    def __add__(self, other: PartSums) -> PartSums:
        return PartSums.added([self, other])

    def __repr__(self) -> str:
        return "<PartSums: sensitive, not shown>"

    @classmethod
    def added(cls, sums: Sequence[PartSums]) -> PartSums:
        """Add the sums of several parts."""
        totals = reduce(add_totals, (part.totals for part in sums))
        return cls(totals, sum(part.digest for part in sums), tuple(chain.from_iterable(part.parts for part in sums)))

    def packed(self) -> bytes:
        """Serialise the sums for another worker of the same curator."""
        totals, cells = self.totals, self.totals.cells
        head = {
            "unit": totals.unit,
            "counts": totals.counts.packed(),
            "digest": self.digest,
            "parts": self.parts,
            "values": len(totals.values),
            "cells": None if cells is None else cells.shape,
        }
        values = b"".join(value.to_bytes(_WIDTH, "big", signed=True) for value in totals.values)
        counts = b"" if cells is None else np.ascontiguousarray(cells, dtype="<i8").tobytes()
        return json.dumps(head).encode() + b"\n" + values + counts

    @classmethod
    def unpacked(cls, body: bytes) -> PartSums:
        """Read sums from the bytes that `packed` wrote."""
        line, _, rest = body.partition(b"\n")
        head = json.loads(line)
        end = head["values"] * _WIDTH
        values = tuple(
            int.from_bytes(rest[start : start + _WIDTH], "big", signed=True) for start in range(0, end, _WIDTH)
        )
        shape = head["cells"]
        cells = None if shape is None else np.frombuffer(rest[end:], dtype="<i8").astype(np.int64).reshape(shape)
        totals = Totals(values, head["unit"], RowCounts.unpacked(head["counts"]), cells)
        return cls(totals, head["digest"], head["parts"])

    def check_complete(self) -> None:
        """Raise DataError if a part of the table is missing or was summed twice."""
        if sorted(self.parts) != list(range(len(self.parts))):  # [P:all-parts-once]
            raise DataError(
                "a part of the table was lost or summed twice, so nothing was released; run the release again, from a "
                "table that does not change during the run"
            )


# -- row set digest ----------------------------------------------------------------------------------------------------
# Tables that an engine reads need a fingerprint that does not depend on the order of rows.
# 64-bit digests are added in fields wide enough that no number of parts carries into the next field
_LANES: Final = 2
_APART: Final = 128


class RowSetDigest:
    """Digest of encoded rows that does not depend on their order. Digests of parts of a table can be added.

    The digest is the sum of the digests of single rows, which detects accidental changes. A deliberate change that
    preserves the sum is not detected, but nobody gains by such a change, because the existing release is then returned.

    >>> design = Design("y", {"y": (0, 1), "x": (0, 1)})
    >>> whole, first, second = (RowSetDigest(design, RowDomain.of(design)) for _ in range(3))
    >>> whole.add(np.array([[8.0, 8.0], [1.0, 2.0]]))
    >>> first.add(np.array([[8.0], [2.0]]))
    >>> second.add(np.array([[8.0], [1.0]]))
    >>> first.take(first.total + second.total, (2, 2, 0))
    >>> whole.take(whole.total, (2, 2, 0))
    >>> whole.keyed(b"key") == first.keyed(b"key")
    True
    """

    def __init__(self, design: Design, domain: RowDomain) -> None:
        self._kind = digest_kind(design, domain)
        self._counts: tuple[int, ...] = ()
        self.total = 0

    def add(self, chunk: FloatArray) -> None:
        """Add rows (1, x, y) in grid steps, which are the columns of `chunk`. The constant is ignored."""
        values = chunk[1:].astype(np.int32)
        digests = [row_digests(values, int(self._kind, 16) ^ lane).sum(dtype=np.uint64) for lane in range(_LANES)]
        lanes = [(before + int(more)) % 2**64 for before, more in zip(self._lanes(), digests, strict=True)]
        self.total = sum(lane << (_APART * place) for place, lane in enumerate(lanes))

    def take(self, total: int, counts: Iterable[int]) -> None:
        """Replace the digest by the sum of the digests of all parts, and store the counts of rows."""
        self.total = total
        self._counts = tuple(counts)

    def keyed(self, key: bytes) -> str:
        """Return the fingerprint, which is a hash of the digest and the counts with a secret key."""
        both = json.dumps([self._lanes(), self._counts]).encode()
        return f"row-set:{self._kind}:{hmac.new(key, both, hashlib.sha256).hexdigest()}"

    def _lanes(self) -> list[int]:
        return [(self.total >> (_APART * lane)) % 2**64 for lane in range(_LANES)]


# -- tasks -------------------------------------------------------------------------------------------------------------
# A worker of an engine turns the record batches of its part into sums or buffered rows. All functions depend only on
# their arguments, so recomputing a part gives the same bytes.

# format of the rows before they are grouped by individual
PERSON_ROWS: Final = pa.schema(
    [("person", pa.binary()), ("kept", pa.bool_()), ("digest", pa.int64()), ("row", pa.binary())]
)
# included rows as integers, one per column; the first integer marks the start of an individual
Block: TypeAlias = npt.NDArray[np.int32]
# flipping the top bit maps unsigned integers to signed ones and preserves their order
_TOP: Final = np.uint64(1 << 63)
_TOP_32: Final = np.uint32(1 << 31)
_PERSON_BYTES: Final = 32


class NoSums:
    """Empty sums, for a pass that only buffers rows."""

    unit: Final = 1

    def empty(self) -> Self:
        """Return the same object."""
        return self

    def add(self, chunk: FloatArray) -> None:
        """Ignore a chunk of rows."""

    def totals(self) -> tuple[int, ...]:
        """Return an empty tuple."""
        return ()


def part_sums(batches: Iterable[RecordBatch], work: Work, sums: Sums, part: int) -> PartSums:
    """Sum one part of a table in which every row is a privacy unit."""
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
    """Yield the encoded rows of one part in blocks, followed by their counts.

    Rows are imputed cells while bounds are unknown.
    """
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
    """Yield the rows of one part with a digest of their ids, so that they can be grouped by individual and capped.

    The batches have the schema `PERSON_ROWS`. The rows of an individual must be ordered by `kept` (true first),
    `digest` and `row`, as in `IndividualCap`. The program that sorts them has only signed integers, so the top bit of
    each digest is flipped. This program compares bytes as unsigned integers, so the values of a row are written in
    big-endian order with their top bits flipped. `key` is a secret of this release. Without the key, data left on a
    disk cannot be linked to ids.
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
    """Sum the rows that the cap allows, from batches of complete individuals.

    The batches have the columns `place` (from 1), `kept` and `row`.
    """
    capped = _Capped(batches, work)
    if isinstance(sums, IndividualSums):
        for chunk, starts in whole_persons(capped.marked_chunks()):
            sums.add_persons(chunk, starts)
    else:
        for chunk, _ in capped.marked_chunks():
            sums.add(chunk)
    return capped.part_sums(sums, part)


def capped_rows(batches: Iterable[RecordBatch], work: Work, part: int) -> Iterator[Block | PartSums]:
    """Yield the rows that `capped_sums` includes in blocks, with clipping indicators, followed by their counts."""
    capped = _Capped(batches, work)
    for values, first in capped.rows():
        if len(first):
            yield _block(first, values)
    yield capped.part_sums(NoSums(), part)


class _Capped:
    """Reader of the included rows of complete individuals, which also counts them."""

    def __init__(self, batches: Iterable[RecordBatch], work: Work) -> None:
        self._batches = batches
        self._work = work
        self._size = row_size(work.design)
        self._digest = RowSetDigest(work.design, work.domain) if work.digest else None
        self._clips = ClipCounter(work.design) if work.marks else None
        self._persons = self._fitting = self._other = 0
        self._last_place = 0

    def rows(self) -> Iterator[tuple[npt.NDArray[np.int32], Marks]]:
        """Yield blocks of included rows without the constant.

        Each block comes with an array that marks the first row of every individual.
        """
        width = self._size - 1 + self._work.marks
        # a sum takes at most as many rows as its arithmetic can add exactly
        most = chunk_rows(self._work.chunk_rows, self._size, self._work.domain.grid_bits)
        for batch in self._batches:
            for start in range(0, batch.num_rows, most):
                piece = batch.slice(start, most)
                place = np.from_dlpack(piece.column("place").cast(pa.int64()))
                kept = np.from_dlpack(piece.column("kept").cast(pa.int8())) == 1
                self._check_order(place)
                values = _values(piece.column("row"), width)
                self._persons += int((place == 1).sum())
                self._fitting += int(kept.sum())
                self._other += int((~kept).sum())
                if self._digest is not None:
                    self._digest.add(np.concatenate([np.ones((1, len(place))), [kept], [place], values]))
                yield values[:, kept], place[kept] == 1

    def _check_order(self, place: npt.NDArray[Any]) -> None:
        """Raise an error if rows are not grouped by individual and ordered by `place`."""
        before = np.concatenate([[self._last_place], place[:-1]])
        if not ((place == 1) | (place == before + 1)).all():  # [P:whole-persons-of-an-engine]
            raise RuntimeError("the rows of an individual are out of order")
        self._last_place = int(place[-1])

    def marked_chunks(self) -> Iterator[tuple[FloatArray, Marks]]:
        """Yield rows (1, x, y), mark the first row of each individual, and count clipped cells."""
        for values, first in self.rows():
            if self._clips is not None:
                self._clips.add(values[self._size - 1 :])
            chunk = np.empty((self._size, len(first)))
            chunk[0] = self._work.domain.unit
            chunk[1:] = values[: self._size - 1]
            yield chunk, first

    def part_sums(self, sums: Sums, part: int) -> PartSums:
        """Return the sums together with the counts of rows, of individuals and of clipped cells."""
        clipped = () if self._clips is None else self._clips.totals()
        totals = totals_of(sums, RowCounts(self._persons, (self._fitting, self._other), clipped))
        return PartSums(totals, 0 if self._digest is None else self._digest.total, (part,))


def _block(first: Marks, values: npt.NDArray[np.generic]) -> Block:
    block = np.empty((1 + len(values), len(first)), dtype=np.int32)
    block[0] = first
    block[1:] = values
    return block


def _fixed(data: bytes, count: int, width: int) -> Array:
    """Build an Arrow array of binary cells with `width` bytes each.

    Its type has variable width, because Spark has no other binary type.
    """
    ends = np.arange(count + 1, dtype=np.int32) * np.int32(width)
    return pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(ends), pa.py_buffer(data)])


def _ordered_bytes(values: npt.NDArray[np.int32]) -> bytes:
    """Encode each column of integers as bytes whose order is that of the integers."""
    return (values.view(np.uint32) ^ _TOP_32).T.astype(">u4").tobytes()  # [P:ordered-values]


def _values(rows: Array, width: int) -> npt.NDArray[np.int32]:
    """Decode the integers that `_ordered_bytes` encoded, with one observation in each column."""
    data = b"".join(rows.to_pylist()) if pa.types.is_large_binary(rows.type) else _joined(rows)
    integers = np.frombuffer(data, dtype=">u4").astype(np.uint32) ^ _TOP_32
    return np.ascontiguousarray(integers.view(np.int32).reshape(-1, width).T)


def _joined(rows: Array) -> memoryview:
    _, ends, data = rows.buffers()
    bounds = np.frombuffer(ends, dtype=np.int32)[[rows.offset, rows.offset + len(rows)]]
    return memoryview(data)[int(bounds[0]) : int(bounds[1])]
