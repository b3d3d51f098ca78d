"""Compute the cost and guarantee of a release from its design and budget, before any data is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from discreet.design.design import Design
from discreet.errors import SpecError
from discreet.mechanisms.protocol import with_curve
from discreet.mechanisms.registry import mechanisms
from discreet.options import AUTO, DEFAULT_GRID_BITS, ReleaseOptions, RobustErrors
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
        """The most that an attacker who knows everything else could learn about one unit."""
        return attacker(self.guarantee)

    def plot(self) -> Figure:
        """Plot the highest power of any test for one unit's presence, against the false positive rate of the test."""
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
    guard: bool = False,
    grid_bits: int = DEFAULT_GRID_BITS,
    allow_weak_privacy: bool = False,
) -> Cost:
    """Compute the privacy cost and guarantee of a release. No data is read and no budget is spent.

    Parameters
    ----------
    design
        The declarations.
    epsilon, delta, mechanism, settings, robust, clip_counts, guard, grid_bits, allow_weak_privacy
        As for `discreet.release`.

    Examples
    --------
    >>> import discreet
    >>> design = discreet.Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> cost = discreet.cost(design, epsilon=1.0, delta=1e-6)
    >>> cost.mechanism, cost.guarantee.epsilon, round(cost.attacker.power, 3)
    ('staged', 1.0, 0.136)
    """
    check_design(design)
    options = ReleaseOptions(
        mechanism=mechanism,
        settings=settings,
        robust=robust,
        clip_counts=clip_counts,
        guard=guard,
        grid_bits=grid_bits,
        allow_weak_privacy=allow_weak_privacy,
    )
    request = ReleaseRequest.checked(design.redeclared(), checked_budget(epsilon, delta, options), options)
    guarantee = Guarantee.promised(request.design.unit, request.budget, tracked=True)
    return Cost(request.mechanism.name, with_curve(guarantee, request.distribution), request.request.loss)


@dataclass(frozen=True, slots=True)
class MechanismChoice:
    """A mechanism, and why it cannot be used for a design and budget, if so.

    Attributes
    ----------
    name, summary
        Value of `mechanism` in `discreet.release`, and a one-line description.
    kind
        What it publishes: `moments`, from which any model can be fitted, or `coefficients` of one model.
    refusal
        Why it cannot be used; empty if it can be used.
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
    guard: bool = False,
    grid_bits: int = DEFAULT_GRID_BITS,
    allow_weak_privacy: bool = False,
) -> tuple[MechanismChoice, ...]:
    """List every mechanism, with the reason if it cannot be used for this design and budget.

    Parameters
    ----------
    design
        The declarations.
    epsilon, delta, robust, clip_counts, guard, grid_bits, allow_weak_privacy
        As for `discreet.release`. Raises an error if no mechanism supports these options.

    Examples
    --------
    >>> import discreet
    >>> design = discreet.Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> [choice.name for choice in discreet.mechanism_choices(design, epsilon=1.0) if choice.refusal][:2]
    ['gaussian', 'wishart']
    """
    check_design(design)
    options = ReleaseOptions(
        robust=robust,
        clip_counts=clip_counts,
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
    """Return why a release would be refused before it opens the table; empty if it would be accepted."""
    try:
        # quiet: an unused delta only causes a notice
        ReleaseRequest.checked(design, budget, options, quiet=True)
    except SpecError as refused:
        return str(refused)
    return ""
