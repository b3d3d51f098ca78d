"""The seam for a ledger: every release asks before it draws noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.unit import PrivacyUnit


@dataclass(frozen=True, slots=True)
class SpendRequest:
    """What a mechanism is about to spend, on whom, and why.

    Parameters
    ----------
    mechanism : str
        Public name of the mechanism.
    budget : PrivacyBudget
        What the release will cost.
    unit : PrivacyUnit
        Whose presence the cost is about.
    description : str
        One line for the record, made of declared names only.

    Examples
    --------
    >>> request = SpendRequest("gaussian", PrivacyBudget(1.0, 1e-6), PrivacyUnit(), "income on age")
    >>> request.mechanism
    'gaussian'
    """

    mechanism: str
    budget: PrivacyBudget
    unit: PrivacyUnit
    description: str


@dataclass(frozen=True, slots=True)
class SpendReceipt:
    """Proof that a spend was recorded: `anchor`, where the record is or "untracked", which the release file carries.

    >>> SpendReceipt("untracked").anchor
    'untracked'
    """

    anchor: str


class SpendHook(Protocol):
    """Anything that records a request before noise is drawn, or refuses it by raising."""

    def __call__(self, request: SpendRequest) -> SpendReceipt:
        """Record the request durably and return where, or raise `BudgetError` with nothing spent."""
        ...


def untracked(request: SpendRequest) -> SpendReceipt:
    """Let every request pass and say so in the receipt: nobody keeps count.

    Parameters
    ----------
    request : SpendRequest
        What is about to be spent; not recorded.

    Returns
    -------
    SpendReceipt
        With the anchor "untracked".

    Examples
    --------
    >>> untracked(SpendRequest("gaussian", PrivacyBudget(1.0, 1e-6), PrivacyUnit(), "income on age"))
    SpendReceipt(anchor='untracked')
    """
    return SpendReceipt(anchor="untracked")
