"""Exact sums of a Spark DataFrame, computed on its executors."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn
from urllib.parse import urlsplit

import pyarrow as pa

from discreet import __version__
from discreet.curator.engine import Engine, NoSums, PartSums, TakeRows, Work
from discreet.curator.individuals import known_persons
from discreet.curator.summing import totals_of
from discreet.curator.sums.gram import Sums
from discreet.curator.sums.row_counts import RowCounts
from discreet.design.columns import bad_cell, remedy
from discreet.design.design import Design
from discreet.errors import CellError, DataError, OptionError, UnsupportedError
from discreet.spark import spark_session
from discreet.spark.executor_tasks import (
    PERSON_TYPES,
    RESULT_TYPES,
    Kind,
    Problem,
    Task,
    column_names,
    merged,
    packed_work,
    read_block,
    task_of,
)
from discreet.spark.spark_session import check_spark, plan_text, run_on_spark
from discreet.tables.arrow import declared_arrays
from discreet.tables.csv_format import DEFAULT_READING, ReadOptions
from discreet.tables.file_source import check_reading, is_text
from discreet.tables.frames import Origin, check_names, is_from
from discreet.tables.opening import open_source

if TYPE_CHECKING:
    from discreet.tables.source import Source

# -- spark source ------------------------------------------------------------------------------------------------------
# The executors sum a Spark DataFrame in two stages of `mapInArrow`, with a window function for individuals. RDDs and
# accumulators are not used, so Spark Connect works too. The first stage returns the exact sums of each part, the second
# adds them after a shuffle by part number, and the driver adds the rest. Executors know the design and the grid, and
# draw no noise.

_TEXT: Final = (".json", ".jsonl", ".ndjson", ".txt", ".xml")
# names that Spark's plans give to scans of text files and of Hive tables whose rows are text
_TEXT_SCAN: Final = re.compile(
    r"\b(FileScan|BatchScan) (csv|json|text|xml)\b|\b(LazySimple|OpenCSV|Json|Regex)SerDe\b", re.IGNORECASE
)
_KEY_BYTES: Final = 64
# these limit the input of a task that adds sums, and of the driver, to a few megabytes
_FEWEST_ADDERS: Final = 4
_MOST_ADDERS: Final = 64
_BODY_BYTES: Final = 2**16
_NO_TABLE: Final = (
    "Spark cannot describe the table; check the query, path or name behind the table, and that Arrow supports its "
    "column types"
)
_NO_ANSWER: Final = (
    "Spark does not answer, because the cluster is down or has no free slot for a task. No budget was spent; check the "
    "cluster's master, and try again"
)
_NO_TASK: Final = (
    "Spark's executors could not run a first task. Nothing was spent. They need the Python version of the driver, with "
    "pyspark, pyarrow and discreet; set PYSPARK_PYTHON to such an interpreter before the session starts, or ship an "
    "environment with spark.archives"
)
_LOST: Final = "parts of the table were lost on their way from Spark, and nothing was spent"
_NOT_DONE: Final = (
    "Spark could not read and sum the table. Nothing was spent. Executors were lost repeatedly, ran out of memory, or "
    "a part of the plan failed; see Spark's log"
)


class SparkSource:
    """A Spark DataFrame, classic or Spark Connect. Spark may compute its rows more than once."""

    origin: Final[Origin] = "spark"
    # None, because the digest is computed from the rows as they are read
    fingerprint: Final = None

    def __init__(self, frame: Any) -> None:  # noqa: ANN401  # classic or of Connect
        check_spark()
        self.read_as: Final[Mapping[str, object]] = DEFAULT_READING.read_as()
        self._frame = frame
        self._session = run_on_spark(None, lambda: frame.sparkSession, _NO_TABLE)
        if self._answer(lambda: frame.isStreaming):
            raise OptionError(
                "the DataFrame is an unbounded stream",
                code="streaming-table",
                option="data",
                remedy="give a DataFrame of a stored table",
            )
        _check_files(self._answer(frame.inputFiles))
        # the plan reveals text files with any name, and those behind cached queries
        if _TEXT_SCAN.search(self._answer(lambda: plan_text(frame))):
            raise _text_refused("")

    def sum_rows(self, work: Work, sums: Sums) -> PartSums:
        """Sum the rows exactly on the executors, using at most `max_rows` rows of each individual."""
        body = packed_work(work, sums.empty())
        chosen, adders = self._chosen(work.design), _adders(sums)

        def added() -> Any:  # noqa: ANN401  # rows of Spark
            summed = _mapped(chosen, work, "sums", "capped-sums", body)
            return summed.repartition(adders, "part").mapInArrow(_task("add"), RESULT_TYPES).collect()

        answers = run_on_spark(self._session, added, _NOT_DONE)
        problems = [Problem(answer.code, answer.name, answer.part) for answer in answers if answer.code]
        if problems:
            _refuse(problems, work.design)
        # every task answers exactly once, but Spark runs no task for a plan that it knows to be empty
        if answers and sorted(answer.part for answer in answers) != list(range(adders)):
            raise DataError(_LOST, code="spark-parts-lost", remedy="try again")
        bodies = [bytes(answer.body) for answer in answers if answer.body]
        return merged(map(PartSums.unpacked, bodies)) or _nothing(sums)

    def set_aside(self, work: Work, take: TakeRows) -> PartSums:
        """Collect the included rows on the driver, part by part, for later passes."""
        chosen = self._chosen(work.design)

        def taken() -> list[PartSums]:
            mapped = _mapped(chosen, work, "rows", "capped-rows", packed_work(work))
            return _taken(mapped.toLocalIterator(), work.design, take)

        return merged(run_on_spark(self._session, taken, _NOT_DONE)) or _nothing(NoSums())

    def _chosen(self, design: Design) -> Any:  # noqa: ANN401  # as above
        """Select the declared columns, and check names, types and one executor's version before any row is read."""
        columns = design.table_columns
        names = column_names(design)
        check_names(names, self._answer(lambda: self._frame.columns))
        # use generated names from here on, because Spark rejects some column names
        numbered = [f"{_quoted(name)} AS c{index}" for index, name in enumerate(names)]
        chosen = self._answer(lambda: self._frame.selectExpr(*numbered))
        schema = self._answer(lambda: chosen.limit(0).toArrow().schema)
        batch = pa.record_batch([pa.nulls(0, field.type) for field in schema], names=names)
        declared_arrays(batch, columns)
        if design.unit.id is not None:
            known_persons(design.unit.id, batch.column(design.unit.id), total=design.total)
        self._first_task()
        return chosen

    def _first_task(self) -> None:
        """Check the version of discreet on one executor before any executor reads the table."""
        answers = self._answer(
            lambda: self._session.range(1).mapInArrow(_task("probe"), RESULT_TYPES).collect(), _NO_TASK
        )
        problems = [Problem(answer.code, answer.name, answer.part) for answer in answers if answer.code]
        if problems:
            _refuse(problems, None)

    def _answer(self, question: Any, problem: str = _NO_TABLE) -> Any:  # noqa: ANN401  # whatever Spark gives
        return run_on_spark(self._session, question, problem, within=spark_session.ANSWER_SECONDS, late=_NO_ANSWER)


