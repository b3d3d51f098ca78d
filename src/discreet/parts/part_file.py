"""A part as a file: a header in JSON, masked numbers, and a signature over both. Proof: parts.proof.md."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from discreet.errors import PartFileError, SpecError
from discreet.files import PART_MARK, read_limited, write_bytes
from discreet.parts.curators import need_library
from discreet.parts.masks import WIDTH
from discreet.parts.public_keys import sign_key_bytes
from discreet.parts.session import Session
from discreet.privacy.checks import is_integer
from discreet.tables.frames import Origin
from discreet.text import has_invisible_characters

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

# also keeps these signatures apart from those of releases
_MAGIC: Final = PART_MARK
_LENGTH: Final = 4
_SIGNATURE: Final = 64
_MOST_HEADER: Final = 16 << 20
_MOST_NUMBERS: Final = 1 << 24
MOST_BYTES: Final = len(_MAGIC) + _LENGTH + _MOST_HEADER + WIDTH * _MOST_NUMBERS + _SIGNATURE
_ORIGINS: Final = (None, "query", "stream", "quoted")
_FIELDS: Final = frozenset(("session", "design", "curator", "numbers", "anchor", "origin", "made_by"))
_TEXT_FORMAT: Final = "discreet-part"
_NOT_A_PART: Final = "this is not a part, or it is damaged"


@dataclass(frozen=True, slots=True)
class PartHeader:
    """What a part says in the clear.

    Attributes
    ----------
    session
        The whole session.
    design
        The design as plain values; the session has its digest.
    curator
        Place of its curator in the session, from 0.
    numbers
        How many masked numbers follow.
    anchor
        Where the curator's ledger has the spend, or `untracked`.
    origin
        What its rows depend on, if on more than themselves.
    made_by
        Name and version of the software.
    """

    session: Session
    design: Mapping[str, object]
    curator: int
    numbers: int
    anchor: str
    origin: Origin | None
    made_by: str

    def to_bytes(self) -> bytes:
        """The header as the file has it."""
        plain = {
            "session": self.session.to_dict(), "design": self.design, "curator": self.curator, "numbers": self.numbers,
            "anchor": self.anchor, "origin": self.origin, "made_by": self.made_by,
        }  # fmt: skip
        return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()

    @classmethod
    def from_bytes(cls, text: bytes) -> PartHeader:
        """Read a header; the design is checked by whoever uses it."""
        body = _table(text)
        if set(body) != _FIELDS:
            raise PartFileError(f"{_NOT_A_PART}: its header has other fields than expected")
        try:
            session = Session.from_dict(body["session"])
        except SpecError as error:
            raise PartFileError(f"the session in the part is refused: {error}") from None
        place, numbers, origin = body["curator"], body["numbers"], body["origin"]
        if not is_integer(place) or not 0 <= place < len(session.curators):
            raise PartFileError("the part is of a curator who is not in its session")
        if not is_integer(numbers) or not 1 <= numbers <= _MOST_NUMBERS:
            raise PartFileError(f"{_NOT_A_PART}: expected 1 to {_MOST_NUMBERS} masked numbers")
        if origin not in _ORIGINS or not isinstance(body["design"], dict):
            raise PartFileError(f"{_NOT_A_PART}: its design or its origin is not one")
        for name in ("anchor", "made_by"):
            if not isinstance(body[name], str) or not body[name] or has_invisible_characters(body[name]):
                raise PartFileError(f"{_NOT_A_PART}: {name!r} is not text")
        return cls(session, body["design"], place, numbers, body["anchor"], origin, body["made_by"])


@dataclass(frozen=True, slots=True, repr=False)
class Part:
    """The masked sums of one curator, signed; without the parts of all others they are noise.

    Attributes
    ----------
    header
        Session, design and curator.
    content
        The whole file, signature included; it was checked.
    """

    header: PartHeader
    content: bytes

    @classmethod
    def signed(cls, header: PartHeader, numbers: bytes, key: Ed25519PrivateKey) -> Part:
        """Put a part together and sign it."""
        head = header.to_bytes()
        said = _MAGIC + len(head).to_bytes(_LENGTH, "big") + head + numbers
        return cls.from_bytes(said + key.sign(said))  # [P:part-signed]

    @classmethod
    def from_bytes(cls, content: bytes) -> Part:
        """Read a part: what is cheap to check first, then the signature by the key that its session lists.

        Whether the session is the right one, only its other parts and people can say.
        """
        need_library()
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        start = len(_MAGIC) + _LENGTH
        if not isinstance(content, bytes) or content[: len(_MAGIC)] != _MAGIC or len(content) < start + _SIGNATURE:
            raise PartFileError(f"{_NOT_A_PART}: expected a file that `discreet part` wrote")
        length = int.from_bytes(content[len(_MAGIC) : start], "big")
        if length > min(_MOST_HEADER, len(content) - start - _SIGNATURE):
            raise PartFileError(f"{_NOT_A_PART}: its header is cut or too long")
        header = PartHeader.from_bytes(content[start : start + length])
        if len(content) != start + length + WIDTH * header.numbers + _SIGNATURE:
            raise PartFileError(f"{_NOT_A_PART}: it is shorter or longer than its header says")
        curator = header.session.curators[header.curator]
        try:
            key = Ed25519PublicKey.from_public_bytes(sign_key_bytes(curator.sign_key))
            key.verify(content[-_SIGNATURE:], content[:-_SIGNATURE])  # [P:part-checked]
        except (InvalidSignature, ValueError):
            raise PartFileError(
                f"the part was altered, or curator {curator.name!r} did not sign it: its signature is not valid"
            ) from None
        return cls(header, content)

    @property
    def curator(self) -> str:
        """Name of the curator whose part it is."""
        return self.header.session.curators[self.header.curator].name

    @property
    def session(self) -> Session:
        """The session it is of."""
        return self.header.session

    @property
    def numbers(self) -> bytes:
        """The masked numbers."""
        return self.content[-_SIGNATURE - WIDTH * self.header.numbers : -_SIGNATURE]

    @property
    def digest(self) -> str:
        """SHA-256 of the whole file."""
        return hashlib.sha256(self.content).hexdigest()

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the part; it is for whoever merges, and says nothing without all others."""
        write_bytes(path, self.content, force=force)

    def to_text(self) -> str:
        """The part as a ledger keeps it, whose records are text."""
        return json.dumps({"format": _TEXT_FORMAT, "part": base64.b64encode(self.content).decode()})

    @classmethod
    def from_text(cls, text: str) -> Part | None:
        """Read a part from a ledger's record; none if the record is of anything else, such as a release."""
        try:
            body = json.loads(text)
        except (ValueError, RecursionError):
            return None
        if not isinstance(body, dict) or body.get("format") != _TEXT_FORMAT:
            return None
        try:
            content = base64.b64decode(str(body.get("part")), validate=True)
        except ValueError:
            content = b""
        return cls.from_bytes(content)

    @classmethod
    def load(cls, path: str | Path) -> Part:
        """Read a part; a damaged or altered one is refused."""
        try:
            content = read_limited(path, MOST_BYTES)
        except OSError as error:
            raise PartFileError(f"cannot read {str(path)!r}: {error.strerror}") from None
        try:
            return cls.from_bytes(content)
        except PartFileError as error:
            raise PartFileError(f"{str(path)!r}: {error}") from None

    def __repr__(self) -> str:
        return f"<Part of {self.curator!r} in session {self.session.id[:8]}, masked>"


def _table(text: bytes) -> dict[str, Any]:
    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        table = dict(pairs)
        if len(table) != len(pairs):
            raise ValueError
        return table

    def refuse(_: str) -> float:
        raise ValueError

    try:
        body = json.loads(text, object_pairs_hook=unique, parse_constant=refuse)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise PartFileError(f"{_NOT_A_PART}: its header is not JSON")
    return cast("dict[str, Any]", body)
