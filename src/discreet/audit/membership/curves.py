"""How often a test may find a row that is there, for every rate of false alarms: what a promise allows.

A test with false alarms at the rate alpha finds at most 1 - f(alpha), f the trade-off function of the promise [Dong,
Roth & Su 2022]. For (epsilon, delta) it is made of two straight lines, for mu-Gaussian privacy it is
Phi(Phi^-1(alpha) + mu); the least of all that is proved holds.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from discreet.audit.statistics.claims import Claim
from discreet.exact.arrays import FloatArray
from discreet.pages.attacker import gaussian_power, largest_power


def allowed_power(false_alarms: npt.ArrayLike, claim: Claim) -> FloatArray:
    """Largest power that epsilon and delta of a claim allow.

    >>> [round(float(power), 4) for power in allowed_power([0.01, 0.5], Claim(1.0))]
    [0.0272, 0.8161]
    """
    return np.array([largest_power(float(one), claim.epsilon, claim.delta) for one in np.atleast_1d(false_alarms)])


def own_power(false_alarms: npt.ArrayLike, claim: Claim) -> FloatArray:
    """Largest power by the Gaussian curve that is claimed too; where none is, what epsilon and delta allow.

    >>> round(float(own_power(0.05, Claim(9.0, 0.0, 1.0))[0]), 4)
    0.2595
    """
    allowed = allowed_power(false_alarms, claim)
    if claim.mu is None:
        return allowed
    # no quantile belongs to a rate of 0
    rates = np.maximum(np.atleast_1d(false_alarms), math.ulp(0.0))
    return np.minimum(allowed, [gaussian_power(float(one), claim.mu, claim.gap) for one in rates])


def allowed_area(claim: Claim) -> float:
    """Area below the curve that epsilon and delta allow: the largest chance to order a table with the row first.

    >>> round(allowed_area(Claim(1.0)), 6), round(allowed_area(Claim(1.0, 0.5)), 6)
    (0.731059, 0.932765)
    """
    # the curve is straight between these
    corner = (1 - claim.delta) / (1 + math.exp(claim.epsilon))
    rates = np.array([0.0, corner, 1 - claim.delta, 1.0])
    return float(np.trapezoid(allowed_power(rates, claim), rates))


def gaussian_area(mu: float) -> float:
    """Area below the curve of mu-Gaussian privacy: Phi(mu / sqrt(2)).

    >>> round(gaussian_area(0.0), 3), round(gaussian_area(1.0), 4)
    (0.5, 0.7602)
    """
    return 0.5 * math.erfc(-mu / 2)
