"""Tasks that run on Spark's executors.

A task never raises an error. It returns a code, a column and its part number instead, because Spark repeats the message
of a failed task in its logs, and messages of other libraries may quote cells.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np
import pyarrow as pa

from discreet.curator.engine import (
    PERSON_ROWS,
    Block,
    PartSums,
    Work,
    capped_rows,
    capped_sums,
    part_rows,
    part_sums,
    person_rows,
)
from discreet.curator.sums.gram import Sums
from discreet.design.design import Design
from discreet.errors import CellError, DataError
from discreet.exact.arrays import one_blas_thread

if TYPE_CHECKING:
    from pyarrow import RecordBatch

Kind: TypeAlias = Literal["probe", "sums", "rows", "persons", "capped-sums", "capped-rows", "add"]
Code: TypeAlias = Literal["", "block", "cell", "id", "version", "failed"]
Task: TypeAlias = "Callable[[Iterable[RecordBatch]], Iterator[RecordBatch]]"

# one row for each part, or for each block of rows: code, column, part number, and serialised numbers
RESULTS: Final = pa.schema([("code", pa.string()), ("name", pa.string()), ("part", pa.int64()), ("body", pa.binary())])
RESULT_TYPES: Final = "code string, name string, part long, body binary"
# sums of parts contain a growing list of part numbers, so only a few are merged at a time
_MERGED_AT_ONCE: Final = 64
PERSON_TYPES: Final = "person binary, kept boolean, digest long, row binary"


@dataclass(frozen=True, slots=True)
class Problem:
    """The reason why a task has no result. `name` is a column, a version of discreet, or an exception type."""

    code: Code
    name: str
    part: int

    def packed(self) -> bytes:
        """Serialise the problem, to be sent in place of a row."""
        return json.dumps([self.code, self.name, self.part]).encode()

    @classmethod
    def unpacked(cls, body: bytes) -> Problem:
        """Deserialise what `packed` returned."""
        return cls(*json.loads(body))


def task_of(kind: Kind, version: str, body: bytes) -> Task:
    """Build a self-contained function for the executors, so that an executor can report that discreet is missing.

    `version` is the version of discreet that executors must have, and `body` the result of `packed_work`.
    """
    persons = kind == "persons"

    def task(batches: Iterable[RecordBatch]) -> Iterator[RecordBatch]:
        # nothing outside this function may be used until the version is checked
        import json

        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        part = 0 if context is None else context.partitionId()
        try:
            import discreet

            installed = str(discreet.__version__)
        except ImportError:
            installed = ""
        if installed == version:
            from discreet.spark.executor_tasks import run

            yield from run(kind, body, batches, part)
        elif persons:
            problem = json.dumps(["version", installed, part]).encode()
            cells = {"person": [part.to_bytes(8, "big")], "kept": [None], "digest": [0], "row": [problem]}
            types = [("person", pa.binary()), ("kept", pa.bool_()), ("digest", pa.int64()), ("row", pa.binary())]
            yield pa.record_batch(cells, schema=pa.schema(types))
        else:
            answer = {"code": ["version"], "name": [installed], "part": [part], "body": [b""]}
            types = [("code", pa.string()), ("name", pa.string()), ("part", pa.int64()), ("body", pa.binary())]
            yield pa.record_batch(answer, schema=pa.schema(types))

    return task


def packed_work(work: Work, sums: Sums | None = None, key: bytes = b"") -> bytes:
    """Serialise the input of a task: public declarations, empty sums, and the secret key of this release."""
    return pickle.dumps((work, sums, key))


def run(kind: Kind, body: bytes, batches: Iterable[RecordBatch], part: int) -> Iterator[RecordBatch]:
    """Run a task on one part of the table, and report a failure as an additional row of the result."""
    try:
        with one_blas_thread():
            yield from _answers(kind, body, batches, part)
    except _EarlierError as earlier:
        problem = earlier.problem
    except CellError as error:
        problem = Problem("cell", error.column or "", part)
    except DataError:
        # column types were checked before, so only an id can be wrong
        problem = Problem("id", "", part)
    except Exception as error:  # its message may quote cells
        problem = Problem("failed", type(error).__name__, part)
    else:
        return
    yield _person_problem(problem) if kind == "persons" else _answer(problem.code, problem.name, problem.part)


def _answers(kind: Kind, body: bytes, batches: Iterable[RecordBatch], part: int) -> Iterator[RecordBatch]:
    if kind == "probe":
        yield _answer("", "", part)
        return
    if kind == "add":
        yield from _added(batches, part)
        return
    work, sums, key = pickle.loads(body)
    if kind == "persons":
        yield from person_rows(_named(batches, work.design), work, key)
    elif kind == "sums":
        yield _answer("", "", part, part_sums(_named(batches, work.design), work, sums, part).packed())
    elif kind == "capped-sums":
        yield _answer("", "", part, capped_sums(_without_problems(batches), work, sums, part).packed())
    elif kind == "rows":
        yield from _blocks(part_rows(_named(batches, work.design), work, part), part)
    else:
        yield from _blocks(capped_rows(_without_problems(batches), work, part), part)


def column_names(design: Design) -> list[str]:
    """List the columns to read, in the order in which tasks receive them."""
    return [*design.table_columns, *([] if design.unit.id is None else [design.unit.id])]


def _named(batches: Iterable[RecordBatch], design: Design) -> Iterator[RecordBatch]:
    names = column_names(design)
    for batch in batches:
        yield batch.rename_columns(names)


class _EarlierError(Exception):
    """A problem that an earlier task reported."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.code)
        self.problem = problem


