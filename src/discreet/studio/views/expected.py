"""What a plan gives, kept for as long as its fields do not change: at once for few columns, as work for many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import discreet
from discreet.studio.forms import Form
from discreet.studio.views.settings import Settings, kept_settings, width_of
from discreet.studio.workspace import Workspace, quiet

#: released columns up to which a piece is computed while the page waits for it; with more, on request
LIVE_COLUMNS: Final = {"plan": 250, "savings": 250, "widths": 60, "mechanisms": 60, "smallest": 30}
_SPAN: Final = (0.25, 0.5, 2.0, 4.0)
_MOST_EPSILON: Final = 20.0


@dataclass(frozen=True)
class Run:
    """How far a computation is, for those who watch, and with what they can end it."""

    token: discreet.CancelToken | None = None
    progress: Callable[[float | None], None] | None = None

    def step(self, share: float | None) -> None:
        """Say how much is done, or end what was cancelled."""
        if self.token is not None:
            self.token.check()
        if self.progress is not None:
            self.progress(share)


ALONE: Final = Run()


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


def _plan(design: discreet.Design, asked: Settings, run: Run) -> discreet.planning.Plan:
    return discreet.plan(design, **asked.planned, cancel=run.token)


def _savings(design: discreet.Design, asked: Settings, run: Run) -> dict[str, float]:
    options = {key: value for key, value in asked.planned.items() if key != "level"}
    return discreet.planning.bound_savings(design, **options)


def _other_budgets(design: discreet.Design, asked: Settings, run: Run) -> list[discreet.planning.Plan]:
    """Plans at smaller and at larger epsilons."""
    made = []
    for index, factor in enumerate(_SPAN):
        run.step(index / len(_SPAN))
        if factor * asked.epsilon <= _MOST_EPSILON:
            made.append(
                discreet.plan(design, **(asked.planned | {"epsilon": factor * asked.epsilon}), cancel=run.token)
            )
    return made


def _mechanisms(design: discreet.Design, asked: Settings, run: Run) -> dict[str, Any]:
    options = {name: value for name, value in asked.planned.items() if name != "mechanism"}
    return dict(discreet.planning.compare_mechanisms(design, **options, cancel=run.token))


def _smallest(
    design: discreet.Design, asked: Settings, run: Run, coefficient: str, width: float
) -> tuple[float | None, float | None]:
    """The smallest epsilon, and the smallest number of rows, for a wanted width."""
    options = {name: value for name, value in asked.planned.items() if name not in ("epsilon", "rows", "delta")}
    epsilon = discreet.planning.smallest_epsilon(
        design, coefficient, width, delta=asked.delta, rows=asked.rows, cancel=run.token, **options
    )
    run.step(0.5)
    rows = discreet.planning.smallest_rows(
        design, coefficient, width, epsilon=asked.epsilon, delta=asked.delta, cancel=run.token, **options
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


def piece(space: Workspace, what: str, design: discreet.Design, asked: Settings, run: Run = ALONE) -> Any:  # noqa: ANN401  # one of several results
    """One of the results, computed unless it is known."""

    def make() -> Any:  # noqa: ANN401
        with quiet():
            return PIECES[what](design, asked, run, *_more(space, what))

    return space.remembered(*_key(space, what, design, asked), make=make)


def waits(space: Workspace, what: str, design: discreet.Design, asked: Settings) -> bool:
    """Whether it has to be asked for."""
    return len(design.released) > LIVE_COLUMNS[what] and not space.knows(*_key(space, what, design, asked))


def drawn_plan(space: Workspace, design: discreet.Design, asked: Settings) -> str:
    """The picture of the expected intervals."""
    made = piece(space, "plan", design, asked)
    return space.remembered(
        "drawn", design.to_dict(), asked.planned, make=lambda: space.picture(made.plot, "Expected intervals")
    )
