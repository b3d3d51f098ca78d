"""Tables of a DuckDB file: the same rows as from anywhere, and a database that can do nothing else."""

from __future__ import annotations

import shutil
import sqlite3
import sys

import pytest

import discreet
from discreet.design.columns import Numeric
from discreet.errors import DataError, DiscreetError, SpecError
from discreet.tables.csv_format import ReadOptions
from discreet.tables.database import DatabaseSource, DatabaseTable, opened_database
from discreet.tables.opening import open_source

duckdb = pytest.importorskip("duckdb")

COLUMNS = {"age": Numeric((0, 100)), "income": Numeric((0, 1e6))}
DESIGN = discreet.Design("income", {"income": (0, 1e6), "age": (0, 100)})


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("database")
    (folder / "other.csv").write_text("age,income\n1,2\n")
    with duckdb.connect(str(folder / "people.duckdb")) as database:
        database.execute("CREATE TABLE people AS SELECT i AS id, i % 60 + 20.5 AS age, 500.0 * (i % 7) AS income, "
                         "'n' || (i % 3) AS region, DATE '2020-01-01' AS day FROM range(3000) t(i)")  # fmt: skip
        database.execute("CREATE TABLE empty AS SELECT * FROM people WHERE false")
        database.execute("CREATE VIEW young AS SELECT * FROM people WHERE age < 40")
        database.execute("CREATE SCHEMA survey; CREATE TABLE survey.wave AS SELECT 30 AS age, 2.5 AS income")
        database.execute('CREATE TABLE "odd ""name"".x" AS SELECT 31 AS age, 3.5 AS income')
        database.execute(f"CREATE VIEW outside AS SELECT * FROM read_csv('{folder / 'other.csv'}')")
        database.execute("CREATE TABLE gone AS SELECT 1 AS age; CREATE VIEW broken AS SELECT * FROM gone")
        database.execute("DROP TABLE gone")
    return folder / "people.duckdb"


def source(stored, table):
    return open_source(DatabaseTable(stored, table))


def rows(stored, table, columns=COLUMNS):
    return [row for batch in source(stored, table).batches(columns, 500) for row in batch.to_pylist()]


@pytest.mark.parametrize(
    ("table", "count"), [("people", 3000), ("young", 1000), ("survey.wave", 1), ('odd "name".x', 1), ("empty", 0)]
)
def test_a_table_or_view_gives_its_rows(stored, table, count):
    assert len(rows(stored, table)) == count


def test_the_rows_are_those_of_the_table_in_their_order(stored):
    found = rows(stored, "people")
    assert [float(row["age"]) for row in found] == [i % 60 + 20.5 for i in range(3000)]
    assert list(found[0]) == ["age", "income"]


def test_places_are_positions(stored):
    made = source(stored, "people")
    batches = made.batches(COLUMNS, 500)
    next(batches)
    next(batches)
    assert (made.place(3).number, made.place(3).kind, made.numbered) == (503, "row", "row")
    assert made.share_read is None
    assert made.fingerprint is None
    assert made.parts(2) == [made]


def test_a_release_has_the_condition_of_a_query_for_a_view_alone(stored):
    table = discreet.release(DatabaseTable(stored, "people"), DESIGN, epsilon=1.0)
    view = discreet.release(DatabaseTable(stored, "young"), DESIGN, epsilon=1.0)
    assert table.guarantee.conditions == view.guarantee.conditions[:-1]
    assert view.guarantee.conditions[-1].startswith("in the result of the query")


@pytest.mark.parametrize("workers", [1, 2])
def test_the_fingerprint_is_that_of_the_rows_whatever_the_workers(stored, workers, tmp_path):
    ledger = discreet.Ledger.create(tmp_path / "l.db")
    ledger.declare("people", epsilon=5.0, delta=1e-5)
    budget = {"epsilon": 1.0, "delta": 1e-6, "spend": ledger.account("people")}
    compute = discreet.ComputeOptions(workers=workers, batch_rows=400)
    first = discreet.release(DatabaseTable(stored, "people"), DESIGN, **budget, compute=compute)
    with duckdb.connect(str(stored), read_only=True) as database:
        frame = database.table("people").to_arrow_table()
    assert discreet.release(frame, DESIGN, **budget).digest == first.digest


def test_a_table_that_is_not_there_is_refused_with_those_that_are(stored):
    with pytest.raises(SpecError, match=r"unknown table 'peple' of 'people.duckdb'; allowed: .*people.* mean 'people'"):
        source(stored, "peple")
    # those of the system are no tables
    for name in ("duckdb_settings", "information_schema.tables", "PEOPLE"):
        with pytest.raises(SpecError, match="unknown table"):
            source(stored, name)


