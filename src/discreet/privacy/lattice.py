"""Cost in delta of using discrete instead of continuous Gaussian noise.

No other module accounts for this cost. Proof: lattice.proof.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Final, Literal, TypeAlias

from discreet.errors import UnsupportedError
from discreet.privacy.budget import PrivacyBudget, as_pair
from discreet.privacy.gaussian_dp import mu_from, rho_from

# largest share of delta that discrete noise may cost
LATTICE_SHARE: Final = 0.01
# covers the rounding of several hundred float operations, each with relative error 2**-53
ROUNDING: Final = 1 + 2**-40
NO_DELTA: Final = (
    "Gaussian noise needs delta above 0, for instance delta = 1e-6; got delta = 0; set delta above 0, or choose other "
    "noise or another mechanism"
)

# pairs (number of variates, standard deviation in grid steps)
Variates: TypeAlias = Iterable[tuple[int, int]]
# composition rule: from (epsilon, delta) of all releases together to (epsilon, delta) of each release
Account: TypeAlias = Callable[[float, float], tuple[float, float]]
Rule: TypeAlias = Literal["gaussian", "discrete-zcdp"]


def gaussian_mu(
    budget: PrivacyBudget,
    variates_at: Callable[[float], Variates],
    account: Account = lambda epsilon, delta: (epsilon, delta),
) -> tuple[float, Rule]:
    """Return the mu of discrete Gaussian noise that satisfies a budget, and the accounting rule.

    The rule is "gaussian", the exact curve of continuous noise, if the cost of discrete noise is at most
    `LATTICE_SHARE` of delta. That cost is then paid from delta. Otherwise the rule is "discrete-zcdp", which has no
    such cost.

    `variates_at` returns the noise drawn at a given mu. `account` returns the pair of each of several releases, and the
    result is then the mu of one release. By default all variates form one joint release.

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
    """Return epsilon and delta of a budget. Reject another privacy measure, and delta = 0."""
    epsilon, delta = as_pair(budget)
    if not delta > 0:
        raise UnsupportedError(NO_DELTA, code="delta-needed", option="delta", given=delta, allowed="a number above 0")
    return epsilon, delta


def delta_left(epsilon: float, delta: float, variates: Variates) -> float | None:
    """Return the delta that is left after the cost of discrete noise, or None if that cost is too large.

    >>> left = delta_left(1.0, 1e-6, [(1, 10_000)])
    >>> round(left / 1e-6, 4), delta_left(1.0, 1e-6, [(1, 4)])
    (0.9977, None)
    """
    gap = lattice_gap(epsilon, variates)
    return (delta - gap) / ROUNDING if gap <= LATTICE_SHARE * delta else None


def lattice_gap(epsilon: float, variates: Variates) -> float:
    """Return an upper bound on the cost in delta of discrete noise, compared with rounded continuous noise.

    It is (1 + e^epsilon) times the sum of 1/(16 sigma^2) over all variates.

    >>> round(lattice_gap(1.0, [(2, 10), (1, 100)]), 6)
    0.004671
    """
    return distance_cost(epsilon, math.fsum(how_many / (16 * float(sigma) ** 2) for how_many, sigma in variates))


def distance_cost(epsilon: float, distance: float) -> float:
    """Return (1 + e^epsilon) * distance, the cost in delta of a total variation distance, rounded up."""
    # avoids overflow of e^epsilon
    if epsilon > 700:
        return math.inf
    return (1 + math.exp(epsilon)) * distance * ROUNDING


def concentrated_mu(epsilon: float, delta: float) -> float:
    """Return the largest mu for which mu^2/2-zCDP implies (epsilon, delta)-DP, rounded down."""
    return math.sqrt(2 * rho_from(epsilon, delta)) / ROUNDING


def lattice_curve(epsilon: float, delta: float) -> tuple[float, float]:
    """Return upper bounds on mu and on the total variation gap of a discrete Gaussian release.

    The release must have been calibrated to (epsilon, delta) by the rule "gaussian". For every table the distribution
    of the published value is within `gap` of a post-processing of the same mu-Gaussian mechanism. So a test between
    tables m units apart, with false alarm rate alpha, has power at most Phi(Phi^-1(alpha + gap) + m mu) + gap.

    >>> mu, gap = lattice_curve(1.0, 1e-6)
    >>> round(mu, 4), gap < 1e-8
    (0.2367, True)
    """
    # delta / (1 + e^epsilon), in a form that does not overflow
    most = LATTICE_SHARE * delta * math.exp(-epsilon) / (1 + math.exp(-epsilon))
    return mu_from(epsilon, delta), most * ROUNDING  # [P:stated-curve]
