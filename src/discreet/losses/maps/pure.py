"""Noise that keeps epsilon alone: `laplace`, `functional`, `k-norm`. Proof: maps.proof.md."""

from __future__ import annotations

from fractions import Fraction

from discreet.errors import SpecError
from discreet.exact.rounding import root_up, up
from discreet.exact.triangle import entry_count
from discreet.losses.law import CLIPPED
from discreet.losses.maps.gaussian import joint_square
from discreet.losses.maps.stated import Stated
from discreet.losses.sensitivity.clips import clips_l1_sensitivity
from discreet.losses.sensitivity.l1_sensitivity import l1_sensitivity
from discreet.privacy.loss import Loss


def all_moments(stated: Stated) -> Loss:
    """Map of `laplace`: all moments, with or without counts of clipped rows."""
    clipped = [CLIPPED] if CLIPPED in stated.law.sigma else []
    stated.check("discrete-laplace", ("pure",), [*stated.moments_blocks(), *clipped])
    epsilon = _moments(stated)
    if clipped:
        epsilon += stated.over(Fraction(clips_l1_sensitivity(stated.design)), CLIPPED)
    return Loss.pure(up(epsilon))


def monomials(stated: Stated) -> Loss:
    """Map of `functional`: the moments that are coefficients of the squared loss."""
    blocks = stated.moments_blocks(sums=stated.design.needs_sums, target_square=stated.flag("target_square"))
    stated.check("discrete-laplace", ("pure",), blocks)
    return Loss.pure(up(_moments(stated)))


def k_norm(stated: Stated) -> Loss:
    """Map of `k-norm`: one vector of noise for all moments."""
    stated.check("k-norm", ("pure",), stated.moments_blocks(), ["dimension"])
    dimension = entry_count(stated.size) - stated.design.count_public
    if stated.law.parameters["dimension"] != dimension:
        raise SpecError(f"expected noise in {dimension} dimensions, got {stated.law.parameters['dimension']}")
    return Loss.pure(root_up(joint_square(stated)))  # [P:forward-norm]


def _moments(stated: Stated) -> Fraction:
    weights = {block: 1 / stated.scale(block) for block, sigma in stated.law.sigma.items() if sigma}
    return Fraction(l1_sensitivity(stated.design, stated.domain, weights))  # [P:forward-l1]
