"""Account of a data set: reserve the cost, draw noise, commit the release, then publish it."""

from __future__ import annotations

import hashlib
import hmac
import json
import multiprocessing
import re
import secrets
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from typing import Any, Final, cast

from discreet import __version__
from discreet.errors import AfterSpendError, BudgetError, LedgerError, OptionError, SpecError, UnsupportedError, shown
from discreet.exact.rounding import root_up, up
from discreet.ledger.event_log import Anchor, Event, EventLog, Storage, at
from discreet.ledger.filter import AMOUNT, CHANCE, CURVE_SHARE, Charge, Route, Terms
from discreet.privacy.budget import PrivacyUnit
from discreet.privacy.checks import check_flag
from discreet.privacy.gaussian_dp import DELTA_HIGHEST, MU_HIGHEST, MU_LOWEST, epsilon_from, epsilon_from_rho
from discreet.privacy.guarantee import Together
from discreet.privacy.lattice import ROUNDING, distance_cost
from discreet.privacy.spend import Loss, SpendReceipt, SpendRequest
from discreet.wording import Call, LeaveOut, Message, Option, SetOption

# -- state -------------------------------------------------------------------------------------------------------------
# State of a data set after its events: its terms, the spent budget, and how each request ended.


def as_json(facts: Mapping[str, object]) -> str:
    """Serialise facts canonically, so that equal facts give equal strings."""
    return json.dumps(facts, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False)


@dataclass(frozen=True, slots=True)
class Reservation:
    """An accepted request.

    `digest` and `question` are keyed digests of the request with and without the table's fingerprint. `whole` is the
    reserved charge, and `charge` the actual one. `ending` is `commit` or `stop`, or None while the request is pending.
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
class AccountState:
    """State of one data set after its events."""

    dataset: str
    unit: PrivacyUnit
    terms: Terms
    reservations: dict[str, Reservation] = field(default_factory=dict)
    # the latest table fingerprint of each kind
    fingerprints: dict[str, str] = field(default_factory=dict)

    @property
    def spent(self) -> Charge:
        """Total charge of all requests. A pending request is charged in full."""
        total = Charge()
        for one in self.reservations.values():
            total = total + one.charge  # [P:filter-reserved]
        return total

    @property
    def requests(self) -> int:
        """Number of accepted requests."""
        return len(self.reservations)

    @property
    def holds(self) -> bool:
        """Whether the total charge is within the budget."""
        first = next(iter(self.reservations.values()), None)
        return self.terms.holds(self.spent, self.requests, Charge() if first is None else first.whole)

    def add(self, event: Event, ledger_id: str) -> None:
        """Apply one event."""
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
                # the cost of a stage is part of the reserved charge
                return
            charge = Charge.from_dict(body["charge"]) if event.kind == "stop" else known.charge
            self.reservations[known.request] = Reservation(
                known.request, known.anchor, known.digest, known.question, known.whole, charge, known.route,
                event.kind, event.content,
            )  # fmt: skip


def facts_of(event: Event) -> dict[str, Any]:
    """Return the facts of an event by name."""
    with understood(event):
        facts = json.loads(event.body)
        if not isinstance(facts, dict):
            raise TypeError(event.kind)
    return facts


@contextmanager
def understood(event: Event) -> Iterator[None]:
    """Raise a ledger error if the facts of an event are missing or malformed."""
    try:
        yield
    except (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError, SpecError):
        raise LedgerError(
            f"event {event.seq} of the ledger cannot be read; it was written by another program or version",
            code="ledger-not-understood",
        ) from None


def terms_from(mapping: object) -> Terms:
    """Read terms from plain values."""
    return Terms(**cast("Mapping[str, object]", mapping))  # type: ignore[arg-type]  # they were checked before


def budget_words(terms: Terms) -> str:
    """Format the budget for an anchor.

    >>> budget_words(Terms("gdp", 1.0, 1e-6))
    ':epsilon=1.0:delta=1e-06'
    """
    return f":epsilon={terms.epsilon!r}:delta={terms.delta!r}"


def every_book(log: EventLog, ledger_id: str, dataset: str | None = None) -> dict[str, AccountState]:
    """Return the state of every data set, or only of `dataset`, by name."""
    events = log.events() if dataset is None else log.events("dataset = ?", dataset)
    return books_of(events, ledger_id)


def books_of(events: Iterable[Event], ledger_id: str) -> dict[str, AccountState]:
    """Compute the state of data sets from events."""
    found: dict[str, AccountState] = {}
    for event in events:
        with understood(event):
            if event.kind == "dataset":
                body = facts_of(event)
                unit = PrivacyUnit.from_dict(body["unit"])
                found[event.dataset] = AccountState(event.dataset, unit, terms_from(body["terms"]))
            else:
                found[event.dataset].add(event, ledger_id)
    return found


def used_once(log: EventLog, once: str) -> str | None:
    """Return the request, of any data set, that used a single-use resource, or None if there is none."""
    events = log.events("kind = 'reserve'")
    return next((event.request for event in events if facts_of(event).get("once") == once), None)


def recorded_under(log: EventLog, fingerprint: Mapping[str, str], dataset: str) -> str | None:
    """Return the first other data set to which a table with this fingerprint was charged, or None."""
    events = log.events("kind = 'reserve' AND dataset != ?", dataset)
    return next((event.dataset for event in events if facts_of(event).get("fingerprint") == fingerprint), None)


def used_by(event: Event) -> str:
    """Return the first word of an event's single-use resource, such as a session id, or an empty string."""
    return str(facts_of(event).get("once", "")).partition(" ")[0]


