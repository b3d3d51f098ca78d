"""Units of several rows: at most k rows of each person, whatever the order of the table.

Kept are the k rows with the smallest keyed digest of their grid values, ties broken by the values themselves, so which
rows stay depends on that person's rows alone. Until that is decided all rows wait, up to a stated size in memory and
beyond it on disk in a private folder, so that memory does not grow with the table. Ids are not among what waits on
disk: a keyed digest replaces each, and the key never leaves the memory of the process.
"""

from __future__ import annotations

import hashlib
import math
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, NoReturn

import numpy as np
import numpy.typing as npt

from discreet.curator import scratch
from discreet.curator.kept_parts import KeptParts
from discreet.curator.kept_rows import KeptRows
from discreet.curator.private_folder import PrivateFolder
from discreet.design.model import Design
from discreet.errors import DataError, missing_extra
from discreet.exact.arrays import FloatArray
from discreet.tables.files.database import is_interrupt

if TYPE_CHECKING:
    from pyarrow import Array, Buffer, Table


# what the database calls the disk that its rows may take
_DISK_LIMIT: Final = "max_temp_directory_size"
# memory of the database in MB, and at least so much for each column: it holds a block of every column at once
_MEMORY: Final = 512
_MEMORY_OF_COLUMN: Final = 1
# digests of ids, in pieces that the database sorts as fast as it sorts numbers
_DIGEST_BYTES: Final = 32
_PERSON: Final = ("p0", "p1", "p2", "p3")
# nothing is fetched, no other file is read, nothing is drawn on the terminal
_OFF: Final = (
    "autoinstall_known_extensions", "autoload_known_extensions", "enable_external_access", "enable_progress_bar",
)  # fmt: skip
# the finaliser of SplitMix64 (Steele, Lea & Flood 2014): it spreads the rows, no secrecy rests on it
_MULTIPLIERS: Final = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


