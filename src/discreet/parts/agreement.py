"""Define the session on which several curators agree."""

from __future__ import annotations

import hashlib
import secrets
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, cast

from discreet.curator.sums.gram import ExactGram
from discreet.design.design import Design
from discreet.design.domain import DEFAULT_GRID_BITS, MAX_GRID_BITS, MIN_GRID_BITS, RowDomain
from discreet.errors import PrivacyNotice, SpecError, shown
from discreet.files import SESSION_MARK, write_bytes
from discreet.mechanisms.gaussian import GaussianShares
from discreet.mechanisms.sampler import ExactSampler
from discreet.parts.keys import Curator, toml_table
from discreet.privacy.budget import PrivacyBudget, PrivacyUnit, check_strength
from discreet.privacy.checks import exact_fields, is_integer, is_number, listed
from discreet.privacy.guarantee import FEWEST_PARTS, CuratorTerms, NoiseMode
from discreet.releases.fields import canonical_json
from discreet.text import lookalikes
from discreet.workflow import Question

# -- question ----------------------------------------------------------------------------------------------------------
# What a session asks of a table, as a question of the workflow; what is not served is refused in words.


class Asking(Protocol):
    """What a session says about its question."""

    @property
    def id(self) -> str:
        """Its id."""
        ...

    @property
    def design(self) -> str:
        """Digest of the design."""
        ...

    @property
    def unit(self) -> PrivacyUnit:
        """Whose presence is hidden."""
        ...

    @property
    def grid_bits(self) -> int:
        """The grid."""
        ...

    @property
    def mechanism(self) -> str:
        """Name of the mechanism."""
        ...

    @property
    def epsilon(self) -> float:
        """Of the budget."""
        ...

    @property
    def delta(self) -> float:
        """Of the budget."""
        ...

    @property
    def terms(self) -> CuratorTerms:
        """Who draws the noise, and on whom the promise counts."""
        ...


def asked_by(session: Asking, design: Design) -> Question:
    """The question of a session, from public numbers alone, before any table is opened.

    >>> from discreet import CuratorKey, Session
    >>> design = Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> three = [CuratorKey.new(name).public for name in ("north", "south", "west")]
    >>> asked_by(Session.new(design, three, epsilon=1.0, delta=1e-6), design).mechanism.version
    'parts-1'
    """
    if design_digest(design) == session.design and design.unit != session.unit:
        raise SpecError(
            f"session {session.id} hides {session.unit.words}, and its design {design.unit.words}: the unit in the "
            "session was changed; take the file that all curators agreed on"
        )
    if design_digest(design) != session.design:
        raise SpecError(
            f"the design is not the one of session {session.id}: its digest is {design_digest(design)}, expected "
            f"{session.design}; all curators declare the same, word for word"
        )
    if design.weights is not None:
        raise SpecError("several curators are not served for a design with weights; leave the weights out")
    if design.searched:
        raise SpecError(
            f"several curators are not served for private bounds, which need more than one pass; declare the bounds of "
            f"{design.searched[0]!r}"
        )
    budget = PrivacyBudget(session.epsilon, session.delta)
    terms = session.terms
    if terms.noise == "shares" or terms.parts_per_person > 1:
        mechanism = GaussianShares(shares=terms.shares, honest=terms.counted, parts_per_person=terms.parts_per_person)
        domain = RowDomain.of(design, session.grid_bits)
        law = mechanism.noise_model(design, domain, budget, {})
        return Question(design, domain, budget, mechanism, {}, law, robust=False, residual_bound=None)
    asked = Question.checked(
        design,
        budget,
        session.mechanism,
        None,
        moments="plain",
        residual_bound=None,
        clip_counts=False,
        grid_bits=session.grid_bits,
    )
    if asked.rereads or not isinstance(next(asked.mechanism.passes(asked.context(ExactSampler()))), ExactGram):
        raise SpecError(
            f"several curators are served by mechanisms that need one pass of sums of products; {session.mechanism!r} "
            "needs others"
        )
    return asked


def design_table(design: Design) -> dict[str, object]:
    """A design as plain values that keep the order of its columns."""
    return design.to_dict() | {"order": list(design.columns)}


def design_digest(design: Design) -> str:
    """Digest of a design: equal for equal declarations alone.

    >>> one, other = (Design("y", {"y": (0, high), "x": (0, 5)}) for high in (10, 11))
    >>> design_digest(one) == design_digest(other)
    False
    """
    text = canonical_json(design_table(design.redeclared()))
    return "sha256:" + hashlib.sha256(b"discreet design 1\n" + text).hexdigest()


# -- session -----------------------------------------------------------------------------------------------------------
# The session: everything public on which several curators agree before anybody opens a table.

_FORMAT: Final = SESSION_MARK
_VERSION: Final = 1
_ID_DIGITS: Final = 32
_HEX: Final = frozenset("0123456789abcdef")
_FIELDS: Final = (
    "format", "version", "id", "design", "unit", "grid_bits", "mechanism", "epsilon", "delta", "noise", "honest",
    "parts_per_person", "curators",
)  # fmt: skip
_CURATORS: Final = "expected a list of Curator, such as [Curator.load('north.pub'), ...]"
# shares of noise add up to noise of the same law for this mechanism alone
SHARED_MECHANISM: Final = "gaussian"
# leaves the choice to the program, whose versions may differ between curators
_OPEN: Final = "auto"


