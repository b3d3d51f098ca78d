"""Edit the declarations of each column, show problems next to their fields, and load and save design files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from starlette.responses import HTMLResponse, Response

import discreet
from discreet_studio.advice import here
from discreet_studio.draft import KINDS, MISSING, ColumnDraft, Draft, check_column_count, reasons_in, typed
from discreet_studio.forms import Form
from discreet_studio.rendering import environment, render, see_other
from discreet_studio.studio_folder import FieldError
from discreet_studio.workspace import Workspace

FILE: Final = "design.toml"
_OLD_PAGE: Final = (
    "The design was changed in another tab after this page was loaded. What you typed is still here. Compare, then "
    "save again to keep the version of this page."
)


def show(space: Workspace, query: Form) -> Response:
    """Show the form. Problems are shown only after the first save."""
    if not space.state.draft:
        return see_other("/table")
    check_column_count(len(space.draft.columns), "columns")
    checked = query.get("checked") == "yes"
    return _page(space, space.draft, space.draft.problems() if checked else {}, saved=checked)


def save(space: Workspace, form: Form) -> Response:
    """Save the fields, valid or not, then show the problems or continue."""
    draft, action = _kept(space, typed(form)), form.get("action")
    check_column_count(len(draft.columns) + (action == "add"), "columns")
    if form.get("version") != str(space.state.version):
        return _page(space, draft, draft.problems(), 409, message=_OLD_PAGE)
    if action == "add":
        names = {column.name for column in draft.columns}
        name = next(f"derived{number}" for number in range(1, len(names) + 2) if f"derived{number}" not in names)
        draft.columns.append(ColumnDraft(name, kind="formula"))
        # not saved yet, because a blank formula would make a complete design incomplete
        return _page(space, draft, {}, added=len(draft.columns) - 1)
    gone = form.get("remove")
    if gone in [str(index) for index, column in enumerate(draft.columns) if column.derived]:
        removed = draft.columns.pop(int(gone))
        return _page(space, draft, {}, message=f"The column {removed.name} was removed. Save to keep this change.")
    try:
        space.store.change(draft=draft.to_dict())
    except FieldError as error:
        return _page(space, draft, draft.problems(), 507, message=here(error))
    space.check_result = None
    problems = draft.problems()
    if problems:
        return _page(space, draft, problems, 422)
    if action == "file":
        name = form.get("file") or FILE
        try:
            path = space.folder.new_file(name, "file", ".toml")
            _write(path, draft.toml())
        except FieldError as error:
            return _page(space, draft, {"file": here(error)}, 422, file=name)
        return _page(space, draft, {}, saved=True, message=f"The file {name} was written to the folder.")
    return see_other("/plan" if action == "next" else "/design?checked=yes")


def load(space: Workspace, form: Form) -> Response:
    """Fill in every field from a design file in the folder."""
    name = form.get("design")
    try:
        path = space.folder.file(name, "design")
        design = discreet.Design.load(path)
        check_column_count(len(design.columns), "design")
        text = path.read_text(encoding="utf-8")
    except FieldError as error:
        return _page(space, space.draft, {"design": here(error)}, 422)
    except discreet.DiscreetError as error:
        return _page(space, space.draft, {"design": space.hidden(error)}, 422)
    space.check_result = None
    space.store.change(draft=Draft.of(design, reasons_in(text)).to_dict())
    return see_other("/design?checked=yes")


def check_formula(space: Workspace, form: Form) -> Response:
    """Return the problems of one formula while it is typed. Nothing is saved."""
    draft, place = typed(form), form.get("at")
    index = int(place) if place.isascii() and place.isdigit() and len(place) < 5 else -1
    if not 0 <= index < len(draft.columns):
        raise FieldError("at", "this column does not exist; reload the page")
    problems = draft.problems()
    messages = [problems[key] for key in (f"c{index}-formula", f"c{index}-low", f"c{index}-name") if key in problems]
    text = environment().get_template("formula.html.j2").render(said=messages, formula=draft.columns[index].formula)
    return HTMLResponse(text)


def _kept(space: Workspace, draft: Draft) -> Draft:
    """Restore the keys of a design file that have no field in the form."""
    before = {column.name: column for column in space.draft.columns}
    draft.columns = [
        replace(column, kept=before[column.name].kept, released=before[column.name].released)
        if column.name in before
        else column
        for column in draft.columns
    ]
    return draft


def _write(path: object, text: str) -> None:
    from pathlib import Path

    try:
        with Path(str(path)).open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        Path(str(path)).unlink(missing_ok=True)
        raise FieldError("file", f"the design file could not be written: {error.strerror}") from None


def _page(space: Workspace, draft: Draft, problems: dict[str, str], status: int = 200, **values: object) -> Response:
    shown: dict[str, object] = {
        "draft": draft,
        "kinds": KINDS,
        "rules": MISSING,
        "designs": space.folder.listed(".toml"),
        "errors": problems,
        "message": "",
        "saved": False,
        "added": None,
        "file": FILE,
    }
    return render(space, "design", "design", status, **(shown | values))


SHOWN: Final[dict[str, Callable[[Workspace, Form], Response]]] = {"/design": show}
CHANGED: Final[dict[str, Callable[[Workspace, Form], Response]]] = {
    "/design": save, "/design/load": load, "/design/formula": check_formula,
}  # fmt: skip
