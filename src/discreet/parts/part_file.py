"""Mask, write and read one curator's part. Proof: parts.proof.md."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
import numpy.typing as npt

from discreet.errors import DataError, PartFileError, SpecError
from discreet.files import PART_MARK, read_limited, write_bytes
from discreet.parts.agreement import Session
from discreet.parts.keys import CuratorKey, mask_key_bytes, need_library, sign_key_bytes
from discreet.privacy.checks import is_integer
from discreet.releases.fields import canonical_json
from discreet.tables.frames import Origin
from discreet.text import has_invisible_characters
from discreet.wording import Call, Message

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

# -- masks -------------------------------------------------------------------------------------------------------------
# Pairwise masks of curators, which cancel when all parts are added modulo 2^128. Proof: parts.proof.md.

# bytes of a masked number, and the modulus
WIDTH: Final = 16
MODULUS: Final = 1 << 8 * WIDTH
# bound of the absolute value of pooled sums
MOST: Final = 1 << 126
_KEY_BYTES: Final = 32
_SALT: Final = b"discreet part masks 1"
_STREAM: Final = b"discreet part mask stream 1\n"
# four limbs of 32 bits, of which 2^32 add up in 64 bits
_LIMBS: Final = 4
_LIMB_BITS: Final = 32


def pair_keys(session: Session, place: int, own: CuratorKey) -> list[bytes | None]:
    """Derive the secret that this curator shares with each other curator in this session, with None for itself."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    agreed = session.to_dict()
    keys: list[bytes | None] = []
    for other, curator in enumerate(session.curators):
        if other == place:
            keys.append(None)
            continue
        pair = [session.curators[index].to_dict() for index in sorted((place, other))]
        # bind the secret to the whole session (id, terms and keys) and to both curators of the pair
        info = canonical_json({"purpose": "mask of a pair", "session": agreed, "pair": pair})  # [P:mask-bound]
        shared = own.mask.exchange(X25519PublicKey.from_public_bytes(mask_key_bytes(curator.mask_key)))
        keys.append(HKDF(SHA256(), _KEY_BYTES, salt=_SALT, info=info).derive(shared))
    return keys


def masked(values: Sequence[int], keys: Sequence[bytes | None], place: int) -> bytes:
    """Add all pairwise masks to the values modulo 2^128. Each result has 16 little-endian bytes.

    In each pair, the curator listed first adds the mask and the other subtracts it.

    >>> key = bytes(32)
    >>> first, second = masked([5, -7], [None, key], 0), masked([1, 2], [key, None], 1)
    >>> unmasked([first, second])
    [6, -5]
    """
    more = np.zeros((len(values), _LIMBS), dtype=np.uint64)
    less = np.zeros((len(values), _LIMBS), dtype=np.uint64)
    for other, key in enumerate(keys):
        if key is not None:
            mask = _limbs(hashlib.shake_256(_STREAM + key).digest(WIDTH * len(values)))
            if place < other:
                more += mask
            else:
                less += mask  # [P:masks-cancel]
    sums = (value + up - down for value, up, down in zip(values, _joined(more), _joined(less), strict=True))
    return b"".join((total % MODULUS).to_bytes(WIDTH, "little") for total in sums)  # [P:masked]


