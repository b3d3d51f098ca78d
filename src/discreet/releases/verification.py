"""Verification of a release: its digest, its signature, and whether its noise satisfies its guarantee."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from discreet.accounting.privacy_loss import epsilon_given
from discreet.errors import LedgerError, MissingDependencyError, ReleaseFileError, SpecError, UnsupportedError, shown
from discreet.files import read_limited
from discreet.ledger.event_log import Anchor
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.spend import UNTRACKED, Loss
from discreet.releases.reading import check_version, checked_loss, given_in_words
from discreet.releases.release import Release
from discreet.wording import Call, LeaveOut, Message, SetOption

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

# -- signing -----------------------------------------------------------------------------------------------------------
# Ed25519 signatures of release files, with keys in OpenSSL's format.

_SCHEME: Final = "ed25519:"
_PREFIX: Final = b"discreet release 1\n"
_MAKE: Final = "make an Ed25519 key with: openssl genpkey -algorithm ed25519 -out key.pem"
_PUBLIC: Final = "make an Ed25519 public key with: openssl pkey -in key.pem -pubout -out key.pub.pem"


@dataclass(frozen=True, slots=True, repr=False)
class SigningKey:
    """A private signing key that has been tested."""

    key: Ed25519PrivateKey

    @classmethod
    def load(cls, path: str | Path) -> SigningKey:
        """Read an Ed25519 private key in PEM format, without a password, and test it."""
        _need_library()
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        content = _content(path)
        try:
            key = load_pem_private_key(content, None)
        except TypeError:
            raise SpecError(
                f"the signing key {str(path)!r} is protected by a password; make a copy without a password, for "
                "example with: openssl pkey -in key.pem -out plain.pem"
            ) from None
        except (ValueError, UnsupportedAlgorithm):
            raise SpecError(f"{str(path)!r} is not a private key in PEM format; {_MAKE}") from None
        if not isinstance(key, Ed25519PrivateKey):
            raise SpecError(f"the signing key {str(path)!r} is not an Ed25519 key; {_MAKE}")
        signing_key = cls(key)
        VerifyKey(key.public_key()).check(signing_key.signature("sha256:tried"), "sha256:tried")
        return signing_key

    def signature(self, digest: str) -> str:
        """Sign a digest. Return the text for the release file."""
        return _SCHEME + base64.b64encode(self.key.sign(_PREFIX + digest.encode())).decode()

    def check_signed(self, signature: str | None, digest: str) -> None:
        """Raise an error if a recorded release was not signed with this key."""
        if signature != self.signature(digest):
            raise UnsupportedError(
                "this request was already released without a signature by this key",
                code="released-unsigned",
                option="sign",
                remedy=(
                    Message(LeaveOut("sign"), " to get that release again"),
                    Message(SetOption("new_release", True), " for a new release, which spends budget"),
                ),
            )


@dataclass(frozen=True, slots=True, repr=False)
class VerifyKey:
    """A public key to verify signatures. It is never read from a release file."""

    key: Ed25519PublicKey

    @classmethod
    def load(cls, path: str | Path) -> VerifyKey:
        """Read an Ed25519 public key in PEM format."""
        _need_library()
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        from cryptography.hazmat.primitives.serialization import load_pem_public_key

        content = _content(path)
        try:
            key = load_pem_public_key(content)
        except (ValueError, UnsupportedAlgorithm):
            raise SpecError(f"{str(path)!r} is not a public key in PEM format; {_PUBLIC}") from None
        if not isinstance(key, Ed25519PublicKey):
            raise SpecError(f"the key {str(path)!r} is not an Ed25519 key; {_PUBLIC}")
        return cls(key)

    def check(self, signature: str | None, digest: str) -> None:
        """Raise an error unless the digest was signed with this key."""
        from cryptography.exceptions import InvalidSignature

        if signature is None:
            raise ReleaseFileError("a key was given to check the signature, but the release is not signed")
        if not signature.startswith(_SCHEME):
            raise ReleaseFileError("the signature of the release has an unknown scheme; update discreet")
        try:
            self.key.verify(base64.b64decode(signature.removeprefix(_SCHEME), validate=True), _PREFIX + digest.encode())
        except (InvalidSignature, binascii.Error, ValueError):
            raise ReleaseFileError(
                "the signature of the release was made with another key, or for other content"
            ) from None


def _content(path: str | Path) -> bytes:
    if not isinstance(path, str | Path):
        raise SpecError(f"expected the path of a key file, got {type(path).__name__}")
    try:
        return read_limited(path)
    except OSError as error:
        raise SpecError(f"cannot read the key {str(path)!r}: {error.strerror}") from None


def _need_library() -> None:
    try:
        import cryptography  # noqa: F401
    except ImportError:
        raise MissingDependencyError("sign", "cryptography", "a signature") from None


# -- verification ------------------------------------------------------------------------------------------------------

_NEVER_DRAWN: Final = "whether the noise was drawn at all, and from a secure generator"
_CONDITIONS: Final = "whether the conditions hold, such as bounds that were chosen without looking at the data"
_OTHERS: Final = "what other releases of the same table have cost"
_CHANGED: Final = (
    "whether the file was changed after the release: anyone can change it consistently and compute a new digest, so "
    "only a signature, checked with the curator's public key, rules this out"
)


@dataclass(frozen=True, slots=True)
class Verification:
    """Result of verifying a release that passed all checks.

    Attributes
    ----------
    promised
        The guarantee in the release.
    loss
        Privacy loss of the noise, computed from its stated distribution.
    epsilon_given
        Epsilon of the noise at the stated delta, or the stated epsilon if only a delta can be computed.
    digest
        Digest of the content, which was checked.
    signature
        `none`, `not checked` (signed, but no key was passed), or `valid` for the passed key.
    anchor
        Reference to the ledger event that recorded the spend, or `untracked`. It is not checked, because that requires
        the ledger. A merged release lists the anchor of each curator.
    cannot_see
        What cannot be verified from the file.
    session
        Session fingerprint of a merged release, to be compared with that of the curators; otherwise None.
    """

    promised: Guarantee
    loss: Loss
    epsilon_given: float
    digest: str
    signature: Literal["none", "not checked", "valid"]
    anchor: str
    cannot_see: tuple[str, ...]
    session: str | None = None

    def given(self) -> str:
        """Describe the guarantee that the noise satisfies."""
        return given_in_words(self.loss, self.promised)

    def to_dict(self) -> dict[str, object]:
        """Return the result as plain values for JSON."""
        loss = self.loss
        return {
            "verified": True,
            "promised": self.promised.to_dict(),
            "noise": {
                "epsilon": self.epsilon_given,
                "delta": loss.delta if loss.failure > 0 else self.promised.delta,
                "mu": loss.mu,
                "rho": loss.rho,
                "tau": loss.tau,
                "failure": loss.failure,
            },
            "digest": self.digest,
            "signature": self.signature,
            "anchor": self.anchor,
            "session": self.session,
            "cannot_see": list(self.cannot_see),
        }


def verify(release: Release | str | Path, *, key: str | Path | None = None) -> Verification:
    """Check that the noise of a release satisfies its guarantee.

    The privacy loss is computed from the stated noise, design, unit and settings. No budget is spent and no table is
    needed. `Release.load` makes the same checks, except for the signature.

    Parameters
    ----------
    release
        A release, or the path of its file.
    key
        Path of the curator's Ed25519 public key in PEM format. The release must be signed with this curator's private
        key. A key is never read from the release file.

    Returns
    -------
    Verification
        The stated guarantee, the guarantee that the noise satisfies, and what cannot be verified.

    Raises
    ------
    ReleaseFileError
        If a check fails.

    Examples
    --------
    >>> import discreet
    >>> design = discreet.Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> release = discreet.release({"x": [1.0, 2.0], "y": [2.0, 4.0]}, design, epsilon=1.0, delta=1e-6)
    >>> result = verify(release)
    >>> result.signature, 0.99 < result.epsilon_given <= 1
    ('none', True)
    """
    if not isinstance(release, Release | str | Path):
        raise SpecError(f"expected a release or the path of a release file, got {type(release).__name__}")
    public_key = None if key is None else VerifyKey.load(key)
    loaded = release if isinstance(release, Release) else Release.load(release)
    guarantee = loaded.guarantee
    if guarantee is None:
        raise ReleaseFileError("this release is NOT PRIVATE: it has no guarantee to verify")
    check_version(loaded.mechanism, loaded.mechanism_version)
    loss = checked_loss(loaded.mechanism, loaded.design, loaded.full_noise, loaded.settings, guarantee)
    if public_key is not None:
        public_key.check(loaded.signature, loaded.digest)
    unchecked: Literal["none", "not checked"] = "none" if loaded.signature is None else "not checked"
    return Verification(
        promised=guarantee,
        loss=loss,
        epsilon_given=epsilon_given(loss, guarantee.epsilon, guarantee.delta),
        digest=loaded.digest,
        signature=unchecked if public_key is None else "valid",
        anchor=loaded.anchor,
        cannot_see=(
            *(() if public_key is not None else (_CHANGED,)), _NEVER_DRAWN, _CONDITIONS, *_not_recorded(loaded),
            _OTHERS,
        ),
        session=None if loaded.curators is None else loaded.curators.session,
    )  # fmt: skip


def _not_recorded(release: Release) -> tuple[str, ...]:
    """List what cannot be verified about the record of the spend. An anchor from a custom hook can have any form."""
    anchor = release.anchor
    if anchor == UNTRACKED:
        return ()
    if release.curators is not None:
        verify_ledger = Call("Ledger.verify")
        return (Message("whether the curators' ledgers recorded the spend; each curator can run ", verify_ledger),)
    try:
        Anchor.parsed(anchor)
    except LedgerError:
        return (f"whether the spend is recorded anywhere: {shown(anchor)} is not the anchor of a discreet ledger",)
    return (Message("whether the ledger recorded this release; its owner can run ", Call("Ledger.verify")),)