def contradicted(event: Event, text: str) -> str | None:
    """Return the first field in which a release contradicts the event of a part, or None if they agree.

    A part whose event does not describe a release contradicts every release.
    """
    answer, body = facts_of(event).get("answer", {"curators": None}), json.loads(text)
    with understood(event):
        return next((path for path, value in answer.items() if _field(body, path) != value), None)


def _field(body: object, path: str) -> object:
    for name in path.split("."):
        body = body.get(name) if isinstance(body, dict) else None
    return body


def book(log: EventLog, ledger_id: str, dataset: str) -> AccountState:
    """Return the state of one data set."""
    found = every_book(log, ledger_id, dataset)
    if dataset not in found:
        known = sorted({event.dataset for event in log.events("kind = 'dataset'")})
        raise (
            OptionError.unknown_name("data set", dataset, known, option="dataset")
            if known
            else OptionError(
                "the ledger has no data sets yet",
                code="no-data-set",
                option="dataset",
                given=dataset,
                remedy=Call("Ledger.declare", f"declare {dataset!r}"),
            )
        )
    return found[dataset]


# -- text --------------------------------------------------------------------------------------------------------------
# The spent and remaining budget as text.

_NAMES: Final = {"mu2": "mu^2", "rho": "rho", "epsilon": "epsilon", "delta": "delta"}
_DIGITS: Final = 3


def steps_of(name: str) -> int:
    """Return how many integer steps make one unit of an amount."""
    return CHANCE if name == "delta" else AMOUNT


def left_words(terms: Terms, spent: Charge) -> str:
    """Describe the remaining budget by examples of requests that would be accepted, and by the remainder of each sum.

    >>> left_words(Terms("basic", 1.0, 1e-6), Charge(epsilon=25 * 10**10))
    'epsilon 0.75, delta 1e-06'
    >>> left_words(Terms("gdp", 1.0, 1e-6), Charge())[:53]
    'one Gaussian release of epsilon = 1 at delta = 1e-06,'
    """
    left = terms.left(spent)
    sums = ", ".join(f"{_NAMES[name]} {amount / steps_of(name):.6g}" for name, amount in left.items() if name in _NAMES)
    if terms.rule == "basic":
        return sums
    # a first request may use the whole budget exactly
    gaussian = terms.epsilon if spent == Charge() else _rounded_down(largest_gaussian(terms, spent), _DIGITS)
    pure = _rounded_down(left.get("pure_epsilon", 0) / AMOUNT, 2 * _DIGITS)
    single = f"one Gaussian release of epsilon = {gaussian:g} at delta = {terms.delta:g}"
    several = f"releases without delta up to a total epsilon of {pure:g}"
    if pure:
        examples = f"{single}, or {several}" if gaussian else f"{several}, and none with delta"
    else:
        examples = single if gaussian else "nothing"
    return f"{examples} ({sums})"


