"""Show what to expect before any budget is spent: interval widths, cost of bounds, attacks, mechanisms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from starlette.responses import HTMLResponse, Response

import discreet
from discreet_studio.advice import here
from discreet_studio.forms import Form
from discreet_studio.rendering import environment, render, see_other
from discreet_studio.studio_folder import FieldError
from discreet_studio.views.expected_results import PIECES, choices_of, cost_of, drawn_plan, piece, waits
from discreet_studio.views.release_settings import DEFAULTS, OPTIONS, ROBUST, Settings, settings_of
from discreet_studio.workspace import DRAWN_AT_ONCE, Workspace, notices

KINDS: Final = {"moments": "any model", "coefficients": "only the declared model"}
_COSTLIEST: Final = 8


def show(space: Workspace, query: Form) -> Response:
    """Show the form with its result. A folded part is open if it was just computed."""
    return _page(space, Form(list(space.state.plan.items())), opened=query.get("open"))


def save(space: Workspace, form: Form) -> Response:
    """Save the fields and show the result."""
    _keep(space, form)
    try:
        settings_of(form)
    except FieldError as error:
        return _page(space, form, {error.field: here(error)}, 422)
    return see_other({"preview": "/preview", "release": "/release"}.get(form.get("action"), "/plan"))


def live(space: Workspace, form: Form) -> Response:
    """Return only the result while fields change, and the list of mechanisms if it changes."""
    before = _choices(space, Form(list(space.state.plan.items())))
    _keep(space, form)
    now = _choices(space, form)
    try:
        facts = _facts(space, settings_of(form))
        template = "plan_result"
    except discreet.DiscreetError as error:
        facts, template = {"message": here(error)}, "part_refused"
    facts |= {"csrf": space.keys.csrf, "opened": ""}
    text = environment().get_template(f"{template}.html.j2").render(facts)
    if now != before:
        typed = {"mechanism": form.get("mechanism") or "auto"}
        text += (
            environment()
            .get_template("plan_choices.html.j2")
            .render(choices=now, typed=typed, errors={}, kinds=KINDS, beside=True)
        )
    return HTMLResponse(text)


def _choices(space: Workspace, form: Form) -> tuple[Any, ...]:
    """Return all mechanisms, each with the reason if it does not fit. Return none if design or budget is incomplete."""
    try:
        # the row count does not affect which mechanisms fit
        asked = settings_of(Form([*form.fields, ("rows", form.get("rows") or "1")]))
        return choices_of(space, space.design(), asked)
    except discreet.DiscreetError:
        return ()


def _facts(space: Workspace, asked: Settings) -> dict[str, Any]:
    """Return the values that the result shows."""
    design = space.design()
    cost = cost_of(space, design, asked)
    facts: dict[str, Any] = {
        "asked": asked, "cost": cost, "attacker": cost.attacker, "notices": notices(asked.epsilon, asked.delta),
        "accuracy": space.state.plan.get("by") == "accuracy",
        "coefficient": space.state.plan.get("coefficient", ""),
        "waits": waits(space, "plan", design, asked), "size": len(design.released) - 1,
        "made": None, "drawn": "", "no_drawing": "", "later": False, "savings": {}, "assumptions": (),
    }  # fmt: skip
    if facts["waits"]:
        return facts
    plan = piece(space, "plan", design, asked)
    facts |= {"made": plan, "assumptions": plan.assumptions.lines() if plan.assumptions is not None else ()}
    facts["later"] = len(plan.coefficients) > DRAWN_AT_ONCE
    if not facts["later"]:
        try:
            facts["drawn"] = drawn_plan(space, design, asked)
        except discreet.DiscreetError as error:
            facts["no_drawing"] = here(error)
    facts["savings"] = dict(list(piece(space, "savings", design, asked).items())[:_COSTLIEST])
    return facts


def _keep(space: Workspace, form: Form) -> None:
    kept = {key: value.strip() for key, value in form.fields if key not in ("csrf", "action") and value.strip()}
    if kept != space.state.plan:
        space.store.change(plan=kept)


def _page(
    space: Workspace, form: Form, errors: dict[str, str] | None = None, status: int = 200, opened: str = ""
) -> Response:
    errors, facts, refusal = dict(errors or {}), {}, ""
    columns: list[tuple[str, str]] = []
    names: list[str] = []
    try:
        design = space.design()
        columns = [
            (column.name, column.kind)
            for column in space.draft.columns
            if column.included and column.kind not in ("formula", "private")
        ]
        names = [name for name in design.released if name not in ("1", design.target)]
        if not errors and form.get("rows"):
            facts = _facts(space, settings_of(form))
    except FieldError as error:
        errors, refusal = (errors | {error.field: here(error)}, "") if error.field else (errors, here(error))
    except discreet.DiscreetError as error:
        field = error.option if error.option in ("mechanism", "epsilon", "delta", *OPTIONS) else ""
        errors, refusal = (errors | {field: here(error)}, "") if field else (errors, here(error))
    typed = DEFAULTS | {key: value for key, value in form.fields if value}
    shown = facts | {
        "typed": typed, "refusal": refusal, "errors": errors, "columns": columns, "names": names,
        "single": [f"{what}:{name}" for name, _ in columns for what in ("mean", "sd", "share")],
        "choices": _choices(space, form), "kinds": KINDS, "opened": opened if opened in PIECES else "",
        "options": OPTIONS, "robust_options": ROBUST,
    }  # fmt: skip
    return render(space, "plan", "plan", status, **shown)


SHOWN: Final[dict[str, Callable[[Workspace, Form], Response]]] = {"/plan": show}
CHANGED: Final[dict[str, Callable[[Workspace, Form], Response]]] = {"/plan": save, "/plan/live": live}
