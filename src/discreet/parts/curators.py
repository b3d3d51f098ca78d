"""What is public of a curator: a name, a key for masks and a key for signatures."""

from __future__ import annotations

import base64
import binascii
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from discreet.errors import SpecError, missing_extra, shown
from discreet.parts.toml_file import toml_table
from discreet.privacy.checks import exact_fields
from discreet.text import has_invisible_characters

MASK_SCHEME: Final = "x25519:"
SIGN_SCHEME: Final = "ed25519:"
_KEY_BYTES: Final = 32
_LONGEST_NAME: Final = 60
_FIELDS: Final = ("name", "mask_key", "sign_key")
_GROUP: Final = 4


@dataclass(frozen=True, slots=True)
class Curator:
    """One of several curators, as all others know it.

    Parameters
    ----------
    name : str
        For people; up to 60 characters.
    mask_key, sign_key : str
        Public keys: X25519 for masks, Ed25519 for signatures, each as its scheme and base64.

    Examples
    --------
    >>> key = "A" * 43 + "="
    >>> Curator("north", f"x25519:{key}", f"ed25519:{key}").name
    'north'
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
            raise SpecError(
                f"the name of a curator is {shown(name)}; expected 1 to {_LONGEST_NAME} visible characters, without "
                "blanks at the ends"
            )
        key_bytes(self.mask_key, MASK_SCHEME)
        key_bytes(self.sign_key, SIGN_SCHEME)

    @property
    def fingerprint(self) -> str:
        """Digest of both keys, to be compared by telephone or face to face.

        Examples
        --------
        >>> key = "A" * 43 + "="
        >>> Curator("north", f"x25519:{key}", f"ed25519:{key}").fingerprint[:14]
        'e4e4 cf0d 766d'
        """
        keys = key_bytes(self.mask_key, MASK_SCHEME) + key_bytes(self.sign_key, SIGN_SCHEME)
        return in_groups(hashlib.sha256(b"discreet curator 1\n" + keys).hexdigest())

    def to_dict(self) -> dict[str, str]:
        """Give name and keys as plain values."""
        return {"name": self.name, "mask_key": self.mask_key, "sign_key": self.sign_key}

    @classmethod
    def from_dict(cls, mapping: object) -> Curator:
        """Read a curator back; missing or unknown fields and wrong keys are refused."""
        return cls(**cast("dict[str, str]", exact_fields("a curator", mapping, _FIELDS)))

    def to_toml(self) -> str:
        """The lines of a session file that name this curator.

        Examples
        --------
        >>> key = "A" * 43 + "="
        >>> print(Curator("north", f"x25519:{key}", f"ed25519:{key}").to_toml().splitlines()[0])
        [[curators]]
        """
        import tomli_w

        return tomli_w.dumps({"curators": [self.to_dict()]})

    @classmethod
    def load(cls, path: str | Path) -> Curator:
        """Read the lines that `discreet part --new-key` prints."""
        table = exact_fields("the file of a curator", toml_table(path), ("curators",))
        given = table["curators"]
        if not isinstance(given, list) or len(given) != 1:
            raise SpecError(f"{str(path)!r}: expected the lines of one curator, which begin with [[curators]]")
        return cls.from_dict(given[0])


def key_bytes(text: object, scheme: str) -> bytes:
    """The bytes of a public key from its text."""
    found = b""
    if isinstance(text, str) and text.startswith(scheme):
        try:
            found = base64.b64decode(text.removeprefix(scheme), validate=True)
        except (binascii.Error, ValueError):
            found = b""
    # one text for one key: base64 leaves bits of its last character unused
    if len(found) != _KEY_BYTES or text != key_text(found, scheme):
        raise SpecError(f"a public key is {shown(text)}; expected {scheme} and 32 bytes in base64")
    return found


def key_text(key: bytes, scheme: str) -> str:
    """The text of a public key."""
    return scheme + base64.b64encode(key).decode()


def in_groups(digits: str) -> str:
    """Digits as people read them to each other.

    >>> in_groups("0123456789")
    '0123 4567 89'
    """
    return " ".join(digits[start : start + _GROUP] for start in range(0, len(digits), _GROUP))


def need_library() -> None:
    """Refuse to go on without the library of the extra `parts`."""
    try:
        import cryptography  # noqa: F401
    except ImportError:
        raise missing_extra("parts", "cryptography", "a session of several curators") from None
