"""Names and types, never a value."""

from __future__ import annotations

import re
import shutil

import duckdb
import pytest

import discreet
from discreet_studio.views.release_settings import kept_settings
from discreet_studio.views.table_view import SUPPOSED
from support.studio_client import SECRET, Browser, errors, hidden


def test_names_of_a_text_file_are_announced_before_they_are_read(tmp_path):
    browser = Browser(tmp_path)
    browser.put_table()
    before = browser.get("/table").text
    assert "its first line will be shown as column names" in before
    assert "region" not in before
    after = browser.post("/table/read", {"file": "people.csv"})
    assert all(name in after.text for name in ("pay", "age", "region"))
    assert SECRET not in after.text
    assert "The file states no types" in after.text


def test_types_that_a_file_states(tmp_path):
    browser = Browser(tmp_path)
    browser.put_table("people.parquet")
    text = browser.post("/table/read", {"file": "people.parquet"}).text
    assert "number" in text
    assert [one.kind for one in browser.space.draft.columns] == ["number", "number", "levels"]
    assert [one.low for one in browser.space.draft.columns] == [""] * 3


def test_a_unit_with_an_id(tmp_path):
    browser = Browser(tmp_path)
    browser.put_table()
    browser.post("/table/read", {"file": "people.csv"})
    answer = browser.post("/table/unit", {"unit": "person", "person": "age", "max_rows": "3"})
    assert answer.url.path == "/design"
    assert (browser.space.draft.person, browser.space.draft.max_rows) == ("age", "3")
    assert "age" not in [one.name for one in browser.space.draft.columns]
    browser.post("/table/unit", {"unit": "row"})
    assert "age" in [one.name for one in browser.space.draft.columns]


@pytest.mark.parametrize("wrong", [
    {"person": "", "max_rows": "3"}, {"person": "nobody", "max_rows": "3"}, {"person": "age", "max_rows": "0"},
    {"person": "age", "max_rows": "x"}, {"person": "age", "max_rows": "9" * 12},
])  # fmt: skip
def test_a_unit_that_cannot_be(tmp_path, wrong):
    browser = Browser(tmp_path)
    browser.put_table()
    browser.post("/table/read", {"file": "people.csv"})
    answer = browser.post("/table/unit", {"unit": "person", **wrong})
    assert answer.status_code == 400
    assert len(errors(answer.text)) == 1
    assert browser.space.draft.person == ""


@pytest.mark.parametrize(("name", "content"), [
    ("empty.csv", ""), ("broken.parquet", "PAR1nonsense"), ("twice.csv", "a,a\n"), ("notes.txt", "x"),
    ("bad.csv", "\udcff,x\n"),
])  # fmt: skip
def test_files_that_are_no_tables(tmp_path, name, content):
    browser = Browser(tmp_path)
    (tmp_path / name).write_bytes(content.encode("utf-8", "surrogateescape"))
    answer = browser.post("/table/read", {"file": name, "encoding": "utf-8"})
    assert answer.status_code == 400
    assert errors(answer.text)
    assert str(tmp_path) not in answer.text


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    path = tmp_path_factory.mktemp("stored") / "survey.duckdb"
    with duckdb.connect(str(path)) as made:
        made.execute(f"CREATE TABLE people AS SELECT {SECRET} AS pay, 40 AS age, 'north' AS region FROM range(300)")
        made.execute("CREATE VIEW young AS SELECT pay, age FROM people WHERE age < 50")
    return path


def test_a_table_of_a_database_by_name(tmp_path, database):
    shutil.copy(database, tmp_path / "survey.duckdb")
    browser = Browser(tmp_path)
    assert "a database: choose its table next" in browser.get("/table").text
    asked = browser.post("/table/read", {"file": "survey.duckdb"})
    assert re.findall(r'<option value="(people|young)"', asked.text) == ["people", "young"]
    assert browser.space.state.table == ""
    text = browser.post("/table/read", {"file": "survey.duckdb", "database_table": "people"}).text
    assert "people in survey.duckdb" in text
    assert SECRET not in asked.text + text
    assert [one.kind for one in browser.space.draft.columns] == ["number", "number", "levels"]
    browser.post("/table/read", {"file": "survey.duckdb", "database_table": "young"})
    assert [one.name for one in browser.space.draft.columns] == ["pay", "age"]
    for wrong in ({"database_table": "nobody"}, {"database_table": "people", "delimiter": ";"}):
        answer = browser.post("/table/read", {"file": "survey.duckdb", **wrong})
        assert answer.status_code == 400
        assert len(errors(answer.text)) == 1
        assert str(tmp_path) not in answer.text


@pytest.mark.parametrize("name", ["none.duckdb", "../x.duckdb", "broken.duckdb", "empty.duckdb"])
def test_a_database_that_is_none(tmp_path, name):
    browser = Browser(tmp_path)
    (tmp_path / "broken.duckdb").write_text("nothing of the kind")
    duckdb.connect(str(tmp_path / "empty.duckdb")).close()
    answer = browser.get(f"/table?database={name}")
    assert len(errors(answer.text)) == 1
    assert str(tmp_path) not in answer.text


