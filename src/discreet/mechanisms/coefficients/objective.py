"""Objective perturbation: ridge or Huber regression with a random linear term. Proof: objective.proof.md."""

from __future__ import annotations

import math
from collections.abc import Generator
from fractions import Fraction
from typing import Final, Literal

import numpy as np

from discreet.curator.sums.gram import ExactGram
from discreet.curator.sums.protocol import Sums, Totals
from discreet.design.domain import RowDomain
from discreet.design.model import Design
from discreet.errors import SpecError
from discreet.exact.linear import Int
from discreet.losses.sensitivity.ball import RowSensitivity, coefficient_count
from discreet.losses.sensitivity.objective import (
    EPSILON_USED,
    HUBER,
    OUTPUT_EPSILON,
    SQUARED,
    Shift,
    in_units,
    sensitivity_and_shifts,
    solution_gap,
    threshold_steps,
    volume_loss,
)
from discreet.losses.settings import BALL_SETTINGS, DECLARED
from discreet.mechanisms.calibration.blocks import in_steps
from discreet.mechanisms.coefficients.ball_ridge import (
    normal_equations,
    ridge_in_ball,
)
from discreet.mechanisms.coefficients.huber_minimum import HuberProblem, huber_minimum
from discreet.mechanisms.coefficients.output import in_scaled_units
from discreet.mechanisms.interface.protocol import MechanismInfo, Passes, RunContext
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.gaussian import mu_from
from discreet.privacy.lattice import LATTICE_SHARE, ROUNDING, approximate, delta_left
from discreet.privacy.zcdp import rho_from
from discreet.releases import NoiseLaw, Settings

_STRENGTH: Final = BALL_SETTINGS["strength"]
# share of epsilon that the change of volume uses where the budget sets the strength
VOLUME_SHARE: Final = {HUBER: 0.4, SQUARED: 0.1}
# of delta, for what separates the lattice point from the exact minimum
OUTPUT_DELTA: Final = 1 / 20


class ObjectivePerturbation:
    """Publishes the minimum of a penalised loss after a Gaussian linear term was added to it."""

    name: Final = "objective"
    version: Final = "2"
    kind: Final[Literal["coefficients"]] = "coefficients"
    info: Final = MechanismInfo(
        summary="Ridge or Huber coefficients with a penalty, from an objective with a random linear term.",
        document="the papers cited",
        notion="approximate",
        needs=("a public threshold of residuals, or a public bound on the length of the scaled coefficients",),
        numerics="exact",
        references=(
            "Chaudhuri, Monteleoni & Sarwate 2011",
            "Kifer, Smith & Thakurta 2012",
            "Iyengar, Near, Song, Thakkar, Thakurta & Wang 2019",
            "Redberg, Koskela & Wang 2023",
        ),
        reads_again=("loss", HUBER),
        main="linear",
        settings=DECLARED["objective"],
    )

    def noise_model(self, design: Design, domain: RowDomain, budget: PrivacyBudget, settings: Settings) -> NoiseLaw:
        """The law of the linear term and of the noise on its solution: design, budget and settings in, no data."""
        asked, delta = approximate(budget)
        epsilon = min(asked, EPSILON_USED)  # [P:epsilon-used]
        size = coefficient_count(design)
        sensitivity, bounds = sensitivity_and_shifts(design, domain, settings)
        steps = strength_steps(design, domain, sensitivity, settings, epsilon)
        strength = in_units(steps, domain)
        left = _left_of_epsilon(design, sensitivity, strength, epsilon)
        linear = in_steps("linear", min(_linear_sd(shift, left, delta) for shift in bounds), domain)
        if delta_left(epsilon, delta, [(size, linear)]) is None:  # [P:linear-gap]
            raise SpecError(
                f"the lattice of grid_bits = {domain.grid_bits} is too coarse for epsilon = {asked:g} and "
                f"delta = {delta:g}; raise grid_bits, lower epsilon or raise delta"
            )
        rho = rho_from(epsilon * OUTPUT_EPSILON, delta * OUTPUT_DELTA)
        step = math.ldexp(1.0, -2 * domain.grid_bits)
        apart = 2 * solution_gap(size, strength) * step
        output = in_steps("coefficients", apart * ROUNDING / math.sqrt(2 * rho), domain)  # [P:objective-point-noise]
        sigma = {"linear": linear, "coefficients": output}
        return NoiseLaw(domain.grid_bits, sigma, "bound", parameters={"strength": steps})

    def passes(self, context: RunContext) -> Passes:
        """Exact moments, a random linear term, the minimum on the lattice, a little noise on it."""
        design, law, released = context.design, context.law, len(context.design.released)
        moments = yield ExactGram(released, context.domain.grid_bits)
        gram, cross = normal_equations(moments.on_grid(law.unit), released, intercept=design.intercept)
        linear = np.array(context.sampler.draw([law.sigma["linear"]] * len(cross)), dtype=object)
        lattice = yield from _minimum(context, gram, cross - linear, linear)
        noise = context.sampler.draw([law.sigma["coefficients"]] * len(lattice))
        noisy = [value + variate for value, variate in zip(lattice, noise, strict=True)]
        return in_scaled_units(noisy, design, law)


