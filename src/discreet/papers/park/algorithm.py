"""Algorithm 1 of the note with its loop and weights written out, for many settings of the noise at once.

NOT PRIVATE. Claimed: every noisy moment is level-DP, so that 2J of them compose as `levels` says. True: the first
moment with Laplace noise keeps its claim from the second pass on; with Gaussian noise it is (level, delta)-DP; the
second moment with Wishart noise keeps no epsilon at all (`wishart_claim`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from discreet.exact.arrays import FloatArray

# rows whose products are formed at once: they stay in a cache
_CHUNK: Final = 2048


@dataclass(frozen=True)
class Noise:
    """The noise of one run.

    Attributes
    ----------
    cap
        Largest weight of a row, the note's delta.
    level
        The epsilon claimed for each noisy moment; infinite for no noise.
    first
        Law of the noise of the first moment.
    multiplier
        Of Gaussian noise: sd over sensitivity / level.
    """

    cap: float
    level: float = math.inf
    first: Literal["laplace", "gaussian"] = "laplace"
    multiplier: float = 1.0


def reweighted(
    x: FloatArray, y: FloatArray, noises: Sequence[Noise], iterations: int, rng: np.random.Generator
) -> FloatArray:
    """Iterates of every run, shape (iterations, runs, columns); the first pass has equal weights, NOT PRIVATE.

    >>> rng = np.random.default_rng(2)
    >>> x = rng.standard_normal((500, 2)) / 5
    >>> reweighted(x, x @ [0.5, -0.5], [Noise(10.0)], 3, rng)[-1, 0].round(6).tolist()
    [0.5, -0.5]
    """
    caps = np.array([noise.cap for noise in noises])
    rows, columns = x.shape
    iterates = np.empty((iterations, len(noises), columns))
    theta: FloatArray | None = None
    for step in range(iterations):
        second, first = weighted_moments(x, y, caps, theta)
        for run, noise in enumerate(noises):
            noisy = first[run] + first_noise(noise, rows, columns, rng)
            iterates[step, run] = np.linalg.solve(second[run] + wishart_noise(noise, rows, columns, rng), noisy)
        theta = iterates[step]
    return iterates


def weighted_moments(
    x: FloatArray, y: FloatArray, caps: FloatArray, theta: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """X'SX / N and X'Sy / N of every run, with weights from its coefficients; without coefficients they are 1."""
    rows, columns = x.shape
    upper = np.triu_indices(columns)
    sums = np.zeros((len(caps), len(upper[0]) + columns))
    for start in range(0, rows, _CHUNK):
        part, target = np.ascontiguousarray(x[start : start + _CHUNK].T), y[start : start + _CHUNK]
        products = np.concatenate([*(part[column] * part[column:] for column in range(columns)), part * target])
        if theta is None:
            sums += products.sum(axis=1)
        else:
            sums += weights(target - theta @ part, caps[:, np.newaxis]) @ products.T
    second = np.empty((len(caps), columns, columns))
    second[:, upper[0], upper[1]] = second[:, upper[1], upper[0]] = sums[:, : len(upper[0])] / rows
    return second, sums[:, len(upper[0]) :] / rows


def weights(residuals: FloatArray, cap: FloatArray | float) -> FloatArray:
    """The note's equation (2): one over the residual's size, and at most the cap.

    >>> weights(np.array([0.01, -0.5]), 10.0).tolist()
    [10.0, 2.0]
    """
    return np.asarray(1 / np.maximum(1 / cap, np.abs(residuals)))


def first_noise(noise: Noise, rows: int, columns: int, rng: np.random.Generator) -> FloatArray:
    """Noise of X'Sy / N by equation (4) or (5): sensitivity 2 cap sqrt(d) / N in the L1 norm, 2 cap / N in the L2 norm.

    The sensitivities are those of weights of at most the cap; the first pass has weights 1.
    """
    if math.isinf(noise.level):
        return np.zeros(columns)
    scale = 2 * noise.cap / (rows * noise.level)
    if noise.first == "laplace":
        return rng.laplace(0.0, scale * math.sqrt(columns), columns)
    return rng.normal(0.0, scale * noise.multiplier, columns)


def wishart_noise(noise: Noise, rows: int, columns: int, rng: np.random.Generator) -> FloatArray:
    """Noise of X'SX / N by equations (6) and (7): d + 1 degrees of freedom, scale cap / (2 level N)."""
    if math.isinf(noise.level):
        return np.zeros((columns, columns))
    z = rng.normal(0.0, math.sqrt(noise.cap / (2 * noise.level * rows)), (columns, columns + 1))
    return np.asarray(z @ z.T)
