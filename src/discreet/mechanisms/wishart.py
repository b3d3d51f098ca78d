"""Release all moments with Wishart noise, which is calibrated to its exact privacy loss. Proof: wishart.proof.md."""

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
# A Wishart matrix with exactly rounded entries. Proof: wishart.proof.md.

_SPARE_BITS: Final = 96


def wishart_noise(scales: Sequence[int], degrees: int, sampler: Sampler) -> list[int]:
    """Draw the upper triangle of a Wishart matrix, scale its entries and round them.

    Entry (i, j) is multiplied by the scales of columns i and j.

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


def _dot(left: Sequence[Interval], right: Sequence[Interval], uniforms: Uniforms) -> Interval:
    total = uniforms.exactly(0)
    for a, b in zip(left, right, strict=False):
        total += a * b
    return total


# -- wishart -----------------------------------------------------------------------------------------------------------
# All moments of (1, x, y) with Wishart noise, calibrated to its exact privacy loss. Proof: wishart.proof.md.

# largest product of degrees and columns; about half as many uniform variates are drawn
_MOST_WORK: Final = 4_000_000
_MOST_COLUMNS: Final = 200
_MOST_STEPS: Final = 2**40
_PURE: Final = (
    "the mechanism 'wishart' needs delta above 0, for instance delta = 1e-6; got delta = 0. The published claim that "
    "Wishart noise satisfies pure DP is false: with probability 1 - exp(-epsilon) the noisy matrix minus the matrix of "
    "a neighbouring table has a negative eigenvalue, which rules out that table; use 'k-norm' or 'laplace' instead"
)


@dataclass(frozen=True, slots=True)
class Scales:
    """Noise scale of each kind of column of (1, x, y), in grid steps."""

    constant: int
    regressor: int
    target: int

    def columns(self, size: int) -> tuple[int, ...]:
        """Return the noise scale of every column."""
        return (self.constant, *(self.regressor,) * (size - 2), self.target)

    def shift(self, domain: RowDomain) -> Fraction:
        """Return the largest squared norm of a row whose columns are divided by their scales."""
        return row_shift(domain, self.constant, self.regressor, self.target)

    def blocks(self, *, count_public: bool) -> dict[str, int]:
        """Return the scale of every block in product-grid steps, which is a product of two column scales."""
        c, x, y = self.constant, self.regressor, self.target
        return {
            "count": 0 if count_public else c * c, "sum_x": c * x, "gram_diagonal": x * x, "gram_off_diagonal": x * x,
            "sum_y": c * y, "cross": x * y, "target_square": y * y,
        }  # fmt: skip

    @classmethod
    def of(cls, distribution: NoiseDistribution) -> Scales:
        """Recover the column scales from a noise distribution."""
        x = math.isqrt(distribution.sigma["gram_diagonal"])
        return cls(distribution.sigma["sum_x"] // x, x, distribution.sigma["cross"] // x)


class WishartMoments:
    """Exact moments plus a Wishart matrix, from which its known mean may be subtracted."""

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
            # if the mean is subtracted, more degrees give less noise: the distribution tends to a Gaussian
            degrees = most if debiased else _least_square(size, budget, most, exchanged=exchanged)
            scales = _scales(domain, size, budget, degrees, exchanged=exchanged)
        sigma = scales.blocks(count_public=design.count_public)
        return NoiseDistribution(domain.grid_bits, sigma, "chi-square", "wishart", {"degrees": degrees})

    def passes(self, context: RunContext) -> Passes:
        """Compute the exact moments in one pass, and add a rounded Wishart matrix, minus its mean if `debiased`."""
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
    """Return scales for which the proved delta is at most the delta of the budget."""
    served = served_epsilon(budget.epsilon, exchanged=exchanged)
    shift, share = largest_shift(degrees - size + 1, served, budget.delta, exchanged=exchanged)
    while True:
        scales = _stretched(domain, size, shift)
        if proved_delta(degrees - size + 1, scales.shift(domain), served, share, exchanged=exchanged) <= budget.delta:
            return scales  # [P:accepted-scales]
        shift *= 1 - 1e-6


def _stretched(domain: RowDomain, size: int, shift: float) -> Scales:
    """Return scales such that the longest row has squared norm of about `shift` after division by the scales."""
    parts = _column_shares(norm2(domain), size - 2)
    sensitivity = (1.0, norm2(domain), 1.0)
    steps = [domain.unit * math.sqrt(r2 / (part * shift)) for r2, part in zip(sensitivity, parts, strict=True)]
    if not max(steps) <= _MOST_STEPS:
        raise UnsupportedError(
            f"Wishart noise on a column would have a scale of {max(steps):.3g} grid steps, too large to be useful",
            option="epsilon",
            remedy="raise epsilon or delta",
        )
    return Scales(*(math.ceil(step) for step in steps))


def _fewest_degrees(shift: Fraction, size: int, budget: PrivacyBudget, most: int, *, exchanged: bool) -> int:
    """Find, by bisection, the fewest degrees of freedom with which this shift provably satisfies the budget."""
    served = served_epsilon(budget.epsilon, exchanged=exchanged)

    def suffices(degrees: int) -> bool:
        nu = degrees - size + 1
        _, share = largest_shift(nu, served, budget.delta, exchanged=exchanged)
        return proved_delta(nu, shift, served, share, exchanged=exchanged) <= budget.delta

    low, high = size + 1, most
    if not suffices(most):
        raise UnsupportedError(
            f"with the setting 'fewest', this budget needs more degrees than the setting 'degrees' allows ({most})",
            option="degrees",
            remedy="raise the setting 'degrees', or leave out 'fewest'",
        )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high  # [P:fewest-degrees]


def _column_shares(r2: float, columns: int) -> tuple[float, float, float]:
    """Return the shares of a row's squared norm that minimise the variance of the normal equations.

    The shares are those of the constant, of x and of y, and are found by grid search. The variance assumes scaled
    slopes of norm 1 and an intercept of 1/2, as in `calibration.block_shares`.
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
    """Return the degrees of freedom that minimise the mean square of the noise, whose mean is not subtracted."""

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
            f"the mechanism 'wishart' needs epsilon from {EPSILON_LOWEST:g} to {EPSILON_HIGHEST:g} and delta of at "
            f"least {DELTA_LOWEST:g}; got epsilon = {epsilon:g} and delta = {delta:g}",
            option="epsilon",
            remedy="use 'gaussian' instead",
        )
    if design.unit.max_rows > 1:
        raise UnsupportedError(
            "the privacy of the mechanism 'wishart' is proved only for one row per person, "
            f"got max_rows = {design.unit.max_rows}",
            option="max_rows",
            remedy="set max_rows = 1 or use 'gaussian'",
        )
    if design.count_public and not debiased:
        raise UnsupportedError(
            "debiased = false needs neighbours = 'add-remove': with neighbours = 'replace' the number of rows has no "
            "noise, so the released matrix would not be positive semidefinite",
            option="debiased",
            remedy="leave out debiased or declare neighbours = 'add-remove'",
        )
    if size > _MOST_COLUMNS:
        raise UnsupportedError(
            f"the mechanism 'wishart' takes at most {_MOST_COLUMNS} released columns, got {size}",
            option="mechanism",
            remedy="declare fewer columns or levels, or use 'gaussian'",
        )
    if not size + 2 <= most <= _MOST_WORK // size:
        raise OptionError(
            f"expected from {size + 2} to {_MOST_WORK // size} degrees of freedom for {size} released columns, "
            f"got {most}",
            option="degrees",
            given=most,
            remedy="change the setting 'degrees' or use 'gaussian'",
        )


MECHANISM: Final = WishartMoments()