def _mapped(chosen: Any, work: Work, of_rows: Kind, of_persons: Kind, body: bytes) -> Any:  # noqa: ANN401  # DataFrames
    """Build the query that returns the results of all parts of the table."""
    if work.design.unit.id is None:
        return chosen.mapInArrow(_task(of_rows, body), RESULT_TYPES)
    keyed = packed_work(work, key=secrets.token_bytes(_KEY_BYTES))
    persons = chosen.mapInArrow(_task("persons", keyed), PERSON_TYPES)
    place = "row_number() OVER (PARTITION BY person ORDER BY kept DESC NULLS LAST, digest, row) AS place"
    capped = persons.selectExpr("kept", "row", place).where(
        f"place <= {work.design.unit.max_rows}"
    )  # [P:cap-by-window]
    return capped.mapInArrow(_task(of_persons, body), RESULT_TYPES)


def _task(kind: Kind, body: bytes = b"") -> Task:
    return task_of(kind, __version__, body)


def _taken(rows: Iterable[Any], design: Design, take: TakeRows) -> list[PartSums]:
    """Pass on the blocks of all parts as they arrive, and return the counts of each part."""
    parts: list[PartSums] = []
    problems: list[Problem] = []
    blocks = 0
    for answer in rows:
        if answer.code == "block":
            block = read_block(answer.name, bytes(answer.body))
            take(block[0] == 1, block[1:])
            blocks += 1
        elif answer.code:
            problems.append(Problem(answer.code, answer.name, answer.part))
        else:
            parts.append(PartSums.unpacked(bytes(answer.body)))
            blocks -= int(answer.name)
    if problems:
        _refuse(problems, design)
    if blocks:
        raise DataError(_LOST, code="spark-parts-lost", remedy="try again")
    return parts


