"""Open, declare and inspect a ledger."""

from __future__ import annotations

import json
import os
import warnings
from dataclasses import dataclass, replace
from typing import Final, Protocol

from discreet.errors import BudgetError, LedgerError, PrivacyNotice, SpecError, shown
from discreet.files import checked_path
from discreet.ledger.account import (
    Account,
    Books,
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
from discreet.ledger.event_log import Anchor, Event, MergedAnchor, Storage, Tape, created
from discreet.ledger.filter import CURVE_SHARE, Charge, Rule, Terms
from discreet.privacy.budget import PrivacyBudget, PrivacyUnit, check_strength
from discreet.privacy.gaussian_dp import mu_from
from discreet.privacy.spend import Loss
from discreet.text import has_invisible_characters

# -- status ------------------------------------------------------------------------------------------------------------
# What a curator reads of a ledger: each data set with its budget, and each event in one line.

MOST_ALIKE: Final = 1000
_NUMBERS: Final = ("epsilon", "delta", "curve_share")


@dataclass(frozen=True, slots=True)
class Status:
    """One data set: its budget, what is spent, and what is left.

    Attributes
    ----------
    dataset, unit, rule, epsilon, delta
        Its name, whose presence is hidden, and the budget of all requests together with the rule that counts.
    requests, waiting
        How many requests were taken, and the ids of those that have no release yet; the same request finishes them.
    spent_epsilon
        Epsilon of everything so far, at the budget's delta.
    left
        What each sum of the rule still takes, by name.
    largest_gaussian
        Epsilon, at the budget's delta, of the largest Gaussian release that is still taken.
    alike
        Of a plan: how many requests like the planned one would be taken in a row, that one included; at most 1000 are
        tried. 0 where nothing is planned.
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
    def of(cls, books: Books) -> Status:
        """Read the status off the books."""
        waiting = tuple(one.request for one in books.reservations.values() if one.ending is None)
        return _status(books, books.spent, books.requests, waiting)

    def to_dict(self) -> dict[str, object]:
        """The status as plain values for JSON."""
        return {
            "dataset": self.dataset, "unit": self.unit.to_dict(), "rule": self.rule, "epsilon": self.epsilon,
            "delta": self.delta, "requests": self.requests, "waiting": list(self.waiting),
            "spent_epsilon": self.spent_epsilon, "left": dict(self.left), "largest_gaussian": self.largest_gaussian,
            **({"alike": self.alike} if self.alike else {}),
        }  # fmt: skip


def _status(books: Books, spent: Charge, requests: int, waiting: tuple[str, ...]) -> Status:
    terms: Terms = books.terms
    return Status(
        books.dataset, books.unit, terms.rule, terms.epsilon, terms.delta, requests, waiting,
        spent_epsilon(terms, spent),
        {name: amount / steps_of(name) for name, amount in terms.left(spent).items()},
        left_words(terms, spent),
        largest_gaussian(terms, spent),
    )  # fmt: skip


def typical_loss(epsilon: float, delta: float) -> Loss:
    """The loss of a request of which only the promise is known: Gaussian noise that just keeps it, or a pure request.

    The step to the lattice depends on the design and is left out; next to the noise it is small.

    >>> typical_loss(1.0, 0.0) == Loss.pure(1.0), round(typical_loss(1.0, 1e-6).mu, 4)
    (True, 0.2367)
    """
    promised = PrivacyBudget(epsilon, delta)
    if promised.delta == 0:
        return Loss.pure(promised.epsilon)
    return Loss.gaussian(promised.epsilon, promised.delta, mu=mu_from(promised.epsilon, promised.delta), tau=0.0)


def planned_status(books: Books, loss: Loss) -> Status | None:
    """What a request would leave; none if it would be refused."""
    charge = Charge.of(loss)
    if books.terms.route(books.spent, books.requests, charge) is None:
        return None
    waiting = Status.of(books).waiting
    after = _status(books, books.spent + charge, books.requests + 1, waiting)
    return replace(after, alike=_alike(books, charge))


def _alike(books: Books, charge: Charge) -> int:
    """How many requests of one cost are taken in a row."""
    spent, count = books.spent, 0
    while count < MOST_ALIKE and books.terms.route(spent, books.requests + count, charge) is not None:
        spent, count = spent + charge, count + 1
    return count


@dataclass(frozen=True, slots=True)
class Line:
    """One event of the history, without fingerprints and without what was released.

    Attributes
    ----------
    seq, time, kind, dataset, request
        Number, time by the clock of that machine, what happened, to which data set and by which request.
    facts
        What a reader may want to know of it.
    """

    seq: int
    time: str
    kind: str
    dataset: str
    request: str | None
    facts: dict[str, object]

    @classmethod
    def of(cls, event: Event) -> Line:
        """Read the line off an event."""
        body = facts_of(event)
        shown = ("epsilon", "delta", "mechanism", "description", "route", "reason", "made_by", "stage")
        with understood(event):
            facts = {name: body[name] for name in shown if name in body} | dict(body.get("terms", {}))
            if event.kind == "stage":
                # without its noisy counts, which are in the release
                facts["verdict"] = json.loads(str(event.content))["verdict"]
            for name, value in facts.items():
                if not isinstance(value, int | float if name in _NUMBERS else str):
                    raise TypeError(name)
        return cls(event.seq, event.time, event.kind, event.dataset, event.request, facts)

    def to_dict(self) -> dict[str, object]:
        """The line as plain values for JSON."""
        return {
            "seq": self.seq, "time": self.time, "kind": self.kind, "dataset": self.dataset, "request": self.request,
            **self.facts,
        }  # fmt: skip


# -- ledger ------------------------------------------------------------------------------------------------------------
# The public ledger: open or make one, declare data sets, look, verify, and spend through an account.

_LONGEST_NAME = 100
_LONGEST_REASON = 1000


class Anchored(Protocol):
    """A release, as far as a ledger looks at it."""

    @property
    def anchor(self) -> str:
        """Where its spend is recorded."""
        ...

    def to_json(self) -> str:
        """Its text."""
        ...


class Ledger:
    """The record of what was spent on data sets, in one file; a filter refuses what would exceed a budget.

    Opening verifies the chain of its events. The file holds the text of every release and a secret key: keep it where
    the data is kept. Use `Ledger.create` for a new one.

    Parameters
    ----------
    path
        File of the ledger; a link or a folder is refused.

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
        """Make a new ledger that only this user may read; an existing file is left alone."""
        created(path)
        return cls(path)

    @property
    def ledger_id(self) -> str:
        """The name that anchors carry."""
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
        """Give a data set a budget, before anything is asked of it.

        The budget belongs to the name, not to the content: a changed table spends the same one.

        Parameters
        ----------
        dataset
            Its name.
        epsilon, delta
            What all requests together may cost; delta = 0 is a pure budget.
        rule
            How requests are counted: `gdp` adds mu^2, `zcdp` adds rho, `basic` adds epsilon and delta. Unless given
            `gdp`, or `basic` for a pure budget. It is never changed.
        unit
            Whose presence is hidden: one row unless given. Requests about another unit are refused.
        curve_share
            For `gdp` and `zcdp`: the part of delta for the curve; the rest is for lattice gaps and for requests that
            promise (epsilon, delta) alone.
        allow_weak_privacy
            Accept epsilon above 20 or delta above 1e-3.
        """
        name = checked_name("data set", dataset, _LONGEST_NAME)
        for notice in check_strength(PrivacyBudget(epsilon, delta), allow_weak_privacy):
            warnings.warn(notice, PrivacyNotice, stacklevel=2)
        terms = declared_terms(epsilon, delta, rule, curve_share)
        unit = PrivacyUnit() if unit is None else unit
        if not isinstance(unit, PrivacyUnit):
            raise SpecError(f"unit: expected a PrivacyUnit, got {type(unit).__name__}")
        self._storage.check_space()
        with self._storage.writing() as tape:
            if name in every_book(tape, self.ledger_id, name):
                raise SpecError(f"data set {name!r} is declared already; raise its budget with: discreet ledger grant")
            tape.append("dataset", name, None, as_json({"terms": terms.to_dict(), "unit": unit.to_dict()}))

    def grant(
        self, dataset: str, *, epsilon: float, delta: float | None = None, reason: str, allow_weak_privacy: bool = False
    ) -> Status:
        """Raise the budget of a data set to a new whole; the promise is then the larger one, for the past too.

        Parameters
        ----------
        dataset
            Its name.
        epsilon, delta
            The new budget of all requests together, earlier ones included; delta stays unless given.
        reason
            Why; it stands in the history.
        allow_weak_privacy
            Accept epsilon above 20 or delta above 1e-3.
        """
        why = checked_name("reason", reason, _LONGEST_REASON)
        with self._storage.writing() as tape:
            books = book(tape, self.ledger_id, dataset)
            old = books.terms
            given = old.delta if delta is None else delta
            for notice in check_strength(PrivacyBudget(epsilon, given), allow_weak_privacy):
                warnings.warn(notice, PrivacyNotice, stacklevel=2)
            terms = Terms(old.rule, epsilon, given, old.curve_share)
            if terms.epsilon < old.epsilon or terms.delta < old.delta or terms == old:
                raise SpecError(
                    f"a grant raises the budget; data set {dataset!r} has epsilon = {old.epsilon:g}, "
                    f"delta = {old.delta:g}, got epsilon = {terms.epsilon:g}, delta = {terms.delta:g}"
                )
            books.terms = terms
            if not books.holds:
                raise BudgetError(
                    "what was spent does not fit the new budget: lattice gaps count (1 + e^epsilon) times, with the "
                    "new epsilon; raise delta, too. Nothing was changed"
                )
            tape.append("grant", dataset, None, as_json({"terms": terms.to_dict(), "reason": why}))
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
        """The data set's account: the `spend` of `discreet.release` and of the primitives.

        The same request gives the same release again, at no cost.

        Parameters
        ----------
        dataset
            A declared name.
        request_id
            Name of the request; unless given, a keyed digest of all that is asked, of the table and of the version.
        new_release
            Pay for another release although the same one exists.
        accept_changed_data
            Take a table that differs from the last one; it spends the same budget.
        refuse_shared_table
            Refuse a table that was charged to another data set of this ledger: its people would lose the sum of both
            budgets. Files are known by their bytes, other tables by their rows under the same design.
        """
        account = Account(self._storage, dataset, request_id, new_release, accept_changed_data, refuse_shared_table)
        self._books(dataset)
        return account

    def status(self, dataset: str) -> Status:
        """What is spent and left of one data set's budget."""
        return Status.of(self._books(dataset))

    def planned(self, dataset: str, loss: Loss) -> Status | None:
        """What a planned request would leave; none if it would be refused."""
        if not isinstance(loss, Loss):
            raise SpecError(f"loss: expected a Loss, got {type(loss).__name__}")
        return planned_status(self._books(dataset), loss)

    def statuses(self) -> list[Status]:
        """Every data set, in the order of declaration."""
        with self._storage.reading() as tape:
            return [Status.of(books) for books in every_book(tape, self.ledger_id).values()]

    def history(self, dataset: str | None = None) -> list[Line]:
        """Every event in order, or those of one data set."""
        if dataset is not None:
            self._books(dataset)
        with self._storage.reading() as tape:
            events = tape.events() if dataset is None else tape.events("dataset = ?", dataset)
            return [Line.of(event) for event in events]

    def verify(self, given: Anchored | str | None = None) -> Anchor:
        """Check every event and every page of the file, and that a release or an anchor belongs to it.

        A copy that was restored from yesterday is whole by itself: only an anchor of today shows that it is old. Of a
        release of several curators it is the parts that this ledger counts that must be in it, made for a release of
        the same session, design and terms; whether its numbers are their sum, one ledger cannot show.

        Parameters
        ----------
        given
            A release, or its anchor.

        Returns
        -------
        Anchor
            Of the last event; keep it elsewhere.

        Raises
        ------
        LedgerError
            If anything does not fit.
        """
        seq, last = self._storage.check_whole()
        for status in self.statuses():
            if not self._books(status.dataset).holds:
                raise LedgerError(f"data set {status.dataset!r} has spent more than its budget")
        if given is not None:
            self._check_belongs(given)
        return Anchor(self.ledger_id, seq, last)

    def _check_belongs(self, given: Anchored | str) -> None:
        text = given if isinstance(given, str) else getattr(given, "anchor", None)
        if not isinstance(text, str):
            raise SpecError(f"expected a release or its anchor, got {type(given).__name__}")
        merged = MergedAnchor.parsed(text)
        if merged is not None:
            self._check_parts(merged, None if isinstance(given, str) else given.to_json())
            return
        anchor = Anchor.parsed(text)
        if anchor.ledger_id != self.ledger_id:
            raise LedgerError(f"the anchor is of another ledger: {anchor.ledger_id}; this one is {self.ledger_id}")
        with self._storage.reading() as tape:
            found = self._event(tape, anchor)
            if isinstance(given, str):
                return
            ending = next(tape.events("request = ? AND kind = 'commit'", found.request), None)
        if ending is None or ending.content != given.to_json():
            raise LedgerError(
                f"event {anchor.seq} of the anchor has another release in this ledger, or none: the file was edited"
            )

    def _check_parts(self, merged: MergedAnchor, release: str | None) -> None:
        """Check the parts of a merged release whose spends are said to be here, and that they are of this release."""
        if not merged.names_each(len(merged.anchors)):
            raise LedgerError("the anchor does not name the spend of each curator once: it was edited")
        own = merged.of_ledger(self.ledger_id)
        if not own:
            raise LedgerError(
                f"none of the {len(merged.anchors)} anchors of the release, one of each curator, is of this ledger "
                f"({self.ledger_id}); each curator's own ledger has that of its part"
            )
        with self._storage.reading() as tape:
            for anchor in own:
                found = self._event(tape, anchor)
                if used_by(found) != merged.session:
                    raise LedgerError(
                        f"event {anchor.seq} of the anchor is not a part of session {merged.session}: it was edited"
                    )
                other = None if release is None else contradicted(found, release)
                if other is not None:
                    raise LedgerError(
                        f"event {anchor.seq} of the anchor is a part of a release with another {other!r}: the anchor "
                        "was copied from that one, or the file was edited"
                    )

    def _event(self, tape: Tape, anchor: Anchor) -> Event:
        """The event of an anchor of this ledger, with the budget that the anchor names."""
        found = next(tape.events("seq = ?", anchor.seq), None)
        if found is None or found.hash != anchor.hash:
            raise LedgerError(
                f"event {anchor.seq} of the anchor is not in this ledger: it is an older copy, or was changed"
            )
        if anchor.budget:
            before = books_of(tape.events("dataset = ? AND seq <= ?", found.dataset, anchor.seq), self.ledger_id)
            if anchor.budget != budget_words(before[found.dataset].terms):
                raise LedgerError(
                    f"the anchor names another budget than data set {found.dataset!r} had at event {anchor.seq}: "
                    "it was edited"
                )
        return found

    def export(self, request: str) -> str:
        """The text of the release that a request was given, once more and at no cost.

        Of a part of several curators it is what `Part.from_text` reads.
        """
        checked_request(request)
        with self._storage.reading() as tape:
            events = list(tape.events("request = ?", request))
        if not events:
            raise SpecError(f"the ledger has no request {request!r}; see: discreet ledger history")
        if events[-1].kind != "commit":
            how = (
                "was stopped by its guard, or did not find private bounds, and has no release"
                if events[-1].kind == "stop"
                else "has no release yet: run the same release again"
            )
            raise SpecError(f"request {request!r} {how}")
        return str(events[-1].content)

    def _books(self, dataset: str) -> Books:
        with self._storage.reading() as tape:
            return book(tape, self.ledger_id, checked_name("data set", dataset, _LONGEST_NAME))

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
    """Refuse what `declare` would refuse of every ledger, before there is one.

    >>> check_declaration("trial", epsilon=1.0, delta=0.0, rule=None, curve_share=0.999, allow_weak_privacy=False)
    """
    checked_name("data set", dataset, _LONGEST_NAME)
    check_strength(PrivacyBudget(epsilon, delta), allow_weak_privacy)
    declared_terms(epsilon, delta, rule, curve_share)


def declared_terms(epsilon: float, delta: float, rule: Rule | None, curve_share: float) -> Terms:
    """The terms of a budget, with the rule that holds unless one is given.

    >>> declared_terms(1.0, 0.0, None, 0.999).rule
    'basic'
    """
    return Terms(("gdp" if delta > 0 else "basic") if rule is None else rule, epsilon, delta, curve_share)


def checked_name(what: str, name: object, longest: int) -> str:
    """A name or reason on one line.

    >>> checked_name("data set", "trial", 100)
    'trial'
    """
    if not isinstance(name, str) or not name.strip() or len(name) > longest or has_invisible_characters(name):
        raise SpecError(f"{what} {shown(name)} is not allowed; write 1 to {longest} visible characters on one line")
    return name
