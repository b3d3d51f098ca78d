"""The mean of numbers in [0, 1] in the ways of the notes, and corrected; NOT PRIVATE, noise has a seed.

| Way | Claimed | True, n public | True, n private |
|---|---|---|---|
| Laplace noise of scale 1/(n epsilon) | epsilon | epsilon | none |
| exponential mechanism, absolute error, on the line | epsilon | epsilon/2 | none |
| exponential mechanism, squared error, on the line (a normal law) | epsilon | none: unbounded | none |
| the same normal law cut to [0, 1] | | epsilon | none |

Every function takes the exact mean and n, and gives as many draws as there are means.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from discreet.exact.arrays import FloatArray


def laplace_mean(mean: FloatArray, n: int, epsilon: float, rng: np.random.Generator) -> FloatArray:
    """The mean with Laplace noise of scale 1/(n epsilon), on the whole line; NOT PRIVATE.

    >>> laplace_mean(np.full(3, 0.5), 100, 1.0, np.random.default_rng(1)).shape
    (3,)
    """
    return mean + rng.laplace(0.0, 1 / (n * epsilon), len(mean))


def absolute_error_mean(mean: FloatArray, n: int, epsilon: float, rng: np.random.Generator) -> FloatArray:
    """The exponential mechanism with absolute error on the line: density exp(-(n epsilon/2) |mean - t|); NOT PRIVATE.

    >>> absolute_error_mean(np.full(3, 0.5), 100, 1.0, np.random.default_rng(1)).shape
    (3,)
    """
    return mean + rng.laplace(0.0, 2 / (n * epsilon), len(mean))


def squared_error_mean(mean: FloatArray, n: int, epsilon: float, rng: np.random.Generator) -> FloatArray:
    """The notes' squared error: N(mean, 1/(n epsilon)) on the line, which keeps no epsilon; NOT PRIVATE.

    >>> squared_error_mean(np.full(3, 0.5), 100, 1.0, np.random.default_rng(1)).shape
    (3,)
    """
    return rng.normal(mean, 1 / math.sqrt(n * epsilon))


def squared_sensitivity(n: int, reach: float = 1.0) -> float:
    """Largest change of -(mean - l)^2 over neighbours (one of n numbers exchanged) and candidates l in [0, reach].

    For l = reach >= 1 the means 0 and 1/n differ most; for l = 0 the means 1 - 1/n and 1.

    >>> squared_sensitivity(100), round(squared_sensitivity(100, 1000.0), 3)
    (0.0199, 20.0)
    """
    step = 1 / n
    ends = [
        (one - other) * (one + other - 2 * at) for one, other in ((step, 0.0), (1.0, 1 - step)) for at in (0.0, reach)
    ]
    return round(max(abs(one) for one in ends), 12)


def squared_error_corrected(mean: FloatArray, n: int, epsilon: float, rng: np.random.Generator) -> FloatArray:
    """Squared error by the general theorem with its true sensitivity (2 - 1/n)/n, on [0, 1]; NOT PRIVATE.

    >>> bool(abs(squared_error_corrected(np.full(9, 0.5), 4, 1.0, np.random.default_rng(1)) - 0.5).max() <= 0.5)
    True
    """
    return _truncated_normal(mean, math.sqrt(squared_sensitivity(n) / epsilon), rng)


def squared_error_range(mean: FloatArray, n: int, epsilon: float, rng: np.random.Generator) -> FloatArray:
    """The notes' normal law cut to [0, 1], the law of `private_mean(method="squared-error")`; NOT PRIVATE.

    >>> bool(abs(squared_error_range(np.full(9, 0.5), 4, 1.0, np.random.default_rng(1)) - 0.5).max() <= 0.5)
    True
    """
    return _truncated_normal(mean, 1 / math.sqrt(n * epsilon), rng)


def absolute_error_range(mean: FloatArray, n: int, epsilon: float, rng: np.random.Generator) -> FloatArray:
    """Absolute error on [0, 1] at the exact rate, the law of `private_mean(method="absolute-error")`; NOT PRIVATE.

    >>> bool(abs(absolute_error_range(np.full(9, 0.5), 4, 1.0, np.random.default_rng(1)) - 0.5).max() <= 0.5)
    True
    """
    rate = n * math.log((1 + math.exp(epsilon)) / 2)
    below, above = -np.expm1(-rate * mean), -np.expm1(-rate * (1 - mean))  # mass on either side, times 2
    u = rng.uniform(-below, above)
    return mean - np.sign(u) * np.log1p(-np.abs(u)) / rate


def _truncated_normal(mean: FloatArray, sd: float, rng: np.random.Generator) -> FloatArray:
    """Normal variates in [0, 1], by drawing anew what falls outside; the mean lies inside."""
    drawn = rng.normal(mean, sd)
    while (outside := (drawn < 0) | (drawn > 1)).any():
        drawn[outside] = rng.normal(mean[outside], sd)
    return drawn


def squared_error_loss(n: int, epsilon: float, at: float) -> float:
    """Loss of N(mean, 1/(n epsilon)) at output `at`, for means 1 and 1 - 1/n.

    >>> round(abs(squared_error_loss(100, 1.0, 10.0)), 3)
    9.005
    """
    one, other = 1.0, 1 - 1 / n
    return n * epsilon / 2 * ((other - at) ** 2 - (one - at) ** 2)


def largest_squared_error_loss(n: int, epsilon: float, at: float) -> float:
    """Largest loss of N(mean, 1/(n epsilon)) at output `at`, over all pairs of means k/n and (k + 1)/n.

    It is linear in k, so one of the two ends is the worst.

    >>> largest_squared_error_loss(100, 1.0, 10.0) > abs(squared_error_loss(100, 1.0, 10.0))
    True
    """
    ends = ((1 / n, 0.0), (1.0, 1 - 1 / n))
    return max(abs(n * epsilon / 2 * ((other - at) ** 2 - (one - at) ** 2)) for one, other in ends)


def truncated_loss(n: int, epsilon: float, at: float | None = None) -> float:
    """Largest loss of the same law cut to [0, 1] over all pairs of means k/n and (k + 1)/n, at one output or over all.

    >>> truncated_loss(100, 1.0, 0.5) < truncated_loss(100, 1.0) <= 1.0
    True
    """
    from scipy.special import log_ndtr

    t = np.linspace(0.0, 1.0, 2001) if at is None else np.array([at])
    root = math.sqrt(n * epsilon)
    mean = np.arange(n + 1)[:, None] / n
    inside = np.exp(log_ndtr((1 - mean) * root)) - np.exp(log_ndtr(-mean * root))
    log_density = -(n * epsilon / 2) * (mean - t) ** 2 - np.log(inside)
    return float(np.abs(np.diff(log_density, axis=0)).max())


def private_size_loss(n: int, epsilon: float, at: float) -> float:
    """Loss of Laplace noise of scale 1/(n epsilon) on a mean of 0 where a row is added, at output `at`.

    >>> round(private_size_loss(100, 1.0, 5.0), 2)
    4.99
    """
    return abs(math.log(n / (n + 1)) + epsilon * abs(at))


def absolute_error_loss(n: int, rate: float) -> float:
    """Largest loss of density proportional to exp(-rate |mean - t|) on the whole line when a number is exchanged.

    The normaliser is the same for every mean, so the loss is rate/n, found here over a grid of outputs.

    >>> absolute_error_loss(100, 50.0)
    0.5
    """
    t = np.linspace(-2.0, 3.0, 5001)
    return round(float(np.abs(rate * (np.abs(t - 1 / n) - np.abs(t))).max()), 12)
