"""Events of a ledger, stored in SQLite and chained by hashes."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shlex
import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import astuple, dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal
from urllib.parse import quote

from discreet.errors import LedgerError, OptionError, OutputError, shown
from discreet.files import checked_path
from discreet.privacy.spend import UNTRACKED
from discreet.wording import Call

# -- chain -------------------------------------------------------------------------------------------------------------
# A tamper-evident chain of events: each event contains the hash of the previous one.
#
# Hashes are salted, because anchors are published and must not reveal anything about their events.

Kind = Literal["dataset", "grant", "reserve", "stage", "commit", "stop"]

_ANCHOR: Final = re.compile(r"discreet-ledger:([0-9a-f]{32}):([1-9][0-9]{0,17}):([0-9a-f]{64})(:\S*)?", re.ASCII)
_LEDGER: Final = "discreet-ledger:"
_RESTORE: Final = "restore a backup and compare it with the anchors in your releases"
# prefix of the anchor of a release of several curators
PARTS: Final = "discreet-parts:"
_SESSION: Final = re.compile(r"[0-9a-f]{32}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Event:
    """One event of the ledger.

    Events are numbered from 1 by `seq`; `time` does not define their order. `body` holds facts as JSON, and `content`
    the recorded text of a stage, commit or stop. `hash` covers all other fields, including the hash of the `previous`
    event.
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
        """Return the event with its hash."""
        parts = [
            self.seq, self.time, self.kind, self.dataset, self.request, self.body, self.content, self.salt,
            self.previous,
        ]  # fmt: skip
        text = json.dumps(parts, ensure_ascii=True, separators=(",", ":"))
        return replace(self, hash=hashlib.sha256(text.encode()).hexdigest())


def genesis(ledger_id: str, key: bytes) -> str:
    """Return the hash that precedes the first event. It depends on the ledger's id and key."""
    inner = hashlib.sha256(b"discreet ledger key\n" + key).hexdigest()
    return hashlib.sha256(f"discreet ledger 1\n{ledger_id}\n{inner}".encode()).hexdigest()


def checked_chain(events: Iterable[Event], seq: int, last: str) -> tuple[int, str]:
    """Verify the events that follow event `seq` with hash `last`. Return the number and hash of the last event."""
    for event in events:
        if event.seq != seq + 1 or event.previous != last or event.hashed().hash != event.hash:
            raise LedgerError(
                f"the ledger was changed or damaged at event {event.seq}: its hash does not match",
                code="ledger-damaged",
                remedy=_RESTORE,
            )
        seq, last = event.seq, event.hash
    return seq, last


@dataclass(frozen=True, slots=True)
class Anchor:
    """Reference to a recorded spend: ledger, event number and event hash. The hash covers all earlier events.

    The text of an anchor ends with the total budget of the data set at that time, for information.

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
        """Parse an anchor."""
        found = _ANCHOR.fullmatch(text)
        if text == UNTRACKED:
            raise LedgerError(
                "the release is untracked, so no ledger can be checked: it was made without a ledger, or at least one "
                "of its curators had none",
                code="untracked",
            )
        if found is None:
            raise LedgerError(
                f"expected an anchor such as discreet-ledger:..., got {shown(text)}",
                code="not-an-anchor",
                given=text,
            )
        return cls(found[1], int(found[2]), found[3], found[4] or "")


@dataclass(frozen=True, slots=True)
class MergedAnchor:
    """Anchor of a merged release: the session, and for each part the anchor in the ledger of its curator.

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
        """Parse a merged anchor, or return None for other strings."""
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
        # accept only the canonical text
        return made if str(made) == text else None

    def names_each(self, curators: int) -> bool:
        """Return whether the anchor lists as many different spends as there are curators.

        >>> MergedAnchor("0" * 32, ("one", "two", "three")).names_each(3)
        True
        >>> MergedAnchor("0" * 32, ("one", "two", "two")).names_each(3)
        False
        """
        known = [(one, _ANCHOR.fullmatch(one)) for one in self.anchors]
        # anchors of the same event with and without its budget refer to the same spend
        spends = {one if found is None else found.group(1, 2) for one, found in known}
        one_part = not any(
            one == UNTRACKED or one.startswith(PARTS) or (one.startswith(_LEDGER) and found is None)
            for one, found in known
        )
        return one_part and len(known) == len(spends) == curators

    def of_ledger(self, ledger_id: str) -> list[Anchor]:
        """Return the anchors of one ledger."""
        known = (_ANCHOR.fullmatch(one) for one in self.anchors)
        return [Anchor.parsed(one[0]) for one in known if one is not None and one[1] == ledger_id]


# -- storage -----------------------------------------------------------------------------------------------------------
# The ledger file: SQLite with a rollback journal that is on disk before a transaction is complete.
#
# Every operation opens and closes the file, so that no connection is shared by processes or threads.

