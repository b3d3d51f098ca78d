"""Compute parts of the plan when a user opens them or, with many columns, as jobs that can be cancelled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from starlette.responses import HTMLResponse, Response

import discreet
from discreet_studio.advice import here
from discreet_studio.forms import Form
from discreet_studio.jobs import Job
from discreet_studio.rendering import part, see_other
from discreet_studio.studio_folder import FieldError
from discreet_studio.views.expected_results import PIECES, Run, cost_of, drawn_plan, known, piece, waits
from discreet_studio.views.release_settings import width_of
from discreet_studio.workspace import Workspace

#: description of each computation while it runs
STAGES: Final = {
    "plan": "computing expected widths", "savings": "computing what bounds cost", "widths": "planning at other budgets",
    "mechanisms": "planning with every mechanism", "smallest": "looking for the smallest epsilon and number of rows",
}  # fmt: skip
_SHOWN: Final = 6


def compute(space: Workspace, form: Form) -> Response:
    """Start a job that computes one of the results. With many columns this takes a while."""
    what = form.get("what") or "plan"
    if what not in PIECES:
        raise FieldError("", "this part of a plan does not exist; go back to the plan page")
    design, asked = known(space)
    token = discreet.CancelToken()

    def work(job: Job) -> None:
        job.stage = STAGES[what]
        piece(space, what, design, asked, Run(token, job.progress))

    job = space.jobs.start("plan", f"/plan?open={what}", work, request=form.get("request"), token=token)
    if job is None:
        raise FieldError("", "another job is running; wait until it has finished")
    space.jobs.wait(job, 0.3)
    return see_other(f"/job/{job.key}")


def picture(space: Workspace, query: Form) -> Response:
    """Return the plot of many intervals, which a page loads after it is shown."""
    try:
        return part("picture", drawn=drawn_plan(space, *known(space)))
    except discreet.DiscreetError as error:
        return part("part_refused", message=here(error))


def widths(space: Workspace, query: Form) -> Response:
    """Plot interval widths against epsilon."""
    design, asked = known(space)
    if waits(space, "widths", design, asked):
        return _asks(space, "widths")
    try:
        plan, over = piece(space, "plan", design, asked), piece(space, "widths", design, asked)
        drawn = space.remembered(
            "drawn widths", design.to_dict(), asked.planned,
            make=lambda: space.picture(
                lambda: plan.plot(over=over), "Expected width of each interval against epsilon"
            ),
        )  # fmt: skip
    except discreet.DiscreetError as error:
        return part("part_refused", message=here(error))
    return part("picture", drawn=drawn)


def curve(space: Workspace, query: Form) -> Response:
    """Plot the power of an attacker's test against its false-alarm rate."""
    cost = cost_of(space, *known(space))
    guarantee = cost.guarantee
    drawn = space.remembered(
        "curve", guarantee.epsilon, guarantee.delta, guarantee.mu, guarantee.rho,
        make=lambda: space.picture(cost.plot, "What an attacker could learn"),
    )  # fmt: skip
    return part("picture", drawn=drawn)


def mechanisms(space: Workspace, query: Form) -> Response:
    """Compare the expected widths of all mechanisms."""
    design, asked = known(space)
    if waits(space, "mechanisms", design, asked):
        return _asks(space, "mechanisms")
    plans = piece(space, "mechanisms", design, asked)
    names = [coefficient.name for coefficient in piece(space, "plan", design, asked).coefficients]
    rows: list[tuple[str, list[float | None] | None, str]] = []
    for name, plan in plans.items():
        if isinstance(plan, str):
            rows.append((name, None, plan))
        else:
            reasons = (coefficient.reason for coefficient in plan.coefficients)
            widths = [coefficient.width for coefficient in plan.coefficients]
            rows.append((name, widths, next(filter(None, reasons), "")))
    return part("plan_mechanisms", names=names[:_SHOWN], rows=rows)


def smallest(space: Workspace, query: Form) -> Response:
    """Show the smallest epsilon and the smallest number of rows for a required width."""
    design, asked = known(space)
    try:
        coefficient, width = width_of(Form(list(space.state.plan.items())))
        if waits(space, "smallest", design, asked):
            return _asks(space, "smallest")
        epsilon, rows = piece(space, "smallest", design, asked)
    except discreet.DiscreetError as error:
        return part("part_refused", message=here(error))
    return part(
        "plan_smallest", epsilon=epsilon, rows=rows, coefficient=coefficient, width=width, asked=asked,
        csrf=space.keys.csrf,
    )  # fmt: skip


def use_epsilon(space: Workspace, form: Form) -> Response:
    """Put the smallest sufficient epsilon into the plan."""
    value = form.number("epsilon", "Epsilon")
    space.store.change(plan=space.state.plan | {"epsilon": f"{value:.4g}"})
    return see_other("/plan")


def _asks(space: Workspace, what: str) -> HTMLResponse:
    return part("plan_asks", what=what, csrf=space.keys.csrf)


SHOWN: Final[dict[str, Callable[[Workspace, Form], Response]]] = {
    "/plan/picture": picture, "/plan/widths": widths,
    "/plan/curve": curve, "/plan/mechanisms": mechanisms, "/plan/smallest": smallest,
}  # fmt: skip
CHANGED: Final[dict[str, Callable[[Workspace, Form], Response]]] = {
    "/plan/compute": compute, "/plan/epsilon": use_epsilon,
}  # fmt: skip
