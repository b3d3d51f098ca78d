"""How much epsilon each of the 2J pieces may have: basic, advanced and concentrated composition, and what they keep.

The note's level of concentrated composition makes the *expected* loss epsilon. Read as (epsilon, delta), pieces of
level e that were truly e-DP would be e^2/2-zCDP each, so 2J of them at sqrt(epsilon/J) are epsilon-zCDP: about
(7.3, 1e-6) at epsilon = 0.9, not 0.9.
"""

from __future__ import annotations

import math
from typing import Final

from discreet.privacy import advanced_composition, epsilon_from_rho, rho_from

_HALVINGS: Final = 60


def basic_level(epsilon: float, pieces: int) -> float:
    """Epsilon of each piece if their sum is to be epsilon.

    >>> basic_level(0.9, 20)
    0.045
    """
    return epsilon / pieces


def advanced_level(epsilon: float, delta: float, pieces: int) -> float:
    """Epsilon of each piece by the theorem that the note quotes, all of delta spent on it.

    >>> round(advanced_level(0.9, 1e-6, 20), 4), round(advanced_level(0.9, 1e-6, 60), 4)
    (0.0371, 0.0214)
    """
    low, high = 0.0, epsilon
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if advanced_composition(middle, 0.0, pieces, delta)[0] <= epsilon:
            low = middle
        else:
            high = middle
    return low


def cdp_level(epsilon: float, pieces: int) -> float:
    """Epsilon of each piece by the note: pieces e^2 / 2 = epsilon.

    >>> round(cdp_level(0.9, 20), 3)
    0.3
    """
    return math.sqrt(2 * epsilon / pieces)


def expected_loss(level: float, pieces: int) -> float:
    """The bound from which the note starts: the expected loss of so many pieces is at most this.

    >>> round(expected_loss(0.3, 20), 2)
    1.05
    """
    return pieces * level * math.expm1(level) / 2


def cdp_epsilon(epsilon: float, delta: float) -> float:
    """What epsilon-CDP is as (epsilon, delta), if every piece were as private as the note claims.

    >>> round(cdp_epsilon(0.9, 1e-6), 1)
    7.3
    """
    return epsilon_from_rho(epsilon, delta)


def equal_level(epsilon: float, delta: float, pieces: int) -> float:
    """Epsilon of each piece by concentrated composition if together they are to be (epsilon, delta)-DP.

    >>> round(equal_level(0.9, 1e-6, 20), 4), round(equal_level(0.9, 1e-6, 60), 4)
    (0.0447, 0.0258)
    """
    return math.sqrt(2 * rho_from(epsilon, delta) / pieces)


def gaussian_multiplier(failure: float) -> float:
    """The note's c: noise sd over (sensitivity / level) at which one Gaussian piece is (level, failure)-DP.

    >>> round(gaussian_multiplier(1e-6), 2)
    5.3
    """
    return math.sqrt(2 * math.log(1.25 / failure))