@dataclass(frozen=True, slots=True)
class Session:
    """What is asked of all curators together, and who they are. Used once.

    Attributes
    ----------
    id
        32 hexadecimal digits, new for every session.
    design
        Digest of the design that all of them declare.
    unit
        Whose presence is hidden.
    grid_bits, mechanism, epsilon, delta
        As in `discreet.release`.
    noise
        `shares`: every curator adds its share. `merger`: whoever merges draws the noise, and sees exact pooled sums.
    honest
        How many curators are honest at least; their shares suffice. 0 where the merger draws the noise.
    parts_per_person
        In how many parts one person may be.
    curators
        All of them, in the order of their parts.

    Examples
    --------
    >>> from discreet import CuratorKey, Design
    >>> design = Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> three = [CuratorKey.new(name).public for name in ("north", "south", "west")]
    >>> session = Session.new(design, three, epsilon=1.0, delta=1e-6)
    >>> session.honest, session.noise
    (2, 'shares')
    """

    id: str
    design: str
    unit: PrivacyUnit
    grid_bits: int
    mechanism: str
    epsilon: float
    delta: float
    noise: NoiseMode
    honest: int
    parts_per_person: int
    curators: tuple[Curator, ...]

    def __post_init__(self) -> None:
        session_id: object = self.id
        if not (isinstance(session_id, str) and len(session_id) == _ID_DIGITS and set(session_id) <= _HEX):
            raise SpecError(
                f"the id of a session is {shown(session_id)}; it must have {_ID_DIGITS} hexadecimal digits, new for "
                "every session"
            )
        if not isinstance(self.design, str) or not self.design.startswith("sha256:"):
            raise SpecError(f"the design of a session is {shown(self.design)}; expected its digest, sha256:...")
        if not isinstance(self.unit, PrivacyUnit):
            raise SpecError(f"unit is {shown(self.unit)}; it must be a PrivacyUnit")
        if not is_integer(self.grid_bits) or not MIN_GRID_BITS <= self.grid_bits <= MAX_GRID_BITS:
            raise SpecError(
                f"grid_bits is {shown(self.grid_bits)}; expected an integer from {MIN_GRID_BITS} to {MAX_GRID_BITS}"
            )
        # refuses what is no budget, and numbers that are not finite
        PrivacyBudget(self.epsilon, self.delta)
        if not isinstance(self.mechanism, str):
            raise SpecError(f"the mechanism of a session is {shown(self.mechanism)}; expected its name")
        if self.mechanism == _OPEN:
            raise SpecError(f"the mechanism of a session is {_OPEN!r}; name the one that all curators agree on")
        if self.mechanism == SHARED_MECHANISM and self.delta == 0:
            raise SpecError(f"delta is 0; the mechanism {SHARED_MECHANISM!r} needs delta above 0, such as 1e-6")
        self._check_curators()
        # refuses numbers of parts that contradict each other
        _ = self.terms
        several = self.parts_per_person > 1
        if (self.noise == "shares" or several) and self.mechanism != SHARED_MECHANISM:
            what = "noise in shares" if self.noise == "shares" else "a person in several parts"
            raise SpecError(f"{what} needs the mechanism {SHARED_MECHANISM!r}, got {shown(self.mechanism)}")
        if several and self.unit.neighbours == "replace":
            raise SpecError(
                f"parts_per_person is {self.parts_per_person} and neighbours are replaced; the two do not go together: "
                "choose add-remove neighbours, or parts_per_person = 1"
            )

    def _check_curators(self) -> None:
        if not isinstance(self.curators, tuple) or not all(isinstance(one, Curator) for one in self.curators):
            raise SpecError(f"curators: {_CURATORS}")
        keys = [key for one in self.curators for key in (one.mask_key, one.sign_key)]
        if len(set(keys)) != len(keys):
            raise SpecError("a public key is listed twice in the session; every curator has keys of its own")
        if len(self.curators) < FEWEST_PARTS:
            raise SpecError(
                f"the session has {_count(len(self.curators))}; expected at least {FEWEST_PARTS}: with two, each would "
                "read the other's sums off the merged ones"
            )
        for first, second in lookalikes(one.name for one in self.curators):
            raise SpecError(
                f"the curators {first!r} and {second!r} have the same name, or names that look alike; names tell "
                "people apart: choose others"
            )

    @classmethod
    def new(
        cls,
        design: Design,
        curators: Sequence[Curator],
        *,
        epsilon: float,
        delta: float = 0.0,
        mechanism: str = SHARED_MECHANISM,
        grid_bits: int = DEFAULT_GRID_BITS,
        noise: NoiseMode = "shares",
        honest: int | None = None,
        parts_per_person: int = 1,
        allow_weak_privacy: bool = False,
    ) -> Session:
        """A new session with an id of its own; what `part` or `merge` would refuse of it is refused now.

        Parameters
        ----------
        design
            Which all curators declare, word for word.
        curators
            At least three.
        epsilon, delta, mechanism, grid_bits
            As in `discreet.release`; shares of the noise are for `gaussian` only.
        noise
            `shares`, or `merger` if whoever merges may see exact pooled sums.
        honest
            How many curators are honest at least; one less than there are, and at most so many, unless given.
        parts_per_person
            In how many parts one person may be; the noise grows with it.
        allow_weak_privacy
            Accept epsilon above 20 or delta above 1e-3.
        """
        if not isinstance(design, Design):
            raise SpecError(f"expected a Design, got {type(design).__name__}; use Design(...) or Design.load(path)")
        found = listed(curators)
        if found is None:
            raise SpecError(f"curators: {_CURATORS}, got {type(curators).__name__}")
        people = tuple(found)
        usual = len(people) - 1 if noise == "shares" else 0
        made = cls(
            id=secrets.token_hex(_ID_DIGITS // 2),
            design=design_digest(design),
            unit=design.unit,
            grid_bits=grid_bits,
            mechanism=mechanism,
            epsilon=epsilon,
            delta=delta,
            noise=noise,
            honest=usual if honest is None else honest,
            parts_per_person=parts_per_person,
            curators=people,
        )
        for notice in check_strength(PrivacyBudget(made.epsilon, made.delta), allow_weak_privacy):
            warnings.warn(notice, PrivacyNotice, stacklevel=2)
        # a grid that is too coarse or too fine, a design or a mechanism that several curators are not served for
        asked_by(made, design)
        return made

    @property
    def terms(self) -> CuratorTerms:
        """What the release says about the curators."""
        return CuratorTerms(len(self.curators), self.honest, self.parts_per_person, self.noise, self.fingerprint)

    @property
    def fingerprint(self) -> str:
        """Digest of everything in the session; curators compare it by another way than they got the file."""
        return hashlib.sha256(self.canonical()).hexdigest()

    def canonical(self) -> bytes:
        """The session as one text, in which equal sessions are equal bytes and others are not."""
        return canonical_json(self.to_dict())

    def to_dict(self) -> dict[str, object]:
        """Give the session as plain values."""
        return {
            "format": _FORMAT,
            "version": _VERSION,
            "id": self.id,
            "design": self.design,
            # TOML has no word for nothing
            "unit": {key: value for key, value in self.unit.to_dict().items() if value is not None},
            "grid_bits": self.grid_bits,
            "mechanism": self.mechanism,
            "epsilon": float(self.epsilon),
            "delta": float(self.delta),
            "noise": self.noise,
            "honest": self.honest,
            "parts_per_person": self.parts_per_person,
            "curators": [one.to_dict() for one in self.curators],
        }

    @classmethod
    def from_dict(cls, mapping: object) -> Session:
        """Read a session back; missing or unknown fields and wrong values are refused."""
        fields = exact_fields("session", mapping, _FIELDS)
        if fields["format"] != _FORMAT or fields["version"] != _VERSION or isinstance(fields["version"], bool):
            raise SpecError(
                f"expected a session of format {_FORMAT!r} and version {_VERSION}, got {shown(fields['format'])} and "
                f"{shown(fields['version'])}"
            )
        given = fields["curators"]
        if not isinstance(given, list):
            raise SpecError("the curators of a session: expected one table [[curators]] for each")
        unit = PrivacyUnit.from_dict(cast("Mapping[str, object]", fields["unit"]))
        for name in ("epsilon", "delta"):
            if not is_number(fields[name]):
                raise SpecError(f"{name} of a session: expected a number, got {shown(fields[name])}")
        plain = {name: fields[name] for name in _FIELDS[2:-1] if name != "unit"}
        people = tuple(Curator.from_dict(one) for one in given)
        # the constructor checks every value, so the types need not be known here
        return cls(unit=unit, curators=people, **plain)  # type: ignore[arg-type]

    @classmethod
    def given(cls, session: object) -> Session:
        """The session that a caller gave, itself or as the path of its file."""
        if isinstance(session, Session):
            return session
        if not isinstance(session, str | Path) or not str(session):
            raise SpecError(f"session: expected a Session or the path of its file, got {shown(session)}")
        return cls.load(session)

    @classmethod
    def load(cls, path: str | Path) -> Session:
        """Read a session file."""
        table = toml_table(path)
        try:
            return cls.from_dict(table)
        except SpecError as error:
            raise SpecError(f"{str(path)!r}: {error}") from None

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the session file, the same for all curators; it holds nothing secret."""
        import tomli_w

        write_bytes(path, tomli_w.dumps(self.to_dict()).encode(), force=force)

    def __repr__(self) -> str:
        return f"<Session {self.id[:8]}: {len(self.curators)} curators, epsilon={self.epsilon:g}, noise {self.noise}>"


def _count(curators: int) -> str:
    return "1 curator" if curators == 1 else f"{curators} curators"
