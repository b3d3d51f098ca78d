"""Rows in the order in which those of a person count, and the rows that may still count, all of them in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from pyarrow import Array

_KEY_BITS: Final = 64
_NO_LIMIT: Final = np.uint64(2**64 - 1)
# candidates are pruned again when they have grown by this factor: fewer times, or less memory
_GROWTH: Final = 1.5
# rows that are sorted at once, about, and the most pieces
_ROWS_AT_ONCE: Final = 2**18
_MOST_PIECES: Final = 2**8 - 1


@dataclass(frozen=True, slots=True)
class PersonRows:
    """Rows with the numbers of their persons, whether each is kept, digests and values.

    Values have shape (values of a row, rows) and are zeros where a row is not kept.
    """

    persons: npt.NDArray[np.int32]
    kept: npt.NDArray[np.bool_]
    digests: npt.NDArray[np.uint64]
    values: npt.NDArray[np.int32]

    @staticmethod
    def empty(values: int, rows: int = 0) -> PersonRows:
        """Rows that are yet to be written."""
        kept, digests = np.empty(rows, dtype=np.bool_), np.empty(rows, dtype=np.uint64)
        return PersonRows(np.empty(rows, dtype=np.int32), kept, digests, np.empty((values, rows), dtype=np.int32))

    @property
    def nbytes(self) -> int:
        """Memory that the rows take."""
        return self.persons.nbytes + self.kept.nbytes + self.digests.nbytes + self.values.nbytes

    @property
    def ranks(self) -> npt.NDArray[np.uint64]:
        """Numbers in the order of a person's rows: a smaller one comes first, equal rows have one, others may."""
        ranks = self.digests >> np.uint64(1)
        ranks[~self.kept] |= np.uint64(1 << 63)  # [P:ranks]
        return ranks

    def some(self, rows: npt.NDArray[np.intp]) -> PersonRows:
        """Copy some rows, given by their indices."""
        return PersonRows(self.persons[rows], self.kept[rows], self.digests[rows], np.take(self.values, rows, axis=1))

    def part(self, start: int, end: int) -> PersonRows:
        """Rows that follow one another, without a copy."""
        rows = slice(start, end)
        return PersonRows(self.persons[rows], self.kept[rows], self.digests[rows], self.values[:, rows])

    def write(self, rows: PersonRows) -> None:
        """Write as many rows over these."""
        self.persons[:], self.kept[:], self.digests[:], self.values[:] = (
            rows.persons,
            rows.kept,
            rows.digests,
            rows.values,
        )


