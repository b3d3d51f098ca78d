"""Verify a release: its digest, its guarantee against its noise, and its signature."""

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
# Ed25519 signatures of release files, with keys in the format of openssl.

_SCHEME: Final = "ed25519:"
_PREFIX: Final = b"discreet release 1\n"
_MAKE: Final = "make one with: openssl genpkey -algorithm ed25519 -out key.pem"
_PUBLIC: Final = "make it with: openssl pkey -in key.pem -pubout -out key.pub.pem"


@dataclass(frozen=True, slots=True, repr=False)
class SigningKey:
    """Private key that was read and tested."""

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
        """Return the signature of a digest in the form of a release file."""
        return _SCHEME + base64.b64encode(self.key.sign(_PREFIX + digest.encode())).decode()

    def check_signed(self, signature: str | None, digest: str) -> None:
        """Reject a recorded release that was not signed with this key."""
        if signature != self.signature(digest):
            raise UnsupportedError(
                "this request was released before, without a signature by this key",
                code="released-unsigned",
                option="sign",
                remedy=(
                    Message(LeaveOut("sign"), " to get that release again"),
                    Message(SetOption("new_release", True), " for a new release, which is paid for"),
                ),
            )


@dataclass(frozen=True, slots=True, repr=False)
class VerifyKey:
    """Public key of a verifier. A key is never taken from a release file."""

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
        """Reject a digest that was not signed with this key."""
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
        raise MissingDependencyError("sign", "cryptography", "a signature") from None


# -- verification ------------------------------------------------------------------------------------------------------
# Check the digest of a release, its guarantee against its noise, and its signature; state what cannot be checked.

_NEVER_DRAWN: Final = "whether the noise was drawn at all, and from a sound source: a file cannot show it"
_CONDITIONS: Final = "whether the conditions hold, such as bounds that were chosen without looking at the data"
_OTHERS: Final = "what other releases of the same table have cost"
_CHANGED: Final = (
    "whether anybody changed the numbers after the release, or noise, design and settings so that they still agree: "
    "anybody can compute a new digest; only a signature, checked with the curator's public key, shows it"
)


@dataclass(frozen=True, slots=True)
class Verification:
    """Result of the verification of a release that passed all checks.

    Attributes
    ----------
    promised
        The guarantee in the release.
    loss
        Privacy loss of the noise, computed from its stated distribution.
    epsilon_given
        Epsilon of the noise at the stated delta, or the stated epsilon where only a delta can be computed.
    digest
        Fingerprint of the content, which was checked.
    signature
        `none`, `not checked` (signed, but no key was passed), or `valid` for the passed key.
    anchor
        Where the spend is recorded according to the release, or `untracked`. Not checked, because that needs the
        ledger. A merged release lists the anchor of each curator.
    cannot_see
        Sentences on what cannot be verified from the file.
    session
        Fingerprint of the session of a merged release, to be compared with that of the curators, otherwise None.
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
        """Describe the guarantee of the noise."""
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
    needed. Loading a release makes the same check, without the signature.

    Parameters
    ----------
    release
        A release, or the path of its file.
    key
        Path of the curator's Ed25519 public key in PEM. A release that was not signed with it is rejected. A key is
        never taken from the file.

    Returns
    -------
    Verification
        The stated guarantee, that of the noise, and what cannot be verified.

    Raises
    ------
    ReleaseFileError
        If a check fails.

    Examples
    --------
    >>> import discreet
    >>> design = discreet.Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> made = discreet.release({"x": [1.0, 2.0], "y": [2.0, 4.0]}, design, epsilon=1.0, delta=1e-6)
    >>> found = verify(made)
    >>> found.signature, 0.99 < found.epsilon_given <= 1
    ('none', True)
    """
    if not isinstance(release, Release | str | Path):
        raise SpecError(f"expected a release or the path of its file, got {type(release).__name__}")
    trusted = None if key is None else VerifyKey.load(key)
    found = release if isinstance(release, Release) else Release.load(release)
    guarantee = found.guarantee
    if guarantee is None:
        raise ReleaseFileError("this release is NOT PRIVATE: it promises nothing that could be verified")
    check_version(found.mechanism, found.mechanism_version)
    loss = checked_loss(found.mechanism, found.design, found.full_noise, found.settings, guarantee)
    if trusted is not None:
        trusted.check(found.signature, found.digest)
    unsigned: Literal["none", "not checked"] = "none" if found.signature is None else "not checked"
    return Verification(
        promised=guarantee,
        loss=loss,
        epsilon_given=epsilon_given(loss, guarantee.epsilon, guarantee.delta),
        digest=found.digest,
        signature=unsigned if trusted is None else "valid",
        anchor=found.anchor,
        cannot_see=(
            *(() if trusted is not None else (_CHANGED,)), _NEVER_DRAWN, _CONDITIONS, *_not_recorded(found),
            _OTHERS,
        ),
        session=None if found.curators is None else found.curators.session,
    )  # fmt: skip


def _not_recorded(release: Release) -> tuple[str, ...]:
    """State what cannot be verified of a recorded spend. An anchor from a custom hook can have any form."""
    anchor = release.anchor
    if anchor == UNTRACKED:
        return ()
    if release.curators is not None:
        return (Message("whether the ledgers of its curators have the spend: see ", Call("Ledger.verify"), " of each"),)
    try:
        Anchor.parsed(anchor)
    except LedgerError:
        return (f"whether the spend is recorded anywhere: its anchor {shown(anchor)} is not of a ledger of discreet",)
    return (Message("whether the ledger that its anchor names has this release: see ", Call("Ledger.verify")),)
