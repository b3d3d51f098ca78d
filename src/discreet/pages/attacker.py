"""What somebody who knows everything else can still learn: the promise as numbers that people can judge."""

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
        How often it then finds what there is, at most, whatever the mechanism: by the definition of (epsilon, delta).
    mechanism_power
        The same by what is proved for the noise that was used; none where that is the definition itself.
    curve
        What the figures by the mechanism rest on: `gaussian`, `zcdp`, `pure` (the definition is the curve of this
        mechanism) or `none` (only the definition is proved, or kept in the file).
    odds_factor
        What the odds of any belief are multiplied by, at most; none if that is beyond double precision.
    odds_exceeded
        Largest probability with which a release multiplies them by more, by what is proved for the noise; none where
        only the definition is, whose delta does not bound it.
    beliefs
        Examples of it.
    family, family_epsilon, family_delta, family_power, family_mechanism_power
        A group of units, the promise for all of them together, and the power of the test about them.
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
    """Read a guarantee as what it leaves to an attacker."""
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
        # both are proved, so the lesser holds
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
    """Largest power of the test about so many units, by what the guarantee keeps of its noise, if anything.

    Tables that are m units apart are m mu apart under Gaussian privacy, and rho grows with m^2; the gap between the
    lattice and the continuous law is between laws of one table and does not grow.
    """
    return power_by_noise(FALSE_ALARMS, guarantee, units)


def power_by_noise(false_alarms: float, guarantee: Guarantee, units: int = 1) -> float | None:
    """The same for any rate of false alarms.

    >>> from discreet.privacy.budget import PrivacyUnit
    >>> power_by_noise(0.1, Guarantee(1.0, 0.0, PrivacyUnit(), ())) is None
    True
    """
    if guarantee.mu is not None:
        return gaussian_power(false_alarms, units * guarantee.mu, guarantee.mu_gap or 0.0)
    if guarantee.rho is not None:
        return zcdp_power(false_alarms, units**2 * guarantee.rho)
    return None


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


def gaussian_power(false_alarms: float, mu: float, gap: float = 0.0) -> float:
    """Power of the best test against mu-Gaussian privacy: Phi(Phi^-1(alpha) + mu)   [Dong, Roth & Su 2022].

    What is published may be from another law for both tables, at most `gap` away in total variation: then a test has at
    most `gap` more false alarms and finds at most `gap` more than it would with that mechanism.

    >>> round(gaussian_power(0.05, 1.0), 4)
    0.2595
    """
    if false_alarms + gap >= 1:
        return 1.0
    # erfc keeps its digits far out, where NormalDist.cdf rounds to 0
    below = 0.5 * math.erfc(-(NormalDist().inv_cdf(false_alarms + gap) + mu) / math.sqrt(2))
    return min(1.0, below + gap)


def zcdp_power(false_alarms: float, rho: float) -> float:
    """Largest power of a test against rho-zCDP.

    The Renyi divergence of order a between the answers of the test is at most a rho: p^a q^(1 - a) <= e^(a (a - 1) rho)
    for power p and false alarms q. At the best a > 1 this is ln p <= -(sqrt(ln 1/q) - sqrt(rho))^2, if rho < ln 1/q;
    with the tables exchanged it is the same for 1 - q and 1 - p.

    >>> round(zcdp_power(0.05, 0.024), 4), zcdp_power(0.05, 1e9)
    (0.0835, 1.0)
    """
    root, alarm = math.sqrt(rho), math.sqrt(-math.log(false_alarms))
    found = math.exp(-((alarm - root) ** 2)) if root < alarm else 1.0
    missed = math.exp(-((math.sqrt(-math.log1p(-false_alarms)) + root) ** 2))
    return min(found, 1 - missed)


def odds_exceeded(guarantee: Guarantee) -> float | None:
    """Largest probability of releases that multiply the odds by more than e^epsilon, if anything is proved of it.

    Such releases are an event with probability p for one table and q < p / e^epsilon for the other, so p is the power
    of a test with q false alarms. The curve of the noise is concave: p is at most where it meets the line p = q
    e^epsilon. For Gaussian noise itself the probability is Phi(mu / 2 - epsilon / mu), which is less; after rounding
    only the curve is proved.

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
    # where the first bound of zcdp_power meets the line
    return math.exp(-((epsilon - rho) ** 2) / (4 * rho)) if rho < epsilon else 1.0


def _exceeded_gaussian(epsilon: float, mu: float, gap: float) -> float:
    """Where the curve of mu-Gaussian privacy meets p = q e^epsilon, by halving; not below it."""
    lower, upper = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (lower + upper) / 2
        # power grows with false alarms, so more of them than underflow leaves is no less
        above = gaussian_power(max(middle * math.exp(-epsilon), _TINY), mu, gap) > middle
        lower, upper = (middle, upper) if above else (lower, middle)
    return upper


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
