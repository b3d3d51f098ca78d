"""Names that try to be something else: SQL, paths, commands, markup, terminal sequences.

Every hostile name is tried in every place that takes a name. A place may refuse it, on one line; where it is taken, it
is a name and nothing else: no file appears outside its folder, no table is dropped, nothing that a terminal or a
browser would obey is printed.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.csv as arrow_csv
import pyarrow.parquet
import pytest
from click.testing import CliRunner

import discreet
from discreet.cli.main import program
from discreet.design.columns import Categorical
from discreet.design.design import Design
from discreet.errors import DiscreetError
from discreet.privacy.budget import PrivacyUnit
from discreet.releases import Release
from support.page_reading import Reader

HOSTILE = {
    "single quote": "a'b",
    "double quote": 'a"b',
    "semicolon": "a;b",
    "new line": "a\nb",
    "drop table": "'); DROP TABLE people; --",
    "attach": "\" FROM people; ATTACH 'owned.db' AS x; --",
    "copy": "people TO 'owned.csv'; COPY people",
    "upwards": "../owned",
    "upwards and back": "../../owned/../owned",
    "terminal": "\x1b[31mred\x1b]0;owned\x07",
    "backspace": "ab\x08\x08cd",
    "right to left": "\u202egpj.exe",
    "script": "<script>alert(1)</script>",
    "attribute": '" onmouseover="alert(1)',
    "template": "{{7*7}}{% include 'x' %}",
    "format": "%s%n{0}{name!r}",
    "shell": "$(touch owned)`touch owned`",
    "option": "--force",
    "spreadsheet": "=HYPERLINK(1)",
    "NUL": "a\0b",
    "surrogate": "a\udc80b",
}
ROWS = 40
X, Y, WHO = ([float(i % 7) for i in range(ROWS)], [float(i % 5) for i in range(ROWS)], [f"p{i}" for i in range(ROWS)])
PLAIN = {"y": (0, 5), "x": (0, 7)}
BUDGET = {"epsilon": 1.0, "delta": 1e-6}


def made(data, design, **options) -> Release:
    return discreet.release(data, design, **BUDGET, **options)


def database(table: str = "people", column: str = "x") -> duckdb.DuckDBPyConnection:
    """A connection with a table that must survive."""
    con = duckdb.connect()
    quoted, inside = table.replace('"', '""'), column.replace('"', '""')
    rows = pa.table({"y": Y, "x": X})
    con.execute("CREATE TABLE people AS SELECT * FROM rows")
    if (table, column) != ("people", "x"):
        con.execute(f'CREATE TABLE "{quoted}_" AS SELECT y, x AS "{inside}" FROM rows')
    del rows
    return con


def _column(name):
    return made({"y": Y, name: X}, Design("y", {"y": (0, 5), name: (0, 7)}))


def _target(name):
    return made({name: Y, "x": X}, Design(name, {name: (0, 5), "x": (0, 7)}))


def _level(name):
    cells = [name if i % 2 else "plain" for i in range(ROWS)]
    return made({"y": Y, "g": cells}, Design("y", {"y": (0, 5), "g": ["plain", name]}))


def _cell(name):
    """Not declared: a cell that only the table holds."""
    cells = [name if i % 2 else "plain" for i in range(ROWS)]
    return made({"y": Y, "g": cells}, Design("y", {"y": (0, 5), "g": Categorical(["plain", "other"], missing="drop")}))


def _id_column(name):
    design = Design("y", PLAIN, unit=PrivacyUnit(id=name, max_rows=1))
    return made({"y": Y, "x": X, name: WHO}, design)


def _id_cell(name):
    design = Design("y", PLAIN, unit=PrivacyUnit(id="who", max_rows=1))
    return made({"y": Y, "x": X, "who": [f"{name}{i}" for i in range(ROWS)]}, design)


def _duckdb_table(name):
    con = database(table=name)
    found = made(con.table('"' + name.replace('"', '""') + '_"'), Design("y", PLAIN))
    assert con.execute("SELECT count(*) FROM people").fetchone() == (ROWS,)
    return found


def _duckdb_column(name):
    con = database("marked", name)
    found = made(con.table("marked_"), Design("y", {"y": (0, 5), name: (0, 7)}))
    assert con.execute("SELECT count(*) FROM people").fetchone() == (ROWS,)
    return found


def _csv_column(name):
    arrow_csv.write_csv(pa.table({"y": Y, name: X}), "people.csv")
    return made("people.csv", Design("y", {"y": (0, 5), name: (0, 7)}))


def _path(name, ending, write):
    path = Path("inside", f"{name}{ending}")
    # the system may have no such name
    with contextlib.suppress(OSError, ValueError):
        write(pa.table({"y": Y, "x": X}), os.path.join("inside", name.replace("/", "_") + ending))
    return made(str(path), Design("y", PLAIN))


def _csv_name(name):
    return _path(name, ".csv", arrow_csv.write_csv)


def _parquet_name(name):
    return _path(name, ".parquet", pa.parquet.write_table)


def _books(path="books.db", dataset="people"):
    ledger = discreet.Ledger.create(path)
    ledger.declare(dataset, epsilon=5.0, delta=1e-5)
    return ledger


def _ledger_name(name):
    # a path that leads upwards is what was asked for
    ledger = _books(os.path.join("inside", name.replace("/", "_")))
    found = made({"y": Y, "x": X}, Design("y", PLAIN), spend=ledger.account("people"))
    ledger.verify(found)
    return found


def _data_set(name):
    ledger = _books()
    ledger.declare(name, epsilon=5.0, delta=1e-5)
    found = made({"y": Y, "x": X}, Design("y", PLAIN), spend=ledger.account(name))
    assert (ledger.status(name).requests, ledger.status("people").requests) == (1, 0)
    ledger.verify(found)
    return found


def _request(name):
    ledger = _books()
    found = made({"y": Y, "x": X}, Design("y", PLAIN), spend=ledger.account("people", name))
    ledger.verify(found)
    return found


def _reason(name):
    ledger = _books()
    ledger.grant("people", epsilon=6.0, reason=name)
    found = made({"y": Y, "x": X}, Design("y", PLAIN), spend=ledger.account("people"))
    ledger.verify(found)
    return found


def _output(name):
    found = made({"y": Y, "x": X}, Design("y", PLAIN))
    inside = Path("inside", name.replace("..", "up").replace("/", "_") + ".json")
    found.save(inside)
    assert Release.load(inside) == found
    return found


def _scratch(name):
    """Rows of persons wait below this folder, in a database."""
    folder = Path("inside", name.replace("/", "_"))
    try:
        folder.mkdir()
    except (OSError, ValueError):
        raise DiscreetError("the system has no such name") from None
    before = os.environ.get("TMPDIR")
    os.environ["TMPDIR"] = str(folder.absolute())
    try:
        design = Design("y", PLAIN, unit=PrivacyUnit(id="who", max_rows=1))
        found = made({"y": Y, "x": X, "who": WHO}, design)
    finally:
        os.environ.pop("TMPDIR") if before is None else os.environ.update(TMPDIR=before)
    assert list(folder.iterdir()) == []
    return found


def _setting(name):
    return made({"y": Y, "x": X}, Design("y", PLAIN), mechanism="dpme", settings={name: 3})


def _mechanism(name):
    return made({"y": Y, "x": X}, Design("y", PLAIN), mechanism=name)


PLACES = {
    "column": _column, "target": _target, "level": _level, "cell": _cell, "id column": _id_column, "id": _id_cell,
    "DuckDB table": _duckdb_table, "DuckDB column": _duckdb_column, "CSV column": _csv_column, "CSV name": _csv_name,
    "Parquet name": _parquet_name, "ledger name": _ledger_name, "data set": _data_set, "request id": _request,
    "reason": _reason, "output": _output, "temporary folder": _scratch, "setting": _setting, "mechanism": _mechanism,
}  # fmt: skip
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def everything(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.fixture
def inside(tmp_path, monkeypatch):
    """Two folders deep, so that a name that leads upwards stays where it can be seen."""
    folder = tmp_path / "above" / "here"
    (folder / "inside").mkdir(parents=True)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    monkeypatch.chdir(folder)
    return folder


def check_text(text: str) -> None:
    assert not STEERING.search(text), repr(text)


# names that a page could take for something else, and places whose names are on a page
MARKUP = ("script", "attribute", "template", "right to left")
ON_PAGES = ("column", "target", "level", "id column", "data set")


def tried(place: str, case: str) -> Release | None:
    """The release, or none where the name is refused."""
    try:
        return PLACES[place](HOSTILE[case])
    except DiscreetError as error:
        refusal = str(error)
    except (UnicodeError, RuntimeError):
        # DuckDB and Arrow have no such text, so that no table with it can be given
        if case != "surrogate" or place not in ("DuckDB table", "DuckDB column", "CSV column"):
            raise
        return None
    assert "\n" not in refusal, (case, refusal)
    check_text(refusal)
    return None


@pytest.mark.no_cover
@pytest.mark.parametrize("place", PLACES)
def test_a_hostile_name_is_a_name_or_is_refused(place, inside, tmp_path):
    taken = 0
    for number, case in enumerate(HOSTILE):
        folder = inside / f"try-{number}"
        (folder / "inside").mkdir(parents=True)
        os.chdir(folder)
        found = tried(place, case)
        if found is None:
            continue
        taken += 1
        assert Release.from_json(found.to_json()) == found
        check_text(found.to_json())
        if case in MARKUP and place in ON_PAGES:
            page = discreet.report(found).html
            check_text(page.replace("\n", ""))
            reader = Reader().read(page)
            assert "script" not in reader.elements
            assert not [name for name, _ in reader.attributes if name.startswith("on")]
            assert "49" not in [piece.strip() for piece in reader.text]
    assert not [one for one in everything(tmp_path) if "owned" in Path(one).name and "inside" not in one]
    assert taken or place in ("request id", "setting", "mechanism")


def test_what_happens_outside_is_seen(inside, tmp_path):
    """The check of files can fail."""
    os.chdir(inside)
    Path("../owned").write_text("")
    assert [one for one in everything(tmp_path) if "owned" in Path(one).name and "inside" not in one]
    with pytest.raises(AssertionError):
        check_text("\x1b[31m")


COMMANDS = {
    "column": lambda name: ("release", "d.csv", "--design", _design_file(name), "-o", "r.json"),
    "file": lambda name: ("release", f"{name}.csv", "--design", _design_file("x"), "-o", "r.json"),
    "design": lambda name: ("release", "d.csv", "--design", name, "-o", "r.json"),
    "output": lambda name: ("release", "d.csv", "--design", _design_file("x"), "-o", f"no-folder/{name}"),
    "mechanism": lambda name: (
        "release", "d.csv", "--design", _design_file("x"), "-o", "r.json", f"--mechanism={name}",
    ),
    "setting": lambda name: ("release", "d.csv", "--design", _design_file("x"), "-o", "r.json", f"--setting={name}=1"),
    "epsilon": lambda name: ("plan", _design_file("x"), f"--epsilon={name}"),
    "command": lambda name: (name,),
    "release": lambda name: ("fit", f"./{name}"),
    "ledger": lambda name: ("ledger", "status", f"./{name}"),
    "data set": lambda name: ("ledger", "init", "books.db", "--", name),
    "audit": lambda name: ("audit", "--", name),
}  # fmt: skip


def _design_file(name: str) -> str:
    try:
        text = Design("y", {"y": (0, 5), name: (0, 7)}).to_toml()
    except DiscreetError:
        # no design can be declared with it, so that the file holds what a user would write
        text = f'target = "y"\n[columns.y]\nbounds = [0, 5]\n[columns."{name}"]\nbounds = [0, 7]\n'
    Path("design.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    return "design.toml"


@pytest.mark.no_cover
@pytest.mark.parametrize("place", COMMANDS)
def test_the_command_line_prints_nothing_that_a_terminal_obeys(place, inside, tmp_path):
    Path("d.csv").write_text("y,x\n" + "\n".join(f"{y},{x}" for y, x in zip(Y, X, strict=True)))
    for case, name in HOSTILE.items():
        if case == "NUL" and place != "column":
            # no process can be given such a word
            continue
        words = COMMANDS[place](name)
        budget = () if words[0] != "release" else ("--epsilon", "1", "--delta", "1e-6", "--force")
        done = CliRunner().invoke(program, [*words, *budget])
        assert done.exit_code in (0, 2, 3, 4), (case, done.output, done.exception)
        assert "Traceback" not in done.output
        check_text(done.stdout.replace("\n", ""))
        assert len(done.stderr.splitlines()) <= 1 + done.stderr.count("notice: "), (case, done.stderr)
        check_text(done.stderr.replace("\n", ""))
    assert not [one for one in everything(tmp_path) if "owned" in Path(one).name]


def test_the_page_counts_what_is_tried():
    page = (Path(__file__).parents[2] / "docs" / "guarantee" / "tested.md").read_text()
    for words, count in (
        ("hostile names", len(HOSTILE)),
        ("places in the Python interface", len(PLACES)),
        ("places in the command line", len(COMMANDS)),
    ):
        assert f"| {words} | {count} |" in page, words
