"""The loss of a guard and the mechanism after it. Proof: maps.proof.md."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from discreet.errors import SpecError
from discreet.exact.rounding import root_up, up
from discreet.losses.law import GUARD, GUARD_COUNTS
from discreet.losses.maps.stated import Stated
from discreet.losses.promise import concentrated_delta, gaussian_delta
from discreet.losses.sensitivity.guard import guard_l1_sensitivity, guard_sensitivity
from discreet.privacy.gaussian import DELTA_HIGHEST, DELTA_LOWEST, MU_HIGHEST, MU_LOWEST, epsilon_from
from discreet.privacy.loss import Loss

_NOTHING_KEPT: Final = 1 - 2**-20
# of delta, for counts that are charged by epsilon and delta
_DELTA_SHARE: Final = 0.01


def guard_loss(stated: Stated) -> Loss:
    """What the two noisy counts cost by themselves; Gaussian ones at an epsilon that takes a small part of delta.

    `stated` has the law with the block of the guard.
    """
    if stated.law.family == "wishart" or stated.law.calibration == "bound":
        raise SpecError("got a guard before a mechanism that has none")
    stated.check_scales([GUARD])
    if stated.law.family != "discrete-gaussian":
        return Loss.pure(up(stated.over(Fraction(guard_l1_sensitivity(stated.design.unit)), GUARD)))
    mu = up(stated.over(guard_sensitivity(stated.design.unit), GUARD))
    sigma = stated.law.sigma[GUARD]
    tau = up(Fraction(GUARD_COUNTS, 16 * sigma * sigma))
    epsilon = _own_epsilon(stated, mu)
    delta = min(gaussian_delta(epsilon, mu, tau), _NOTHING_KEPT)
    return Loss.gaussian(epsilon, delta, mu=mu, tau=min(tau, _NOTHING_KEPT))  # [P:forward-stop]


def _own_epsilon(stated: Stated, mu: float) -> float:
    """At which epsilon the counts are stated by themselves: any is true, and this one leaves most of a pair."""
    delta = stated.delta * _DELTA_SHARE
    if not (MU_LOWEST <= mu <= MU_HIGHEST and DELTA_LOWEST <= delta <= DELTA_HIGHEST):
        return stated.epsilon
    own = epsilon_from(mu, delta)
    return own if 0 < own < stated.epsilon else stated.epsilon


def with_guard(stated: Stated, mechanism: Loss) -> Loss:
    """The loss of the guard followed by a mechanism of this loss; parts add up, whatever the guard's counts decide."""
    guard = guard_loss(stated)
    if stated.law.family == "discrete-gaussian":
        mu = root_up(Fraction(mechanism.mu) ** 2 + Fraction(guard.mu) ** 2)
        tau = min(up(Fraction(mechanism.tau) + Fraction(guard.tau)), _NOTHING_KEPT)
        delta = min(gaussian_delta(stated.epsilon, mu, tau), _NOTHING_KEPT)
        return Loss.gaussian(stated.epsilon, delta, mu=mu, tau=tau)  # [P:forward-guard]
    if mechanism.is_pure:
        epsilon = up(Fraction(mechanism.epsilon) + Fraction(guard.epsilon))
        return Loss.together(epsilon, 0.0, [mechanism, guard])  # [P:forward-guard-pure]
    rho = up(Fraction(mechanism.rho) + Fraction(guard.rho))
    delta = min(concentrated_delta(stated.epsilon, rho), _NOTHING_KEPT)
    return Loss.together(stated.epsilon, delta, [mechanism, guard])