def _rounded_down(value: float, digits: int) -> float:
    """Round down, so that the displayed number is still accepted.

    >>> _rounded_down(1.6379, 3), _rounded_down(0.7, 6)
    (1.63, 0.7)
    """
    with localcontext(prec=digits, rounding=ROUND_FLOOR):
        return float(+Decimal(repr(value)))


def spent_epsilon(terms: Terms, spent: Charge) -> float:
    """Return the total epsilon spent at the budget's delta, for display only.

    >>> spent_epsilon(Terms("basic", 1.0, 1e-6), Charge(epsilon=25 * 10**10))
    0.25
    """
    by_sum = spent.epsilon / AMOUNT
    if terms.rule == "basic" or (spent.pure and terms.within_pure(spent)):
        return by_sum
    if terms.rule == "zcdp":
        # mu^2 cannot be used, because it is not 2 rho for a pure request
        rho = up(Fraction(spent.rho, AMOUNT))
        return min(terms.epsilon, epsilon_from_rho(rho, terms.curve_delta)) if spent.rho else 0.0
    square = Fraction(spent.mu2, AMOUNT)
    return min(terms.epsilon, epsilon_from(root_up(square), terms.curve_delta)) if square else 0.0


def largest_gaussian(terms: Terms, spent: Charge) -> float:
    """Return the epsilon of the largest Gaussian release that fits the remaining budget at its delta, or 0.

    >>> round(largest_gaussian(Terms("gdp", 1.0, 1e-6), Charge()), 3)
    1.0
    """
    left = terms.left(spent)
    if terms.delta == 0 or left["delta"] == 0:
        return 0.0
    if terms.rule == "basic":
        return left["epsilon"] / AMOUNT if left["delta"] >= terms.delta_units else 0.0
    square = Fraction(left["mu2"] if terms.rule == "gdp" else 2 * left["rho"], AMOUNT)
    mu = root_up(square) if square else 0.0
    return epsilon_from(mu, terms.delta) if mu >= MU_LOWEST else 0.0


# -- account -----------------------------------------------------------------------------------------------------------
# A data set's account as a spend hook. Only committed results are published.

_REQUEST: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,99}", re.ASCII)
_ID_SIGNS: Final = 32


