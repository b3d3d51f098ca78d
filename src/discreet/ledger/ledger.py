"""Ledgers: declare budgets, open accounts and inspect what was spent."""

from __future__ import annotations

import json
import os
import warnings
from dataclasses import dataclass, replace
from typing import Final, Protocol

from discreet.errors import BudgetError, LedgerError, OptionError, PrivacyNotice, shown
from discreet.files import checked_path
from discreet.ledger.account import (
    Account,
    AccountState,
    as_json,
    book,
    books_of,
    budget_words,
    checked_request,
    contradicted,
    every_book,
    facts_of,
    largest_gaussian,
    left_words,
    spent_epsilon,
    steps_of,
    understood,
    used_by,
)
from discreet.ledger.event_log import Anchor, Event, EventLog, MergedAnchor, Storage, created
from discreet.ledger.filter import CURVE_SHARE, Charge, Rule, Terms
from discreet.privacy.budget import PrivacyBudget, PrivacyUnit, check_strength
from discreet.privacy.gaussian_dp import mu_from
from discreet.privacy.spend import Loss
from discreet.text import has_invisible_characters
from discreet.wording import Call

# -- status ------------------------------------------------------------------------------------------------------------
# The curator's view of a ledger: each data set with its budget, and each event in one line.

MOST_ALIKE: Final = 1000
_NUMBERS: Final = ("epsilon", "delta", "curve_share")


@dataclass(frozen=True, slots=True)
class Status:
    """Budget of one data set: total, spent and remaining.

    Attributes
    ----------
    dataset, unit, rule, epsilon, delta
        Name of the data set, its privacy unit, its accounting rule and its total budget.
    requests, waiting
        Number of accepted requests, and the ids of pending requests. Repeating a pending request completes it.
    spent_epsilon
        Epsilon spent so far, at the budget's delta.
    left
        Remainder of each sum of the rule, by name.
    largest_gaussian
        Epsilon of the largest Gaussian release that would still be accepted, at the budget's delta.
    alike
        For a planned request: number of identical requests that still fit the budget, including this one, at most 1000.
        Otherwise 0.
    """

    dataset: str
    unit: PrivacyUnit
    rule: str
    epsilon: float
    delta: float
    requests: int
    waiting: tuple[str, ...]
    spent_epsilon: float
    left: dict[str, float]
    left_words: str
    largest_gaussian: float
    alike: int = 0

    @classmethod
    def of(cls, books: AccountState) -> Status:
        """Compute the status from the state of a data set."""
        waiting = tuple(one.request for one in books.reservations.values() if one.ending is None)
        return _status(books, books.spent, books.requests, waiting)

    def to_dict(self) -> dict[str, object]:
        """Return plain values for JSON."""
        return {
            "dataset": self.dataset, "unit": self.unit.to_dict(), "rule": self.rule, "epsilon": self.epsilon,
            "delta": self.delta, "requests": self.requests, "waiting": list(self.waiting),
            "spent_epsilon": self.spent_epsilon, "left": dict(self.left), "largest_gaussian": self.largest_gaussian,
            **({"alike": self.alike} if self.alike else {}),
        }  # fmt: skip


def _status(books: AccountState, spent: Charge, requests: int, waiting: tuple[str, ...]) -> Status:
    terms: Terms = books.terms
    return Status(
        books.dataset, books.unit, terms.rule, terms.epsilon, terms.delta, requests, waiting,
        spent_epsilon(terms, spent),
        {name: amount / steps_of(name) for name, amount in terms.left(spent).items()},
        left_words(terms, spent),
        largest_gaussian(terms, spent),
    )  # fmt: skip


def typical_loss(epsilon: float, delta: float) -> Loss:
    """Return the loss of a pure request, or of Gaussian noise if delta is above 0.

    The gap between discrete and continuous noise depends on the design. It is small and is left out.

    >>> typical_loss(1.0, 0.0) == Loss.pure(1.0), round(typical_loss(1.0, 1e-6).mu, 4)
    (True, 0.2367)
    """
    promised = PrivacyBudget(epsilon, delta)
    if promised.delta == 0:
        return Loss.pure(promised.epsilon)
    return Loss.gaussian(promised.epsilon, promised.delta, mu=mu_from(promised.epsilon, promised.delta), tau=0.0)


