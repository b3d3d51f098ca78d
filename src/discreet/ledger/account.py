"""A data set's account as a spend hook: reserve, then noise, then commit; only what is committed is shown."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final

from discreet import __version__
from discreet.errors import AfterSpendError, BudgetError, LedgerError, SpecError, shown
from discreet.ledger.books import Books, Reservation, as_json, book, recorded_under, used_once
from discreet.ledger.filter import Charge
from discreet.ledger.steps import at
from discreet.ledger.storage import Storage, Tape
from discreet.ledger.words import left_words, spent_epsilon
from discreet.privacy.checks import check_flag
from discreet.privacy.loss import Loss
from discreet.privacy.spend import SpendReceipt, SpendRequest
from discreet.privacy.unit import PrivacyUnit

_REQUEST: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,99}", re.ASCII)
_ID_SIGNS: Final = 32


@dataclass(frozen=True)
class Account:
    """The spend hook of one data set; see `Ledger.account`."""

    storage: Storage
    dataset: str
    request_id: str | None = None
    new_release: bool = False
    accept_changed_data: bool = False
    refuse_shared_table: bool = False

    def __post_init__(self) -> None:
        for name in ("new_release", "accept_changed_data", "refuse_shared_table"):
            check_flag(name, getattr(self, name))
        if self.request_id is not None:
            checked_request(self.request_id)
            if self.new_release:
                raise SpecError(
                    "got --request-id and --new-release (new_release=True); a request id names one release: give one "
                    "of the two"
                )

    def advise(self, request: SpendRequest) -> None:
        """Refuse at once what would be refused later; nothing is recorded."""
        with self.storage.reading() as tape:
            books = book(tape, self.storage.ledger_id, self.dataset)
            # the same question may have been answered already, which costs nothing
            question = self._question(request)
            known = {one.request for one in books.reservations.values() if one.question == question}
            _check_unused(tape, request, known)
        _check_unit(books, request.unit)
        if not known or self.new_release:
            _route(books, request)
        self.storage.check_space()
        at("advised")

    def __call__(self, request: SpendRequest) -> SpendReceipt:
        """Record the request, or find it recorded; refuse it with nothing spent."""
        at("summed")
        fingerprint = None if request.fingerprint is None else request.fingerprint(self.storage.key)
        digest = self._digest(request, fingerprint)
        name = self._named(digest, fingerprint)
        with self.storage.writing() as tape:
            books = book(tape, self.storage.ledger_id, self.dataset)
            _check_unit(books, request.unit)
            known = books.reservations.get(name)
            if known is None:
                if next(tape.events("request = ?", name), None) is not None:
                    raise SpecError(f"request {name!r} belongs to another data set of this ledger; choose another id")
                # whatever table it is of: two answers under one mask show their difference
                _check_unused(tape, request, ())
                self._check_same_table(books, fingerprint)
                self._check_own_table(tape, fingerprint)
                charge, route = Charge.of(request.loss), _route(books, request)
                self.storage.check_space()
                tape.append("reserve", self.dataset, name, as_json({
                    "digest": digest, "question": self._question(request), "charge": charge.to_dict(), "route": route,
                    "fingerprint": _kept(fingerprint), "epsilon": request.budget.epsilon,
                    "delta": request.budget.delta, "mechanism": request.mechanism, "made_by": f"discreet {__version__}",
                    "description": request.description, **({"once": request.once} if request.once else {}),
                    **({"answer": dict(request.answer)} if request.answer else {}),
                }))  # fmt: skip
                at("reserving")
                books = book(tape, self.storage.ledger_id, self.dataset)
                known = books.reservations[name]
        at("reserved")
        if known.digest != digest:
            raise SpecError(
                f"request {name!r} is recorded for another question, table or version; give the same command as "
                "before, or another request id. Nothing was spent"
            )
        return self._receipt(known)

    def _receipt(self, known: Reservation) -> SpendReceipt:
        """What the request is given: its release or verdict where it has one, and else leave to draw noise."""
        receipt = SpendReceipt(str(known.anchor), request_id=known.request, balance=self._balance)
        if known.ending == "commit":
            return replace(receipt, stored=known.content)
        if known.ending == "stop":
            return replace(receipt, stopped=known.content)

        def stage(name: str, draw: Callable[[], str]) -> str:
            return self._staged(known, name, draw)

        def commit(text: str) -> str:
            at("drawn")
            return self._ended(known, "commit", text, {})

        def stop(record: str, spent: Loss) -> str:
            charge = Charge.of(spent)
            if not known.whole.covers(charge):
                raise LedgerError("a stop cannot cost more than was reserved")
            # a request that was taken as the only one keeps the whole: what follows a stop would be another choice
            kept = known.whole if known.route == "first" else charge  # [P:filter-stop]
            return self._ended(known, "stop", record, {"charge": kept.to_dict()})

        return replace(receipt, stage=stage, commit=commit, stop=stop)

    def _balance(self) -> str:
        """What the data set has spent and what is left, in one sentence."""
        with self.storage.reading() as tape:
            books = book(tape, self.storage.ledger_id, self.dataset)
        spent = spent_epsilon(books.terms, books.spent)
        return (
            f"Data set {self.dataset!r} has spent epsilon = {spent:.4g} at delta = {books.terms.delta:g} in all; left: "
            f"{left_words(books.terms, books.spent)}"
        )

    def _staged(self, known: Reservation, name: str, draw: Callable[[], str]) -> str:
        """Give the committed output of a stage; where there is none, draw it and commit it."""
        body = as_json({"stage": name})
        committed = "request = ? AND kind = 'stage' AND body = ?"
        with self.storage.writing() as tape:
            if next(tape.events(committed, known.request, body), None) is None:
                # drawn while nobody else writes: which process draws does not depend on what it draws
                tape.append("stage", self.dataset, known.request, body, draw())  # [P:one-stage]
                at("staging")
        at("staged")
        with self.storage.reading() as tape:
            (event,) = tape.events(committed, known.request, body)
        return str(event.content)

    def _ended(self, known: Reservation, kind: str, text: str, facts: Mapping[str, object]) -> str:
        """Record how the request ended, unless a twin did; give the text that is recorded, read back."""
        ends = "request = ? AND kind IN ('commit', 'stop')"
        with self.storage.writing() as tape:
            if next(tape.events(ends, known.request), None) is None:
                tape.append("commit" if kind == "commit" else "stop", self.dataset, known.request, as_json(facts), text)
                at("committing")
        at("committed")
        with self.storage.reading() as tape:
            (event,) = tape.events(ends, known.request)
        if event.kind != kind:
            raise AfterSpendError(f"request {known.request!r} ended otherwise in another process; ask again to see how")
        at("read")
        return str(event.content)

    def _digest(self, request: SpendRequest, fingerprint: str | None) -> str:
        asked = {
            "ledger": self.storage.ledger_id, "dataset": self.dataset, "fingerprint": fingerprint,
            "mechanism": request.mechanism, "specification": dict(request.specification),
            "epsilon": request.budget.epsilon, "delta": request.budget.delta, "unit": request.unit.to_dict(),
            "version": __version__,
        }  # fmt: skip
        return hmac.new(self.storage.key, as_json(asked).encode(), hashlib.sha256).hexdigest()

    def _question(self, request: SpendRequest) -> str:
        return self._digest(request, "")

    def _named(self, digest: str, fingerprint: str | None) -> str:
        """The request's id: the given one, a fresh one, or one that stands for all that is asked."""
        if self.request_id is not None:
            return self.request_id
        if self.new_release:
            return secrets.token_hex(_ID_SIGNS // 2)
        if fingerprint is None:
            raise SpecError(
                "this table has no fingerprint by which a repeated request would be known; give a request id of your "
                "own (--request-id), or ask for a new release (--new-release)"
            )
        return digest[:_ID_SIGNS]

    def _check_same_table(self, books: Books, fingerprint: str | None) -> None:
        kept = _kept(fingerprint)
        before = None if kept is None else books.fingerprints.get(kept["kind"])
        if kept is not None and before not in (None, kept["value"]) and not self.accept_changed_data:
            raise SpecError(
                f"the table is not the one that data set {self.dataset!r} had before; if it is its newer state, pass "
                "--accept-changed-data (accept_changed_data=True): the budget stays the same. Nothing was spent"
            )

    def _check_own_table(self, tape: Tape, fingerprint: str | None) -> None:
        kept = _kept(fingerprint)
        other = recorded_under(tape, kept, self.dataset) if kept is not None and self.refuse_shared_table else None
        if other is not None:
            raise SpecError(
                f"this table is recorded under data set {other!r} of this ledger, and would now be charged to "
                f"{self.dataset!r}: its people would lose the sum of both budgets. Charge {other!r}, or leave out "
                "refuse_shared_table=True to accept the sum. Nothing was spent"
            )


def checked_request(name: object) -> str:
    """A request id that can stand in a file name and in a command.

    >>> checked_request("march-2026")
    'march-2026'
    """
    if not isinstance(name, str) or not _REQUEST.fullmatch(name):
        raise SpecError(
            f"request id {shown(name)} is not allowed; write up to 100 letters, digits and . _ : - beginning with a "
            "letter or digit"
        )
    return name


def _kept(fingerprint: str | None) -> dict[str, str] | None:
    if fingerprint is None:
        return None
    kind, _, value = fingerprint.rpartition(":")
    return {"kind": kind, "value": value}


def _check_unused(tape: Tape, request: SpendRequest, known: Collection[str]) -> None:
    """Refuse a request for something that another request of this ledger, of whatever data set, has used up."""
    other = used_once(tape, request.once) if request.once else None
    if other is not None and other not in known:
        raise SpecError(
            f"request {other!r} of this ledger has used up what is asked for ({request.description}), and a session is "
            "used once: two parts under one mask would show a difference that no promise covers. Nothing was spent; "
            f"discreet ledger export writes the part of {other!r} again, and any other table needs a new session"
        )  # [P:ledger-once]


def _check_unit(books: Books, unit: PrivacyUnit) -> None:
    if unit != books.unit:
        raise SpecError(
            f"data set {books.dataset!r} protects {_unit_words(books.unit)}, and this request "
            f"{_unit_words(unit)}; losses of different units do not add up: change the design or the data set"
        )


def _unit_words(unit: PrivacyUnit) -> str:
    one = "one row" if unit.id is None else f"one {unit.id!r} with at most {unit.max_rows} rows"
    return f"{one} ({unit.neighbours})"


def _route(books: Books, request: SpendRequest) -> str:
    """Why the request is taken, or a refusal that depends on the ledger and on what is asked alone."""
    route = books.terms.route(books.spent, books.requests, Charge.of(request.loss))
    if route is None:
        terms = books.terms
        raise BudgetError(
            f"the budget of data set {books.dataset!r} (epsilon = {terms.epsilon:g}, delta = {terms.delta:g}, rule "
            f"{terms.rule}) does not take a request of epsilon = {request.budget.epsilon:g}, "
            f"delta = {request.budget.delta:g}; left: {left_words(terms, books.spent)}. Nothing was spent; ask for "
            "less, or raise the budget: discreet ledger grant"
        )
    return route
