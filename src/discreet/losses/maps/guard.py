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
from discreet.privacy.loss import Loss

_NOTHING_KEPT: Final = 1 - 2**-20


def guard_loss(stated: Stated) -> Loss:
    """What the two noisy counts cost by themselves, at the promised epsilon where that is not stated by epsilon alone.

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
    delta = min(gaussian_delta(stated.epsilon, mu, tau), _NOTHING_KEPT)
    return Loss.gaussian(stated.epsilon, delta, mu=mu, tau=tau)


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