@dataclass(frozen=True)
class Account:
    """Spend hook of one data set; see `Ledger.account`."""

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
                raise OptionError(
                    Message(
                        "got ",
                        Option("request_id"),
                        " and ",
                        Option("new_release", True),
                        ", but a request id names exactly one release",
                    ),
                    option="request_id",
                    given=self.request_id,
                    remedy=(LeaveOut("request_id"), LeaveOut("new_release")),
                )

    def advise(self, request: SpendRequest) -> None:
        """Refuse a request early if it would be refused later. Nothing is recorded."""
        with self.storage.reading() as log:
            books = book(log, self.storage.ledger_id, self.dataset)
            # repeating a completed request costs nothing
            question = self._question(request)
            known = {one.request for one in books.reservations.values() if one.question == question}
            _check_unused(log, request, known)
        _check_unit(books, request.unit)
        if not known or self.new_release:
            _route(books, request)
        self.storage.check_space()
        at("advised")

    def __call__(self, request: SpendRequest) -> SpendReceipt:
        """Record the request, or find its record. A refusal spends nothing."""
        at("summed")
        fingerprint = None if request.fingerprint is None else request.fingerprint(self.storage.key)
        digest = self._digest(request, fingerprint)
        name = self._named(digest, fingerprint)
        with self.storage.writing() as log:
            books = book(log, self.storage.ledger_id, self.dataset)
            _check_unit(books, request.unit)
            known = books.reservations.get(name)
            if known is None:
                if next(log.events("request = ?", name), None) is not None:
                    raise OptionError(
                        f"request {name!r} belongs to another data set of this ledger",
                        code="request-of-another-data-set",
                        option="request_id",
                        given=name,
                        remedy="choose another request id",
                    )
                # whatever the table: two parts under one mask reveal their difference
                _check_unused(log, request, ())
                self._check_same_table(books, fingerprint)
                self._check_own_table(log, fingerprint)
                charge, route = Charge.of(request.loss), _route(books, request)
                self.storage.check_space()
                log.append("reserve", self.dataset, name, as_json({
                    "digest": digest, "question": self._question(request), "charge": charge.to_dict(), "route": route,
                    "fingerprint": _kept(fingerprint), "epsilon": request.budget.epsilon,
                    "delta": request.budget.delta, "mechanism": request.mechanism, "made_by": f"discreet {__version__}",
                    "description": request.description, **({"once": request.once} if request.once else {}),
                    **({"answer": dict(request.answer)} if request.answer else {}),
                }))  # fmt: skip
                at("reserving")
                books = book(log, self.storage.ledger_id, self.dataset)
                known = books.reservations[name]
        at("reserved")
        if known.digest != digest:
            raise OptionError(
                f"request {name!r} is already recorded for other options, another table or another version of "
                "discreet. Nothing was spent",
                code="request-differs",
                option="request_id",
                given=name,
                remedy="repeat the recorded request exactly, or choose another request id",
            )
        return self._receipt(known)

    def _receipt(self, known: Reservation) -> SpendReceipt:
        """Return a receipt with the recorded result, or with functions that record one if the request is pending."""
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
                raise LedgerError("a stopped request must not cost more than was reserved", code="stop-costs-too-much")
            # a request accepted as the only request keeps its full charge, because a refund would admit a second one
            kept = known.whole if known.route == "first" else charge  # [P:filter-stop]
            return self._ended(known, "stop", record, {"charge": kept.to_dict()})

        return replace(receipt, stage=stage, commit=commit, stop=stop)

    def _balance(self) -> str:
        """Describe the spent and remaining budget of the data set in one sentence."""
        with self.storage.reading() as log:
            books = book(log, self.storage.ledger_id, self.dataset)
        spent = spent_epsilon(books.terms, books.spent)
        return (
            f"Data set {self.dataset!r} has spent epsilon = {spent:.4g} at delta = {books.terms.delta:g} in total; "
            f"left: {left_words(books.terms, books.spent)}"
        )

    def _staged(self, known: Reservation, name: str, draw: Callable[[], str]) -> str:
        """Return the committed output of a stage, after drawing and committing it if necessary."""
        body = as_json({"stage": name})
        committed = "request = ? AND kind = 'stage' AND body = ?"
        with self.storage.writing() as log:
            if next(log.events(committed, known.request, body), None) is None:
                # draw under the write lock, so that exactly one process draws, whatever the result
                log.append("stage", self.dataset, known.request, body, draw())  # [P:one-stage]
                at("staging")
        at("staged")
        with self.storage.reading() as log:
            (event,) = log.events(committed, known.request, body)
        return str(event.content)

    def _ended(self, known: Reservation, kind: str, text: str, facts: Mapping[str, object]) -> str:
        """Record how the request ended, unless another process did, and return the recorded text."""
        ends = "request = ? AND kind IN ('commit', 'stop')"
        with self.storage.writing() as log:
            if next(log.events(ends, known.request), None) is None:
                log.append("commit" if kind == "commit" else "stop", self.dataset, known.request, as_json(facts), text)
                at("committing")
        at("committed")
        with self.storage.reading() as log:
            (event,) = log.events(ends, known.request)
        if event.kind != kind:
            raise AfterSpendError(
                f"another process completed request {known.request!r} with a different result",
                code="ended-otherwise",
                remedy="repeat the request to get that result",
            )
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
        """Return the request id: the given one, a new one, or one derived from the request."""
        if self.request_id is not None:
            return self.request_id
        if self.new_release:
            return secrets.token_hex(_ID_SIGNS // 2)
        if fingerprint is None:
            raise OptionError(
                "this table has no fingerprint, so a repeated request cannot be recognised",
                code="no-fingerprint",
                option="request_id",
                remedy=(SetOption("request_id"), Message(SetOption("new_release", True), " for a new release")),
            )
        return digest[:_ID_SIGNS]

    def _check_same_table(self, books: AccountState, fingerprint: str | None) -> None:
        kept = _kept(fingerprint)
        before = None if kept is None else books.fingerprints.get(kept["kind"])
        if kept is not None and before not in (None, kept["value"]) and not self.accept_changed_data:
            raise UnsupportedError(
                f"the table differs from the last table of data set {self.dataset!r}. Nothing was spent",
                code="table-changed",
                option="accept_changed_data",
                remedy=Message(
                    "if it is an updated version, ", SetOption("accept_changed_data", True), " to spend the same budget"
                ),
            )

    def _check_own_table(self, log: EventLog, fingerprint: str | None) -> None:
        kept = _kept(fingerprint)
        other = recorded_under(log, kept, self.dataset) if kept is not None and self.refuse_shared_table else None
        if other is not None:
            raise UnsupportedError(
                f"this table was already charged to data set {other!r} of this ledger. Charging it to {self.dataset!r} "
                "too would expose its people to the sum of both budgets. Nothing was spent",
                code="table-shared",
                option="refuse_shared_table",
                remedy=(f"use the data set {other!r}", Message(LeaveOut("refuse_shared_table"), " to accept the sum")),
            )


def checked_request(name: object) -> str:
    """Check that a request id is valid in file names and commands."""
    if not isinstance(name, str) or not _REQUEST.fullmatch(name):
        raise OptionError(
            f"request id {shown(name)} is not allowed",
            option="request_id",
            given=name,
            allowed="up to 100 letters, digits and . _ : -",
            remedy="use up to 100 letters, digits and . _ : - and begin with a letter or digit",
        )
    return name


def _kept(fingerprint: str | None) -> dict[str, str] | None:
    if fingerprint is None:
        return None
    kind, _, value = fingerprint.rpartition(":")
    return {"kind": kind, "value": value}


def _check_unused(log: EventLog, request: SpendRequest, known: Collection[str]) -> None:
    """Refuse a single-use resource that another request of this ledger has used."""
    other = used_once(log, request.once) if request.once else None
    if other is not None and other not in known:
        raise UnsupportedError(
            f"request {other!r} of this ledger has already used this session ({request.description}). A session can be "
            "used once, because the difference of two parts under one mask is not protected. Nothing was spent",
            code="session-used",
            remedy=(
                Call("Ledger.export", f"write the part of {other!r} again"),
                "agree on a new session for another table",
            ),
        )  # [P:ledger-once]


def _check_unit(books: AccountState, unit: PrivacyUnit) -> None:
    if unit != books.unit:
        raise UnsupportedError(
            f"data set {books.dataset!r} protects {_unit_words(books.unit)}, but this request protects "
            f"{_unit_words(unit)}. Losses of different privacy units cannot be added",
            code="units-differ",
            option="dataset",
            given=books.dataset,
            remedy="change the unit in the design, or choose another data set",
        )


def _unit_words(unit: PrivacyUnit) -> str:
    individual = "one row" if unit.id is None else f"one {unit.id!r} with at most {unit.max_rows} rows"
    return f"{individual} ({unit.neighbours})"


def _route(books: AccountState, request: SpendRequest) -> str:
    """Return the reason why the request is accepted, or refuse it. This depends only on the ledger and the request."""
    route = books.terms.route(books.spent, books.requests, Charge.of(request.loss))
    if route is None:
        terms = books.terms
        raise BudgetError(
            f"the budget of data set {books.dataset!r} (epsilon = {terms.epsilon:g}, delta = {terms.delta:g}, rule "
            f"{terms.rule}) does not allow a request of epsilon = {request.budget.epsilon:g}, "
            f"delta = {request.budget.delta:g}; left: {left_words(terms, books.spent)}. Nothing was spent",
            option="epsilon",
            given=request.budget.epsilon,
            remedy=("request a smaller epsilon or delta", Call("Ledger.grant", "raise the budget")),
        )
    return route


# -- session -----------------------------------------------------------------------------------------------------------
# The total loss of the fits in one process, kept in memory and composed as under the rule `gdp` of a ledger.
#
# All fits with the same data set name and unit are assumed to use the same rows. This makes the total an upper bound
# for the overlapping folds of a cross-validation. Other processes are not included; use a ledger to include them.

_LARGEST_DELTA: Final = 1 - 2**-20


class SessionAccount:
    """Thread-safe record of the losses in this process, by data set and unit.

    >>> account = SessionAccount()
    >>> [account.add("survey", PrivacyUnit(), Loss.pure(0.5)).epsilon for _ in range(3)]
    [0.5, 1.0, 1.5]
    """

    def __init__(self) -> None:
        self._losses: dict[tuple[str | None, PrivacyUnit], list[Loss]] = {}
        self._lock = threading.Lock()

    def total(self, dataset: str | None, unit: PrivacyUnit) -> Together | None:
        """Return the total loss of all fits so far, or None without fits."""
        with self._lock:
            losses = self._losses.get((dataset, unit))
            return None if not losses else together(losses)

    def with_one_more(self, dataset: str | None, unit: PrivacyUnit, loss: Loss) -> Together:
        """Return the total loss of all fits so far and one more, without recording it."""
        with self._lock:
            return together([*self._losses.get((dataset, unit), ()), loss])

    def add(self, dataset: str | None, unit: PrivacyUnit, loss: Loss) -> Together:
        """Record one more fit and return the total loss."""
        with self._lock:
            losses = self._losses.setdefault((dataset, unit), [])
            losses.append(loss)
            return together(losses)


def together(losses: Sequence[Loss]) -> Together:
    """Compose the losses of fits into one guarantee.

    If all fits are pure, their epsilons are added. Otherwise epsilon is computed at the largest delta. As under the
    rule `gdp`, 99.9% of that delta is for the privacy curve of the summed mu^2, and the rest for the remaining terms.
    If the rest is too small, a larger delta is reported.

    >>> eleven = together([Loss.gaussian(1.0, 1e-6, mu=0.2367, tau=1e-20)] * 11)
    >>> eleven.fits, round(eleven.epsilon, 2), eleven.delta
    (11, 3.72, 1e-06)
    """
    fits = len(losses)
    if all(loss.is_pure for loss in losses):
        return Together(fits, up(sum((Fraction(loss.epsilon) for loss in losses), Fraction(0))), 0.0)
    if fits == 1:
        return Together(1, losses[0].epsilon, losses[0].delta)
    mu = root_up(sum((Fraction(loss.mu) ** 2 for loss in losses), Fraction(0)))
    tau, failure = (float(sum(getattr(loss, name) for loss in losses)) for name in ("tau", "failure"))
    delta = max(loss.delta for loss in losses)
    curve = CURVE_SHARE * min(delta, DELTA_HIGHEST)
    if mu > MU_HIGHEST or tau + failure >= _LARGEST_DELTA:
        # these losses give no useful guarantee
        return Together(fits, up(sum((Fraction(loss.epsilon) for loss in losses), Fraction(0))), _LARGEST_DELTA)
    epsilon = epsilon_from(max(mu, MU_LOWEST), curve)
    rest = (failure + distance_cost(epsilon, tau)) * ROUNDING
    return Together(fits, epsilon, min(max(delta, curve + rest), _LARGEST_DELTA))


def is_worker() -> bool:
    """Return whether this process is a worker of another Python process, as with joblib."""
    return multiprocessing.parent_process() is not None


# the account of this process; estimators without a data set name share one unnamed account
SESSION: Final = SessionAccount()
