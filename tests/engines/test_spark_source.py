"""A DataFrame of Spark, pretended: the totals of one machine, and plain words where it cannot be read.

`make test-spark` asks the same of Spark itself.
"""

from __future__ import annotations

import gc
import threading
from types import SimpleNamespace

import pyarrow as pa
import pytest

import discreet
from discreet.errors import BudgetError, CellError, DataError, SpecError
from discreet.spark import dataframe as spark_source
from discreet.spark import spark_session as spark_jobs
from discreet.testing import exact_release, seeded_release
from support.pretend_spark import PretendFrame, PretendSession, cut, pretended
from support.spark_tables import DESIGN, FEW, FEW_PERSONS, PERSONS, SEARCHED, SEEDED, WEIGHTED, odd_table

BUDGET = {"epsilon": 1.0, "delta": 1e-6}
TABLE = odd_table()


@pytest.fixture(autouse=True)
def spark():
    with pretended():
        yield


def frame(table=TABLE, ends=(100, 100, 500), files=("file:///data/a.parquet",), **options):
    return PretendFrame(cut(table, *ends), files=files, **options)


@pytest.mark.parametrize("design", [DESIGN, PERSONS], ids=["rows", "persons"])
def test_the_totals_of_one_machine(design):
    assert exact_release(frame(), design, clip_counts=True) == exact_release(TABLE, design, clip_counts=True)


def test_weights():
    assert exact_release(frame(), WEIGHTED) == exact_release(TABLE, WEIGHTED)


@pytest.mark.parametrize(
    ("design", "options"),
    [
        (FEW, {"mechanism": "gradient", "settings": {"iterations": 4}}),
        (FEW_PERSONS, {"robust": True}),
        (FEW_PERSONS, {"robust": True, "clip_counts": True}),
        (FEW, {"robust": True, "clip_counts": True}),
        (SEARCHED, {"epsilon": 10.0}),
    ],
)
def test_several_passes_see_rows_that_were_read_once(design, options):
    asked = SEEDED | options
    assert seeded_release(frame(), design, **asked) == seeded_release(TABLE, design, **asked)


def test_the_guarantee_says_that_a_plan_must_not_change():
    made = discreet.release(frame(), FEW, **BUDGET)
    assert "the plan gives the same rows however often a part of it is evaluated" in made.guarantee.conditions[-1]
    assert discreet.Release.from_json(made.to_json()) == made


def test_a_ledger_knows_the_same_rows_in_any_order(tmp_path):
    ledger = discreet.Ledger.create(tmp_path / "books.db")
    ledger.declare("people", epsilon=2.0, delta=1e-5)
    account = ledger.account("people")
    fewer = TABLE.filter(pa.array([who != "p7" for who in TABLE["who"].to_pylist()]))
    for design in (FEW, FEW_PERSONS):
        if design.unit.id is not None:
            ledger.declare("persons", epsilon=2.0, delta=1e-5, unit=design.unit)
            account = ledger.account("persons")
        first = discreet.release(frame(), design, **BUDGET, spend=account)
        shuffled = TABLE.take(list(reversed(range(TABLE.num_rows))))
        assert discreet.release(frame(shuffled, (7,)), design, **BUDGET, spend=account) == first
        with pytest.raises(SpecError, match="differs from the last table of data set"):
            discreet.release(frame(fewer), design, **BUDGET, spend=account)


def test_a_refusal_by_the_ledger_asks_spark_for_nothing(tmp_path):
    ledger = discreet.Ledger.create(tmp_path / "books.db")
    ledger.declare("people", epsilon=0.5, delta=1e-6)
    asked = frame()
    asked.mapInArrow = None
    with pytest.raises(BudgetError):
        discreet.release(asked, FEW, **BUDGET, spend=ledger.account("people"))


@pytest.mark.parametrize("options", [{}, {"robust": True}])
def test_a_table_without_rows(options):
    with pytest.raises(DataError, match="the table has no rows"):
        discreet.release(frame(TABLE.slice(0, 0), ()), FEW, **BUDGET, **options)


