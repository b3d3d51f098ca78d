"""`discreet verify`: check that a release satisfies the guarantee that it states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from discreet.cli.flags import FLAGS
from discreet.cli.options import debug_option, json_option
from discreet.cli.terminal import say, say_json
from discreet.errors import shown
from discreet.wording import worded

if TYPE_CHECKING:
    from discreet.releases.verification import Verification

_LABEL: Final = 12
_SIGNATURE: Final = {
    "none": "not signed, so tampering would go undetected",
    "not checked": "present; pass --key to check it",
    "valid": "valid for the given key",
}
_UNTRACKED: Final = "untracked: repeated releases of the table are not counted"


@click.command("verify", short_help="Check that the noise of a release satisfies its guarantee.")
@click.argument("release_path", metavar="R.json")
@click.option("--key", metavar="PUB.pem", help="Public key of the curator, with which the release must be signed.")
@json_option
@debug_option
def command(release_path: str, key: str | None, as_json: bool) -> None:
    """Check that the noise of the release R.json satisfies the guarantee that it states.

    The privacy loss is computed from the noise that the file states. A file that claims a stronger guarantee, or that
    was edited without a new digest, is refused with exit code 2. With --key the signature is checked too. A key in the
    file is never trusted.
    """
    from discreet.releases.verification import verify

    found = verify(release_path, key=key)
    if as_json:
        say_json(found.to_dict())
    else:
        say(summary(found))


def summary(found: Verification) -> str:
    """Describe what was checked, the result, and what cannot be checked."""
    from discreet.cli.terminal import labelled
    from discreet.text import in_groups

    promised = found.promised
    fields = [
        ("Promised", f"epsilon = {promised.epsilon:g}, delta = {promised.delta:g}, {promised.neighbours} neighbours"),
        ("Noise", f"{found.given()}: the guarantee is satisfied"),
        ("Digest", "matches the content"),
        ("Signature", _SIGNATURE[found.signature]),
        *([] if found.session is None else [("Session", f"fingerprint {in_groups(found.session)}")]),
        ("Ledger", _ledger(found.anchor)),
        *(("Unchecked", worded(line, FLAGS)) for line in found.cannot_see),
    ]
    return "\n".join(labelled(*field, _LABEL) for field in fields)


def _ledger(anchor: str) -> str:
    """Describe where the spend is recorded according to the release."""
    from discreet.privacy.spend import UNTRACKED
    from discreet.releases.release_summary import describe_ledger

    if anchor == UNTRACKED:
        return _UNTRACKED
    text = describe_ledger(anchor)
    return f"not checked: {shown(text) if text == anchor else text}"
