"""Keep at most `max_rows` rows of each individual, whatever the order of the table."""

from __future__ import annotations

import hashlib
import math
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.curator import buffered_rows
from discreet.curator.buffered_rows import KeptParts, KeptRows, PrivateFolder
from discreet.design.design import Design
from discreet.errors import DataError, missing_extra
from discreet.exact.arrays import FloatArray
from discreet.tables.database import is_interrupt

if TYPE_CHECKING:
    from pyarrow import Array, Buffer

# -- person order ------------------------------------------------------------------------------------------------------
# Rows in the order in which those of a person count, and the rows that may still count, all of them in memory.

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


# -- persons -----------------------------------------------------------------------------------------------------------
# Units of several rows: at most k rows of each person, whatever the order of the table.
#
# Kept are the k rows with the smallest keyed digest of their grid values, ties broken by the values themselves, so
# which rows stay depends on that person's rows alone. Rows that may still be among them wait, up to a stated size in
# memory, where they are sorted and pruned, and beyond it in a database on disk, in a private folder, so that memory
# does not grow with the table. Ids are not among what waits on disk: a keyed digest replaces each, and the key never
# leaves the memory of the process.

# what the database calls the disk that its rows may take
_DISK_LIMIT: Final = "max_temp_directory_size"
# memory of the database in MB, and at least so much for each column: it holds a block of every column at once
_MEMORY: Final = 512
_MEMORY_OF_COLUMN: Final = 1
# batches with fewer rows are joined before they wait: one costs as much as some thousand rows
_FEW_ROWS: Final = 4096
# rows written to the database at a time
_MANY_ROWS: Final = 2**16
# memory for rows that may count, as a multiple of that for rows that were not compared yet
_CANDIDATES: Final = 2
# digests of ids, in pieces that the database sorts as fast as it sorts numbers
_DIGEST_BYTES: Final = 32
_PERSON: Final = ("p0", "p1", "p2", "p3")
# nothing is fetched, no other file is read, nothing is drawn on the terminal
_OFF: Final = (
    "autoinstall_known_extensions", "autoload_known_extensions", "enable_external_access", "enable_progress_bar",
)  # fmt: skip
# the finaliser of SplitMix64 (Steele, Lea & Flood 2014): it spreads the rows, no secrecy rests on it
_MULTIPLIERS: Final = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))

# columns that identify the persons of rows, whether each row is kept, and values
_Sorted: TypeAlias = tuple[Sequence[npt.NDArray[Any]], npt.NDArray[np.bool_], npt.NDArray[np.int32]]