def _nothing(sums: Sums) -> PartSums:
    """Return the sums of a plan that Spark knows to be empty, for which it runs no task."""
    return PartSums(totals_of(sums.empty(), RowCounts()))


def _adders(sums: Sums) -> int:
    """Return the number of tasks that add the sums of parts."""
    size = len(_nothing(sums).packed())
    return min(_FEWEST_ADDERS + size // _BODY_BYTES, _MOST_ADDERS)


def _check_files(files: Iterable[str]) -> None:
    """Reject text files: Spark may read different rows, and its type inference lets one cell affect others."""
    for name in files:
        path = Path(urlsplit(name).path)
        if is_text(path) or path.suffix.lower() in _TEXT:
            raise _text_refused(f", such as {path.name!r}")


def _text_refused(which: str) -> UnsupportedError:
    return UnsupportedError(
        f"the DataFrame reads text files{which}, which are not supported: Spark's parser may read different rows, and "
        "infers types from cells",
        code="text-files-on-spark",
        option="data",
        remedy=("write the table as Parquet with a declared schema", "release the file without Spark"),
    )


def _refuse(problems: Iterable[Problem], design: Design | None) -> NoReturn:
    """Raise the error of the earliest part, with the same message as on a single machine."""
    first = min(problems, key=lambda item: (item.code != "version", item.part))
    if first.code == "version":
        installed = f"discreet {first.name}" if first.name else "no discreet"
        raise UnsupportedError(
            f"a Spark executor has {installed}, but the driver has discreet {__version__}. No budget was spent",
            code="version-mismatch",
            remedy=(
                f"install discreet=={__version__} for the Python that PYSPARK_PYTHON names",
                "ship it with spark.submit.pyFiles or spark.archives",
            ),
        )
    if first.code == "cell" and design is not None and first.name in design.table_columns:
        column = design.table_columns[first.name]
        problem = f"column {first.name!r} has a cell that is missing or {bad_cell(column)}"
        raise CellError(problem, column=first.name, remedy=remedy(column))
    if first.code == "id" and design is not None:
        raise DataError(
            f"the id column {design.unit.id!r} has a cell that is missing or neither text nor an integer",
            code="invalid-id",
            column=design.unit.id,
            remedy="give every row an id",
        )
    raise DataError(
        f"a task of Spark failed ({first.name}), and nothing was spent",
        code="spark-task-failed",
        remedy="give executors more memory, and try again",
    )


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


# -- opening -----------------------------------------------------------------------------------------------------------


def open_table(data: object, *, reading: ReadOptions = DEFAULT_READING) -> Source | Engine:
    """Open a Spark DataFrame as an engine, and any other table as a source."""
    if is_from(data, "pyspark.sql", "DataFrame"):
        check_reading(reading, "a Spark DataFrame")
        return SparkSource(data)
    if isinstance(data, Engine):
        check_reading(reading, "the table of an engine")
        return data
    return open_source(data, reading=reading)