def _without_problems(batches: Iterable[RecordBatch]) -> Iterator[RecordBatch]:
    for batch in batches:
        if batch.column("kept").null_count:
            problems = batch.filter(batch.column("kept").is_null()).column("row").to_pylist()
            raise _EarlierError(min(map(Problem.unpacked, problems), key=lambda problem: problem.part))
        yield batch


def _person_problem(problem: Problem) -> RecordBatch:
    # disguised as an individual with a single row, which is within every cap
    cells = {"person": [problem.part.to_bytes(8, "big")], "kept": [None], "digest": [0], "row": [problem.packed()]}
    return pa.record_batch(cells, schema=PERSON_ROWS)


def _added(batches: Iterable[RecordBatch], part: int) -> Iterator[RecordBatch]:
    """Add the sums of several parts and pass on all problems. Return a result even if there are no parts."""
    sums: PartSums | None = None
    piece: list[PartSums] = []
    for batch in batches:
        for answer in batch.to_pylist():
            if answer["code"]:
                yield _answer(answer["code"], answer["name"], answer["part"])
                continue
            piece.append(PartSums.unpacked(answer["body"]))
            if len(piece) == _MERGED_AT_ONCE:
                sums, piece = merged([*([] if sums is None else [sums]), *piece]), []
    sums = merged([*([] if sums is None else [sums]), *piece])
    yield _answer("", "", part, b"" if sums is None else sums.packed())


def _blocks(items: Iterable[Block | PartSums], part: int) -> Iterator[RecordBatch]:
    count = 0
    for item in items:
        if isinstance(item, PartSums):
            # tell the driver how many blocks it must have received
            yield _answer("", str(count), part, item.packed())
        else:
            count += 1
            yield _answer("block", str(len(item)), part, item.tobytes())


def _answer(code: Code, name: str, part: int, body: bytes = b"") -> RecordBatch:
    return pa.record_batch({"code": [code], "name": [name], "part": [part], "body": [body]}, schema=RESULTS)


def read_block(name: str, body: bytes) -> Block:
    """Decode a block of rows.

    Each array column holds one row of the table: 1 or 0 for whether the row is the first of its individual, then the
    values.
    """
    return np.frombuffer(body, dtype=np.int32).reshape(int(name), -1)


def merged(parts: Iterable[PartSums]) -> PartSums | None:
    """Add all parts, or return None if there are none."""
    all_parts = list(parts)
    return PartSums.added(all_parts) if all_parts else None
