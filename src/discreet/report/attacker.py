"""What somebody who knows everything else can still learn: the promise as numbers that people can judge."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

from discreet.privacy.guarantee import Guarantee

FALSE_ALARMS: Final = 0.05
FAMILY: Final = 4
PRIORS: Final = (0.01, 0.5)
_LARGEST_EXPONENT: Final = 700.0  # beyond it e^x leaves double precision


@dataclass(frozen=True, slots=True)
class Belief:
    """How sure an attacker was before the release, and at most is after it; probabilities."""

    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Attacker:
    """Upper bounds on what an attacker can learn.

    Attributes
    ----------
    false_alarms
        How often the attacker's test may cry out where there is nothing.
    power
        How often it then finds what there is, at most.
    odds_factor
        What the odds of any belief are multiplied by, at most; none if that is beyond double precision.
    beliefs
        Examples of it.
    family, family_epsilon, family_delta, family_power
        A group of units, the promise for all of them together, and the power of the test about them.
    """

    false_alarms: float
    power: float
    odds_factor: float | None
    beliefs: tuple[Belief, ...]
    family: int
    family_epsilon: float
    family_delta: float
    family_power: float


def attacker(guarantee: Guarantee) -> Attacker:
    """Read a guarantee as what it leaves to an attacker."""
    epsilon, delta = guarantee.epsilon, guarantee.delta
    power = largest_power(FALSE_ALARMS, epsilon, delta)
    if guarantee.mu is not None:
        power = min(power, gaussian_power(FALSE_ALARMS, guarantee.mu))
    shared = group_delta(FAMILY, epsilon, delta)
    return Attacker(
        false_alarms=FALSE_ALARMS,
        power=power,
        odds_factor=math.exp(epsilon) if epsilon < _LARGEST_EXPONENT else None,
        beliefs=tuple(Belief(prior, posterior(prior, epsilon)) for prior in PRIORS),
        family=FAMILY,
        family_epsilon=FAMILY * epsilon,
        family_delta=shared,
        family_power=largest_power(FALSE_ALARMS, FAMILY * epsilon, shared),
    )


def largest_power(false_alarms: float, epsilon: float, delta: float) -> float:
    """Largest power of a test between neighbouring tables: 1 - f(alpha).

    f(alpha) = max(0, 1 - delta - e^epsilon alpha, e^-epsilon (1 - delta - alpha))   [Dong, Roth & Su 2022, section 2,
    after Wasserman & Zhou 2010]

    Parameters
    ----------
    false_alarms
        alpha, between 0 and 1.
    epsilon, delta
        The promise.

    Examples
    --------
    >>> round(largest_power(0.05, 1.0, 0.0), 4), round(largest_power(0.05, 0.0, 0.0), 4)
    (0.1359, 0.05)
    """
    if epsilon >= _LARGEST_EXPONENT:
        return 1.0
    miss = max(0.0, 1 - delta - math.exp(epsilon) * false_alarms, math.exp(-epsilon) * (1 - delta - false_alarms))
    return min(1.0, 1 - miss)


def gaussian_power(false_alarms: float, mu: float) -> float:
    """Power of the best test against mu-Gaussian privacy: Phi(Phi^-1(alpha) + mu)   [Dong, Roth & Su 2022].

    >>> round(gaussian_power(0.05, 1.0), 4)
    0.2595
    """
    normal = NormalDist()
    return normal.cdf(normal.inv_cdf(false_alarms) + mu)


def posterior(prior: float, epsilon: float) -> float:
    """Largest probability that an attacker can come to, whose odds grow by the factor e^epsilon.

    >>> round(posterior(0.5, 1.0), 3)
    0.731
    """
    # in this form nothing overflows
    return prior / (prior + (1 - prior) * math.exp(-epsilon))


def group_delta(members: int, epsilon: float, delta: float) -> float:
    """Delta of the promise for several units together, whose epsilon is members times epsilon.

    delta (1 + e^epsilon + ... + e^((members - 1) epsilon)), by going from one table to the other member by member
    [Vadhan 2017, Lemma 2.2, where the sum is bounded]; 1, which promises nothing, where that is larger.

    >>> group_delta(4, 0.0, 1e-6), group_delta(4, 1e6, 1e-6), group_delta(4, 1e6, 0.0)
    (4e-06, 1.0, 0.0)
    """
    if delta == 0:
        return 0.0
    if (members - 1) * epsilon >= _LARGEST_EXPONENT:
        return 1.0
    return min(1.0, delta * math.fsum(math.exp(step * epsilon) for step in range(members)))
