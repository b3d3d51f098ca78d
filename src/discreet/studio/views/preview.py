"""The whole page as it will look, from rows that a computer drew: marked SIMULATED, and nobody's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from starlette.responses import Response

import discreet
from discreet.studio.forms import Form
from discreet.studio.jobs import Job
from discreet.studio.rendering import render, see_other
from discreet.studio.views.plan import settings_of
from discreet.studio.workspace import Workspace, quiet

MOST_ROWS: Final = 200_000


def show(space: Workspace, query: Form) -> Response:
    """The preview that was made last, and a button that makes another."""
    return _page(space)


def make(space: Workspace, form: Form) -> Response:
    """Draw rows within the declared bounds, release them, and make the page."""
    try:
        design = space.design()
        asked = settings_of(space, Form(list(space.state.plan.items())))
    except discreet.DiscreetError as error:
        return _page(space, 422, refusal=str(error))

    def work(job: Job) -> None:
        with quiet():
            job.stage = "drawing rows"
            rows = discreet.datasets.simulated_rows(design, int(min(asked.rows, MOST_ROWS)), **asked.simulated)
            job.stage = "adding noise"
            made = discreet.release(rows, design, epsilon=asked.epsilon, delta=asked.delta, **asked.released)
            job.stage = "writing the page"
            with space.drawing:
                space.preview = discreet.report(made, simulated=True).html

    job = space.jobs.start("preview", "/preview", work, request=form.get("request"))
    if job is None:
        return _page(space, 409, refusal="Other work is running; wait until it has ended.")
    space.jobs.wait(job, 0.15)
    return see_other(f"/job/{job.key}")


def _page(space: Workspace, status: int = 200, refusal: str = "") -> Response:
    if not refusal:
        try:
            space.design()
        except discreet.DiscreetError as error:
            refusal = str(error)
    return render(space, "preview", "preview", status, ready=bool(space.preview), refusal=refusal)


SHOWN: Final[dict[str, Callable[[Workspace, Form], Response]]] = {"/preview": show}
CHANGED: Final[dict[str, Callable[[Workspace, Form], Response]]] = {"/preview": make}