class PersonCap:
    """Rows of a table by person, in a database file inside a private folder that goes away with it.

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
        self._key = cap_key(design)
        connect = _duckdb_connect()
        # a new one for each table, held in memory only: what is left of a killed process cannot be tied to ids
        self._keyed = hashlib.blake2b(key=secrets.token_bytes(hashlib.blake2b.MAX_KEY_SIZE), digest_size=_DIGEST_BYTES)
        self._database: Any = None
        self._waiting: list[tuple[Array, Table]] = []
        self._waiting_bytes = 0
        self._on_disk = False
        numbers = ", ".join(f"v{j} INTEGER" for j in range(self._size))
        self._folder = PrivateFolder()
        try:
            memory = max(_MEMORY, values * _MEMORY_OF_COLUMN)
            self._database = _database(connect, self._folder.files, threads, memory)
            _lock_down(self._database)
            person = ", ".join(f"{name} UBIGINT" for name in _PERSON)
            self._database.execute(f"CREATE TABLE entries ({person}, kept BOOLEAN, digest UBIGINT, {numbers})")
        except BaseException as error:
            self._close(error)
            raise

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
                self._database.close()
        finally:
            self._folder.close()
        if error is not None and is_interrupt(error):
            _raise_alone(KeyboardInterrupt())
        if error is not None and _is_of_duckdb(error):
            # nothing but the disk or its memory can fail there, and its own words might hold cells
            _raise_alone(scratch.no_memory() if _is_short_of_memory(error) else scratch.no_room())

    def add(self, persons: Array, kept: npt.NDArray[np.bool_] | None, grid: FloatArray) -> None:
        """Take one batch: the person of every row read, which rows are kept, and the kept rows (1, x, y) in steps."""
        import pyarrow as pa

        rows = len(persons)
        mask = np.ones(rows, dtype=np.bool_) if kept is None else kept
        values = np.zeros((self._size, rows), dtype=np.int32)
        values[:, mask] = grid[1:]
        columns = {
            "kept": pa.array(mask),
            "digest": pa.array(row_digests(values, self._key)),
            **{f"v{j}": pa.array(values[j]) for j in range(self._size)},
        }
        entries = pa.table(columns)
        self._waiting.append((persons, entries))
        self._waiting_bytes += persons.nbytes + entries.nbytes
        if self._on_disk or self._waiting_bytes > scratch.IN_MEMORY_BYTES:
            self._write()

    def over_cap(self) -> tuple[int, int, int]:
        """Persons, those among them with more rows than count, and the number of rows beyond; for a check only."""
        entries, person = self._entries()
        over = f"greatest(sum(kept::BIGINT) - {self._max_rows}, 0)"
        found = self._database.sql(
            "SELECT count(*), count(*) FILTER (beyond > 0), coalesce(sum(beyond), 0) "
            f"FROM (SELECT {over} AS beyond FROM {entries} GROUP BY {', '.join(person)})"
        ).fetchall()
        persons, many, beyond = map(int, found[0])
        return persons, many, beyond

    def keep(self, kept: KeptParts | KeptRows, batch_rows: int) -> tuple[int, tuple[int, int]]:
        """Set aside the rows that stay; give the number of persons, and the numbers of rows that fit and that do not.

        Persons whose rows are all dropped count too. Of each person no more rows than the cap are in the two numbers
        together, those that stay first.
        """
        entries, person = self._entries()
        names = [f"v{j}" for j in range(self._size)]
        # rows that no rule drops come first, so a place among the first is a place among those
        order = ", ".join([*person, "kept DESC", "digest", *names])  # [P:order-of-rows]
        chosen = ", ".join([*person, "kept::TINYINT AS kept", *names])
        relation = self._database.sql(f"SELECT {chosen} FROM {entries} ORDER BY {order}")
        persons = fitting = other = 0
        places = _Places()
        for batch in relation.to_arrow_reader(batch_rows):
            columns = [np.from_dlpack(column) for column in batch.columns]
            place = places.of(columns[: len(person)])
            mark, values = columns[len(person)] == 1, columns[len(person) + 1 :]
            within = place < self._max_rows  # [P:rows-that-count]
            stays = within & mark
            persons += int((place == 0).sum())
            # [P:rows-within-the-cap]
            fitting, other = fitting + int(stays.sum()), other + int((within & ~mark).sum())
            kept.add(place[stays] == 0, np.array(values)[:, stays])
        return persons, (fitting, other)

    def _entries(self) -> tuple[str, tuple[str, ...]]:
        """The name of all rows in the database, and of the columns that say whose they are."""
        import pyarrow as pa

        if self._on_disk or not self._waiting:
            return "entries", _PERSON
        # ids that are all in memory are numbered, which parts them without a digest
        ids = pa.chunked_array([persons for persons, _ in self._waiting]).combine_chunks()
        numbers = ids.dictionary_encode().indices  # [P:person-number]
        rows = pa.concat_tables([entries for _, entries in self._waiting])
        self._database.register("waiting", rows.append_column("person", numbers))
        return "waiting", ("person",)

    def _write(self) -> None:
        """Put what waits in memory on disk."""
        import pyarrow as pa

        self._on_disk = True
        for persons, entries in self._waiting:
            digests = dict(zip(_PERSON, map(pa.array, person_digests(persons, self._keyed)), strict=True))
            batch = pa.table({**digests, **dict(zip(entries.column_names, entries.columns, strict=True))})
            self._database.register("batch", batch)
            self._database.execute("INSERT INTO entries SELECT * FROM batch")
            self._database.unregister("batch")
        self._waiting.clear()


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

    coded = persons.cast(pa.binary()).dictionary_encode()
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

    A row without an id belongs to nobody who could be charged for it: it is refused, or left out where the design
    leaves no room for errors.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    from discreet.tables.arrow import entry_indices
    from discreet.tables.cells import integers_below

    if pa.types.is_dictionary(values.type):
        # entries first: decoding has no kernel for some kinds of text
        entries = values.dictionary
        if pa.types.is_string_view(entries.type):
            entries = entries.cast(pa.string())
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
    # integers with a gap among them are written 1.0, 2.0 by some; the ids must not depend on that gap
    persons = pc.replace_substring_regex(values.cast(pa.string()), r"^(-?[0-9]+)\.0*$", r"\1")
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

    return pa.array([text(cell.as_buffer()) for cell in values], pa.string())


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
