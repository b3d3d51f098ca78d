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
from typing import Final, cast

from discreet import __version__
from discreet.curator.sums.gram import Totals
from discreet.curator.table import Table
from discreet.design.design import Design
from discreet.errors import ColumnNotice, DataError, OutputError, PartFileError, PrivacyNotice, SpecError
from discreet.files import PART_RECORD, checked_path, read_kept, write_once
from discreet.mechanisms.gaussian import GaussianShares
from discreet.mechanisms.sampler import ExactSampler, Sampler
from discreet.parts.agreement import Session, asked_by, design_table
from discreet.parts.keys import CuratorKey
from discreet.parts.part_file import MOST_BYTES, Part, PartHeader, check_range, masked, pair_keys
from discreet.privacy.budget import PrivacyBudget, check_strength
from discreet.privacy.spend import UNTRACKED, AdvisingHook, SpendHook, checked_receipt, untracked
from discreet.tables.csv_format import DEFAULT_READING, ReadOptions
from discreet.tables.frames import position_notice
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions, checked_options
from discreet.workflow import Question, after_spend, check_design

# -- record ------------------------------------------------------------------------------------------------------------
# A session is used once: what this curator's key has masked, beside the key. Proof: parts.proof.md.

_DIGEST: Final = 32
_FOLDER: Final = "discreet-sessions-"
_ANEW: Final = "agree on a new session with the other curators"


@dataclass(frozen=True, slots=True, repr=False)
class Record:
    """The record of one session in the folder beside a curator's key.

    Attributes
    ----------
    path
        One file for each session, by its id.
    session
        The session.
    key
        For the digest of the exact sums, which so says nothing to anybody else.
    """

    path: Path
    session: Session
    key: bytes

    @classmethod
    def of(cls, key_path: str | Path, session: Session, key: bytes) -> Record:
        """Where the record of a session is, or would be."""
        # by whatever name the key was given, and whatever its file is called now: the key itself names the folder
        folder = checked_path(key_path).resolve().with_name(folder_of(key))  # [P:record-of-a-key]
        return cls(folder / session.id, session, key)

    @classmethod
    def beside(cls, key_path: str | Path, session: Session, key: bytes) -> Record:
        """The same, in a folder for its owner alone, which is made if it is not there."""
        found = cls.of(key_path, session, key)
        folder = found.path.parent
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise OutputError(f"cannot make the folder {str(folder)!r} for records: {error.strerror}") from None
        if os.name == "posix" and stat.S_IMODE(folder.stat().st_mode) & 0o077:
            # whoever can take a record away can have a second part made
            how = shlex.join(["chmod", "700", str(folder)])
            raise SpecError(f"others may use the folder of records {str(folder)!r}; allow its owner alone: {how}")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise OutputError(f"cannot write records into {str(folder)!r}; without one a session is not used")
        return found

    @property
    def is_used(self) -> bool:
        """Whether the session has a record, whatever is in it."""
        return os.path.lexists(self.path)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes with this key out, from the look for a record until there is one.

        So of two tables at a time the second is refused with nothing spent. On a system or disk without such locks
        `keep` still lets one of them through alone.
        """
        handle = None
        # the folder itself is locked, and the system lets go of it when the process ends in any way
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
        """The part that was made of these very sums before; none if the session is unused.

        Sums that differ are refused: two parts under one mask show the difference of what was masked, which is exact
        where the merger draws the noise and has the noise of two shares alone otherwise.
        """
        try:
            content = read_kept(self.path, len(PART_RECORD) + _DIGEST + MOST_BYTES)
        except OSError as error:
            raise SpecError(
                f"cannot read the record {str(self.path)!r}: {error.strerror}; the session counts as used; {_ANEW}"
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
                else "the difference of their sums with the noise of two shares alone, which no promise covers"
            )
            raise SpecError(
                f"session {self.session.id} was used before with this key, for another table or on other terms; two "
                f"parts under one mask would show {what}. Nothing was written; {_ANEW}"
            )  # [P:used-once]
        try:
            return Part.from_bytes(content[start:])
        except PartFileError:
            raise self._damaged() from None

    def keep(self, values: Sequence[int], part: Part) -> Part:
        """Record a new part before anybody sees it; where another process was first, the part is that one's."""
        if write_once(self.path, PART_RECORD + self._digest(values) + part.content):
            return part
        found = self.find(values)
        if found is None:
            raise OutputError(f"the record {str(self.path)!r} comes and goes; nothing was written")
        return found

    def _damaged(self) -> SpecError:
        return SpecError(f"the record {str(self.path)!r} is damaged, so the session counts as used; {_ANEW}")

    def _digest(self, values: Sequence[int]) -> bytes:
        text = ",".join(map(str, values))
        return hmac.new(self.key, f"{self.session.fingerprint}\n{text}".encode(), hashlib.sha256).digest()


def folder_of(key: bytes) -> str:
    """Name of the folder with the records of a key.

    >>> folder_of(b"of north") != folder_of(b"of south")
    True
    """
    return _FOLDER + hmac.new(key, b"folder of records", hashlib.sha256).hexdigest()[:16]