def planned_status(books: AccountState, loss: Loss) -> Status | None:
    """Return the status after a planned request, or None if it would be refused."""
    charge = Charge.of(loss)
    if books.terms.route(books.spent, books.requests, charge) is None:
        return None
    waiting = Status.of(books).waiting
    after = _status(books, books.spent + charge, books.requests + 1, waiting)
    return replace(after, alike=_alike(books, charge))


def _alike(books: AccountState, charge: Charge) -> int:
    """Return the number of identical requests that still fit the budget."""
    spent, count = books.spent, 0
    while count < MOST_ALIKE and books.terms.route(spent, books.requests + count, charge) is not None:
        spent, count = spent + charge, count + 1
    return count


@dataclass(frozen=True, slots=True)
class Line:
    """One event of the history, without fingerprints or released content.

    Attributes
    ----------
    seq, time, kind, dataset, request
        Number, local time of writing, type of event, data set and request.
    facts
        Details for the reader.
    """

    seq: int
    time: str
    kind: str
    dataset: str
    request: str | None
    facts: dict[str, object]

    @classmethod
    def of(cls, event: Event) -> Line:
        """Build the line from an event."""
        body = facts_of(event)
        shown = ("epsilon", "delta", "mechanism", "description", "route", "reason", "made_by", "stage")
        with understood(event):
            facts = {name: body[name] for name in shown if name in body} | dict(body.get("terms", {}))
            if event.kind == "stage":
                # the noisy counts are omitted, because the release has them
                facts["verdict"] = json.loads(str(event.content))["verdict"]
            for name, value in facts.items():
                if not isinstance(value, int | float if name in _NUMBERS else str):
                    raise TypeError(name)
        return cls(event.seq, event.time, event.kind, event.dataset, event.request, facts)

    def to_dict(self) -> dict[str, object]:
        """Return plain values for JSON."""
        return {
            "seq": self.seq, "time": self.time, "kind": self.kind, "dataset": self.dataset, "request": self.request,
            **self.facts,
        }  # fmt: skip


# -- ledger ------------------------------------------------------------------------------------------------------------
# The public ledger.

_LONGEST_NAME = 100
_LONGEST_REASON = 1000


class Anchored(Protocol):
    """The part of a release's interface that a ledger uses."""

    @property
    def anchor(self) -> str:
        """Anchor of the spend of the release."""
        ...

    def to_json(self) -> str:
        """Return the text of the release."""
        ...


