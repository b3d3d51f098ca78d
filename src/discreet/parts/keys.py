"""The private keys of one curator, in a file that only its owner reads."""

from __future__ import annotations

import base64
import binascii
import os
import shlex
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from discreet.errors import SpecError, shown
from discreet.files import KEY_MARK, check_output, checked_path, regular_state, write_bytes
from discreet.parts.curators import Curator, need_library
from discreet.parts.public_keys import MASK_SCHEME, SIGN_SCHEME, key_text
from discreet.parts.toml_file import toml_table
from discreet.privacy.checks import exact_fields

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

_FORMAT: Final = KEY_MARK
_VERSION: Final = 1
_FIELDS: Final = ("format", "version", "name", "mask", "sign")
_WARNING: Final = "# SECRET: whoever has this file can take the masks off this curator's parts.\n"
_RECORD: Final = b"discreet part record 1"
_KEY_BYTES: Final = 32


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class CuratorKey:
    """A private pair: X25519 for masks, Ed25519 for signatures.

    Attributes
    ----------
    name
        Of the curator, for people.

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
        """Draw a new pair from the system's generator."""
        need_library()
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

        made = cls(name, X25519PrivateKey.generate(), Ed25519PrivateKey.generate())
        # refuses a name that no session takes
        _ = made.public
        return made

    @property
    def public(self) -> Curator:
        """What the other curators get: name and public keys."""
        return Curator(
            self.name,
            key_text(self.mask.public_key().public_bytes_raw(), MASK_SCHEME),
            key_text(self.sign.public_key().public_bytes_raw(), SIGN_SCHEME),
        )

    def save(self, path: str | Path) -> None:
        """Write the pair to a new file with mode 0600; a file that is there stays."""
        import tomli_w

        check_output(path, force=False, stays="a file of keys never takes the place of another: choose another name")
        fields = {
            "format": _FORMAT, "version": _VERSION, "name": self.name,
            "mask": base64.b64encode(self.mask.private_bytes_raw()).decode(),
            "sign": base64.b64encode(self.sign.private_bytes_raw()).decode(),
        }  # fmt: skip
        write_bytes(path, (_WARNING + tomli_w.dumps(fields)).encode(), secret=True)

    @classmethod
    def load(cls, path: str | Path) -> CuratorKey:
        """Read a pair; a file that others may read is refused."""
        need_library()
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

        given: object = path
        if not isinstance(given, str | Path) or not str(given):
            raise SpecError(f"key: expected the path of a curator's private keys, got {shown(given)}")
        table = toml_table(path)
        if "curators" in table:
            raise SpecError(f"{str(path)!r} holds public keys; give the file that --new-key wrote beside it")
        if table.get("format") != _FORMAT:
            raise SpecError(f"{str(path)!r} is not a curator's key; make one with: discreet part --new-key FILE")
        if os.name == "posix" and stat.S_IMODE(regular_state(checked_path(path)).st_mode) & 0o077:
            how = shlex.join(["chmod", "600", str(path)])
            raise SpecError(f"others may read the key {str(path)!r}; allow its owner alone: {how}")
        fields = exact_fields("key file", table, _FIELDS)
        if fields["version"] != _VERSION:
            raise SpecError(f"{str(path)!r} is a key of version {shown(fields['version'])}; expected {_VERSION}")
        made = cls(
            str(fields["name"]),
            X25519PrivateKey.from_private_bytes(_secret(fields["mask"], path)),
            Ed25519PrivateKey.from_private_bytes(_secret(fields["sign"], path)),
        )
        _ = made.public
        return made

    def record_key(self) -> bytes:
        """A key for digests in this curator's own records, which say nothing to anybody else."""
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
        raise SpecError(f"{str(path)!r} is damaged: a private key is not 32 bytes in base64")
    return found
