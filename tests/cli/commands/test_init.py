"""`discreet init`: a design with blanks from names and types, and how its blanks are refused."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.cli import init
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
    assert "discreet check people.csv --design new.toml\n" in result.stdout
    assert result.stdout.index("discreet check") < result.stdout.index("discreet release")
    assert "4 columns" in result.stdout
    text, table = written(folder)
    blank = {"bounds": ["", ""]}
    assert table == {"target": "", "columns": dict.fromkeys(["income", "age", "region", "remark"], blank)}
    assert text.startswith("# Written by discreet from the header of people.csv: names only. No values were read.\n")
    assert contents(folder) == before | {"new.toml": text.encode()}
    for canary in (CANARY, SECRET):
        assert canary not in text + result.output


def test_the_blanks_say_which_cells_a_boolean_column_takes(folder: Path, call: Call) -> None:
    assert call("init", "people.csv", "-o", "new.toml").exit_code == 0
    text, _ = written(folder)
    assert '# dtype = "bool"   # instead, for true/false or 1/0; declare any other two words as levels\n' in text
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
    left_out = "# left out: the column must contain numbers, booleans, text or dates, but has type"
    assert f"# [columns.when]\n{left_out} timestamp[us, tz=UTC]" in text
    assert f"# [columns.parts]\n{left_out} list" in text
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
        assert all(line.startswith("  line ") for line in result.stderr.splitlines()[1:])
        assert all(fragment in result.stderr for fragment in fragments)
        assert contents(folder) == before

    refused("error: new.toml: 4 problems\n  line 9, column 'income'")
    refused(
        "column 'income': bounds are blank; declare the lowest and highest possible value, using public knowledge only"
    )
    fill(("income", '["", ""]', "[0, 1000000]"), ("age", '["", ""]', '[18, ""]'))
    refused("column 'age': bounds are blank")
    fill(("age", '[18, ""]', "[18, 90]"), ("region", 'bounds = ["", ""]', ""), ("region", "# levels", "levels"))
    refused("column 'region': levels are blank; list every value that can occur, using public knowledge only")
    fill(("region", "levels = []", 'levels = ["north", "south"]'))
    refused("column 'remark': bounds are blank")
    head, _, tail = path.read_text().partition("[columns.remark]\n")
    path.write_text(head + tail[tail.index("# If a person") :])
    path.write_text(path.read_text().replace('target = "income"', 'target = ""'))
    refused("target is blank; name the outcome column")
    path.write_text(path.read_text().replace('target = ""', 'target = "income"'))
    result = call(*RELEASE, "new.toml")
    assert result.exit_code == 0, result.stderr


def test_the_output_is_design_toml_unless_named_and_is_not_replaced(folder: Path, call: Call) -> None:
    before = contents(folder)
    result = call("init", "people.csv")
    assert result.exit_code == 2
    assert "'design.toml' already exists" in result.stderr
    assert contents(folder) == before
    assert call("init", "people.csv", "--force").exit_code == 0
    assert contents(folder) != before


def test_encoding_and_delimiter_are_passed_on(folder: Path, call: Call) -> None:
    (folder / "t.csv").write_bytes("größe\tname\n1\t2\n".encode("latin-1"))
    result = call("init", "t.csv", "-o", "new.toml", "--encoding", "latin-1", "--delimiter", "tab")
    assert (result.exit_code, result.stderr) == (0, "")
    assert list(written(folder)[1]["columns"]) == ["größe", "name"]  # type: ignore[call-overload]
    assert "discreet check t.csv --design new.toml --encoding latin-1 --delimiter tab\n" in result.stdout


def test_encoding_and_delimiter_are_proposed_from_the_header_and_carried_on(folder: Path, call: Call) -> None:
    (folder / "t.csv").write_bytes("größe\tname\n1\t2\n".encode("latin-1"))
    result = call("init", "t.csv", "-o", "new.toml")
    assert (result.exit_code, result.stderr) == (0, "")
    assert list(written(folder)[1]["columns"]) == ["größe", "name"]  # type: ignore[call-overload]
    assert "Read     with encoding cp1252 and delimiter tab, proposed from the header line alone" in result.stdout
    assert "discreet check t.csv --design new.toml --encoding cp1252 --delimiter tab\n" in result.stdout
    given = call("init", "t.csv", "-o", "new.toml", "--force", "--encoding", "latin-1", "--delimiter", "tab")
    assert "proposed" not in given.stdout
    assert "discreet check t.csv --design new.toml --encoding latin-1 --delimiter tab\n" in given.stdout


def test_every_way_to_read_a_file_is_carried_into_the_commands(folder: Path, call: Call) -> None:
    (folder / "t.csv").write_text('x;"y\nz"\n', newline="")
    options = ["--decimal", ",", "--thousands", ".", "--quoted-line-breaks"]
    result = call("init", "t.csv", "-o", "new.toml", *options)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "1 column left out; the file says why" in result.stdout
    assert "--design new.toml --delimiter ';' --decimal , --thousands . --quoted-line-breaks\n" in result.stdout


def test_target_columns_and_id_are_taken(folder: Path, call: Call) -> None:
    result = call("init", "people.csv", "-o", "new.toml", "--target", "income", "--columns", "age", "--id", "remark")
    assert (result.exit_code, result.stderr) == (0, "")
    _, table = written(folder)
    blank = {"bounds": ["", ""]}
    assert table == {
        "target": "income",
        "columns": {"income": blank, "age": blank},
        "unit": {"id": "remark", "max_rows": ""},
    }
    bounds = "bounds are blank; declare the lowest and highest possible value, using public knowledge only"
    assert result.stdout.splitlines()[1:5] == [
        "Blanks   3 in new.toml:",
        f"         line 9, column 'income': {bounds}",
        f"         line 14, column 'age': {bounds}",
        "         line 20: max_rows is blank; set the maximum number of rows used per person",
    ]
    # the same problems, in the same words, as release and check give
    refused = call(*RELEASE, "new.toml")
    assert refused.exit_code == 2
    assert [line.strip() for line in refused.stderr.splitlines()[1:]] == [
        line.strip() for line in result.stdout.splitlines()[2:5]
    ]


def test_all_that_is_wrong_with_what_was_asked_for_is_said_at_once(folder: Path, call: Call) -> None:
    before = contents(folder)
    result = call("init", "people.csv", "-o", "new.toml", "--target", "incme", "--columns", "age,agee", "--id", "who")
    assert result.exit_code == 2
    lines = result.stderr.splitlines()
    assert lines[0].startswith("error: the design has 3 problems")
    assert "unknown target 'incme'" in lines[1]
    assert "unknown column 'agee'" in lines[2]
    assert "unknown id 'who'" in lines[3]
    assert contents(folder) == before
    for wrong in ("", ",", '"age'):
        assert "columns" in call("init", "people.csv", "-o", "new.toml", "--columns", wrong).stderr


def test_on_a_terminal_what_was_not_given_is_asked_for(
    folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(init, "_interactive", lambda: True)
    answers = iter(["income", "age, region", "remark"])
    asked = []
    monkeypatch.setattr(init, "_asked", lambda question: asked.append(question) or next(answers))
    result = call("init", "people.csv", "-o", "new.toml")
    assert (result.exit_code, result.stderr) == (0, "")
    assert len(asked) == 3
    _, table = written(folder)
    assert table["target"] == "income"
    assert list(table["columns"]) == ["income", "age", "region"]  # type: ignore[call-overload]
    assert table["unit"] == {"id": "remark", "max_rows": ""}
    answers = iter([None])
    result = call("init", "people.csv", "-o", "new.toml", "--force", "--target", "age", "--id", "remark")
    assert (result.exit_code, len(asked)) == (0, 4)
    assert list(written(folder)[1]["columns"]) == ["income", "age", "region"]  # type: ignore[call-overload]


def test_a_question_has_an_empty_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    for given, answer in (("", None), ("  ", None), (" age ", "age")):
        monkeypatch.setattr("click.prompt", lambda *_, given=given, **__: given)
        assert init._asked("Target") == answer


def test_nothing_is_asked_where_nobody_answers(folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    # stdout is a terminal, stdin is not
    monkeypatch.setattr("discreet.cli.terminal.on_terminal", lambda: True)
    assert call("init", "people.csv", "-o", "new.toml").exit_code == 0


def test_the_help_names_no_default_for_what_is_proposed_from_the_header(call: Call) -> None:
    text = " ".join(call("init", "--help").stdout.split())
    assert text.count("[default: proposed from the header line]") == 2
    assert "utf-8" not in text
    assert "[default: utf-8]" in " ".join(call("check", "--help").stdout.split())
