"""The chain of events, and the anchors that point into it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from discreet.errors import LedgerError
from discreet.ledger.event_log import Anchor, Event, MergedAnchor, checked_chain, genesis


def chained(how_many: int) -> list[Event]:
    last, events = genesis("a" * 32, b"key"), []
    for seq in range(1, how_many + 1):
        event = Event(seq, "2026-01-01", "reserve", "people", f"r{seq}", "{}", None, "salt", last).hashed()
        events.append(event)
        last = event.hash
    return events


def test_a_chain_is_followed_to_its_end():
    events = chained(3)
    start = genesis("a" * 32, b"key")
    assert checked_chain(events, 0, start) == (3, events[-1].hash)
    assert checked_chain([], 0, start) == (0, start)
    assert checked_chain(events[1:], 1, events[0].hash) == (3, events[-1].hash)


@pytest.mark.parametrize(
    "change",
    [
        {"time": "2027-01-01"}, {"kind": "commit"}, {"dataset": "other"}, {"request": "other"}, {"request": None},
        {"body": '{"charge":0}'}, {"content": ""}, {"salt": "other"}, {"previous": "0" * 64}, {"hash": "0" * 64},
        {"seq": 5},
    ],
    ids=lambda change: next(iter(change)),
)  # fmt: skip
def test_an_event_that_was_changed_is_found(change):
    events = chained(3)
    events[1] = replace(events[1], **change)
    with pytest.raises(LedgerError, match="was changed or damaged at event"):
        checked_chain(events, 0, genesis("a" * 32, b"key"))


def test_a_changed_event_with_a_fresh_hash_is_found_at_the_next_one():
    events = chained(3)
    events[1] = replace(events[1], body="{ }").hashed()
    with pytest.raises(LedgerError, match="at event 3"):
        checked_chain(events, 0, genesis("a" * 32, b"key"))


def test_a_missing_event_another_name_and_another_key_are_found():
    events = chained(3)
    for given, start in (
        ([events[0], events[2]], genesis("a" * 32, b"key")),
        (events, genesis("b" * 32, b"key")),
        (events, genesis("a" * 32, b"other")),
    ):
        with pytest.raises(LedgerError):
            checked_chain(given, 0, start)


def test_equal_facts_have_different_hashes_by_their_salt():
    event = chained(1)[0]
    assert replace(event, salt="other").hashed().hash != event.hash


@pytest.mark.parametrize("text", ["", "tracked", "discreet-ledger:x:1:y", f"discreet-ledger:{'a' * 32}:0:{'b' * 64}"])
def test_what_is_no_anchor_is_refused(text):
    with pytest.raises(LedgerError, match="expected an anchor such as discreet-ledger:"):
        Anchor.parsed(text)
    with pytest.raises(
        LedgerError, match="the release is untracked, so no ledger can be checked: it was made without a ledger"
    ):
        Anchor.parsed("untracked")


@pytest.mark.parametrize(
    "text",
    [
        "", "untracked", "discreet-parts:", f"discreet-parts:{'0' * 31}:[]", f"discreet-parts:{'0' * 32}:",
        f"discreet-parts:{'0' * 32}:[1]", f"discreet-parts:{'0' * 32}:{{}}", f'discreet-parts:{"0" * 32}:["a", "b"]',
        f"discreet-parts:{'0' * 32}:{'[' * 100_000}",
    ],
    ids=lambda text: text[:60],
)  # fmt: skip
def test_what_is_no_anchor_of_several_curators_is_not_read_as_one(text):
    assert MergedAnchor.parsed(text) is None


def test_the_anchor_of_several_curators_names_that_of_each():
    own = Anchor("a" * 32, 7, "f" * 64, ":epsilon=1:delta=1e-06")
    merged = MergedAnchor("0" * 32, (str(own), 'books of "somebody"', str(replace(own, ledger_id="b" * 32))))
    assert MergedAnchor.parsed(str(merged)) == merged
    assert merged.of_ledger("a" * 32) == [own]
    assert merged.of_ledger("c" * 32) == []
