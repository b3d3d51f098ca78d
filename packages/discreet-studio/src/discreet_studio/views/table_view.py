"""Choose a file, its format and the privacy unit. Only names and types of columns are read, never a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final
from urllib.parse import quote

from starlette.responses import Response

import discreet
from discreet import datasets
from discreet_studio.draft import Draft, check_column_count
from discreet_studio.forms import Form
from discreet_studio.rendering import render, see_other
from discreet_studio.studio_folder import DATABASES, TABLES, TEXT, FieldError
from discreet_studio.workspace import Workspace

READING: Final = ("encoding", "delimiter", "decimal", "thousands")
SAMPLES: Final = ("census2000", "simulated-census")
_SAMPLE_FILE: Final = "census-sample.parquet"
#: rounded means, standard deviations and R² of the public samples, used as assumptions in their plans
SUPPOSED: Final = {
    "census2000": {
        "rsquared": "0.1", "mean:lweekinc": "6.6", "sd:lweekinc": "0.7", "mean:educ": "13.3", "sd:educ": "1.8",
        "mean:exper": "24", "sd:exper": "10", "mean:exper25sq": "110", "sd:exper25sq": "115",
    },
    "simulated-census": {
        "rsquared": "0.3", "mean:lweekinc": "6.4", "sd:lweekinc": "0.6", "mean:educ": "13.4", "sd:educ": "2.6",
        "mean:exper": "22", "sd:exper": "13", "mean:exper25sq": "180", "sd:exper25sq": "170",
    },
}  # fmt: skip


def show(space: Workspace, query: Form) -> Response:
    """Show the list of files, the columns of the chosen file, and the tables of a chosen database."""
    name = query.get("database")
    if not name:
        return _page(space, reset=query.get("reset") == "yes")
    try:
        tables = discreet.database_tables(space.folder.file(name))
    except discreet.DiscreetError as error:
        return _page(space, 400, errors={"file": space.hidden(error)}, file=name)
    errors = {} if tables else {"file": f"the database {name} contains no table; choose another file"}
    return _page(space, tables=tables, file=name, errors=errors)


def read(space: Workspace, form: Form) -> Response:
    """Read the column names of the chosen file, and the types if the file states them."""
    typed = {name: form.get(name) for name in READING} | {"quoted_line_breaks": "quoted_line_breaks" in form}
    name, inside = form.get("file"), form.get("database_table")
    try:
        if not name.lower().endswith((*TABLES, *DATABASES)):
            space.folder.file(name)
            raise FieldError("file", "choose a file that ends in one of: " + ", ".join((*TABLES, *DATABASES)))
        source = space.source(name, inside)
        if name.lower().endswith(DATABASES) and not inside:
            return see_other(f"/table?database={quote(name)}")
        blank = discreet.blank_design(source, reading=discreet.ReadOptions(**reading_of(typed)))
        check_column_count(len(blank.listed) + len(blank.left_out), "file")
    except discreet.DiscreetError as error:
        return _page(space, 400, errors={"file": space.hidden(error)}, typed=typed, file=name)
    reading = blank.reading.given()
    columns = [[column, kind or ""] for column, kind in zip(blank.listed, blank.kinds, strict=True)]
    columns += [[column, "left out: " + why] for column, why in blank.left_out]
    another = (name, inside) != (space.state.table, space.state.database_table)
    fresh = another or [column[:1] for column in columns] != [column[:1] for column in space.state.columns]
    changes: dict[str, object] = {"table": name, "database_table": inside, "reading": reading, "columns": columns}
    if fresh:
        changes["draft"] = Draft.blank(_usable(columns)).to_dict()
        space.check_result = None
    # a plan for one table does not apply to another
    reset = another and bool(space.state.plan)
    space.store.change(**changes, **({"plan": {}} if reset else {}))
    return see_other("/table?reset=yes" if reset else "/table")


def choose_unit(space: Workspace, form: Form) -> Response:
    """Choose the privacy unit: one row, or all rows with the same id."""
    if not space.state.table:
        return see_other("/table")
    person = form.get("person") if form.get("unit") == "person" else ""
    rows = form.get("max_rows") or "1"
    if form.get("unit") == "person":
        unit = {"several": True, "person": person, "max_rows": rows}
        if person not in dict(_usable(space.state.columns)):
            return _page(space, 400, errors={"person": "choose the column that identifies a person"}, unit=unit)
        if not (rows.isascii() and rows.isdigit() and 1 <= int(rows[:9]) <= 10**6):
            return _page(space, 400, errors={"max_rows": "write a whole number of at least 1, such as 3"}, unit=unit)
    draft = space.draft
    named = {column.name for column in draft.columns}
    back = [column for column in Draft.blank(_usable(space.state.columns)).columns if column.name not in named]
    draft.columns = [column for column in [*draft.columns, *back] if column.name != person]
    draft.person, draft.max_rows = person, rows
    space.store.change(draft=draft.to_dict())
    return see_other("/design")


def sample(space: Workspace, form: Form) -> Response:
    """Copy the bundled census sample into the folder, with its design and the reasons for its bounds."""
    import pyarrow.parquet as pq

    dataset = _sample()
    try:
        path = space.folder.new_file(_SAMPLE_FILE, "sample", ".parquet")
        pq.write_table(dataset.table, path)
    except FieldError:
        # the file exists from an earlier visit
        path = space.folder.file(_SAMPLE_FILE, "sample")
    except OSError as error:
        path.unlink(missing_ok=True)
        raise FieldError("sample", f"the sample could not be written to the folder: {error.strerror}") from None
    blank = discreet.blank_design(path)
    columns = [[column, kind or ""] for column, kind in zip(blank.listed, blank.kinds, strict=True)]
    draft = Draft.of(dataset.design, dataset.reasons)
    space.check_result = None
    # the row count of a published sample is public
    rows = f"{float(f'{dataset.table.num_rows:.1e}'):.0f}"
    plan = {"rows": rows, "epsilon": "1", "delta": "1e-6"} | SUPPOSED[dataset.name]
    space.store.change(
        table=_SAMPLE_FILE, database_table="", reading={}, columns=columns, draft=draft.to_dict(), plan=plan
    )
    return see_other("/table")


def _sample() -> datasets.Dataset:
    try:
        return datasets.load(SAMPLES[0])
    except discreet.DiscreetError:
        # the published sample needs the extra `datasets`
        return datasets.load(SAMPLES[1])


def reading_of(typed: dict[str, Any]) -> dict[str, Any]:
    r"""Return the reading options that are not blank.

    >>> reading_of({"delimiter": "tab", "decimal": ""})
    {'delimiter': '\t'}
    """
    options = {name: value for name, value in typed.items() if value}
    if options.get("delimiter", "").lower() in ("tab", "\\t"):
        options["delimiter"] = "\t"
    return options


def _offered(space: Workspace) -> list[str]:
    """Return the files that may be tables, without the coefficient tables that were written with a release."""
    written = {f"{name.removesuffix('.release.json')}.csv" for name in space.folder.listed(".release.json")}
    return [name for name in space.folder.listed(*TABLES, *DATABASES) if name not in written]


def _announced(name: str) -> str:
    """Return the note that is shown with a file before it is opened.

    >>> _announced("people.csv"), _announced("people.parquet")
    (' (text: its first line will be shown as column names)', '')
    """
    if name.lower().endswith(DATABASES):
        return " (a database: choose its table next)"
    return " (text: its first line will be shown as column names)" if name.lower().endswith(TEXT) else ""


def _usable(columns: list[list[str]]) -> list[tuple[str, str | None]]:
    return [(name, kind or None) for name, kind in columns if not kind.startswith("left out: ")]


def _page(space: Workspace, status: int = 200, **values: object) -> Response:
    state, draft = space.state, space.draft
    kept = {name: str(state.reading.get(name, "")) for name in READING}
    kept["delimiter"] = "tab" if kept["delimiter"] == "\t" else kept["delimiter"]
    shown = {
        "files": [(name, _announced(name)) for name in _offered(space)],
        "tables": (),
        "reset": False,
        "typed": kept | {"quoted_line_breaks": state.reading.get("quoted_line_breaks", False)},
        "file": state.table,
        "unit": {"several": bool(draft.person), "person": draft.person, "max_rows": draft.max_rows},
        "usable": [name for name, _ in _usable(state.columns)],
        "stated": any(kind and not kind.startswith("left out") for _, kind in state.columns),
    }
    return render(space, "table", "table", status, **(shown | values))


SHOWN: Final[dict[str, Callable[[Workspace, Form], Response]]] = {"/table": show}
CHANGED: Final[dict[str, Callable[[Workspace, Form], Response]]] = {
    "/table/read": read, "/table/unit": choose_unit, "/table/sample": sample,
}  # fmt: skip
