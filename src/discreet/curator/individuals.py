"""Include at most `max_rows` rows of each individual, regardless of the order of the table."""

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
from discreet.errors import DataError, MissingDependencyError
from discreet.exact.arrays import FloatArray
from discreet.files import no_room
from discreet.tables.database import is_interrupt

if TYPE_CHECKING:
    from pyarrow import Array, Buffer

# -- row order ---------------------------------------------------------------------------------------------------------
# Candidate rows are sorted in memory, in the order in which the rows of an individual are included.
_KEY_BITS: Final = 64
_NO_LIMIT: Final = np.uint64(2**64 - 1)
# candidates are pruned again when they have grown by this factor, a trade-off between time and memory
_GROWTH: Final = 1.5
# approximate number of rows that are sorted at once, and the maximum number of pieces
_ROWS_AT_ONCE: Final = 2**18
_MOST_PIECES: Final = 2**8 - 1


@dataclass(frozen=True, slots=True)
class IndividualRows:
    """Encoded rows, each with the number of its individual, its digest, and whether it is kept.

    `kept` is false for rows that a rule for missing cells drops. `values` has shape (values per row, rows) and is zero
    in such rows.
    """

    persons: npt.NDArray[np.int32]
    kept: npt.NDArray[np.bool_]
    digests: npt.NDArray[np.uint64]
    values: npt.NDArray[np.int32]

    @staticmethod
    def empty(values: int, rows: int = 0) -> IndividualRows:
        """Allocate rows that are not initialised."""
        kept, digests = np.empty(rows, dtype=np.bool_), np.empty(rows, dtype=np.uint64)
        return IndividualRows(np.empty(rows, dtype=np.int32), kept, digests, np.empty((values, rows), dtype=np.int32))

    @property
    def nbytes(self) -> int:
        """Number of bytes that the rows use in memory."""
        return self.persons.nbytes + self.kept.nbytes + self.digests.nbytes + self.values.nbytes

    @property
    def ranks(self) -> npt.NDArray[np.uint64]:
        """Keys by which the rows of an individual are sorted. Equal rows have equal keys, but not vice versa."""
        ranks = self.digests >> np.uint64(1)
        ranks[~self.kept] |= np.uint64(1 << 63)  # [P:ranks]
        return ranks

    def some(self, rows: npt.NDArray[np.intp]) -> IndividualRows:
        """Copy the rows at the given indices."""
        return IndividualRows(
            self.persons[rows], self.kept[rows], self.digests[rows], np.take(self.values, rows, axis=1)
        )

    def part(self, start: int, end: int) -> IndividualRows:
        """Return a view of the rows from `start` to `end`."""
        rows = slice(start, end)
        return IndividualRows(self.persons[rows], self.kept[rows], self.digests[rows], self.values[:, rows])

    def write(self, rows: IndividualRows) -> None:
        """Overwrite these rows with equally many other rows."""
        self.persons[:], self.kept[:], self.digests[:], self.values[:] = (
            rows.persons,
            rows.kept,
            rows.digests,
            rows.values,
        )


