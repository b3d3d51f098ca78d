"""The session on which several curators agree."""

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
from discreet.design.domain import RowDomain
from discreet.errors import OptionError, PrivacyNotice, SpecError, UnsupportedError, shown
from discreet.files import SESSION_MARK, write_bytes
from discreet.mechanisms.gaussian import GaussianShares
from discreet.mechanisms.sampler import ExactSampler
from discreet.options import AUTO, DEFAULT_GRID_BITS, ReleaseOptions, check_grid_bits
from discreet.parts.keys import Curator, toml_table
from discreet.privacy.budget import PrivacyBudget, PrivacyUnit, check_strength
from discreet.privacy.checks import exact_fields, is_number, listed
from discreet.privacy.guarantee import FEWEST_PARTS, CuratorTerms, NoiseMode
from discreet.release_request import ReleaseRequest
from discreet.releases.fields import canonical_json
from discreet.text import lookalikes
from discreet.wording import Message, SetOption

# -- question ----------------------------------------------------------------------------------------------------------
# The release request of a session. Unsupported options are refused.


class Asking(Protocol):
    """Fields of a session that define its release request."""

    @property
    def id(self) -> str:
        """Id of the session."""
        ...

    @property
    def design(self) -> str:
        """Digest of the design."""
        ...

    @property
    def unit(self) -> PrivacyUnit:
        """Privacy unit."""
        ...

    @property
    def grid_bits(self) -> int:
        """Bits of the grid."""
        ...

    @property
    def mechanism(self) -> str:
        """Name of the mechanism."""
        ...

    @property
    def epsilon(self) -> float:
        """Epsilon of the budget."""
        ...

    @property
    def delta(self) -> float:
        """Delta of the budget."""
        ...

    @property
    def terms(self) -> CuratorTerms:
        """Source of the noise, and the assumptions of the guarantee."""
        ...


def asked_by(session: Asking, design: Design) -> ReleaseRequest:
    """Build the request of a session from public numbers only, before any table is opened.

    >>> from discreet import CuratorKey, Session
    >>> design = Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> three = [CuratorKey.new(name).public for name in ("north", "south", "west")]
    >>> asked_by(Session.new(design, three, epsilon=1.0, delta=1e-6), design).distribution.parameters["shares"]
    3
    """
    if design_digest(design) == session.design and design.unit != session.unit:
        raise OptionError(
            f"session {session.id} protects {session.unit.words}, but its design protects {design.unit.words}: the "
            "unit in the session was changed",
            code="session-differs",
            option="session",
            remedy="use the session file that all curators agreed on",
        )
    if design_digest(design) != session.design:
        raise OptionError(
            f"the design is not the one that session {session.id} uses: expected the digest {session.design}, got "
            f"{design_digest(design)}",
            code="design-differs",
            option="design",
            remedy="use exactly the same design as all other curators",
        )
    if design.weights is not None:
        raise UnsupportedError(
            "a joint release of several curators does not support weights",
            code="weights-of-several-curators",
            remedy="remove the weights from the design",
        )
    if design.searched:
        raise UnsupportedError(
            "a joint release of several curators does not support private bounds",
            code="private-bounds-of-several-curators",
            column=design.searched[0],
            remedy=f"declare the bounds of {design.searched[0]!r}",
        )
    budget = PrivacyBudget(session.epsilon, session.delta)
    options = ReleaseOptions(mechanism=session.mechanism, grid_bits=session.grid_bits)
    terms = session.terms
    if terms.noise == "shares" or terms.parts_per_person > 1:
        mechanism = GaussianShares(shares=terms.shares, honest=terms.counted, parts_per_person=terms.parts_per_person)
        domain = RowDomain.of(design, session.grid_bits)
        distribution = mechanism.noise_model(design, domain, budget, {})
        return ReleaseRequest(design, budget, options, domain, mechanism, {}, distribution)
    asked = ReleaseRequest.checked(design, budget, options)
    if asked.rereads or not isinstance(next(asked.mechanism.passes(asked.context(ExactSampler()))), ExactGram):
        raise UnsupportedError(
            "a joint release of several curators requires a mechanism with a single pass of sums of products, which "
            f"{session.mechanism!r} does not have",
            code="mechanism-of-several-curators",
            option="mechanism",
            given=session.mechanism,
            remedy=SetOption("mechanism", SHARED_MECHANISM),
        )
    return asked


def design_table(design: Design) -> dict[str, object]:
    """Convert a design to plain values that keep the order of its columns."""
    return design.to_dict() | {"order": list(design.columns)}


def design_digest(design: Design) -> str:
    """Return the digest of a design. Only equal designs have equal digests."""
    text = canonical_json(design_table(design.redeclared()))
    return "sha256:" + hashlib.sha256(b"discreet design 1\n" + text).hexdigest()