@pytest.mark.parametrize("options", [{}, {"robust": True}])
def test_a_plan_for_which_spark_runs_no_task(options):
    nothing = frame(TABLE.slice(0, 0), ())
    nothing._compute = list
    with pytest.raises(DataError, match="the table has no rows"):
        discreet.release(nothing, FEW, **BUDGET, **options)


@pytest.mark.parametrize("options", [{}, {"robust": True}])
@pytest.mark.parametrize("unit", [{}, {"unit": {"id": "who", "max_rows": 2}}])
def test_a_bad_cell_is_refused_in_the_words_of_one_machine(options, unit):
    strict = discreet.Design("float", {"y": (-3, 3), "float": (-2, 2)}, **unit)
    words = []
    for data in (TABLE, frame()):
        with pytest.raises(CellError) as error:
            discreet.release(data, strict, **BUDGET, **options)
        words.append((str(error.value), error.value.column))
    assert words[0] == words[1]


def test_a_row_without_an_id():
    without = TABLE.set_column(
        TABLE.schema.get_field_index("who"), "who", pa.array([None, *TABLE["who"].to_pylist()[1:]])
    )
    strict = discreet.Design("float", {"code": {"levels": [1, 2, 3, 4]}, "float": (-2, 2)}, unit=FEW_PERSONS.unit)
    with pytest.raises(DataError, match="the id column 'who' has a cell that is missing"):
        discreet.release(frame(without), strict, **BUDGET)


@pytest.mark.parametrize("name", ["group", "nowhere"])
def test_types_and_names_are_refused_before_a_row_is_read(name):
    wrong = discreet.Design("y", {"y": (-3, 3), name: (0, 1)})
    asked = frame()
    asked._compute = None
    with pytest.raises(DataError, match=name):
        discreet.release(asked, wrong, **BUDGET)


def test_an_id_of_a_wrong_type():
    wrong = discreet.Design("y", {"y": (-3, 3), "float": (-2, 2)}, unit={"id": "flag", "max_rows": 2})
    with pytest.raises(DataError, match="must contain text or integers"):
        discreet.release(frame(), wrong, **BUDGET)


@pytest.mark.parametrize("design", [FEW, FEW_PERSONS])
def test_executors_of_another_version(monkeypatch, design):
    monkeypatch.setattr(spark_source, "__version__", "9.9.9")
    with pytest.raises(
        SpecError,
        match=r"has discreet [0-9.]+, but the driver has discreet 9\.9\.9\. No budget was spent; install "
        r"discreet==9\.9\.9",
    ):
        discreet.release(frame(), design, **BUDGET)


def test_executors_without_discreet(monkeypatch):
    monkeypatch.setattr(spark_source, "_task", lambda *_: lambda batches: iter([_answer("version", "")]))
    with pytest.raises(SpecError, match="has no discreet, but the driver"):
        discreet.release(frame(), FEW, **BUDGET)


def _answer(code, name):
    types = pa.schema([("code", pa.string()), ("name", pa.string()), ("part", pa.int64()), ("body", pa.binary())])
    return pa.record_batch({"code": [code], "name": [name], "part": [0], "body": [b""]}, schema=types)


def test_a_task_that_fails_is_named_by_its_kind_alone(monkeypatch):
    def broken(*_):
        raise MemoryError("secret")

    monkeypatch.setattr("discreet.spark.executor_tasks.part_sums", broken)
    with pytest.raises(DataError, match=r"a task of Spark failed \(MemoryError\), and nothing was spent"):
        discreet.release(frame(), FEW, **BUDGET, mechanism="gaussian")


def test_what_spark_says_stays_behind():
    class SparkError(Exception):
        def getCondition(self):  # noqa: N802  # Spark's name
            return "CAST_INVALID_INPUT"

    def fails():
        raise SparkError("the cell is secret")

    broken = frame()
    kept = broken.selectExpr

    def chosen(*words):
        found = kept(*words)
        found._compute = fails
        return found

    broken.selectExpr = chosen
    with pytest.raises(DataError, match="could not read and sum the table") as error:
        discreet.release(broken, FEW, **BUDGET)
    assert str(error.value).endswith("(Spark's condition: CAST_INVALID_INPUT)")
    assert (error.value.__cause__, error.value.__context__) == (None, None)
    del error
    gc.collect()


