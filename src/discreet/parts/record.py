"""A session is used once: what this curator's key has masked, beside the key. Proof: parts.proof.md."""

from __future__ import annotations

import hashlib
import hmac
import os
import shlex
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from discreet.errors import OutputError, PartFileError, SpecError
from discreet.files import PART_RECORD, checked_path, read_kept, write_once
from discreet.parts.part_file import MOST_BYTES, Part
from discreet.parts.session import Session

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