# -- session -----------------------------------------------------------------------------------------------------------
# The session: the public terms on which several curators agree before anyone opens a table.

_FORMAT: Final = SESSION_MARK
_VERSION: Final = 1
_ID_DIGITS: Final = 32
_HEX: Final = frozenset("0123456789abcdef")
_FIELDS: Final = (
    "format", "version", "id", "design", "unit", "grid_bits", "mechanism", "epsilon", "delta", "noise", "honest",
    "parts_per_person", "curators",
)  # fmt: skip
_CURATORS: Final = "expected a list of Curator, such as [Curator.load('north.pub'), ...]"
# the only mechanism whose noise can be drawn in shares
SHARED_MECHANISM: Final = "gaussian"


@dataclass(frozen=True, slots=True)
class Session:
    """The terms and public keys on which several curators agree for one joint release. It can be used once.

    Attributes
    ----------
    id
        32 hexadecimal digits, new for every session.
    design
        Digest of the design that all curators use.
    unit
        Privacy unit.
    grid_bits, mechanism, epsilon, delta
        As in `discreet.release`.
    noise
        `shares`: every curator adds a share of the noise. `merger`: whoever merges the parts draws the noise and sees
        the exact pooled sums.
    honest
        Smallest number of honest curators that the guarantee assumes. The noise shares of that many curators alone
        satisfy the guarantee. 0 if the merger draws the noise.
    parts_per_person
        Largest number of parts in which a person may be.
    curators
        All curators, in the order of their parts.

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
            raise OptionError(
                f"expected {_ID_DIGITS} hexadecimal digits as the id of a session, got {shown(session_id)}",
                option="id",
                given=session_id,
                allowed=f"{_ID_DIGITS} hexadecimal digits",
            )
        if not isinstance(self.design, str) or not self.design.startswith("sha256:"):
            raise OptionError(
                f"expected a digest such as sha256:... as the design of a session, got {shown(self.design)}",
                option="design",
                given=self.design,
                allowed="a digest, sha256:...",
            )
        if not isinstance(self.unit, PrivacyUnit):
            raise OptionError(
                f"expected a PrivacyUnit as the unit of a session, got {shown(self.unit)}",
                option="unit",
                given=self.unit,
                allowed="a PrivacyUnit",
            )
        check_grid_bits(self.grid_bits)
        # refuses invalid budgets and numbers that are not finite
        PrivacyBudget(self.epsilon, self.delta)
        if not isinstance(self.mechanism, str):
            raise OptionError(
                f"expected the name of a mechanism for a session, got {shown(self.mechanism)}",
                option="mechanism",
                given=self.mechanism,
                allowed="the name of a mechanism",
            )
        if self.mechanism == AUTO:
            raise OptionError(
                f"the mechanism of a session must not be {AUTO!r}",
                option="mechanism",
                given=self.mechanism,
                remedy="name the mechanism that all curators agree on",
            )
        if self.mechanism == SHARED_MECHANISM and self.delta == 0:
            raise OptionError(
                f"the mechanism {SHARED_MECHANISM!r} needs delta above 0, such as 1e-6, got 0",
                code="delta-needed",
                option="delta",
                given=self.delta,
                allowed="a number above 0",
            )
        self._check_curators()
        # checks the numbers of curators and parts
        _ = self.terms
        several = self.parts_per_person > 1
        if (self.noise == "shares" or several) and self.mechanism != SHARED_MECHANISM:
            what = "noise in shares" if self.noise == "shares" else "parts_per_person above 1"
            raise UnsupportedError(
                f"{what} requires the mechanism {SHARED_MECHANISM!r}, got {shown(self.mechanism)}",
                option="mechanism",
                given=self.mechanism,
                allowed=(SHARED_MECHANISM,),
            )
        if several and self.unit.neighbours == "replace":
            raise UnsupportedError(
                f"got parts_per_person {self.parts_per_person}, but a unit with 'replace' neighbours requires 1",
                option="parts_per_person",
                given=self.parts_per_person,
                remedy=("choose add-remove neighbours", SetOption("parts_per_person", 1)),
            )

    def _check_curators(self) -> None:
        if not isinstance(self.curators, tuple) or not all(isinstance(one, Curator) for one in self.curators):
            raise OptionError(f"curators: {_CURATORS}", option="curators")
        keys = [key for one in self.curators for key in (one.mask_key, one.sign_key)]
        if len(set(keys)) != len(keys):
            raise OptionError(
                "a public key is listed twice in the session; every curator must have different keys",
                code="key-listed-twice",
                option="curators",
            )
        if len(self.curators) < FEWEST_PARTS:
            raise OptionError(
                f"expected at least {FEWEST_PARTS} curators in a session, got {len(self.curators)}: with two "
                "curators, each could compute the other's sums from the merged sums",
                code="too-few-curators",
                option="curators",
                given=len(self.curators),
                allowed=f"at least {FEWEST_PARTS} curators",
            )
        for first, second in lookalikes(one.name for one in self.curators):
            raise OptionError(
                f"the curators {first!r} and {second!r} have the same name, or names that look alike",
                code="names-look-alike",
                option="curators",
                remedy="choose other names",
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
        """Create a session with a new id.

        Parameters
        ----------
        design
            Design that all curators use.
        curators
            Public keys of at least three curators.
        epsilon, delta, mechanism, grid_bits
            As in `discreet.release`. Noise in shares requires the mechanism `gaussian`.
        noise
            `shares`, or `merger` if the merger may see the exact pooled sums.
        honest
            Smallest number of honest curators that the guarantee assumes. The default is all but one, which is also the
            largest allowed value.
        parts_per_person
            Largest number of parts in which a person may be. The noise grows with it.
        allow_weak_privacy
            True to accept epsilon above 20 or delta above 1e-3.
        """
        if not isinstance(design, Design):
            raise OptionError(
                f"expected a Design, got {type(design).__name__}",
                option="design",
                allowed="a Design",
                remedy="use Design(...) or Design.load(path)",
            )
        found = listed(curators)
        if found is None:
            raise OptionError(f"curators: {_CURATORS}, got {type(curators).__name__}", option="curators")
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
        # checks the grid, and that joint releases support the design and the mechanism
        asked_by(made, design)
        return made

    @property
    def terms(self) -> CuratorTerms:
        """Assumptions about the curators, as stated in the release."""
        return CuratorTerms(len(self.curators), self.honest, self.parts_per_person, self.noise, self.fingerprint)

    @property
    def fingerprint(self) -> str:
        """Digest of the whole session. Curators should compare it over another channel, such as the telephone."""
        return hashlib.sha256(self.canonical()).hexdigest()

    def canonical(self) -> bytes:
        """Serialise the session so that only equal sessions have equal bytes."""
        return canonical_json(self.to_dict())

    def to_dict(self) -> dict[str, object]:
        """Return the session as plain values."""
        return {
            "format": _FORMAT,
            "version": _VERSION,
            "id": self.id,
            "design": self.design,
            # TOML has no null
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
        """Read a session from plain values. Missing, unknown or invalid fields raise an error."""
        fields = exact_fields("session", mapping, _FIELDS)
        if fields["format"] != _FORMAT or fields["version"] != _VERSION or isinstance(fields["version"], bool):
            raise OptionError(
                f"expected a session of format {_FORMAT!r} and version {_VERSION}, got {shown(fields['format'])} and "
                f"{shown(fields['version'])}",
                code="session-version",
                option="session",
            )
        given = fields["curators"]
        if not isinstance(given, list):
            raise OptionError("a session must have one table [[curators]] for each curator", option="curators")
        unit = PrivacyUnit.from_dict(cast("Mapping[str, object]", fields["unit"]))
        for name in ("epsilon", "delta"):
            if not is_number(fields[name]):
                raise OptionError(
                    f"{name} of a session: expected a number, got {shown(fields[name])}",
                    option=name,
                    given=fields[name],
                    allowed="a number",
                )
        plain = {name: fields[name] for name in _FIELDS[2:-1] if name != "unit"}
        people = tuple(Curator.from_dict(one) for one in given)
        # the constructor checks every value, so the types need not be known here
        return cls(unit=unit, curators=people, **plain)  # type: ignore[arg-type]

    @classmethod
    def given(cls, session: object) -> Session:
        """Return a session given as an object or as the path of its file."""
        if isinstance(session, Session):
            return session
        if not isinstance(session, str | Path) or not str(session):
            raise OptionError(
                f"session: expected a Session or the path of its file, got {shown(session)}",
                option="session",
                given=session,
                allowed="a Session or the path of its file",
            )
        return cls.load(session)

    @classmethod
    def load(cls, path: str | Path) -> Session:
        """Read a session file."""
        table = toml_table(path)
        try:
            return cls.from_dict(table)
        except SpecError as error:
            raise OptionError(Message(f"{str(path)!r}: ", error), code=error.code, option=error.option) from None

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the session file. It contains no secrets, and all curators use the same file."""
        import tomli_w

        write_bytes(path, tomli_w.dumps(self.to_dict()).encode(), force=force)

    def __repr__(self) -> str:
        return f"<Session {self.id[:8]}: {len(self.curators)} curators, epsilon={self.epsilon:g}, noise {self.noise}>"
