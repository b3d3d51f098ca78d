"""Make a release: show its cost and budget, ask for confirmation, and offer the files."""

from __future__ import annotations

import copy
import hashlib
import json
import re
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from starlette.responses import Response

import discreet
from discreet_studio.advice import here
from discreet_studio.draft import Draft
from discreet_studio.forms import Form
from discreet_studio.jobs import Job
from discreet_studio.rendering import render, see_other
from discreet_studio.repeating import Recipe
from discreet_studio.studio_folder import FieldError
from discreet_studio.views.expected_results import cost_of, known
from discreet_studio.views.ledger_view import FILE as LEDGER
from discreet_studio.views.ledger_view import ledgers, planned, room
from discreet_studio.views.ledger_view import page as ledger_page
from discreet_studio.views.release_settings import settings_of
from discreet_studio.workspace import Workspace, notices, quiet

END: Final = ".release.json"
_CHANGED: Final = (
    "The plan has changed since this page was loaded. This page now shows the current plan; look at it again before "
    "you confirm. No budget was spent."
)
#: files that are written next to a release
BESIDE: Final = (".html", ".md", ".tex", ".csv", ".py", ".ipynb", ".design.toml")


def show(space: Workspace, query: Form) -> Response:
    """Show everything that a curator should see before the budget is spent."""
    return page(space)


# form field for each option of `Ledger.declare`
_FIELDS: Final = {"dataset": "dataset", "ledger": "ledger_file", "delta": "budget_delta"}


def choose(space: Workspace, form: Form) -> Response:
    """Charge the chosen table to a data set of an existing ledger."""
    chosen = form.get("account")
    if chosen not in _accounts(space):
        return page(space, 422, errors={"account": "choose a data set from the list"})
    name, _, dataset = chosen.partition("/")
    space.store.change(accounts=space.state.charged_to(name, dataset))
    return see_other("/release")


def create(space: Workspace, form: Form) -> Response:
    """Declare a data set with its budget, in a new ledger if none has this name.

    On the release page, the chosen table is then charged to this data set. On the ledger page, no table is affected.
    """
    goes_to = "/release" if form.get("from") == "release" else "/ledger"
    try:
        name, dataset = form.get("ledger_file") or LEDGER, form.get("dataset")
        epsilon, delta = form.number("budget_epsilon", "Epsilon"), form.number("budget_delta", "Delta")
        exists = name in ledgers(space)
        path = space.folder.file(name, "ledger_file") if exists else space.folder.new_file(name, "ledger_file", ".db")
        unit = space.design().unit
        if not dataset:
            raise FieldError("dataset", "give the data set a name, such as survey-2026")  # noqa: TRY301
        with quiet():
            discreet.PrivacyBudget(epsilon, delta)
            discreet.privacy.check_strength(discreet.PrivacyBudget(epsilon, delta), allow_weak_privacy=False)
            ledger = discreet.Ledger(path) if exists else discreet.Ledger.create(path)
            ledger.declare(dataset, epsilon=epsilon, delta=delta, unit=unit)
    except FieldError as error:
        return _refused(space, form, goes_to, error.field, here(error))
    except discreet.DiscreetError as error:
        return _refused(space, form, goes_to, _FIELDS.get(error.option or "", "budget_epsilon"), here(error))
    if goes_to == "/release":
        space.store.change(accounts=space.state.charged_to(name, dataset))
    return see_other(goes_to)


def _refused(space: Workspace, form: Form, goes_to: str, field: str, message: str) -> Response:
    """Render the page of the form again, with the problem next to its field."""
    if goes_to == "/release":
        return page(space, 422, errors={field: message}, typed=form)
    return ledger_page(space, form.get("ledger_file"), 422, errors={field: message}, typed=form)


def confirm(space: Workspace, form: Form) -> Response:
    """Start the release, or return the job that an earlier click started."""
    earlier = space.jobs.asked(form.get("request"))
    if earlier is not None:
        return see_other(f"/job/{earlier.key}")
    if space.jobs.running is not None:
        return page(space, 409, message="Another job is running. Wait until it has finished. No budget was spent.")
    try:
        asked = _asked(space)
        if form.get("shown") != _digest(asked):
            return page(space, 409, message=_CHANGED)
        if form.get("sure") != "yes":
            raise FieldError("sure", "tick this box to confirm; a release cannot be undone")  # noqa: TRY301
        stem = (form.get("name") or _name(space)).removesuffix(END)
        space.folder.check_stem(stem, "name")
        for end in (END, *BESIDE):
            space.folder.new_file(f"{stem}{end}", "name", end)
        begun = asked | {
            "name": stem, "sign": form.get("sign"), "changed": form.get("changed"), "shared": form.get("shared"),
        }  # fmt: skip
        work = _work(space, begun)
        space.store.change(begun=begun)
    except FieldError as error:
        field = error.field if error.field in ("sure", "name", "sign") else "form"
        return page(space, 422, errors={field: here(error)}, typed=form)
    except discreet.DiscreetError as error:
        return page(space, 422, errors={"form": here(error)}, typed=form)
    return _begin(space, work, form.get("request"))


