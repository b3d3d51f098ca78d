"""The step from continuous to discrete Gaussian noise: what it costs, and the noise that pays for it.

No other module takes this step. Proof: lattice.proof.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Final, Literal, TypeAlias

from discreet.errors import SpecError
from discreet.privacy.budget import PrivacyBudget, as_pair
from discreet.privacy.gaussian_dp import mu_from, rho_from

# the part of delta that the step from the continuous to the lattice law may cost
LATTICE_SHARE: Final = 0.01
# covers the rounding of some hundreds of double operations, each relative 2**-53
ROUNDING: Final = 1 + 2**-40
NO_DELTA: Final = (
    "Gaussian noise needs delta above 0, for instance delta = 1e-6; got delta = 0; without delta choose another "
    "noise or mechanism"
)

# how many variates have which standard deviation, in steps of their grid
Variates: TypeAlias = Iterable[tuple[int, int]]
# epsilon and delta of one release from those of all of them together, by a rule of composition
Account: TypeAlias = Callable[[float, float], tuple[float, float]]
Rule: TypeAlias = Literal["gaussian", "discrete-zcdp"]


def gaussian_mu(
    budget: PrivacyBudget,
    variates_at: Callable[[float], Variates],
    account: Account = lambda epsilon, delta: (epsilon, delta),
) -> tuple[float, Rule]:
    """The mu of discrete Gaussian noise that keeps a budget, and the rule by which it does.

    By the exact curve of the continuous law, with the step to the lattice paid from delta; where that step would cost
    more than `LATTICE_SHARE` of delta, by zero-concentrated accounting, which the discrete law keeps without a gap.

    Parameters
    ----------
    budget
        As epsilon and delta, delta above 0.
    variates_at
        What is drawn at a mu.
    account
        With several releases the pair of each of them, and mu is that of one; by default all are one joint release.

    Returns
    -------
    mu, rule

    Examples
    --------
    >>> mu, rule = gaussian_mu(PrivacyBudget(1.0, 1e-6), lambda mu: [(3, round(2**20 / mu))])
    >>> round(mu, 4), rule
    (0.2367, 'gaussian')
    >>> gaussian_mu(PrivacyBudget(1.0, 1e-6), lambda mu: [(3, round(4 / mu))])[1]
    'discrete-zcdp'
    """
    epsilon, delta = approximate(budget)
    left = delta_left(epsilon, delta, variates_at(mu_from(*account(epsilon, delta))))
    if left is not None:
        return mu_from(*account(epsilon, left)), "gaussian"  # [P:gap-paid]
    return concentrated_mu(*account(epsilon, delta)), "discrete-zcdp"  # [P:own-zcdp]


def approximate(budget: PrivacyBudget) -> tuple[float, float]:
    """Epsilon and delta of a budget that Gaussian noise can keep: stated as such, with delta above 0.

    Examples
    --------
    >>> approximate(PrivacyBudget(1.0, 1e-6))
    (1.0, 1e-06)
    """
    epsilon, delta = as_pair(budget)
    if not delta > 0:
        raise SpecError(NO_DELTA)
    return epsilon, delta


def delta_left(epsilon: float, delta: float, variates: Variates) -> float | None:
    """The delta at which continuous noise keeps (epsilon, delta) as discrete noise; None if the lattice costs too much.

    Examples
    --------
    >>> left = delta_left(1.0, 1e-6, [(1, 10_000)])
    >>> round(left / 1e-6, 4), delta_left(1.0, 1e-6, [(1, 4)])
    (0.9977, None)
    """
    gap = lattice_gap(epsilon, variates)
    return (delta - gap) / ROUNDING if gap <= LATTICE_SHARE * delta else None


def lattice_gap(epsilon: float, variates: Variates) -> float:
    """What discrete instead of rounded Gaussian noise costs in delta: (1 + e^epsilon) sum 1/(16 sigma^2), rounded up.

    Examples
    --------
    >>> round(lattice_gap(1.0, [(2, 10), (1, 100)]), 6)
    0.004671
    """
    return distance_cost(epsilon, math.fsum(how_many / (16 * float(sigma) ** 2) for how_many, sigma in variates))


def distance_cost(epsilon: float, distance: float) -> float:
    """What a total variation for every table costs in delta: (1 + e^epsilon) times it, rounded up.

    Examples
    --------
    >>> round(distance_cost(0.0, 1e-9), 12)
    2e-09
    """
    # beyond it e^epsilon leaves the doubles
    if epsilon > 700:
        return math.inf
    return (1 + math.exp(epsilon)) * distance * ROUNDING


def concentrated_mu(epsilon: float, delta: float) -> float:
    """The largest mu whose mu^2 / 2 zero-concentrated accounting allows for (epsilon, delta), rounded down.

    Examples
    --------
    >>> round(concentrated_mu(1.0, 1e-6), 4)
    0.2207
    """
    return math.sqrt(2 * rho_from(epsilon, delta)) / ROUNDING


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
    return mu_from(epsilon, delta), most * ROUNDING  # [P:stated-curve]
