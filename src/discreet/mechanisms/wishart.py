"""Release all moments with Wishart noise, calibrated by its exact loss. Proof: wishart.proof.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

import numpy as np

from discreet.accounting.chi_square import (
    DELTA_LOWEST,
    EPSILON_HIGHEST,
    EPSILON_LOWEST,
    largest_shift,
    proved_delta,
    row_shift,
    served_epsilon,
)
from discreet.accounting.noise_distribution import NoiseDistribution, Settings
from discreet.accounting.privacy_maps import VERSION
from discreet.accounting.settings import DECLARED
from discreet.curator.sums.gram import ExactGram
from discreet.design.design import Design
from discreet.design.domain import RowDomain, norm2
from discreet.errors import OptionError, UnsupportedError
from discreet.exact.linear import pairs
from discreet.mechanisms.protocol import MechanismInfo, NoisyMoments, Passes, RunContext
from discreet.mechanisms.refinement import Interval, Uniforms, refined
from discreet.mechanisms.sampler import Sampler
from discreet.privacy.budget import PrivacyBudget, as_pair

# -- wishart draw ------------------------------------------------------------------------------------------------------
# A Wishart matrix whose entries are rounded exactly. Proof: wishart.proof.md.

_SPARE_BITS: Final = 96


def wishart_noise(scales: Sequence[int], degrees: int, sampler: Sampler) -> list[int]:
    """Draw the triangle of a rounded Wishart matrix. Entry (i, j) is multiplied by the scales of both columns.

    >>> from discreet.mechanisms.sampler import ExactSampler
    >>> top, _, bottom = wishart_noise([1000, 1000], 50, ExactSampler())
    >>> top > 0, bottom > 0
    (True, True)
    """
    size = len(scales)

    def draw(uniforms: Uniforms) -> list[int]:
        # Bartlett: W = A A' with A lower triangular
        rows = [[*uniforms.normals(i), uniforms.chi_square(degrees - i).sqrt()] for i in range(size)]
        entries = ((_dot(rows[i], rows[j], uniforms) * (scales[i] * scales[j])).nearest() for i, j in pairs(size))
        return list(entries)  # [P:bartlett-draw]

    return refined(sampler, draw, bits=_SPARE_BITS + 2 * max(scales).bit_length() + 2 * degrees.bit_length())


def _dot(one: Sequence[Interval], other: Sequence[Interval], uniforms: Uniforms) -> Interval:
    total = uniforms.exactly(0)
    for a, b in zip(one, other, strict=False):
        total += a * b
    return total


# -- wishart -----------------------------------------------------------------------------------------------------------
# All moments of (1, x, y) with Wishart noise, calibrated by its exact loss. Proof: wishart.proof.md.

# degrees times columns: half as many uniform variates are drawn
_MOST_WORK: Final = 4_000_000
_MOST_COLUMNS: Final = 200
_MOST_STEPS: Final = 2**40
_PURE: Final = (
    "Wishart noise needs delta above 0, for instance delta = 1e-6; got delta = 0. The published claim that it keeps "
    "epsilon alone is false for every epsilon: with probability 1 - exp(-epsilon) the noisy matrix minus the matrix of "
    "a neighbouring table has a negative eigenvalue, which rules that table out; use 'k-norm' or 'laplace' instead"
)


@dataclass(frozen=True, slots=True)
class Scales:
    """Noise scale of each column of (1, x, y), in grid steps."""

    constant: int
    regressor: int
    target: int

    def columns(self, size: int) -> tuple[int, ...]:
        """Return the scale of every column."""
        return (self.constant, *(self.regressor,) * (size - 2), self.target)

    def shift(self, domain: RowDomain) -> Fraction:
        """Return the largest squared length of a row whose columns are divided by their scales."""
        return row_shift(domain, self.constant, self.regressor, self.target)

    def blocks(self, *, count_public: bool) -> dict[str, int]:
        """Return the scale of every block: products of those of its columns, in steps of the product grid."""
        c, x, y = self.constant, self.regressor, self.target
        return {
            "count": 0 if count_public else c * c, "sum_x": c * x, "gram_diagonal": x * x, "gram_off_diagonal": x * x,
            "sum_y": c * y, "cross": x * y, "target_square": y * y,
        }  # fmt: skip

    @classmethod
    def of(cls, distribution: NoiseDistribution) -> Scales:
        """Return the scales of a noise distribution."""
        x = math.isqrt(distribution.sigma["gram_diagonal"])
        return cls(distribution.sigma["sum_x"] // x, x, distribution.sigma["cross"] // x)


class WishartMoments:
    """Exact moments plus a Wishart matrix, less its known mean."""

    name: Final = "wishart"
    version: Final = VERSION
    kind: Final[Literal["moments"]] = "moments"
    info: Final = MechanismInfo(
        summary="Moments with Wishart noise: positive semidefinite as they are, if the mean of the noise is kept.",
        document="note of Park & Welling, equations (6) to (10), with its exact (epsilon, delta) guarantee in place of "
        "the pure epsilon it claims",
        notion="approximate",
        needs=("one row for each person",),
        numerics="exact",
        references=("Sheffet 2019", "Jiang, Xie & Zhang 2015", "Bartlett 1933"),
        settings=DECLARED["wishart"],
    )

    def noise_model(
        self, design: Design, domain: RowDomain, budget: PrivacyBudget, settings: Settings
    ) -> NoiseDistribution:
        """Calibrate the noise to the budget, from public quantities only."""
        size = len(design.released)
        most, debiased = int(settings["degrees"]), bool(settings["debiased"])
        _check(design, budget, size, most, debiased=debiased)
        exchanged = design.unit.neighbours == "replace"
        if settings["fewest"]:
            scales = _stretched(domain, size, 1.0)
            degrees = _fewest_degrees(scales.shift(domain), size, budget, most, exchanged=exchanged)
        else:
            # with the mean subtracted, more degrees give less noise: the distribution tends to the Gaussian one
            degrees = most if debiased else _least_square(size, budget, most, exchanged=exchanged)
            scales = _scales(domain, size, budget, degrees, exchanged=exchanged)
        sigma = scales.blocks(count_public=design.count_public)
        return NoiseDistribution(domain.grid_bits, sigma, "chi-square", "wishart", {"degrees": degrees})

    def passes(self, context: RunContext) -> Passes:
        """Compute exact moments in one pass, add a rounded Wishart matrix and subtract its mean."""
        size = len(context.design.released)
        moments = yield ExactGram(size, context.domain.grid_bits)
        degrees = context.distribution.parameters["degrees"]
        columns = Scales.of(context.distribution).columns(size)
        noise = wishart_noise(columns, degrees, context.sampler)
        away = degrees if context.settings["debiased"] else 0
        mean = [away * columns[i] ** 2 if i == j else 0 for i, j in pairs(size)]
        exact = moments.on_grid(context.distribution.unit)
        totals = [
            total + part - average for total, part, average in zip(exact, noise, mean, strict=True)
        ]  # [P:wishart-sum]
        if context.design.count_public:
            totals[0] = exact[0]
        return NoisyMoments(tuple(totals))


def _scales(domain: RowDomain, size: int, budget: PrivacyBudget, degrees: int, *, exchanged: bool) -> Scales:
    """Return scales whose delta is proved to be at most that of the budget."""
    served = served_epsilon(budget.epsilon, exchanged=exchanged)
    shift, share = largest_shift(degrees - size + 1, served, budget.delta, exchanged=exchanged)
    while True:
        scales = _stretched(domain, size, shift)
        if proved_delta(degrees - size + 1, scales.shift(domain), served, share, exchanged=exchanged) <= budget.delta:
            return scales  # [P:accepted-scales]
        shift *= 1 - 1e-6


def _stretched(domain: RowDomain, size: int, shift: float) -> Scales:
    """Return scales at which the longest row, divided by them, has about this squared length."""
    parts = _column_shares(norm2(domain), size - 2)
    sensitivity = (1.0, norm2(domain), 1.0)
    steps = [domain.unit * math.sqrt(r2 / (part * shift)) for r2, part in zip(sensitivity, parts, strict=True)]
    if not max(steps) <= _MOST_STEPS:
        raise UnsupportedError(
            f"the noise of a column is {max(steps):.3g} grid steps, too large to be of any use",
            option="epsilon",
            remedy="raise epsilon or delta",
        )
    return Scales(*(math.ceil(step) for step in steps))


def _fewest_degrees(shift: Fraction, size: int, budget: PrivacyBudget, most: int, *, exchanged: bool) -> int:
    """Return the fewest degrees of freedom, by bisection, at which this shift is proved to satisfy the budget."""
    served = served_epsilon(budget.epsilon, exchanged=exchanged)

    def keeps(degrees: int) -> bool:
        nu = degrees - size + 1
        _, share = largest_shift(nu, served, budget.delta, exchanged=exchanged)
        return proved_delta(nu, shift, served, share, exchanged=exchanged) <= budget.delta

    low, high = size + 1, most
    if not keeps(most):
        raise UnsupportedError(
            f"noise of the scale of one row needs more than {most} degrees of freedom for this budget",
            option="degrees",
            remedy="raise the setting 'degrees', or leave 'fewest' out",
        )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return high  # [P:fewest-degrees]


def _column_shares(r2: float, columns: int) -> tuple[float, float, float]:
    """Return the shares of the squared length of a row that minimise the variance in the normal equations.

    They are found on a grid. The costs assume scaled slopes of length 1 and an intercept of 1/2, as for the other
    mechanisms.
    """
    d = float(columns)
    grid = np.linspace(0.02, 0.96, 95)
    c, x = np.meshgrid(grid, grid, indexing="ij")
    y = np.maximum(1 - c - x, 1e-9)
    c2, x2, y2 = 1 / c, r2 / x, 1 / y
    error = d * x2 * y2 + (d + 1) * x2 * x2 + (d / 4 + 1) * c2 * x2 + c2 * y2 + (c2 * c2 + y2 * y2) / 2
    best = np.unravel_index(int(np.argmin(error)), error.shape)
    return float(c[best]), float(x[best]), float(y[best])


def _least_square(size: int, budget: PrivacyBudget, most: int, *, exchanged: bool) -> int:
    """Return the degrees of freedom at which noise with its mean has the least mean square over all entries."""

    def cost(degrees: int) -> float:
        served = served_epsilon(budget.epsilon, exchanged=exchanged)
        shift, _ = largest_shift(degrees - size + 1, served, budget.delta, exchanged=exchanged)
        return degrees * (degrees + size + 1) / shift**2

    wide = sorted({round(float(k)) for k in np.geomspace(size + 2, most, 25)})
    best = min(range(len(wide)), key=lambda index: cost(wide[index]))
    near = {round(float(k)) for k in np.linspace(wide[max(best - 1, 0)], wide[min(best + 1, len(wide) - 1)], 25)}
    return min(sorted(near), key=cost)


def _check(design: Design, budget: PrivacyBudget, size: int, most: int, *, debiased: bool) -> None:
    epsilon, delta = as_pair(budget)
    if delta == 0:
        raise UnsupportedError(_PURE, option="delta")
    if not (EPSILON_LOWEST <= epsilon <= EPSILON_HIGHEST and delta >= DELTA_LOWEST):
        raise UnsupportedError(
            f"Wishart noise is proved for epsilon from {EPSILON_LOWEST:g} to {EPSILON_HIGHEST:g} and delta from "
            f"{DELTA_LOWEST:g}; got epsilon = {epsilon:g} and delta = {delta:g}",
            option="epsilon",
            remedy="use 'gaussian' instead",
        )
    if design.unit.max_rows > 1:
        raise UnsupportedError(
            f"the loss of Wishart noise is proved for one row of each person; got max_rows = {design.unit.max_rows}",
            option="max_rows",
            remedy="set max_rows = 1 or use 'gaussian'",
        )
    if design.count_public and not debiased:
        raise UnsupportedError(
            "got debiased = false with a public number of rows; its entry has no noise, so the matrix would not be "
            "positive semidefinite",
            option="debiased",
            remedy="leave it out or declare neighbours = 'add-remove'",
        )
    if size > _MOST_COLUMNS:
        raise UnsupportedError(
            f"expected at most {_MOST_COLUMNS} released columns, got {size}",
            option="mechanism",
            remedy="declare fewer columns or levels, or use 'gaussian'",
        )
    if not size + 2 <= most <= _MOST_WORK // size:
        raise OptionError(
            f"expected degrees from {size + 2} to {_MOST_WORK // size} for {size} released columns, got {most}",
            option="degrees",
            given=most,
            remedy="change the setting 'degrees' or use 'gaussian'",
        )


MECHANISM: Final = WishartMoments()