class Candidates:
    """Rows that may be among the first `most` of their person: memory grows with persons, and not with their rows.

    A row is dropped as soon as there are `most` others of its person that come before it or equal it.

    Parameters
    ----------
    most
        Rows of each person that are needed.
    values
        Values of a row.

    Examples
    --------
    >>> import pyarrow as pa
    >>> candidates = Candidates(most=1, values=1)
    >>> rows = PersonRows.empty(1, 2)
    >>> for digests in [5, 6], [4, 9]:
    ...     rows.kept[:], rows.digests[:], rows.values[:] = True, digests, digests
    ...     candidates.add([pa.array(["a", "b"])], rows)
    >>> candidates.prune()
    >>> candidates.persons, candidates.rows.digests.tolist()
    (2, [4, 6])
    >>> candidates.add([pa.array(["a", "b"])], rows)
    >>> candidates.rows.digests.tolist()
    [4, 6]
    """

    def __init__(self, most: int, values: int) -> None:
        self._most = most
        self._size = values
        # memory is taken when rows are written: those that were pruned last, then others
        self._room = PersonRows.empty(values)
        self._used = 0
        self._pruned_bytes = 0
        self.ids: Array | None = None
        # of each person the rank and the index of the last row that is needed; none where there are fewer rows
        self._limits = np.empty(0, dtype=np.uint64)
        self._at_limit = np.empty(0, dtype=np.int32)

    @property
    def rows(self) -> PersonRows:
        """All candidates."""
        return self._room.part(0, self._used)

    @property
    def persons(self) -> int:
        """Number of different ids."""
        return len(self._limits)

    @property
    def nbytes(self) -> int:
        """Memory that rows and ids take."""
        ids = 0 if self.ids is None else int(self.ids.nbytes)
        return ids + self._limits.nbytes + self._at_limit.nbytes + self.rows.nbytes

    @property
    def grown(self) -> bool:
        """Whether so many rows were added that it pays to prune them."""
        return self.nbytes > _GROWTH * self._pruned_bytes

    def add(self, ids: Sequence[Array], rows: PersonRows) -> None:
        """Take the ids of some rows, at least one, in parts, and the rows, which may be written anew afterwards."""
        start = 0
        for persons in self._numbers(ids):
            end = start + len(persons)
            part = replace(rows.part(start, end), persons=persons)
            self._write(part.some(np.flatnonzero(self._may_count(part))))
            start = end

    def _write(self, rows: PersonRows) -> None:
        end = self._used + len(rows.kept)
        if end > len(self._room.kept):
            room = PersonRows.empty(self._size, 2 * end)
            room.part(0, self._used).write(self.rows)
            self._room = room
        self._room.part(self._used, end).write(rows)
        self._used = end

    def by_person(self) -> Iterator[PersonRows]:
        """All candidates in the order of `ordered_rows`, some persons at a time, which takes little memory."""
        return self._sorted(self.rows)

    def _sorted(self, rows: PersonRows) -> Iterator[PersonRows]:
        pieces = min(len(rows.kept) // _ROWS_AT_ONCE + 1, _MOST_PIECES)
        shift = max(self.persons.bit_length() - pieces.bit_length(), 0)
        piece = (rows.persons >> shift).astype(np.uint8)  # [P:pieces]
        for number in range(int(piece.max(initial=0)) + 1):
            some = rows.some(np.flatnonzero(piece == number))
            yield some.some(ordered_rows(some.persons, some.kept, some.digests, some.values))

    def prune(self) -> None:
        """Drop all rows that cannot count."""
        pieces = self._sorted(self.rows)
        self._room, self._used = PersonRows.empty(self._size, len(self._room.kept)), 0
        for rows in pieces:
            place = Places().of([rows.persons])
            within = np.flatnonzero(place < self._most)  # [P:candidates]
            last = np.flatnonzero(place[within] == self._most - 1)
            whose, ranks = rows.persons[within[last]], rows.ranks[within[last]]
            self._limits[whose], self._at_limit[whose] = ranks, self._used + last  # [P:last-candidate]
            self._write(rows.some(within))
        self._pruned_bytes = self.nbytes

    def _may_count(self, rows: PersonRows) -> npt.NDArray[np.bool_]:
        """Whether a row comes before the last one needed of its person, or there are fewer."""
        limits, ranks = np.take(self._limits, rows.persons), rows.ranks
        may_count = ranks <= limits
        tied = np.flatnonzero((ranks == limits) & (limits != _NO_LIMIT))
        last = np.take(self._room.values, self._at_limit[rows.persons[tied]], axis=1)
        may_count[tied] = (np.take(rows.values, tied, axis=1) != last).any(axis=0)  # [P:cannot-count]
        return may_count

    def _numbers(self, ids: Sequence[Array]) -> list[npt.NDArray[np.int32]]:
        """Number persons from 0 on, with no two ids under one number."""
        import pyarrow as pa

        known = [] if self.ids is None else [self.ids]
        chunks = [*known, *ids]
        if len({chunk.type for chunk in chunks}) != 1:
            # an integer and its text are one id
            chunks = [chunk.cast(pa.large_string()) for chunk in chunks]
        coded = pa.chunked_array(chunks).dictionary_encode().chunks
        flat = np.concatenate([np.from_dlpack(chunk.indices) for chunk in coded])
        numbers = np.split(flat, np.cumsum([len(chunk) for chunk in chunks[:-1]]))  # [P:person-number]
        self.ids = coded[-1].dictionary
        limits, at_limit = np.full(len(self.ids), _NO_LIMIT), np.zeros(len(self.ids), dtype=np.int32)
        for now in numbers[: len(known)]:
            # the numbers that persons have now who had 0, 1, 2 and so on
            limits[now], at_limit[now] = self._limits, self._at_limit
            self.rows.persons[:] = now[self.rows.persons]  # [P:numbers-anew]
        self._limits, self._at_limit = limits, at_limit
        return numbers[len(known) :]


class Places:
    """The places of rows among those of their person, from 0 on, where the rows of a person follow one another."""

    def __init__(self) -> None:
        self._last: list[Any] | None = None
        self._rows = 0

    def of(self, person: Sequence[npt.NDArray[Any]]) -> npt.NDArray[np.intp]:
        """The places of the next rows, whose persons are given by some columns."""
        index = np.arange(len(person[0]))
        first = np.zeros(len(index), dtype=np.bool_)
        for column in person:
            first[1:] |= column[1:] != column[:-1]
        if len(index) == 0:
            return index
        # the first row may go on with the person of the last batch
        first[0] = self._last is None or [column[0] for column in person] != self._last
        places: npt.NDArray[np.intp] = index - np.maximum.accumulate(np.where(first, index, -self._rows))
        self._last, self._rows = [column[-1] for column in person], int(places[-1]) + 1
        return places


def ordered_rows(
    persons: npt.NDArray[np.int32],
    kept: npt.NDArray[np.bool_],
    digests: npt.NDArray[np.uint64],
    values: npt.NDArray[np.int32],
) -> npt.NDArray[np.intp]:
    """The places of rows sorted by person, kept ones first, then by digest, then by value; equal rows in any order.

    Parameters
    ----------
    persons
        The number of each row's person, from 0 on.
    kept, digests
        Of each row; rows of the same values have one digest.
    values
        Shape (values of a row, rows).

    Examples
    --------
    >>> digests, values = np.array([5, 3, 3, 9], dtype=np.uint64), np.array([[1, 8, 7, 0]], dtype=np.int32)
    >>> ordered_rows(np.array([1, 0, 0, 0], dtype=np.int32), np.ones(4, dtype=np.bool_), digests, values).tolist()
    [2, 1, 3, 0]
    """
    rows = len(persons)
    place_bits = rows.bit_length()
    # whatever bits are left; numbers of persons and of rows have at most 31, so there are some
    digest_bits = _KEY_BITS - 1 - place_bits - int(persons.max(initial=0)).bit_length()
    key = persons.astype(np.uint64)
    key <<= np.uint64(1)
    key |= ~kept
    key <<= np.uint64(digest_bits)
    key |= digests >> np.uint64(_KEY_BITS - digest_bits)
    key <<= np.uint64(place_bits)
    key |= np.arange(rows, dtype=np.uint64)
    # numbers that hold their own places sort faster than places do  [P:order-in-memory]
    key.sort()
    order = (key & np.uint64((1 << place_bits) - 1)).view(np.intp)
    key >>= np.uint64(place_bits)
    _settle_ties(order, key, digests, values)
    return order


def _settle_ties(
    order: npt.NDArray[np.intp],
    key: npt.NDArray[np.uint64],
    digests: npt.NDArray[np.uint64],
    values: npt.NDArray[np.int32],
) -> None:
    """Sort rows with one key by their whole digest and their values, in place."""
    tied = np.flatnonzero(key[1:] == key[:-1])
    first, second = (np.take(values, order[places], axis=1) for places in (tied, tied + 1))
    unequal = tied[(first != second).any(axis=0)]
    if len(unequal) == 0:
        # rows with one key are equal, and a dropped row has no values
        return
    places = np.flatnonzero(np.isin(key, key[unequal]))
    rows = order[places]
    by = (*values[::-1, rows], digests[rows], key[places])
    order[places] = rows[np.lexsort(by)]  # [P:ties-in-memory]
