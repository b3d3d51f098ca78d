"""What the events of a data set amount to: its terms, what is spent, and how each request ended."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from discreet.errors import LedgerError, SpecError
from discreet.ledger.chain import Anchor, Event
from discreet.ledger.filter import Charge, Route, Terms
from discreet.ledger.storage import Tape
from discreet.privacy.unit import PrivacyUnit


def as_json(facts: Mapping[str, object]) -> str:
    """Facts as one text: equal facts give equal texts."""
    return json.dumps(facts, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False)


@dataclass(frozen=True, slots=True)
class Reservation:
    """A request that was taken.

    Attributes
    ----------
    anchor
        Where it is recorded.
    digest, question
        Keyed digests of all that was asked: with the table's fingerprint, and without it.
    whole, charge, route
        What was reserved, what it costs after all, and why it was taken.
    ending, content
        `commit` or `stop`, with the text that was recorded; none while it waits.
    """

    request: str
    anchor: Anchor
    digest: str
    question: str
    whole: Charge
    charge: Charge
    route: Route
    ending: str | None = None
    content: str | None = None


@dataclass
class Books:
    """One data set, as its events leave it."""

    dataset: str
    unit: PrivacyUnit
    terms: Terms
    reservations: dict[str, Reservation] = field(default_factory=dict)
    # of each kind the last one that was recorded
    fingerprints: dict[str, str] = field(default_factory=dict)

    @property
    def spent(self) -> Charge:
        """What all requests cost together; one that waits for its release counts as a whole."""
        total = Charge()
        for one in self.reservations.values():
            total = total + one.charge  # [P:filter-reserved]
        return total

    @property
    def requests(self) -> int:
        """How many requests were taken."""
        return len(self.reservations)

    @property
    def holds(self) -> bool:
        """Whether what was spent keeps the budget."""
        first = next(iter(self.reservations.values()), None)
        return self.terms.holds(self.spent, self.requests, Charge() if first is None else first.whole)

    def add(self, event: Event, ledger_id: str) -> None:
        """Take one more event into account."""
        body = facts_of(event)
        if event.kind == "grant":
            self.terms = terms_from(body["terms"])
        elif event.kind == "reserve":
            charge = Charge.from_dict(body["charge"])
            self.reservations[str(event.request)] = Reservation(
                str(event.request),
                Anchor(ledger_id, event.seq, event.hash, budget_words(self.terms)),
                str(body["digest"]),
                str(body["question"]),
                charge,
                charge,
                cast("Route", body["route"]),
            )
            if body["fingerprint"] is not None:
                self.fingerprints[body["fingerprint"]["kind"]] = body["fingerprint"]["value"]
        else:
            known = self.reservations[str(event.request)]
            if event.kind not in ("stage", "commit", "stop") or event.content is None:
                raise ValueError(event.kind)
            if event.kind == "stage":
                # its cost is part of what was reserved
                return
            charge = Charge.from_dict(body["charge"]) if event.kind == "stop" else known.charge
            self.reservations[known.request] = Reservation(
                known.request, known.anchor, known.digest, known.question, known.whole, charge, known.route,
                event.kind, event.content,
            )  # fmt: skip


def facts_of(event: Event) -> dict[str, Any]:
    """Facts of an event by name."""
    with understood(event):
        facts = json.loads(event.body)
        if not isinstance(facts, dict):
            raise TypeError(event.kind)
    return facts


@contextmanager
def understood(event: Event) -> Iterator[None]:
    """Refuse in the ledger's own words what is not in an event, or is of another kind than belongs there."""
    try:
        yield
    except (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError, SpecError):
        raise LedgerError(
            f"event {event.seq} of the ledger is not understood; it was written by another program or version"
        ) from None


def terms_from(mapping: object) -> Terms:
    """Read terms back."""
    return Terms(**cast("Mapping[str, object]", mapping))  # type: ignore[arg-type]  # they were checked before


def budget_words(terms: Terms) -> str:
    """The budget as an anchor carries it.

    >>> budget_words(Terms("gdp", 1.0, 1e-6))
    ':epsilon=1.0:delta=1e-06'
    """
    return f":epsilon={terms.epsilon!r}:delta={terms.delta!r}"


def every_book(tape: Tape, ledger_id: str, dataset: str | None = None) -> dict[str, Books]:
    """The books of all data sets, or of one, by name."""
    events = tape.events() if dataset is None else tape.events("dataset = ?", dataset)
    return books_of(events, ledger_id)


def books_of(events: Iterable[Event], ledger_id: str) -> dict[str, Books]:
    """The books that events amount to."""
    found: dict[str, Books] = {}
    for event in events:
        with understood(event):
            if event.kind == "dataset":
                body = facts_of(event)
                unit = PrivacyUnit.from_dict(body["unit"])
                found[event.dataset] = Books(event.dataset, unit, terms_from(body["terms"]))
            else:
                found[event.dataset].add(event, ledger_id)
    return found


def used_once(tape: Tape, once: str) -> str | None:
    """The request, of whatever data set, that has used up what can be used for one; none if none has."""
    events = tape.events("kind = 'reserve'")
    return next((event.request for event in events if facts_of(event).get("once") == once), None)


def recorded_under(tape: Tape, fingerprint: Mapping[str, str], dataset: str) -> str | None:
    """The first data set, other than this one, that a table of this fingerprint was charged to; none if none was."""
    events = tape.events("kind = 'reserve' AND dataset != ?", dataset)
    return next((event.dataset for event in events if facts_of(event).get("fingerprint") == fingerprint), None)


def used_by(event: Event) -> str:
    """The first word of what the request of an event has used up, such as the id of a session; empty for any other."""
    return str(facts_of(event).get("once", "")).partition(" ")[0]


def contradicted(event: Event, text: str) -> str | None:
    """The first field in which a release, as text, is not what a part of an event is of; none if all agree.

    A part that does not say what it is of is of no release.
    """
    answer, body = facts_of(event).get("answer", {"curators": None}), json.loads(text)
    with understood(event):
        return next((path for path, value in answer.items() if _field(body, path) != value), None)


def _field(body: object, path: str) -> object:
    for name in path.split("."):
        body = body.get(name) if isinstance(body, dict) else None
    return body


def book(tape: Tape, ledger_id: str, dataset: str) -> Books:
    """The books of one data set."""
    found = every_book(tape, ledger_id, dataset)
    if dataset not in found:
        known = sorted({event.dataset for event in tape.events("kind = 'dataset'")})
        raise (
            SpecError.unknown_name("data set", dataset, known)
            if known
            else SpecError(f"the ledger has no data set yet; declare {dataset!r} with: discreet ledger init")
        )
    return found[dataset]
