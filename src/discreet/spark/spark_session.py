"""Spark sessions for one release, and the calls to Spark."""

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

from discreet.errors import DataError, DiscreetError, MissingDependencyError, OptionError, UnsupportedError, shown
from discreet.tables.file_source import is_text
from discreet.wording import Install, LeaveOut, Message, SetOption

# -- spark jobs --------------------------------------------------------------------------------------------------------
# Each call to Spark runs in a separate thread, so that an interrupt or a time limit can end it. Spark's error messages
# quote cells and plans, so only the name of the error condition is repeated, which comes from a fixed list.

Result = TypeVar("Result")

# time limit for starting Spark, describing a table, and running a first small task
ANSWER_SECONDS: float = 300.0
_STEP: Final = 0.1
_GRACE: Final = 10.0
_CONDITION: Final = re.compile(r"[A-Z][A-Z0-9_]*(\.[A-Z][A-Z0-9_]*)?")
_OLDEST_MAJOR: Final = 4
_THREAD: Final = "spark-question"
# these loggers write errors that quote cells to standard error
_LOGGERS: Final = ("DataFrameQueryContextLogger", "SQLQueryContextLogger", "pyspark.sql.connect.logging")


def check_spark() -> None:
    """Raise an error if pyspark is missing or too old."""
    try:
        import pyspark
    except ImportError:
        raise MissingDependencyError("spark", "pyspark", "the engine spark") from None
    major = pyspark.__version__.partition(".")[0]
    if not major.isdigit() or int(major) < _OLDEST_MAJOR:
        raise UnsupportedError(
            f"pyspark {pyspark.__version__} is too old: expected {_OLDEST_MAJOR}.0 or newer",
            code="pyspark-too-old",
            remedy=Install("spark"),
        )


def run_on_spark(
    session: Any,  # noqa: ANN401  # Spark's sessions have no type in common
    question: Callable[[], Result],
    problem: str,
    *,
    within: float | None = None,
    late: str = "",
) -> Result:
    """Run a call to Spark, and replace any error of Spark by a fixed message.

    `session` is None before a session exists. On an interrupt or timeout, the jobs of the session are cancelled. Errors
    of discreet pass through. `problem` is the message for a failure, and `late` the message if no answer arrives
    `within` seconds.
    """
    tag = f"discreet-{uuid.uuid4().hex}"
    results: list[Result] = []
    errors: list[BaseException] = []

    _hush()

    def ask() -> None:
        try:
            with warnings.catch_warnings():
                # Spark's warnings about versions do not concern our users
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
        raise DataError(late, code="spark-timeout")
    if not errors:
        return results[0]
    ours = next((error for error in errors if isinstance(error, DiscreetError)), None)
    raised = ours if ours is not None else DataError(f"{problem}{_condition(errors[0])}", code="spark-failed")
    # drop Spark's error, which an error tracker would show
    errors.clear()
    raise raised


def plan_text(frame: Any) -> str:  # noqa: ANN401  # a DataFrame, classic or of Connect
    """Return the plan of a DataFrame as Spark prints it. It may quote the query and must not be shown."""
    output = _ThreadOutput()
    with redirect_stdout(output):
        frame.explain(mode="simple")
    return output.getvalue()


class _ThreadOutput(io.StringIO):
    """Text stream that captures what this thread prints, and passes on what other threads print."""

    def __init__(self) -> None:
        super().__init__()
        self._thread, self._original = threading.get_ident(), sys.stdout

    def write(self, text: str) -> int:
        """Capture a text, or pass it on."""
        return super().write(text) if threading.get_ident() == self._thread else self._original.write(text)


def _hush() -> None:
    """Keep Spark's loggers from logging our calls. Other calls are logged as before."""
    with suppress(ImportError):
        from pyspark.logger import PySparkLogger

        for name in _LOGGERS:
            # adding a filter twice has no effect
            PySparkLogger.getLogger(name).addFilter(_is_other_thread)


def _is_other_thread(record: logging.LogRecord) -> bool:
    return record.threadName != _THREAD


def _stop(session: Any, tag: str, thread: threading.Thread) -> None:  # noqa: ANN401  # as above
    """Ask Spark to cancel the jobs with a tag, and wait only briefly."""
    if session is None:
        return

    def stop() -> None:
        with suppress(BaseException):
            session.interruptTag(tag)

    # in a thread, because this call may hang too
    stopping = threading.Thread(target=stop, name="spark-stop", daemon=True)
    stopping.start()
    stopping.join(_GRACE)
    thread.join(_GRACE)


def _condition(error: BaseException) -> str:
    """Return the name of Spark's error condition in brackets, or nothing if it has none."""
    for method in ("getCondition", "getErrorClass"):
        with suppress(Exception):
            name = getattr(error, method)()
            if isinstance(name, str) and _CONDITION.fullmatch(name):
                return f" (Spark's condition: {name})"
    return ""


# -- spark session -----------------------------------------------------------------------------------------------------
_MASTERS: Final = re.compile(
    r"local(\[(\*|[0-9]+)(, *[0-9]+)?\])?|local-cluster\[[0-9]+, *[0-9]+, *[0-9]+\]|spark://.+|sc://.+|yarn|k8s://.+"
)
_ALLOWED: Final = "an address such as local[2], spark://HOST:7077, yarn, k8s://HOST:PORT or sc://HOST:15002"
_CONNECT_PORT: Final = 15_002
_MASTER_PORT: Final = 7_077
_REACH_SECONDS: Final = 10.0
_STOP_SECONDS: Final = 30.0
# no web page, no progress bar, and no log, because Spark's messages quote cells
_SILENT: Final = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "OFF"}
_PARQUET: Final = (".parquet", ".parq")
_OTHER_FORMATS: Final = (
    ".arrow", ".feather", ".ipc", ".dta", ".sav", ".zsav", ".sas7bdat", ".xpt", ".json", ".jsonl", ".orc", ".avro",
    ".xlsx", ".duckdb", ".txt",
)  # fmt: skip
_NOT_STARTED: Final = (
    "Spark could not be started at {master}. No budget was spent. Spark needs Java 17 or newer (JAVA_HOME), a "
    "reachable cluster of the same version, and no other session in this process; start the program pyspark for details"
)
_TOO_LATE: Final = "Spark did not start at {master} in time. No budget was spent; check that the master runs"
_NO_TABLE: Final = (
    "Spark cannot open {what}: it does not exist, is not Parquet, or has files with different column types. No budget "
    "was spent"
)


