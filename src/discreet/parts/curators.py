"""What is public of a curator: a name, a key for masks and a key for signatures."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from discreet.errors import SpecError, missing_extra, shown
from discreet.files import KEY_MARK
from discreet.parts.public_keys import mask_key_bytes, sign_key_bytes
from discreet.parts.toml_file import toml_table
from discreet.privacy.checks import exact_fields
from discreet.text import has_invisible_characters, in_groups

_LONGEST_NAME: Final = 60
_FIELDS: Final = ("name", "mask_key", "sign_key")


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
            raise SpecError(
                f"the name of a curator is {shown(name)}; expected 1 to {_LONGEST_NAME} visible characters, without "
                "blanks at the ends"
            )
        mask_key_bytes(self.mask_key)
        sign_key_bytes(self.sign_key)

    @property
    def fingerprint(self) -> str:
        """Digest of both keys, to be compared by telephone or face to face.

        Examples
        --------
        >>> from discreet import CuratorKey
        >>> len(CuratorKey.new("north").public.fingerprint.split())
        16
        """
        keys = mask_key_bytes(self.mask_key) + sign_key_bytes(self.sign_key)
        return in_groups(hashlib.sha256(b"discreet curator 1\n" + keys).hexdigest())

    def to_dict(self) -> dict[str, str]:
        """Give name and keys as plain values."""
        return {"name": self.name, "mask_key": self.mask_key, "sign_key": self.sign_key}

    @classmethod
    def from_dict(cls, mapping: object) -> Curator:
        """Read a curator back; missing or unknown fields and wrong keys are refused."""
        return cls(**cast("dict[str, str]", exact_fields("curator", mapping, _FIELDS)))

    def to_toml(self) -> str:
        """The lines of a session file that name this curator.

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
        """Read the lines that `discreet part --new-key` prints."""
        found = toml_table(path)
        if found.get("format") == KEY_MARK:
            raise SpecError(
                f"{str(path)!r} holds PRIVATE keys, which never leave their curator; give the public file that "
                "--new-key wrote. If anybody else has had this one, make new keys"
            )
        table = exact_fields("public key file", found, ("curators",))
        given = table["curators"]
        if not isinstance(given, list) or len(given) != 1:
            raise SpecError(f"{str(path)!r}: expected the lines of one curator, which begin with [[curators]]")
        return cls.from_dict(given[0])


def need_library() -> None:
    """Refuse to go on without the library of the extra `parts`."""
    try:
        import cryptography  # noqa: F401
    except ImportError:
        raise missing_extra("parts", "cryptography", "a session of several curators") from None
