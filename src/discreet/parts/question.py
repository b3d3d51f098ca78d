"""What a session asks of a table, as a question of the workflow; what is not served is refused in words."""

from __future__ import annotations

import hashlib
from typing import Protocol

from discreet.curator.sums.gram import ExactGram
from discreet.design.domain import RowDomain
from discreet.design.model import Design
from discreet.errors import SpecError
from discreet.mechanisms.moments.shares import GaussianShares
from discreet.mechanisms.sampling.sampler import ExactSampler
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.curators import CuratorTerms
from discreet.privacy.unit import PrivacyUnit
from discreet.releases.canonical import canonical_json
from discreet.workflow import Question


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
