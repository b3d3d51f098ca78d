"""The minimum of Huber's loss with a ridge penalty and a linear term, to within a proved distance of the exact one.

The objective is F(theta) = sum rho(y - z'theta) + strength/2 |theta|^2 + linear'theta, with rho(r) = r^2/2 up to a
threshold c and c|r| - c^2/2 beyond it, over all theta. All arithmetic is on integers; proof: huber_minimum.proof.md.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from discreet.curator.sums.huber import CombinedSums, HuberSums, digit_bits
from discreet.curator.sums.protocol import Sums, Totals
from discreet.design.domain import RowDomain
from discreet.exact.equations import Equations
from discreet.exact.linear import Int
from discreet.exact.triangle import symmetric_integers
from discreet.losses.sensitivity.ball import SOLVER_STEPS

# 1 / SOLVER_STEPS as a power of two
_TOLERANCE_BITS: Final = int(1 / SOLVER_STEPS).bit_length() - 1

# parts of the better step that are tried next, in quarters
_QUARTERS: Final = (5, 6, 7, 9, 11, 14)


@dataclass(frozen=True, slots=True)
class HuberProblem:
    """What is minimised, apart from the rows, which are summed again for every point that is tried.

    Attributes
    ----------
    domain
        Public geometry of a row.
    gram
        Sum of z z' over all rows, in steps of the product grid.
    start
        Where to begin, as the solution of gram + strength for this right-hand side, in the same steps.
    linear
        Linear term, in the same steps.
    strength
        Ridge penalty, in the same steps.
    threshold
        Where residuals are clipped, in grid steps.
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
        """Bits of the product grid."""
        return 2 * self.domain.grid_bits

    @property
    def digit_bits(self) -> int:
        """Bits of one digit of a coefficient."""
        return digit_bits(len(self.linear), self.domain.grid_bits)

    @property
    def stiffness(self) -> int:
        """Largest curvature over the least, or more, as a power of two."""
        return (int(np.trace(self.gram)) // self.strength + 1).bit_length()

    def digits(self) -> int:
        """Digits after the point with which the exact minimum, rounded, can be certified."""
        bits = self.product_bits + _TOLERANCE_BITS + self.stiffness + len(self.gram).bit_length() + 1
        return -(-bits // self.digit_bits)


@dataclass(frozen=True, slots=True)
class _Visited:
    """A point, in units of 2**-fraction, with the exact gradient and the curvature of the rows inside the threshold.

    Gradient and curvature are in units of 2**-(product_bits + fraction); `merit` is the square of the gradient in the
    metric of all rows.
    """

    point: Int
    gradient: Int
    inner: Int
    merit: int


_Search: TypeAlias = Generator[Sums, Totals, list[int]]


def huber_minimum(problem: HuberProblem, digits: int | None = None) -> _Search:
    """The minimum on the product grid, within `rounding_sensitivity` of the exact one; asks for passes on the way.

    Begins with `digits` after the point, or with what is likely to suffice.
    """
    count = problem.digits() if digits is None else digits
    while True:
        search = _Precision(problem, count)
        found = yield from search.minimum()
        if found is not None:
            beyond = search.fraction - problem.product_bits
            return [int(value + (1 << (beyond - 1))) >> beyond for value in found]
        count *= 2  # [P:doubled-digits]


class _Precision:
    """The search at one precision."""

    def __init__(self, problem: HuberProblem, digits: int) -> None:
        self.problem = problem
        self.digits = digits
        self.fraction = digits * problem.digit_bits
        # equations are solved in the units of the gradient
        self.bits = problem.product_bits + self.fraction
        self.above = Equations(self._penalised(problem.gram << self.fraction), self.bits)

    def minimum(self) -> Generator[Sums, Totals, Int | None]:
        """A certified point; none if steps at this precision are no longer an improvement."""
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
        """A step that lowers the objective: part of Newton's, or one with a curvature above the exact one."""
        above = self._step(self.above, best.gradient)
        scales = range(0, self.problem.stiffness + 3, 2)
        steps = [*(newton >> scale for scale in scales), above >> 1, *(above << scale for scale in scales)]
        coarse, gain = yield from self._farthest_down(best, steps)
        finer, more = yield from self._farthest_down(best, [coarse * quarters >> 2 for quarters in _QUARTERS])
        if max(gain, more) <= 0:
            return None
        return finer if more > gain else coarse

    def _farthest_down(self, best: _Visited, steps: Sequence[Int]) -> Generator[Sums, Totals, tuple[Int, int]]:
        """The step whose end proves the largest fall of the objective, which lies above its tangent there."""
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
        """Whether the point is provably within the tolerance of the exact minimum."""
        allowed = self.problem.strength << (self.fraction - self.problem.product_bits - _TOLERANCE_BITS)
        return bool(visited.gradient @ visited.gradient <= allowed**2)  # [P:huber-certificate]

    def _visit(self, point: Int) -> Generator[Sums, Totals, _Visited]:
        """Gradient and curvature at a point, from one pass."""
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
        """Solution of the equations, in units of the point."""
        step: Int = equations.solution(gradient) >> (self.bits - self.fraction)
        return step
