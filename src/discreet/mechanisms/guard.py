"""A guard before a release: noisy counts of rows that fit and of rows that do not, and the rule by which they stop it.

A release of a table in which hardly any row fits its design spends the budget on nothing. A refusal by exact counts
would itself say something about the table, so the counts are released with noise, for a share of the budget, and
whether the release goes on is a function of what was released. Proof: guard.proof.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from discreet.design.domain import RowDomain
from discreet.errors import SpecError
from discreet.losses.law import GUARD, GUARD_COUNTS, NoiseLaw
from discreet.losses.sensitivity.guard import guard_l1_sensitivity, guard_sensitivity
from discreet.mechanisms.calibration.blocks import in_steps
from discreet.mechanisms.sampling.sampler import Sampler
from discreet.privacy.budget import PrivacyBudget, as_pair
from discreet.privacy.gaussian import delta_from, mu_from
from discreet.privacy.lattice import LATTICE_SHARE, ROUNDING, lattice_gap
from discreet.privacy.unit import PrivacyUnit
from discreet.privacy.zcdp import rho_from

# of mu^2, or of epsilon for noise without delta
GUARD_SHARE: Final = Fraction(1, 100)
# How far, in noise scales, the rows that do not fit must exceed those that do: where both are equal the noise alone
# exceeds it with probability below 1/100. Gaussian: 2.33 standard deviations of a difference. Laplace: the difference
# of two variates of scale b exceeds x with probability (1 + x/(2b)) exp(-x/b) / 2.
GAUSSIAN_FACTOR: Final = 2.33 * math.sqrt(2)
LAPLACE_FACTOR: Final = 5.2


@dataclass(frozen=True, slots=True)
class GuardCounts:
    """Noisy numbers of rows that fit and of rows that do not, in steps of the product grid."""

    fitting: int
    other: int


def guarded_law(
    unit: PrivacyUnit, domain: RowDomain, budget: PrivacyBudget, law_for: Callable[[PrivacyBudget], NoiseLaw]
) -> NoiseLaw:
    """The law of a mechanism and of the guard before it, which together keep the budget.

    Parameters
    ----------
    unit, domain
        Whose rows they are, and the grid.
    budget
        For the guard and the mechanism together.
    law_for
        From a budget to the law of the mechanism.

    Returns
    -------
    NoiseLaw
        With the block `guard`, whose noise is Gaussian where that of the mechanism is, and Laplace elsewhere.
    """
    epsilon, delta = as_pair(budget)
    whole = law_for(budget)
    if whole.family == "wishart" or whole.calibration == "bound":
        raise SpecError(
            "a guard shares the budget of a mechanism whose loss is a sum of parts; got one with a bound of "
            "epsilon and delta as a whole; leave --guard out, or use another mechanism such as 'gaussian'"
        )
    if whole.family != "discrete-gaussian":
        return _pure(unit, domain, epsilon, delta, law_for)
    if whole.calibration == "composed":
        return _composed(unit, domain, epsilon, delta, law_for)
    return _joint(unit, domain, epsilon, delta, law_for)


def _pure(
    unit: PrivacyUnit, domain: RowDomain, epsilon: float, delta: float, law_for: Callable[[PrivacyBudget], NoiseLaw]
) -> NoiseLaw:
    """Epsilons add up, whatever delta the mechanism uses."""
    share = float(GUARD_SHARE) * epsilon
    law = law_for(PrivacyBudget((epsilon - share) / ROUNDING, delta))  # [P:guard-epsilon]
    return _with(law, guard_l1_sensitivity(unit) / share, domain)


def _composed(
    unit: PrivacyUnit, domain: RowDomain, epsilon: float, delta: float, law_for: Callable[[PrivacyBudget], NoiseLaw]
) -> NoiseLaw:
    """Basic composition with a mechanism that is calibrated by a rule of its own."""
    share = float(GUARD_SHARE)
    rest = (1 - share) / ROUNDING
    law = law_for(PrivacyBudget(epsilon * rest, delta * rest))
    mu = mu_from(share * epsilon, share * delta * (1 - LATTICE_SHARE) / ROUNDING)  # [P:guard-composed]
    made = _with(law, guard_sensitivity(unit) / mu, domain)
    _check_gap(lattice_gap(share * epsilon, [(GUARD_COUNTS, made.sigma[GUARD])]), LATTICE_SHARE * share * delta, domain)
    return made


def _joint(
    unit: PrivacyUnit, domain: RowDomain, epsilon: float, delta: float, law_for: Callable[[PrivacyBudget], NoiseLaw]
) -> NoiseLaw:
    """A share of mu^2, or of rho where the mechanism is calibrated by zero-concentrated accounting."""
    share = float(GUARD_SHARE)
    whole = mu_from(epsilon, delta * (1 - LATTICE_SHARE) / ROUNDING)
    rest = delta_from(epsilon, whole * math.sqrt(1 - share) / ROUNDING)  # [P:guard-rest]
    law = law_for(PrivacyBudget(epsilon, rest))
    if law.calibration == "gaussian":
        mu = whole * math.sqrt(share)  # [P:guard-mu]
        made = _with(law, guard_sensitivity(unit) / mu, domain)
        left = LATTICE_SHARE * (delta - rest)
        _check_gap(lattice_gap(epsilon, [(GUARD_COUNTS, made.sigma[GUARD])]), left, domain)  # [P:guard-gap]
        return made
    rho = (rho_from(epsilon, delta) - rho_from(epsilon, rest)) / ROUNDING  # [P:guard-rho]
    return _with(law, guard_sensitivity(unit) / math.sqrt(2 * rho), domain)


def _with(law: NoiseLaw, scale: float, domain: RowDomain) -> NoiseLaw:
    return law.with_guard(in_steps(GUARD, scale, domain))


def _check_gap(gap: float, allowed: float, domain: RowDomain) -> None:
    if gap > allowed:
        raise SpecError(
            f"the lattice of grid_bits = {domain.grid_bits} is too coarse for a guard at this epsilon and delta; "
            "raise grid_bits, lower epsilon, or leave --guard out"
        )


def guard_counts(fitting: tuple[int, int], law: NoiseLaw, sampler: Sampler) -> GuardCounts:
    """The exact counts in steps of the product grid plus one independent variate each, in unlimited integers."""
    scales = [law.sigma[GUARD]] * GUARD_COUNTS
    noise = sampler.draw(scales) if law.family == "discrete-gaussian" else sampler.laplace(scales)
    # [P:guard-noise]
    noisy = [count * law.unit + variate for count, variate in zip(fitting, noise, strict=True)]
    return GuardCounts(*noisy)


def stops(counts: GuardCounts, law: NoiseLaw) -> bool:
    """Whether so many more rows do not fit than do that the release must not go on.

    >>> law = NoiseLaw(16, {"guard": 100}, "gaussian")
    >>> stops(GuardCounts(0, 329), law), stops(GuardCounts(0, 330), law)
    (False, True)
    """
    factor = GAUSSIAN_FACTOR if law.family == "discrete-gaussian" else LAPLACE_FACTOR
    return counts.other - counts.fitting > factor * law.sigma[GUARD]  # [P:guard-rule]
