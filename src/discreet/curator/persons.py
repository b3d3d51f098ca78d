"""Units of several rows: at most k rows of each person, whatever the order of the table.

Kept are the k rows with the smallest keyed digest of their grid values, ties broken by the values themselves, so which
rows stay depends on that person's rows alone. Until that is decided all rows wait: up to a stated size in memory, where
they are sorted, and beyond it in a database on disk, in a private folder, so that memory does not grow with the table.
Ids are not among what waits on disk: a keyed digest replaces each, and the key never leaves the memory of the process.
"""

from __future__ import annotations

import hashlib
import math
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, NoReturn

import numpy as np
import numpy.typing as npt

from discreet.curator import scratch
from discreet.curator.kept_parts import KeptParts
from discreet.curator.kept_rows import KeptRows
from discreet.curator.person_order import ordered_rows
from discreet.curator.private_folder import PrivateFolder
from discreet.design.model import Design
from discreet.errors import DataError, missing_extra
from discreet.exact.arrays import FloatArray
from discreet.tables.files.database import is_interrupt

if TYPE_CHECKING:
    from pyarrow import Array, Buffer


# what the database calls the disk that its rows may take
_DISK_LIMIT: Final = "max_temp_directory_size"
# memory of the database in MB, and at least so much for each column: it holds a block of every column at once
_MEMORY: Final = 512
_MEMORY_OF_COLUMN: Final = 1
# batches with fewer rows are joined before they wait or are written: one costs as much as some thousand rows
_FEW_ROWS: Final = 4096
# digests of ids, in pieces that the database sorts as fast as it sorts numbers
_DIGEST_BYTES: Final = 32
_PERSON: Final = ("p0", "p1", "p2", "p3")
# nothing is fetched, no other file is read, nothing is drawn on the terminal
_OFF: Final = (
    "autoinstall_known_extensions", "autoload_known_extensions", "enable_external_access", "enable_progress_bar",
)  # fmt: skip
# the finaliser of SplitMix64 (Steele, Lea & Flood 2014): it spreads the rows, no secrecy rests on it
_MULTIPLIERS: Final = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


@dataclass(frozen=True, slots=True)
class _Batch:
    """Rows that wait: whose each is, whether it is kept, its digest, and its values, zeros where it is not kept."""

    persons: Array
    kept: npt.NDArray[np.bool_]
    digests: npt.NDArray[np.uint64]
    values: npt.NDArray[np.int32]

    @property
    def nbytes(self) -> int:
        """Memory that the rows take."""
        return int(self.persons.nbytes) + self.kept.nbytes + self.digests.nbytes + self.values.nbytes

    def takes(self, other: _Batch) -> bool:
        """Whether another batch is to be joined to this one."""
        return len(self.kept) < _FEW_ROWS and self.persons.type == other.persons.type

    def joined(self, other: _Batch) -> _Batch:
        """The rows of this batch, then those of another."""
        import pyarrow as pa

        return _Batch(
            pa.concat_arrays([self.persons, other.persons]),
            np.concatenate([self.kept, other.kept]),
            np.concatenate([self.digests, other.digests]),
            np.concatenate([self.values, other.values], axis=1),
        )


