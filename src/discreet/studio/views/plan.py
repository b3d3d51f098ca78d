"""What to expect before anything is spent: widths, what bounds cost, what an attacker could learn, mechanisms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from starlette.responses import HTMLResponse, Response

import discreet
from discreet.studio.folder import FieldError
from discreet.studio.forms import Form, as_number
from discreet.studio.jobs import Job
from discreet.studio.rendering import environment, render, see_other
from discreet.studio.workspace import Workspace, notices, quiet

DEFAULTS: Final = {
    "by": "epsilon", "epsilon": "1", "delta": "1e-6", "rows": "", "level": "95", "rsquared": "", "spread": "",
    "correlation": "", "mechanism": "auto", "coefficient": "", "width": "",
}  # fmt: skip
#: released columns up to which a plan is computed while the page waits
AT_ONCE: Final = 12
_SPAN: Final = (0.25, 0.5, 1.0, 2.0, 4.0)


@dataclass(frozen=True)
class Settings:
    """What a plan supposes, read from its form."""

    epsilon: float
    delta: float
    rows: float
    options: dict[str, Any]

    @property
    def planned(self) -> dict[str, Any]:
        """Arguments of `discreet.plan`."""
        return {"rows": self.rows, "epsilon": self.epsilon, "delta": self.delta} | self.options

    @property
    def simulated(self) -> dict[str, Any]:
        """Arguments of `simulated_rows`."""
        return {key: self.options[key] for key in ("rsquared", "spread", "assume")}

    @property
    def released(self) -> dict[str, Any]:
        """Arguments of `discreet.release` and `discreet.cost`."""
        return {key: self.options[key] for key in ("mechanism", "moments")}


def settings_of(space: Workspace, form: Form) -> Settings:
    """Read the fields, each refused beside itself."""
    filled = {name: form.get(name) or default for name, default in DEFAULTS.items()}
    if not filled["rows"]:
        raise FieldError("rows", "about how many rows the table has: a number that is public, such as 30000")
    epsilon, delta, rows, level = (
        as_number(filled[name], name, label)
        for name, label in (("epsilon", "Epsilon"), ("delta", "Delta"), ("rows", "Rows"), ("level", "Level"))
    )
    try:
        notices(epsilon, delta)
    except discreet.DiscreetError as error:
        raise FieldError("delta" if "delta" in str(error)[:8] else "epsilon", str(error)) from None
    if not 1 <= rows <= 1e12:
        raise FieldError("rows", f"rows: expected a number from 1 to 1e12, got {rows:g}")
    if not 50 <= level < 100:
        raise FieldError("level", f"level: expected a percentage from 50 to below 100, got {level:g}")
    stated = {name: form.optional(name, name) for name in ("rsquared", "spread", "correlation")}
    for name, low, high in (("rsquared", 0.0, 1.0), ("spread", 0.0, 1.0), ("correlation", -1.0, 1.0)):
        value = stated[name]
        if value is not None and not low <= value <= high:
            raise FieldError(name, f"expected a number from {low:g} to {high:g}, got {value:g}")
    options: dict[str, Any] = {
        **stated, "level": level / 100, "mechanism": filled["mechanism"],
        "moments": "robust" if "robust" in form else "plain", "assume": _assumed(form) or None,
    }  # fmt: skip
    return Settings(epsilon, delta, rows, options)


def _assumed(form: Form) -> dict[str, dict[str, Any]]:
    """What is supposed of single columns: fields such as `mean:age`."""
    found: dict[str, dict[str, Any]] = {}
    for key, text in form.fields:
        what, _, column = key.partition(":")
        text = text.strip()
        if what not in ("mean", "sd", "share") or not column or not text:
            continue
        value: object = as_number(text, key, f"{what} of {column}") if "=" not in text else _shares(text, key, column)
        found.setdefault(column, {})[what] = value
    return found


def _shares(text: str, key: str, column: str) -> dict[str, float]:
    parts = [part.partition("=") for part in text.split(",") if part.strip()]
    return {name.strip(): as_number(share.strip(), key, f"share of {column}") for name, _, share in parts}


def show(space: Workspace, query: Form) -> Response:
    """The form with its result."""
    return _page(space, Form(list(space.state.plan.items())))


def save(space: Workspace, form: Form) -> Response:
    """Keep the fields and show what they give."""
    _keep(space, form)
    try:
        settings_of(space, form)
    except FieldError as error:
        return _page(space, form, {error.field: str(error)}, 422)
    return see_other({"preview": "/preview", "release": "/release"}.get(form.get("action"), "/plan"))


def live(space: Workspace, form: Form) -> Response:
    """The result alone, while fields change."""
    _keep(space, form)
    try:
        facts = _facts(space, settings_of(space, form))
        template = "plan_result"
    except discreet.DiscreetError as error:
        facts, template = {"message": str(error)}, "plan_refused"
    return HTMLResponse(environment().get_template(f"{template}.html.j2").render(facts | {"csrf": space.keys.csrf}))


def compute(space: Workspace, form: Form) -> Response:
    """Compute the widths of a design with many columns, which takes a while."""
    design, asked = space.design(), settings_of(space, Form(list(space.state.plan.items())))

    def work(job: Job) -> None:
        _planned(space, design, asked)

    job = space.jobs.start("plan", "/plan", work, request=form.get("request"))
    if job is None:
        raise FieldError("", "other work is running; wait until it has ended")
    space.jobs.wait(job, 0.3)
    return see_other(f"/job/{job.key}")


def widths(space: Workspace, query: Form) -> Response:
    """How widths fall with epsilon."""
    design, asked = _known(space)

    def draw() -> str:
        made = _planned(space, design, asked)
        with quiet():
            over = [
                discreet.plan(design, **(asked.planned | {"epsilon": factor * asked.epsilon}))
                for factor in _SPAN
                if factor != 1 and factor * asked.epsilon <= 20
            ]
        return space.picture(lambda: made.plot(over=over), "Expected width of each interval against epsilon")

    try:
        drawn = space.remembered("widths", *_key(design, asked), make=draw)
    except discreet.DiscreetError as error:
        return _part("plan_refused", message=str(error))
    return _part("plan_widths", drawn=drawn)


def curve(space: Workspace, query: Form) -> Response:
    """How often a test finds one unit, at every rate of false alarms."""
    design, asked = _known(space)
    with quiet():
        cost = discreet.cost(design, epsilon=asked.epsilon, delta=asked.delta, **asked.released)
    promised = cost.guarantee
    drawn = space.remembered(
        "curve", promised.epsilon, promised.delta, promised.mu, promised.rho,
        make=lambda: space.picture(cost.plot, "What an attacker could learn"),
    )  # fmt: skip
    return _part("plan_widths", drawn=drawn)


def mechanisms(space: Workspace, query: Form) -> Response:
    """Every mechanism side by side."""
    design, asked = _known(space)
    options = {name: value for name, value in asked.planned.items() if name != "mechanism"}

    def compare() -> dict[str, Any]:
        with quiet():
            return dict(discreet.planning.compare_mechanisms(design, **options))

    found = space.remembered("mechanisms", *_key(design, asked), make=compare)
    names = [one.name for one in _planned(space, design, asked).coefficients]
    rows: list[tuple[str, list[float | None] | None, str]] = []
    for name, made in found.items():
        if isinstance(made, str):
            rows.append((name, None, made))
        else:
            rows.append(
                (
                    name,
                    [one.width for one in made.coefficients],
                    next(filter(None, (one.reason for one in made.coefficients)), ""),
                )
            )
    return _part("plan_mechanisms", names=names[:6], rows=rows)


def smallest(space: Workspace, query: Form) -> Response:
    """The smallest epsilon and the smallest number of rows for a wanted width."""
    design, asked = _known(space)
    fields = Form(list(space.state.plan.items()))
    try:
        width = fields.number("width", "Width")
        if width <= 0:
            raise FieldError("width", "the width is a number above 0, in units of the coefficient")
        coefficient = fields.get("coefficient")
        options = {name: value for name, value in asked.planned.items() if name not in ("epsilon", "rows", "delta")}

        def find() -> tuple[float | None, float | None]:
            with quiet():
                return (
                    discreet.planning.smallest_epsilon(
                        design, coefficient, width, delta=asked.delta, rows=asked.rows, **options
                    ),
                    discreet.planning.smallest_rows(
                        design, coefficient, width, epsilon=asked.epsilon, delta=asked.delta, **options
                    ),
                )

        epsilon, rows = space.remembered("smallest", coefficient, width, *_key(design, asked), make=find)
    except discreet.DiscreetError as error:
        return _part("plan_refused", message=str(error))
    return _part(
        "plan_smallest", epsilon=epsilon, rows=rows, coefficient=coefficient, width=width, asked=asked,
        csrf=space.keys.csrf,
    )  # fmt: skip


def use_epsilon(space: Workspace, form: Form) -> Response:
    """Take over the epsilon that was found."""
    value = form.number("epsilon", "Epsilon")
    space.store.change(plan=space.state.plan | {"epsilon": f"{value:.4g}"})
    return see_other("/plan")


def _known(space: Workspace) -> tuple[discreet.Design, Settings]:
    return space.design(), settings_of(space, Form(list(space.state.plan.items())))


def _key(design: discreet.Design, asked: Settings) -> tuple[object, ...]:
    return design.to_dict(), asked.planned


def _planned(space: Workspace, design: discreet.Design, asked: Settings) -> discreet.planning.Plan:
    def make() -> discreet.planning.Plan:
        with quiet():
            return discreet.plan(design, **asked.planned)

    return space.remembered("plan", *_key(design, asked), make=make)


def _facts(space: Workspace, asked: Settings) -> dict[str, Any]:
    """What the result shows."""
    design = space.design()
    with quiet():
        cost = discreet.cost(design, epsilon=asked.epsilon, delta=asked.delta, **asked.released)
    facts: dict[str, Any] = {
        "asked": asked, "cost": cost, "attacker": cost.attacker, "notices": notices(asked.epsilon, asked.delta),
        "accuracy": space.state.plan.get("by") == "accuracy",
        "coefficient": space.state.plan.get("coefficient", ""),
        "waits": len(design.released) > AT_ONCE and not space.knows("plan", *_key(design, asked)),
        "size": len(design.released) - 1,
        "made": None, "drawn": "", "no_drawing": "", "savings": {}, "assumptions": (),
    }  # fmt: skip
    if facts["waits"]:
        return facts
    made = _planned(space, design, asked)
    facts |= {"made": made, "assumptions": made.assumptions.lines() if made.assumptions is not None else ()}
    try:
        facts["drawn"] = space.remembered(
            "drawn", *_key(design, asked), make=lambda: space.picture(made.plot, "Expected intervals")
        )
    except discreet.DiscreetError as error:
        facts["no_drawing"] = str(error)
    options = {key: value for key, value in asked.planned.items() if key != "level"}
    with quiet():
        facts["savings"] = dict(list(discreet.planning.bound_savings(design, **options).items())[:8])
    return facts


def _keep(space: Workspace, form: Form) -> None:
    kept = {key: value.strip() for key, value in form.fields if key not in ("csrf", "action") and value.strip()}
    space.store.change(plan=kept)


def _part(template: str, **values: object) -> HTMLResponse:
    return HTMLResponse(environment().get_template(f"{template}.html.j2").render(**values))


def _page(space: Workspace, form: Form, errors: dict[str, str] | None = None, status: int = 200) -> Response:
    errors, facts, refusal = dict(errors or {}), {}, ""
    columns: list[tuple[str, str]] = []
    names: list[str] = []
    try:
        design = space.design()
        columns = [
            (one.name, one.kind)
            for one in space.draft.columns
            if one.included and one.kind not in ("formula", "private")
        ]
        names = [name for name in design.released if name not in ("1", design.target)]
        if not errors and form.get("rows"):
            facts = _facts(space, settings_of(space, form))
    except FieldError as error:
        errors, refusal = (errors | {error.field: str(error)}, "") if error.field else (errors, str(error))
    except discreet.DiscreetError as error:
        if "mechanism" in str(error)[:24]:
            errors["mechanism"] = str(error)
        else:
            refusal = str(error)
    typed = DEFAULTS | {key: value for key, value in form.fields if value}
    shown = facts | {"typed": typed, "refusal": refusal, "errors": errors, "columns": columns, "names": names}
    return render(space, "plan", "plan", status, **shown)


SHOWN: Final[dict[str, Callable[[Workspace, Form], Response]]] = {
    "/plan": show, "/plan/widths": widths, "/plan/curve": curve, "/plan/mechanisms": mechanisms,
    "/plan/smallest": smallest,
}  # fmt: skip
CHANGED: Final[dict[str, Callable[[Workspace, Form], Response]]] = {
    "/plan": save, "/plan/live": live, "/plan/compute": compute, "/plan/epsilon": use_epsilon,
}  # fmt: skip
