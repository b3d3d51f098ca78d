"""Make one curator's part: exact sums, a share of the noise, masks and a signature."""

from __future__ import annotations

import hashlib
import hmac
import os
import shlex
import stat
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from discreet import __version__
from discreet.curator.sums.gram import Totals
from discreet.curator.table import Table
from discreet.design.design import Design
from discreet.errors import (
    ColumnNotice,
    DataError,
    LedgerError,
    OptionError,
    OutputError,
    PartFileError,
    PrivacyNotice,
    UnsupportedError,
)
from discreet.files import PART_RECORD, checked_path, read_kept, write_once
from discreet.mechanisms.gaussian import GaussianShares
from discreet.mechanisms.sampler import ExactSampler, Sampler
from discreet.parts.agreement import Session, asked_by, design_table
from discreet.parts.keys import CuratorKey
from discreet.parts.part_file import MOST_BYTES, Part, PartHeader, check_range, masked, pair_keys
from discreet.privacy.budget import PrivacyBudget, check_strength
from discreet.privacy.spend import UNTRACKED, AdvisingHook, SpendHook, checked_receipt, untracked
from discreet.release_request import ReleaseRequest, check_design
from discreet.tables.csv_format import DEFAULT_READING, ReadOptions, checked_reading
from discreet.tables.frames import position_notice
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions, checked_options
from discreet.workflow import after_spend

# -- record ------------------------------------------------------------------------------------------------------------
# A session can be used once, so a record next to the key lists what the key has masked. Proof: parts.proof.md.

_DIGEST: Final = 32
_FOLDER: Final = "discreet-sessions-"
_ANEW: Final = "agree on a new session with the other curators"