def test_how_a_file_is_written_is_kept(tmp_path):
    browser = Browser(tmp_path)
    (tmp_path / "euro.csv").write_text("a;b\n1,5;2\n")
    answer = browser.post("/table/read", {"file": "euro.csv", "delimiter": ";", "decimal": ","})
    assert answer.status_code == 200
    assert browser.space.state.reading["decimal"] == ","
    assert [one.name for one in browser.space.draft.columns] == ["a", "b"]


def test_the_sample_brings_its_design_and_reasons(tmp_path):
    browser = Browser(tmp_path)
    for _ in range(2):
        assert browser.post("/table/sample").status_code == 200
    assert browser.space.draft.problems() == {}
    assert all(one.reason for one in browser.space.draft.columns)
    assert browser.post("/table/unit", {"unit": "row"}).url.path == "/design"


@pytest.mark.parametrize("name", SUPPOSED)
def test_what_is_supposed_of_a_sample_is_about_what_it_holds(name):
    """The numbers are written down, and the table is public: they may be compared."""
    rows = discreet.datasets.load(name).table
    for key, text in SUPPOSED[name].items():
        what, _, column = key.partition(":")
        if column:
            cells = rows[column].to_numpy()
            assert float(text) == pytest.approx(cells.mean() if what == "mean" else cells.std(), rel=0.05), key


def test_the_plan_of_the_sample_is_about_what_its_release_gives(tmp_path):
    browser = Browser(tmp_path)
    browser.post("/table/sample")
    asked = kept_settings(browser.space)
    design = browser.space.design()
    expected = {one.name: one.std_error for one in discreet.plan(design, **asked.planned).coefficients}
    made = discreet.release(tmp_path / "census-sample.parquet", design, epsilon=asked.epsilon, delta=asked.delta)
    found = discreet.fit(made).to_dict(0.95)["bse"]
    # evenly filled bounds would be wrong by more than 4 for education; noise moves the spread of a column by about 2%,
    # so that a factor of 2 by chance has a probability far below 1e-9
    for column in ("educ", "exper"):
        assert 0.5 < expected[column] / found[column] < 2, column


def test_another_table_has_a_plan_of_its_own(tmp_path):
    browser = Browser(tmp_path).declared()
    browser.put_table("other.csv", 300)
    assert browser.space.state.plan
    text = browser.post("/table/read", {"file": "other.csv"}).text
    assert "reset to their defaults" in text
    assert browser.space.state.plan == {}
    assert "reset to their defaults" not in browser.post("/table/read", {"file": "other.csv"}).text


def test_tables_of_coefficients_are_not_offered_as_data(tmp_path):
    browser = Browser(tmp_path)
    for name in ("pay.csv", "pay.release.json", "people.csv"):
        (tmp_path / name).write_text("a,b\n")
    text = browser.get("/table").text
    assert 'value="people.csv"' in text
    assert 'value="pay.csv"' not in text


def test_no_unit_without_a_table(tmp_path):
    assert Browser(tmp_path).post("/table/unit", {"unit": "row"}).url.path == "/table"


def put_wide_table(browser, columns):
    names = ",".join(f"c{index}" for index in range(columns))
    (browser.folder / "wide.csv").write_text(f"{names}\n{','.join('1' * columns)}\n", encoding="utf-8")


@pytest.mark.parametrize("columns", [501, 10_000])
def test_a_table_of_more_columns_than_the_screens_show_is_refused_soon_and_says_what_to_do(tmp_path, columns):
    browser = Browser(tmp_path)
    put_wide_table(browser, columns)
    answer = browser.post("/table/read", {"file": "wide.csv"})
    assert browser.get("/design").url.path == "/table"
    assert len(answer.text) < 50_000
    assert answer.status_code == 400
    (said,) = errors(answer.text)
    assert f"expected at most 500 columns, got {columns:,}" in said
    assert "use the command line, which has no such limit" in said
    assert len(answer.content) < 100_000
    assert browser.space.state.table == ""


def test_a_table_of_as_many_columns_as_the_screens_show_is_designed_and_saved(tmp_path):
    browser = Browser(tmp_path)
    put_wide_table(browser, 500)
    assert browser.post("/table/read", {"file": "wide.csv"}).status_code == 200
    page = browser.get("/design").text
    form = {name: hidden(page, name) for name in ("version", "columns", "person", "max_rows")}
    for index in range(500):
        form |= {f"c{index}-name": f"c{index}", f"c{index}-included": "yes", f"c{index}-kind": "number"}
        form |= {f"c{index}-low": "0", f"c{index}-high": "9", f"c{index}-missing": "error"}
    saved = browser.post("/design", form | {"target": "c0", "action": "save"})
    assert "The design is complete and saved" in saved.text
    assert len(browser.space.design().columns) == 500