def test_a_database_without_tables_says_so(tmp_path):
    duckdb.connect(str(tmp_path / "new.duckdb")).close()
    with pytest.raises(
        SpecError, match=r"unknown table 'x' of 'new.duckdb'; allowed: none, the database has no tables"
    ):
        source(tmp_path / "new.duckdb", "x")


@pytest.mark.parametrize("view", ["outside", "broken"])
def test_a_view_that_needs_anything_else_is_refused(stored, view):
    with pytest.raises(DataError, match=f"the table '{view}' of 'people.duckdb' cannot be read: .* another file"):
        source(stored, view)


VIEWS_THAT_FAIL = {
    "at_once": "SELECT ('secret ' || age)::DOUBLE AS age, income FROM people",
    "later": "SELECT CASE WHEN id = 2900 THEN ('secret ' || id)::INTEGER ELSE 1 END AS age, income FROM people",
    "system": "SELECT 1.0 AS age, 2.0 AS income FROM duckdb_secrets()",
    "large": "SELECT i AS age, row_number() OVER (ORDER BY hash(i)) AS income FROM range(12000000) t(i)",
}


@pytest.mark.parametrize("view", VIEWS_THAT_FAIL)
@pytest.mark.parametrize("workers", [1, 2])
def test_a_view_that_fails_is_refused_without_the_words_of_the_database(stored, tmp_path, view, workers):
    copy = shutil.copy(stored, tmp_path / "copy.duckdb")
    with duckdb.connect(str(copy)) as database:
        database.execute(f"CREATE VIEW {view} AS {VIEWS_THAT_FAIL[view]}")
    compute = discreet.ComputeOptions(workers=workers, batch_rows=400)
    with pytest.raises(DataError, match=r"cannot be read|could not be read to its end") as caught:
        discreet.release(DatabaseTable(copy, view), DESIGN, epsilon=1.0, compute=compute)
    assert caught.value.__context__ is None
    with pytest.raises(DataError, match=r"cannot be read|could not be read to its end"):
        discreet.check(DatabaseTable(copy, view), DESIGN)


def test_a_table_that_breaks_off_is_refused(tmp_path):
    whole = tmp_path / "whole.duckdb"
    with duckdb.connect(str(whole)) as database:
        database.execute("CREATE TABLE people AS SELECT random() AS age, random() AS income FROM range(100000)")
    content = whole.read_bytes()
    cut = tmp_path / "cut.duckdb"
    cut.write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match=r"'cut.duckdb' cannot be (read|opened): .*(it|the file) is damaged"):
        discreet.release(DatabaseTable(cut, "people"), DESIGN, epsilon=1.0)


def test_a_name_that_means_two_tables_is_refused(stored, tmp_path):
    copy = shutil.copy(stored, tmp_path / "copy.duckdb")
    with duckdb.connect(str(copy)) as database:
        database.execute('CREATE TABLE "survey.wave" AS SELECT * FROM people')
    with pytest.raises(
        SpecError, match=r"table name 'survey.wave' of 'copy.duckdb' is ambiguous: it may mean .*; rename one"
    ):
        source(copy, "survey.wave")
    assert len(rows(copy, "people")) == 3000


def test_the_database_can_do_nothing_but_read_its_tables(stored):
    with opened_database(stored, 1) as database:
        for order in (
            "CREATE TABLE t (a INTEGER)", "INSERT INTO survey.wave VALUES (1, 2)", "SET enable_external_access = true",
            "SET autoload_known_extensions = true", "SET temp_directory = '.'", "INSTALL httpfs", "LOAD httpfs",
            f"ATTACH '{stored.parent / 'x.db'}'", f"COPY people TO '{stored.parent / 'x.csv'}'",
            f"SELECT * FROM read_csv('{stored.parent / 'other.csv'}')",
        ):  # fmt: skip
            with pytest.raises(duckdb.Error):
                database.sql(order).fetchall()
    assert sorted(path.name for path in stored.parent.iterdir()) == ["other.csv", "people.duckdb"]


def test_a_column_that_is_missing_or_of_another_type_is_refused(stored):
    with pytest.raises(DataError, match="no column 'agee', which is required; another column has a very similar name"):
        rows(stored, "people", {"agee": Numeric((0, 1))})
    design = discreet.Design("income", {"income": (0, 1), "region": (0, 1)})
    with pytest.raises(DataError, match="column 'region'"):
        discreet.release(DatabaseTable(stored, "empty"), design, epsilon=1.0)


def test_options_of_csv_files_are_refused(stored):
    with pytest.raises(SpecError, match="delimiter = ';' is allowed only for CSV files, not for a table of a database"):
        open_source(DatabaseTable(stored, "people"), reading=ReadOptions(delimiter=";"))


def sqlite(folder):
    sqlite3.connect(folder / "t.db").execute("CREATE TABLE t (a)").connection.close()
    return folder / "t.db"


