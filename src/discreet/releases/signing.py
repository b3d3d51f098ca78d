"""Ed25519 signatures of release files, with keys as openssl writes them."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from discreet.errors import ReleaseFileError, SpecError, missing_extra
from discreet.files import read_limited

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

_SCHEME: Final = "ed25519:"
_PREFIX: Final = b"discreet release 2\n"
_MAKE: Final = "make one with: openssl genpkey -algorithm ed25519 -out key.pem"
_PUBLIC: Final = "make it with: openssl pkey -in key.pem -pubout -out key.pub.pem"


@dataclass(frozen=True, slots=True, repr=False)
class SigningKey:
    """A private key that was opened and tried."""

    key: Ed25519PrivateKey

    @classmethod
    def load(cls, path: str | Path) -> SigningKey:
        """Read an Ed25519 private key in PEM, without a password, and sign once with it."""
        _need_library()
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        content = _content(path)
        try:
            key = load_pem_private_key(content, None)
        except TypeError:
            raise SpecError(
                f"the signing key {str(path)!r} is protected by a password; give a key without one, "
                "for instance: openssl pkey -in key.pem -out plain.pem"
            ) from None
        except (ValueError, UnsupportedAlgorithm):
            raise SpecError(f"{str(path)!r} is not a private key in PEM; {_MAKE}") from None
        if not isinstance(key, Ed25519PrivateKey):
            raise SpecError(f"the signing key {str(path)!r} is not an Ed25519 key; {_MAKE}")
        found = cls(key)
        VerifyKey(key.public_key()).check(found.signature("sha256:tried"), "sha256:tried")
        return found

    def signature(self, digest: str) -> str:
        """The signature of a digest, as a release file has it."""
        return _SCHEME + base64.b64encode(self.key.sign(_PREFIX + digest.encode())).decode()

    def check_signed(self, signature: str | None, digest: str) -> None:
        """Refuse a recorded release that this key did not sign."""
        if signature != self.signature(digest):
            raise SpecError(
                "this request was released before, without a signature by this key; leave the key out to get that "
                "release again, or ask for a new release, which is paid for (--new-release)"
            )


@dataclass(frozen=True, slots=True, repr=False)
class VerifyKey:
    """A public key, given by whoever checks; none is ever taken from a file."""

    key: Ed25519PublicKey

    @classmethod
    def load(cls, path: str | Path) -> VerifyKey:
        """Read an Ed25519 public key in PEM."""
        _need_library()
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        from cryptography.hazmat.primitives.serialization import load_pem_public_key

        content = _content(path)
        try:
            key = load_pem_public_key(content)
        except (ValueError, UnsupportedAlgorithm):
            raise SpecError(f"{str(path)!r} is not a public key in PEM; {_PUBLIC}") from None
        if not isinstance(key, Ed25519PublicKey):
            raise SpecError(f"the key {str(path)!r} is not an Ed25519 key; {_PUBLIC}")
        return cls(key)

    def check(self, signature: str | None, digest: str) -> None:
        """Refuse a digest that this key did not sign."""
        from cryptography.exceptions import InvalidSignature

        if signature is None:
            raise ReleaseFileError("the release has no signature, but a key to check it with was given")
        if not signature.startswith(_SCHEME):
            raise ReleaseFileError("the signature of the release is not of a kind that this version knows")
        try:
            self.key.verify(base64.b64decode(signature.removeprefix(_SCHEME), validate=True), _PREFIX + digest.encode())
        except (InvalidSignature, binascii.Error, ValueError):
            raise ReleaseFileError("the signature was not made with the given key, or not for this content") from None


def _content(path: str | Path) -> bytes:
    if not isinstance(path, str | Path):
        raise SpecError(f"expected the path of a key, got {type(path).__name__}")
    try:
        return read_limited(path)
    except OSError as error:
        raise SpecError(f"cannot read the key {str(path)!r}: {error.strerror}") from None


def _need_library() -> None:
    try:
        import cryptography  # noqa: F401
    except ImportError:
        raise missing_extra("sign", "cryptography", "a signature") from None
