"""Units of several rows: at most k rows of each person, whatever the order of the table.

Kept are the k rows with the smallest keyed digest of their grid values, ties broken by the values themselves, so which
rows stay depends on that person's rows alone. Rows wait on disk in a private folder and come back in chunks, so memory
does not grow with the table.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from discreet.design.model import Design
from discreet.errors import DataError, missing_extra

if TYPE_CHECKING:
    from pyarrow import Array

FloatArray = npt.NDArray[np.float64]

_MEMORY: Final = "512MB"
# nothing is fetched, no other file is read, nothing is drawn on the terminal
_OFF: Final = (
    "autoinstall_known_extensions", "autoload_known_extensions", "enable_external_access", "enable_progress_bar",
)  # fmt: skip
# the finaliser of SplitMix64 (Steele, Lea & Flood 2014): it spreads the rows, no secrecy rests on it
_MULTIPLIERS: Final = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


class PersonCap:
    """Rows of a table by person, in a database file inside a private folder that goes away with it."""

    def __init__(self, design: Design) -> None:
        self._max_rows = design.unit.max_rows
        self._size = len(design.released) - 1
        self._key = int.from_bytes(hashlib.sha256(design.to_toml().encode()).digest()[:8], "big")
        connect = _duckdb_connect()
        self._folder = tempfile.TemporaryDirectory(prefix="discreet-")
        self._database = _database(connect, Path(self._folder.name))
        values = ", ".join(f"v{j} INTEGER" for j in range(self._size))
        self._database.execute(f"CREATE TABLE entries (person VARCHAR, kept BOOLEAN, digest UBIGINT, {values})")

    def __enter__(self) -> PersonCap:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._database.close()
        self._folder.cleanup()

    def add(self, persons: Array, kept: npt.NDArray[np.bool_] | None, grid: FloatArray) -> None:
        """Take one batch: the person of every row read, which rows are kept, and the kept rows (1, x, y) in steps."""
        import pyarrow as pa

        rows = len(persons)
        mask = np.ones(rows, dtype=np.bool_) if kept is None else kept
        values = np.zeros((self._size, rows), dtype=np.int32)
        values[:, mask] = grid[1:]
        columns = {
            "person": persons,
            "kept": pa.array(mask),
            "digest": pa.array(row_digests(values, self._key)),
            **{f"v{j}": pa.array(values[j]) for j in range(self._size)},
        }
        self._database.register("batch", pa.table(columns))
        self._database.execute("INSERT INTO entries SELECT * FROM batch")
        self._database.unregister("batch")

    def number(self) -> int:
        """How many persons stand in the table, also those whose rows are all dropped."""
        return int(self._database.execute("SELECT count(DISTINCT person) FROM entries").fetchone()[0])

    def chunks(self, unit: int, chunk_rows: int) -> Iterator[FloatArray]:
        """The rows that stay, as chunks of shape (1 + columns, rows) in grid steps."""
        names = ", ".join(f"v{j}" for j in range(self._size))
        relation = self._database.sql(
            f"SELECT {names} FROM entries WHERE kept "
            f"QUALIFY row_number() OVER (PARTITION BY person ORDER BY digest, {names}) <= {self._max_rows}"  # [P13]
        )
        for batch in relation.to_arrow_reader(chunk_rows):
            for start in range(0, batch.num_rows, chunk_rows):
                part = batch.slice(start, chunk_rows)
                chunk = np.empty((self._size + 1, part.num_rows))
                chunk[0] = unit
                for j in range(self._size):
                    chunk[j + 1] = np.from_dlpack(part.column(j))
                yield chunk


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
    """The ids of a batch as text, and which rows have one (none: all of them).

    A row without an id belongs to nobody who could be charged for it: it is refused, or left out where the design
    leaves no room for errors.
    """
    import pyarrow as pa

    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    kind = values.type
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    if not (text or pa.types.is_integer(kind) or pa.types.is_null(kind)):
        raise DataError(f"the id column {name!r} has type {kind}; ids are text or whole numbers")
    persons = values.cast(pa.string())
    if persons.null_count == 0:
        return persons, None
    if not total:
        raise DataError(f"the id column {name!r} has a missing cell; give every row its id")
    known = np.fromiter((cell.is_valid for cell in persons), dtype=np.bool_, count=len(persons))
    return persons.drop_null(), known


def _duckdb_connect() -> Callable[..., Any]:
    try:
        import duckdb
    except ImportError:
        raise missing_extra("duckdb", "duckdb") from None
    connect: Callable[..., Any] = duckdb.connect
    return connect


def _database(connect: Callable[..., Any], folder: Path) -> Any:  # noqa: ANN401  # DuckDB has no types of its own
    limits = {"memory_limit": _MEMORY, "threads": 1, "temp_directory": str(folder), "preserve_insertion_order": False}
    database = connect(str(folder / "rows.duckdb"), config=limits)
    for setting in _OFF:
        database.execute(f"SET {setting} = false")
    database.execute("SET lock_configuration = true")
    return database
