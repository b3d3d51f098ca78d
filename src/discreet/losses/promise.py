"""Whether a loss keeps a promise, and what it gives at the promised delta. Proof: maps.proof.md."""

from __future__ import annotations

import math
from typing import Final

from discreet.privacy.gaussian import (
    DELTA_HIGHEST,
    DELTA_LOWEST,
    EPSILON_HIGHEST,
    MU_HIGHEST,
    MU_LOWEST,
    delta_from,
    epsilon_from,
)
from discreet.privacy.lattice import ROUNDING, distance_cost
from discreet.privacy.loss import Loss
from discreet.privacy.zcdp import RHO_HIGHEST, RHO_LOWEST, delta_from_rho, epsilon_from_rho

# A loss may exceed a promise by this part: the last bits of logarithms and roots differ between platforms, and the
# search for the worst exchange of two rows ends within a millionth of the maximum. Noise that is so much too small
# raises delta by less than a thousandth of itself, up to epsilon = 50.
TOLERANCE: Final = 2e-6


def gaussian_delta(epsilon: float, mu: float, tau: float) -> float:
    """Delta at epsilon of discrete Gaussian noise with a joint mu, `tau` from its continuous law; 1 if nothing is kept.

    The smaller of the exact curve with the step to the lattice, and of zero-concentrated privacy without one.

    >>> round(gaussian_delta(1.0, 0.2367, 1e-12), 8)
    1e-06
    """
    mu = max(mu, MU_LOWEST)
    if not (0 <= epsilon <= EPSILON_HIGHEST and mu <= MU_HIGHEST):
        return 1.0
    curve = (delta_from(epsilon, mu) + distance_cost(epsilon, tau)) * ROUNDING
    return min(1.0, curve, concentrated_delta(epsilon, mu * mu / 2))


def concentrated_delta(epsilon: float, rho: float) -> float:
    """Delta at epsilon of a rho-zCDP mechanism; 1 if nothing is kept.

    >>> concentrated_delta(1.0, 1e11)
    1.0
    """
    rho = max(rho * ROUNDING, RHO_LOWEST)
    return delta_from_rho(epsilon, rho) if rho <= RHO_HIGHEST else 1.0


def keeps(loss: Loss, epsilon: float, delta: float) -> bool:
    """Whether the loss is within (epsilon, delta), up to `TOLERANCE` of its noise.

    >>> keeps(Loss.pure(1.0), 1.0, 0.0), keeps(Loss.pure(1.0), 0.99, 1e-3)
    (True, False)
    """
    if loss.is_pure:
        return loss.epsilon <= epsilon * (1 + TOLERANCE)
    if delta == 0 or epsilon <= 0:
        return False
    if loss.failure > 0:
        return loss.epsilon <= epsilon * (1 + TOLERANCE) and loss.delta <= delta * (1 + TOLERANCE)
    return smaller(loss, epsilon) <= delta * (1 + TOLERANCE)


def smaller(loss: Loss, epsilon: float) -> float:
    """Delta at epsilon of a concentrated loss, if its noise were larger by `TOLERANCE`."""
    mu, rho = loss.mu / (1 + TOLERANCE), loss.rho / (1 + TOLERANCE)
    # only for discrete Gaussian noise is rho half the square of mu
    if loss.tau > 0:
        return gaussian_delta(epsilon, mu, loss.tau)
    return concentrated_delta(epsilon, rho)


def epsilon_given(loss: Loss, epsilon: float, delta: float) -> float:
    """The epsilon that the noise gives at a promised delta; at most the promised epsilon if the promise is kept.

    >>> round(epsilon_given(Loss.gaussian(1.0, 1e-6, mu=0.2, tau=1e-12), 1.0, 1e-6), 3)
    0.834
    """
    if loss.is_pure or loss.failure > 0:
        return loss.epsilon
    found = []
    if loss.tau > 0 and MU_LOWEST <= loss.mu <= MU_HIGHEST:
        left = delta - distance_cost(epsilon, loss.tau)
        if left >= DELTA_LOWEST:
            found.append(epsilon_from(loss.mu, min(left, DELTA_HIGHEST)))
    if RHO_LOWEST <= loss.rho <= RHO_HIGHEST:
        found.append(epsilon_from_rho(loss.rho, min(delta, DELTA_HIGHEST)))
    return min(found, default=math.inf)
