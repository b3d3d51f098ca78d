"""A design with blanks: from a header or a schema, in valid TOML, and refused until it is filled in."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet.design.design import Design
from discreet.errors import DataError, DesignError, OutputError, SpecError
from discreet.tables.blank_design import design_with_blanks, quoted

HOSTILE = {
    "a\u202eb": "invisible characters",
    "a\x1b[31mb": "invisible characters",
    'x"]\ntarget = "y': "invisible characters",
    "a\x7fb": "invisible characters",
    "a\ud800b": "invisible characters",
    "": "without surrounding blanks",
    " x": "without surrounding blanks",
    "1": "is reserved",
    "Intercept": "is reserved",
}
ODD = ["a.b", "größe, in cm", 'x"]', "back\\slash", "a\u00a0b", "=", "#", "[unit]", "'", "\U0001f600"]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_that_no_design_takes_is_left_out_with_the_reason(name: str) -> None:
    blank = design_with_blanks("t\n\u202e.csv", [("good", None), (name, None)])
    assert list(tomllib.loads(blank.text)["columns"]) == ["good"]
    assert HOSTILE[name] in blank.text
    assert all(sign.isprintable() or sign == "\n" for sign in blank.text)
    assert [found for found, _ in blank.left_out] == [name]


@pytest.mark.parametrize("name", ODD)
def test_an_odd_name_is_quoted(name: str) -> None:
    blank = design_with_blanks("t.csv", [(name, None), ("y", "boolean")], target=name)
    table = tomllib.loads(blank.text)
    assert list(table["columns"]) == [name, "y"]
    assert table["target"] == name
    assert all(sign.isprintable() or sign == "\n" for sign in blank.text)


@given(st.lists(st.tuples(st.text(max_size=6), st.sampled_from([None, "number", "boolean", "text", "date32[day]"]))))
def test_any_names_give_valid_toml_that_only_lacks_what_is_blank(columns: list[tuple[str, str | None]]) -> None:
    columns = [("y", None), ("x", "number"), *columns]
    if sum(name in ("x", "y") for name, _ in columns) > 2:
        return
    blank = design_with_blanks("t.csv", columns)
    table = tomllib.loads(blank.text)
    assert set(table) == {"target", "columns"}
    assert list(table["columns"]) == list(blank.listed)
    assert len(blank.listed) + len(blank.left_out) == len(columns)
    with pytest.raises(SpecError, match="blank"):
        Design.from_toml(blank.text)
    for column in table["columns"].values():
        column |= {"bounds": [0, 1]} if "bounds" in column else {"levels": ["a", "b"]} if "levels" in column else {}
    assert Design.from_dict(table | {"target": "y"}).target == "y"


@given(st.text())
def test_a_quoted_text_is_read_back(text: str) -> None:
    assert tomllib.loads(f"x = {quoted(text)}") == {"x": text}


def test_a_name_that_stands_twice_is_left_out() -> None:
    blank = design_with_blanks("t.csv", [("x", None), ("y", None), ("x", None)])
    assert blank.listed == ("y",)
    assert blank.text.count("more than one column with this name") == 2


def test_a_table_of_which_nothing_can_be_released_is_refused() -> None:
    with pytest.raises(
        DataError,
        match=r"no column of 't\.parquet' can be released: .*, text or dates, but has type binary",
    ):
        design_with_blanks("t.parquet", [("x", "binary")])


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("agee", "Did you mean 'age'"),
        ("region", "is text"),
        ("when", "cannot be released: the column must contain numbers, booleans, text or dates, but has type date32"),
    ],
)
def test_a_target_that_cannot_be_one_is_refused(target: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        design_with_blanks("t", [("age", "number"), ("region", "text"), ("when", "date32[day]")], target)


def test_the_public_function_reads_names_and_types_of_a_file_and_writes_toml(tmp_path: Path) -> None:
    pq.write_table(pa.table({"pay": [1.5], "region": ["north"]}), tmp_path / "t.parquet")
    blank = discreet.blank_design(tmp_path / "t.parquet", target="pay")
    assert (blank.listed, blank.left_out) == (("pay", "region"), ())
    blank.save(tmp_path / "new.toml")
    table = tomllib.loads((tmp_path / "new.toml").read_text(encoding="utf-8"))
    assert table == {"target": "pay", "columns": {"pay": {"bounds": ["", ""]}, "region": {"levels": []}}}
    with pytest.raises(OutputError, match="exists"):
        blank.save(tmp_path / "new.toml")
    blank.save(tmp_path / "new.toml", force=True)


def test_the_public_function_reads_a_file_as_it_says(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("größe;x\n".encode("latin-1"))
    assert discreet.blank_design(str(tmp_path / "t.csv"), reading=discreet.ReadOptions("latin-1", ";")).listed == (
        "größe",
        "x",
    )


def test_a_blank_design_is_never_written_over_a_table(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("x,y\n1,2\n")
    with pytest.raises(OutputError, match=r"must end in \.toml; choose a name such as design\.toml"):
        discreet.blank_design(table).save(table, force=True)
    assert table.read_text() == "x,y\n1,2\n"


@pytest.mark.parametrize(
    ("path", "options", "error", "message"),
    [
        (3, {}, SpecError, "blank_design: expected the path of a file, got int"),
        ({"x": [1.0]}, {}, SpecError, "blank_design: expected the path of a file, got dict"),
        ("none.csv", {}, SpecError, "none.csv"),
        ("t.csv", {"target": 3}, SpecError, "target: expected the name of a column, got 3"),
        ("t.csv", {"target": "z"}, SpecError, "unknown target 'z'; allowed: x, y"),
        ("t.csv", {"reading": "utf-7"}, SpecError, "reading: expected discreet.ReadOptions"),
        ("rows.csv", {}, DataError, "must contain column names, but contains a number or a date"),
    ],
)
def test_bad_input_is_one_of_our_errors_with_exit_code_2(
    path: object, options: dict[str, object], error: type[Exception], message: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("x,y\n")
    Path("rows.csv").write_text("1,2\n3,4\n")
    with pytest.raises(error, match=message) as caught:
        discreet.blank_design(path, **options)  # type: ignore[arg-type]
    assert caught.value.exit_code == 2  # type: ignore[attr-defined]


COLUMNS = [("age", "number"), ("region", "text"), ("when", "date32[day]"), ("who", None), ("pay", "number")]


def test_wanted_columns_and_the_target_are_listed_and_the_id_is_not() -> None:
    blank = design_with_blanks("t", COLUMNS, "pay", ["age"], "who")
    assert blank.listed == ("age", "pay")
    assert blank.left_out == ()
    assert tomllib.loads(blank.text)["unit"] == {"id": "who", "max_rows": ""}
    every = design_with_blanks("t", COLUMNS, "pay", None, "who")
    assert every.listed == ("age", "region", "pay")
    assert [name for name, _ in every.left_out] == ["when"]


@pytest.mark.parametrize(
    ("target", "wanted", "person", "messages"),
    [
        ("pya", ["agee", "when", 3], "whom", [
            "unknown target 'pya'; allowed: age, region, who, pay. Did you mean 'pay'?",
            "unknown column 'agee'; allowed: age, region, who, pay. Did you mean 'age'?",
            "the column 'when' cannot be released: the column must contain numbers, booleans, text or dates, but has "
            "type date32",
            "unknown column 3;",
            "unknown id 'whom'; allowed: age, region, when, who, pay. Did you mean 'who'?",
        ]),
        (None, "age", "age", ["columns: expected a list of names, got 'age'"]),
        (None, 3, None, ["columns: expected a list of names, got 3"]),
        ("pay", ["age"], "pay", ["the id 'pay' must not be the target or one of the columns: an id is never released"]),
        (None, None, "when", ["the id must be text or an integer, but 'when' has type date32[day]"]),
        (None, None, 7, ["id: expected the name of a column, got 7"]),
        ("when", None, None, ["the target 'when' cannot be released: the column must contain numbers"]),
    ],
)  # fmt: skip
def test_all_problems_are_said_at_once(target: object, wanted: object, person: object, messages: list[str]) -> None:
    with pytest.raises(DesignError) as caught:
        design_with_blanks("t", COLUMNS, target, wanted, person)
    found = [problem.message for problem in caught.value.problems]
    assert len(found) == len(messages)
    assert all(one.startswith(message) for one, message in zip(found, messages, strict=True))


def test_blanks_are_what_a_design_would_be_refused_for() -> None:
    blank = design_with_blanks("t", COLUMNS, None, ["age", "region"], "who")
    assert [(one.column, one.key) for one in blank.blanks] == [
        ("", "target"), ("age", "bounds"), ("region", "levels"), ("", "unit.max_rows"),
    ]  # fmt: skip
    assert all("blank" in one.message for one in blank.blanks)
    with pytest.raises(DesignError) as caught:
        Design.from_toml(blank.text)
    assert caught.value.problems == blank.blanks
    assert design_with_blanks("t", [("a", "boolean"), ("b", "boolean")], "a").blanks == ()


def test_statistics_files_give_names_and_types(tmp_path: Path) -> None:
    pyreadstat.write_sav(pd.DataFrame({"pay": [1.5], "region": ["north"]}), str(tmp_path / "t.sav"))
    blank = discreet.blank_design(tmp_path / "t.sav", target="pay")
    assert tomllib.loads(blank.text)["columns"] == {"pay": {"bounds": ["", ""]}, "region": {"levels": []}}


def test_a_header_may_span_lines_where_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('x,"y\nz",w\n1,2,3\n', newline="")
    blank = discreet.blank_design(tmp_path / "t.csv", reading=discreet.ReadOptions(quoted_line_breaks=True))
    assert blank.listed == ("x", "w")
    assert [name for name, _ in blank.left_out] == ["y\nz"]
    with pytest.raises(DataError, match="has an unclosed quote"):
        discreet.blank_design(tmp_path / "t.csv")