def _asked(space: Workspace) -> dict[str, Any]:
    """Return a snapshot of everything that determines the release and its cost."""
    with space.store.lock:
        state = copy.deepcopy(space.state)
    ledger, dataset = state.account
    return {
        "ledger": ledger, "dataset": dataset, "draft": state.draft, "plan": state.plan, "table": state.table,
        "database_table": state.database_table, "reading": state.reading,
    }  # fmt: skip


def _digest(asked: dict[str, Any]) -> str:
    """Return a digest of what a page showed. A confirmation is valid only for that."""
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def finish(space: Workspace, form: Form) -> Response:
    """Finish a confirmed release that has no file. If it was already paid for, the ledger returns it at no cost."""
    earlier = space.jobs.asked(form.get("request"))
    if earlier is not None:
        return see_other(f"/job/{earlier.key}")
    if not space.state.begun:
        return see_other("/release")
    return _begin(space, _work(space, space.state.begun), form.get("request"))


def forget(space: Workspace, form: Form) -> Response:
    """Abandon a release that has no file. The records of the ledger do not change."""
    space.store.change(begun={})
    return see_other("/release")


def done(space: Workspace, query: Form) -> Response:
    """Show the verified release and its files."""
    name = query.get("name")
    if f"{name}{END}" not in space.state.made:
        raise FieldError("name", "the studio has made no release with this name; look for its file on the analyse page")
    path = space.folder.file(f"{name}{END}")
    release = discreet.Release.load(path)
    verified = discreet.verify(release)
    files = [f"{name}{end}" for end in (BESIDE[0], END, *BESIDE[1:]) if (space.folder.root / f"{name}{end}").is_file()]
    return render(space, "release", "done", name=name, release=release, verified=verified, files=files)


def _begin(space: Workspace, work: Callable[[Job], None], request: str) -> Response:
    token = discreet.CancelToken()
    goes_to = f"/release/done?name={space.state.begun['name']}"
    job = space.jobs.start("release", goes_to, work, request=request or secrets.token_hex(8), token=token)
    if job is None:
        return page(space, 409, message="Another job is running. Wait until it has finished. No budget was spent.")
    space.jobs.wait(job, 0.15)
    return see_other(f"/job/{job.key}")


def _work(space: Workspace, begun: dict[str, Any]) -> Callable[[Job], None]:
    """Return the confirmed release as a job, after every check that does not need the table."""
    draft = Draft.from_dict(begun["draft"])
    design, asked = draft.design(), settings_of(Form(list(begun["plan"].items())))
    folder, stem = space.folder, begun["name"]
    table, database_table = begun["table"], begun.get("database_table", "")
    source, reading = space.source(table, database_table), discreet.ReadOptions(**begun["reading"])
    key = folder.file(begun["sign"], "sign") if begun["sign"] else None
    ledger = discreet.Ledger(folder.file(begun["ledger"], "ledger"))
    account = ledger.account(
        begun["dataset"],
        accept_changed_data=begun["changed"] == "yes",
        refuse_shared_table=begun.get("shared") != "yes",
    )
    options: dict[str, Any] = {"epsilon": asked.epsilon, "delta": asked.delta, **asked.released}

    def work(job: Job) -> None:
        compute = discreet.ComputeOptions(progress=job.progress, cancel=job.token)
        job.stage = "reading the table"
        try:
            with quiet():
                release = discreet.release(
                    source, design, compute=compute, spend=account, sign=key, reading=reading, **options
                )
        except discreet.Cancelled:
            space.store.change(begun={})
            raise
        except discreet.DiscreetError as error:
            # rejected before any budget was spent, or stopped by noisy counts: there is nothing to finish
            if error.exit_code in (2, 3) or error.code in ("stopped-by-guard", "bounds-not-found"):
                space.store.change(begun={})
            raise FieldError("", space.hidden(error)) from None
        job.share, job.stage = None, "writing files"
        try:
            release.save(folder.root / f"{stem}{END}", force=True)
            recipe = Recipe(
                table, f"{stem}.design.toml", f"{stem}{END}", f"{stem}.html", begun["ledger"], begun["dataset"],
                options, database_table, reading.given(),
            )  # fmt: skip
            _write_beside(space, folder.root / stem, release, draft.toml(), recipe)
        except discreet.DiscreetError as error:
            raise FieldError(
                "", f"{error}. The release is recorded in the ledger: finish it on the release page"
            ) from None
        made_here = [f"{stem}{END}", *(name for name in space.state.made if name != f"{stem}{END}")]
        space.store.change(begun={}, made=made_here[:50])

    return work


