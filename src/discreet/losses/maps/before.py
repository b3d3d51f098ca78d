"""The loss of counts that are released before a mechanism, and of both together. Proof: maps.proof.md."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from discreet.errors import SpecError
from discreet.exact.rounding import root_up, up
from discreet.losses.maps.stated import Stated
from discreet.losses.promise import concentrated_delta, gaussian_delta
from discreet.losses.sensitivity.before.counts import CountsBefore
from discreet.privacy.gaussian import DELTA_HIGHEST, DELTA_LOWEST, MU_HIGHEST, MU_LOWEST, epsilon_from
from discreet.privacy.loss import Loss

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
