"""Show the whole report as it will look, made from simulated rows and marked SIMULATED."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from starlette.responses import Response

import discreet
from discreet import datasets
from discreet_studio.advice import here
from discreet_studio.forms import Form
from discreet_studio.jobs import Job
from discreet_studio.rendering import render, see_other
from discreet_studio.views.release_settings import kept_settings
from discreet_studio.workspace import Workspace, quiet

MOST_ROWS: Final = 200_000


def show(space: Workspace, query: Form) -> Response:
    """Show the latest preview, and a button that makes another one."""
    return _page(space)


def make(space: Workspace, form: Form) -> Response:
    """Simulate rows within the declared bounds, release them, and make the report."""
    try:
        design = space.design()
        asked = kept_settings(space)
    except discreet.DiscreetError as error:
        return _page(space, 422, refusal=here(error))

    token = discreet.CancelToken()

    def work(job: Job) -> None:
        def begin(stage: str, share: float) -> None:
            token.check()
            job.stage, job.share = stage, share

        with quiet():
            begin("simulating rows", 0.0)
            rows = datasets.simulated_rows(design, int(min(asked.rows, MOST_ROWS)), **asked.simulated)
            begin("adding noise", 0.3)
            release = discreet.release(rows, design, epsilon=asked.epsilon, delta=asked.delta, **asked.released)
            begin("writing the report", 0.6)
            with space.drawing:
                html = discreet.report(release, simulated=True).html
            begin("done", 1.0)
            space.preview = html

    job = space.jobs.start("preview", "/preview", work, request=form.get("request"), token=token)
    if job is None:
        return _page(space, 409, refusal="Another job is running. Wait until it has finished.")
    space.jobs.wait(job, 0.15)
    return see_other(f"/job/{job.key}")


def _page(space: Workspace, status: int = 200, refusal: str = "") -> Response:
    if not refusal:
        try:
            space.design()
        except discreet.DiscreetError as error:
            refusal = here(error)
    return render(space, "preview", "preview", status, ready=bool(space.preview), refusal=refusal)


SHOWN: Final[dict[str, Callable[[Workspace, Form], Response]]] = {"/preview": show}
CHANGED: Final[dict[str, Callable[[Workspace, Form], Response]]] = {"/preview": make}
