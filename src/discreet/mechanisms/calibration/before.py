"""Counts that are released before a mechanism runs, and its noise: one budget for both.

What the counts say decides how the release goes on, or that it does not. Proof: before.proof.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from discreet.design.domain import RowDomain
from discreet.errors import SpecError
from discreet.losses.law import DISCOVERY, GUARD, NoiseLaw
from discreet.losses.sensitivity.before.counts import CountsBefore
from discreet.mechanisms.calibration.blocks import in_steps
from discreet.privacy.budget import PrivacyBudget, as_pair
from discreet.privacy.gaussian import delta_from, mu_from
from discreet.privacy.lattice import LATTICE_SHARE, ROUNDING, lattice_gap
from discreet.privacy.zcdp import rho_from

# what asks for each block, and how to do without
_WORDS: Final = {GUARD: ("a guard", "leave --guard out"), DISCOVERY: ("private bounds", "declare all bounds")}


def preceded_law(
    counts: CountsBefore,
    share: Fraction,
    domain: RowDomain,
    budget: PrivacyBudget,
    law_for: Callable[[PrivacyBudget], NoiseLaw],
) -> NoiseLaw:
    """The law of a mechanism and of counts before it, which together keep the budget.

    Parameters
    ----------
    counts
        What is released first.
    share
        Of mu^2 for it, or of epsilon for noise without delta.
    domain
        The grid.
    budget
        For the counts and the mechanism together.
    law_for
        From a budget to the law of the mechanism, perhaps with other counts before it.

    Returns
    -------
    NoiseLaw
        With the block of the counts, whose noise is Gaussian where that of the mechanism is, and Laplace elsewhere.
    """
    epsilon, delta = as_pair(budget)
    whole = law_for(budget)
    if whole.family == "wishart" or whole.calibration == "bound":
        what, otherwise = _WORDS[counts.block]
        name = "'wishart'" if whole.family == "wishart" else "this mechanism"
        raise SpecError(
            f"{what} cannot be combined with {name}, whose privacy loss cannot be split; {otherwise}, or use 'gaussian'"
        )
    shared = _Shared(counts, float(share), domain, epsilon, delta, law_for)
    if whole.family != "discrete-gaussian":
        return shared.pure()
    return shared.composed() if whole.calibration == "composed" else shared.joint()


@dataclass(frozen=True, slots=True)
class _Shared:
    """A budget that counts and a mechanism share."""

    counts: CountsBefore
    share: float
    domain: RowDomain
    epsilon: float
    delta: float
    law_for: Callable[[PrivacyBudget], NoiseLaw]

    def pure(self) -> NoiseLaw:
        """Epsilons add up, whatever delta the mechanism uses."""
        part = self.share * self.epsilon
        law = self.law_for(PrivacyBudget((self.epsilon - part) / ROUNDING, self.delta))  # [P:before-epsilon]
        return self._with(law, self.counts.l1_sensitivity / part)

    def composed(self) -> NoiseLaw:
        """Basic composition with a mechanism that is calibrated by a rule of its own."""
        epsilon, delta, share = self.epsilon, self.delta, self.share
        rest = (1 - share) / ROUNDING
        law = self.law_for(PrivacyBudget(epsilon * rest, delta * rest))
        mu = mu_from(share * epsilon, share * delta * (1 - LATTICE_SHARE) / ROUNDING)  # [P:before-composed]
        made = self._with(law, self.counts.sensitivity / mu)
        self._check_gap(made, share * epsilon, share * delta)
        return made

    def joint(self) -> NoiseLaw:
        """A share of mu^2, or of rho where the mechanism is calibrated by zero-concentrated accounting."""
        epsilon, delta, share = self.epsilon, self.delta, self.share
        whole = mu_from(epsilon, delta * (1 - LATTICE_SHARE) / ROUNDING)
        rest = delta_from(epsilon, whole * math.sqrt(1 - share) / ROUNDING)  # [P:before-rest]
        law = self.law_for(PrivacyBudget(epsilon, rest))
        if law.calibration == "gaussian":
            mu = whole * math.sqrt(share)  # [P:before-mu]
            made = self._with(law, self.counts.sensitivity / mu)
            self._check_gap(made, epsilon, delta - rest)
            return made
        rho = (rho_from(epsilon, delta) - rho_from(epsilon, rest)) / ROUNDING  # [P:before-rho]
        return self._with(law, self.counts.sensitivity / math.sqrt(2 * rho))

    def _with(self, law: NoiseLaw, scale: float) -> NoiseLaw:
        block = self.counts.block
        return law.with_before(block, in_steps(block, scale, self.domain))

    def _check_gap(self, law: NoiseLaw, epsilon: float, delta: float) -> None:
        """Refuse a lattice whose step costs more than its share of the part of delta that is left for the counts."""
        gap = lattice_gap(epsilon, [(self.counts.numbers, law.sigma[self.counts.block])])
        allowed = LATTICE_SHARE * delta
        if gap > allowed:  # [P:before-gap]
            what, otherwise = _WORDS[self.counts.block]
            raise SpecError(
                f"the lattice of grid_bits = {self.domain.grid_bits} is too coarse for {what} at this epsilon and "
                f"delta; raise grid_bits, lower epsilon, or {otherwise}"
            )
