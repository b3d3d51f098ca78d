"""Objective perturbation: ridge or Huber regression with a random linear term. Proof: objective.proof.md."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, Literal

import numpy as np

from discreet.curator.sums.gram import ExactGram
from discreet.curator.sums.protocol import Sums, Totals
from discreet.design.domain import RowDomain
from discreet.design.model import Design
from discreet.errors import SpecError
from discreet.exact.linear import Int
from discreet.mechanisms.calibration.blocks import in_steps
from discreet.mechanisms.coefficients.ball_ridge import (
    BALL_SETTINGS,
    RowSensitivity,
    normal_equations,
    ridge_in_ball,
    rounding_sensitivity,
)
from discreet.mechanisms.coefficients.huber_minimum import HuberProblem, huber_minimum
from discreet.mechanisms.coefficients.output import coefficient_count, in_scaled_units
from discreet.mechanisms.interface.protocol import MechanismInfo, Passes, RunContext
from discreet.mechanisms.interface.settings import Setting
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.gaussian import mu_from
from discreet.privacy.lattice import LATTICE_SHARE, ROUNDING, approximate, delta_left
from discreet.privacy.zcdp import rho_from
from discreet.releases import NoiseLaw, Settings

SQUARED: Final = "squared"
HUBER: Final = "huber"
_STRENGTH: Final = BALL_SETTINGS["strength"]
# share of epsilon that the change of volume uses where the budget sets the strength
VOLUME_SHARE: Final = {HUBER: 0.4, SQUARED: 0.1}
# more epsilon than this does not lower the noise: the step to the lattice costs e^epsilon
EPSILON_USED: Final = 16.0
# of epsilon and of delta, for what separates the lattice point from the exact minimum
OUTPUT_EPSILON: Final = 1 / 50
OUTPUT_DELTA: Final = 1 / 20
# directions that represent a circle where one row is exchanged for another
_DIRECTIONS: Final = 16
# delta is divided by 2 to this power at most; a double holds hardly more
_MOST_HALVINGS: Final = 500


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
        settings={
            "loss": Setting(
                HUBER, "huber, or squared for least squares inside a ball of coefficients", choices=(HUBER, SQUARED)
            ),
            "strength": replace(_STRENGTH, default=0.0, low=0.0, about=f"{_STRENGTH.about}; 0: set by the budget"),
            "bound": replace(BALL_SETTINGS["bound"], only_with=("loss", SQUARED)),
            "threshold": Setting(
                0.1, "residual up to which the loss is squared, in scaled units", 1e-4, 2.0, only_with=("loss", HUBER)
            ),
        },
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


@dataclass(frozen=True, slots=True)
class Shift:
    """How far apart the linear terms of neighbouring tables are that have one minimum.

    Attributes
    ----------
    length
        Largest Euclidean length, in scaled units, and largest length of a vector that represents a direction of it.
    halvings
        The number of these vectors as a power of two.
    """

    length: float
    halvings: int


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


def in_units(steps: int, domain: RowDomain) -> float:
    """A penalty in scaled units, exactly: as many bits as a double has, or fewer."""
    return steps / domain.unit**2


def threshold_steps(settings: Settings, domain: RowDomain) -> int:
    """Where Huber's loss turns linear, in whole steps of the grid, rounded down."""
    steps = int(float(settings["threshold"]) * domain.unit)
    if steps == 0:
        raise SpecError(
            f"threshold = {settings['threshold']:g} is less than a step of the grid of grid_bits = {domain.grid_bits}; "
            f"choose {1 / domain.unit:g} or more, or raise grid_bits"
        )
    return steps


def sensitivity_and_shifts(
    design: Design, domain: RowDomain, settings: Settings
) -> tuple[RowSensitivity, tuple[Shift, ...]]:
    """What one row can do under the loss that was chosen, and how far apart the linear terms of neighbours are."""
    bound = float(settings["bound"])
    sensitivity = RowSensitivity.of(design, domain, bound)
    if settings["loss"] == SQUARED:
        return sensitivity, shifts(design, sensitivity, bound)
    clipped = replace(sensitivity, residual=threshold_steps(settings, domain) / domain.unit)  # [P:clipped-residual]
    return clipped, shifts(design, clipped)


def shifts(design: Design, sensitivity: RowSensitivity, bound: float | None = None) -> tuple[Shift, ...]:
    """Bounds that hold each by itself, from public quantities; a unit with too many rows is refused.

    With a `bound` of the coefficients the loss is squared, and its gradient is linear in them.

    >>> design = Design("y", {"y": (0, 1), "x": (0, 1)}, unit={"neighbours": "replace"})
    >>> [round(shift.length, 4) for shift in shifts(design, RowSensitivity(norm=1.0, residual=2.0, rows=2), 1.0)]
    [4.0, 3.0196]
    """
    k, norm = design.unit.max_rows, sensitivity.norm
    found = [Shift(sensitivity.rows * norm * sensitivity.residual * ROUNDING, sensitivity.rows)]
    if bound is not None and design.unit.neighbours == "replace":
        around = norm * bound / math.cos(math.pi / _DIRECTIONS)
        # [P:paired-shift]
        found.append(Shift(k * norm * (2 + around) * ROUNDING, k * (2 + int(math.log2(_DIRECTIONS)))))
    usable = tuple(shift for shift in found if shift.halvings <= _MOST_HALVINGS)
    if not usable:
        raise SpecError(f"max_rows = {k} is too large for this mechanism; lower it or use the mechanism 'output'")
    return usable


def volume_loss(rows: int, norm: float, size: int, strength: float) -> float:
    """Largest change of log volume between linear terms of neighbouring tables: `rows` of length `norm`, one table.

    >>> round(volume_loss(1, 1.0, 3, 1.0), 9)
    0.693147181
    """
    rank = min(rows, size)
    return rank * math.log1p(rows * norm**2 / (strength * rank)) * ROUNDING  # [P:volume]


def solution_gap(size: int, strength: float) -> float:
    """Largest distance of the lattice point from the minimum for the unrounded linear term, in lattice steps."""
    return (rounding_sensitivity(size) + math.sqrt(size) / (2 * strength)) * ROUNDING  # [P:point-distance]


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
