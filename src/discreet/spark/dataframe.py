"""Sum a Spark DataFrame on its executors."""

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
from discreet.design.columns import bad_cell, remedy
from discreet.design.design import Design
from discreet.errors import CellError, DataError, SpecError
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
from discreet.spark.spark_session import asked, check_spark, explained
from discreet.tables.arrow import declared_arrays
from discreet.tables.csv_format import DEFAULT_READING, ReadOptions
from discreet.tables.frames import Origin, check_names, is_from
from discreet.tables.opening import check_reading, is_text, open_source

if TYPE_CHECKING:
    from discreet.tables.source import Source

# -- spark source ------------------------------------------------------------------------------------------------------
# A DataFrame of Spark as a table that its executors sum: two stages of `mapInArrow`, and a window for persons.
#
# No RDD and no accumulator, so that it works through Spark Connect too. The first stage gives the exact sums of each
# part, the second adds them after a shuffle by the number of the part, and the driver adds what is left. Executors know
# the design and the grid, and draw nothing.

_TEXT: Final = (".json", ".jsonl", ".ndjson", ".txt", ".xml")
# scans of plans: of files by Spark's own readers, and of tables of Hive whose rows are text
_TEXT_SCAN: Final = re.compile(
    r"\b(FileScan|BatchScan) (csv|json|text|xml)\b|\b(LazySimple|OpenCSV|Json|Regex)SerDe\b", re.IGNORECASE
)
_KEY_BYTES: Final = 64
# what reaches one adding task at once stays within some megabytes, and what reaches the driver too
_FEWEST_ADDERS: Final = 4
_MOST_ADDERS: Final = 64
_BODY_BYTES: Final = 2**16
_NO_TABLE: Final = (
    "Spark cannot describe the table: check the query, the path or the name behind it, and that its columns are of "
    "types that Arrow has"
)
_NO_ANSWER: Final = (
    "Spark does not answer: the cluster is down, or has no room for one task. Nothing was spent; look at its master, "
    "and run the command again"
)
_NO_TASK: Final = (
    "Spark's executors could not run a first task: they need Python of the same version as here, with pyspark, pyarrow "
    "and discreet; set PYSPARK_PYTHON to such an interpreter before the session starts, or ship an environment with "
    "spark.archives. Nothing was spent"
)
_LOST: Final = "parts of the table were lost on their way from Spark; nothing was spent. Run it again"
_NOT_DONE: Final = (
    "Spark could not read and sum the table: executors were lost more often than it tries again, ran out of memory, "
    "or a part of the plan fails; its own log says which. Nothing was spent"
)


class SparkSource:
    """A DataFrame of Spark, classic or of Spark Connect.

    Parameters
    ----------
    frame
        Whose rows are released; a query whose rows may be computed more than once.
    """

    origin: Final[Origin] = "spark"
    # rows of a plan are digested as they are read
    fingerprint: Final = None

    def __init__(self, frame: Any) -> None:  # noqa: ANN401  # classic or of Connect
        check_spark()
        self.read_as: Final[Mapping[str, object]] = DEFAULT_READING.read_as()
        self._frame = frame
        self._session = asked(None, lambda: frame.sparkSession, _NO_TABLE)
        if self._answer(lambda: frame.isStreaming):
            raise SpecError("this DataFrame is a stream without an end; give one of a stored table")
        _check_files(self._answer(frame.inputFiles))
        # whatever files are called, also below what Spark keeps of an earlier query
        if _TEXT_SCAN.search(self._answer(lambda: explained(frame))):
            raise _text_refused("")

    def sum_rows(self, work: Work, sums: Sums) -> PartSums:
        """Sum all rows exactly where they are, of each person no more than count."""
        body = packed_work(work, sums.empty())
        chosen, adders = self._chosen(work.design), _adders(sums)

        def added() -> Any:  # noqa: ANN401  # rows of Spark
            summed = _mapped(chosen, work, "sums", "capped-sums", body)
            return summed.repartition(adders, "part").mapInArrow(_task("add"), RESULT_TYPES).collect()

        answers = asked(self._session, added, _NOT_DONE)
        problems = [Problem(answer.code, answer.name, answer.part) for answer in answers if answer.code]
        if problems:
            _refuse(problems, work.design)
        # a plan that Spark knows to be empty has no tasks; else all answer, and each once
        if answers and sorted(answer.part for answer in answers) != list(range(adders)):
            raise DataError(_LOST)
        bodies = [bytes(answer.body) for answer in answers if answer.body]
        return merged(map(PartSums.unpacked, bodies)) or _nothing(sums)

    def set_aside(self, work: Work, take: TakeRows) -> PartSums:
        """Hand on the rows that count once, part by part: they wait with the driver, for all later passes."""
        chosen = self._chosen(work.design)

        def taken() -> list[PartSums]:
            mapped = _mapped(chosen, work, "rows", "capped-rows", packed_work(work))
            return _taken(mapped.toLocalIterator(), work.design, take)

        return merged(asked(self._session, taken, _NOT_DONE)) or _nothing(NoSums())

    def _chosen(self, design: Design) -> Any:  # noqa: ANN401  # as above
        """The declared columns; what their names and types tell is refused before a row is read.

        Last of all one executor says which version it has.
        """
        columns = design.table_columns
        names = column_names(design)
        check_names(names, self._answer(lambda: self._frame.columns))
        # by names of our own from here on: Spark refuses some that people use
        numbered = [f"{_quoted(name)} AS c{place}" for place, name in enumerate(names)]
        chosen = self._answer(lambda: self._frame.selectExpr(*numbered))
        schema = self._answer(lambda: chosen.limit(0).toArrow().schema)
        batch = pa.record_batch([pa.nulls(0, field.type) for field in schema], names=names)
        declared_arrays(batch, columns)
        if design.unit.id is not None:
            known_persons(design.unit.id, batch.column(design.unit.id), total=design.total)
        self._first_task()
        return chosen

    def _first_task(self) -> None:
        """Have one executor say which version it has, before any reads the table."""
        found = self._answer(
            lambda: self._session.range(1).mapInArrow(_task("probe"), RESULT_TYPES).collect(), _NO_TASK
        )
        problems = [Problem(answer.code, answer.name, answer.part) for answer in found if answer.code]
        if problems:
            _refuse(problems, None)

    def _answer(self, question: Any, problem: str = _NO_TABLE) -> Any:  # noqa: ANN401  # whatever Spark gives
        return asked(self._session, question, problem, within=spark_session.ANSWER_SECONDS, late=_NO_ANSWER)


