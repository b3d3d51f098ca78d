"""Events that cannot be changed unseen: each holds the hash of the one before it.

A hash is salted, so that an anchor, which is published, says nothing about what its event holds.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, Literal

from discreet.errors import LedgerError, shown
from discreet.privacy.spend import UNTRACKED

Kind = Literal["dataset", "grant", "reserve", "stage", "commit", "stop"]

_ANCHOR: Final = re.compile(r"discreet-ledger:([0-9a-f]{32}):([1-9][0-9]{0,17}):([0-9a-f]{64})(:\S*)?", re.ASCII)
_LEDGER: Final = "discreet-ledger:"
# how the anchor of a release of several curators begins
PARTS: Final = "discreet-parts:"
_SESSION: Final = re.compile(r"[0-9a-f]{32}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the ledger.

    Attributes
    ----------
    seq, time
        Its number, from 1 without a gap, and when it was written by the clock of that machine, which orders nothing.
    kind, dataset, request
        What happened, to which data set, by which request.
    body, content
        Facts as JSON, and for a stage, a commit or a stop what was released, as text.
    salt, previous, hash
        Random characters, the hash of the event before, and the hash of all this.
    """

    seq: int
    time: str
    kind: str
    dataset: str
    request: str | None
    body: str
    content: str | None
    salt: str
    previous: str
    hash: str = ""

    def hashed(self) -> Event:
        """The event with its hash."""
        parts = [
            self.seq, self.time, self.kind, self.dataset, self.request, self.body, self.content, self.salt,
            self.previous,
        ]  # fmt: skip
        text = json.dumps(parts, ensure_ascii=True, separators=(",", ":"))
        return replace(self, hash=hashlib.sha256(text.encode()).hexdigest())


def genesis(ledger_id: str, key: bytes) -> str:
    """The hash that stands before the first event: it fixes the ledger's name and key.

    >>> genesis("0" * 32, b"key") == genesis("0" * 32, b"other")
    False
    """
    inner = hashlib.sha256(b"discreet ledger key\n" + key).hexdigest()
    return hashlib.sha256(f"discreet ledger 1\n{ledger_id}\n{inner}".encode()).hexdigest()


def checked_chain(events: Iterable[Event], seq: int, last: str) -> tuple[int, str]:
    """Follow the events after number `seq`, whose hash is `last`; give number and hash of the end."""
    for event in events:
        if event.seq != seq + 1 or event.previous != last or event.hashed().hash != event.hash:
            raise LedgerError(
                f"the ledger was changed or damaged at event {event.seq}: its hash does not follow from the event "
                "before; restore it from a copy and compare that with the anchors in your releases"
            )
        seq, last = event.seq, event.hash
    return seq, last


@dataclass(frozen=True, slots=True)
class Anchor:
    """Where a spend is recorded: which ledger, which event, and its hash, which stands for all events before it.

    The data set's whole budget at that time is written behind it, for people.

    Examples
    --------
    >>> anchor = Anchor("0" * 32, 7, "f" * 64, ":epsilon=1:delta=1e-06")
    >>> Anchor.parsed(str(anchor)) == anchor
    True
    """

    ledger_id: str
    seq: int
    hash: str
    budget: str = ""

    def __str__(self) -> str:
        return f"discreet-ledger:{self.ledger_id}:{self.seq}:{self.hash}{self.budget}"

    @classmethod
    def parsed(cls, text: str) -> Anchor:
        """Read an anchor."""
        found = _ANCHOR.fullmatch(text)
        if text == UNTRACKED:
            raise LedgerError(
                "the release is untracked: it was made without a ledger, or one of several curators has none; no "
                "anchor says where its spend is recorded"
            )
        if found is None:
            raise LedgerError(
                f"{shown(text)} is no anchor of a ledger; a tracked release has one such as discreet-ledger:..."
            )
        return cls(found[1], int(found[2]), found[3], found[4] or "")


@dataclass(frozen=True, slots=True)
class MergedAnchor:
    """The anchor of a release of several curators: their session, and the anchor of each one's part in its own ledger.

    Examples
    --------
    >>> anchor = MergedAnchor("0" * 32, ("one", "two", "three"))
    >>> MergedAnchor.parsed(str(anchor)) == anchor, MergedAnchor.parsed("untracked")
    (True, None)
    """

    session: str
    anchors: tuple[str, ...]

    def __str__(self) -> str:
        return f"{PARTS}{self.session}:{json.dumps(self.anchors, separators=(',', ':'))}"

    @classmethod
    def parsed(cls, text: str) -> MergedAnchor | None:
        """Read one; none if the text is no such anchor."""
        session, _, rest = text.removeprefix(PARTS).partition(":")
        if not text.startswith(PARTS) or not _SESSION.fullmatch(session):
            return None
        try:
            found = json.loads(rest)
        except (ValueError, RecursionError):
            return None
        if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
            return None
        made = cls(session, tuple(found))
        # one text for one anchor
        return made if str(made) == text else None

    def names_each(self, curators: int) -> bool:
        """Whether it has one spend for each of so many curators: none twice, none that is no spend of one part.

        >>> MergedAnchor("0" * 32, ("one", "two", "three")).names_each(3)
        True
        >>> MergedAnchor("0" * 32, ("one", "two", "two")).names_each(3)
        False
        """
        known = [(one, _ANCHOR.fullmatch(one)) for one in self.anchors]
        # the same event with and without its budget is one spend
        spends = {one if found is None else found.group(1, 2) for one, found in known}
        one_part = not any(
            one == UNTRACKED or one.startswith(PARTS) or (one.startswith(_LEDGER) and found is None)
            for one, found in known
        )
        return one_part and len(known) == len(spends) == curators

    def of_ledger(self, ledger_id: str) -> list[Anchor]:
        """Anchors of one ledger among them."""
        known = (_ANCHOR.fullmatch(one) for one in self.anchors)
        return [Anchor.parsed(one[0]) for one in known if one is not None and one[1] == ledger_id]