def test_lost_rows_are_missed(monkeypatch):
    taken = spark_source._taken
    monkeypatch.setattr(spark_source, "_taken", lambda rows, *more: taken(list(rows)[1:], *more))
    with pytest.raises(DataError, match="parts of the table were lost"):
        seeded_release(frame(), FEW, **SEEDED, robust=True)


def test_lost_parts_are_missed(monkeypatch):
    kept = PretendFrame.collect
    monkeypatch.setattr(PretendFrame, "collect", lambda self: kept(self)[:3])
    with pytest.raises(DataError, match="parts of the table were lost"):
        exact_release(frame(), FEW)


def test_a_part_that_is_summed_twice_is_seen(monkeypatch):
    kept = spark_source.merged
    monkeypatch.setattr(spark_source, "merged", lambda parts: kept([*(found := list(parts)), found[0]]))
    with pytest.raises(DataError, match="lost or summed twice"):
        exact_release(frame(), FEW)


def test_a_stream_is_refused():
    endless = frame()
    endless.isStreaming = True
    with pytest.raises(SpecError, match="an unbounded stream"):
        discreet.release(endless, FEW, **BUDGET)


@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.gz", "rows.JSON", "rows.txt"])
def test_text_files_are_refused(name):
    with pytest.raises(SpecError, match=f"text files, such as '{name}'"):
        discreet.release(frame(files=[f"file:///data/{name}"]), FEW, **BUDGET)


@pytest.mark.parametrize(
    "plan",
    [
        "FileScan csv [y#1] Batched: false", "BatchScan json file:/data[y#1]", "+- FileScan text [value#3]",
        "InMemoryTableScan [y#1]\n   +- InMemoryRelation [y#1]\n         +- FileScan CSV [y#1]",
        "HiveTableRelation [`a`.`b`, org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe]",
    ],
)  # fmt: skip
def test_text_is_refused_whatever_its_files_are_called(plan, capsys):
    given = frame(files=("file:///data/part-0",))
    given.plan = plan
    with pytest.raises(SpecError, match="the DataFrame reads text files, which are not supported"):
        discreet.release(given, FEW, **BUDGET)
    assert capsys.readouterr().out == ""


def test_a_cluster_without_room_for_a_task(monkeypatch):
    session = PretendSession()
    begun = frame(session=session)
    monkeypatch.setattr(spark_jobs, "ANSWER_SECONDS", 0.3)
    monkeypatch.setattr(spark_jobs, "_GRACE", 0.1)
    never = threading.Event()
    waits = SimpleNamespace(mapInArrow=lambda *_: SimpleNamespace(collect=never.wait))
    session.range = lambda rows: waits
    with pytest.raises(DataError, match="Spark does not answer"):
        discreet.release(begun, FEW, **BUDGET)
    assert session.stopped == session.tags[-1:]
    never.set()


def test_options_of_csv_files_are_refused():
    with pytest.raises(SpecError, match="is allowed only for CSV files, not for a Spark DataFrame"):
        discreet.release(frame(), FEW, **BUDGET, reading=discreet.ReadOptions(decimal=","))


def test_large_sums_are_added_by_more_tasks():
    small, large = (
        discreet.Design("y", {"y": (0, 1), "x": (0, 1)}),
        discreet.Design("y", {"y": (0, 1), **{f"x{k}": (0, 1) for k in range(120)}}),
    )
    found = []
    for design in (small, large):
        rows = pa.table({name: [0.5] for name in design.columns})
        counted = frame(rows, ())
        kept = PretendFrame.repartition

        def repartition(self, count, name, kept=kept):
            found.append(count)
            return kept(self, count, name)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(PretendFrame, "repartition", repartition)
            exact_release(counted, design)
    assert found == [4, 7]
