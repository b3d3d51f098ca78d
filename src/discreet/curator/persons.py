"""Units of several rows: at most k rows of each person, whatever the order of the table.

Kept are the k rows with the smallest keyed digest of their grid values, ties broken by the values themselves, so which
rows stay depends on that person's rows alone. Rows that may still be among them wait, up to a stated size in memory,
where they are sorted and pruned, and beyond it in a database on disk, in a private folder, so that memory does not grow
with the table.
Ids are not among what waits on disk: a keyed digest replaces each, and the key never leaves the memory of the process.
"""

from __future__ import annotations

import hashlib
import math
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.curator import scratch
from discreet.curator.kept_parts import KeptParts
from discreet.curator.kept_rows import KeptRows
from discreet.curator.person_order import Candidates, PersonRows, Places
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
            _raise_alone(scratch.no_memory() if _is_short_of_memory(error) else scratch.no_room())

    def add(self, persons: Array, kept: npt.NDArray[np.bool_] | None, grid: FloatArray) -> None:
        """Take one batch: the person of every row read, which rows are kept, and the kept rows (1, x, y) in steps.

        Persons are as `known_ids` or `known_persons` gives them.
        """
        rows = len(persons)
        if rows == 0:
            return
        if self._used + rows > len(self._block.kept):
            self._compare()
            self._block = PersonRows.empty(self._size, max(rows, scratch.IN_MEMORY_BYTES // _row_bytes(self._size)))
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
        if ids_bytes + self._used * _row_bytes(self._size) > scratch.IN_MEMORY_BYTES:
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
            if self._candidates.nbytes > _CANDIDATES * scratch.IN_MEMORY_BYTES:
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