def _mapped(chosen: Any, work: Work, of_rows: Kind, of_persons: Kind, body: bytes) -> Any:  # noqa: ANN401  # DataFrames
    """The answers of all parts of a table, not yet asked for."""
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
    """Take the blocks of all parts as they arrive; give the counts of each part."""
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
        raise DataError(_LOST)
    return parts


def _nothing(sums: Sums) -> PartSums:
    """The sums of a plan that Spark knows to be empty, and runs no task for."""
    return PartSums(totals_of(sums.empty(), 0, ()))


def _adders(sums: Sums) -> int:
    """How many tasks add the sums of parts."""
    size = len(_nothing(sums).packed())
    return min(_FEWEST_ADDERS + size // _BODY_BYTES, _MOST_ADDERS)


def _check_files(files: Iterable[str]) -> None:
    """Refuse text files: another parser reads other rows, and where types are inferred one cell decides about others.

    >>> _check_files(["file:/data/part-0.parquet"])
    """
    for name in files:
        path = Path(urlsplit(name).path)
        if is_text(path) or path.suffix.lower() in _TEXT:
            raise _text_refused(f", such as {path.name!r}")


def _text_refused(which: str) -> SpecError:
    return SpecError(
        f"the DataFrame reads text files{which}, which are refused: Spark's parser reads other rows than ours, and "
        "infers types from cells. Write it as Parquet with a declared schema, or release the file without Spark"
    )


def _refuse(problems: Iterable[Problem], design: Design | None) -> NoReturn:
    """Raise the error of the earliest part, in the words of one machine."""
    first = min(problems, key=lambda one: (one.code != "version", one.part))
    if first.code == "version":
        found = f"discreet {first.name}" if first.name else "no discreet"
        raise SpecError(
            f"an executor of Spark has {found}, and the driver {__version__}: install discreet=={__version__} there "
            "for the Python that PYSPARK_PYTHON names, or ship it with spark.submit.pyFiles or spark.archives. "
            "Nothing was spent"
        )
    if first.code == "cell" and design is not None and first.name in design.table_columns:
        column = design.table_columns[first.name]
        problem = f"column {first.name!r} has a cell that is missing or {bad_cell(column)}; {remedy(column)}"
        raise CellError(problem, column=first.name)
    if first.code == "id" and design is not None:
        raise DataError(
            f"the id column {design.unit.id!r} has a cell that is missing or neither text nor an integer; give every "
            "row its id"
        )
    raise DataError(f"a task of Spark failed ({first.name}); nothing was spent. Give executors more memory and retry")


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


# -- opening -----------------------------------------------------------------------------------------------------------
# From what a user gives to what a release sums: a source of rows, or an engine that has them.


def open_table(data: object, *, reading: ReadOptions = DEFAULT_READING) -> Source | Engine:
    """Open a path or a table in memory as a source, and a DataFrame of Spark as an engine.

    Parameters
    ----------
    data
        What `open_source` takes, a DataFrame of Spark, classic or of Spark Connect, or an engine of one's own.
    reading
        How CSV files are written.

    Examples
    --------
    >>> type(open_table({"x": [1.0, 2.0]})).__name__
    'FrameSource'
    """
    if is_from(data, "pyspark.sql", "DataFrame"):
        check_reading(reading, "a DataFrame of Spark")
        return SparkSource(data)
    if isinstance(data, Engine):
        check_reading(reading, "a table of an engine")
        return data
    return open_source(data, reading=reading)
