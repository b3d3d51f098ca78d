"""Show data sets, budgets and history, and how much a planned release would leave."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from starlette.responses import Response

import discreet
from discreet_studio.advice import here
from discreet_studio.forms import Form
from discreet_studio.rendering import render, see_other
from discreet_studio.studio_folder import FieldError
from discreet_studio.views.expected_results import cost_of, known
from discreet_studio.workspace import Workspace, quiet

FILE: Final = "ledger.db"
EVENTS: Final = {
    "dataset": "data set declared", "reserve": "budget spent", "stage": "noisy counts recorded",
    "commit": "release made", "stop": "stopped, no release", "grant": "budget raised",
}  # fmt: skip


def show(space: Workspace, query: Form) -> Response:
    """Show all data sets of the chosen ledger."""
    return page(space, query.get("ledger"))


def grant(space: Workspace, form: Form) -> Response:
    """Raise the budget of a data set. The reason is recorded in the history."""
    name, dataset = form.get("ledger"), form.get("grant")
    try:
        ledger = discreet.Ledger(space.folder.file(name, "ledger"))
        with quiet():
            ledger.grant(dataset, epsilon=form.number("grant_epsilon", "Epsilon"), reason=form.get("reason"))
    except FieldError as error:
        return page(space, name, 422, errors={error.field: here(error)}, typed=form)
    except discreet.DiscreetError as error:
        field = "reason" if error.option == "reason" else "grant_epsilon"
        return page(space, name, 422, errors={field: here(error)}, typed=form)
    return see_other(f"/ledger?ledger={name}")


def ledgers(space: Workspace) -> list[str]:
    """Return the files in the folder that may be ledgers."""
    return space.folder.listed(".db")


def planned(space: Workspace, ledger: discreet.Ledger, dataset: str) -> Any:  # noqa: ANN401  # a status, or none
    """Return the status after the planned release, or None if it would be refused."""
    return ledger.planned(dataset, cost_of(space, *known(space)).loss)


def room(status: Any) -> str:  # noqa: ANN401  # a status of a ledger
    """Describe the remaining budget to people who plan another release."""
    if status.rule == "basic":
        left = status.left["epsilon"]
        return f"enough for epsilon {_down(left)}" if left else "nothing"
    largest = status.largest_gaussian if status.requests else status.epsilon
    if largest:
        return f"enough for one release of up to epsilon {_down(largest)}"
    pure = status.left.get("pure_epsilon", 0.0)
    return f"enough for releases with delta 0, up to epsilon {_down(pure)} in total" if pure else "nothing"


def _down(value: float) -> str:
    """Round down to three significant digits.

    >>> _down(1.6379), _down(0.5), _down(12.0)
    ('1.63', '0.5', '12')
    """
    step = 10.0 ** (math.floor(math.log10(value)) - 2)
    shown = f"{value:.3g}"
    return shown if float(shown) <= value else f"{value - step:.3g}"


def page(space: Workspace, name: str, status: int = 200, **values: object) -> Response:
    """Render the page of one ledger."""
    files = ledgers(space)
    chosen = name if name in files else space.state.account[0]
    chosen = chosen if chosen in files else next(iter(files), "")
    facts: dict[str, Any] = {"statuses": [], "history": [], "after": {}, "message": "", "errors": {}, "typed": Form([])}
    if chosen:
        try:
            ledger = discreet.Ledger(space.folder.file(chosen))
            facts |= {"statuses": ledger.statuses(), "history": ledger.history()[-200:][::-1]}
            for entry in facts["statuses"]:
                dataset = entry.dataset
                try:
                    facts["after"][dataset] = planned(space, ledger, dataset) or "refused"
                except discreet.DiscreetError:
                    facts["after"][dataset] = None
        except discreet.DiscreetError as error:
            facts["message"] = here(error)
    return render(
        space,
        "ledger",
        "ledger",
        status,
        known=files,
        chosen=chosen,
        file=FILE,
        events=EVENTS,
        room=room,
        **(facts | values),
    )


SHOWN: Final[dict[str, Callable[[Workspace, Form], Response]]] = {"/ledger": show}
CHANGED: Final[dict[str, Callable[[Workspace, Form], Response]]] = {"/ledger/grant": grant}