def unmasked(parts: Sequence[bytes]) -> list[int]:
    """Add the parts of all curators modulo 2^128, and return the representatives nearest to 0."""
    total = np.zeros((len(parts[0]) // WIDTH, _LIMBS), dtype=np.uint64)
    for part in parts:
        total += _limbs(part)
    found = (joined % MODULUS for joined in _joined(total))
    return [value - MODULUS if value >= MODULUS // 2 else value for value in found]


def check_range(values: Sequence[int], parts: int) -> None:
    """Raise an error for sums so large that the total of all parts might wrap around."""
    if any(abs(value) > MOST // parts for value in values):
        raise DataError(
            f"a sum is too large: the total of {parts} parts could reach 2^126",
            code="sum-too-large",
            option="grid_bits",
            remedy="lower grid_bits",
        )  # [P:no-wrap]


def _limbs(content: bytes) -> npt.NDArray[np.uint64]:
    return np.frombuffer(content, dtype="<u4").reshape(-1, _LIMBS).astype(np.uint64)


def _joined(limbs: npt.NDArray[np.uint64]) -> list[int]:
    return [
        low + (second << _LIMB_BITS) + (third << 2 * _LIMB_BITS) + (high << 3 * _LIMB_BITS)
        for low, second, third, high in limbs.tolist()
    ]


# -- part file ---------------------------------------------------------------------------------------------------------
# A part as a file: a JSON header, masked numbers, and a signature of both. Proof: parts.proof.md.

# the prefix also makes these signatures different from those of releases
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
    """Unmasked header of a part.

    `curator` is the index of the curator in the session, from 0. `numbers` is the number of masked numbers that follow.
    `anchor` is that of the spend in the curator's ledger, or `untracked`. `origin` says whether the rows come from a
    query, a stream or a quoted file.
    """

    session: Session
    design: Mapping[str, object]
    curator: int
    numbers: int
    anchor: str
    origin: Origin | None
    made_by: str

    def to_bytes(self) -> bytes:
        """Serialise the header for the file."""
        plain = {
            "session": self.session.to_dict(), "design": self.design, "curator": self.curator, "numbers": self.numbers,
            "anchor": self.anchor, "origin": self.origin, "made_by": self.made_by,
        }  # fmt: skip
        return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()

    @classmethod
    def from_bytes(cls, text: bytes) -> PartHeader:
        """Read a header. The caller must check the design."""
        body = _table(text)
        if set(body) != _FIELDS:
            raise _not_a_part("its header has missing or unknown fields")
        try:
            session = Session.from_dict(body["session"])
        except SpecError as error:
            raise PartFileError(
                Message("the session in the part is invalid: ", error), code="session-refused"
            ) from None
        place, numbers, origin = body["curator"], body["numbers"], body["origin"]
        if not is_integer(place) or not 0 <= place < len(session.curators):
            raise PartFileError("the curator of the part is not in its session", code="part-of-a-stranger")
        if not is_integer(numbers) or not 1 <= numbers <= _MOST_NUMBERS:
            raise _not_a_part(f"expected 1 to {_MOST_NUMBERS} masked numbers")
        if origin not in _ORIGINS or not isinstance(body["design"], dict):
            raise _not_a_part("its design or its origin is invalid")
        for name in ("anchor", "made_by"):
            if not isinstance(body[name], str) or not body[name] or has_invisible_characters(body[name]):
                raise _not_a_part(f"{name!r} must be text without invisible characters")
        return cls(session, body["design"], place, numbers, body["anchor"], origin, body["made_by"])


@dataclass(frozen=True, slots=True, repr=False)
class Part:
    """Signed, masked sums of one curator. Without the parts of all other curators, the sums look random.

    Attributes
    ----------
    header
        Session, design and curator.
    content
        The whole verified file, including the signature.
    """

    header: PartHeader
    content: bytes

    @classmethod
    def signed(cls, header: PartHeader, numbers: bytes, key: Ed25519PrivateKey) -> Part:
        """Assemble and sign a part."""
        head = header.to_bytes()
        said = _MAGIC + len(head).to_bytes(_LENGTH, "big") + head + numbers
        return cls.from_bytes(said + key.sign(said))  # [P:part-signed]

    @classmethod
    def from_bytes(cls, content: bytes) -> Part:
        """Read a part and verify its signature with the key in its session.

        This does not show whether the session is the right one. Compare it with the other parts and the curators.
        """
        need_library()
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        start = len(_MAGIC) + _LENGTH
        if not isinstance(content, bytes) or content[: len(_MAGIC)] != _MAGIC or len(content) < start + _SIGNATURE:
            raise _not_a_part(Message("expected a file that ", Call("discreet.part"), " wrote"))
        length = int.from_bytes(content[len(_MAGIC) : start], "big")
        if length > min(_MOST_HEADER, len(content) - start - _SIGNATURE):
            raise _not_a_part("its header is truncated or too long")
        header = PartHeader.from_bytes(content[start : start + length])
        if len(content) != start + length + WIDTH * header.numbers + _SIGNATURE:
            raise _not_a_part("its length does not match its header")
        curator = header.session.curators[header.curator]
        try:
            key = Ed25519PublicKey.from_public_bytes(sign_key_bytes(curator.sign_key))
            key.verify(content[-_SIGNATURE:], content[:-_SIGNATURE])  # [P:part-checked]
        except (InvalidSignature, ValueError):
            raise PartFileError(
                f"the signature of the part is not valid: it was altered, or curator {curator.name!r} did not sign it",
                code="part-altered",
            ) from None
        return cls(header, content)

    @property
    def curator(self) -> str:
        """Name of the curator."""
        return self.header.session.curators[self.header.curator].name

    @property
    def session(self) -> Session:
        """The session of the part."""
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
        """Write the part to a file for whoever merges the parts. Without the parts of all others it reveals nothing."""
        write_bytes(path, self.content, force=force)

    def to_text(self) -> str:
        """Encode the part as text for a ledger."""
        return json.dumps({"format": _TEXT_FORMAT, "part": base64.b64encode(self.content).decode()})

    @classmethod
    def from_text(cls, text: str) -> Part | None:
        """Read a part from the text in a ledger. Return None for other records, such as a release."""
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
        """Read a part file. A damaged or altered part raises an error."""
        try:
            content = read_limited(path, MOST_BYTES)
        except OSError as error:
            raise PartFileError(
                f"cannot read {str(path)!r}: {error.strerror}", code="cannot-read", given=str(path)
            ) from None
        try:
            return cls.from_bytes(content)
        except PartFileError as error:
            raise PartFileError(Message(f"{str(path)!r}: ", error), code=error.code, given=str(path)) from None

    def __repr__(self) -> str:
        return f"<Part of {self.curator!r} in session {self.session.id[:8]}, masked>"


def _not_a_part(why: str) -> PartFileError:
    return PartFileError(Message(f"{_NOT_A_PART}: ", why), code="not-a-part")


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
        raise _not_a_part("its header is not JSON")
    return cast("dict[str, Any]", body)
