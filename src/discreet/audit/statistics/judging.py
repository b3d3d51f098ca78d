"""The verdict on two sets of draws: events are chosen on the first half of each, and judged on the second half."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from discreet.audit.statistics.claims import Claim
from discreet.audit.statistics.confidence import limits
from discreet.audit.statistics.events import chosen_events
from discreet.errors import SpecError
from discreet.exact.arrays import FloatArray
from discreet.privacy.gaussian import epsilon_from

# the smallest number of draws for which a half chooses and a half judges
FEWEST_DRAWS: Final = 20
# kinds of events times what they are chosen for: how many are judged at most
_MOST_EVENTS: Final = 12
# below it a mu-Gaussian mechanism has an epsilon of 0 at any delta that is used
_LEAST_MU: Final = 1e-12


@dataclass(frozen=True, slots=True)
class Witness:
    """An event, and how often it happened in the draws that judge.

    Attributes
    ----------
    kind
        How the event was found.
    hits, draws
        On the table on which it is likelier.
    other_hits, other_draws
        On its neighbour.
    """

    kind: str
    hits: int
    draws: int
    other_hits: int
    other_draws: int

    def sentence(self) -> str:
        """The counts in words.

        >>> Witness("linear", 60, 100, 1, 100).sentence()
        'linear: 60 of 100 draws against 1 of 100'
        """
        return f"{self.kind}: {self.hits:,} of {self.draws:,} draws against {self.other_hits:,} of {self.other_draws:,}"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What draws certify, at a stated confidence.

    Attributes
    ----------
    claim
        What was tried.
    epsilon
        Every method with these outputs has at least this epsilon at the claim's delta.
    mu
        No mu-Gaussian mechanism with a smaller mu has these outputs; none if no curve was claimed.
    witness
        The event that gives `epsilon`; none if no event parts the tables.
    mu_witness
        The event that gives `mu`.
    """

    claim: Claim
    epsilon: float
    mu: float | None
    witness: Witness | None
    mu_witness: Witness | None

    @property
    def refuted(self) -> bool:
        """Whether the claim is false, up to the stated probability of a false alarm."""
        false_curve = self.mu is not None and self.claim.mu is not None and self.mu > self.claim.mu
        return self.epsilon > self.claim.epsilon or false_curve

    @property
    def certified(self) -> float:
        """Epsilon at the claim's delta: of the events, or of the Gaussian curve through the bound on mu if larger.

        The second is a statement about epsilon only if outputs have Gaussian shape, as a claim of mu says.

        >>> Judgement(Claim(1.0, 1e-6, 0.2367), 0.1, 0.2, None, None).certified > 0.7
        True
        """
        if self.mu is None or self.claim.delta == 0 or self.mu < _LEAST_MU:
            return self.epsilon
        return max(self.epsilon, epsilon_from(self.mu, self.claim.delta))


def judged(one: FloatArray, other: FloatArray, claim: Claim, alpha: float) -> Judgement:
    """Lower bounds of epsilon and mu that are all right with probability of at least 1 - alpha.

    Parameters
    ----------
    one, other
        Independent draws for two neighbouring tables, one in each row, with the same numbers in each.
    claim
        What is tried.
    alpha
        Probability of a false alarm on a method that keeps the claim.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> noise = np.rint(rng.laplace(0.0, 2**20, (2, 4000, 1)))
    >>> found = judged(noise[0] + 2**20, noise[1], Claim(1.0), 0.01)
    >>> 0.7 < found.epsilon < 1, found.refuted
    (True, False)
    >>> judged(noise[0] + 2**20, noise[1], Claim(0.5), 0.01).refuted
    True
    """
    if min(len(one), len(other)) < FEWEST_DRAWS or one.shape[1] != other.shape[1]:
        raise SpecError(
            f"expected at least {FEWEST_DRAWS} draws of equally many numbers, got {len(one)} of {one.shape[1]} and "
            f"{len(other)} of {other.shape[1]}"
        )
    halves = [(side[: len(side) // 2], side[len(side) // 2 :]) for side in (one, other)]
    # the number of events is known from the first half alone, so the division of alpha is fixed before the second
    events = chosen_events(halves[0][0], halves[1][0], claim, alpha / _MOST_EVENTS)
    epsilon, mu, witness, mu_witness = 0.0, 0.0, None, None
    for event in events:
        sides = [half[1] for half in (halves[::-1] if event.swapped else halves)]
        hits = [int(event.happens(side).sum()) for side in sides]
        counted = Witness(event.kind, hits[0], len(sides[0]), hits[1], len(sides[1]))
        found = limits(hits[0], len(sides[0]), hits[1], len(sides[1]), alpha / len(events))
        bounds = [float(bound) for bound in found.of(claim)]
        if bounds[0] > epsilon:
            epsilon, witness = bounds[0], counted
        if bounds[1] > mu:
            mu, mu_witness = bounds[1], counted
    claimed = claim.mu is not None
    return Judgement(claim, epsilon, mu if claimed else None, witness, mu_witness if claimed else None)
