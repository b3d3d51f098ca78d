"""What a release would spend, promise and leave to an attacker: from the design and the budget, before any data."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from discreet.design.design import Design
from discreet.design.domain import DEFAULT_GRID_BITS
from discreet.errors import PrivacyNotice, SpecError
from discreet.mechanisms.protocol import with_curve
from discreet.mechanisms.registry import AUTO, DECLARED, mechanisms
from discreet.pages.attacker import Attacker, attacker
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.spend import Loss
from discreet.workflow import Question, check_design

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Cost:
    """What a release that is only planned would cost.

    Attributes
    ----------
    mechanism
        The one that would run.
    guarantee
        What it would promise, as a release that a ledger counts.
    loss
        What it would ask of a ledger, in every currency; `Ledger.planned` takes it.
    """

    mechanism: str
    guarantee: Guarantee
    loss: Loss

    @property
    def attacker(self) -> Attacker:
        """What somebody who knows everything else could still learn, at most."""
        return attacker(self.guarantee)

    def plot(self) -> Figure:
        """Draw how often a test finds one unit, at most, against how often it cries out where there is nothing."""
        from discreet.pages.attack_plot import attack_figure

        return attack_figure(self.guarantee)


def cost(
    design: Design,
    *,
    epsilon: float,
    delta: float = 0.0,
    mechanism: str = AUTO,
    settings: Mapping[str, object] | None = None,
    moments: Literal["plain", "robust"] = "plain",
    residual_bound: float | None = None,
    clip_counts: bool = False,
    grid_bits: int = DEFAULT_GRID_BITS,
    guard: bool = False,
    scaling: Literal["declared", "private"] = "declared",
) -> Cost:
    """What `discreet.release` with the same options would spend and promise; nothing is opened and nothing spent.

    Parameters
    ----------
    design
        The declarations.
    epsilon, delta, mechanism, settings, moments, residual_bound, clip_counts, grid_bits, guard, scaling
        As for `discreet.release`.

    Examples
    --------
    >>> import discreet
    >>> design = discreet.Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> planned = discreet.cost(design, epsilon=1.0, delta=1e-6)
    >>> planned.mechanism, planned.guarantee.epsilon, round(planned.attacker.power, 3)
    ('gaussian', 1.0, 0.136)
    """
    check_design(design)
    asked = Question.checked(
        design.redeclared(),
        PrivacyBudget(epsilon, delta),
        mechanism,
        settings,
        moments=moments,
        residual_bound=residual_bound,
        clip_counts=clip_counts,
        grid_bits=grid_bits,
        guard=guard,
        scaling=scaling if scaling is not None else DECLARED,
    )
    promised = Guarantee.promised(asked.design.unit, asked.budget, tracked=True)
    return Cost(asked.mechanism.name, with_curve(promised, asked.law), asked.request.loss)


@dataclass(frozen=True, slots=True)
class MechanismChoice:
    """A mechanism and whether a design and a budget can have it.

    Attributes
    ----------
    name, summary
        What `discreet.release` takes as `mechanism`, and one line for people who choose.
    kind
        What it publishes: `moments`, from which any model is fitted, or `coefficients` of one model.
    refusal
        Why it cannot be used here; empty where it can.
    """

    name: str
    summary: str
    kind: str
    refusal: str


def mechanism_choices(
    design: Design, *, epsilon: float, delta: float = 0.0, moments: Literal["plain", "robust"] = "plain"
) -> tuple[MechanismChoice, ...]:
    """Every mechanism, with why `discreet.release` would refuse it for this design and budget if it would.

    Parameters
    ----------
    design
        The declarations.
    epsilon, delta, moments
        As for `discreet.release`; what no mechanism can serve is refused.

    Examples
    --------
    >>> import discreet
    >>> design = discreet.Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> [one.name for one in discreet.mechanism_choices(design, epsilon=1.0) if one.refusal][:2]
    ['gaussian', 'wishart']
    """
    check_design(design)
    fresh, budget = design.redeclared(), PrivacyBudget(epsilon, delta)
    _check(fresh, budget, AUTO, moments)
    return tuple(
        MechanismChoice(name, one.info.summary, one.kind, _refusal(fresh, budget, name, moments))
        for name, one in mechanisms().items()
    )


def _check(design: Design, budget: PrivacyBudget, mechanism: str, moments: str) -> None:
    """Refuse what a release would refuse before it opens the table."""
    Question.checked(
        design,
        budget,
        mechanism,
        None,
        moments=moments,
        residual_bound=None,
        clip_counts=False,
        grid_bits=DEFAULT_GRID_BITS,
    )


def _refusal(design: Design, budget: PrivacyBudget, mechanism: str, moments: str) -> str:
    try:
        with warnings.catch_warnings():
            # a delta that is not used refuses nothing
            warnings.simplefilter("ignore", PrivacyNotice)
            _check(design, budget, mechanism, moments)
    except SpecError as refused:
        return str(refused)
    return ""
