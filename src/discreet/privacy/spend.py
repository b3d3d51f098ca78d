"""The seam for a ledger: every release asks before it draws noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol, runtime_checkable

from discreet.errors import LedgerError, SpecError
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.loss import Loss
from discreet.privacy.unit import PrivacyUnit
from discreet.text import has_invisible_characters

# the anchor of a release that nobody counts
UNTRACKED: Final = "untracked"
_NOT_DRAWN: Final = "no noise was drawn and nothing was published"


@dataclass(frozen=True, slots=True)
class SpendRequest:
    """What a mechanism is about to spend, on whom, and why.

    Parameters
    ----------
    mechanism : str
        Public name of the mechanism.
    budget : PrivacyBudget
        What the release will cost by itself.
    unit : PrivacyUnit
        Whose presence the cost is about.
    description : str
        One line for the record, made of declared names only.
    loss : Loss, optional
        The cost in every currency; unless given, what the budget alone says.
    specification : mapping
        Everything public that decides what is published, as plain values for JSON: two requests with the same one ask
        for the same thing.
    fingerprint : function, optional
        From a secret key to a keyed digest of the table, which must never leave whoever holds the key; none where the
        table has none.
    once : str
        What can be used for one request only, such as a session of several curators and a key; whoever keeps books
        refuses a second request with the same text. Empty where a request uses up nothing but budget.
    answer : mapping
        Of a part of a release: what the file of the release must have, by the path of each field, such as
        `guarantee.epsilon`; whoever keeps books compares it with a release that names the part. Empty for a release,
        which is kept as a whole.

    Examples
    --------
    >>> request = SpendRequest("gaussian", PrivacyBudget(1.0, 1e-6), PrivacyUnit(), "income on age")
    >>> request.mechanism, request.loss.failure
    ('gaussian', 1e-06)
    """

    mechanism: str
    budget: PrivacyBudget
    unit: PrivacyUnit
    description: str
    loss: Loss = field(default=None)  # type: ignore[assignment]
    specification: Mapping[str, object] = field(default_factory=dict)
    fingerprint: Callable[[bytes], str] | None = None
    once: str = ""
    answer: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # read as a plain object: whoever knows no more than the budget leaves it out
        given: object = self.loss
        if given is None:
            object.__setattr__(self, "loss", Loss.approximate(self.budget.epsilon, self.budget.delta))


@dataclass(frozen=True, slots=True)
class SpendReceipt:
    """Proof that a spend was recorded.

    Attributes
    ----------
    anchor
        Where the record is, or "untracked"; the release file carries it.
    stored
        Text of the release that this very request was given before: it is given again, and nothing new is drawn.
    stage
        Called with the name of a stage whose output decides how the request goes on, such as the counts of a guard,
        and a function that draws that output as text; returns the text that was committed first under this name and
        request, which alone is acted on. None where nothing is recorded: then every run draws anew, and spends anew.
    commit
        Called with the text of the new release before anybody sees it; returns the text as it was recorded, which is
        what is published. None where nothing is recorded.
    stopped
        Text of the record with which this very request was stopped before: it is given again.
    stop
        Called instead of `commit`, with a record and the loss of what was drawn for it, by a request that stops before
        its end; the rest of its cost is given back. Returns the record as it was recorded.
    balance
        Says in one sentence what was spent and what is left.
    request_id
        Name under which the ledger has the request; empty where nothing is recorded.

    Examples
    --------
    >>> SpendReceipt("untracked").anchor
    'untracked'
    """

    anchor: str
    stored: str | None = None
    stage: Callable[[str, Callable[[], str]], str] | None = None
    commit: Callable[[str], str] | None = None
    stopped: str | None = None
    stop: Callable[[str, Loss], str] | None = None
    balance: Callable[[], str] | None = None
    request_id: str = ""


class SpendHook(Protocol):
    """Anything that records a request before noise is drawn, or refuses it by raising."""

    def __call__(self, request: SpendRequest) -> SpendReceipt:
        """Record the request durably and return where, or raise `BudgetError` with nothing spent."""
        ...


@runtime_checkable
class AdvisingHook(Protocol):
    """A hook that keeps books: it can refuse before a table is read, and is given the table's fingerprint."""

    def advise(self, request: SpendRequest) -> None:
        """Raise what a call with this request would raise, as far as that can be known without the table."""
        ...

    def __call__(self, request: SpendRequest) -> SpendReceipt:
        """Record the request, as a `SpendHook` does."""
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
    >>> untracked(SpendRequest("gaussian", PrivacyBudget(1.0, 1e-6), PrivacyUnit(), "income on age")).anchor
    'untracked'
    """
    return SpendReceipt(anchor=UNTRACKED)


class ObservedHook:
    """A spend hook with something to do before and after it; it advises if that hook does.

    Parameters
    ----------
    hook
        What records the request.
    before
        Called with the request first; what it raises refuses the request with nothing spent.
    after
        Called with the request and its receipt, before noise is drawn.

    Examples
    --------
    >>> seen = []
    >>> hook = ObservedHook(untracked, after=lambda request, receipt: seen.append(receipt.anchor))
    >>> hook(SpendRequest("gaussian", PrivacyBudget(1.0, 1e-6), PrivacyUnit(), "income on age")).anchor, seen
    ('untracked', ['untracked'])
    """

    def __init__(
        self,
        hook: SpendHook,
        *,
        before: Callable[[SpendRequest], None] = lambda _: None,
        after: Callable[[SpendRequest, SpendReceipt], None] = lambda _, __: None,
    ) -> None:
        self._hook, self._before, self._after = hook, before, after
        if isinstance(hook, AdvisingHook):
            # there only where the hook has it, because a release asks for it
            self.advise = hook.advise

    def __call__(self, request: SpendRequest) -> SpendReceipt:
        """Pass the request on."""
        self._before(request)
        receipt = self._hook(request)
        self._after(request, receipt)
        return receipt


def checked_receipt(receipt: object) -> SpendReceipt:
    """The receipt of a spend; a hook that does not say where it is recorded gets no noise drawn."""
    if not (isinstance(receipt, SpendReceipt) and isinstance(receipt.anchor, str) and receipt.anchor):
        raise LedgerError(f"the spend hook gave no SpendReceipt with an anchor; {_NOT_DRAWN}")
    if has_invisible_characters(receipt.anchor):
        raise LedgerError(f"the spend hook gave an anchor with invisible characters; {_NOT_DRAWN}")
    return receipt


def check_books(books: AdvisingHook | None, *, guard: bool) -> None:
    """Refuse a guard without a ledger."""
    if guard and books is None:
        raise SpecError(
            "a guard needs a ledger, which keeps its verdict: without one a stopped release could be tried again until "
            "it passes; give --ledger and --dataset, or spend=Ledger(path).account(name), or leave the guard out"
        )