class Ledger:
    """Record of the privacy budget spent on data sets, in one file. Requests that would exceed a budget are refused.

    Opening a ledger verifies its chain of events. The file contains the text of every release and a secret key, so
    protect it like the data. Use `Ledger.create` for a new ledger.

    Parameters
    ----------
    path
        Path of the ledger file. It must not be a link or a folder.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import discreet
    >>> design = discreet.Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> table = {"x": [1.0, 2.0, 3.0], "y": [2.0, 4.0, 6.0]}
    >>> with TemporaryDirectory() as folder:
    ...     ledger = Ledger.create(Path(folder) / "books.db")
    ...     ledger.declare("trial", epsilon=1.0)
    ...     first = discreet.release(table, design, epsilon=0.5, spend=ledger.account("trial"))
    ...     again = discreet.release(table, design, epsilon=0.5, spend=ledger.account("trial"))
    ...     first.to_json() == again.to_json(), ledger.status("trial").spent_epsilon
    (True, 0.5)
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._storage = Storage(checked_path(path))

    @classmethod
    def create(cls, path: str | os.PathLike[str]) -> Ledger:
        """Create a ledger that only this user can read. An existing file is not replaced."""
        created(path)
        return cls(path)

    @property
    def ledger_id(self) -> str:
        """Id of the ledger, as in anchors."""
        return self._storage.ledger_id

    def declare(
        self,
        dataset: str,
        *,
        epsilon: float,
        delta: float = 0.0,
        rule: Rule | None = None,
        unit: PrivacyUnit | None = None,
        curve_share: float = CURVE_SHARE,
        allow_weak_privacy: bool = False,
    ) -> None:
        """Declare the budget of a data set, before any request.

        The budget belongs to the name of the data set. A changed table under the same name spends the same budget.

        Parameters
        ----------
        dataset
            Name of the data set.
        epsilon, delta
            Total budget of all requests. With delta = 0 the budget is pure.
        rule
            Accounting rule, which cannot be changed later: `gdp` adds mu^2, `zcdp` adds rho, `basic` adds epsilon and
            delta. The default is `gdp`, or `basic` for a pure budget.
        unit
            Privacy unit, by default one row. Requests with another unit are refused.
        curve_share
            For `gdp` and `zcdp`: fraction of delta for the privacy curve. The rest covers the difference between
            discrete and continuous noise, and requests that only guarantee (epsilon, delta).
        allow_weak_privacy
            True to accept epsilon above 20 or delta above 1e-3.
        """
        name = checked_name("data set", dataset, _LONGEST_NAME)
        for notice in check_strength(PrivacyBudget(epsilon, delta), allow_weak_privacy):
            warnings.warn(notice, PrivacyNotice, stacklevel=2)
        terms = declared_terms(epsilon, delta, rule, curve_share)
        unit = PrivacyUnit() if unit is None else unit
        if not isinstance(unit, PrivacyUnit):
            raise OptionError(
                f"unit: expected a PrivacyUnit, got {type(unit).__name__}", option="unit", allowed="a PrivacyUnit"
            )
        self._storage.check_space()
        with self._storage.writing() as log:
            if name in every_book(log, self.ledger_id, name):
                raise OptionError(
                    f"data set {name!r} is already declared",
                    code="declared-already",
                    option="dataset",
                    given=name,
                    remedy=Call("Ledger.grant", "raise its budget"),
                )
            log.append("dataset", name, None, as_json({"terms": terms.to_dict(), "unit": unit.to_dict()}))

    def grant(
        self, dataset: str, *, epsilon: float, delta: float | None = None, reason: str, allow_weak_privacy: bool = False
    ) -> Status:
        """Raise the total budget of a data set. The new, weaker guarantee then also applies to earlier releases.

        Parameters
        ----------
        dataset
            Name of the data set.
        epsilon, delta
            New total budget, including earlier requests. If delta is omitted, it does not change.
        reason
            Why the budget is raised. It is recorded in the history.
        allow_weak_privacy
            True to accept epsilon above 20 or delta above 1e-3.
        """
        why = checked_name("reason", reason, _LONGEST_REASON)
        with self._storage.writing() as log:
            books = book(log, self.ledger_id, dataset)
            old = books.terms
            given = old.delta if delta is None else delta
            for notice in check_strength(PrivacyBudget(epsilon, given), allow_weak_privacy):
                warnings.warn(notice, PrivacyNotice, stacklevel=2)
            terms = Terms(old.rule, epsilon, given, old.curve_share)
            if terms.epsilon < old.epsilon or terms.delta < old.delta or terms == old:
                raise OptionError(
                    f"a grant must raise the budget: data set {dataset!r} has epsilon = {old.epsilon:g}, "
                    f"delta = {old.delta:g}, got epsilon = {terms.epsilon:g}, delta = {terms.delta:g}",
                    code="not-a-raise",
                    option="epsilon",
                    given=terms.epsilon,
                    allowed=f"an epsilon of at least {old.epsilon:g} and a delta of at least {old.delta:g}",
                )
            books.terms = terms
            if not books.holds:
                raise BudgetError(
                    "the amount already spent exceeds the new budget: a larger epsilon increases the delta that "
                    "discrete noise costs. Nothing was changed",
                    option="delta",
                    remedy="raise delta too",
                )
            log.append("grant", dataset, None, as_json({"terms": terms.to_dict(), "reason": why}))
            return Status.of(books)

    def account(
        self,
        dataset: str,
        request_id: str | None = None,
        *,
        new_release: bool = False,
        accept_changed_data: bool = False,
        refuse_shared_table: bool = False,
    ) -> Account:
        """Return the account of a data set, for the `spend` argument of `discreet.release` and of the primitives.

        Repeating a request returns the same release at no cost.

        Parameters
        ----------
        dataset
            Name of a declared data set.
        request_id
            Id of the request. The default is a keyed digest of the request, the table and the version of discreet.
        new_release
            True to spend budget on a new release even if this request already has one.
        accept_changed_data
            True to accept a table that differs from the last table of this data set. Both spend the same budget.
        refuse_shared_table
            True to refuse a table that was already charged to another data set of this ledger, because its people
            would be exposed to the sum of both budgets. Files are identified by their bytes, other tables by their
            rows under the same design.
        """
        account = Account(self._storage, dataset, request_id, new_release, accept_changed_data, refuse_shared_table)
        self._books(dataset)
        return account

    def status(self, dataset: str) -> Status:
        """Return the spent and remaining budget of one data set."""
        return Status.of(self._books(dataset))

    def planned(self, dataset: str, loss: Loss) -> Status | None:
        """Return the status after a planned request, or None if it would be refused."""
        if not isinstance(loss, Loss):
            raise OptionError(f"loss: expected a Loss, got {type(loss).__name__}", option="loss", allowed="a Loss")
        return planned_status(self._books(dataset), loss)

    def statuses(self) -> list[Status]:
        """Return the status of every data set, in the order of declaration."""
        with self._storage.reading() as log:
            return [Status.of(books) for books in every_book(log, self.ledger_id).values()]

    def history(self, dataset: str | None = None) -> list[Line]:
        """Return all events in order, or only the events of one data set."""
        if dataset is not None:
            self._books(dataset)
        with self._storage.reading() as log:
            events = log.events() if dataset is None else log.events("dataset = ?", dataset)
            return [Line.of(event) for event in events]

    def verify(self, given: Anchored | str | None = None) -> Anchor:
        """Verify every event and every page of the file, and that a release or an anchor belongs to this ledger.

        An outdated copy of a ledger passes these checks unless a newer anchor is given. For a merged release, the parts
        charged to this ledger must be recorded in it, with the same session, design and terms. One ledger cannot show
        whether the release is the sum of its parts.

        Parameters
        ----------
        given
            A release or its anchor.

        Returns
        -------
        Anchor
            Anchor of the last event. Store it outside the ledger to detect an outdated copy later.

        Raises
        ------
        LedgerError
            If a check fails.
        """
        seq, last = self._storage.check_whole()
        for status in self.statuses():
            if not self._books(status.dataset).holds:
                raise LedgerError(f"data set {status.dataset!r} has spent more than its budget", code="overspent")
        if given is not None:
            self._check_belongs(given)
        return Anchor(self.ledger_id, seq, last)

    def _check_belongs(self, given: Anchored | str) -> None:
        text = given if isinstance(given, str) else getattr(given, "anchor", None)
        if not isinstance(text, str):
            raise OptionError(
                f"expected a release or its anchor, got {type(given).__name__}", allowed="a release or its anchor"
            )
        merged = MergedAnchor.parsed(text)
        if merged is not None:
            self._check_parts(merged, None if isinstance(given, str) else given.to_json())
            return
        anchor = Anchor.parsed(text)
        if anchor.ledger_id != self.ledger_id:
            raise LedgerError(
                f"the anchor belongs to another ledger ({anchor.ledger_id}), not to this one ({self.ledger_id})",
                code="anchor-elsewhere",
            )
        with self._storage.reading() as log:
            found = self._event(log, anchor)
            if isinstance(given, str):
                return
            ending = next(log.events("request = ? AND kind = 'commit'", found.request), None)
        if ending is None or ending.content != given.to_json():
            raise LedgerError(
                f"this ledger recorded another release for event {anchor.seq}, or none: the release file was edited",
                code="anchor-edited",
            )

    def _check_parts(self, merged: MergedAnchor, release: str | None) -> None:
        """Check that the parts charged to this ledger are recorded as parts of this merged release."""
        if not merged.names_each(len(merged.anchors)):
            raise LedgerError(
                "the anchor was edited: it must name the spend of each curator exactly once", code="anchor-edited"
            )
        own = merged.of_ledger(self.ledger_id)
        if not own:
            raise LedgerError(
                f"the release has {len(merged.anchors)} anchors, one for each curator, but none belongs to this ledger "
                f"({self.ledger_id}); verify the release with the ledger of one of its curators",
                code="anchor-elsewhere",
            )
        with self._storage.reading() as log:
            for anchor in own:
                found = self._event(log, anchor)
                if used_by(found) != merged.session:
                    raise LedgerError(
                        f"the anchor was edited: event {anchor.seq} of this ledger is not a part of session "
                        f"{merged.session}",
                        code="anchor-edited",
                    )
                other = None if release is None else contradicted(found, release)
                if other is not None:
                    raise LedgerError(
                        f"event {anchor.seq} of this ledger records a part of a different release, which has another "
                        f"{other!r}: the anchor was copied from another release, or the release file was edited",
                        code="anchor-edited",
                    )

    def _event(self, log: EventLog, anchor: Anchor) -> Event:
        """Return the event of an anchor of this ledger, and check the budget in the anchor."""
        found = next(log.events("seq = ?", anchor.seq), None)
        if found is None or found.hash != anchor.hash:
            raise LedgerError(
                f"the anchor names event {anchor.seq}, which is not in this ledger: the ledger is an older copy, or "
                "was changed",
                code="event-missing",
            )
        if anchor.budget:
            before = books_of(log.events("dataset = ? AND seq <= ?", found.dataset, anchor.seq), self.ledger_id)
            if anchor.budget != budget_words(before[found.dataset].terms):
                raise LedgerError(
                    f"the anchor was edited: it does not name the budget that data set {found.dataset!r} had at event "
                    f"{anchor.seq}",
                    code="anchor-edited",
                )
        return found

    def export(self, request: str) -> str:
        """Return the recorded text of the release of a request, at no cost.

        If the request made a part of a joint release, read the text with `Part.from_text`.
        """
        checked_request(request)
        with self._storage.reading() as log:
            events = list(log.events("request = ?", request))
        if not events:
            raise OptionError(
                f"the ledger has no request {request!r}",
                code="no-such-request",
                option="request",
                given=request,
                remedy=Call("Ledger.history", "list all requests"),
            )
        if events[-1].kind != "commit":
            how = (
                "has no release: it was stopped by its guard, or private bounds were not found"
                if events[-1].kind == "stop"
                else "has no release yet: repeat the request to complete it"
            )
            raise OptionError(
                f"request {request!r} {how}", code="request-without-release", option="request", given=request
            )
        return str(events[-1].content)

    def _books(self, dataset: str) -> AccountState:
        with self._storage.reading() as log:
            return book(log, self.ledger_id, checked_name("data set", dataset, _LONGEST_NAME))

    def __repr__(self) -> str:
        return f"<Ledger {self._storage.path.name!r}>"


def check_declaration(
    dataset: str,
    *,
    epsilon: float,
    delta: float,
    rule: Rule | None,
    curve_share: float,
    allow_weak_privacy: bool,
) -> None:
    """Check the arguments of `Ledger.declare` before a ledger exists."""
    checked_name("data set", dataset, _LONGEST_NAME)
    check_strength(PrivacyBudget(epsilon, delta), allow_weak_privacy)
    declared_terms(epsilon, delta, rule, curve_share)


def declared_terms(epsilon: float, delta: float, rule: Rule | None, curve_share: float) -> Terms:
    """Return the terms of a budget. The default rule is `gdp`, or `basic` without delta."""
    return Terms(("gdp" if delta > 0 else "basic") if rule is None else rule, epsilon, delta, curve_share)


def checked_name(what: str, name: object, longest: int) -> str:
    """Check that a name or reason is a single line of limited length."""
    if not isinstance(name, str) or not name.strip() or len(name) > longest or has_invisible_characters(name):
        raise OptionError(
            f"{what} {shown(name)} is not allowed",
            option="dataset" if what == "data set" else what,
            given=name,
            allowed=f"1 to {longest} visible characters on one line",
            remedy=f"use 1 to {longest} visible characters on one line",
        )
    return name
