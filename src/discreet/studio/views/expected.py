"""What a plan gives, kept for as long as its fields do not change: at once for few columns, as work for many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import discreet
from discreet.studio.forms import Form
from discreet.studio.views.settings import Settings, kept_settings, width_of
from discreet.studio.workspace import Workspace, quiet

#: released columns up to which everything on the plan is computed while its page waits; with more, on request
LIVE_COLUMNS: Final = 12
_SPAN: Final = (0.25, 0.5, 2.0, 4.0)
_MOST_EPSILON: Final = 20.0
#: is given how much is done, and ends the work if it was cancelled
Step = Callable[[float | None], None]


def nobody(share: float | None) -> None:
    """Take no notice of progress."""


def is_live(design: discreet.Design) -> bool:
    """Whether what a plan of this design gives is computed while the page waits."""
    return len(design.released) <= LIVE_COLUMNS


def known(space: Workspace) -> tuple[discreet.Design, Settings]:
    """The design, and what was supposed last."""
    return space.design(), kept_settings(space)


def cost_of(space: Workspace, design: discreet.Design, asked: Settings) -> discreet.Cost:
    """What the release would spend and promise."""

    def make() -> discreet.Cost:
        with quiet():
            return discreet.cost(design, epsilon=asked.epsilon, delta=asked.delta, **asked.released)

    return space.remembered("cost", design.to_dict(), asked.epsilon, asked.delta, asked.released, make=make)


def choices_of(space: Workspace, design: discreet.Design, asked: Settings) -> tuple[Any, ...]:
    """Every mechanism, with the reason where it does not fit."""
    budget = {"epsilon": asked.epsilon, "delta": asked.delta, "moments": asked.options["moments"]}

    def make() -> tuple[Any, ...]:
        with quiet():
            return discreet.mechanism_choices(design, **budget)

    return space.remembered("choices", design.to_dict(), budget, make=make)


def _plan(design: discreet.Design, asked: Settings, step: Step) -> discreet.planning.Plan:
    return discreet.plan(design, **asked.planned)


def _savings(design: discreet.Design, asked: Settings, step: Step) -> dict[str, float]:
    options = {key: value for key, value in asked.planned.items() if key != "level"}
    return discreet.planning.bound_savings(design, **options)


def _other_budgets(design: discreet.Design, asked: Settings, step: Step) -> list[discreet.planning.Plan]:
    """Plans at smaller and at larger epsilons."""
    made = []
    for index, factor in enumerate(_SPAN):
        step(index / len(_SPAN))
        if factor * asked.epsilon <= _MOST_EPSILON:
            made.append(discreet.plan(design, **(asked.planned | {"epsilon": factor * asked.epsilon})))
    return made


def _mechanisms(design: discreet.Design, asked: Settings, step: Step) -> dict[str, Any]:
    options = {name: value for name, value in asked.planned.items() if name != "mechanism"}
    return dict(discreet.planning.compare_mechanisms(design, **options))


def _smallest(
    design: discreet.Design, asked: Settings, step: Step, coefficient: str, width: float
) -> tuple[float | None, float | None]:
    """The smallest epsilon, and the smallest number of rows, for a wanted width."""
    options = {name: value for name, value in asked.planned.items() if name not in ("epsilon", "rows", "delta")}
    epsilon = discreet.planning.smallest_epsilon(
        design, coefficient, width, delta=asked.delta, rows=asked.rows, **options
    )
    step(0.5)
    rows = discreet.planning.smallest_rows(
        design, coefficient, width, epsilon=asked.epsilon, delta=asked.delta, **options
    )
    return epsilon, rows


#: what can be asked for, and how it is computed
PIECES: Final[dict[str, Callable[..., Any]]] = {
    "plan": _plan, "savings": _savings, "widths": _other_budgets, "mechanisms": _mechanisms, "smallest": _smallest,
}  # fmt: skip


def _key(space: Workspace, what: str, design: discreet.Design, asked: Settings) -> tuple[object, ...]:
    return what, design.to_dict(), asked.planned, *_more(space, what)


def _more(space: Workspace, what: str) -> tuple[Any, ...]:
    return width_of(Form(list(space.state.plan.items()))) if what == "smallest" else ()


def piece(space: Workspace, what: str, design: discreet.Design, asked: Settings, step: Step = nobody) -> Any:  # noqa: ANN401  # one of several results
    """One of the results, computed unless it is known."""

    def make() -> Any:  # noqa: ANN401
        with quiet():
            return PIECES[what](design, asked, step, *_more(space, what))

    return space.remembered(*_key(space, what, design, asked), make=make)


def waits(space: Workspace, what: str, design: discreet.Design, asked: Settings) -> bool:
    """Whether it has to be asked for."""
    return not is_live(design) and not space.knows(*_key(space, what, design, asked))
