"""Read a table or view of a DuckDB database file.

The database can only return rows. It cannot load extensions or read or write other files, and nothing in it can change
these settings. Its error messages may quote cells, so they are replaced by fixed sentences.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from discreet.design.columns import Readable
from discreet.errors import DataError, MissingDependencyError, OptionError, SpecError, shown
from discreet.files import check_unchanged, path_text, regular_state
from discreet.tables.csv_format import DEFAULT_READING
from discreet.tables.frames import Origin, check_names, frame_batches
from discreet.tables.source import Place

if TYPE_CHECKING:
    from pyarrow import RecordBatch, RecordBatchReader, Schema

# the signature of a DuckDB file and its position
_MARK, _MARK_AT = b"DUCK", 8
_SQLITE: Final = b"SQLite format 3"
# a view that needs more memory fails, because nothing may be written to disk
_MEMORY: Final = "128MB"
_LOCKED: Final[dict[str, str | int | float | list[str]]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "enable_external_access": False,
    "lock_configuration": True,
    "memory_limit": _MEMORY,
    "temp_directory": "",
}
_LISTED: Final = (
    "SELECT schema_name, table_name, false FROM duckdb_tables() WHERE NOT internal UNION ALL "
    "SELECT schema_name, view_name, true FROM duckdb_views() WHERE NOT internal ORDER BY 1, 2"
)


@dataclass(frozen=True, slots=True)
class DatabaseTable:
    """A table or view of a DuckDB database file.

    The file is opened read-only, without loading extensions or other files. A view is a query, so the guarantee of its
    release has the additional condition `query-rows`.

    Attributes
    ----------
    database
        Path of the database file.
    table
        Name of the table or view, as `schema.name` if the schema is not `main`.

    Examples
    --------
    >>> DatabaseTable("people.duckdb", "people")
    DatabaseTable(database='people.duckdb', table='people')
    """

    database: str | os.PathLike[str]
    table: str

    def __post_init__(self) -> None:
        if not isinstance(self.database, str | os.PathLike):
            problem = f"expected the path of a DuckDB file for database, got {type(self.database).__name__}"
            raise OptionError(problem, option="database", allowed="the path of a DuckDB file")
        if not os.fspath(self.database):
            raise OptionError(option="database", given="", allowed="the path of a DuckDB file")
        if not isinstance(self.table, str) or not self.table:
            raise OptionError(option="table", given=self.table, allowed="the name of a table or view")

    def __str__(self) -> str:
        return f"table {self.table} of {path_text(self.database)}"


class DatabaseSource:
    """The rows of a database table or view, read in the calling thread."""

    numbered: Final = "row"
    # None, because the file may hold other tables and can store the same rows in many ways; the digest is computed
    # from the rows as they are read
    fingerprint: Final = None

    def __init__(self, table: DatabaseTable) -> None:
        self._path = Path(path_text(table.database))
        self._state = regular_state(self._path)
        _check_mark(self._path)
        self._name = table.table
        self._threads = 1
        self._before = 0
        self.read_as: Final[Mapping[str, object]] = DEFAULT_READING.read_as()
        with opened_database(self._path, self._threads) as database:
            listed = _listed(database)
            matches = [(stored, is_view) for name, stored, is_view in listed if name == self._name]
            where = f" of {self._path.name!r}"
            if not matches:
                names = [name for name, _, _ in listed]
                raise SpecError.unknown_name("table", self._name, names or ["none, the database has no tables"], where)
            if len(matches) > 1:
                both = " and ".join(stored for stored, _ in matches)
                raise SpecError(
                    f"the table name {shown(self._name)}{where} is ambiguous: it may mean {both}; rename one of them"
                )
            self._stored, is_view = matches[0]
            self.origin: Final[Origin | None] = "query" if is_view else None
            # reads the schema without any row
            self.schema: Final[Schema] = self._query(database, "*", 1, " LIMIT 0").schema

    @property
    def share_read(self) -> float | None:
        """None, because the number of rows of a view is unknown until the view has been read to its end."""
        return None

    def batches(self, columns: Mapping[str, Readable], batch_rows: int) -> Iterator[RecordBatch]:
        """Yield record batches of the declared columns, in declared order."""
        names = list(columns)
        check_names(names, self.schema.names)
        self._before = 0
        with opened_database(self._path, self._threads) as database:
            reader = self._query(database, ", ".join(map(_quoted, names)), batch_rows)
            for batch in frame_batches(reader, columns, batch_rows):
                yield batch
                self._before += batch.num_rows
        check_unchanged(self._path, self._state)

    def parts(self, count: int) -> Sequence[DatabaseSource]:
        """Return the table as one part. DuckDB reads a table with `count` threads, but computes a view with one thread.

        With several threads, DuckDB would handle signals only after all rows of a view are computed.
        """
        self._threads = 1 if self.origin == "query" else count
        return [self]

    def place(self, row: int) -> Place:
        """Return the index of a row in the table, counted from 0."""
        return Place(self._before + row, "row")

    def _query(self, database: Any, columns: str, batch_rows: int, rest: str = "") -> RecordBatchReader:  # noqa: ANN401  # DuckDB has no types
        try:
            # the query runs when rows are read from the result
            reader: RecordBatchReader = database.sql(f"SELECT {columns} FROM {self._stored}{rest}").to_arrow_reader(
                batch_rows
            )
        except Exception as error:  # the message may quote cells
            interrupted = is_interrupt(error)
        else:
            return reader
        if interrupted:
            raise KeyboardInterrupt
        raise DataError(
            f"the table {self._name!r} of {self._path.name!r} cannot be read: the file is damaged, or this is a view "
            "that fails in some row, needs more memory, or uses another file, an extension or a missing table; store "
            "the rows of a view as a table first"
        )


def database_tables(database: str | os.PathLike[str]) -> tuple[str, ...]:
    """List the tables and views of a DuckDB database file, by the names that `DatabaseTable` accepts.

    The file is opened read-only, and no row is read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import discreet, duckdb
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "survey.duckdb")
    ...     with duckdb.connect(str(file)) as database:
    ...         _ = database.execute("CREATE TABLE people (age INTEGER)")
    ...     discreet.database_tables(file)
    ('people',)
    """
    path = Path(path_text(DatabaseTable(database, "any").database))
    regular_state(path)
    _check_mark(path)
    with opened_database(path, 1) as opened:
        return tuple(name for name, _, _ in _listed(opened))


def _listed(database: Any) -> list[tuple[str, str, bool]]:  # noqa: ANN401  # DuckDB has no types
    """List the tables and views, each with its name for users, its name in SQL, and whether it is a view."""
    return [
        (name if schema == "main" else f"{schema}.{name}", f"{_quoted(schema)}.{_quoted(name)}", is_view)
        for schema, name, is_view in database.sql(_LISTED).fetchall()
    ]


def _check_mark(path: Path) -> None:
    try:
        with path.open("rb") as file:
            head = file.read(len(_SQLITE))
    except OSError as error:
        problem = DataError(f"the file {path.name!r} cannot be opened: {error.strerror}")
    else:
        if head[_MARK_AT:].startswith(_MARK):
            return
        other = "a SQLite database" if head.startswith(_SQLITE) else "not a DuckDB database"
        problem = DataError(
            f"expected a DuckDB database, but the file {path.name!r} is {other}; choose another file, or write the "
            "table as Parquet or CSV"
        )
    raise problem


@contextmanager
def opened_database(path: Path, threads: int) -> Iterator[Any]:
    """Open a database read-only, without access to other files or extensions."""
    try:
        import duckdb
    except ImportError:
        raise MissingDependencyError("duckdb", "duckdb", "a table of a database") from None
    # an absolute path, because other names could denote a service or another kind of database
    name = str(path.absolute())
    try:
        database = duckdb.connect(name, read_only=True, config={**_LOCKED, "threads": threads})  # [P:locked]
    except duckdb.Error:
        problem = DataError(
            f"the database {path.name!r} cannot be opened: another program is writing to it, it is damaged or "
            "encrypted, or a newer version of DuckDB wrote it; close the other program, or write the table as Parquet"
        )
    else:
        try:
            yield database
        finally:
            database.close()
        return
    raise problem


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def is_interrupt(error: BaseException) -> bool:
    """Return whether an error of DuckDB means that a signal stopped it."""
    return type(error).__name__ == "InterruptException" or (
        isinstance(error, RuntimeError) and "interrupted" in str(error).lower()
    )