def _minimum(context: RunContext, gram: Int, right: Int, linear: Int) -> Generator[Sums, Totals, list[int]]:
    """The minimum on the lattice, from the sum of z z' and that of z y less the linear term."""
    domain, strength = context.domain, context.law.parameters["strength"]
    if context.settings["loss"] == SQUARED:
        ball = {"strength": in_units(strength, domain), "bound": context.settings["bound"]}
        return ridge_in_ball(gram, right, context.law.grid_bits, ball)  # [P:linear-term]
    threshold = threshold_steps(context.settings, domain)
    problem = HuberProblem(domain, gram, right, linear, strength, threshold, context.design.intercept)
    return (yield from huber_minimum(problem))  # [P:huber-search]


def strength_steps(
    design: Design, domain: RowDomain, sensitivity: RowSensitivity, settings: Settings, epsilon: float
) -> int:
    """The penalty in whole steps of the product grid, rounded up: the one given, or the one the budget sets."""
    given = float(settings["strength"])
    if 0 < given < _STRENGTH.low:
        raise SpecError(f"strength: expected {_STRENGTH.low:g} or more, or 0 to set it from the budget; got {given:g}")
    if given == 0:
        share = VOLUME_SHARE[str(settings["loss"])] * epsilon
        given = max(_strength_for(design, sensitivity, share), _STRENGTH.low)
    return math.ceil(Fraction(given) * domain.unit**2)  # [P:whole-strength]


def _linear_sd(shift: Shift, epsilon: float, delta: float) -> float:
    """Standard deviation of the linear term, in scaled units, for what is left of epsilon after the volume."""
    parted = delta * (1 - OUTPUT_DELTA - LATTICE_SHARE) / ROUNDING * 0.5**shift.halvings
    mu = min(mu_from(epsilon, parted), math.sqrt(2 * epsilon) / ROUNDING)  # [P:linear-mu]
    return shift.length * ROUNDING / mu  # [P:linear-scale]


def _left_of_epsilon(design: Design, sensitivity: RowSensitivity, strength: float, epsilon: float) -> float:
    """What the Gaussian part may use; a strength that leaves next to nothing is refused."""
    k, size = design.unit.max_rows, coefficient_count(design)
    usable = epsilon * (1 - OUTPUT_EPSILON)
    left = (usable - volume_loss(k, sensitivity.norm, size, strength)) / ROUNDING
    if left < usable / 100:
        needed = _strength_for(design, sensitivity, usable / 2)
        raise SpecError(
            f"strength = {strength:g} is too small for epsilon = {epsilon:g}: the change that a row makes to the "
            f"curvature would use up all of epsilon; raise strength to {needed:.3g} or more, or raise epsilon"
        )
    return left


def _strength_for(design: Design, sensitivity: RowSensitivity, loss: float) -> float:
    """The penalty at which the change of volume is this large."""
    k = design.unit.max_rows
    rank = min(k, coefficient_count(design))
    return k * sensitivity.norm**2 / (rank * math.expm1(loss / rank))