@dataclass(frozen=True, slots=True, repr=False)
class Record:
    """The record that a session was used, a file in a folder next to the curator's key file.

    `key` is the secret key for digests of the exact sums.
    """

    path: Path
    session: Session
    key: bytes

    @classmethod
    def of(cls, key_path: str | Path, session: Session, key: bytes) -> Record:
        """Return the record of a session, whether it exists or not."""
        # the name of the folder depends on the key, not on the name of its file
        folder = checked_path(key_path).resolve().with_name(folder_of(key))  # [P:record-of-a-key]
        return cls(folder / session.id, session, key)

    @classmethod
    def beside(cls, key_path: str | Path, session: Session, key: bytes) -> Record:
        """Return the record of a session, and create its folder, which only its owner can enter."""
        found = cls.of(key_path, session, key)
        folder = found.path.parent
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise OutputError(
                f"cannot create the folder {str(folder)!r} for session records: {error.strerror}", given=str(folder)
            ) from None
        if os.name == "posix" and stat.S_IMODE(folder.stat().st_mode) & 0o077:
            # whoever can delete a record can cause a second part under the same mask
            how = shlex.join(["chmod", "700", str(folder)])
            raise OptionError(
                f"other users may access the folder of session records {str(folder)!r}",
                code="records-open-to-others",
                given=str(folder),
                remedy=f"restrict it to its owner: {how}",
            )
        if not os.access(folder, os.W_OK | os.X_OK):
            raise OutputError(
                f"cannot write a session record into {str(folder)!r}; a part is made only if it can be recorded",
                given=str(folder),
            )
        return found

    @property
    def is_used(self) -> bool:
        """Whether the session has a record, valid or not."""
        return os.path.lexists(self.path)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes that use the same key waiting while one process looks for a record and writes it.

        If two processes use different tables, the second is refused and spends nothing. On a system without such locks,
        `keep` still accepts only one of them.
        """
        handle = None
        # lock the folder; the system releases the lock when the process ends
        with suppress(ImportError, OSError):
            import fcntl

            handle = os.open(self.path.parent, os.O_RDONLY | os.O_CLOEXEC)
            fcntl.flock(handle, fcntl.LOCK_EX)
        try:
            yield
        finally:
            if handle is not None:
                os.close(handle)

    def find(self, values: Sequence[int]) -> Part | None:
        """Return the part previously made from the same sums, or None if the session is unused.

        Different sums raise an error, because two parts under one mask reveal the difference of their sums: exactly if
        the merger draws the noise, and otherwise with the noise of two shares only.
        """
        try:
            content = read_kept(self.path, len(PART_RECORD) + _DIGEST + MOST_BYTES)
        except OSError as error:
            raise OptionError(
                f"cannot read the record {str(self.path)!r}: {error.strerror}, so the session is treated as used",
                code="record-unreadable",
                option="session",
                remedy=_ANEW,
            ) from None
        if content is None:
            return None
        start = len(PART_RECORD) + _DIGEST
        if not content.startswith(PART_RECORD) or len(content) <= start:
            raise self._damaged()
        if not hmac.compare_digest(content[len(PART_RECORD) : start], self._digest(values)):
            what = (
                "the exact difference of their sums"
                if self.session.noise == "merger"
                else "the difference of their sums, with too little noise for the guarantee"
            )
            raise UnsupportedError(
                f"this key already used session {self.session.id} for another table or other terms. Two parts under "
                f"one mask would reveal {what}. Nothing was written",
                code="session-used",
                option="session",
                remedy=_ANEW,
            )  # [P:used-once]
        try:
            return Part.from_bytes(content[start:])
        except PartFileError:
            raise self._damaged() from None

    def keep(self, values: Sequence[int], part: Part) -> Part:
        """Record a new part before anyone sees it. If another process was first, return its part."""
        if write_once(self.path, PART_RECORD + self._digest(values) + part.content):
            return part
        found = self.find(values)
        if found is None:
            raise OutputError(
                f"another program deleted the session record {str(self.path)!r}; nothing was written",
                code="record-unstable",
                given=str(self.path),
            )
        return found

    def _damaged(self) -> OptionError:
        return OptionError(
            f"the record {str(self.path)!r} is damaged, so the session is treated as used",
            code="record-damaged",
            option="session",
            remedy=_ANEW,
        )

    def _digest(self, values: Sequence[int]) -> bytes:
        text = ",".join(map(str, values))
        return hmac.new(self.key, f"{self.session.fingerprint}\n{text}".encode(), hashlib.sha256).digest()


def folder_of(key: bytes) -> str:
    """Return the name of the folder with the records of a key."""
    return _FOLDER + hmac.new(key, b"folder of records", hashlib.sha256).hexdigest()[:16]


# -- making ------------------------------------------------------------------------------------------------------------
# Make a part from a curator's table: exact sums, a share of the noise, masks, a signature.

# largest number of rows in one part, so that a merge can detect an impossible count
MOST_ROWS: Final = 1 << 48


def part(
    data: object,
    design: Design,
    session: Session | str | Path,
    *,
    key: str | Path,
    allow_weak_privacy: bool = False,
    reading: ReadOptions | None = None,
    compute: ComputeOptions | None = None,
    spend: SpendHook = untracked,
) -> Part:
    """Make this curator's part of a joint release: masked sums with a share of the noise.

    A session can be used once. The part is recorded next to the key before it is returned. Repeating the call with the
    same table returns the same part, and another table under the same session raises an error.

    Parameters
    ----------
    data
        This curator's rows, in any form that `discreet.release` accepts.
    design
        The design of the session, the same for all curators.
    session
        The session that all curators agreed on, or the path of its file.
    key
        Path of this curator's private key file; see `CuratorKey`.
    allow_weak_privacy
        True to accept epsilon above 20 or delta above 1e-3.
    reading
        Format of CSV files, as for `discreet.release`.
    compute
        Settings of the computation, which cannot change the result.
    spend
        `Ledger.account` of a data set in this curator's ledger. Making a part records the spend; merging does not.

    Returns
    -------
    Part
        The part, for the merger.

    Examples
    --------
    >>> import tempfile
    >>> from discreet import CuratorKey, Design, Session
    >>> design = Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> three = [CuratorKey.new(name) for name in ("north", "south", "west")]
    >>> session = Session.new(design, [one.public for one in three], epsilon=1.0, delta=1e-6)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     three[0].save(f"{folder}/north.key")
    ...     made = part({"x": [1.0, 2.0], "y": [2.0, 4.0]}, design, session, key=f"{folder}/north.key")
    >>> made.curator
    'north'
    """
    check_design(design)
    agreed = Session.given(session)
    for notice in check_strength(PrivacyBudget(agreed.epsilon, agreed.delta), allow_weak_privacy):
        warnings.warn(notice, PrivacyNotice, stacklevel=2)
    return part_with(
        ExactSampler(),
        data,
        design,
        agreed,
        key=key,
        reading=checked_reading(reading),
        compute=compute,
        spend=spend,
    )


def part_with(
    sampler: Sampler,
    data: object,
    design: Design,
    session: Session,
    *,
    key: str | Path,
    reading: ReadOptions = DEFAULT_READING,
    compute: ComputeOptions | None = None,
    spend: SpendHook = untracked,
) -> Part:
    """Make a part with a given source of noise."""
    design = design.redeclared()
    asked = asked_by(session, design)
    options = checked_options(compute)
    if not callable(spend):
        raise OptionError(
            f"spend: expected ledger.account(name) or another callable, got {type(spend).__name__}",
            option="spend",
            allowed="a spend hook",
        )
    own = CuratorKey.load(key)
    place = place_of(session, own)
    shared = pair_keys(session, place, own)
    record = Record.beside(key, session, own.record_key())
    positions = position_notice(data, [*design.table_columns, *filter(None, [design.unit.id])])
    if positions is not None:
        warnings.warn(positions, ColumnNotice, stacklevel=3)
    source = open_source(data, reading=reading)
    books = spend if isinstance(spend, AdvisingHook) else None
    more = {"read_as": dict(source.read_as), "session": session.fingerprint}
    request = replace(
        asked.request,
        description=f"part of session {session.id[:8]}: {asked.request.description}",
        specification=asked.specification | more,
        once=f"{session.id} {own.public.fingerprint}",
        answer=answer_of(asked, session),
    )
    if books is not None:
        books.advise(request)
    wanted = books is not None and source.fingerprint is None
    with Table(source, design, asked.domain, options, digest=wanted) as table:
        first = table.sums(next(asked.mechanism.passes(asked.context(sampler))))
        exact = exact_numbers(first, asked, session)
        fingerprint = None if books is None else source.fingerprint or table.fingerprint
        with record.alone():
            # raises an error before the spend if the session was used for other sums
            known = record.find(exact)
            receipt = checked_receipt(spend(replace(request, fingerprint=fingerprint)))

            def build() -> Part:
                # somebody may have seen the part that the ledger committed, so it replaces the one in the record
                stored = None if receipt.stored is None else _stored_part(receipt.stored)  # [P:committed-part]
                made = known if stored is None else stored
                if made is None:
                    noisy = _with_share(exact, first, asked, session, sampler)
                    header = PartHeader(
                        session, design_table(design), place, len(noisy), receipt.anchor, source.origin,
                        f"discreet {__version__}",
                    )  # fmt: skip
                    made = Part.signed(header, masked(noisy, shared, place), own.sign)
                if known is None:
                    # record the part before anyone sees it, so that no other part is made under the same mask
                    kept = record.keep(exact, made)  # [P:recorded-first]
                    made = kept if stored is None else stored
                # return what the ledger recorded
                return made if receipt.commit is None else _stored_part(receipt.commit(made.to_text()))

            # without a ledger an error does not mean that budget was spent
            return build() if receipt.anchor == UNTRACKED else after_spend(build, receipt.request_id, "part")


def _stored_part(text: str) -> Part:
    part = Part.from_text(text)
    if part is None:
        raise LedgerError("the ledger holds a different record in place of this part", remedy="restore it from a copy")
    return part


def answer_of(asked: ReleaseRequest, session: Session) -> dict[str, object]:
    """Return the values that every release of the session must have, by field path, for a ledger to compare."""
    return {
        "curators": session.terms.to_dict(),
        "design": design_table(asked.design),
        "guarantee.epsilon": asked.budget.epsilon,
        "guarantee.delta": asked.budget.delta,
        "guarantee.unit": asked.design.unit.to_dict(),
        "mechanism.name": asked.mechanism.name,
    }


def was_made(session: Session, key: str | Path) -> bool:
    """Return whether this key has already made a part under the session."""
    return Record.of(key, session, CuratorKey.load(key).record_key()).is_used


def place_of(session: Session, own: CuratorKey) -> int:
    """Return the index of the curator with this key."""
    keys = [(one.mask_key, one.sign_key) for one in session.curators]
    public = own.public
    if (public.mask_key, public.sign_key) not in keys:
        names = ", ".join(repr(one.name) for one in session.curators)
        raise OptionError(
            f"the key of {own.name!r} does not belong to session {session.id}; its curators are {names}",
            code="key-not-in-session",
            option="key",
            remedy="pass the private key of one of these curators",
        )
    return keys.index((public.mask_key, public.sign_key))


def exact_numbers(first: Totals, asked: ReleaseRequest, session: Session) -> list[int]:
    """Return the exact sums on the noise grid, and the number of units if it is public."""
    if not 0 <= first.counts.units <= MOST_ROWS:
        raise DataError(f"the table has more than {MOST_ROWS} rows, the maximum of a part", code="too-many-rows")
    sums = first.on_grid(asked.distribution.unit)
    check_range(sums, len(session.curators))
    return [*sums, *([first.counts.units] if asked.design.unit.neighbours == "replace" else [])]


def _with_share(
    exact: list[int], first: Totals, asked: ReleaseRequest, session: Session, sampler: Sampler
) -> list[int]:
    """Add this curator's share of the noise to the sums, unless whoever merges the parts draws the noise."""
    if session.noise == "merger":
        return exact
    if not isinstance(asked.mechanism, GaussianShares):
        raise TypeError("a session with noise in shares must have a mechanism that draws them")
    noisy = asked.mechanism.randomise(first, asked.distribution, sampler)  # [P:share-before-mask]
    return [*noisy, *exact[len(noisy) :]]