# -- making ------------------------------------------------------------------------------------------------------------
# A part from a curator's own table: exact sums, a share of the noise, masks, a signature; the session is used up.

# rows of one part, so that a count that is not one is seen when parts are merged
MOST_ROWS: Final = 1 << 48


def part(
    data: object,
    design: Design,
    session: Session | str | Path,
    *,
    key: str | Path,
    allow_weak_privacy: bool = False,
    encoding: str = "utf-8",
    delimiter: str | None = None,
    decimal: str = ".",
    thousands: str | None = None,
    quoted_line_breaks: bool = False,
    compute: ComputeOptions | None = None,
    spend: SpendHook = untracked,
) -> Part:
    """Make this curator's part of a release of several: masked sums, with its share of the noise.

    A session is used once. What was made is recorded beside the key before it is given: the same table again gives the
    same part, another table under the same session is refused.

    Parameters
    ----------
    data
        This curator's rows, as `discreet.release` takes them.
    design
        The same for all curators.
    session
        On which all curators agreed, or the path of its file.
    key
        Path of this curator's private keys; see `CuratorKey`.
    allow_weak_privacy
        Accept epsilon above 20 or delta above 1e-3.
    encoding, delimiter, decimal, thousands, quoted_line_breaks
        How CSV files are written, as in `discreet.release`.
    compute
        How the work is done; cannot change the result.
    spend
        `Ledger.account` of a data set of this curator's own ledger: the spend is recorded here, not when parts are
        merged.

    Returns
    -------
    Part
        For whoever merges.

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
        reading=ReadOptions(encoding, delimiter, decimal, thousands, quoted_line_breaks),
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
    """The line itself, whatever the source of the noise."""
    design = design.redeclared()
    asked = asked_by(session, design)
    options = checked_options(compute)
    if not callable(spend):
        raise SpecError(f"spend: expected ledger.account(name), or a function like it, got {type(spend).__name__}")
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
            # other sums under this session are refused with nothing spent
            known = record.find(exact)
            receipt = checked_receipt(spend(replace(request, fingerprint=fingerprint)))

            def build() -> Part:
                made = known
                if made is None and receipt.stored is not None:
                    made = Part.from_text(receipt.stored)
                if made is None:
                    noisy = _with_share(exact, first, asked, session, sampler)
                    header = PartHeader(
                        session, design_table(design), place, len(noisy), receipt.anchor, source.origin,
                        f"discreet {__version__}",
                    )  # fmt: skip
                    made = Part.signed(header, masked(noisy, shared, place), own.sign)
                if known is None:
                    # recorded before anybody sees it, so that no other part can follow under the same mask
                    made = record.keep(exact, made)  # [P:recorded-first]
                # what is given is what was recorded, read back
                return made if receipt.commit is None else cast("Part", Part.from_text(receipt.commit(made.to_text())))

            # where nobody counts nothing is spent before somebody has the part
            return build() if receipt.anchor == UNTRACKED else after_spend(build, receipt.request_id, "part")


def answer_of(asked: Question, session: Session) -> dict[str, object]:
    """What the file of every release of the session has, by the path of each field: a ledger compares it."""
    return {
        "curators": session.terms.to_dict(),
        "design": design_table(asked.design),
        "guarantee.epsilon": asked.budget.epsilon,
        "guarantee.delta": asked.budget.delta,
        "guarantee.unit": asked.design.unit.to_dict(),
        "mechanism.name": asked.mechanism.name,
    }


def was_made(session: Session, key: str | Path) -> bool:
    """Whether this key has made a part under the session before, which is then given again."""
    return Record.of(key, session, CuratorKey.load(key).record_key()).is_used


def place_of(session: Session, own: CuratorKey) -> int:
    """Which of the curators has this key."""
    keys = [(one.mask_key, one.sign_key) for one in session.curators]
    public = own.public
    if (public.mask_key, public.sign_key) not in keys:
        names = ", ".join(repr(one.name) for one in session.curators)
        raise SpecError(
            f"the key of {own.name!r} is not in session {session.id}, whose curators are {names}; give the key whose "
            "public part was put into the session"
        )
    return keys.index((public.mask_key, public.sign_key))


def exact_numbers(first: Totals, asked: Question, session: Session) -> list[int]:
    """The exact sums on the grid of the noise, and the number of units where it is public."""
    if not 0 <= first.count <= MOST_ROWS:
        raise DataError(f"the table has more than {MOST_ROWS} rows, more than a part may have")
    sums = first.on_grid(asked.law.unit)
    check_range(sums, len(session.curators))
    return [*sums, *([first.count] if asked.design.unit.neighbours == "replace" else [])]


def _with_share(exact: list[int], first: Totals, asked: Question, session: Session, sampler: Sampler) -> list[int]:
    """The sums with this curator's share of the noise; as they are where the merger draws it."""
    if session.noise == "merger" or not isinstance(asked.mechanism, GaussianShares):
        return exact
    noisy = asked.mechanism.randomise(first, asked.law, sampler)  # [P:share-before-mask]
    return [*noisy, *exact[len(noisy) :]]
