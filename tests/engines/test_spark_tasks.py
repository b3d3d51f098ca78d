"""Tasks of executors: they answer with sums, or with a code, a column and a part, and raise nothing."""

from __future__ import annotations

import builtins
import subprocess
import sys

import pyarrow as pa
import pytest

import discreet
from discreet.curator.engine import PartSums, Work
from discreet.curator.sums.gram import ExactGram
from discreet.design.domain import RowDomain
from discreet.spark import executor_tasks as spark_tasks
from discreet.spark.executor_tasks import RESULTS, Problem, merged, packed_work, run, task_of
from support.pretend_spark import pretended

DESIGN = discreet.Design("y", {"y": (0, 1), "x": (0, 1)})
WORK = Work(DESIGN, RowDomain.of(DESIGN), 16)
BODY = packed_work(WORK, ExactGram(3, 16))
BATCH = pa.record_batch({"c0": [0.5, 1.0], "c1": [0.25, 0.0]})
BAD = pa.record_batch({"c0": [0.5, None], "c1": [0.25, 0.0]})


def answers(batches):
    return [row for batch in batches for row in batch.to_pylist()]


def test_sums_of_a_part():
    (answer,) = answers(run("sums", BODY, [BATCH], 3))
    assert (answer["code"], answer["part"]) == ("", 3)
    assert PartSums.unpacked(answer["body"]).totals.counts.units == 2


def test_the_same_part_again_gives_the_same_bytes():
    assert answers(run("sums", BODY, [BATCH], 3)) == answers(run("sums", BODY, [BATCH], 3))


def test_a_bad_cell_is_a_code_a_column_and_a_part():
    assert answers(run("sums", BODY, [BAD], 3)) == [{"code": "cell", "name": "y", "part": 3, "body": b""}]


def test_blocks_are_counted():
    *blocks, last = answers(run("rows", packed_work(WORK), [BATCH, BATCH], 1))
    assert [block["code"] for block in blocks] == ["block", "block"]
    assert (last["code"], last["name"]) == ("", "2")


@pytest.mark.parametrize("broken", [ValueError("secret"), MemoryError("secret"), KeyError("secret")])
def test_whatever_fails_is_named_by_its_kind(monkeypatch, broken):
    def fails(*_):
        raise broken

    monkeypatch.setattr(spark_tasks, "part_sums", fails)
    assert answers(run("sums", BODY, [BATCH], 0)) == [
        {"code": "failed", "name": type(broken).__name__, "part": 0, "body": b""}
    ]


def test_sums_are_added_and_problems_handed_on():
    good = [batch for part in (0, 1) for batch in run("sums", BODY, [BATCH], part)]
    bad = list(run("sums", BODY, [BAD], 2))
    found = answers(run("add", b"", [*good, *bad], 0))
    assert [answer["code"] for answer in found] == ["cell", ""]
    assert PartSums.unpacked(found[1]["body"]).parts == (0, 1)
    assert answers(run("add", b"", [], 7)) == [{"code": "", "name": "", "part": 7, "body": b""}]
    assert merged([]) is None


def test_many_parts_are_added_in_pieces(monkeypatch):
    monkeypatch.setattr(spark_tasks, "_MERGED_AT_ONCE", 3)
    batches = [batch for part in range(8) for batch in run("sums", BODY, [BATCH], part)]
    (answer,) = answers(run("add", b"", batches, 0))
    found = PartSums.unpacked(answer["body"])
    assert (found.parts, found.totals.counts.units) == (tuple(range(8)), 16)


def test_a_problem_goes_through_the_window():
    design = discreet.Design("y", {"y": (0, 1), "x": (0, 1)}, unit={"id": "who", "max_rows": 2})
    work = Work(design, RowDomain.of(design), 16)
    rows = pa.record_batch(
        {"c0": [None], "c1": [0.5], "c2": ["a"]},
        schema=pa.schema([("c0", pa.float64()), ("c1", pa.float64()), ("c2", pa.string())]),
    )
    (row,) = answers(run("persons", packed_work(work, key=b"k"), [rows], 5))
    assert (row["kept"], Problem.unpacked(row["row"])) == (None, Problem("cell", "y", 5))
    placed = pa.record_batch(
        {"kept": [None], "row": [row["row"]], "place": [1]},
        schema=pa.schema([("kept", pa.bool_()), ("row", pa.binary()), ("place", pa.int32())]),
    )
    (answer,) = answers(run("capped-sums", packed_work(work, ExactGram(3, 16)), [placed], 0))
    assert (answer["code"], answer["name"], answer["part"]) == ("cell", "y", 5)


@pytest.mark.parametrize("kind", ["probe", "sums", "persons"])
def test_an_executor_without_discreet_says_so(monkeypatch, kind):
    importing = builtins.__import__

    def without(name, *more):
        if name == "discreet":
            raise ImportError(name)
        return importing(name, *more)

    task = task_of(kind, discreet.__version__, BODY)
    with pretended():
        monkeypatch.setattr(builtins, "__import__", without)
        (answer,) = answers(task(iter([BATCH])))
    found = Problem.unpacked(answer["row"]) if kind == "persons" else Problem(answer["code"], answer["name"], 0)
    assert (found.code, found.name) == ("version", "")


def test_an_executor_with_another_version_says_which():
    with pretended():
        (answer,) = answers(task_of("probe", "9.9.9", b"")(iter([])))
    assert (answer["code"], answer["name"]) == ("version", discreet.__version__)


def test_an_executor_with_the_same_version_works():
    with pretended():
        (batch,) = task_of("probe", discreet.__version__, b"")(iter([]))
    assert batch.schema == RESULTS


def test_a_task_needs_nothing_from_outside_before_versions_are_compared():
    # Spark sends such a function as a whole: what it names must be its own
    task = task_of("sums", "1", BODY)
    assert set(task.__code__.co_names) & set(vars(spark_tasks)) <= {"json", "pa", "run"}
    assert {"json", "pa", "run"} <= set(task.__code__.co_varnames)


def test_what_executors_load_cannot_draw_noise():
    code = (
        "import sys; import discreet.spark.executor_tasks; "
        "print([m for m in sys.modules if m.startswith(('discreet.mechanisms', 'discreet.primitives', 'opendp'))])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
