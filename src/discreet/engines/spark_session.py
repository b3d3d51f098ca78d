"""A session of Spark for one release: started for it, silent, and stopped after it."""

from __future__ import annotations

import os
import re
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from discreet.engines import spark_jobs
from discreet.engines.spark_jobs import asked, check_spark
from discreet.errors import DataError, SpecError, shown
from discreet.tables.files.opening import is_text

_MASTERS: Final = re.compile(
    r"local(\[(\*|[0-9]+)(, *[0-9]+)?\])?|local-cluster\[[0-9]+, *[0-9]+, *[0-9]+\]|spark://.+|sc://.+|yarn|k8s://.+"
)
_ALLOWED: Final = "local[2], spark://HOST:7077, yarn, k8s://HOST:PORT, or sc://HOST:15002 for Spark Connect"
_CONNECT_PORT: Final = 15_002
_MASTER_PORT: Final = 7_077
_REACH_SECONDS: Final = 10.0
_STOP_SECONDS: Final = 30.0
# no page for others to read, no bar on the terminal, and no words of Spark, which quote cells
_SILENT: Final = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "OFF"}
_PARQUET: Final = (".parquet", ".parq")
_OTHERS: Final = (
    ".arrow", ".feather", ".ipc", ".dta", ".sav", ".zsav", ".sas7bdat", ".xpt", ".json", ".jsonl", ".orc", ".avro",
    ".xlsx", ".duckdb", ".txt",
)  # fmt: skip
_NOT_STARTED: Final = (
    "Spark could not be started at {master}: it needs Java 17 or newer (JAVA_HOME), a cluster of the same version that "
    "answers, and no other session in this process. Nothing was spent; the program pyspark says more"
)
_TOO_LATE: Final = "Spark did not start at {master} in time; look at its master. Nothing was spent"
_NO_TABLE: Final = (
    "Spark cannot open {what}: it is not there, not Parquet, or its files differ in their types. Nothing was spent"
)


@dataclass(frozen=True, slots=True)
class SparkInput:
    """A table that Spark finds: Parquet files by their path, or a table of its catalogue by name.

    Attributes
    ----------
    master
        Where Spark runs; `sc://` is Spark Connect.
    path, table
        One of the two.

    Examples
    --------
    >>> SparkInput("local[2]", path="people.parquet").what
    "the path 'people.parquet'"
    """

    master: str
    path: str | None = None
    table: str | None = None

    def __post_init__(self) -> None:
        if not _MASTERS.fullmatch(self.master):
            raise SpecError(f"master {shown(self.master)} is not allowed; give {_ALLOWED}")
        if self.path is not None and self.table is not None:
            raise SpecError(f"both the path {shown(self.path)} and the table {shown(self.table)} are given; give one")
        if not self.path and not self.table:
            raise SpecError("no table is given; give the path of Parquet files, or --table NAME of Spark's catalogue")
        if self.path is not None:
            _check_path(self.path)

    @property
    def what(self) -> str:
        """What is read, in words."""
        return f"the table {shown(self.table)}" if self.path is None else f"the path {shown(self.path)}"

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """A DataFrame of the table, until the session that it belongs to is stopped."""
        with spark_session(self.master) as session:
            yield asked(
                session,
                lambda: self._frame(session),
                _NO_TABLE.format(what=self.what),
                within=spark_jobs.ANSWER_SECONDS,
                late=_TOO_LATE.format(master=self.master),
            )

    def _frame(self, session: Any) -> Any:  # noqa: ANN401  # classic or of Connect
        if self.path is None:
            return session.table(self.table)
        # names of folders may hold cells, and must not decide about a type
        session.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
        return session.read.option("mergeSchema", "true").parquet(self.path)


def _check_path(path: str) -> None:
    """Refuse what Spark reads otherwise than we do, by its name."""
    name = Path(path)
    if is_text(name):
        raise SpecError(
            f"{name.name!r} is a CSV file, which Spark does not read here: its parser would read other rows. Release "
            "it without --engine spark, or write it as Parquet first"
        )
    if name.suffix.lower() in _OTHERS:
        raise SpecError(f"{name.name!r} is not Parquet; Spark reads {', '.join(_PARQUET)} files and tables here")
    with suppress(OSError):
        if (name / "_delta_log").exists():
            raise SpecError(f"{name.name!r} is a Delta table, whose files also hold deleted rows; give it as --table")


@contextmanager
def spark_session(master: str) -> Iterator[Any]:
    """A session at a master, stopped at the end whatever happens.

    Raises
    ------
    SpecError
        If Spark's library is missing or too old, or nothing answers at the address.
    DataError
        If Spark does not start.
    """
    check_spark()
    check_reachable(master)
    if master.startswith("local"):
        # here the driver starts the workers: they are of this interpreter, which has discreet
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    problem, late = _NOT_STARTED.format(master=master), _TOO_LATE.format(master=master)
    with _without_stderr():
        session = asked(None, lambda: _started(master), problem, within=spark_jobs.ANSWER_SECONDS, late=late)
    try:
        yield session
    finally:
        with suppress(DataError):
            asked(None, session.stop, "", within=_STOP_SECONDS)


def _started(master: str) -> Any:  # noqa: ANN401  # as above
    from pyspark.sql import SparkSession

    if master.startswith("sc://"):
        return SparkSession.builder.remote(master).getOrCreate()
    builder = SparkSession.builder.master(master).appName("discreet")
    for key, value in _SILENT.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


@contextmanager
def _without_stderr() -> Iterator[None]:
    """Let programs that are started meanwhile inherit a standard error that leads nowhere.

    Spark's Java process writes its log there, and its workers theirs, with what they say about cells.
    """
    sys.stderr.flush()
    ours, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(ours, 2)
        os.close(ours)
        os.close(nowhere)


def check_reachable(master: str) -> None:
    """Refuse an address at which nothing listens, before Spark tries it for minutes.

    >>> check_reachable("local[2]")
    """
    addresses = _addresses(master)
    for host, port in addresses:
        try:
            socket.create_connection((host, port), timeout=_REACH_SECONDS).close()
        except (OSError, UnicodeError):
            continue
        return
    if addresses:
        raise SpecError(
            f"nothing answers at {shown(master)}; check host and port, and that Spark runs there. Nothing was spent"
        )


def _addresses(master: str) -> list[tuple[str, int]]:
    """Hosts and ports of a standalone master, which may be several, or of a Connect server; none of other masters.

    >>> _addresses("sc://db:15002/;token=x"), _addresses("spark://a:1,b"), _addresses("yarn")
    ([('db', 15002)], [('a', 1), ('b', 7077)], [])
    """
    scheme, _, rest = master.partition("://")
    usual = {"sc": _CONNECT_PORT, "spark": _MASTER_PORT}.get(scheme)
    if usual is None:
        return []
    found = []
    for one in rest.partition("/")[0].split(","):
        host, _, port = one.rpartition(":") if re.search(r":[0-9]+$", one) else (one, "", "")
        number = int(port) if port else usual
        if not host or number > 65_535:
            raise SpecError(f"master {shown(master)} is not allowed; give {_ALLOWED}")
        found.append((host.strip("[]"), number))
    return found