@dataclass(frozen=True, slots=True)
class _Sorted:
    """Rows in their order: columns that say whose each is, whether it is kept, and its place among the values."""

    person: Sequence[npt.NDArray[Any]]
    kept: npt.NDArray[np.bool_]
    rows: npt.NDArray[np.intp]
    values: npt.NDArray[np.int32]

    def values_of(self, some: npt.NDArray[np.bool_]) -> npt.NDArray[np.int32]:
        """The values of some of the rows."""
        return np.take(self.values, self.rows[some], axis=1)


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
    """

    def __init__(self, design: Design, values: int, *, threads: int = 1) -> None:
        self._max_rows = design.unit.max_rows
        self._size = values
        self._threads = threads
        self._key = cap_key(design)
        # asked for before it is known whether there are many rows, so that an error does not depend on that
        self._connect = _duckdb_connect()
        # a new one for each table, held in memory only: what is left of a killed process cannot be tied to ids
        self._keyed = hashlib.blake2b(key=secrets.token_bytes(hashlib.blake2b.MAX_KEY_SIZE), digest_size=_DIGEST_BYTES)
        self._opened: Any = None
        self._waiting: list[_Batch] = []
        self._waiting_bytes = 0
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
            _raise_alone(scratch.no_memory() if _is_short_of_memory(error) else scratch.no_room())

    def add(self, persons: Array, kept: npt.NDArray[np.bool_] | None, grid: FloatArray) -> None:
        """Take one batch: the person of every row read, which rows are kept, and the kept rows (1, x, y) in steps.

        Persons are as `known_ids` or `known_persons` gives them.
        """
        if kept is None:
            kept, values = np.ones(len(persons), dtype=np.bool_), grid[1:].astype(np.int32)
        else:
            values = np.zeros((self._size, len(persons)), dtype=np.int32)
            values[:, kept] = grid[1:]
        batch = _Batch(persons, kept, row_digests(values, self._key), values)
        self._waiting_bytes += batch.nbytes
        if self._waiting and self._waiting[-1].takes(batch):
            batch = self._waiting.pop().joined(batch)
        self._waiting.append(batch)
        if self._waiting_bytes > scratch.IN_MEMORY_BYTES or (self._on_disk and len(batch.kept) >= _FEW_ROWS):
            self._write()

    def over_cap(self) -> tuple[int, int, int]:
        """Persons, those among them with more rows than count, and the number of rows beyond; for a check only."""
        if not self._on_disk:
            numbers = self._numbers()
            kept = np.concatenate([np.empty(0, dtype=np.bool_), *(batch.kept for batch in self._waiting)])
            found = np.maximum(np.bincount(numbers[kept]) - self._max_rows, 0)
            return int(numbers.max(initial=-1)) + 1, int((found > 0).sum()), int(found.sum())
        self._write()
        over = f"greatest(sum(kept::BIGINT) - {self._max_rows}, 0)"
        persons, many, beyond = self._database.sql(
            "SELECT count(*), count(*) FILTER (beyond > 0), coalesce(sum(beyond), 0) "
            f"FROM (SELECT {over} AS beyond FROM entries GROUP BY {', '.join(_PERSON)})"
        ).fetchall()[0]
        return int(persons), int(many), int(beyond)

    def keep(self, kept: KeptParts | KeptRows, batch_rows: int) -> tuple[int, tuple[int, int]]:
        """Set aside the rows that stay; give the number of persons, and the numbers of rows that fit and that do not.

        Persons whose rows are all dropped count too. Of each person no more rows than the cap are in the two numbers
        together, those that stay first.
        """
        persons = fitting = other = 0
        places = _Places()
        for batch in self._sorted_on_disk(batch_rows) if self._on_disk else self._sorted_in_memory(batch_rows):
            place = places.of(batch.person)
            # rows that no rule drops come first, so a place among the first is a place among those
            within = place < self._max_rows  # [P:rows-that-count]
            stays = within & batch.kept
            persons += int((place == 0).sum())
            # [P:rows-within-the-cap]
            fitting, other = fitting + int(stays.sum()), other + int((within & ~batch.kept).sum())
            kept.add(place[stays] == 0, batch.values_of(stays))
        return persons, (fitting, other)

    def _sorted_in_memory(self, batch_rows: int) -> Iterator[_Sorted]:
        """All rows in their order, where none is on disk."""
        if not self._waiting:
            return
        numbers = self._numbers()
        kept = np.concatenate([batch.kept for batch in self._waiting])
        values = np.concatenate([batch.values for batch in self._waiting], axis=1)
        order = ordered_rows(numbers, kept, np.concatenate([batch.digests for batch in self._waiting]), values)
        for start in range(0, len(order), batch_rows):
            rows = order[start : start + batch_rows]
            yield _Sorted([numbers[rows]], kept[rows], rows, values)

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
            yield _Sorted(person, kept == 1, np.arange(len(kept)), values)

    def _numbers(self) -> npt.NDArray[np.int32]:
        """The number of each row's person, from 0 on: it parts ids that are all in memory without a digest."""
        import pyarrow as pa

        given = [batch.persons for batch in self._waiting]
        if len({ids.type for ids in given}) != 1:
            # an integer and its text are one id
            given = [ids.cast(pa.large_string()) for ids in given]
        ids = pa.chunked_array(given, given[0].type if given else pa.large_string()).dictionary_encode()
        numbers = [np.from_dlpack(part.indices) for part in ids.chunks]  # [P:person-number]
        return np.concatenate([np.empty(0, dtype=np.int32), *numbers])

    def _write(self) -> None:
        """Put what waits in memory on disk."""
        import pyarrow as pa

        self._on_disk = True
        for waiting in self._waiting:
            texts = waiting.persons.cast(pa.large_string())
            columns = {
                **dict(zip(_PERSON, map(pa.array, person_digests(texts, self._keyed)), strict=True)),
                "kept": pa.array(waiting.kept),
                "digest": pa.array(waiting.digests),
                **{f"v{j}": pa.array(values) for j, values in enumerate(waiting.values)},
            }
            self._database.register("batch", pa.table(columns))
            self._database.execute("INSERT INTO entries SELECT * FROM batch")
            self._database.unregister("batch")
        self._waiting.clear()
        self._waiting_bytes = 0

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


class _Places:
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