@dataclass(frozen=True, slots=True)
class SparkInput:
    """Parquet files by path, or a table of Spark's catalogue by name.

    `master` is the address of Spark, where `sc://` means Spark Connect. Exactly one of `path` and `table` must be set.
    """

    master: str
    path: str | None = None
    table: str | None = None

    def __post_init__(self) -> None:
        if not _MASTERS.fullmatch(self.master):
            raise OptionError(option="master", given=self.master, allowed=_ALLOWED)
        if self.path is not None and self.table is not None:
            raise OptionError(
                f"expected a path or a table, got both: path {shown(self.path)} and table {shown(self.table)}",
                code="conflicting-options",
                option="table",
                given=self.table,
                remedy="give one of them",
            )
        if not self.path and not self.table:
            raise OptionError(
                "expected a path or a table, got neither",
                code="missing-table",
                option="data",
                remedy=("give the path of Parquet files", Message(SetOption("table"), " of Spark's catalogue")),
            )
        if self.path is not None:
            _check_path(self.path)

    @property
    def what(self) -> str:
        """Description of the input for messages."""
        return f"the table {shown(self.table)}" if self.path is None else f"the path {shown(self.path)}"

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """Open the table as a DataFrame, and stop the session at the end."""
        with spark_session(self.master) as session:
            yield run_on_spark(
                session,
                lambda: self._frame(session),
                _NO_TABLE.format(what=self.what),
                within=ANSWER_SECONDS,
                late=_TOO_LATE.format(master=self.master),
            )

    def _frame(self, session: Any) -> Any:  # noqa: ANN401  # classic or of Connect
        if self.path is None:
            return session.table(self.table)
        # folder names may contain cells, which must not determine a type
        session.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
        return session.read.option("mergeSchema", "true").parquet(self.path)


def _check_path(path: str) -> None:
    """Reject file names of formats that Spark would read differently."""
    name = Path(path)
    if is_text(name):
        raise UnsupportedError(
            f"{name.name!r} is a CSV file; CSV files are not read through Spark, because its parser may read different "
            "rows",
            code="text-files-on-spark",
            option="data",
            remedy=(LeaveOut("engine"), "write the table as Parquet first"),
        )
    if name.suffix.lower() in _OTHER_FORMATS:
        raise UnsupportedError(
            f"expected Parquet files, got {name.name!r}",
            code="not-parquet",
            option="data",
            remedy=f"give {' or '.join(_PARQUET)} files, or a table of Spark's catalogue",
        )
    with suppress(OSError):
        if (name / "_delta_log").exists():
            raise UnsupportedError(
                f"{name.name!r} is a Delta table, whose files may contain deleted rows",
                code="delta-table",
                option="data",
                remedy=SetOption("table"),
            )


@contextmanager
def spark_session(master: str) -> Iterator[Any]:
    """Open a Spark session at a master address, and stop it when the block ends or fails."""
    check_spark()
    check_reachable(master)
    if master.startswith("local"):
        # a local driver starts the workers, so let them use this interpreter, which has discreet
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    problem, late = _NOT_STARTED.format(master=master), _TOO_LATE.format(master=master)
    with _without_stderr():
        session = run_on_spark(None, lambda: _started(master), problem, within=ANSWER_SECONDS, late=late)
    try:
        yield session
    finally:
        with suppress(DataError):
            run_on_spark(None, session.stop, "", within=_STOP_SECONDS)


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
    """Discard the standard error of processes started in the block.

    Spark's Java process and its workers write logs there, which may quote cells.
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
    """Raise an error if nothing listens at the master, because Spark would try to connect for minutes."""
    addresses = _addresses(master)
    for host, port in addresses:
        try:
            socket.create_connection((host, port), timeout=_REACH_SECONDS).close()
        except (OSError, UnicodeError):
            continue
        return
    if addresses:
        raise OptionError(
            f"nothing answers at the Spark master {shown(master)}; no budget was spent",
            code="master-unreachable",
            option="master",
            given=master,
            remedy="check host and port, and that Spark runs there",
        )


def _addresses(master: str) -> list[tuple[str, int]]:
    """List the hosts and ports of a standalone master or a Connect server, or none for other masters.

    >>> _addresses("sc://db:15002/;token=x"), _addresses("spark://a:1,b"), _addresses("yarn")
    ([('db', 15002)], [('a', 1), ('b', 7077)], [])
    """
    scheme, _, rest = master.partition("://")
    usual = {"sc": _CONNECT_PORT, "spark": _MASTER_PORT}.get(scheme)
    if usual is None:
        return []
    addresses = []
    for address in rest.partition("/")[0].split(","):
        host, _, port = address.rpartition(":") if re.search(r":[0-9]+$", address) else (address, "", "")
        number = int(port) if port else usual
        if not host or number > 65_535:
            raise OptionError(option="master", given=master, allowed=_ALLOWED)
        addresses.append((host.strip("[]"), number))
    return addresses
