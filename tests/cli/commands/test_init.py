"""`discreet init`: a design with blanks from names and types, and how its blanks are refused."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.cli.commands.blank_design import blank_design, quoted
from discreet.design.model import Design
from discreet.errors import DataError, SpecError
from support.cli_folder import CANARY, SECRET, Call, contents

RELEASE = ("release", "people.csv", "--epsilon", "1", "--delta", "1e-6", "-o", "out.json", "--design")


def written(folder: Path, name: str = "new.toml") -> tuple[str, dict[str, object]]:
    text = (folder / name).read_text(encoding="utf-8")
    return text, tomllib.loads(text)


def test_names_of_a_csv_file_become_columns_with_blanks(folder: Path, call: Call) -> None:
    before = contents(folder)
    result = call("init", "people.csv", "-o", "new.toml")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "discreet release people.csv --design new.toml --epsilon 1" in result.stdout
    assert "4 columns" in result.stdout
    text, table = written(folder)
    blank = {"bounds": ["", ""]}
    assert table == {"target": "", "columns": dict.fromkeys(["income", "age", "region", "remark"], blank)}
    assert text.startswith("# Written by discreet init from the header of people.csv: names only, no value was read.\n")
    assert contents(folder) == before | {"new.toml": text.encode()}
    for canary in (CANARY, SECRET):
        assert canary not in text + result.output


def test_the_blanks_say_which_cells_a_boolean_column_takes(folder: Path, call: Call) -> None:
    assert call("init", "people.csv", "-o", "new.toml").exit_code == 0
    text, _ = written(folder)
    assert '# dtype = "bool"   # instead, for true/false or 1/0; two other words are levels\n' in text
    assert "yes or no" not in text


def test_nothing_depends_on_the_rows(folder: Path, call: Call) -> None:
    assert call("init", "people.csv", "-o", "new.toml").exit_code == 0
    header, _, _ = (folder / "people.csv").read_bytes().partition(b"\n")
    for rows in (b"", b"\n", b"\n\xff\0\n" + b"x" * 3_000_000):
        (folder / "people.csv").write_bytes(header + rows)
        result = call("init", "people.csv", "-o", "again.toml", "--force")
        assert (result.exit_code, result.stderr) == (0, "")
        assert (folder / "again.toml").read_bytes() == (folder / "new.toml").read_bytes()


def test_types_of_a_parquet_file_choose_the_blanks(folder: Path, call: Call) -> None:
    table = pa.table({
        "pay": [float(CANARY)],
        "code": pa.array([3], pa.int16()),
        "member": [True],
        "region": pa.array([SECRET]).dictionary_encode(),
        "remark": [SECRET],
        "never": pa.nulls(1),
        "when": pa.array([0], pa.timestamp("us", "UTC")),
        "parts": [[1, 2]],
    })  # fmt: skip
    pq.write_table(table, folder / "t.parquet")
    result = call("init", "t.parquet", "-o", "new.toml", "--target", "pay")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "2 columns left out; the file says why" in result.stdout
    text, found = written(folder)
    bounds, levels = {"bounds": ["", ""]}, {"levels": []}
    assert found == {
        "target": "pay",
        "columns": {
            "pay": bounds,
            "code": bounds,
            "member": {"dtype": "bool"},
            "region": levels,
            "remark": levels,
            "never": bounds,
        },
    }
    assert "names and types only" in text
    assert "# [columns.when]\n# left out: its type timestamp[us, tz=UTC] is neither" in text
    assert "# [columns.parts]\n# left out: its type list is neither" in text
    assert SECRET not in text
    assert CANARY not in text


def test_the_file_works_once_it_is_filled_in(folder: Path, call: Call) -> None:
    assert call("init", "people.csv", "-o", "new.toml", "--target", "income").exit_code == 0
    path = folder / "new.toml"

    def fill(*steps: tuple[str, str, str]) -> None:
        for name, old, new in steps:
            head, key, tail = path.read_text().partition(f"[columns.{name}]\n")
            assert old in tail
            path.write_text(head + key + tail.replace(old, new, 1))

    def refused(*fragments: str) -> None:
        before = contents(folder)
        result = call(*RELEASE, "new.toml")
        assert result.exit_code == 2
        assert result.stderr.startswith("error: ")
        assert result.stderr.count("\n") == 1
        assert all(fragment in result.stderr for fragment in fragments)
        assert contents(folder) == before

    refused("column 'income': bounds are blank; fill in the lowest and highest value from public knowledge")
    fill(("income", '["", ""]', "[0, 1000000]"), ("age", '["", ""]', '[18, ""]'))
    refused("column 'age': bounds are blank")
    fill(("age", '[18, ""]', "[18, 90]"), ("region", 'bounds = ["", ""]', ""), ("region", "# levels", "levels"))
    refused("column 'region': levels are blank; fill in every value that can occur from public knowledge")
    fill(("region", "levels = []", 'levels = ["north", "south"]'))
    refused("column 'remark': bounds are blank")
    head, _, tail = path.read_text().partition("[columns.remark]\n")
    path.write_text(head + tail[tail.index("# If a person") :])
    path.write_text(path.read_text().replace('target = "income"', 'target = ""'))
    refused("target is blank; name the column to explain")
    path.write_text(path.read_text().replace('target = ""', 'target = "income"'))
    result = call(*RELEASE, "new.toml")
    assert result.exit_code == 0, result.stderr


def test_the_output_is_design_toml_unless_named_and_is_not_replaced(folder: Path, call: Call) -> None:
    before = contents(folder)
    result = call("init", "people.csv")
    assert result.exit_code == 2
    assert "'design.toml' exists" in result.stderr
    assert contents(folder) == before
    assert call("init", "people.csv", "--force").exit_code == 0
    assert contents(folder) != before


def test_encoding_and_delimiter_are_passed_on(folder: Path, call: Call) -> None:
    (folder / "t.csv").write_bytes("größe\tname\n1\t2\n".encode("latin-1"))
    result = call("init", "t.csv", "-o", "new.toml", "--encoding", "latin-1", "--delimiter", "tab")
    assert (result.exit_code, result.stderr) == (0, "")
    assert list(written(folder)[1]["columns"]) == ["größe", "name"]  # type: ignore[call-overload]


HOSTILE = {
    "a\u202eb": "invisible characters",
    "a\x1b[31mb": "invisible characters",
    'x"]\ntarget = "y': "invisible characters",
    "a\x7fb": "invisible characters",
    "a\ud800b": "invisible characters",
    "": "without blanks",
    " x": "without blanks",
    "1": "is a reserved name",
    "Intercept": "is a reserved name",
}
ODD = ["a.b", "größe, in cm", 'x"]', "back\\slash", "a\u2028b", "a\u00a0b", "=", "#", "[unit]", "'", "\U0001f600"]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_that_no_design_takes_is_left_out_with_the_reason(name: str) -> None:
    blank = blank_design("t\n\u202e.csv", [("good", None), (name, None)])
    assert list(tomllib.loads(blank.text)["columns"]) == ["good"]
    assert HOSTILE[name] in blank.text
    assert all(sign.isprintable() or sign == "\n" for sign in blank.text)
    assert [found for found, _ in blank.left_out] == [name]


@pytest.mark.parametrize("name", ODD)
def test_an_odd_name_is_quoted(name: str) -> None:
    blank = blank_design("t.csv", [(name, None), ("y", "boolean")], target=name)
    table = tomllib.loads(blank.text)
    assert list(table["columns"]) == [name, "y"]
    assert table["target"] == name
    assert all(sign.isprintable() or sign == "\n" for sign in blank.text)


@given(st.lists(st.tuples(st.text(max_size=6), st.sampled_from([None, "number", "boolean", "text", "date32[day]"]))))
def test_any_names_give_valid_toml_that_only_lacks_what_is_blank(columns: list[tuple[str, str | None]]) -> None:
    columns = [("y", None), ("x", "number"), *columns]
    if sum(name in ("x", "y") for name, _ in columns) > 2:
        return
    blank = blank_design("t.csv", columns)
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
    blank = blank_design("t.csv", [("x", None), ("y", None), ("x", None)])
    assert blank.listed == ("y",)
    assert blank.text.count("more than one column of this name") == 2


def test_a_table_of_which_nothing_can_be_released_is_refused() -> None:
    with pytest.raises(DataError, match=r"no column of 't\.parquet' can be released: its type binary"):
        blank_design("t.parquet", [("x", "binary")])


@pytest.mark.parametrize(
    ("target", "message"),
    [("agee", "Did you mean 'age'"), ("region", "is text"), ("when", "cannot be released: its type date32")],
)
def test_a_target_that_cannot_be_one_is_refused(target: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        blank_design("t", [("age", "number"), ("region", "text"), ("when", "date32[day]")], target)
