"""What a session asks of a table, as a question of the workflow; what is not served is refused in words."""

from __future__ import annotations

from typing import Final

from discreet.curator.sums.gram import ExactGram
from discreet.design.domain import RowDomain
from discreet.design.model import Design
from discreet.errors import SpecError
from discreet.mechanisms.moments.shares import GaussianShares
from discreet.mechanisms.sampling.sampler import ExactSampler
from discreet.parts.session import Session, design_digest
from discreet.privacy.budget import PrivacyBudget
from discreet.workflow import Question

# leaves the choice to the program, whose versions may differ between curators
_OPEN: Final = "auto"


def asked_by(session: Session, design: Design) -> Question:
    """The question of a session, from public numbers alone, before any table is opened.

    >>> from discreet.parts.keys import CuratorKey
    >>> design = Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> three = [CuratorKey.new(name).public for name in ("north", "south", "west")]
    >>> asked_by(Session.new(design, three, epsilon=1.0, delta=1e-6), design).mechanism.version
    'parts-1'
    """
    if design_digest(design) != session.design or design.unit != session.unit:
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
    if session.noise == "shares" or session.parts_per_person > 1:
        mechanism = GaussianShares(shares=terms.shares, honest=terms.counted, parts_per_person=session.parts_per_person)
        domain = RowDomain.of(design, session.grid_bits)
        law = mechanism.noise_model(design, domain, budget, {})
        return Question(design, domain, budget, mechanism, {}, law, robust=False, residual_bound=None)
    if session.mechanism == _OPEN:
        raise SpecError(f"the mechanism of a session is {_OPEN!r}; name the one that all curators agree on")
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
