"""Merge the parts of all curators into one release; the masks cancel or the merge is refused. Proof: parts.proof.md."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from discreet.curator.sums.gram import Totals
from discreet.curator.sums.row_counts import RowCounts
from discreet.design.design import Design
from discreet.errors import DesignError, OptionError, OutputError, PartFileError, ReleaseFileError, UnsupportedError
from discreet.exact.linear import entry_count
from discreet.files import MERGE_RECORD, read_kept, write_once
from discreet.ledger.event_log import MergedAnchor
from discreet.mechanisms.protocol import NoisyMoments, Published, run_passes, with_curve, with_origin
from discreet.mechanisms.sampler import ExactSampler, Sampler
from discreet.parts.agreement import Session, asked_by, design_digest
from discreet.parts.making import MOST_ROWS
from discreet.parts.part_file import Part, unmasked
from discreet.privacy.checks import check_flag, listed
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.spend import UNTRACKED
from discreet.release_request import ReleaseRequest
from discreet.releases.reading import ordered_design
from discreet.releases.release import Release
from discreet.releases.verification import SigningKey
from discreet.tables.frames import Origin
from discreet.wording import LeaveOut, Message, SetOption

_ONE_OF_EACH: Final = "one part from each curator, made under one session file"
_ORIGINS: Final[tuple[Origin, ...]] = ("query", "stream", "quoted")
_HEAD: Final = re.compile(MERGE_RECORD.decode() + "[0-9a-f]{64}", re.ASCII)
# noise in shares is at most this number of standard deviations, except with negligible probability
_FAR: Final = 64


def merge(
    parts: Sequence[Part | str | Path],
    *,
    session: Session | str | Path | None = None,
    merger_noise: bool = False,
    sign: str | Path | None = None,
) -> Release:
    """Make a joint release from the parts of several curators. No rows are read and no budget is spent.

    The same parts give the same release in any order. Missing, repeated, foreign or altered parts raise an error before
    any noise is drawn, and so do masks that do not cancel.

    Parameters
    ----------
    parts
        One part of every curator in the session, or the paths of their files.
    session
        Session to which the parts must belong, or the path of its file.
    merger_noise
        Must be True if the merger draws the noise under the session, and so sees the exact pooled sums. Pass the parts
        as paths: the release is stored next to the part of the session's first curator and returned when the call is
        repeated, because a second draw would be another release.
    sign
        Path of the merger's Ed25519 private key in PEM format, without a password, to sign the release.

    Returns
    -------
    Release
        An ordinary release. Its guarantee states how many honest curators it assumes.

    Examples
    --------
    >>> import tempfile
    >>> from discreet import CuratorKey, Design, Session, part
    >>> design = Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> three = [CuratorKey.new(name) for name in ("north", "south", "west")]
    >>> session = Session.new(design, [one.public for one in three], epsilon=1.0, delta=1e-6)
    >>> made = []
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for one in three:
    ...         one.save(f"{folder}/{one.name}.key")
    ...         rows = {"x": [1.0, 2.0], "y": [2.0, 4.0]}
    ...         made.append(part(rows, design, session, key=f"{folder}/{one.name}.key"))
    >>> merge(made).columns
    ('1', 'x', 'y')
    """
    return merge_with(ExactSampler(), parts, session=session, merger_noise=merger_noise, sign=sign)


def merge_with(
    sampler: Sampler,
    parts: Sequence[Part | str | Path],
    *,
    session: Session | str | Path | None = None,
    merger_noise: bool = False,
    sign: str | Path | None = None,
) -> Release:
    """Merge parts with a given source of noise."""
    check_flag("merger_noise", merger_noise)
    # raises an error for a key that cannot sign, before any noise is drawn
    key = None if sign is None else SigningKey.load(sign)
    made = _merged(sampler, parts, session, merger_noise=merger_noise)
    return made if key is None else replace(made, signature=key.signature(made.digest))


def _merged(
    sampler: Sampler,
    parts: Sequence[Part | str | Path],
    session: Session | str | Path | None,
    *,
    merger_noise: bool,
) -> Release:
    given = listed(parts)
    if given is None or not all(isinstance(one, Part | str | Path) for one in given):
        raise OptionError(
            f"expected a list of parts or of their paths, got {type(parts).__name__}",
            option="parts",
            allowed="a list of parts or of their paths",
        )
    wanted = None if session is None else Session.given(session)
    found = [one if isinstance(one, Part) else Part.load(one) for one in given]
    agreed, ordered = complete(found, wanted)
    if merger_noise != (agreed.noise == "merger"):
        left_to_merger = agreed.noise == "merger"
        raise OptionError(
            "under this session the merger draws the noise and sees the exact pooled sums"
            if left_to_merger
            else "the parts already contain their shares of the noise",
            code="merger-noise",
            option="merger_noise",
            given=merger_noise,
            remedy=SetOption("merger_noise", True) if left_to_merger else LeaveOut("merger_noise"),
        )
    design = _design(ordered, agreed)
    asked = asked_by(agreed, design)
    totals, published = pooled(ordered, asked, agreed)
    if published is not None:
        return _release(asked, published, totals, ordered, agreed)
    kept = _record(given[found.index(ordered[0])], agreed)
    digest = hashlib.sha256("".join(one.digest for one in ordered).encode()).hexdigest()
    stored = _stored(kept, digest)
    if stored is not None:
        return stored
    passes = asked.mechanism.passes(asked.context(sampler))
    next(passes)
    noisy = run_passes(passes, totals, _no_more)
    made = _release(asked, noisy, totals, ordered, agreed)
    # a second draw would be another release of the same rows, so the first one is stored
    if write_once(kept, MERGE_RECORD + f"{digest}\n{made.to_json()}".encode()):  # [P:one-draw]
        return made
    first = _stored(kept, digest)
    if first is None:
        raise OutputError(
            f"another program deleted the stored release {str(kept)!r}; nothing was written",
            code="record-unstable",
            given=str(kept),
        )
    return first


def complete(parts: Sequence[Part], wanted: Session | None) -> tuple[Session, list[Part]]:
    """Return the session and exactly one part of each of its curators, in order."""
    if not parts:
        raise PartFileError(f"expected {_ONE_OF_EACH}, got no parts", code="parts-missing", option="parts")
    agreed = wanted or parts[0].session
    for one in parts:
        if one.session != agreed:
            other = "the given session" if wanted is not None else f"the session of the part of {parts[0].curator!r}"
            raise PartFileError(
                f"the part of {one.curator!r} does not belong to {other}; expected {_ONE_OF_EACH}",
                code="part-of-another-session",
                option="parts",
            )  # [P:same-session]
    places = [one.header.curator for one in parts]
    twice = sorted({place for place in places if places.count(place) > 1})
    if twice:
        raise PartFileError(
            f"there are two parts of {agreed.curators[twice[0]].name!r}; expected {_ONE_OF_EACH}",
            code="part-given-twice",
            option="parts",
        )
    missing = [one.name for place, one in enumerate(agreed.curators) if place not in places]
    if missing:
        several = len(missing) > 1
        raise PartFileError(
            f"the part{'s' * several} of {', '.join(map(repr, missing))} {'are' if several else 'is'} missing; without "
            f"{'them' if several else 'it'} the masks do not cancel. If a curator cannot send a part, agree on a new "
            "session",
            code="parts-missing",
            option="parts",
        )  # [P:all-parts]
    return agreed, sorted(parts, key=lambda one: one.header.curator)


def pooled(parts: Sequence[Part], asked: ReleaseRequest, session: Session) -> tuple[Totals, Published | None]:
    """Add the parts, and return the totals and, if the noise was drawn in shares, the moments to publish."""
    entries = entry_count(len(asked.design.released))
    public = asked.design.unit.neighbours == "replace"
    if any(one.header.numbers != entries + public for one in parts):
        raise PartFileError("the number of sums in a part does not match its design", code="part-inconsistent")
    values = unmasked([one.numbers for one in parts])
    check_cancelled(values[:entries], asked, session)
    count = values[-1] if public else 0
    if not 0 <= count <= MOST_ROWS * len(parts):
        raise _uncancelled()
    totals = Totals(tuple(values[:entries]), asked.distribution.unit, RowCounts(count))
    return totals, NoisyMoments(totals.values) if session.noise == "shares" else None


def check_cancelled(values: Sequence[int], asked: ReleaseRequest, session: Session) -> None:
    """Raise if a sum is impossible for any number of rows, which shows that the masks did not cancel."""
    parts = len(session.curators)
    noise = _FAR * parts * max(asked.distribution.sigma.values()) if session.noise == "shares" else 0
    most = parts * MOST_ROWS * asked.distribution.unit + noise
    if values[0] < -noise or any(abs(value) > most for value in values):
        raise _uncancelled()  # [P:count-range]


def _uncancelled() -> PartFileError:
    return PartFileError(
        "the masks of the parts do not cancel, because a curator used other keys or another program",
        code="masks-do-not-cancel",
        remedy="agree on a new session",
    )


def _design(parts: Sequence[Part], session: Session) -> Design:
    """Return the design in the parts, and check its digest."""
    try:
        design = Design.from_dict(ordered_design(parts[0].header.design))
    except DesignError as error:
        problem = f"the design in the parts is invalid: {error.on_one_line()}"
        raise PartFileError(problem, code="design-refused") from None
    except ReleaseFileError as error:
        raise PartFileError(Message("the design in the parts is invalid: ", error), code="design-refused") from None
    if design_digest(design) != session.design or any(one.header.design != parts[0].header.design for one in parts):
        raise PartFileError("the design in a part does not match the session", code="design-differs-in-part")
    return design


def _release(
    asked: ReleaseRequest, published: Published, totals: Totals, parts: Sequence[Part], session: Session
) -> Release:
    """Build the release with its guarantee and the conditions of several curators."""
    anchors = tuple(one.header.anchor for one in parts)
    merged = MergedAnchor(session.id, anchors)
    # two parts must not name the same spend
    tracked = merged.names_each(len(parts))
    anchor = str(merged) if tracked else UNTRACKED
    made = asked.release(published, totals, anchor, None)
    guarantee = Guarantee.promised(asked.design.unit, asked.budget, tracked=tracked, curators=session.terms)
    for origin in _ORIGINS:
        if any(one.header.origin == origin for one in parts):
            guarantee = with_origin(guarantee, origin)
    return replace(made, guarantee=with_curve(guarantee, asked.distribution), curators=session.terms)


def _record(first: Part | str | Path, session: Session) -> Path:
    """Return the path, next to the part of the first curator, of a release whose noise is drawn while merging."""
    if isinstance(first, Part):
        raise OptionError(
            "if the party that merges the parts draws the noise, the release is stored next to the parts, so they must "
            "be file paths",
            option="parts",
            allowed="paths of the parts",
            remedy="pass the paths of the parts",
        )
    return Path(first).resolve().parent / f"discreet-merge-{session.id}"


def _stored(path: Path, digest: str) -> Release | None:
    """Return the release previously drawn for these parts, or None."""
    try:
        content = read_kept(path)
        text = None if content is None else content.decode()
    except OSError as error:
        raise OutputError(
            f"cannot read the stored release {str(path)!r}: {error.strerror}; nothing was drawn",
            code="record-unreadable",
            given=str(path),
        ) from None
    except UnicodeDecodeError:
        raise _damaged(path) from None
    if text is None:
        return None
    head, _, kept = text.partition("\n")
    if not _HEAD.fullmatch(head):
        raise _damaged(path)
    if head != f"{MERGE_RECORD.decode()}{digest}":
        raise UnsupportedError(
            f"{str(path)!r} is the release of other parts of the same session. Merging these parts too would reveal "
            "the difference. Nothing was drawn",
            code="session-used",
            option="parts",
        )
    try:
        return Release.from_json(kept)
    except ReleaseFileError:
        raise _damaged(path) from None


def _damaged(path: Path) -> OutputError:
    return OutputError(
        f"the stored release {str(path)!r} is damaged. Nothing was drawn, because a second draw would be another "
        "release",
        code="record-damaged",
        given=str(path),
        remedy=("restore the file from a backup", "agree on a new session"),
    )


def _no_more(_: object) -> Totals:
    raise UnsupportedError("expected a mechanism that needs one pass", option="mechanism")
