"""From a budget to the noise of several Gaussian statistics that are released one after another.

Statistics may be chosen in the light of earlier ones: Gaussian mechanisms compose exactly whatever the order, and the
step from the continuous to the lattice law costs what gaussian.proof.md shows, summed over all variates.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from discreet.design.domain import RowDomain
from discreet.errors import SpecError
from discreet.mechanisms.calibration.blocks import ROUNDING, in_steps
from discreet.mechanisms.sampling.sampler import NO_DELTA
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.gaussian import mu_from
from discreet.privacy.lattice import LATTICE_SHARE
from discreet.privacy.zcdp import rho_from
from discreet.releases import Calibration, NoiseLaw


@dataclass(frozen=True, slots=True)
class Piece:
    """One statistic among those released.

    Attributes
    ----------
    sensitivity
        Largest Euclidean change between neighbouring tables, in scaled units, after the weights of `scales`.
    share
        Of mu^2, for all times together.
    entries
        How many variates one release of it takes.
    times
        How often it is released.
    """

    sensitivity: float
    share: float
    entries: int
    times: int = 1


def pieces_law(domain: RowDomain, budget: PrivacyBudget, pieces: Mapping[str, Piece]) -> NoiseLaw:
    """The noise of every piece for a budget; shares are taken in proportion.

    mu^2 is the sum over pieces of times * (sensitivity / sigma)^2, and each piece has its share of it.

    >>> domain = RowDomain(1, 0, 0, None, False, 16)
    >>> law = pieces_law(domain, PrivacyBudget(1.0, 1e-6), {"score": Piece(1.0, 1.0, 2, times=4)})
    >>> round(law.sd("score"), 3)
    8.449
    """
    if budget.currency != "approximate":
        raise SpecError(f"expected a budget in epsilon and delta for this mechanism, got one in {budget.currency}")
    if not budget.delta > 0:
        raise SpecError(NO_DELTA)
    total = math.fsum(piece.share for piece in pieces.values())

    def law(mu: float, calibration: Calibration) -> NoiseLaw:
        steps = {
            name: in_steps(
                name, piece.sensitivity * ROUNDING * math.sqrt(piece.times * total / piece.share) / mu, domain
            )
            for name, piece in pieces.items()
        }
        return NoiseLaw(domain.grid_bits, steps, calibration)

    continuous = law(mu_from(budget.epsilon, budget.delta), "gaussian")
    gap = _gap(continuous, pieces, budget.epsilon)
    if gap <= LATTICE_SHARE * budget.delta:
        return law(mu_from(budget.epsilon, (budget.delta - gap) / ROUNDING), "gaussian")
    return law(math.sqrt(2 * rho_from(budget.epsilon, budget.delta)) / ROUNDING, "discrete-zcdp")


def _gap(law: NoiseLaw, pieces: Mapping[str, Piece], epsilon: float) -> float:
    if epsilon > 700:
        return math.inf
    distance = math.fsum(
        piece.entries * piece.times / (16 * float(law.sigma[name]) ** 2) for name, piece in pieces.items()
    )
    return (1 + math.exp(epsilon)) * distance * ROUNDING