# the file's type ("disc" in ASCII) and the version of its format
APPLICATION: Final = 0x64697363
VERSION: Final = 1
BUSY_SECONDS: Final = 60.0
FREE_BYTES: Final = 10_000_000
# a longer chain is verified only on request
_SMALL_BYTES: Final = 64_000_000
# format of the ledger's id and of its key
_HEXADECIMAL: Final = {"id": re.compile(r"[0-9a-f]{32}", re.ASCII), "key": re.compile(r"[0-9a-f]{64}", re.ASCII)}
_NAMES: Final = tuple(one.name for one in fields(Event))
_COLUMNS: Final = ", ".join(_NAMES)
_MAY_BE_NULL: Final = ("request", "content")
_FIXED: Final = "BEGIN SELECT RAISE(ABORT, 'what a ledger holds is never changed'); END"
_SCHEMA: Final = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT",
    "CREATE TABLE events (seq INTEGER PRIMARY KEY, time TEXT NOT NULL, kind TEXT NOT NULL, dataset TEXT NOT NULL, "
    "request TEXT, body TEXT NOT NULL, content TEXT, salt TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL) "
    "STRICT",
    "CREATE UNIQUE INDEX declared_once ON events (dataset) WHERE kind = 'dataset'",
    "CREATE UNIQUE INDEX reserved_once ON events (request) WHERE kind = 'reserve'",
    "CREATE UNIQUE INDEX staged_once ON events (request, body) WHERE kind = 'stage'",
    "CREATE UNIQUE INDEX ended_once ON events (request) WHERE kind IN ('commit', 'stop')",
    f"CREATE TRIGGER events_update BEFORE UPDATE ON events {_FIXED}",
    f"CREATE TRIGGER events_delete BEFORE DELETE ON events {_FIXED}",
    f"CREATE TRIGGER meta_update BEFORE UPDATE ON meta {_FIXED}",
    f"CREATE TRIGGER meta_delete BEFORE DELETE ON meta {_FIXED}",
    f"CREATE TRIGGER meta_insert BEFORE INSERT ON meta {_FIXED}",
)
_REASONS: Final = {
    "SQLITE_BUSY": "another program has been using it for too long; try again when that program has ended",
    "SQLITE_LOCKED": "another program is using it; try again when that program has ended",
    "SQLITE_FULL": "the disk is full; free some space and repeat the request",
    "SQLITE_READONLY": "the file or its folder is not writable; change the permissions or move the ledger",
    "SQLITE_CANTOPEN": "the file or its journal cannot be opened; check the permissions of the folder",
    "SQLITE_PERM": "the file permissions do not allow access",
    "SQLITE_CORRUPT": "the file is damaged; restore a backup and compare it with the anchors in your releases",
    "SQLITE_NOTADB": "the file is not a ledger, or its beginning is damaged",
    "SQLITE_IOERR": "the disk failed or is full; repeat the request",
    "SQLITE_CONSTRAINT": "another process recorded the same event first; repeat the request",
}


@contextmanager
def plain_words(path: Path) -> Iterator[None]:
    """Replace SQLite's errors, which may quote the ledger's content, with ledger errors."""
    name = ""
    try:
        yield
    except sqlite3.Error as error:
        # such as SQLITE_IOERR_WRITE; errors of Python's sqlite3 module have no such name
        name = "_".join((getattr(error, "sqlite_errorname", None) or "unknown").split("_")[:2])
    except (UnicodeDecodeError, OverflowError, MemoryError):
        name = "SQLITE_CORRUPT"
    if name:
        raise LedgerError(
            f"the ledger {path.name!r} cannot be used: {_REASONS.get(name, f'SQLite says {name}')}", option="ledger"
        )


def created(path: object) -> Storage:
    """Create an empty ledger that only this user may read."""
    target = checked_path(path)
    try:
        number = os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except FileExistsError:
        raise OutputError(
            f"{str(target)!r} already exists",
            code="file-exists",
            option="ledger",
            given=str(target),
            remedy="choose another name",
        ) from None
    except OSError as error:
        raise OutputError(
            f"cannot create the ledger {str(target)!r}: {error.strerror}", option="ledger", given=str(target)
        ) from None
    if hasattr(os, "fchmod"):
        os.fchmod(number, 0o600)  # for any umask
    os.close(number)
    try:
        with plain_words(target), closing(_connected(target)) as connection, _transaction(connection):
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
            for statement in _SCHEMA[:-1]:
                connection.execute(statement)
            for name, value in (("id", secrets.token_hex(16)), ("key", secrets.token_hex(32))):
                connection.execute("INSERT INTO meta VALUES (?, ?)", (name, value))
            connection.execute(_SCHEMA[-1])
    except BaseException:
        with suppress(OSError):
            target.unlink()
        raise
    return Storage(target)


