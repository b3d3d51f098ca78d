"""What events amount to, and events that amount to nothing."""

from __future__ import annotations

import pytest

from discreet.errors import LedgerError
from discreet.ledger.account import as_json, books_of, contradicted, used_by
from discreet.ledger.event_log import Event
from discreet.ledger.filter import Charge, Terms
from discreet.ledger.ledger import Line
from discreet.privacy.budget import PrivacyUnit

DECLARED = as_json({"terms": Terms("basic", 1.0, 0.0).to_dict(), "unit": PrivacyUnit().to_dict()})


def event(kind: str, body: str, request: str | None = "r", content: str | None = None) -> Event:
    return Event(1, "", kind, "people", request, body, content, "", "")


RESERVED = event("reserve", as_json({
    "digest": "", "question": "", "charge": Charge(epsilon=5).to_dict(), "route": "sums", "fingerprint": None,
}))  # fmt: skip


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
        [event("dataset", DECLARED), event("stage", "{}")],
        [event("dataset", DECLARED), event("reserve", "[" * 100_000)],
        [event("dataset", DECLARED), RESERVED, event("commit", "{}")],
        [event("dataset", DECLARED), RESERVED, event("stage", "{}")],
        [event("dataset", DECLARED), RESERVED, event("commit", "[]", content="a release")],
        [event("dataset", DECLARED), RESERVED, event("undo", "{}", content="a release")],
    ],
)
def test_events_that_are_not_understood_are_refused(events):
    with pytest.raises(LedgerError, match="cannot be read; it was written by another program"):
        books_of(events, "id")


def test_a_commit_ends_a_request_and_a_stage_does_not():
    events = [event("dataset", DECLARED), RESERVED, event("stage", "{}", content="{}")]
    (waiting,) = books_of(events, "id")["people"].reservations.values()
    assert waiting.ending is None
    books = books_of([*events, event("commit", "{}", content="a release")], "id")["people"]
    assert (books.reservations["r"].content, books.spent.epsilon) == ("a release", 5)


@pytest.mark.parametrize("read", [Line.of, used_by, lambda one: contradicted(one, "{}")])
@pytest.mark.parametrize("body", ["nonsense", "[]", "[" * 100_000])
def test_facts_that_are_no_facts_are_refused_wherever_they_are_read(read, body):
    with pytest.raises(LedgerError, match="event 1 of the ledger cannot be read"):
        read(event("reserve", body))


@pytest.mark.parametrize(
    "wrong",
    [
        event("reserve", '{"epsilon":"1"}'),
        event("reserve", '{"mechanism":5}'),
        event("grant", '{"terms":5}'),
        event("grant", '{"terms":{"epsilon":[]}}'),
        event("stage", '{"stage":"guard"}'),
        event("stage", '{"stage":"guard"}', content="{}"),
        event("stage", '{"stage":"guard"}', content='{"verdict":5}'),
    ],
)
def test_a_line_of_the_history_has_text_and_numbers_where_they_belong(wrong):
    with pytest.raises(LedgerError, match="cannot be read; it was written by another program"):
        Line.of(wrong)


def test_an_answer_that_is_no_mapping_is_refused():
    with pytest.raises(LedgerError, match="cannot be read; it was written by another program"):
        contradicted(event("reserve", '{"answer":5}'), "{}")
