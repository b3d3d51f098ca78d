"""Show the progress of a job, and cancel it unless it is too late."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from starlette.responses import HTMLResponse, Response

from discreet_studio.forms import Form
from discreet_studio.jobs import Job
from discreet_studio.rendering import environment, render, see_other
from discreet_studio.studio_folder import FieldError
from discreet_studio.workspace import Workspace

NAMES: Final = {
    "check": "Counting rows, for your eyes only", "preview": "Making a preview from simulated rows",
    "release": "Making the release", "plan": "Computing the plan",
}  # fmt: skip


def show(space: Workspace, query: Form) -> Response:
    """Show the page of a job, or redirect to its result if it has finished."""
    job = _job(space, query)
    if job.state == "done" and query.get("stay") != "yes":
        return see_other(job.goes_to)
    return render(space, job.kind, "work", 200, **_facts(space, job))


def part(space: Workspace, query: Form) -> Response:
    """Return the progress of a job as a part of a page."""
    job = _job(space, query)
    text = environment().get_template("progress.html.j2").render(**_facts(space, job), csrf=space.keys.csrf)
    return HTMLResponse(text, headers={"HX-Redirect": job.goes_to} if job.state == "done" else None)


def cancel(space: Workspace, form: Form) -> Response:
    """Cancel a job unless it is too late."""
    job = _job(space, Form([("/key", form.get("key"))]))
    late = job.token is None or not job.token.cancel()
    space.jobs.wait(job, 1.0)
    return see_other(f"/job/{job.key}?stay=yes" + ("&late=yes" if late else ""))


def _job(space: Workspace, query: Form) -> Job:
    job = space.jobs.find(query.get("/key"))
    if job is None:
        raise FieldError("", "this job has ended and was removed; the ledger page lists every release that was started")
    return job


def _facts(space: Workspace, job: Job) -> dict[str, object]:
    seconds = int(time.monotonic() - job.began)
    return {"job": job, "title": NAMES.get(job.kind, job.kind), "seconds": seconds}


SHOWN: Final[dict[str, Callable[[Workspace, Form], Response]]] = {"/job/{key}": show, "/job/{key}/part": part}
CHANGED: Final[dict[str, Callable[[Workspace, Form], Response]]] = {"/job/cancel": cancel}
