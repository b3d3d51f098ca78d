"""Our lines: the library's own releases with adaptive ridge, seeded here, so that the figures are repeatable.

`on_unit_ball` is sound for rows that are in the unit ball by public constants; the thesis brings them there by
statistics of the data. `with_private_statistics` is sound from end to end: declared ranges, a tenth of the budget (of
mu^2) for the normalising statistics, the rest for the sums.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.analyst.model import fit
from discreet.design.design import Design
from discreet.privacy import epsilon_from, mu_from
from discreet.testing import summed_table

if TYPE_CHECKING:
    from discreet.exact.arrays import FloatArray

STATISTICS_SHARE: Final = 0.1  # of mu^2
TARGET: Final = "y"


@lru_cache(maxsize=32)
def unit_ball_design(columns: int, *, intercept: bool = False) -> Design:
    """Rows in the unit ball, target in [-1, 1], a line through the origin unless there is an intercept.

    >>> unit_ball_design(2).released
    ('1', 'x0', 'x1', 'y')
    """
    bounds = {f"x{index}": (-1, 1) for index in range(columns)}
    return Design(TARGET, {**bounds, TARGET: (-1, 1)}, intercept=intercept, radius=1.0)


def on_unit_ball(
    x: FloatArray,
    y: FloatArray,
    mechanisms: tuple[str, ...],
    epsilons: FloatArray,
    delta: float,
    seed: int,
    *,
    intercept: bool = False,
) -> dict[str, FloatArray]:
    """Coefficients by each mechanism at each epsilon, adaptive ridge, from one pass; an intercept is the first."""
    columns = x.shape[1]
    rows = {**{f"x{index}": x[:, index] for index in range(columns)}, TARGET: y}
    table = summed_table(rows, unit_ball_design(columns, intercept=intercept))
    found = {}
    for offset, mechanism in enumerate(mechanisms):
        made = [
            table.release(seed=seed + 1_000 * offset + place, epsilon=float(epsilon), delta=delta, mechanism=mechanism)
            for place, epsilon in enumerate(epsilons)
        ]
        found[mechanism] = np.array([fit(one, penalty="adaptive").coefficients for one in made])
    return found


@dataclass(frozen=True, eq=False)
class Ranges:
    """Declared ranges of regressors and target: midpoints and half widths.

    Attributes
    ----------
    middle, half
        Of each regressor.
    target
        Midpoint and half width of y.
    """

    middle: FloatArray
    half: FloatArray
    target: tuple[float, float]

    def scaled(self, x: FloatArray) -> FloatArray:
        """Regressors in [-1, 1], cut at the declared ends."""
        return np.clip((x - self.middle) / self.half, -1.0, 1.0)

    def scaled_target(self, y: FloatArray) -> FloatArray:
        """Target in [-1, 1], cut at the declared ends."""
        return np.clip((y - self.target[0]) / self.target[1], -1.0, 1.0)


def declared_ranges(x: FloatArray, y: FloatArray) -> Ranges:
    """Ranges that stand in for a codebook: smallest and largest value, rounded outwards to one significant digit.

    >>> declared_ranges(np.array([[0.0], [37.0]]), np.array([-1.2, 8.0])).target
    (3.0, 5.0)
    """
    ends = [(_outwards(column.min(), -1), _outwards(column.max(), 1)) for column in (*x.T, y)]
    middle = np.array([(low + high) / 2 for low, high in ends])
    half = np.array([(high - low) / 2 for low, high in ends])
    return Ranges(middle[:-1], half[:-1], (float(middle[-1]), float(half[-1])))


def _outwards(value: float, side: int) -> float:
    """The next number with one significant digit, upwards for side 1 and downwards for -1."""
    if value == 0:
        return 0.0
    digit = 10.0 ** math.floor(math.log10(abs(value)))
    return side * math.ceil(side * value / digit - 1e-12) * digit


@dataclass(frozen=True, eq=False)
class PrivateScale:
    """Normalising statistics that were released with noise, in scaled units.

    Attributes
    ----------
    ranges
        What was declared.
    mean, sd
        Of each scaled regressor.
    centre
        Mean of the scaled target.
    """

    ranges: Ranges
    mean: FloatArray
    sd: FloatArray
    centre: float

    def rows(self, x: FloatArray) -> FloatArray:
        """Standardised rows, shrunk to the ball of radius sqrt(d) and divided by it."""
        z = (self.ranges.scaled(x) - self.mean) / self.sd / math.sqrt(len(self.mean))
        norms = np.linalg.norm(z, axis=1)
        shrunk: FloatArray = z / np.maximum(norms, 1.0)[:, None]
        return shrunk

    @property
    def top(self) -> float:
        """Largest size of a centred target, in scaled units."""
        return 1.0 + abs(self.centre)

    def target(self, y: FloatArray) -> FloatArray:
        """Centred targets in [-1, 1]."""
        return (self.ranges.scaled_target(y) - self.centre) / self.top

    def predicted(self, x: FloatArray, theta: FloatArray) -> FloatArray:
        """Predictions in the units of y, from an intercept and slopes."""
        middle, half = self.ranges.target
        predictions: FloatArray = middle + half * (self.centre + self.top * (theta[0] + self.rows(x) @ theta[1:]))
        return predictions


def private_scale(x: FloatArray, y: FloatArray, ranges: Ranges, mu: float, rng: np.random.Generator) -> PrivateScale:
    """Means and standard deviations under Gaussian noise that spends mu: sums of u and u^2 per column, of v, and n.

    One row moves them by at most sqrt(2d + 2) together (add-remove). A variance is kept between twice the noise of its
    estimate and 1, so that a statistic that the noise hides leaves the declared range as it is.
    """
    u, v = ranges.scaled(x), ranges.scaled_target(y)
    columns = u.shape[1]
    sigma = math.sqrt(2 * columns + 2) / mu
    exact = np.concatenate([u.sum(axis=0), (u**2).sum(axis=0), [v.sum(), len(v)]])
    noisy = exact + sigma * rng.standard_normal(len(exact))
    rows = max(float(noisy[-1]), 1.0)
    mean = np.clip(noisy[:columns] / rows, -1.0, 1.0)
    square = np.clip(noisy[columns : 2 * columns] / rows, 0.0, 1.0)
    floor = min(1.0, max(2 * sigma / rows, 1e-4))
    variance = np.clip(square - mean**2, floor, 1.0)
    return PrivateScale(ranges, mean, np.sqrt(variance), float(np.clip(noisy[-2] / rows, -1.0, 1.0)))


@lru_cache(maxsize=64)
def split_budget(epsilon: float, delta: float) -> tuple[float, float]:
    """The mu of the statistics, and the epsilon at the same delta that is left for the sums.

    >>> mu, rest = split_budget(1.0, 1e-6)
    >>> round(mu, 4), round(rest, 4)
    (0.0749, 0.9448)
    """
    mu = mu_from(epsilon, delta)
    return math.sqrt(STATISTICS_SHARE) * mu, epsilon_from(math.sqrt(1 - STATISTICS_SHARE) * mu, delta)


def with_private_statistics(
    x: FloatArray,
    y: FloatArray,
    test_x: FloatArray,
    ranges: Ranges,
    epsilons: FloatArray,
    delta: float,
    rng: np.random.Generator,
) -> FloatArray:
    """Predictions of test rows in the units of y, shape (k, m): private statistics, then `ssp` with adaptive ridge.

    A noisy mean does not centre y exactly, so there is an intercept.
    """
    found = []
    for epsilon in epsilons:
        mu, rest = split_budget(float(epsilon), delta)
        scale = private_scale(x, y, ranges, mu, rng)
        made = on_unit_ball(
            scale.rows(x),
            scale.target(y),
            ("ssp",),
            np.array([rest]),
            delta,
            int(rng.integers(2**40)),
            intercept=True,
        )
        found.append(scale.predicted(test_x, made["ssp"][0]))
    return np.array(found)
