"""Account for the preliminary counts of the guard and of private bounds."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from discreet.accounting.noise_distribution import DISCOVERY, GUARD, GUARD_COUNTS, NoiseDistribution
from discreet.accounting.privacy_loss import Stated, concentrated_delta, gaussian_delta
from discreet.accounting.queries import NOTHING_KEPT, VectorQuery
from discreet.design.design import Design
from discreet.design.domain import cell_edges
from discreet.errors import SpecError
from discreet.exact.rounding import root_up, up
from discreet.privacy.budget import PrivacyUnit
from discreet.privacy.gaussian_dp import DELTA_HIGHEST, DELTA_LOWEST, MU_HIGHEST, MU_LOWEST, epsilon_from
from discreet.privacy.spend import Loss

# -- discovery ---------------------------------------------------------------------------------------------------------
# Sensitivity of the cell counts and the number of rows. Proof: mechanisms/discovery.proof.md.


def discovery_sensitivity(columns: int, unit: PrivacyUnit) -> float:
    """Return the joint L2 sensitivity of all counts used to estimate private bounds, rounded up.

    There is at least one column, and each row is in one cell of each column.
    """
    squares = columns + 1 if unit.neighbours == "add-remove" else 2 * columns
    return root_up(Fraction(unit.max_rows**2 * squares))  # [P:discovery-sensitivity]


def discovery_l1_sensitivity(columns: int, unit: PrivacyUnit) -> int:
    """Return the joint L1 sensitivity of all counts used to estimate private bounds."""
    return unit.max_rows * (columns + 1 if unit.neighbours == "add-remove" else 2 * columns)  # [P:discovery-l1]


def bounds_query(design: Design) -> VectorQuery:
    """Return the query for the number of rows and the cell counts of every column with private bounds."""
    columns, unit = len(design.ranges), design.unit
    return VectorQuery(
        DISCOVERY,
        1 + sum(len(cell_edges(*ends)) - 1 for ends in design.ranges.values()),
        discovery_sensitivity(columns, unit),
        discovery_l1_sensitivity(columns, unit),
        label="counts that bounds were found from",
    )


# -- guard -------------------------------------------------------------------------------------------------------------
# Sensitivity of the guard's counts of fitting and of other rows. Proof: mechanisms/guard.proof.md.


def guard_sensitivity(unit: PrivacyUnit) -> float:
    """Return the joint L2 sensitivity of the two counts of the guard, rounded up."""
    apart = 1.0 if unit.neighbours == "add-remove" else math.nextafter(math.sqrt(2), 2.0)
    return unit.max_rows * apart  # [P:guard-sensitivity]


def guard_l1_sensitivity(unit: PrivacyUnit) -> int:
    """Return the joint L1 sensitivity of the two counts of the guard."""
    return unit.max_rows * (1 if unit.neighbours == "add-remove" else 2)  # [P:guard-l1-sensitivity]


def guard_query(design: Design) -> VectorQuery:
    """Return the query for the two counts of the guard."""
    unit = design.unit
    return VectorQuery(
        GUARD,
        GUARD_COUNTS,
        guard_sensitivity(unit),
        guard_l1_sensitivity(unit),
        label="numbers of rows that fit the design and of other rows (guard)",
    )


def preliminary_queries(design: Design, distribution: NoiseDistribution) -> list[VectorQuery]:
    """List the queries for preliminary counts, in the order in which they are released."""
    has_bounds = DISCOVERY in distribution.sigma
    if (has_bounds and not design.ranges) or (design.searched and not has_bounds):
        raise SpecError("the noise must include counts for private bounds if and only if the design has private bounds")
    return [
        *([guard_query(design)] if GUARD in distribution.sigma else []),
        *([bounds_query(design)] if has_bounds else []),
    ]


# -- loss --------------------------------------------------------------------------------------------------------------
# Privacy loss of preliminary counts, alone and together with a mechanism. Proof: maps.proof.md.

# share of delta at which the epsilon of Gaussian counts alone is computed
_DELTA_SHARE: Final = 0.01


def counts_loss(stated: Stated, counts: VectorQuery) -> Loss:
    """Compute the privacy loss of preliminary counts alone."""
    if stated.distribution.family == "wishart" or stated.distribution.calibration == "bound":
        raise SpecError(f"this mechanism takes no preliminary counts, got noise for {counts.block!r}")
    stated.check_scales([counts.block])
    if stated.distribution.family != "discrete-gaussian":
        return Loss.pure(up(counts.pure_loss(stated.scales)))
    mu = root_up(counts.squared_loss(stated.scales))
    sigma = stated.distribution.sigma[counts.block]
    tau = up(Fraction(counts.entries, 16 * sigma * sigma))
    epsilon = _own_epsilon(stated, mu)
    delta = min(gaussian_delta(epsilon, mu, tau), NOTHING_KEPT)
    return Loss.gaussian(epsilon, delta, mu=mu, tau=min(tau, NOTHING_KEPT))  # [P:forward-stop]


def both_losses(stated: Stated, first: Loss, second: Loss) -> Loss:
    """Compute the joint privacy loss of two sets of preliminary counts when no mechanism runs after them."""
    if first.is_pure:
        return Loss.together(up(Fraction(first.epsilon) + Fraction(second.epsilon)), 0.0, [first, second])
    mu = root_up(Fraction(first.mu) ** 2 + Fraction(second.mu) ** 2)
    tau = min(up(Fraction(first.tau) + Fraction(second.tau)), NOTHING_KEPT)
    epsilon = _own_epsilon(stated, mu)
    delta = min(gaussian_delta(epsilon, mu, tau), NOTHING_KEPT)
    return Loss.gaussian(epsilon, delta, mu=mu, tau=tau)  # [P:forward-stop-later]


def _own_epsilon(stated: Stated, mu: float) -> float:
    """Return the epsilon at which to state the loss of the counts alone, using a small share of delta."""
    delta = stated.delta * _DELTA_SHARE
    if not (MU_LOWEST <= mu <= MU_HIGHEST and DELTA_LOWEST <= delta <= DELTA_HIGHEST):
        return stated.epsilon
    own = epsilon_from(mu, delta)
    return own if 0 < own < stated.epsilon else stated.epsilon


def with_counts(stated: Stated, counts: VectorQuery, mechanism: Loss) -> Loss:
    """Compute the joint privacy loss of preliminary counts and of the mechanism that runs after them."""
    first = counts_loss(stated, counts)
    if stated.distribution.family == "discrete-gaussian":
        mu = root_up(Fraction(mechanism.mu) ** 2 + Fraction(first.mu) ** 2)
        tau = min(up(Fraction(mechanism.tau) + Fraction(first.tau)), NOTHING_KEPT)
        delta = min(gaussian_delta(stated.epsilon, mu, tau), NOTHING_KEPT)
        return Loss.gaussian(stated.epsilon, delta, mu=mu, tau=tau)  # [P:forward-guard]
    if mechanism.is_pure:
        epsilon = up(Fraction(mechanism.epsilon) + Fraction(first.epsilon))
        return Loss.together(epsilon, 0.0, [mechanism, first])  # [P:forward-guard-pure]
    rho = up(Fraction(mechanism.rho) + Fraction(first.rho))
    delta = min(concentrated_delta(stated.epsilon, rho), NOTHING_KEPT)
    return Loss.together(stated.epsilon, delta, [mechanism, first])
