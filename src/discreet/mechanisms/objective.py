"""Release ridge or Huber coefficients from an objective with a random linear term. Proof: objective.proof.md."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, TypeAlias

import numpy as np

from discreet.accounting.fitted_models import (
    EPSILON_USED,
    HUBER,
    OUTPUT_EPSILON,
    SOLVER_STEPS,
    SQUARED,
    RowSensitivity,
    Shift,
    coefficient_count,
    in_units,
    sensitivity_and_shifts,
    solution_gap,
    threshold_steps,
    volume_loss,
)
from discreet.accounting.noise_distribution import NoiseDistribution, Settings
from discreet.accounting.privacy_maps import VERSION
from discreet.accounting.settings import BALL_SETTINGS, DECLARED
from discreet.curator.sums.gram import ExactGram, Sums, Totals
from discreet.curator.sums.huber import CombinedSums, HuberSums, digit_bits
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import OptionError, UnsupportedError
from discreet.exact.linear import Equations, Int, symmetric_integers
from discreet.mechanisms.calibration import in_steps
from discreet.mechanisms.output import in_scaled_units, normal_equations, ridge_in_ball
from discreet.mechanisms.protocol import MechanismInfo, Passes, RunContext
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.gaussian_dp import mu_from, rho_from
from discreet.privacy.lattice import LATTICE_SHARE, ROUNDING, approximate, delta_left

# -- huber minimum -----------------------------------------------------------------------------------------------------
# The minimum of the Huber loss with a ridge penalty and a linear term, within a proved distance of the exact minimum.
#
# The objective is F(theta) = sum rho(y - z'theta) + strength/2 |theta|^2 + linear'theta, with rho(r) = r^2/2 up to a
# threshold c and c|r| - c^2/2 beyond it, over all theta. All arithmetic is on integers; proof: huber_minimum.proof.md.

# binary logarithm of 1 / SOLVER_STEPS
_TOLERANCE_BITS: Final = int(1 / SOLVER_STEPS).bit_length() - 1

# multiples of the best step that are tried next, in quarters
_QUARTERS: Final = (5, 6, 7, 9, 11, 14)


@dataclass(frozen=True, slots=True)
class HuberProblem:
    """Huber regression problem, whose rows are not stored but read and summed again at every trial point.

    The Gram matrix, the right-hand sides and the penalty are in product-grid steps.

    Attributes
    ----------
    gram
        Sum of z z' over all rows.
    start
        Right-hand side of the ridge equations whose solution is the starting point.
    linear
        Linear term.
    strength
        Ridge penalty.
    threshold
        Absolute value to which residuals are clipped, in grid steps.
    intercept
        Whether z begins with the constant.
    """

    domain: RowDomain
    gram: Int
    start: Int
    linear: Int
    strength: int
    threshold: int
    intercept: bool

    @property
    def product_bits(self) -> int:
        """Number of binary digits of the product grid."""
        return 2 * self.domain.grid_bits

    @property
    def digit_bits(self) -> int:
        """Number of bits in one digit of a coefficient."""
        return digit_bits(len(self.linear), self.domain.grid_bits)

    @property
    def stiffness(self) -> int:
        """Binary logarithm of an upper bound on the condition number of the ridge equations."""
        return (int(np.trace(self.gram)) // self.strength + 1).bit_length()

    def digits(self) -> int:
        """Return the number of digits after the point that suffice to certify the rounded minimiser."""
        bits = self.product_bits + _TOLERANCE_BITS + self.stiffness + len(self.gram).bit_length() + 1
        return -(-bits // self.digit_bits)


@dataclass(frozen=True, slots=True)
class _Visited:
    """Trial point with the exact gradient, and the curvature that the unclipped rows contribute.

    The point is in units of 2**-fraction, gradient and curvature (`inner`) in units of 2**-(product_bits + fraction).
    `merit` is the squared norm of the gradient in the metric of all rows.
    """

    point: Int
    gradient: Int
    inner: Int
    merit: int


_Search: TypeAlias = Generator[Sums, Totals, list[int]]


def huber_minimum(problem: HuberProblem, digits: int | None = None) -> _Search:
    """Return the minimiser on the product grid, within `rounding_sensitivity` of the exact minimiser.

    The search starts with `digits` digits after the point, and doubles their number until the result is certified.
    """
    count = problem.digits() if digits is None else digits
    while True:
        search = _Precision(problem, count)
        minimum = yield from search.minimum()
        if minimum is not None:
            beyond = search.fraction - problem.product_bits
            return [int(value + (1 << (beyond - 1))) >> beyond for value in minimum]
        count *= 2  # [P:doubled-digits]


class _Precision:
    """Search for the minimiser at a fixed precision."""

    def __init__(self, problem: HuberProblem, digits: int) -> None:
        self.problem = problem
        self.digits = digits
        self.fraction = digits * problem.digit_bits
        # equations are solved in the units of the gradient
        self.bits = problem.product_bits + self.fraction
        self.above = Equations(self._penalised(problem.gram << self.fraction), self.bits)

    def minimum(self) -> Generator[Sums, Totals, Int | None]:
        """Return a certified point, or None if no step lowers the objective at this precision."""
        ridge = self._step(self.above, self.problem.start << self.fraction)
        best = yield from self._visit(ridge)
        lowest = best.merit
        while not self.certified(best):
            newton = self._step(Equations(self._penalised(best.inner), self.bits), best.gradient)
            tried = yield from self._visit(best.point - newton)
            if not 0 <= 4 * tried.merit < lowest:
                step = yield from self._better(best, newton)
                if step is None:
                    return None
                tried = yield from self._visit(best.point - step)
            best, lowest = tried, min(lowest, tried.merit)
        return best.point

    def _better(self, best: _Visited, newton: Int) -> Generator[Sums, Totals, Int | None]:
        """Return a multiple of the Newton step or of a more cautious step that lowers the objective, or None."""
        above = self._step(self.above, best.gradient)
        scales = range(0, self.problem.stiffness + 3, 2)
        steps = [*(newton >> scale for scale in scales), above >> 1, *(above << scale for scale in scales)]
        coarse, gain = yield from self._farthest_down(best, steps)
        finer, more = yield from self._farthest_down(best, [coarse * quarters >> 2 for quarters in _QUARTERS])
        if max(gain, more) <= 0:
            return None
        return finer if more > gain else coarse

    def _farthest_down(self, best: _Visited, steps: Sequence[Int]) -> Generator[Sums, Totals, tuple[Int, int]]:
        """Return the step with the largest proved decrease of the objective, and this decrease."""
        points = [best.point - step for step in steps]
        scores = yield CombinedSums([self._sums(point, products=False) for point in points])
        size, exact = len(best.point), scores.on_grid(1 << self.bits)
        gains = []
        for i, (point, step) in enumerate(zip(points, steps, strict=True)):
            gradient = self._gradient(point, exact[i * size : (i + 1) * size])
            gains.append(int(gradient @ step))  # [P:certain-fall]
        index = max(range(len(steps)), key=gains.__getitem__)
        return steps[index], gains[index]

    def certified(self, visited: _Visited) -> bool:
        """Return whether the point is provably within the tolerance of the exact minimiser."""
        allowed = self.problem.strength << (self.fraction - self.problem.product_bits - _TOLERANCE_BITS)
        return bool(visited.gradient @ visited.gradient <= allowed**2)  # [P:huber-certificate]

    def _visit(self, point: Int) -> Generator[Sums, Totals, _Visited]:
        """Compute the gradient and the curvature at a point, in one pass over the table."""
        sums = yield self._sums(point, products=True)
        size, exact = len(point), sums.on_grid(1 << self.bits)
        gradient = self._gradient(point, exact[:size])
        merit = int(gradient @ self.above.solution(gradient))
        return _Visited(point, gradient, symmetric_integers(exact[size:], size), merit)

    def _sums(self, point: Int, *, products: bool) -> HuberSums:
        problem = self.problem
        return HuberSums(
            problem.domain,
            point.tolist(),
            self.digits,
            problem.threshold,
            intercept=problem.intercept,
            products=products,
        )

    def _gradient(self, point: Int, scores: Sequence[int]) -> Int:
        penalty = point * self.problem.strength + (self.problem.linear << self.fraction)
        gradient: Int = penalty - np.array(scores, dtype=object)  # [P:huber-gradient]
        return gradient

    def _penalised(self, products: Int) -> Int:
        strength = self.problem.strength << self.fraction
        matrix: Int = products + strength * np.identity(len(products), dtype=object)
        return matrix

    def _step(self, equations: Equations, gradient: Int) -> Int:
        """Solve the equations for a step, in the units of the point."""
        step: Int = equations.solution(gradient) >> (self.bits - self.fraction)
        return step


# -- objective ---------------------------------------------------------------------------------------------------------
# Objective perturbation: ridge or Huber regression with a random linear term. Proof: objective.proof.md.

_STRENGTH: Final = BALL_SETTINGS["strength"]
# share of epsilon for the change of volume if the penalty strength is computed from the budget
VOLUME_SHARE: Final = {HUBER: 0.4, SQUARED: 0.1}
# share of delta for rounding the minimum to the lattice
OUTPUT_DELTA: Final = 1 / 20


class ObjectivePerturbation:
    """Minimiser of a penalised loss plus a random Gaussian linear term."""

    name: Final = "objective"
    version: Final = VERSION
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

    def noise_model(
        self, design: Design, domain: RowDomain, budget: PrivacyBudget, settings: Settings
    ) -> NoiseDistribution:
        """Calibrate the random linear term and the noise on the minimiser, from public quantities only."""
        budget_epsilon, delta = approximate(budget)
        epsilon = min(budget_epsilon, EPSILON_USED)  # [P:epsilon-used]
        size = coefficient_count(design)
        sensitivity, bounds = sensitivity_and_shifts(design, domain, settings)
        steps = strength_steps(design, domain, sensitivity, settings, epsilon)
        strength = in_units(steps, domain)
        left = _left_of_epsilon(design, sensitivity, strength, epsilon)
        linear = in_steps("linear", min(_linear_sd(shift, left, delta) for shift in bounds), domain)
        if delta_left(epsilon, delta, [(size, linear)]) is None:  # [P:linear-gap]
            raise UnsupportedError(
                f"grid_bits = {domain.grid_bits} is too coarse for epsilon = {budget_epsilon:g} and delta = {delta:g}",
                option="grid_bits",
                remedy="raise grid_bits, lower epsilon or raise delta",
            )
        rho = rho_from(epsilon * OUTPUT_EPSILON, delta * OUTPUT_DELTA)
        step = math.ldexp(1.0, -2 * domain.grid_bits)
        apart = 2 * solution_gap(size, strength) * step
        output = in_steps("coefficients", apart * ROUNDING / math.sqrt(2 * rho), domain)  # [P:objective-point-noise]
        sigma = {"linear": linear, "coefficients": output}
        return NoiseDistribution(domain.grid_bits, sigma, "bound", parameters={"strength": steps})

    def passes(self, context: RunContext) -> Passes:
        """Draw a random linear term, minimise the objective on the lattice, and add a little noise."""
        design, distribution, released = context.design, context.distribution, len(context.design.released)
        moments = yield ExactGram(released, context.domain.grid_bits)
        gram, cross = normal_equations(moments.on_grid(distribution.unit), released, intercept=design.intercept)
        linear = np.array(context.sampler.draw([distribution.sigma["linear"]] * len(cross)), dtype=object)
        lattice = yield from _minimum(context, gram, cross - linear, linear)
        noise = context.sampler.draw([distribution.sigma["coefficients"]] * len(lattice))
        noisy = [value + variate for value, variate in zip(lattice, noise, strict=True)]
        return in_scaled_units(noisy, design, distribution)


def _minimum(context: RunContext, gram: Int, right: Int, linear: Int) -> Generator[Sums, Totals, list[int]]:
    """Return the minimiser, rounded to the lattice. `right` is the sum of z y minus the linear term."""
    domain, strength = context.domain, context.distribution.parameters["strength"]
    if context.settings["loss"] == SQUARED:
        ball = {"strength": in_units(strength, domain), "bound": context.settings["bound"]}
        return ridge_in_ball(gram, right, context.distribution.grid_bits, ball)  # [P:linear-term]
    threshold = threshold_steps(context.settings, domain)
    problem = HuberProblem(domain, gram, right, linear, strength, threshold, context.design.intercept)
    return (yield from huber_minimum(problem))  # [P:huber-search]


def strength_steps(
    design: Design, domain: RowDomain, sensitivity: RowSensitivity, settings: Settings, epsilon: float
) -> int:
    """Return the penalty in product-grid steps, rounded up. It is the setting or computed from the budget."""
    strength = float(settings["strength"])
    if 0 < strength < _STRENGTH.low:
        raise OptionError(
            f"strength: expected {_STRENGTH.low:g} or more, or 0 to compute it from the budget; got {strength:g}",
            option="strength",
            given=strength,
        )
    if strength == 0:
        share = VOLUME_SHARE[str(settings["loss"])] * epsilon
        strength = max(_strength_for(design, sensitivity, share), _STRENGTH.low)
    return math.ceil(Fraction(strength) * domain.unit**2)  # [P:whole-strength]


def _linear_sd(shift: Shift, epsilon: float, delta: float) -> float:
    """Return the standard deviation of the linear term, in scaled units.

    `epsilon` excludes the part for the change of volume.
    """
    parted = delta * (1 - OUTPUT_DELTA - LATTICE_SHARE) / ROUNDING * 0.5**shift.halvings
    mu = min(mu_from(epsilon, parted), math.sqrt(2 * epsilon) / ROUNDING)  # [P:linear-mu]
    return shift.length * ROUNDING / mu  # [P:linear-scale]


def _left_of_epsilon(design: Design, sensitivity: RowSensitivity, strength: float, epsilon: float) -> float:
    """Return the epsilon left for the Gaussian linear term, or raise an error if almost none is left."""
    k, size = design.unit.max_rows, coefficient_count(design)
    usable = epsilon * (1 - OUTPUT_EPSILON)
    left = (usable - volume_loss(k, sensitivity.norm, size, strength)) / ROUNDING
    if left < usable / 100:
        needed = _strength_for(design, sensitivity, usable / 2)
        raise OptionError(
            f"strength = {strength:g} is too small for epsilon = {epsilon:g}: the effect of one row on the curvature "
            "would use up all of epsilon",
            option="strength",
            given=strength,
            remedy=f"raise strength to {needed:.3g} or more, or raise epsilon",
        )
    return left


def _strength_for(design: Design, sensitivity: RowSensitivity, loss: float) -> float:
    """Return the penalty with which the change of volume uses up `loss` of epsilon."""
    k = design.unit.max_rows
    rank = min(k, coefficient_count(design))
    return k * sensitivity.norm**2 / (rank * math.expm1(loss / rank))


MECHANISM: Final = ObjectivePerturbation()