def _write_beside(space: Workspace, stem: Path, release: discreet.Release, toml: str, recipe: Recipe) -> None:
    """Write the report, coefficient tables and files that repeat everything. Existing files are not replaced."""
    fit = discreet.fit(release)
    with space.drawing, quiet():
        page_text = discreet.report(release, fit, file=f"{stem.name}{END}").html
    table = fit.table()
    texts = {
        ".html": page_text, ".md": table.to_markdown(), ".tex": table.to_latex(), ".csv": table.to_csv(),
        ".py": recipe.script(), ".ipynb": recipe.notebook(), ".design.toml": toml,
    }  # fmt: skip
    for end, text in texts.items():
        path = Path(f"{stem}{end}")
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            # left by an interrupted run: no such file existed when this release was confirmed
            continue
        except OSError as error:
            path.unlink(missing_ok=True)
            raise FieldError("", f"the file {path.name} could not be written: {error.strerror}") from None


def _name(space: Workspace) -> str:
    target = re.sub(r"[^A-Za-z0-9]+", "-", space.draft.target).strip("-") or "release"
    taken = set(space.folder.listed(END, *BESIDE))
    names = (target if number == 1 else f"{target}-{number}" for number in range(1, 1000))
    return next(name for name in names if not any(f"{name}{end}" in taken for end in (END, *BESIDE)))


def page(space: Workspace, status: int = 200, **values: object) -> Response:
    """Render the page with the ledger, the cost and the output files."""
    # taken first, so that a confirmation is not valid if a field changes while the page is rendered
    asked_for = _asked(space)
    facts: dict[str, Any] = {
        "refusal": "", "message": "", "design": None, "asked": None, "cost": None, "spent": None, "after": None,
        "notices": (), "ledgers": ledgers(space), "accounts": [], "keys": space.folder.listed(".pem"), "name": "",
        "request": secrets.token_hex(16), "no_reason": [], "typed": Form([]), "ledger_file": LEDGER, "errors": {},
        "room": room,
        "ledger": asked_for["ledger"], "dataset": asked_for["dataset"], "shown": _digest(asked_for),
    }  # fmt: skip
    try:
        design, asked = known(space)
        cost = cost_of(space, design, asked)
        facts |= {"design": design, "asked": asked, "cost": cost, "name": _name(space)}
        facts["notices"] = notices(asked.epsilon, asked.delta)
        facts["no_reason"] = [
            column.name
            for column in space.draft.columns
            if column.included and not column.derived and not column.reason
        ]
        facts["accounts"] = _accounts(space)
        if facts["ledger"] in facts["ledgers"]:
            ledger = discreet.Ledger(space.folder.file(facts["ledger"]))
            facts["spent"] = ledger.status(facts["dataset"])
            facts["after"] = planned(space, ledger, facts["dataset"])
    except discreet.DiscreetError as error:
        facts["refusal"] = here(error)
    return render(space, "release", "release", status, **(facts | values))


def _accounts(space: Workspace) -> list[str]:
    """Return all data sets of all ledgers in the folder."""
    accounts = []
    for name in ledgers(space):
        try:
            accounts += [f"{name}/{status.dataset}" for status in discreet.Ledger(space.folder.file(name)).statuses()]
        except discreet.DiscreetError:
            # the database is not a ledger
            continue
    return accounts


SHOWN: Final[dict[str, Callable[[Workspace, Form], Response]]] = {"/release": show, "/release/done": done}
CHANGED: Final[dict[str, Callable[[Workspace, Form], Response]]] = {
    "/ledger/create": create, "/release/choose": choose, "/release/confirm": confirm,
    "/release/finish": finish, "/release/forget": forget,
}  # fmt: skip