class PersonCap:
    """Rows of a table by person, in memory or in a database file inside a private folder that goes away with it.

    Parameters
    ----------
    design
        Whose persons they are.
    values
        Integers in a row besides the constant: (x, y), or its settled cells, and marks of it, if any; all of them break
        ties.
    threads
        With how many the database works; the rows that stay are the same.
    count_over
        Whether `over_cap` will be called: one more row of each person waits.
    """

    def __init__(self, design: Design, values: int, *, threads: int = 1, count_over: bool = False) -> None:
        self._max_rows = design.unit.max_rows
        self._most = self._max_rows + count_over
        self._size = values
        self._threads = threads
        self._key = cap_key(design)
        # asked for before it is known whether there are many rows, so that an error does not depend on that
        self._connect = _duckdb_connect()
        # a new one for each table, held in memory only: what is left of a killed process cannot be tied to ids
        self._keyed = hashlib.blake2b(key=secrets.token_bytes(hashlib.blake2b.MAX_KEY_SIZE), digest_size=_DIGEST_BYTES)
        self._opened: Any = None
        # rows that were not compared yet: their ids, and the rest of them in one block that is used again and again
        self._ids: list[Array] = []
        self._block = PersonRows.empty(values)
        self._used = 0
        self._fitting = 0
        self._candidates = Candidates(self._most, values)
        self._on_disk = False
        self._folder = PrivateFolder()

    def __enter__(self) -> PersonCap:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close(value)

    def _close(self, error: BaseException | None) -> None:
        """Remove the rows, whatever happens, and call an interrupt by its name."""
        try:
            # with its folder gone nothing of it is left, closed or not
            with suppress(Exception):
                self._opened.close()
        finally:
            self._folder.close()
        if error is not None and is_interrupt(error):
            _raise_alone(KeyboardInterrupt())
        if error is not None and _is_of_duckdb(error):
            # nothing but the disk or its memory can fail there, and its own words might hold cells
            _raise_alone(buffered_rows.no_memory() if _is_short_of_memory(error) else buffered_rows.no_room())

    def add(self, persons: Array, kept: npt.NDArray[np.bool_] | None, grid: FloatArray) -> None:
        """Take one batch: the person of every row read, which rows are kept, and the kept rows (1, x, y) in steps.

        Persons are as `known_ids` or `known_persons` gives them.
        """
        rows = len(persons)
        if rows == 0:
            return
        if self._used + rows > len(self._block.kept):
            self._compare()
            self._block = PersonRows.empty(
                self._size, max(rows, buffered_rows.IN_MEMORY_BYTES // _row_bytes(self._size))
            )
        block = self._block.part(self._used, self._used + rows)
        if kept is None:
            block.kept[:] = True
            np.copyto(block.values, grid[1:], casting="unsafe")
        else:
            block.kept[:], block.values[:] = kept, 0
            block.values[:, kept] = grid[1:]
        block.digests[:] = row_digests(block.values, self._key)
        self._fitting += int(block.kept.sum())
        self._used += rows
        self._add_ids(persons)
        ids_bytes = sum(ids.nbytes for ids in self._ids)
        if ids_bytes + self._used * _row_bytes(self._size) > buffered_rows.IN_MEMORY_BYTES:
            self._compare()

    def _add_ids(self, persons: Array) -> None:
        """Let ids wait."""
        import pyarrow as pa

        if self._ids and len(self._ids[-1]) < _FEW_ROWS and self._ids[-1].type == persons.type:
            persons = pa.concat_arrays([self._ids.pop(), persons])
        self._ids.append(persons)

    def _compare(self) -> None:
        """Compare the rows that wait with those that may count, and put those on disk where they are too many."""
        self._add_candidates()
        if self._candidates.grown:
            self._candidates.prune()
            if self._candidates.nbytes > _CANDIDATES * buffered_rows.IN_MEMORY_BYTES:
                self._write()

    def _add_candidates(self) -> None:
        if self._ids:
            self._candidates.add(self._ids, self._block.part(0, self._used))
        self._ids.clear()
        self._used = 0

    def over_cap(self) -> tuple[int, int, int]:
        """Persons, those among them with more rows than count, and the number of rows beyond; for a check only."""
        if self._on_disk:
            self._write()
            rows_of_each = f"SELECT sum(kept::BIGINT) AS n FROM entries GROUP BY {', '.join(_PERSON)}"
            persons, over, within = self._database.sql(
                f"SELECT count(*), count(*) FILTER (n > {self._max_rows}), "
                f"coalesce(sum(least(n, {self._max_rows})), 0) FROM ({rows_of_each})"
            ).fetchall()[0]
            return int(persons), int(over), self._fitting - int(within)
        self._add_candidates()
        rows = self._candidates.rows
        found = np.bincount(rows.persons[rows.kept])
        within = np.minimum(found, self._max_rows)
        return self._candidates.persons, int((found > within).sum()), self._fitting - int(within.sum())

    def keep(self, kept: KeptParts | KeptRows, batch_rows: int) -> tuple[int, tuple[int, int]]:
        """Set aside the rows that stay; give the number of persons, and the numbers of rows that fit and that do not.

        Persons whose rows are all dropped count too. Of each person no more rows than the cap are in the two numbers
        together, those that stay first.
        """
        persons = fitting = other = 0
        places = Places()
        for person, fits, values in self._sorted_on_disk(batch_rows) if self._on_disk else self._sorted_in_memory():
            place = places.of(person)
            # rows that no rule drops come first, so a place among the first is a place among those
            within = place < self._max_rows  # [P:rows-that-count]
            stays = within & fits
            persons += int((place == 0).sum())
            # [P:rows-within-the-cap]
            fitting, other = fitting + int(stays.sum()), other + int((within & ~fits).sum())
            kept.add(place[stays] == 0, values[:, stays])
        return persons, (fitting, other)

    def _sorted_in_memory(self) -> Iterator[_Sorted]:
        """All rows in their order, where none is on disk."""
        self._add_candidates()
        for rows in self._candidates.by_person():
            yield [rows.persons], rows.kept, rows.values

    def _sorted_on_disk(self, batch_rows: int) -> Iterator[_Sorted]:
        """All rows in their order, where they are in the database."""
        self._write()
        names = [f"v{j}" for j in range(self._size)]
        order = ", ".join([*_PERSON, "kept DESC", "digest", *names])  # [P:order-of-rows]
        chosen = ", ".join([*_PERSON, "kept::TINYINT AS kept", *names])
        relation = self._database.sql(f"SELECT {chosen} FROM entries ORDER BY {order}")
        for batch in relation.to_arrow_reader(batch_rows):
            *person, kept = (np.from_dlpack(column) for column in batch.columns[: len(_PERSON) + 1])
            values = np.array([np.from_dlpack(column) for column in batch.columns[len(_PERSON) + 1 :]])
            yield person, kept == 1, values

    def _write(self) -> None:
        """Put the candidates on disk."""
        import pyarrow as pa

        self._on_disk = True
        self._add_candidates()
        if self._candidates.ids is None:
            return
        rows = self._candidates.rows
        whose = person_digests(self._candidates.ids.cast(pa.large_string()), self._keyed)
        self._candidates = Candidates(self._most, self._size)
        for start in range(0, len(rows.kept), _MANY_ROWS):
            part = slice(start, start + _MANY_ROWS)
            columns = {
                **{name: pa.array(piece[rows.persons[part]]) for name, piece in zip(_PERSON, whose, strict=True)},
                "kept": pa.array(rows.kept[part]),
                "digest": pa.array(rows.digests[part]),
                **{f"v{j}": pa.array(values[part]) for j, values in enumerate(rows.values)},
            }
            self._database.register("batch", pa.table(columns))
            self._database.execute("INSERT INTO entries SELECT * FROM batch")
            self._database.unregister("batch")

    @cached_property
    def _database(self) -> Any:  # noqa: ANN401  # DuckDB has no types of its own
        """Where rows wait that are too many for memory, made when there are some."""
        memory = max(_MEMORY, self._size * _MEMORY_OF_COLUMN)
        self._opened = _database(self._connect, self._folder.files, self._threads, memory)
        _lock_down(self._opened)
        person = ", ".join(f"{name} UBIGINT" for name in _PERSON)
        numbers = ", ".join(f"v{j} INTEGER" for j in range(self._size))
        self._opened.execute(f"CREATE TABLE entries ({person}, kept BOOLEAN, digest UBIGINT, {numbers})")
        return self._opened


def _row_bytes(values: int) -> int:
    """Memory that a row takes while it waits, besides its id."""
    return PersonRows.empty(values, 1).nbytes


def person_digests(persons: Array, keyed: hashlib.blake2b) -> npt.NDArray[np.uint64]:
    """A digest of each id as a column of four numbers; without the key of `keyed` nobody can know whose it is.

    >>> import pyarrow as pa
    >>> found = person_digests(pa.array(["a", "b", "a"]), hashlib.blake2b(key=b"k", digest_size=32))
    >>> found.shape, bool((found[:, 0] == found[:, 2]).all()), bool((found[:, 0] == found[:, 1]).any())
    ((4, 3), True, False)
    """
    import pyarrow as pa

    def digest(person: bytes) -> bytes:
        # a copy of the keyed state takes less time than the key
        state = keyed.copy()
        state.update(person)
        return state.digest()  # [P:person-digest]

    coded = persons.cast(pa.large_binary()).dictionary_encode()
    digests = np.frombuffer(b"".join(map(digest, coded.dictionary.to_pylist())), dtype=np.uint64)
    pieces = digests.reshape(-1, len(_PERSON)).T
    return np.ascontiguousarray(pieces[:, np.from_dlpack(coded.indices)])


def cap_key(design: Design) -> int:
    """The key under which rows are digested: of the design alone, so that the same rows count in every run.

    >>> cap_key(Design("y", {"y": (0, 1), "x": (0, 1)})) < 2**64
    True
    """
    return int.from_bytes(hashlib.sha256(design.to_toml().encode()).digest()[:8], "big")


def row_digests(values: npt.NDArray[np.int32], key: int) -> npt.NDArray[np.uint64]:
    """A keyed 64-bit digest of each column of `values`, a function of that column alone.

    >>> first, second, third = row_digests(np.array([[1, 2, 1]], dtype=np.int32), key=5)
    >>> bool(first == third), bool(first == second)
    (True, False)
    """
    digest = np.full(values.shape[1], key, dtype=np.uint64)
    for row in values:
        digest ^= row.astype(np.int64).view(np.uint64)
        digest ^= digest >> np.uint64(30)
        digest *= _MULTIPLIERS[0]
        digest ^= digest >> np.uint64(27)
        digest *= _MULTIPLIERS[1]
        digest ^= digest >> np.uint64(31)
    return digest


def known_persons(name: str, values: Array, *, total: bool) -> tuple[Array, npt.NDArray[np.bool_] | None]:
    """The ids of a batch as text, and which rows have one (none: all of them); 1.0 is the id 1.

    >>> import pyarrow as pa
    >>> known_persons("who", pa.array([7.0, 8.0]), total=False)[0].to_pylist()
    ['7', '8']
    """
    import pyarrow as pa

    ids, known = known_ids(name, values, total=total)
    return ids.cast(pa.large_string()), known


def known_ids(name: str, values: Array, *, total: bool) -> tuple[Array, npt.NDArray[np.bool_] | None]:
    """The ids of a batch as integers where all of them are, else as text, and which rows have one (none: all of them).

    An integer is the same id as its text. A row without an id belongs to nobody who could be charged for it: it is
    refused, or left out where the design leaves no room for errors.

    >>> import pyarrow as pa
    >>> known_ids("who", pa.array([7.0, 8.0]), total=False)[0].to_pylist()
    [7, 8]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    from discreet.tables.arrow import entry_indices
    from discreet.tables.cells import integers_below

    if pa.types.is_dictionary(values.type):
        # entries first: decoding has no kernel for some kinds of text
        entries = values.dictionary
        if pa.types.is_string(entries.type) or pa.types.is_string_view(entries.type):
            # of rows with long ids there may be more than 2 GiB of text in a batch
            entries = entries.cast(pa.large_string())
        values = entries.take(entry_indices(values))
    kind = values.type
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    whole = pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.scale == 0)
    if not (text or whole or pa.types.is_floating(kind) or pa.types.is_null(kind)):
        raise DataError(f"the id column {name!r} has type {kind}; ids are text or integers")
    problem = "a cell that is missing or neither text nor an integer; give every row its id"
    if text and not _is_valid(values):
        values = _where_valid(values)
        problem = "a cell that is not valid UTF-8; write ids as text or integers"
    if pa.types.is_floating(kind):
        # pandas turns integers with a gap among them into floats; the ids must not depend on that gap
        limit = integers_below(np.dtype(kind.to_pandas_dtype()))
        numbers = values.cast(pa.float64())
        whole = pc.and_(pc.equal(pc.floor(numbers), numbers), pc.less(pc.abs(numbers), limit))
        values = pc.if_else(whole, numbers, pa.scalar(None, pa.float64())).cast(pa.int64())
        below = f"2**{math.log2(limit):.0f}"
        problem = f"a cell that is missing or not an integer below {below}; give every row its id"
    persons = values if pa.types.is_integer(values.type) else values.cast(pa.large_string())
    if text and pc.any(pc.match_substring(persons, ".")).as_py():
        # integers with a gap among them are written 1.0, 2.0 by some; the ids must not depend on that gap
        persons = pc.replace_substring_regex(persons, r"^-0+\.0*$", "0")
        persons = pc.replace_substring_regex(persons, r"^(-?[0-9]+)\.0*$", r"\1")
    if persons.null_count == 0:
        return persons, None
    if not total:
        raise DataError(f"the id column {name!r} has {problem}")
    known = np.fromiter((cell.is_valid for cell in persons), dtype=np.bool_, count=len(persons))
    return persons.drop_null(), known


def _is_valid(values: Array) -> bool:
    import pyarrow as pa

    try:
        values.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _where_valid(values: Array) -> Array:
    """The same text, missing where it is not UTF-8."""
    import pyarrow as pa

    def text(cell: Buffer | None) -> str | None:
        try:
            return None if cell is None else cell.to_pybytes().decode()
        except UnicodeDecodeError:
            return None

    return pa.array([text(cell.as_buffer()) for cell in values], pa.large_string())


def _duckdb_connect() -> Callable[..., Any]:
    try:
        import duckdb
    except ImportError:
        raise missing_extra("duckdb", "duckdb", "an id of persons") from None
    connect: Callable[..., Any] = duckdb.connect
    return connect


def _database(connect: Callable[..., Any], folder: Path, threads: int, memory: int) -> Any:  # noqa: ANN401  # DuckDB has no types of its own
    limits = {
        "memory_limit": f"{memory}MB",
        "threads": threads,
        "temp_directory": str(folder),
        "preserve_insertion_order": False,
    }
    return connect(str(folder / "rows.duckdb"), config=limits)


def _lock_down(database: Any) -> None:  # noqa: ANN401  # as above
    for setting in _OFF:
        database.execute(f"SET {setting} = false")
    # closing would put the file in order that is removed right after
    database.execute("PRAGMA disable_checkpoint_on_shutdown")
    database.execute("SET lock_configuration = true")


def _is_of_duckdb(error: BaseException) -> bool:
    import duckdb

    return isinstance(error, duckdb.Error)


def _is_short_of_memory(error: BaseException) -> bool:
    """Whether the database ran out of memory; it says the same of a full disk, and names the limit that it met."""
    import duckdb

    return isinstance(error, duckdb.OutOfMemoryException) and _DISK_LIMIT not in str(error)


def _raise_alone(problem: BaseException) -> NoReturn:
    """Raise it without hanging on to the exception at hand, which error trackers would show."""
    try:
        raise problem
    finally:
        problem.__context__ = None
