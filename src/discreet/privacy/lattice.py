"""What discrete Gaussian noise keeps of the curve of continuous Gaussian noise. Proof: gaussian.proof.md."""

from __future__ import annotations

import math
from typing import Final

from discreet.privacy.gaussian import mu_from

# the part of delta that the step from the continuous to the lattice law may cost
LATTICE_SHARE: Final = 0.01
_ROUNDING: Final = 1 + 2**-40


def lattice_curve(epsilon: float, delta: float) -> tuple[float, float]:
    """Mu and total variation of a lattice release that was calibrated to (epsilon, delta) with the gap paid in delta.

    What is published has, for every table, a distribution within `gap` of a post-processing of one and the same
    mu-Gaussian mechanism. So a test with false alarms alpha between tables that are m units apart has power at most
    Phi(Phi^-1(alpha + gap) + m mu) + gap.

    Parameters
    ----------
    epsilon, delta
        Of the promise; delta above 0.

    Returns
    -------
    mu, gap
        Both upper bounds of what the noise has.

    Examples
    --------
    >>> mu, gap = lattice_curve(1.0, 1e-6)
    >>> round(mu, 4), gap < 1e-8
    (0.2367, True)
    """
    # delta / (1 + e^epsilon), in a form that does not overflow
    most = LATTICE_SHARE * delta * math.exp(-epsilon) / (1 + math.exp(-epsilon))
    return mu_from(epsilon, delta), most * _ROUNDING  # [P:stated-curve]
