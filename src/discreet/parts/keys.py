"""Public and private keys of curators. Proof: parts.proof.md."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import re
import shlex
import stat
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from discreet.errors import MissingDependencyError, OptionError, shown
from discreet.files import KEY_MARK, check_output, checked_path, read_limited, regular_state, write_bytes
from discreet.privacy.checks import exact_fields
from discreet.text import has_invisible_characters, in_groups
from discreet.wording import Call

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

# -- public keys -------------------------------------------------------------------------------------------------------
# Public keys as text. Each key has exactly one text, and weak keys are refused. Proof: parts.proof.md.

MASK_SCHEME: Final = "x25519:"
SIGN_SCHEME: Final = "ed25519:"
_KEY_BYTES: Final = 32
# both curves are over the integers modulo this prime [RFC 7748, 4.1; RFC 8032, 5.1]
_PRIME: Final = 2**255 - 19
_SIGN_BIT: Final = 1 << 255
# -x^2 + y^2 = 1 + D x^2 y^2
_D: Final = -121665 * pow(121666, -1, _PRIME) % _PRIME
# u of all points of Curve25519 and its twist whose order divides 8; with such a key every shared secret is known
_LOW_ORDER: Final = frozenset((
    0,
    1,
    _PRIME - 1,
    325606250916557431795983626356110631294008115727848805560023387167927233504,
    39382357235489614581723060781553021112529911719440698176882885853963445705823,
))  # fmt: skip
_ORDER_8: Final = int.from_bytes(
    bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little"
)
# y of all points of Edwards25519 whose order divides 8; under such a key forged signatures are valid
_SMALL_ORDER: Final = frozenset((0, 1, _PRIME - 1, _ORDER_8, _PRIME - _ORDER_8))
# the base point of Edwards25519, whose private key is 1
_BASE_Y: Final = 4 * pow(5, -1, _PRIME) % _PRIME
_NOT_DRAWN: Final = "it was not generated at random; ask the curator for a new key"


def mask_key_bytes(text: object) -> bytes:
    r"""Decode a public key for masks. Refuse a key whose shared secrets are predictable.

    >>> mask_key_bytes("x25519:" + "EA" + "A" * 41 + "=")[:2]
    b'\x10\x00'
    """
    key = _bytes(text, MASK_SCHEME)
    # larger numbers would be second encodings of the same points
    place = int.from_bytes(key, "little")
    if place >= _PRIME:
        raise _unsafe("mask", text, "is not encoded as in RFC 7748")  # [P:one-text]
    if place in _LOW_ORDER:
        raise _unsafe("mask", text, "gives no secret")  # [P:no-low-order]
    if place in known_places():
        raise _unsafe("mask", text, "is unsafe: anyone can compute its secrets")  # [P:no-base-mask]
    return key


def _unsafe(kind: str, text: object, problem: str) -> OptionError:
    return OptionError(
        f"the {kind} key {shown(text)} {problem}", code="unsafe-public-key", option="curators", remedy=_NOT_DRAWN
    )


def sign_key_bytes(text: object) -> bytes:
    """Decode a public key for signatures. Refuse a key that is not a point or accepts forged signatures.

    >>> from discreet import CuratorKey
    >>> len(sign_key_bytes(CuratorKey.new("north").public.sign_key))
    32
    """
    key = _bytes(text, SIGN_SCHEME)
    y = int.from_bytes(key, "little") & ~_SIGN_BIT
    if y >= _PRIME or not _is_point(y):
        raise _unsafe("signature", text, "is not encoded as in RFC 8032")
    if y in _SMALL_ORDER:
        raise _unsafe("signature", text, "accepts forged signatures")  # [P:no-small-order]
    if y in known_points():
        raise _unsafe("signature", text, "accepts signatures that anyone can make")  # [P:no-base-signature]
    return key


@lru_cache(maxsize=1)
def known_points() -> frozenset[int]:
    """Return the y coordinate of all points B + P and -B + P, where B is the base point and the order of P divides 8.

    >>> len(known_points())
    8
    """
    step = (_x(_ORDER_8), _ORDER_8)
    found = [(_x(_BASE_Y), _BASE_Y)]
    while len(found) < 8:
        found.append(_added(found[-1], step))
    return frozenset(y for _, y in found)


@lru_cache(maxsize=1)
def known_places() -> frozenset[int]:
    """Return the u coordinates of the `known_points` on Curve25519 [RFC 7748, 4.1], including 9, the base point."""
    return frozenset((1 + y) * pow(1 - y, -1, _PRIME) % _PRIME for y in known_points())


def _x(y: int) -> int:
    """Return the x coordinate of one of the two points with this y coordinate."""
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _PRIME) % _PRIME
    root = pow(square, (_PRIME + 3) // 8, _PRIME)
    return root if root * root % _PRIME == square else root * pow(2, (_PRIME - 1) // 4, _PRIME) % _PRIME


def _added(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    """Add two points [RFC 8032, 5.1.4, in affine coordinates]."""
    (a, b), (c, e) = one, other
    cross = _D * a * b * c * e
    return (
        (a * e + b * c) * pow(1 + cross, -1, _PRIME) % _PRIME,
        (b * e + a * c) * pow(1 - cross, -1, _PRIME) % _PRIME,
    )


@lru_cache(maxsize=4096)
def _is_point(y: int) -> bool:
    """Return whether a point of the curve has this y coordinate.

    Its x^2 = p / q must be a square, which holds if p q is a square.
    """
    product = (y * y - 1) * (_D * y * y + 1) % _PRIME
    return pow(product, (_PRIME - 1) // 2, _PRIME) != _PRIME - 1


def key_text(key: bytes, scheme: str) -> str:
    """Encode a public key as text."""
    return scheme + base64.b64encode(key).decode()


def _bytes(text: object, scheme: str) -> bytes:
    found = b""
    if isinstance(text, str) and text.startswith(scheme):
        try:
            found = base64.b64decode(text.removeprefix(scheme), validate=True)
        except (binascii.Error, ValueError):
            found = b""
    # compare the text, because unused bits of the last base64 character may differ
    if len(found) != _KEY_BYTES or text != key_text(found, scheme):
        raise OptionError(
            f"expected a public key as {scheme} and 32 bytes in base64, got {shown(text)}",
            option="curators",
            given=text,
            allowed=f"{scheme} and 32 bytes in base64",
        )
    return found


# -- toml file ---------------------------------------------------------------------------------------------------------
# Read short TOML files with a size limit.

_MOST_BYTES: Final = 1 << 20
# the parser's message about a duplicate key or table
_TWICE: Final = re.compile("(?:Cannot (?:overwrite|declare)|Duplicate).*at line ([0-9]+)", re.ASCII)


def toml_table(path: str | Path) -> dict[str, object]:
    """Read the table in a TOML file."""
    try:
        content = read_limited(path, _MOST_BYTES)
    except OSError as error:
        raise OptionError(f"cannot read {str(path)!r}: {error.strerror}", code="cannot-read", given=str(path)) from None
    try:
        # some editors put a byte order mark before the first line
        return tomllib.loads(content.decode().removeprefix("\ufeff"))
    except (RecursionError, ValueError) as error:
        twice = _TWICE.match(str(error))
        raise OptionError(
            f"{str(path)!r} is not a TOML file in UTF-8"
            if twice is None
            else f"{str(path)!r} has a duplicate key or table on line {twice[1]}; keep one of the two",
            code="not-toml",
            given=str(path),
            line=None if twice is None else int(twice[1]),
        ) from None


# -- curators ----------------------------------------------------------------------------------------------------------
# The public data of a curator: a name, a key for masks and a key for signatures.

_LONGEST_NAME: Final = 60
_FIELDS: Final = ("name", "mask_key", "sign_key")


@dataclass(frozen=True, slots=True)
class Curator:
    """Public identity of one of several curators.

    Parameters
    ----------
    name : str
        Name of the curator, up to 60 characters.
    mask_key, sign_key : str
        Public keys: X25519 for masks and Ed25519 for signatures, such as `"x25519:..."` with 32 bytes in base64.

    Examples
    --------
    >>> from discreet import CuratorKey
    >>> north = CuratorKey.new("north").public
    >>> Curator("north", north.mask_key, north.sign_key) == north
    True
    """

    name: str
    mask_key: str
    sign_key: str

    def __post_init__(self) -> None:
        name: object = self.name
        if (
            not isinstance(name, str)
            or not 1 <= len(name) <= _LONGEST_NAME
            or name != name.strip()
            or has_invisible_characters(name)
        ):
            raise OptionError(
                f"the name of a curator must have 1 to {_LONGEST_NAME} visible characters, without blanks at the "
                f"ends, got {shown(name)}",
                option="name",
                given=name,
                allowed=f"1 to {_LONGEST_NAME} visible characters",
            )
        mask_key_bytes(self.mask_key)
        sign_key_bytes(self.sign_key)

    @property
    def fingerprint(self) -> str:
        """Digest of both keys, for comparison by telephone or in person.

        Examples
        --------
        >>> from discreet import CuratorKey
        >>> len(CuratorKey.new("north").public.fingerprint.split())
        16
        """
        keys = mask_key_bytes(self.mask_key) + sign_key_bytes(self.sign_key)
        return in_groups(hashlib.sha256(b"discreet curator 1\n" + keys).hexdigest())

    def to_dict(self) -> dict[str, str]:
        """Return name and keys as plain values."""
        return {"name": self.name, "mask_key": self.mask_key, "sign_key": self.sign_key}

    @classmethod
    def from_dict(cls, mapping: object) -> Curator:
        """Read a curator from plain values. Missing or unknown fields and invalid keys raise an error."""
        return cls(**cast("dict[str, str]", exact_fields("curator", mapping, _FIELDS)))

    def to_toml(self) -> str:
        """Return the lines of a session file that describe this curator.

        Examples
        --------
        >>> from discreet import CuratorKey
        >>> print(CuratorKey.new("north").public.to_toml().splitlines()[0])
        [[curators]]
        """
        import tomli_w

        return tomli_w.dumps({"curators": [self.to_dict()]})

    @classmethod
    def load(cls, path: str | Path) -> Curator:
        """Read the public key file of one curator."""
        found = toml_table(path)
        if found.get("format") == KEY_MARK:
            raise OptionError(
                f"{str(path)!r} holds PRIVATE keys, which must never leave their curator. If anyone else has had this "
                "file, make new keys",
                code="private-keys-given",
                option="curators",
                remedy="pass the file of public keys",
            )
        table = exact_fields("public key file", found, ("curators",))
        given = table["curators"]
        if not isinstance(given, list) or len(given) != 1:
            raise OptionError(
                f"{str(path)!r}: expected the lines of one curator, which begin with [[curators]]", option="curators"
            )
        return cls.from_dict(given[0])


def need_library() -> None:
    """Raise an error if the library of the extra `parts` is not installed."""
    try:
        import cryptography  # noqa: F401
    except ImportError:
        raise MissingDependencyError("parts", "cryptography", "a session of several curators") from None


# -- keys --------------------------------------------------------------------------------------------------------------
# The private keys of one curator, in a file that only its owner can read.

_FORMAT: Final = KEY_MARK
_VERSION: Final = 1
_KEY_FIELDS: Final = ("format", "version", "name", "mask", "sign")
_WARNING: Final = "# SECRET: anyone who has this file can remove the masks from this curator's parts.\n"
_RECORD: Final = b"discreet part record 1"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class CuratorKey:
    """Private keys of a curator: X25519 for masks, Ed25519 for signatures.

    Attributes
    ----------
    name
        Name of the curator.

    Examples
    --------
    >>> CuratorKey.new("north").public.name
    'north'
    """

    name: str
    mask: X25519PrivateKey
    sign: Ed25519PrivateKey

    @classmethod
    def new(cls, name: str) -> CuratorKey:
        """Draw new keys from the system's random generator."""
        need_library()
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

        made = cls(name, X25519PrivateKey.generate(), Ed25519PrivateKey.generate())
        # refuses a name that no session accepts
        _ = made.public
        return made

    @property
    def public(self) -> Curator:
        """Name and public keys, for the other curators."""
        return Curator(
            self.name,
            key_text(self.mask.public_key().public_bytes_raw(), MASK_SCHEME),
            key_text(self.sign.public_key().public_bytes_raw(), SIGN_SCHEME),
        )

    def save(self, path: str | Path) -> None:
        """Write the keys to a new file with mode 0600. An existing file is not replaced."""
        import tomli_w

        check_output(path, force=False, stays="a key file never replaces another file, so choose another name")
        fields = {
            "format": _FORMAT, "version": _VERSION, "name": self.name,
            "mask": base64.b64encode(self.mask.private_bytes_raw()).decode(),
            "sign": base64.b64encode(self.sign.private_bytes_raw()).decode(),
        }  # fmt: skip
        write_bytes(path, (_WARNING + tomli_w.dumps(fields)).encode(), secret=True)

    @classmethod
    def load(cls, path: str | Path) -> CuratorKey:
        """Read private keys. A file that other users may read raises an error."""
        need_library()
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

        given: object = path
        if not isinstance(given, str | Path) or not str(given):
            raise OptionError(
                f"key: expected the path of a curator's private keys, got {shown(given)}",
                option="key",
                allowed="the path of a curator's private keys",
            )
        table = toml_table(path)
        if "curators" in table:
            raise OptionError(
                f"{str(path)!r} holds public keys",
                code="public-keys-given",
                option="key",
                remedy="pass the file of private keys",
            )
        if table.get("format") != _FORMAT:
            raise OptionError(
                f"{str(path)!r} is not a curator's key file",
                code="not-a-key",
                option="key",
                remedy=Call("CuratorKey.new", "make a key"),
            )
        if os.name == "posix" and stat.S_IMODE(regular_state(checked_path(path)).st_mode) & 0o077:
            how = shlex.join(["chmod", "600", str(path)])
            raise OptionError(
                f"other users may read the private key {str(path)!r}",
                code="key-readable-by-others",
                option="key",
                remedy=f"restrict it to its owner: {how}",
            )
        fields = exact_fields("key file", table, _KEY_FIELDS)
        if fields["version"] != _VERSION:
            raise OptionError(
                f"{str(path)!r} is a key file of version {shown(fields['version'])}, expected version {_VERSION}",
                code="key-version",
                option="key",
            )
        made = cls(
            str(fields["name"]),
            X25519PrivateKey.from_private_bytes(_secret(fields["mask"], path)),
            Ed25519PrivateKey.from_private_bytes(_secret(fields["sign"], path)),
        )
        _ = made.public
        return made

    def record_key(self) -> bytes:
        """Derive the key for digests in this curator's records. Without it the digests reveal nothing."""
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        return HKDF(SHA256(), _KEY_BYTES, salt=None, info=_RECORD).derive(self.mask.private_bytes_raw())

    def __repr__(self) -> str:
        return f"<CuratorKey of {self.name!r}: secret, not shown>"


def _secret(text: object, path: str | Path) -> bytes:
    try:
        found = base64.b64decode(str(text), validate=True)
    except (binascii.Error, ValueError):
        found = b""
    if len(found) != _KEY_BYTES:
        raise OptionError(
            f"{str(path)!r} is damaged: a private key must be 32 bytes in base64", code="key-damaged", option="key"
        )
    return found
