"""A query is not a table: the guarantee of a release says so wherever it is kept or printed."""

from __future__ import annotations

import json
from importlib.resources import files

import duckdb
import jsonschema
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.csv as arrow_csv
import pyarrow.parquet
import pytest
from click.testing import CliRunner

import discreet
from discreet.cli.main import program
from discreet.errors import DataError, SpecError

BUDGET = {"epsilon": 1.0, "delta": 1e-6}
DESIGN = discreet.Design("y", {"y": (0, 1), "x": (0, 1)})
PERSONS = discreet.Design("y", {"y": (0, 1), "x": (0, 1)}, unit={"id": "person", "max_rows": 2})
TABLE = pa.table({"person": ["a", "b", "c"] * 20, "x": [0.1, 0.5, 0.9] * 20, "y": [0.2, 0.4, 0.8] * 20})
APART = (
    "each row stands for one person, each person has at most one row, and whether that row is there and what it holds "
    "depends on that person alone"
)
BREAKS = "(a join, a window, an aggregate, a limit, a sample or a subquery may break this)"
QUERY = f"in the result of the query from which the table was read {APART} {BREAKS}"
STREAM = f"in the stream, perhaps the result of a query, from which the table was read {APART} {BREAKS}"
OF_PERSONS = (
    "in the result of the query from which the table was read each row stands for the one person whose 'person' it "
    f"holds, and whether it is there and what it holds depends on that person alone {BREAKS}"
)


@pytest.fixture
def database(tmp_path):
    connection = duckdb.connect()
    connection.register("arrow", TABLE)
    connection.execute("CREATE TABLE people AS SELECT * FROM arrow")
    connection.execute("CREATE VIEW joined AS SELECT a.person, a.x, b.y FROM people a JOIN people b USING (person)")
    pa.parquet.write_table(TABLE, tmp_path / "t.parquet")
    arrow_csv.write_csv(TABLE, tmp_path / "t.csv")
    return connection


def condition(data, design=DESIGN):
    """What the source adds to the conditions of the same release of a stored table."""
    usual = discreet.release(TABLE, design, **BUDGET).guarantee.conditions
    found = discreet.release(data, design, **BUDGET).guarantee.conditions
    assert found[: len(usual)] == usual
    return found[len(usual) :]


QUERIES = {
    "join": "SELECT a.person, a.x, b.y FROM people a JOIN people b USING (person)",
    "window": "SELECT person, x, avg(y) OVER () AS y FROM people",
    "aggregate": "SELECT person, avg(x) AS x, avg(y) AS y FROM people GROUP BY person",
    "union": "SELECT * FROM people UNION ALL SELECT * FROM people",
    "plain": "SELECT * FROM people",
}


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_adds_its_condition(query, database):
    assert condition(database.sql(QUERIES[query])) == (QUERY,)
    assert condition(database.sql(QUERIES[query]), PERSONS) == (OF_PERSONS,)


def test_a_view_a_step_and_a_file_behind_a_relation_are_queries(database, tmp_path):
    people = database.table("people")
    for relation in (
        database.view("joined"),
        database.sql("FROM joined"),
        people.join(database.sql("SELECT person AS other FROM people"), "person = other"),
        people.project("x, y, person"),
        people.filter("x > 0.3"),
        people.aggregate("person, avg(x) AS x, avg(y) AS y"),
        people.set_alias("p"),
        database.read_parquet(str(tmp_path / "t.parquet")),
        database.read_csv(str(tmp_path / "t.csv")),
        database.from_arrow(TABLE),
    ):
        assert relation.type != "TABLE_RELATION"
        assert condition(relation) == (QUERY,)


def test_a_stored_table_adds_nothing(database, tmp_path):
    columns = {name: TABLE.column(name).to_pylist() for name in TABLE.column_names}
    for data in (
        database.table("people"),
        TABLE,
        TABLE.to_batches()[0],
        TABLE.to_pandas(),
        pl.from_arrow(TABLE),
        columns,
        {name: np.array(values) for name, values in columns.items()},
        dict(pl.from_arrow(TABLE).to_dict()),
        TABLE.to_pandas().to_records(),
        tmp_path / "t.parquet",
        tmp_path / "t.csv",
        str(tmp_path / "*.parquet"),
    ):
        assert condition(data) == ()


class Lazy:
    """A library of somebody else, which computes when it is read."""

    def __arrow_c_stream__(self, requested_schema=None):
        return TABLE.__arrow_c_stream__(requested_schema)


def test_a_stream_may_be_a_query_and_says_so(database):
    assert condition(TABLE.to_reader()) == (STREAM,)
    assert condition(database.sql("FROM joined").to_arrow_reader(10)) == (STREAM,)
    assert condition(Lazy()) == (STREAM,)


def test_a_lazy_frame_is_collected_first():
    with pytest.raises(SpecError, match=r"call \.collect\(\) first"):
        discreet.release(pl.from_arrow(TABLE).lazy(), DESIGN, **BUDGET)


@pytest.mark.parametrize(
    "options",
    [{"mechanism": "irls"}, {"mechanism": "objective"}, {"robust": True}, {"mechanism": "laplace", "delta": 0.0}],
)
def test_every_kind_of_release_keeps_the_condition_in_its_file(options, database, tmp_path):
    made = discreet.release(database.sql("FROM joined"), DESIGN, **{**BUDGET, **options})
    made.save(tmp_path / "r.json")
    read = discreet.Release.load(tmp_path / "r.json")
    assert read.guarantee == made.guarantee
    assert read.digest == made.digest
    assert read.guarantee.conditions[-1] == QUERY
    body = json.loads((tmp_path / "r.json").read_text())
    jsonschema.validate(body, json.loads(files("discreet").joinpath("release.schema.json").read_text()))
    # it cannot be left out of the file without a trace
    body["guarantee"]["conditions"].pop()
    with pytest.raises(discreet.DiscreetError, match="digest"):
        discreet.Release.from_json(json.dumps(body))


def test_the_condition_is_printed_wherever_the_promise_is(database, tmp_path):
    made = discreet.release(database.sql("FROM joined"), DESIGN, **BUDGET)
    made.save(tmp_path / "r.json")
    assert made.guarantee.sentence().endswith(f"; and if {QUERY}.")
    # lines are broken where they are printed
    summary = " ".join(discreet.fit(made, penalty="adaptive").summary().split())
    assert QUERY in summary
    assert "a join, a window, an aggregate, a limit, a sample or a subquery may break this" in made._repr_html_()
    runner = CliRunner()
    shown = runner.invoke(program, ["fit", str(tmp_path / "r.json"), "--penalty", "adaptive"], standalone_mode=False)
    assert QUERY in " ".join(shown.output.split())
    page = tmp_path / "r.html"
    runner.invoke(program, ["report", str(tmp_path / "r.json"), "-o", str(page)], standalone_mode=False)
    assert f"<li>{QUERY}</li>" in page.read_text(encoding="utf-8")


def test_a_column_that_is_a_relation_is_refused(database):
    """Each would be a query of its own, whose rows need not be in one order."""
    relation = database.sql("SELECT x, y FROM people")
    with pytest.raises(DataError, match="column 'x' must contain numbers, as declared, but has type struct"):
        discreet.release({"x": relation.select("x"), "y": TABLE.column("y")}, DESIGN, **BUDGET)
    model = discreet.PrivateLinearRegression(**BUDGET, bounds={"x": (0, 1)}, target_bounds=(0, 1))
    with pytest.raises(discreet.DiscreetError):
        model.fit(relation.select("x"), TABLE.column("y").to_pylist())
