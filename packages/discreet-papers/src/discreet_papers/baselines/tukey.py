"""TukeyEM (Amin, Joseph, Ribero and Vassilvitskii 2023) with a corrected test.

Least squares on disjoint random parts of the rows gives m points. A noisy test checks that the table is far from every
table for which the region of depth at least m/4 is too small. If the test passes, the exponential mechanism draws a
point of large Tukey depth from that region, axis by axis. The authors' code draws the noise of the test at scale
epsilon/2 instead of 2/epsilon.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet_papers.baselines.boxed_rows import BoxedRegressor

if TYPE_CHECKING:
    from discreet.exact.arrays import FloatArray

MOST_MODELS: Final = 1000
FEWEST_MODELS: Final = 8
ROWS_PER_COEFFICIENT: Final = 2
COUNT_SHARE: Final = 0.05  # part of epsilon for the row count, which determines the number of models


@dataclass(eq=False)
class TukeyEM(BoxedRegressor):
    """Exponential mechanism on the Tukey depth of many models. If its test fails, it predicts the middle of the box.

    `models` is the number of parts of the rows. By default, it is computed from a noisy row count.
    """

    models: int | None = None

    def coefficients(self, a: FloatArray, v: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw a point, or return zeros if the test fails."""
        size = a.shape[1]
        budget, models = self.epsilon, self.models
        if models is None:
            budget = (1 - COUNT_SHARE) * self.epsilon
            rows = len(v) + rng.laplace(scale=1 / (COUNT_SHARE * self.epsilon))  # [P:tukey-count]
            models = int(min(max(rows / (ROWS_PER_COEFFICIENT * size), FEWEST_MODELS), MOST_MODELS))
        points = part_models(a, v, models, rng)
        drawn = tukey_draw(points, budget / 2, budget / 2, self.delta, rng)  # [P:tukey-halves]
        return np.zeros(size) if drawn is None else drawn


def part_models(a: FloatArray, v: FloatArray, models: int, rng: np.random.Generator) -> FloatArray:
    """Fit minimum-norm least squares on disjoint parts. Each row is assigned to a part independently of other rows."""
    part = rng.integers(models, size=len(v))  # [P:tukey-parts]
    order = np.argsort(part, kind="stable")
    ends = np.cumsum(np.bincount(part, minlength=models))
    models_by_part = [
        np.linalg.lstsq(a[rows], v[rows], rcond=None)[0] if len(rows) else np.zeros(a.shape[1])
        for rows in np.split(order, ends[:-1])
    ]
    return np.array(models_by_part)


def log_volumes(ordered: FloatArray) -> FloatArray:
    """Return at index i the log volume of the region of depth at least i, from sorted columns. Index 0 is infinite."""
    count = len(ordered)
    deepest = count // 2
    lengths = ordered[::-1][:deepest] - ordered[:deepest]
    with np.errstate(divide="ignore"):
        inside = np.log(lengths).sum(axis=1)
    return np.concatenate([[np.inf], inside])


def safe_distance(volumes: FloatArray, epsilon: float, delta: float, depth: int) -> int:
    """Return a lower bound on how many points must be replaced to make the restricted exponential mechanism unsafe.

    Distance k is certain if V(depth - k - 1) / V(depth + k + g + 1) e^(-epsilon g / 2) (1 + e^(epsilon / 2)) <= delta
    for some g >= 1. A result of 0 means that nothing is certain, not even for these points themselves.
    """
    deepest = len(volumes) - 1
    limit = math.log(delta) - math.log1p(math.exp(epsilon / 2))  # [P:tukey-limit]
    for k in range(depth - 1):
        inner = volumes[depth + k + 2 : deepest + 1]
        gaps = np.arange(1, len(inner) + 1)
        finite = inner[np.isfinite(inner)]
        margins = volumes[depth - k - 1] - finite - epsilon / 2 * gaps[: len(finite)]  # [P:tukey-condition]
        if not (len(finite) and math.isfinite(volumes[depth - k - 1]) and margins.min() <= limit):
            return k
    return max(depth - 1, 0)


def tukey_draw(
    points: FloatArray, test_epsilon: float, draw_epsilon: float, delta: float, rng: np.random.Generator
) -> FloatArray | None:
    """Draw a point of large depth, or return None if the noisy test fails."""
    ordered = np.sort(points, axis=0)
    depth = len(points) // 4
    volumes = log_volumes(ordered)
    distance = safe_distance(volumes, draw_epsilon, delta, depth)
    noisy = distance + rng.laplace(scale=1 / test_epsilon)  # [P:tukey-test-noise]
    if noisy <= math.log(1 / (2 * delta)) / test_epsilon or not np.isfinite(volumes[depth]):  # [P:tukey-threshold]
        return None
    # the region of depth exactly i is a box minus the next inner box
    outer, inner = volumes[depth:], np.append(volumes[depth + 1 :], -np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        exactly = np.where(np.isfinite(outer), outer + np.log1p(-np.exp(inner - outer)), -np.inf)
    weights = exactly + draw_epsilon / 2 * np.arange(len(outer))  # [P:tukey-weights]
    chosen = depth + int(np.argmax(weights + rng.gumbel(size=len(weights))))
    return _in_shell(ordered, chosen, rng)


def _in_shell(ordered: FloatArray, depth: int, rng: np.random.Generator) -> FloatArray:
    """Draw a uniform point in the box of this depth but outside the box of the next depth."""
    low, high = ordered[depth - 1], ordered[-depth]
    if 2 * depth + 2 > len(ordered):
        return np.asarray(rng.uniform(low, high), dtype=np.float64)
    inner_low, inner_high = ordered[depth], ordered[-depth - 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        outer, inner = np.log(high - low), np.log(inner_high - inner_low)
        ring = np.log((inner_low - low) + (high - inner_high))
    # choose the first axis on which the point is outside the inner box: inner box before it, ring on it, outer box
    # after it
    before = np.concatenate([[0.0], np.cumsum(inner)[:-1]])
    after = np.concatenate([np.cumsum(outer[::-1])[::-1][1:], [0.0]])
    axis = int(np.argmax(before + ring + after + rng.gumbel(size=len(ring))))  # [P:tukey-shell]
    axes = np.arange(len(low))
    point: FloatArray = np.where(axes < axis, rng.uniform(inner_low, inner_high), rng.uniform(low, high))
    left, right = inner_low[axis] - low[axis], high[axis] - inner_high[axis]
    along = rng.uniform(0.0, left + right)
    point[axis] = low[axis] + along if along < left else inner_high[axis] + (along - left)
    return point
