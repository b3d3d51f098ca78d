"""Compute the cost and guarantee of a release from its design and budget, before any data is read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Unpack

from discreet.design.design import Design
from discreet.errors import SpecError
from discreet.mechanisms.protocol import with_curve
from discreet.mechanisms.registry import mechanisms
from discreet.options import ReleaseKeywords, ReleaseOptions, options_of, takes_options
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


@takes_options()
def cost(
    design: Design,
    *,
    epsilon: float,
    delta: float = 0.0,
    **options: Unpack[ReleaseKeywords],
) -> Cost:
    """Compute the privacy cost and guarantee of a release. No data is read and no budget is spent.

    Parameters
    ----------
    design
        The declarations.
    epsilon, delta
        As for `discreet.release`.
    **options
        As for `discreet.release`.

    Examples
    --------
    >>> import discreet
    >>> design = discreet.Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> cost = discreet.cost(design, epsilon=1.0, delta=1e-6)
    >>> cost.mechanism, cost.guarantee.epsilon, round(cost.attacker.power, 3)
    ('staged', 1.0, 0.136)
    """
    checked = options_of(cost, options)
    check_design(design)
    request = ReleaseRequest.checked(design.redeclared(), checked_budget(epsilon, delta, checked), checked)
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


@takes_options(without=("mechanism", "settings"))
def mechanism_choices(
    design: Design,
    *,
    epsilon: float,
    delta: float = 0.0,
    **options: Unpack[ReleaseKeywords],
) -> tuple[MechanismChoice, ...]:
    """List every mechanism, with the reason if it cannot be used for this design and budget.

    Parameters
    ----------
    design
        The declarations.
    epsilon, delta
        As for `discreet.release`.
    **options
        As for `discreet.release`. Raises an error if no mechanism supports these options.

    Examples
    --------
    >>> import discreet
    >>> design = discreet.Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> [choice.name for choice in discreet.mechanism_choices(design, epsilon=1.0) if choice.refusal][:2]
    ['gaussian', 'wishart']
    """
    checked = options_of(mechanism_choices, options)
    check_design(design)
    fresh, budget = design.redeclared(), checked_budget(epsilon, delta, checked)
    ReleaseRequest.checked(fresh, budget, checked)
    return tuple(
        MechanismChoice(name, each.info.summary, each.kind, _refusal(fresh, budget, replace(checked, mechanism=name)))
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