def _connected(path: Path) -> sqlite3.Connection:
    # mode=rw: a missing ledger must not be created silently
    connection = sqlite3.connect(
        f"file:{quote(os.fsencode(path.absolute()))}?mode=rw", uri=True, timeout=BUSY_SECONDS, isolation_level=None
    )
    try:
        for setting in ("synchronous = EXTRA", "trusted_schema = OFF", "fullfsync = ON", "cell_size_check = ON"):
            connection.execute(f"PRAGMA {setting}")
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def _transaction(connection: sqlite3.Connection, kind: str = "IMMEDIATE") -> Iterator[None]:
    connection.execute(f"BEGIN {kind}")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # a failed COMMIT may already have ended the transaction
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


@dataclass
class Storage:
    """File of a ledger, verified on opening unless it is too large.

    `key` is the secret key of fingerprints. `seen` is the last verified event, from which later verification continues.
    """

    path: Path
    ledger_id: str = field(init=False)
    key: bytes = field(init=False, repr=False)
    seen: tuple[int, str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._refuse_other_files()
        with plain_words(self.path), closing(_connected(self.path)) as connection, _transaction(connection, "DEFERRED"):
            self._check_form(connection)
            meta = dict(connection.execute("SELECT name, value FROM meta").fetchall())
            if not all(
                isinstance(meta.get(name), str) and form.fullmatch(meta[name]) for name, form in _HEXADECIMAL.items()
            ):
                raise self._damaged("the ledger id or the key is missing")
            self.ledger_id, self.key = meta["id"], bytes.fromhex(meta["key"])
            self.seen = (0, genesis(self.ledger_id, self.key))
            if self.path.stat().st_size > _SMALL_BYTES:
                head = EventLog(connection).head()
                self.seen = self.seen if head is None else (head.seq, head.hash)
            self._follow(connection)

    def check_whole(self) -> tuple[int, str]:
        """Verify every page of the file and every event. Return the number and hash of the last event."""
        self._refuse_other_files()
        with plain_words(self.path), closing(_connected(self.path)) as connection, _transaction(connection, "DEFERRED"):
            self._check_form(connection)
            # an index that does not match its table could accept a request twice
            if connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
                raise self._damaged("SQLite reports that the file is corrupt")
            start = genesis(self.ledger_id, self.key)
            self.seen = checked_chain(EventLog(connection).events(), 0, start)
        return self.seen

    @contextmanager
    def reading(self) -> Iterator[EventLog]:
        """Open a consistent snapshot of the ledger for reading."""
        self._refuse_other_files()
        with plain_words(self.path), closing(_connected(self.path)) as connection, _transaction(connection, "DEFERRED"):
            yield EventLog(connection, *self._follow(connection))

    @contextmanager
    def writing(self) -> Iterator[EventLog]:
        """Open the ledger for exclusive writing. Appended events are committed if the block succeeds."""
        self._refuse_other_files()
        with plain_words(self.path), closing(_connected(self.path)) as connection, _transaction(connection):
            yield EventLog(connection, *self._follow(connection))

    def check_space(self) -> None:
        """Raise an error if the disk is nearly full."""
        if shutil.disk_usage(self.path.parent).free < FREE_BYTES:
            raise LedgerError(
                f"less than {FREE_BYTES // 1_000_000} MB is free on the disk of the ledger {self.path.name!r}",
                code="disk-full",
                option="ledger",
                remedy="free some space",
            )

    def _follow(self, connection: sqlite3.Connection) -> tuple[int, str]:
        """Verify the events appended since the last check, and return the number and the hash of the last event."""
        log, (seq, last) = EventLog(connection), self.seen
        if seq and [event.hash for event in log.events("seq = ?", seq)] != [last]:
            raise self._damaged(f"event {seq} was removed or changed while the ledger was in use")
        # threads may set this in any order, because each value was verified and belongs to the same chain
        self.seen = found = checked_chain(log.events("seq > ?", seq), seq, last)
        return found

    def _refuse_other_files(self) -> None:
        try:
            state = self.path.lstat()
        except OSError as error:
            missing = ("check the path", Call("Ledger.create", "make a ledger"))
            raise LedgerError(
                f"there is no ledger {str(self.path)!r}",
                code="no-such-ledger",
                option="ledger",
                given=str(self.path),
                remedy=missing if isinstance(error, FileNotFoundError) else error.strerror,
            ) from None
        mode = state.st_mode
        if not stat.S_ISREG(mode):
            what = "a link" if stat.S_ISLNK(mode) else "a folder" if stat.S_ISDIR(mode) else "a pipe, socket or device"
            raise OptionError(
                f"{str(self.path)!r} is {what}",
                code="not-a-regular-file",
                option="ledger",
                given=str(self.path),
                allowed="a regular file",
                remedy="pass the path of the ledger file itself",
            )
        if state.st_nlink != 1:
            own = shlex.join(["cp", str(self.path), f"{self.path}.own"])
            raise OptionError(
                f"the ledger {str(self.path)!r} has {state.st_nlink} names (hard links). SQLite finds its journal "
                "under one of them only, so a crash could undo a recorded spend. If none of these names has a file "
                f"ending in -journal next to it, copy the ledger and use only the copy: {own}. "
                "Otherwise keep the name that has the journal and delete the other names",
                code="hard-links",
                option="ledger",
                given=str(self.path),
            )

    def _check_form(self, connection: sqlite3.Connection) -> None:
        # do not open the file here: closing it would release all locks of this process, even those of other threads
        if self.path.stat().st_size == 0:
            raise LedgerError(
                f"{str(self.path)!r} is not a ledger: it is empty",
                code="not-a-ledger",
                option="ledger",
                given=str(self.path),
                remedy=("pass the path of a ledger", "delete the empty file"),
            )
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if application != APPLICATION:
            raise LedgerError(
                f"{str(self.path)!r} is not a ledger: it is a database of another program",
                code="not-a-ledger",
                option="ledger",
                given=str(self.path),
            )
        if version > VERSION:
            raise LedgerError(
                f"the ledger {self.path.name!r} was made by a newer version of discreet",
                code="newer-ledger",
                option="ledger",
                remedy="update discreet",
            )
        schema = {row[0] for row in connection.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")}
        if version != VERSION or schema != set(_SCHEMA):
            raise self._damaged("its tables are not the tables of a ledger")
        if connection.execute("PRAGMA journal_mode").fetchone()[0] != "delete":
            raise self._damaged("its journal mode was changed")

    def _damaged(self, how: str) -> LedgerError:
        return LedgerError(
            f"the ledger {self.path.name!r} was changed or damaged: {how}",
            code="ledger-damaged",
            option="ledger",
            remedy=_RESTORE,
        )


def _event(row: Sequence[object]) -> Event:
    """Build an event from a database row, after checking the types, which may be wrong in a damaged file."""
    seq, *texts = row
    for name, value in zip(_NAMES[1:], texts, strict=True):
        if not isinstance(value, str) and not (value is None and name in _MAY_BE_NULL):
            raise LedgerError(
                f"the ledger was changed or damaged at event {seq}: its {name} is not text",
                code="ledger-damaged",
                remedy=_RESTORE,
            )
    return Event(*row)  # type: ignore[arg-type]  # checked above; the number of a row is an integer always


class EventLog:
    """The events of a ledger, within one transaction."""

    def __init__(self, connection: sqlite3.Connection, seq: int = 0, last: str = "") -> None:
        self._connection = connection
        self._last = seq, last

    def events(self, where: str = "1", *values: object) -> Iterator[Event]:
        """Yield the events that satisfy a condition, in order."""
        rows = self._connection.execute(f"SELECT {_COLUMNS} FROM events WHERE {where} ORDER BY seq", values)
        return (_event(row) for row in rows)

    def head(self) -> Event | None:
        """Return the last event."""
        return next(self.events("seq = (SELECT max(seq) FROM events)"), None)

    def append(self, kind: Kind, dataset: str, request: str | None, body: str, content: str | None = None) -> Event:
        """Append an event."""
        seq, last = self._last
        now = datetime.now(UTC).isoformat(timespec="seconds")
        salt = secrets.token_hex(16)
        event = Event(seq + 1, now, kind, dataset, request, body, content, salt, last).hashed()
        marks = ", ".join("?" for _ in fields(Event))
        self._connection.execute(f"INSERT INTO events ({_COLUMNS}) VALUES ({marks})", astuple(event))
        self._last = event.seq, event.hash
        return event


# -- steps -------------------------------------------------------------------------------------------------------------
# Named steps of a tracked release, in order. They do nothing, except in tests that simulate a crash.

STEPS: Final = (
    "advised",  # the budget is checked, no row is read
    "summed",  # the exact sums are complete
    "reserving",  # the spend is written but not committed
    "reserved",  # the spend is on disk, no noise is drawn
    "staging",  # preliminary counts are drawn and written but not committed
    "staged",  # preliminary counts are on disk and not used yet
    "drawn",  # the release is complete and not shown to anyone
    "committing",  # the release is written but not committed
    "committed",  # the release is on disk
    "read",  # the release was read back
    "writing",  # its file is about to be written
    "written",  # its file is complete, nothing is printed
)


def _nothing(step: str) -> None:
    """Do nothing."""


_observer: Callable[[str], None] = _nothing


def at(step: str) -> None:
    """Tell the observer that a step is reached."""
    _observer(step)
