"""Add Gaussian noise to ridge coefficients inside a public ball. Proof: output.proof.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

import numpy as np

from discreet.accounting.fitted_models import SOLVER_STEPS, output_query
from discreet.accounting.noise_distribution import NoiseDistribution, Settings
from discreet.accounting.privacy_maps import VERSION
from discreet.accounting.settings import DECLARED
from discreet.curator.sums.gram import ExactGram
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.exact.linear import Equations, Int, symmetric_integers
from discreet.mechanisms.calibration import queries_distribution
from discreet.mechanisms.protocol import MechanismInfo, Passes, RunContext
from discreet.privacy.budget import PrivacyBudget
from discreet.releases.fields import Coefficients

# -- ball ridge --------------------------------------------------------------------------------------------------------
# Ridge regression inside a public ball, from exact moments, within a proved distance of the exact minimum.
#
# The objective is F(theta) = 1/2 sum (y - z'theta)^2 + strength/2 |theta|^2 over |theta| <= bound, with z = (1, x), or
# x in a design without intercept. All arithmetic is on integers; proof: ball_ridge.proof.md.

# every setting is an integer in units of 2**-bits; an ill-conditioned table may need more bits
_FIRST_BITS: Final = 192


def normal_equations(totals: Sequence[int], size: int, *, intercept: bool) -> tuple[Int, Int]:
    """Return the sums of z z' and of z y, in product-grid steps, from the upper triangle of the moments."""
    full = symmetric_integers(totals, size)
    first = 0 if intercept else 1
    return full[first:-1, first:-1], full[first:-1, -1]


def ridge_in_ball(gram: Int, cross: Int, grid_bits: int, settings: Settings) -> list[int]:
    """Return the minimiser on the product grid, within `rounding_sensitivity` of the exact minimiser.

    `gram` and `cross` are the sums of z z' and of z y in product-grid steps, of which there are 4**grid_bits in a
    scaled unit. For an objective with a linear term, subtract this term from `cross`. `settings` holds `strength` and
    `bound`.
    """
    bits = _FIRST_BITS
    while True:
        problem = _Problem.scaled(gram, cross, grid_bits, settings, bits)
        minimum = problem.solved(bits)
        if minimum is not None:
            half = 1 << (bits - 2 * grid_bits - 1)
            return [int(value + half) >> (bits - 2 * grid_bits) for value in minimum]
        bits *= 2  # [P:doubled-bits]


@dataclass(frozen=True, slots=True)
class _Problem:
    """Minimisation of theta'A theta / 2 - c'theta over a ball, in integer units of 2**-bits."""

    matrix: Int
    linear: Int
    strength: int
    bound: int
    tolerance: Fraction
    bits: int

    @classmethod
    def scaled(cls, gram: Int, cross: Int, grid_bits: int, settings: Settings, bits: int) -> _Problem:
        shift = bits - 2 * grid_bits
        strength = int(Fraction(settings["strength"]) * 2**bits)
        matrix = gram * (1 << shift) + strength * np.identity(len(cross), dtype=object)
        bound = int(Fraction(settings["bound"]) * 2**bits)
        return cls(matrix, cross * (1 << shift), strength, bound, SOLVER_STEPS / 4**grid_bits, bits)

    def solved(self, sweeps: int) -> Int | None:
        """Return a certified point of the ball, or None if the precision or the number of Newton steps is too small.

        Newton's method solves 1/|theta(nu)| = 1/bound for nu, with theta(nu) = (A + nu)^{-1} c, starting at nu = 0.
        """
        nu = 0
        for _ in range(sweeps):
            equations = Equations(self._lifted(nu), self.bits)
            theta = equations.solution(self.linear)
            norm = max(math.isqrt(theta @ theta), 1)
            inside = nu == 0 and norm < self.bound
            # integer division rounds towards zero, so the point stays in the ball
            point = theta if inside else np.sign(theta) * (abs(theta) * self.bound // (norm + 1))
            if self.certified(point, nu):
                return point
            curvature = max(int(theta @ equations.solution(theta)), 1)
            step = ((norm - self.bound) * norm * norm << self.bits) // (self.bound * curvature)
            nu = max(0, nu + step)
        return None

    def certified(self, point: Int, nu: int) -> bool:
        """Return whether the point is in the ball and provably within the tolerance of the exact minimiser."""
        norm2_point = int(point @ point)
        if norm2_point > self.bound**2:
            return False
        unit = 1 << self.bits
        gap = self._lifted(nu) @ point - self.linear * unit
        residual = Fraction(math.isqrt(gap @ gap) + 1, unit**2)
        inwards = Fraction(self.bound - math.isqrt(norm2_point), unit)
        slack = Fraction(nu, unit) * Fraction(self.bound, unit) * inwards
        # [P:ridge-certificate]
        return residual * self.tolerance + slack <= Fraction(self.strength, unit) * self.tolerance**2

    def _lifted(self, nu: int) -> Int:
        lifted: Int = self.matrix + nu * np.identity(len(self.linear), dtype=object)
        return lifted


# -- output ------------------------------------------------------------------------------------------------------------
# Output perturbation: the ridge coefficients inside a public ball, plus Gaussian noise. Proof: output.proof.md.


class OutputPerturbation:
    """Ridge coefficients with Gaussian noise, calibrated to the largest effect of one privacy unit."""

    name: Final = "output"
    version: Final = VERSION
    kind: Final[Literal["coefficients"]] = "coefficients"
    info: Final = MechanismInfo(
        summary="Ridge coefficients inside a public ball, plus Gaussian noise for how far a row can move them.",
        document="the papers cited",
        notion="approximate",
        needs=("a public ridge strength and a public bound on the length of the scaled coefficients",),
        numerics="exact",
        references=("Chaudhuri, Monteleoni & Sarwate 2011", "Balle & Wang 2018"),
        settings=DECLARED["output"],
    )

    def noise_model(
        self, design: Design, domain: RowDomain, budget: PrivacyBudget, settings: Settings
    ) -> NoiseDistribution:
        """Calibrate the noise to the budget and settings, from public quantities only."""
        return queries_distribution(domain, budget, [(output_query(design, domain, settings), 1.0)])

    def passes(self, context: RunContext) -> Passes:
        """Compute the exact moments in one pass, round the minimiser to the lattice, and add noise to it."""
        design, distribution, released = context.design, context.distribution, len(context.design.released)
        moments = yield ExactGram(released, context.domain.grid_bits)
        gram, cross = normal_equations(moments.on_grid(distribution.unit), released, intercept=design.intercept)
        lattice = ridge_in_ball(gram, cross, distribution.grid_bits, context.settings)
        noise = context.sampler.draw([distribution.sigma["coefficients"]] * len(lattice))
        noisy = [value + variate for value, variate in zip(lattice, noise, strict=True)]  # [P:point-noise]
        return in_scaled_units(noisy, design, distribution)


def in_scaled_units(steps: list[int], design: Design, distribution: NoiseDistribution) -> Coefficients:
    """Convert coefficients from product-grid steps to scaled units."""
    values = [step / distribution.unit for step in steps]
    return Coefficients(tuple(values if design.intercept else [0.0, *values]))


MECHANISM: Final = OutputPerturbation()
