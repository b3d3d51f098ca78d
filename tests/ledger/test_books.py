"""What events amount to, and events that amount to nothing."""

from __future__ import annotations

import pytest

from discreet.errors import LedgerError
from discreet.ledger.books import as_json, books_of
from discreet.ledger.chain import Event
from discreet.ledger.filter import Terms
from discreet.privacy.unit import PrivacyUnit

DECLARED = as_json({"terms": Terms("basic", 1.0, 0.0).to_dict(), "unit": PrivacyUnit().to_dict()})


def event(kind: str, body: str, request: str | None = "r") -> Event:
    return Event(1, "", kind, "people", request, body, None, "", "")


def test_a_declaration_alone_has_spent_nothing_and_holds():
    books = books_of([event("dataset", DECLARED)], "id")["people"]
    assert (books.requests, books.spent.epsilon, books.holds) == (0, 0, True)


@pytest.mark.parametrize(
    "events",
    [
        [event("reserve", "{}")],
        [event("dataset", "nonsense")],
        [event("dataset", "{}")],
        [event("dataset", "[]")],
        [event("dataset", as_json({"terms": {"rule": "x"}, "unit": {}}))],
        [event("dataset", as_json({"terms": Terms("basic", 1.0, 0.0).to_dict(), "unit": {"id": 5}}))],
        [event("dataset", DECLARED), event("reserve", "{}")],
        [event("dataset", DECLARED), event("commit", "{}")],
        [event("dataset", DECLARED), event("grant", "{}")],
        [event("dataset", DECLARED), event("stop", "5")],
    ],
)
def test_events_that_are_not_understood_are_refused(events):
    with pytest.raises(LedgerError, match="is not understood"):
        books_of(events, "id")