class Candidates:
    """Rows that may be among the first `most` rows of the individual they belong to.

    A row is dropped as soon as `most` other rows of the same individual precede or equal it. Memory therefore grows
    with the number of individuals, and not with their numbers of rows.

    >>> import pyarrow as pa
    >>> candidates = Candidates(most=1, values=1)
    >>> rows = IndividualRows.empty(1, 2)
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
        # the rows that survived pruning, followed by new rows
        self._room = IndividualRows.empty(values)
        self._used = 0
        self._pruned_bytes = 0
        self.ids: Array | None = None
        # rank and index of the last needed row of each individual, or _NO_LIMIT if there are fewer rows
        self._limits = np.empty(0, dtype=np.uint64)
        self._at_limit = np.empty(0, dtype=np.int32)

    @property
    def rows(self) -> IndividualRows:
        """Rows that are still candidates."""
        return self._room.part(0, self._used)

    @property
    def persons(self) -> int:
        """Number of distinct ids."""
        return len(self._limits)

    @property
    def nbytes(self) -> int:
        """Number of bytes that rows and ids use in memory."""
        ids = 0 if self.ids is None else int(self.ids.nbytes)
        return ids + self._limits.nbytes + self._at_limit.nbytes + self.rows.nbytes

    @property
    def grown(self) -> bool:
        """Whether enough rows have been added to make pruning worthwhile."""
        return self.nbytes > _GROWTH * self._pruned_bytes

    def add(self, ids: Sequence[Array], rows: IndividualRows) -> None:
        """Add one or more rows, whose ids are in several arrays. The caller may then reuse the memory of the rows."""
        start = 0
        for persons in self._numbers(ids):
            end = start + len(persons)
            part = replace(rows.part(start, end), persons=persons)
            self._write(part.some(np.flatnonzero(self._may_count(part))))
            start = end

    def _write(self, rows: IndividualRows) -> None:
        end = self._used + len(rows.kept)
        if end > len(self._room.kept):
            room = IndividualRows.empty(self._size, 2 * end)
            room.part(0, self._used).write(self.rows)
            self._room = room
        self._room.part(self._used, end).write(rows)
        self._used = end

    def by_person(self) -> Iterator[IndividualRows]:
        """Yield all candidates in the order of `ordered_rows`, a few individuals at a time to save memory."""
        return self._sorted(self.rows)

    def _sorted(self, rows: IndividualRows) -> Iterator[IndividualRows]:
        pieces = min(len(rows.kept) // _ROWS_AT_ONCE + 1, _MOST_PIECES)
        shift = max(self.persons.bit_length() - pieces.bit_length(), 0)
        piece = (rows.persons >> shift).astype(np.uint8)  # [P:pieces]
        for number in range(int(piece.max(initial=0)) + 1):
            some = rows.some(np.flatnonzero(piece == number))
            yield some.some(ordered_rows(some.persons, some.kept, some.digests, some.values))

    def prune(self) -> None:
        """Drop all rows that can no longer be included."""
        pieces = self._sorted(self.rows)
        self._room, self._used = IndividualRows.empty(self._size, len(self._room.kept)), 0
        for rows in pieces:
            place = Places().of([rows.persons])
            within = np.flatnonzero(place < self._most)  # [P:candidates]
            last = np.flatnonzero(place[within] == self._most - 1)
            whose, ranks = rows.persons[within[last]], rows.ranks[within[last]]
            self._limits[whose], self._at_limit[whose] = ranks, self._used + last  # [P:last-candidate]
            self._write(rows.some(within))
        self._pruned_bytes = self.nbytes

    def _may_count(self, rows: IndividualRows) -> npt.NDArray[np.bool_]:
        """Return which rows may be among the first rows of their individual."""
        limits, ranks = np.take(self._limits, rows.persons), rows.ranks
        may_count = ranks <= limits
        tied = np.flatnonzero((ranks == limits) & (limits != _NO_LIMIT))
        last = np.take(self._room.values, self._at_limit[rows.persons[tied]], axis=1)
        may_count[tied] = (np.take(rows.values, tied, axis=1) != last).any(axis=0)  # [P:cannot-count]
        return may_count

    def _numbers(self, ids: Sequence[Array]) -> list[npt.NDArray[np.int32]]:
        """Replace ids by consecutive numbers from 0, so that equal ids have equal numbers."""
        import pyarrow as pa

        earlier = [] if self.ids is None else [self.ids]
        chunks = [*earlier, *ids]
        if len({chunk.type for chunk in chunks}) != 1:
            # an integer and its text are the same id
            chunks = [chunk.cast(pa.large_string()) for chunk in chunks]
        coded = pa.chunked_array(chunks).dictionary_encode().chunks
        flat = np.concatenate([np.from_dlpack(chunk.indices) for chunk in coded])
        numbers = np.split(flat, np.cumsum([len(chunk) for chunk in chunks[:-1]]))  # [P:person-number]
        self.ids = coded[-1].dictionary
        limits, at_limit = np.full(len(self.ids), _NO_LIMIT), np.zeros(len(self.ids), dtype=np.int32)
        for new in numbers[: len(earlier)]:
            # new[i] is the new number of the individual that had number i
            limits[new], at_limit[new] = self._limits, self._at_limit
            self.rows.persons[:] = new[self.rows.persons]  # [P:numbers-anew]
        self._limits, self._at_limit = limits, at_limit
        return numbers[len(earlier) :]


class Places:
    """Positions of rows among the rows of the same individual, counted from 0, for rows grouped by individual."""

    def __init__(self) -> None:
        self._last: list[Any] | None = None
        self._rows = 0

    def of(self, person: Sequence[npt.NDArray[Any]]) -> npt.NDArray[np.intp]:
        """Return the positions of the next rows. The columns in `person` identify the individual of each row."""
        index = np.arange(len(person[0]))
        first = np.zeros(len(index), dtype=np.bool_)
        for column in person:
            first[1:] |= column[1:] != column[:-1]
        if len(index) == 0:
            return index
        # the first row may continue the last individual of the previous batch
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
    """Return the indices that sort rows by individual, then kept rows first, then by digest, then by values.

    Rows that are tied are equal.

    >>> digests, values = np.array([5, 3, 3, 9], dtype=np.uint64), np.array([[1, 8, 7, 0]], dtype=np.int32)
    >>> ordered_rows(np.array([1, 0, 0, 0], dtype=np.int32), np.ones(4, dtype=np.bool_), digests, values).tolist()
    [2, 1, 3, 0]
    """
    rows = len(persons)
    place_bits = rows.bit_length()
    # at least one bit remains, because numbers of individuals and of rows have at most 31 bits each
    digest_bits = _KEY_BITS - 1 - place_bits - int(persons.max(initial=0)).bit_length()
    key = persons.astype(np.uint64)
    key <<= np.uint64(1)
    key |= ~kept
    key <<= np.uint64(digest_bits)
    key |= digests >> np.uint64(_KEY_BITS - digest_bits)
    key <<= np.uint64(place_bits)
    key |= np.arange(rows, dtype=np.uint64)
    # keys that include their own index sort faster than an argsort  [P:order-in-memory]
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
    """Sort rows with equal keys, in place, by their full digest and then by their values."""
    tied = np.flatnonzero(key[1:] == key[:-1])
    first, second = (np.take(values, order[places], axis=1) for places in (tied, tied + 1))
    unequal = tied[(first != second).any(axis=0)]
    if len(unequal) == 0:
        # all rows with equal keys are equal
        return
    places = np.flatnonzero(np.isin(key, key[unequal]))
    rows = order[places]
    by = (*values[::-1, rows], digests[rows], key[places])
    order[places] = rows[np.lexsort(by)]  # [P:ties-in-memory]


# -- individuals -------------------------------------------------------------------------------------------------------
# At most k rows of each individual are included, whatever the order of the table. They are the k rows with the smallest
# keyed digests of their grid values, with ties broken by the values, so the choice depends only on the rows of that
# individual. Candidate rows are sorted and pruned in memory up to a fixed size. Beyond this size they go to a database
# in a private folder on disk, so that memory does not grow with the table. Ids are never written to disk. A keyed
# digest replaces each id, and the key never leaves the memory of the process.

# DuckDB's name for the limit on disk space
_DISK_LIMIT: Final = "max_temp_directory_size"
# memory of the database in MB, and the minimum for each column, because it holds a block of every column at once
_MEMORY: Final = 512
_MEMORY_OF_COLUMN: Final = 1
# smaller batches are joined first, because the overhead of a batch equals the cost of some thousand rows
_FEW_ROWS: Final = 4096
# rows written to the database at a time
_MANY_ROWS: Final = 2**16
# memory for candidate rows, as a multiple of the memory for rows that are not compared yet
_CANDIDATES: Final = 2
# a digest of an id is stored as four integers, which the database sorts quickly
_DIGEST_BYTES: Final = 32
_PERSON: Final = ("p0", "p1", "p2", "p3")
# no downloads, no other files, no progress bar
_OFF: Final = (
    "autoinstall_known_extensions", "autoload_known_extensions", "enable_external_access", "enable_progress_bar",
)  # fmt: skip
# multipliers of the SplitMix64 finaliser (Steele, Lea & Flood 2014), on which no secrecy depends
_MULTIPLIERS: Final = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))

# columns that identify the individuals of rows, whether each row is kept, and values
_Sorted: TypeAlias = tuple[Sequence[npt.NDArray[Any]], npt.NDArray[np.bool_], npt.NDArray[np.int32]]


class IndividualCap:
    """Rows of a table, grouped and capped by individual, in memory or in a database in a private folder.

    `values` is the number of integers in a row without the constant, which are (x, y) or imputed cells, and any
    clipping indicators. All of them are used to break ties. With `count_over`, one more row of each individual is
    buffered, for `over_cap`.
    """

    def __init__(self, design: Design, values: int, *, threads: int = 1, count_over: bool = False) -> None:
        self._max_rows = design.unit.max_rows
        self._most = self._max_rows + count_over
        self._size = values
        self._threads = threads
        self._key = cap_key(design)
        # checked before the number of rows is known, so that an error does not reveal it
        self._connect = _duckdb_connect()
        # a new key for each table, held only in memory, so that files left by a killed process cannot be linked to ids
        self._keyed = hashlib.blake2b(key=secrets.token_bytes(hashlib.blake2b.MAX_KEY_SIZE), digest_size=_DIGEST_BYTES)
        self._opened: Any = None
        # ids and values of rows that are not compared yet; the block is reused
        self._ids: list[Array] = []
        self._block = IndividualRows.empty(values)
        self._used = 0
        self._fitting = 0
        self._candidates = Candidates(self._most, values)
        self._on_disk = False
        self._folder = PrivateFolder()

    def __enter__(self) -> IndividualCap:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close(value)

    def _close(self, error: BaseException | None) -> None:
        """Remove the rows in any case, and replace an interrupt or a database error by an error that shows no cells."""
        try:
            # errors do not matter, because the folder of the database is removed
            with suppress(Exception):
                self._opened.close()
        finally:
            self._folder.close()
        if error is not None and is_interrupt(error):
            _raise_alone(KeyboardInterrupt())
        if error is not None and _is_of_duckdb(error):
            # only the disk or the memory can fail here; a fixed message, because DuckDB might quote cells
            _raise_alone(buffered_rows.no_memory() if _is_short_of_memory(error) else no_room())

    def add(self, persons: Array, kept: npt.NDArray[np.bool_] | None, grid: FloatArray) -> None:
        """Add a batch of rows.

        `persons` holds the id of every row, in the format of `known_ids` or `known_persons`. `kept` says which rows a
        rule for missing cells keeps, and `grid` holds the kept rows (1, x, y) in grid steps.
        """
        rows = len(persons)
        if rows == 0:
            return
        if self._used + rows > len(self._block.kept):
            self._compare()
            self._block = IndividualRows.empty(
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
        import pyarrow as pa

        if self._ids and len(self._ids[-1]) < _FEW_ROWS and self._ids[-1].type == persons.type:
            persons = pa.concat_arrays([self._ids.pop(), persons])
        self._ids.append(persons)

    def _compare(self) -> None:
        """Add the new rows to the candidates, and write the candidates to disk if they use too much memory."""
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
        """Count individuals, individuals with more rows than the cap, and their excess rows. Only for a check."""
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
        counts = np.bincount(rows.persons[rows.kept])
        within = np.minimum(counts, self._max_rows)
        return self._candidates.persons, int((counts > within).sum()), self._fitting - int(within.sum())

    def keep(self, kept: KeptParts | KeptRows, batch_rows: int) -> tuple[int, tuple[int, int]]:
        """Buffer the included rows. Return the number of individuals, and the numbers of included and dropped rows.

        Individuals whose rows are all dropped are also counted. For each individual, at most `max_rows` rows are
        counted, included rows before dropped rows.
        """
        persons = fitting = other = 0
        places = Places()
        for person, fits, values in self._sorted_on_disk(batch_rows) if self._on_disk else self._sorted_in_memory():
            place = places.of(person)
            # kept rows come first, so their position among all rows is their position among kept rows
            within = place < self._max_rows  # [P:rows-that-count]
            stays = within & fits
            persons += int((place == 0).sum())
            # [P:rows-within-the-cap]
            fitting, other = fitting + int(stays.sum()), other + int((within & ~fits).sum())
            kept.add(place[stays] == 0, values[:, stays])
        return persons, (fitting, other)

    def _sorted_in_memory(self) -> Iterator[_Sorted]:
        """Yield all rows in sorted order from memory."""
        self._add_candidates()
        for rows in self._candidates.by_person():
            yield [rows.persons], rows.kept, rows.values

    def _sorted_on_disk(self, batch_rows: int) -> Iterator[_Sorted]:
        """Yield all rows in sorted order from the database."""
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
        """Write the candidates to the database."""
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
    def _database(self) -> Any:  # noqa: ANN401  # DuckDB is not typed
        """Database for rows that exceed the memory, created when it is first needed."""
        memory = max(_MEMORY, self._size * _MEMORY_OF_COLUMN)
        self._opened = _database(self._connect, self._folder.files, self._threads, memory)
        _lock_down(self._opened)
        person = ", ".join(f"{name} UBIGINT" for name in _PERSON)
        numbers = ", ".join(f"v{j} INTEGER" for j in range(self._size))
        self._opened.execute(f"CREATE TABLE entries ({person}, kept BOOLEAN, digest UBIGINT, {numbers})")
        return self._opened


def _row_bytes(values: int) -> int:
    """Return the number of bytes that a buffered row uses in memory, without its id."""
    return IndividualRows.empty(values, 1).nbytes


def person_digests(persons: Array, keyed: hashlib.blake2b) -> npt.NDArray[np.uint64]:
    """Compute a keyed digest of each id. Each digest is a column of four integers."""
    import pyarrow as pa

    def digest(person: bytes) -> bytes:
        # copying the keyed state is faster than setting the key
        state = keyed.copy()
        state.update(person)
        return state.digest()  # [P:person-digest]

    coded = persons.cast(pa.large_binary()).dictionary_encode()
    digests = np.frombuffer(b"".join(map(digest, coded.dictionary.to_pylist())), dtype=np.uint64)
    pieces = digests.reshape(-1, len(_PERSON)).T
    return np.ascontiguousarray(pieces[:, np.from_dlpack(coded.indices)])


def cap_key(design: Design) -> int:
    """Derive the key of row digests from the design alone, so that every run includes the same rows."""
    return int.from_bytes(hashlib.sha256(design.to_toml().encode()).digest()[:8], "big")


def row_digests(values: npt.NDArray[np.int32], key: int) -> npt.NDArray[np.uint64]:
    """Compute a keyed 64-bit digest of each column of `values`, independently of the other columns."""
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
    """Return the ids of a batch as text, as `known_ids` does.

    The second value says which rows have an id, and is None if all rows have one.
    """
    import pyarrow as pa

    ids, known = known_ids(name, values, total=total)
    return ids.cast(pa.large_string()), known


def known_ids(name: str, values: Array, *, total: bool) -> tuple[Array, npt.NDArray[np.bool_] | None]:
    """Return the ids of a batch, as integers or text, and which rows have an id.

    The second value is None if all rows have an id. An integer and its text are the same id, and 1.0 is the same id as
    1. A row without an id cannot be attributed to an individual. Such a row is dropped if `total` is true, and raises
    DataError otherwise.

    >>> import pyarrow as pa
    >>> known_ids("who", pa.array([7.0, 8.0]), total=False)[0].to_pylist()
    [7, 8]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    from discreet.tables.arrow import entry_indices
    from discreet.tables.cells import integers_below

    if pa.types.is_dictionary(values.type):
        # look up the entries by index, because Arrow cannot decode some text types
        entries = values.dictionary
        if pa.types.is_string(entries.type) or pa.types.is_string_view(entries.type):
            # a batch with long ids may hold more than 2 GiB of text
            entries = entries.cast(pa.large_string())
        values = entries.take(entry_indices(values))
    kind = values.type
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    whole = pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.scale == 0)
    if not (text or whole or pa.types.is_floating(kind) or pa.types.is_null(kind)):
        raise DataError(f"the id column {name!r} must contain text or integers, but has type {kind}")
    problem = "a cell that is missing or neither text nor an integer; every row must have an id"
    if text and not _is_valid(values):
        values = _where_valid(values)
        problem = "a cell that is not valid UTF-8; write ids as text or integers"
    if pa.types.is_floating(kind):
        # pandas turns integers with missing values into floats, which must not change the ids
        limit = integers_below(np.dtype(kind.to_pandas_dtype()))
        numbers = values.cast(pa.float64())
        whole = pc.and_(pc.equal(pc.floor(numbers), numbers), pc.less(pc.abs(numbers), limit))
        values = pc.if_else(whole, numbers, pa.scalar(None, pa.float64())).cast(pa.int64())
        below = f"2**{math.log2(limit):.0f}"
        problem = f"a cell that is missing or not an integer below {below}; every row must have an id"
    persons = values if pa.types.is_integer(values.type) else values.cast(pa.large_string())
    if text and pc.any(pc.match_substring(persons, ".")).as_py():
        # some programs write integers with missing values as 1.0, 2.0, which must not change the ids
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
    """Replace text that is not valid UTF-8 by null."""
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
        raise MissingDependencyError("duckdb", "duckdb", "an id of persons") from None
    connect: Callable[..., Any] = duckdb.connect
    return connect


def _database(connect: Callable[..., Any], folder: Path, threads: int, memory: int) -> Any:  # noqa: ANN401  # DuckDB is not typed
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
    # do not reorganise a file that is removed right after closing
    database.execute("PRAGMA disable_checkpoint_on_shutdown")
    database.execute("SET lock_configuration = true")


def _is_of_duckdb(error: BaseException) -> bool:
    import duckdb

    return isinstance(error, duckdb.Error)


def _is_short_of_memory(error: BaseException) -> bool:
    """Return whether a database error means that memory ran out, and not the disk.

    A full disk raises the same error, but with the name of the disk limit.
    """
    import duckdb

    return isinstance(error, duckdb.OutOfMemoryException) and _DISK_LIMIT not in str(error)


def _raise_alone(problem: BaseException) -> NoReturn:
    """Raise an error without its context, because an error tracker would show the original exception."""
    try:
        raise problem
    finally:
        problem.__context__ = None
