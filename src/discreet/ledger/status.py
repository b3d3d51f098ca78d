"""What a curator reads of a ledger: each data set with its budget, and each event in one line."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Final

from discreet.ledger.books import Books, facts_of, understood
from discreet.ledger.chain import Event
from discreet.ledger.filter import Charge, Terms
from discreet.ledger.words import largest_gaussian, left_words, spent_epsilon, steps_of
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.gaussian import mu_from
from discreet.privacy.loss import Loss
from discreet.privacy.unit import PrivacyUnit

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
