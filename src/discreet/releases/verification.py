"""Check a release: its digest, its promise against its noise, its signature; and say what cannot be seen."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from discreet.errors import LedgerError, ReleaseFileError, SpecError, shown
from discreet.ledger.chain import Anchor
from discreet.losses.promise import epsilon_given
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.loss import Loss
from discreet.privacy.spend import UNTRACKED
from discreet.releases.kept import checked_loss, given_in_words
from discreet.releases.release import Release
from discreet.releases.signing import VerifyKey

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
