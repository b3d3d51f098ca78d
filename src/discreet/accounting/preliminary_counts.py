"""Account for the noisy counts of the guard and of private bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from discreet.accounting.noise_distribution import DISCOVERY, GUARD, GUARD_COUNTS, Block
from discreet.accounting.privacy_loss import Stated, concentrated_delta, gaussian_delta
from discreet.design.design import Design
from discreet.design.domain import cell_edges
from discreet.errors import SpecError
from discreet.exact.rounding import root_up, up
from discreet.privacy.budget import PrivacyUnit
from discreet.privacy.gaussian_dp import DELTA_HIGHEST, DELTA_LOWEST, MU_HIGHEST, MU_LOWEST, epsilon_from
from discreet.privacy.spend import Loss

# -- counts ------------------------------------------------------------------------------------------------------------
# Counts that are released before a mechanism runs: how many there are, and how far one unit moves them.


@dataclass(frozen=True, slots=True)
class CountsBefore:
    """One block of counts.

    Attributes
    ----------
    block
        Its name in the law of the noise.
    numbers
        How many counts there are.
    sensitivity, l1_sensitivity
        Of all of them together, in rows.
    """

    block: Block
    numbers: int
    sensitivity: float
    l1_sensitivity: int


# -- discovery ---------------------------------------------------------------------------------------------------------
# How far one unit moves the counts by cell and the number of rows. Proof: mechanisms/discovery.proof.md.


def discovery_sensitivity(columns: int, unit: PrivacyUnit) -> float:
    """Largest Euclidean length of the change of all counts between neighbouring tables, rounded up.

    Parameters
    ----------
    columns
        How many are searched, at least 1: a row is in one cell of each.
    unit
        Whose rows they are.

    Examples
    --------
    >>> discovery_sensitivity(3, PrivacyUnit(id="person", max_rows=2))
    4.0
    """
    squares = columns + 1 if unit.neighbours == "add-remove" else 2 * columns
    return root_up(Fraction(unit.max_rows**2 * squares))  # [P:discovery-sensitivity]


def discovery_l1_sensitivity(columns: int, unit: PrivacyUnit) -> int:
    """Largest sum of sizes of the changes of all counts between neighbouring tables.

    >>> discovery_l1_sensitivity(3, PrivacyUnit(neighbours="replace"))
    6
    """
    return unit.max_rows * (columns + 1 if unit.neighbours == "add-remove" else 2 * columns)  # [P:discovery-l1]


def discovery_block(design: Design) -> CountsBefore:
    """The counts by cell of all columns whose bounds are to be found, or were found, and the number of rows.

    >>> discovery_block(Design("y", {"y": (0, 1), "x": "private"})).numbers
    83
    """
    numbers = 1 + sum(len(cell_edges(*ends)) - 1 for ends in design.ranges.values())
    columns, unit = len(design.ranges), design.unit
    return CountsBefore(
        DISCOVERY, numbers, discovery_sensitivity(columns, unit), discovery_l1_sensitivity(columns, unit)
    )


# -- guard -------------------------------------------------------------------------------------------------------------
# How far one unit moves the numbers of rows that fit and of rows that do not. Proof: mechanisms/guard.proof.md.


def guard_sensitivity(unit: PrivacyUnit) -> float:
    """Largest Euclidean length of the change of the two counts between neighbouring tables, rounded up.

    >>> guard_sensitivity(PrivacyUnit(id="person", max_rows=3))
    3.0
    """
    apart = 1.0 if unit.neighbours == "add-remove" else math.nextafter(math.sqrt(2), 2.0)
    return unit.max_rows * apart  # [P:guard-sensitivity]


def guard_l1_sensitivity(unit: PrivacyUnit) -> int:
    """Largest sum of sizes of the changes of the two counts between neighbouring tables.

    >>> guard_l1_sensitivity(PrivacyUnit(neighbours="replace"))
    2
    """
    return unit.max_rows * (1 if unit.neighbours == "add-remove" else 2)  # [P:guard-l1-sensitivity]


def guard_block(design: Design) -> CountsBefore:
    """The two counts of a guard.

    >>> guard_block(Design("y", {"y": (0, 1), "x": (0, 1)})).numbers
    2
    """
    unit = design.unit
    return CountsBefore(GUARD, GUARD_COUNTS, guard_sensitivity(unit), guard_l1_sensitivity(unit))


# -- before ------------------------------------------------------------------------------------------------------------
# The loss of counts that are released before a mechanism, and of both together. Proof: maps.proof.md.

_NOTHING_KEPT: Final = 1 - 2**-20
# of delta, for counts that are charged by epsilon and delta
_DELTA_SHARE: Final = 0.01


def before_loss(stated: Stated, counts: CountsBefore) -> Loss:
    """What noisy counts cost by themselves; Gaussian ones at an epsilon that takes a small part of delta.

    `stated` has the law with the block of the counts.
    """
    if stated.law.family == "wishart" or stated.law.calibration == "bound":
        raise SpecError(f"got a {counts.block} before a mechanism that has none")
    stated.check_scales([counts.block])
    if stated.law.family != "discrete-gaussian":
        return Loss.pure(up(stated.over(Fraction(counts.l1_sensitivity), counts.block)))
    mu = up(stated.over(counts.sensitivity, counts.block))
    sigma = stated.law.sigma[counts.block]
    tau = up(Fraction(counts.numbers, 16 * sigma * sigma))
    epsilon = _own_epsilon(stated, mu)
    delta = min(gaussian_delta(epsilon, mu, tau), _NOTHING_KEPT)
    return Loss.gaussian(epsilon, delta, mu=mu, tau=min(tau, _NOTHING_KEPT))  # [P:forward-stop]


def both_losses(stated: Stated, first: Loss, second: Loss) -> Loss:
    """What two blocks of counts cost that are released one after the other, and nothing after them."""
    if first.is_pure:
        return Loss.together(up(Fraction(first.epsilon) + Fraction(second.epsilon)), 0.0, [first, second])
    mu = root_up(Fraction(first.mu) ** 2 + Fraction(second.mu) ** 2)
    tau = min(up(Fraction(first.tau) + Fraction(second.tau)), _NOTHING_KEPT)
    epsilon = _own_epsilon(stated, mu)
    delta = min(gaussian_delta(epsilon, mu, tau), _NOTHING_KEPT)
    return Loss.gaussian(epsilon, delta, mu=mu, tau=tau)  # [P:forward-stop-later]


def _own_epsilon(stated: Stated, mu: float) -> float:
    """At which epsilon the counts are stated by themselves: any is true, and this one leaves most of a pair."""
    delta = stated.delta * _DELTA_SHARE
    if not (MU_LOWEST <= mu <= MU_HIGHEST and DELTA_LOWEST <= delta <= DELTA_HIGHEST):
        return stated.epsilon
    own = epsilon_from(mu, delta)
    return own if 0 < own < stated.epsilon else stated.epsilon


def with_before(stated: Stated, counts: CountsBefore, mechanism: Loss) -> Loss:
    """The loss of counts followed by a mechanism of this loss; parts add up, whatever the counts decide."""
    first = before_loss(stated, counts)
    if stated.law.family == "discrete-gaussian":
        mu = root_up(Fraction(mechanism.mu) ** 2 + Fraction(first.mu) ** 2)
        tau = min(up(Fraction(mechanism.tau) + Fraction(first.tau)), _NOTHING_KEPT)
        delta = min(gaussian_delta(stated.epsilon, mu, tau), _NOTHING_KEPT)
        return Loss.gaussian(stated.epsilon, delta, mu=mu, tau=tau)  # [P:forward-guard]
    if mechanism.is_pure:
        epsilon = up(Fraction(mechanism.epsilon) + Fraction(first.epsilon))
        return Loss.together(epsilon, 0.0, [mechanism, first])  # [P:forward-guard-pure]
    rho = up(Fraction(mechanism.rho) + Fraction(first.rho))
    delta = min(concentrated_delta(stated.epsilon, rho), _NOTHING_KEPT)
    return Loss.together(stated.epsilon, delta, [mechanism, first])
