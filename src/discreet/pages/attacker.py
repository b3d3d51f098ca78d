"""Bounds on what an attacker who knows everything else can learn from a release."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final, Literal, TypeAlias

from discreet.privacy.guarantee import Guarantee

FALSE_ALARMS: Final = 0.05
FAMILY: Final = 4
Curve: TypeAlias = Literal["gaussian", "zcdp", "pure", "none"]
PRIORS: Final = (0.01, 0.5)
_HALVINGS: Final = 100
_TINY: Final = 1e-300
_LARGEST_EXPONENT: Final = 700.0  # e^x overflows slightly above


@dataclass(frozen=True, slots=True)
class Belief:
    """Probability of a belief before the release, and its largest possible value after the release."""

    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Attacker:
    """Upper bounds on what an attacker can learn.

    Attributes
    ----------
    false_alarms
        False positive rate of the attacker's test.
    power
        Largest power of the test for any mechanism that satisfies (epsilon, delta).
    mechanism_power
        Largest power for the noise that was used, or None if no tighter bound is proven.
    curve
        Basis of `mechanism_power`: `gaussian`, `zcdp`, `pure` (the definition is tight for this mechanism) or `none`
        (only the definition is proven or recorded).
    odds_factor
        Largest factor by which the odds of any belief are multiplied, or None if it overflows.
    odds_exceeded
        Largest probability that this noise exceeds the factor, or None if no bound is proven. Delta is not a bound on
        this probability.
    beliefs
        Examples of prior and posterior probabilities.
    family, family_epsilon, family_delta, family_power, family_mechanism_power
        Size of a group of units, its guarantee, and the power of a test about the group.
    """

    false_alarms: float
    power: float
    odds_factor: float | None
    odds_exceeded: float | None
    beliefs: tuple[Belief, ...]
    family: int
    family_epsilon: float
    family_delta: float
    family_power: float
    mechanism_power: float | None
    family_mechanism_power: float | None
    curve: Curve


def attacker(guarantee: Guarantee) -> Attacker:
    """Compute what a guarantee allows an attacker to learn."""
    epsilon, delta = guarantee.epsilon, guarantee.delta
    power = largest_power(FALSE_ALARMS, epsilon, delta)
    shared = group_delta(FAMILY, epsilon, delta)
    family_power = largest_power(FALSE_ALARMS, FAMILY * epsilon, shared)
    curve, (own, family_own) = _curve(guarantee), (mechanism_power(guarantee, units) for units in (1, FAMILY))
    return Attacker(
        false_alarms=FALSE_ALARMS,
        power=power,
        odds_factor=math.exp(epsilon) if epsilon < _LARGEST_EXPONENT else None,
        odds_exceeded=odds_exceeded(guarantee),
        beliefs=tuple(Belief(prior, posterior(prior, epsilon)) for prior in PRIORS),
        family=FAMILY,
        family_epsilon=min(FAMILY * epsilon, sys.float_info.max),
        family_delta=shared,
        family_power=family_power,
        # both bounds are proven, so the smaller one applies
        mechanism_power=None if own is None else min(own, power),
        family_mechanism_power=None if family_own is None else min(family_own, family_power),
        curve=curve,
    )


def _curve(guarantee: Guarantee) -> Curve:
    if guarantee.mu is not None:
        return "gaussian"
    if guarantee.rho is not None:
        return "zcdp"
    return "pure" if guarantee.delta == 0 else "none"


def mechanism_power(guarantee: Guarantee, units: int) -> float | None:
    """Compute the largest power of a test about a group of units for this noise, or None if no bound is proven.

    If tables differ in m units, mu grows by the factor m and rho by m^2. The gap between the lattice and the continuous
    distribution concerns a single table and does not grow.
    """
    return power_by_noise(FALSE_ALARMS, guarantee, units)


def power_by_noise(false_alarms: float, guarantee: Guarantee, units: int = 1) -> float | None:
    """Compute the largest power of a test at a false positive rate, or None if no bound is proven for this noise."""
    if guarantee.mu is not None:
        return gaussian_power(false_alarms, units * guarantee.mu, guarantee.mu_gap or 0.0)
    if guarantee.rho is not None:
        return zcdp_power(false_alarms, units**2 * guarantee.rho)
    return None


def largest_power(false_alarms: float, epsilon: float, delta: float) -> float:
    """Compute the largest power of a test between neighbouring tables, 1 - f(alpha).

    f(alpha) = max(0, 1 - delta - e^epsilon alpha, e^-epsilon (1 - delta - alpha))   [Dong, Roth & Su 2022, section 2,
    after Wasserman & Zhou 2010]

    >>> round(largest_power(0.05, 1.0, 0.0), 4), round(largest_power(0.05, 0.0, 0.0), 4)
    (0.1359, 0.05)
    """
    if epsilon >= _LARGEST_EXPONENT:
        return 1.0
    miss = max(0.0, 1 - delta - math.exp(epsilon) * false_alarms, math.exp(-epsilon) * (1 - delta - false_alarms))
    return min(1.0, 1 - miss)


def gaussian_power(false_alarms: float, mu: float, gap: float = 0.0) -> float:
    """Compute the power of the best test against mu-GDP, Phi(Phi^-1(alpha) + mu)   [Dong, Roth & Su 2022].

    For both tables the published distribution may differ from that of a mu-GDP mechanism by at most `gap` in total
    variation. Then both error rates of a test change by at most `gap`.

    >>> round(gaussian_power(0.05, 1.0), 4)
    0.2595
    """
    if false_alarms + gap >= 1:
        return 1.0
    # erfc is accurate in the tail, where NormalDist.cdf rounds to 0
    below = 0.5 * math.erfc(-(NormalDist().inv_cdf(false_alarms + gap) + mu) / math.sqrt(2))
    return min(1.0, below + gap)


def zcdp_power(false_alarms: float, rho: float) -> float:
    """Compute the largest power of a test against rho-zCDP.

    The Renyi divergence of order a between the answers of the test is at most a rho: p^a q^(1 - a) <= e^(a (a - 1) rho)
    for power p and false alarms q. At the best a > 1 this is ln p <= -(sqrt(ln 1/q) - sqrt(rho))^2 if rho < ln 1/q.
    Exchanging the tables gives the same inequality for 1 - q and 1 - p.

    >>> round(zcdp_power(0.05, 0.024), 4), zcdp_power(0.05, 1e9)
    (0.0835, 1.0)
    """
    root, alarm = math.sqrt(rho), math.sqrt(-math.log(false_alarms))
    detected = math.exp(-((alarm - root) ** 2)) if root < alarm else 1.0
    missed = math.exp(-((math.sqrt(-math.log1p(-false_alarms)) + root) ** 2))
    return min(detected, 1 - missed)


def odds_exceeded(guarantee: Guarantee) -> float | None:
    """Compute the largest probability that a release multiplies the odds by more than e^epsilon, or None if unknown.

    Such releases are an event with probability p for one table and q < p / e^epsilon for the other, so p is the power
    of a test with q false alarms. The power curve of the noise is concave, so p is at most its value at the
    intersection with the line p = q e^epsilon. For continuous Gaussian noise the probability is
    Phi(mu / 2 - epsilon / mu), which is smaller, but after rounding only the curve is proven.

    >>> from discreet.privacy.budget import PrivacyUnit
    >>> odds_exceeded(Guarantee(1.0, 0.0, PrivacyUnit(), ()))
    0.0
    """
    epsilon, rho = guarantee.epsilon, guarantee.rho
    if guarantee.delta == 0:
        return 0.0
    if guarantee.mu is not None:
        return _exceeded_gaussian(epsilon, guarantee.mu, guarantee.mu_gap or 0.0)
    if rho is None:
        return None
    # intersection of the first bound of zcdp_power with the line
    return math.exp(-((epsilon - rho) ** 2) / (4 * rho)) if rho < epsilon else 1.0


def _exceeded_gaussian(epsilon: float, mu: float, gap: float) -> float:
    """Find by bisection, from above, where the curve of mu-GDP intersects p = q e^epsilon."""
    lower, upper = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (lower + upper) / 2
        # power grows with the false positive rate, so rounding a tiny rate up to _TINY is conservative
        above = gaussian_power(max(middle * math.exp(-epsilon), _TINY), mu, gap) > middle
        lower, upper = (middle, upper) if above else (lower, middle)
    return upper


def posterior(prior: float, epsilon: float) -> float:
    """Compute the posterior probability if the odds grow by the factor e^epsilon.

    >>> round(posterior(0.5, 1.0), 3)
    0.731
    """
    # this form does not overflow
    return prior / (prior + (1 - prior) * math.exp(-epsilon))


def group_delta(members: int, epsilon: float, delta: float) -> float:
    """Compute delta for a group of `members` units, whose epsilon is `members` times `epsilon`.

    The result is delta (1 + e^epsilon + ... + e^((members - 1) epsilon)), at most 1. It follows from changing one
    member at a time [Vadhan 2017, Lemma 2.2, where the sum is bounded].

    >>> group_delta(4, 0.0, 1e-6), group_delta(4, 1e6, 1e-6), group_delta(4, 1e6, 0.0)
    (4e-06, 1.0, 0.0)
    """
    if delta == 0:
        return 0.0
    if (members - 1) * epsilon >= _LARGEST_EXPONENT:
        return 1.0
    return min(1.0, delta * math.fsum(math.exp(step * epsilon) for step in range(members)))
