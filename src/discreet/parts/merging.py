"""One release from the parts of all curators: the masks cancel, or nothing is made of them. Proof: parts.proof.md."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from discreet.curator.sums.gram import Totals
from discreet.design.design import Design
from discreet.errors import DesignError, OutputError, PartFileError, ReleaseFileError, SpecError
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
from discreet.releases.reading import ordered_design
from discreet.releases.release import Release
from discreet.releases.verification import SigningKey
from discreet.tables.frames import Origin
from discreet.workflow import Question

_ONE_OF_EACH: Final = "one part from each curator, made under one session file"
_ORIGINS: Final[tuple[Origin, ...]] = ("query", "stream", "quoted")
_HEAD: Final = re.compile(MERGE_RECORD.decode() + "[0-9a-f]{64}", re.ASCII)
# standard deviations of the noise that no sum of shares exceeds
_FAR: Final = 64


def merge(
    parts: Sequence[Part | str | Path],
    *,
    session: Session | str | Path | None = None,
    merger_noise: bool = False,
    sign: str | Path | None = None,
) -> Release:
    """Make the release of several curators from their parts; reads no row and spends nothing more.

    The same parts give the same release, whatever their order. A missing, doubled, foreign or altered part is refused,
    and masks that do not cancel are, before any noise is drawn.

    Parameters
    ----------
    parts
        One of every curator in the session, or the paths of their files.
    session
        If given, the session or the path of its file, of which the parts must be.
    merger_noise
        Needed where the session leaves the noise to whoever merges, who then sees the exact pooled sums; paths are
        needed, too: the release is kept beside the part of the session's first curator, since another draw would be
        another release.
    sign
        Path of an Ed25519 private key in PEM, without a password, of whoever merges, to sign the release with.

    Returns
    -------
    Release
        An ordinary release; its guarantee states on how many honest curators it counts.

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
    """The line itself, whatever the source of the noise."""
    check_flag("merger_noise", merger_noise)
    # a key that cannot sign is refused before anything is drawn
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
        raise SpecError(f"expected a list of parts or of their paths, got {type(parts).__name__}")
    wanted = None if session is None else Session.given(session)
    found = [one if isinstance(one, Part) else Part.load(one) for one in given]
    agreed, ordered = complete(found, wanted)
    if merger_noise != (agreed.noise == "merger"):
        raise SpecError(
            "the session leaves the noise to whoever merges, who sees the exact pooled sums; pass --merger-noise "
            "(merger_noise=True) to do so"
            if agreed.noise == "merger"
            else "the parts have their shares of the noise; leave --merger-noise (merger_noise) out"
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
    # another draw would be another release of the same rows, so the first one stays
    if write_once(kept, MERGE_RECORD + f"{digest}\n{made.to_json()}".encode()):  # [P:one-draw]
        return made
    first = _stored(kept, digest)
    if first is None:
        raise OutputError(f"the kept release {str(kept)!r} comes and goes; nothing was written")
    return first


def complete(parts: Sequence[Part], wanted: Session | None) -> tuple[Session, list[Part]]:
    """The session of the parts, and one part of each of its curators in their order; anything else is refused."""
    if not parts:
        raise PartFileError(f"got no part; expected {_ONE_OF_EACH}")
    agreed = wanted or parts[0].session
    for one in parts:
        if one.session != agreed:
            other = "the given session" if wanted is not None else f"the session of the part of {parts[0].curator!r}"
            raise PartFileError(
                f"the part of {one.curator!r} does not belong to {other}; expected {_ONE_OF_EACH}"
            )  # [P:same-session]
    places = [one.header.curator for one in parts]
    twice = sorted({place for place in places if places.count(place) > 1})
    if twice:
        raise PartFileError(f"there are two parts of {agreed.curators[twice[0]].name!r}; expected {_ONE_OF_EACH}")
    missing = [one.name for place, one in enumerate(agreed.curators) if place not in places]
    if missing:
        several = len(missing) > 1
        raise PartFileError(
            f"the part{'s' * several} of {', '.join(map(repr, missing))} {'are' if several else 'is'} missing; without "
            f"{'them' if several else 'it'} the masks do not cancel. A curator who cannot send one makes a new session "
            "necessary"
        )  # [P:all-parts]
    return agreed, sorted(parts, key=lambda one: one.header.curator)


def pooled(parts: Sequence[Part], asked: Question, session: Session) -> tuple[Totals, Published | None]:
    """What the parts add up to: exact sums, or what is published where they have noise in shares."""
    entries = entry_count(len(asked.design.released))
    public = asked.design.unit.neighbours == "replace"
    if any(one.header.numbers != entries + public for one in parts):
        raise PartFileError("a part has another number of sums than its design has")
    values = unmasked([one.numbers for one in parts])
    check_cancelled(values[:entries], asked, session)
    count = values[-1] if public else 0
    if not 0 <= count <= MOST_ROWS * len(parts):
        raise _uncancelled()
    totals = Totals(tuple(values[:entries]), asked.law.unit, count)
    return totals, NoisyMoments(totals.values) if session.noise == "shares" else None


def check_cancelled(values: Sequence[int], asked: Question, session: Session) -> None:
    """Refuse sums that no rows have: the first is the number of rows, and bounds the size of all others."""
    parts = len(session.curators)
    noise = _FAR * parts * max(asked.law.sigma.values()) if session.noise == "shares" else 0
    most = parts * MOST_ROWS * asked.law.unit + noise
    if values[0] < -noise or any(abs(value) > most for value in values):
        raise _uncancelled()  # [P:count-range]


def _uncancelled() -> PartFileError:
    return PartFileError(
        "the masks of the parts do not cancel: their number of rows is out of range, so a curator used other keys or "
        "another program; make a new session"
    )


def _design(parts: Sequence[Part], session: Session) -> Design:
    """The design in the parts, which must have the digest of the session."""
    try:
        design = Design.from_dict(ordered_design(parts[0].header.design))
    except DesignError as error:
        raise PartFileError(f"the design in the parts is refused: {error.on_one_line}") from None
    except ReleaseFileError as error:
        raise PartFileError(f"the design in the parts is refused: {error}") from None
    if design_digest(design) != session.design or any(one.header.design != parts[0].header.design for one in parts):
        raise PartFileError("the design in a part is not the one of the session")
    return design


def _release(asked: Question, published: Published, totals: Totals, parts: Sequence[Part], session: Session) -> Release:
    """The release, with its promise and the conditions of several curators."""
    anchors = tuple(one.header.anchor for one in parts)
    merged = MergedAnchor(session.id, anchors)
    # a spend that two parts name is not the spend of both
    tracked = merged.names_each(len(parts))
    anchor = str(merged) if tracked else UNTRACKED
    made = asked.release(published, totals, anchor, None)
    guarantee = Guarantee.promised(asked.design.unit, asked.budget, tracked=tracked, curators=session.terms)
    for origin in _ORIGINS:
        if any(one.header.origin == origin for one in parts):
            guarantee = with_origin(guarantee, origin)
    return replace(made, guarantee=with_curve(guarantee, asked.law), curators=session.terms)


def _record(first: Part | str | Path, session: Session) -> Path:
    """Where the release is kept that the merger has drawn: beside one part, whatever order the parts are given in."""
    if isinstance(first, Part):
        raise SpecError("where the merger draws the noise, give paths of the parts: the release is kept beside them")
    return Path(first).resolve().parent / f"discreet-merge-{session.id}"


def _stored(path: Path, digest: str) -> Release | None:
    """The release that was drawn for these parts before; none if there is none."""
    try:
        content = read_kept(path)
        text = None if content is None else content.decode()
    except OSError as error:
        raise OutputError(f"cannot read the kept release {str(path)!r}: {error.strerror}; nothing was drawn") from None
    except UnicodeDecodeError:
        raise _damaged(path) from None
    if text is None:
        return None
    head, _, kept = text.partition("\n")
    if not _HEAD.fullmatch(head):
        raise _damaged(path)
    if head != f"{MERGE_RECORD.decode()}{digest}":
        raise SpecError(
            f"{str(path)!r} has the release of other parts of the same session; merging both would show their "
            "difference. Nothing was drawn"
        )
    try:
        return Release.from_json(kept)
    except ReleaseFileError:
        raise _damaged(path) from None


def _damaged(path: Path) -> OutputError:
    return OutputError(
        f"the kept release {str(path)!r} is damaged; nothing was drawn, since another draw would be another release. "
        "Restore the file from a copy, or agree on a new session"
    )


def _no_more(_: object) -> Totals:
    raise SpecError("expected a mechanism of one pass")
