"""Start and stop a Spark session for one release, and run its jobs."""

from __future__ import annotations

import io
import logging
import os
import re
import socket
import sys
import threading
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from discreet.errors import DataError, DiscreetError, SpecError, missing_extra, shown
from discreet.tables.opening import is_text

# -- spark jobs --------------------------------------------------------------------------------------------------------
# One question to Spark: asked in a thread of its own, so that an interrupt or a time limit ends it.
#
# What Spark says about a failure quotes cells and plans, so nothing of it is repeated but the name of its condition,
# which is a word of a fixed list.

Result = TypeVar("Result")

# within it Spark must start, describe a table, and run a first small task
ANSWER_SECONDS: float = 300.0
_STEP: Final = 0.1
_GRACE: Final = 10.0
_CONDITION: Final = re.compile(r"[A-Z][A-Z0-9_]*(\.[A-Z][A-Z0-9_]*)?")
_OLDEST: Final = 4
_THREAD: Final = "spark-question"
# they write what failed to the standard error of whoever asked, with cells in it
_LOGGERS: Final = ("DataFrameQueryContextLogger", "SQLQueryContextLogger", "pyspark.sql.connect.logging")


def check_spark() -> None:
    """Refuse to go on without Spark's library, or with one that is too old."""
    try:
        import pyspark
    except ImportError:
        raise missing_extra("spark", "pyspark", "the engine spark") from None
    major = pyspark.__version__.partition(".")[0]
    if not major.isdigit() or int(major) < _OLDEST:
        raise SpecError(
            f"pyspark {pyspark.__version__} is too old: expected {_OLDEST}.0 or newer; install it with: "
            "pip install 'discreet[spark]'"
        )


def asked(
    session: Any,  # noqa: ANN401  # Spark's sessions have no type in common
    question: Callable[[], Result],
    problem: str,
    *,
    within: float | None = None,
    late: str = "",
) -> Result:
    """The answer to a question, or one plain sentence.

    Parameters
    ----------
    session
        Whose jobs are stopped where nobody waits any more; none before there is one.
    question
        Calls Spark; errors of our own pass through.
    problem
        What is said where it fails.
    within, late
        Seconds to wait, without limit unless given, and what is said after them.

    Raises
    ------
    DataError
        If Spark fails or does not answer.
    """
    tag = f"discreet-{uuid.uuid4().hex}"
    results: list[Result] = []
    errors: list[BaseException] = []

    _hush()

    def ask() -> None:
        try:
            with warnings.catch_warnings():
                # what it thinks of versions is for its own users
                warnings.simplefilter("ignore")
                if session is not None:
                    session.addTag(tag)
                results.append(question())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=ask, name=_THREAD, daemon=True)
    thread.start()
    waited = 0.0
    try:
        while thread.is_alive() and (within is None or waited < within):
            thread.join(_STEP)
            waited += _STEP
    except BaseException:
        _stop(session, tag, thread)
        raise
    if thread.is_alive():
        _stop(session, tag, thread)
        raise DataError(late)
    if not errors:
        return results[0]
    known = next((error for error in errors if isinstance(error, DiscreetError)), None)
    said = known if known is not None else DataError(f"{problem}{_condition(errors[0])}")
    # what Spark said stays behind: error trackers would show it
    errors.clear()
    raise said


def explained(frame: Any) -> str:  # noqa: ANN401  # a DataFrame, classic or of Connect
    """The plan of a DataFrame as Spark prints it: searched and never shown, as it quotes what was asked for."""
    heard = _Heard()
    with redirect_stdout(heard):
        frame.explain(mode="simple")
    return heard.getvalue()


class _Heard(io.StringIO):
    """What this thread prints; what others print meanwhile goes where it went before."""

    def __init__(self) -> None:
        super().__init__()
        self._mine, self._before = threading.get_ident(), sys.stdout

    def write(self, text: str) -> int:
        """Keep a text, or hand it on."""
        return super().write(text) if threading.get_ident() == self._mine else self._before.write(text)


def _hush() -> None:
    """Keep Spark's own loggers from writing about our questions; those of others are not touched."""
    with suppress(ImportError):
        from pyspark.logger import PySparkLogger

        for name in _LOGGERS:
            # adding it twice is adding it once
            PySparkLogger.getLogger(name).addFilter(_of_others)


def _of_others(record: logging.LogRecord) -> bool:
    return record.threadName != _THREAD


def _stop(session: Any, tag: str, thread: threading.Thread) -> None:  # noqa: ANN401  # as above
    """Ask Spark to stop what runs under a tag, and wait no longer than a moment for it."""
    if session is None:
        return

    def stop() -> None:
        with suppress(BaseException):
            session.interruptTag(tag)

    # Spark may not hear it either
    stopping = threading.Thread(target=stop, name="spark-stop", daemon=True)
    stopping.start()
    stopping.join(_GRACE)
    thread.join(_GRACE)


def _condition(error: BaseException) -> str:
    """The name of Spark's own condition, in brackets; nothing where it has none.

    >>> _condition(ValueError("secret"))
    ''
    """
    for method in ("getCondition", "getErrorClass"):
        with suppress(Exception):
            name = getattr(error, method)()
            if isinstance(name, str) and _CONDITION.fullmatch(name):
                return f" (Spark's condition: {name})"
    return ""


# -- spark session -----------------------------------------------------------------------------------------------------
# A session of Spark for one release: started for it, silent, and stopped after it.

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
                within=ANSWER_SECONDS,
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
        session = asked(None, lambda: _started(master), problem, within=ANSWER_SECONDS, late=late)
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
