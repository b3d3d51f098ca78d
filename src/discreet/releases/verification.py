"""Verify a release: its digest, its guarantee against its noise, and its signature."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from discreet.accounting.privacy_loss import epsilon_given
from discreet.errors import LedgerError, ReleaseFileError, SpecError, missing_extra, shown
from discreet.files import read_limited
from discreet.ledger.event_log import Anchor
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.spend import UNTRACKED, Loss
from discreet.releases.reading import checked_loss, given_in_words
from discreet.releases.release import Release

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

# -- signing -----------------------------------------------------------------------------------------------------------
# Ed25519 signatures of release files, with keys as openssl writes them.

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


# -- verification ------------------------------------------------------------------------------------------------------
# Check a release: its digest, its promise against its noise, its signature; and say what cannot be seen.

_NEVER_DRAWN: Final = "whether the noise was drawn at all, and from a sound source: a file cannot show it"
_CONDITIONS: Final = "whether the conditions hold, such as bounds that were chosen without looking at the data"
_OTHERS: Final = "what other releases of the same table have cost"
_CHANGED: Final = (
    "whether anybody changed the numbers after the release, or noise, design and settings so that they still agree: "
    "anybody can compute a new digest; only a signature, checked with the curator's public key, shows it"
)


@dataclass(frozen=True, slots=True)
class Verification:
    """What a check of a release found; a release that fails a check is refused instead.

    Attributes
    ----------
    promised
        The guarantee in the release.
    loss
        What the noise costs, computed forwards from its stated law.
    epsilon_given
        What the noise gives at the promised delta; where only a delta can be said, the promised epsilon.
    digest
        Fingerprint of the content, which matches.
    signature
        `none`, `not checked` (there is one, and no key was given), or `valid` for the given key.
    anchor
        Where the release says that its spend is recorded, or `untracked`; not checked, as that needs the ledger.
        Of several curators it lists the anchor of each.
    cannot_see
        What no check of the file can find, in words.
    session
        Fingerprint of the session of several curators, to be compared with theirs; none where one table was read.
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
        """What the noise gives, in words."""
        return given_in_words(self.loss, self.promised)

    def to_dict(self) -> dict[str, object]:
        """Everything as plain values for JSON."""
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
    """Check that a release promises no more than its noise keeps.

    The privacy loss is computed forwards from the stated noise, design, unit and settings; no budget is spent and no
    table is needed. Loading a release makes the same check, without the signature.

    Parameters
    ----------
    release
        A release, or the path of its file.
    key
        Path of the curator's Ed25519 public key in PEM; a release that it did not sign is then refused. No key is ever
        taken from the file.

    Returns
    -------
    Verification
        What is promised, what the noise gives, and what the check cannot see. Where the noise is larger than promised,
        it says so.

    Raises
    ------
    ReleaseFileError
        If the release is refused.

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
    loss = checked_loss(
        found.mechanism, found.mechanism_version, found.design, found.full_noise, found.settings, guarantee
    )
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
    """What cannot be seen of a spend that is said to be recorded; a hook of one's own has anchors of its own form."""
    anchor = release.anchor
    if anchor == UNTRACKED:
        return ()
    if release.curators is not None:
        return (
            "whether the ledgers of its curators have the spend: discreet ledger verify LEDGER R.json of each shows it",
        )
    try:
        Anchor.parsed(anchor)
    except LedgerError:
        return (f"whether the spend is recorded anywhere: its anchor {shown(anchor)} is not of a ledger of discreet",)
    return ("whether the ledger that its anchor names has this release: discreet ledger verify LEDGER R.json shows it",)
