"""Compute the cost and guarantee of a release from its design and budget, before any data is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from discreet.design.design import Design
from discreet.errors import SpecError
from discreet.mechanisms.protocol import with_curve
from discreet.mechanisms.registry import mechanisms
from discreet.options import AUTO, DECLARED, DEFAULT_GRID_BITS, ReleaseOptions, RobustErrors, Scaling
from discreet.pages.attacker import Attacker, attacker
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.spend import Loss
from discreet.release_request import ReleaseRequest, check_design, checked_budget

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Cost:
    """Privacy cost of a planned release.

    Attributes
    ----------
    mechanism
        The mechanism that would run.
    guarantee
        The guarantee of the release if a ledger records it.
    loss
        The charge to a ledger in every privacy measure; an argument of `Ledger.planned`.
    """

    mechanism: str
    guarantee: Guarantee
    loss: Loss

    @property
    def attacker(self) -> Attacker:
        """The most that an attacker who knows everything else could learn."""
        return attacker(self.guarantee)

    def plot(self) -> Figure:
        """Plot the largest power of a test for the presence of one unit against its false positive rate."""
        from discreet.pages.attack_plot import attack_figure

        return attack_figure(self.guarantee)


def cost(
    design: Design,
    *,
    epsilon: float,
    delta: float = 0.0,
    mechanism: str = AUTO,
    settings: Mapping[str, object] | None = None,
    robust: bool | RobustErrors = False,
    clip_counts: bool = False,
    scaling: Scaling = DECLARED,
    guard: bool = False,
    grid_bits: int = DEFAULT_GRID_BITS,
    allow_weak_privacy: bool = False,
) -> Cost:
    """Compute the privacy cost and guarantee of `discreet.release` with the same options, without opening or spending.

    Parameters
    ----------
    design
        The declarations.
    epsilon, delta, mechanism, settings, robust, clip_counts, scaling, guard, grid_bits, allow_weak_privacy
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
    options = ReleaseOptions(
        mechanism=mechanism,
        settings=settings,
        robust=robust,
        clip_counts=clip_counts,
        scaling=scaling,
        guard=guard,
        grid_bits=grid_bits,
        allow_weak_privacy=allow_weak_privacy,
    )
    asked = ReleaseRequest.checked(design.redeclared(), checked_budget(epsilon, delta, options), options)
    promised = Guarantee.promised(asked.design.unit, asked.budget, tracked=True)
    return Cost(asked.mechanism.name, with_curve(promised, asked.distribution), asked.request.loss)


@dataclass(frozen=True, slots=True)
class MechanismChoice:
    """A mechanism, and whether a design and a budget allow it.

    Attributes
    ----------
    name, summary
        Value of `mechanism` in `discreet.release`, and a one-line description.
    kind
        What it publishes: `moments`, from which any model is fitted, or `coefficients` of one model.
    refusal
        Why it cannot be used; empty if it can.
    """

    name: str
    summary: str
    kind: str
    refusal: str


def mechanism_choices(
    design: Design,
    *,
    epsilon: float,
    delta: float = 0.0,
    robust: bool | RobustErrors = False,
    clip_counts: bool = False,
    scaling: Scaling = DECLARED,
    guard: bool = False,
    grid_bits: int = DEFAULT_GRID_BITS,
    allow_weak_privacy: bool = False,
) -> tuple[MechanismChoice, ...]:
    """List every mechanism, with the reason if `discreet.release` would refuse it for this design and budget.

    Parameters
    ----------
    design
        The declarations.
    epsilon, delta, robust, clip_counts, scaling, guard, grid_bits, allow_weak_privacy
        As for `discreet.release`. Options that no mechanism supports raise an error.

    Examples
    --------
    >>> import discreet
    >>> design = discreet.Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> [one.name for one in discreet.mechanism_choices(design, epsilon=1.0) if one.refusal][:2]
    ['gaussian', 'wishart']
    """
    check_design(design)
    options = ReleaseOptions(
        robust=robust,
        clip_counts=clip_counts,
        scaling=scaling,
        guard=guard,
        grid_bits=grid_bits,
        allow_weak_privacy=allow_weak_privacy,
    )
    fresh, budget = design.redeclared(), checked_budget(epsilon, delta, options)
    ReleaseRequest.checked(fresh, budget, options)
    return tuple(
        MechanismChoice(name, each.info.summary, each.kind, _refusal(fresh, budget, replace(options, mechanism=name)))
        for name, each in mechanisms().items()
    )


def _refusal(design: Design, budget: PrivacyBudget, options: ReleaseOptions) -> str:
    """Return why a release would be refused before it opens the table; empty if it would not."""
    try:
        # an unused delta is not a reason to refuse
        ReleaseRequest.checked(design, budget, options, quiet=True)
    except SpecError as refused:
        return str(refused)
    return ""
