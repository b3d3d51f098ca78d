"""Compute and cache the results of a plan: at once for few columns, as a job for many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import discreet
from discreet_studio.forms import Form
from discreet_studio.views.release_settings import Settings, kept_settings, width_of
from discreet_studio.workspace import Workspace, quiet

#: up to this many released columns, a result is computed while the page loads; with more, on request
LIVE_COLUMNS: Final = {"plan": 60, "savings": 250, "widths": 25, "mechanisms": 25, "smallest": 12}
_SPAN: Final = (0.25, 0.5, 2.0, 4.0)
_MOST_EPSILON: Final = 20.0


@dataclass(frozen=True)
class Run:
    """Progress and cancellation of a computation."""

    token: discreet.CancelToken | None = None
    progress: Callable[[float | None], None] | None = None

    def step(self, share: float | None) -> None:
        """Report progress, or raise an error if the computation was cancelled."""
        if self.token is not None:
            self.token.check()
        if self.progress is not None:
            self.progress(share)


ALONE: Final = Run()


def known(space: Workspace) -> tuple[discreet.Design, Settings]:
    """Return the design and the saved settings."""
    return space.design(), kept_settings(space)


def cost_of(space: Workspace, design: discreet.Design, asked: Settings) -> discreet.Cost:
    """Return what the release would spend, and its guarantee."""

    def make() -> discreet.Cost:
        with quiet():
            return discreet.cost(design, epsilon=asked.epsilon, delta=asked.delta, **asked.released)

    return space.remembered("cost", design.to_dict(), asked.epsilon, asked.delta, asked.released, make=make)


def choices_of(space: Workspace, design: discreet.Design, asked: Settings) -> tuple[Any, ...]:
    """Return all mechanisms, each with the reason if it does not fit."""
    budget = {"epsilon": asked.epsilon, "delta": asked.delta, "robust": asked.options["robust"]}

    def make() -> tuple[Any, ...]:
        with quiet():
            return discreet.mechanism_choices(design, **budget)

    return space.remembered("choices", design.to_dict(), budget, make=make)


def _plan(design: discreet.Design, asked: Settings, run: Run) -> discreet.planning.Plan:
    return discreet.plan(design, **asked.planned, cancel=run.token)


def _savings(design: discreet.Design, asked: Settings, run: Run) -> dict[str, float]:
    options = {key: value for key, value in asked.planned.items() if key != "level"}
    return discreet.planning.bound_savings(design, **options)


def _other_budgets(design: discreet.Design, asked: Settings, run: Run) -> list[discreet.planning.Plan]:
    """Return plans at smaller and larger epsilons."""
    plans = []
    for index, factor in enumerate(_SPAN):
        run.step(index / len(_SPAN))
        if factor * asked.epsilon <= _MOST_EPSILON:
            plans.append(
                discreet.plan(design, **(asked.planned | {"epsilon": factor * asked.epsilon}), cancel=run.token)
            )
    return plans


def _mechanisms(design: discreet.Design, asked: Settings, run: Run) -> dict[str, Any]:
    options = {name: value for name, value in asked.planned.items() if name not in ("mechanism", "settings")}
    return dict(discreet.planning.compare_mechanisms(design, **options, cancel=run.token))


def _smallest(
    design: discreet.Design, asked: Settings, run: Run, coefficient: str, width: float
) -> tuple[float | None, float | None]:
    """Return the smallest epsilon and the smallest row count that give the required width."""
    options = {name: value for name, value in asked.planned.items() if name not in ("epsilon", "rows", "delta")}
    epsilon = discreet.planning.smallest_epsilon(
        design, coefficient, width, delta=asked.delta, rows=asked.rows, cancel=run.token, **options
    )
    run.step(0.5)
    rows = discreet.planning.smallest_rows(
        design, coefficient, width, epsilon=asked.epsilon, delta=asked.delta, cancel=run.token, **options
    )
    return epsilon, rows


#: functions that compute the results, by name
PIECES: Final[dict[str, Callable[..., Any]]] = {
    "plan": _plan, "savings": _savings, "widths": _other_budgets, "mechanisms": _mechanisms, "smallest": _smallest,
}  # fmt: skip


def _key(space: Workspace, what: str, design: discreet.Design, asked: Settings) -> tuple[object, ...]:
    return what, design.to_dict(), asked.planned, *_more(space, what)


def _more(space: Workspace, what: str) -> tuple[Any, ...]:
    return width_of(Form(list(space.state.plan.items()))) if what == "smallest" else ()


def piece(space: Workspace, what: str, design: discreet.Design, asked: Settings, run: Run = ALONE) -> Any:  # noqa: ANN401  # one of several results
    """Return one of the results, from the cache or computed now."""

    def make() -> Any:  # noqa: ANN401
        with quiet():
            return PIECES[what](design, asked, run, *_more(space, what))

    return space.remembered(*_key(space, what, design, asked), make=make)


def waits(space: Workspace, what: str, design: discreet.Design, asked: Settings) -> bool:
    """Return whether a result is computed only on request."""
    return len(design.released) > LIVE_COLUMNS[what] and not space.knows(*_key(space, what, design, asked))


def drawn_plan(space: Workspace, design: discreet.Design, asked: Settings) -> str:
    """Return the plot of the expected intervals."""
    plan = piece(space, "plan", design, asked)
    return space.remembered(
        "drawn", design.to_dict(), asked.planned, make=lambda: space.picture(plan.plot, "Expected intervals")
    )
