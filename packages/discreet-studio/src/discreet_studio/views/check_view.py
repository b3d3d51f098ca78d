"""Show exact counts to the curator only. The check is off by default."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from starlette.responses import Response

import discreet
from discreet_studio.advice import here
from discreet_studio.forms import Form
from discreet_studio.jobs import Job
from discreet_studio.rendering import render, see_other
from discreet_studio.studio_folder import FieldError
from discreet_studio.workspace import Workspace, quiet

FIXES: Final = {
    "missing": "These cells are empty. Choose what happens to them under “Missing cells” on the design page.",
    "not_a_number": "These cells are not numbers. Check how the file is written: decimal commas, units, words.",
    "no_declared_level": "These cells are not among the declared levels. Check spelling, capitals and blanks.",
    "clipped_low": "These numbers are below the lower bound and are replaced by it. Fix units or typing errors.",
    "clipped_high": "These numbers are above the upper bound and are replaced by it. Fix units or typing errors.",
    "no_value": "The formula has no value in these rows, because a cell that it uses is missing.",
}


def show(space: Workspace, query: Form) -> Response:
    """Show the counts, or an explanation and the switch."""
    return render(
        space, "check", "check", on=space.check_on, found=space.check_result, fixes=FIXES,
        refusal=_refusal(space), message="",
    )  # fmt: skip


def switch(space: Workspace, form: Form) -> Response:
    """Turn the check on for this session, or turn it off and delete its counts."""
    space.check_on = form.get("on") == "yes"
    if not space.check_on:
        space.check_result = None
    return see_other("/check")


def count(space: Workspace, form: Form) -> Response:
    """Read the table once and count its rows and cells."""
    if not space.check_on:
        return see_other("/check")
    design, source = space.design(), space.source(space.state.table, space.state.database_table)
    token = discreet.CancelToken()
    reading = discreet.ReadOptions(**space.state.reading)

    def work(job: Job) -> None:
        options = discreet.ComputeOptions(progress=job.progress, cancel=token)
        try:
            with quiet():
                space.check_result = discreet.check(source, design, compute=options, reading=reading)
        except discreet.Cancelled:
            raise
        except discreet.DiscreetError as error:
            raise FieldError("", space.hidden(error)) from None

    job = space.jobs.start("check", "/check", work, request=form.get("request"), token=token)
    if job is None:
        return render(
            space, "check", "check", 409, on=True, found=space.check_result, fixes=FIXES, refusal="",
            message="Another job is running. Wait until it has finished.",
        )  # fmt: skip
    space.jobs.wait(job, 0.15)
    return see_other("/check" if job.state == "done" else f"/job/{job.key}")


def _refusal(space: Workspace) -> str:
    try:
        space.design()
    except discreet.DiscreetError as error:
        return here(error)
    return "" if space.state.table else "choose a table on the table page first"


SHOWN: Final[dict[str, Callable[[Workspace, Form], Response]]] = {"/check": show}
CHANGED: Final[dict[str, Callable[[Workspace, Form], Response]]] = {"/check/switch": switch, "/check/count": count}