def other_text(folder):
    (folder / "t.db").write_text("hello, this is no database")
    return folder / "t.db"


def no_bytes(folder):
    (folder / "t.db").touch()
    return folder / "t.db"


def damaged(folder):
    (folder / "t.db").write_bytes(b"\0" * 8 + b"DUCK" + b"\xff" * 20_000)
    return folder / "t.db"


BAD_FILES = {
    sqlite: "expected a DuckDB database, but the file 't.db' is a SQLite database",
    other_text: "'t.db' is not a DuckDB database",
    no_bytes: "'t.db' is not a DuckDB database",
    damaged: "'t.db' cannot be opened: another program is writing to it, it is damaged",
    lambda folder: folder: "is a folder; give a regular file",
    lambda folder: folder / "none.db": "there is no file",
    lambda folder: "md:people": "there is no file 'md:people'",
    lambda folder: ":memory:": "there is no file ':memory:'",
}


@pytest.mark.parametrize("make", BAD_FILES, ids=lambda make: make.__name__)
def test_a_file_that_is_no_database_is_refused(make, tmp_path):
    with pytest.raises(DiscreetError, match=BAD_FILES[make]):
        DatabaseSource(DatabaseTable(make(tmp_path), "t"))


def test_a_database_that_cannot_be_opened_is_refused(stored, tmp_path, monkeypatch):
    copy = shutil.copy(stored, tmp_path / "t.db")

    def denied(self, *_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", denied)
    with pytest.raises(DataError, match=r"'t.db' cannot be opened: Permission denied"):
        DatabaseSource(DatabaseTable(copy, "people"))


def test_a_database_that_changes_is_refused(stored, tmp_path):
    copy = tmp_path / "copy.duckdb"
    shutil.copy(stored, copy)
    made = source(copy, "people")
    with duckdb.connect(str(copy)) as database:
        database.execute("INSERT INTO people SELECT * FROM people")
    with pytest.raises(DataError, match=r"'copy.duckdb' changed while it was read"):
        list(made.batches(COLUMNS, 500))


def test_without_duckdb_the_extra_is_named(stored, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(SpecError, match=r"a table of a database needs 'duckdb'.*discreet\[duckdb\]"):
        source(stored, "people")


@pytest.mark.parametrize(
    ("database", "table"), [(5, "t"), (None, "t"), ("", "t"), ("x.db", ""), ("x.db", None), ("x.db", 3)]
)
def test_what_names_no_table_is_refused(database, table):
    with pytest.raises(SpecError, match=r"expected the path of a DuckDB file|expected the name of a table"):
        DatabaseTable(database, table)


def test_a_design_begins_from_its_columns(stored):
    blank = discreet.blank_design(DatabaseTable(stored, "people"), target="income")
    assert blank.listed == ("id", "age", "income", "region", "day")
    assert "from the schema of table people of " in blank.text
    assert "levels = []  # every value that can occur" in blank.text
    with pytest.raises(SpecError, match="is allowed only for CSV"):
        discreet.blank_design(DatabaseTable(stored, "people"), reading=ReadOptions(delimiter=";"))


def test_names_of_tables_and_views_are_listed_as_they_are_given(stored):
    names = discreet.database_tables(stored)
    assert names == ("broken", "empty", 'odd "name".x', "outside", "people", "young", "survey.wave")
    assert all(DatabaseTable(stored, name).table == name for name in names)


def test_a_list_of_what_is_no_database_is_refused(tmp_path):
    (tmp_path / "t.duckdb").write_text("nothing")
    for wrong in (tmp_path / "t.duckdb", tmp_path / "none.duckdb", tmp_path, "", 5):
        with pytest.raises(DiscreetError):
            discreet.database_tables(wrong)


def test_a_check_reads_it(stored):
    assert discreet.check(DatabaseTable(stored, "young"), DESIGN).rows_fit == 1000


def test_a_view_is_computed_by_one_thread_and_a_table_read_by_as_many_as_asked_for(stored):
    for name, threads in (("young", 1), ("people", 3)):
        opened = source(stored, name)
        opened.parts(3)
        with opened_database(opened._path, opened._threads) as database:
            assert database.sql("SELECT current_setting('threads')").fetchall() == [(threads,)]


@pytest.mark.parametrize(
    ("error", "raised"),
    [(RuntimeError("Query interrupted"), KeyboardInterrupt), (RuntimeError("cannot read 'secret'"), DataError)],
)
def test_a_query_that_a_signal_ended_is_an_interrupt_and_not_damage(stored, error, raised):
    class Database:
        def sql(self, _):
            raise error

    with pytest.raises(raised) as caught:
        source(stored, "young")._query(Database(), "*", 1)
    assert caught.value.__context__ is None
    assert "secret" not in str(caught.value)
