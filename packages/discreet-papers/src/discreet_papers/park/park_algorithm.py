"""Implement the note's algorithm, noise levels and simulated rows, and the leak of its noise. NOT PRIVATE."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from discreet.exact.arrays import FloatArray
from discreet.privacy import advanced_composition, epsilon_from_rho, rho_from

# -- levels ------------------------------------------------------------------------------------------------------------
# The epsilon (the level) of each of the 2J noisy moments, under basic, advanced and concentrated composition.
#
# With concentrated composition, the level of the note makes the *expected* loss epsilon. If each moment were truly e-DP
# at level e, it would be e^2/2-zCDP. So 2J moments at level sqrt(epsilon/J) would be epsilon-zCDP, which at epsilon =
# 0.9 is about (7.3, 1e-6)-DP, not 0.9.

_HALVINGS: Final = 60


def basic_level(epsilon: float, pieces: int) -> float:
    """Return the epsilon of each piece if all pieces add up to epsilon."""
    return epsilon / pieces


def advanced_level(epsilon: float, delta: float, pieces: int) -> float:
    """Return the epsilon of each piece by the theorem that the note quotes, which spends all of delta."""
    low, high = 0.0, epsilon
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if advanced_composition(middle, 0.0, pieces, delta)[0] <= epsilon:
            low = middle
        else:
            high = middle
    return low


def cdp_level(epsilon: float, pieces: int) -> float:
    """Return the epsilon of each piece according to the note, from pieces * e^2 / 2 = epsilon."""
    return math.sqrt(2 * epsilon / pieces)


def expected_loss(level: float, pieces: int) -> float:
    """Return the bound on the expected loss of all pieces that the note starts from."""
    return pieces * level * math.expm1(level) / 2


def cdp_epsilon(epsilon: float, delta: float) -> float:
    """Convert epsilon-CDP to the epsilon of (epsilon, delta)-DP, assuming that every piece satisfies its claim."""
    return epsilon_from_rho(epsilon, delta)


def equal_level(epsilon: float, delta: float, pieces: int) -> float:
    """Return the epsilon of each piece so that all are jointly (epsilon, delta)-DP by concentrated composition."""
    return math.sqrt(2 * rho_from(epsilon, delta) / pieces)


def gaussian_multiplier(failure: float) -> float:
    """Return c of the note: one Gaussian piece with noise sd c * sensitivity / level is (level, failure)-DP."""
    return math.sqrt(2 * math.log(1.25 / failure))


# -- simulation --------------------------------------------------------------------------------------------------------
# The simulated tables of the note: normal regressors and a linear target, both divided by their largest norm.

COLUMNS: Final = 10
VARIANCE: Final = 0.01
TEST_SHARE: Final = 0.1


@dataclass(frozen=True)
class Simulated:
    """Training and test rows in the unit ball, with targets of at most 1 in absolute value.

    `variance` is the variance of the scaled target given the regressors.
    """

    x: FloatArray
    y: FloatArray
    test_x: FloatArray
    test_y: FloatArray
    variance: float

    def log_likelihood(self, predicted: FloatArray) -> float:
        """Return the mean normal log density of the test targets around the predictions, at the true variance."""
        square = float(np.mean((self.test_y - predicted) ** 2))
        return -0.5 * float(np.log(2 * np.pi * self.variance)) - square / (2 * self.variance)


def simulated(rows: int, rng: np.random.Generator, *, columns: int = COLUMNS) -> Simulated:
    """Simulate training rows and a tenth as many test rows, divided by the largest norms over both.

    NOT PRIVATE, because the divisors depend on the rows. The guarantee of the note treats the unit ball as declared.

    >>> table = simulated(100, np.random.default_rng(1))
    >>> table.x.shape, table.test_x.shape, float(max(abs(table.y).max(), abs(table.test_y).max()))
    ((100, 10), (10, 10), 1.0)
    """
    tests = max(1, round(rows * TEST_SHARE))
    x = rng.standard_normal((rows + tests, columns))
    x /= np.sqrt(np.einsum("ij,ij->i", x, x).max())
    y = x @ rng.standard_normal(columns) + np.sqrt(VARIANCE) * rng.standard_normal(rows + tests)
    largest = float(np.abs(y).max())
    y /= largest
    return Simulated(x[:rows], y[:rows], x[rows:], y[rows:], VARIANCE / largest**2)


# -- algorithm ---------------------------------------------------------------------------------------------------------
# Algorithm 1 of the note with an explicit loop and weights, for many noise settings at once.
#
# NOT PRIVATE. The note claims that every noisy moment is level-DP, so that 2J of them compose as in the section
# "levels". In truth, the first moment with Laplace noise satisfies its claim from the second pass on, and with Gaussian
# noise it is (level, delta)-DP. The second moment with Wishart noise satisfies no epsilon at all (section "wishart
# claim").

# rows per block of products, which fits into a cache
_CHUNK: Final = 2048


@dataclass(frozen=True)
class Noise:
    """Noise of one run.

    `cap` is the largest weight of a row, which the note calls delta. `level` is the epsilon claimed for each noisy
    moment, infinite without noise. `first` is the noise distribution of the first moment. The Gaussian noise sd is
    `multiplier` * sensitivity / level.
    """

    cap: float
    level: float = math.inf
    first: Literal["laplace", "gaussian"] = "laplace"
    multiplier: float = 1.0


def reweighted(
    x: FloatArray, y: FloatArray, noises: Sequence[Noise], iterations: int, rng: np.random.Generator
) -> FloatArray:
    """Return the iterates of every run, shape (iterations, runs, columns), starting from equal weights. NOT PRIVATE.

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
    """Return X'SX / N and X'Sy / N for every run. The weights S are 1 in the first pass (`theta` is None)."""
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
    """Compute equation (2) of the note: the inverse absolute residual, at most the cap."""
    return np.asarray(1 / np.maximum(1 / cap, np.abs(residuals)))


def first_noise(noise: Noise, rows: int, columns: int, rng: np.random.Generator) -> FloatArray:
    """Draw the noise of X'Sy / N by equation (4) or (5): L1 sensitivity 2 cap sqrt(d) / N, L2 sensitivity 2 cap / N.

    The sensitivities hold for weights up to the cap. The first pass has weights 1.
    """
    if math.isinf(noise.level):
        return np.zeros(columns)
    scale = 2 * noise.cap / (rows * noise.level)
    if noise.first == "laplace":
        return rng.laplace(0.0, scale * math.sqrt(columns), columns)
    return rng.normal(0.0, scale * noise.multiplier, columns)


def wishart_noise(noise: Noise, rows: int, columns: int, rng: np.random.Generator) -> FloatArray:
    """Draw the noise of X'SX / N by equations (6) and (7): d + 1 degrees of freedom, scale cap / (2 level N)."""
    if math.isinf(noise.level):
        return np.zeros((columns, columns))
    z = rng.normal(0.0, math.sqrt(noise.cap / (2 * noise.level * rows)), (columns, columns + 1))
    return np.asarray(z @ z.T)


# -- wishart claim -----------------------------------------------------------------------------------------------------
# Whether Wishart noise with d + 1 degrees of freedom satisfies the claimed pure epsilon (equations 6 to 10).
#
# The note claims level-DP. In truth there is no epsilon at all. Subtract the exact matrix of a neighbouring table with
# one more row from the noisy matrix. With probability 1 - exp(-level), whatever the number of columns, the difference
# has a negative eigenvalue, and that neighbour could never have produced it. So the release is not (epsilon, delta)-DP
# for any epsilon unless delta is at least that large.


def ruled_out_probability(level: float) -> float:
    """Return the probability that a neighbouring table is ruled out, which is the smallest delta at any epsilon."""
    return -math.expm1(-level)


def true_epsilon(level: float, delta: float) -> float:
    """Return the epsilon of one noisy second moment at delta, if one row is added or removed.

    If the row is present, the loss is `level` in every draw. If it is absent, the loss is infinite with
    `ruled_out_probability` and -`level` otherwise. So epsilon is infinite below that delta, and 0 from it on, because 1
    - exp(-level) covers the other direction too.

    >>> true_epsilon(0.3, 1e-6)
    inf
    """
    return math.inf if delta < ruled_out_probability(level) else 0.0


def ruled_out(level: float, draws: int, rng: np.random.Generator, *, columns: int = 10) -> int:
    """Count the draws in which the noisy second moment rules out the table with one more row at the bound.

    >>> rng = np.random.default_rng(3)
    >>> 100 <= ruled_out(0.1, 1500, rng, columns=3) <= 190
    True
    """
    row = rng.standard_normal(columns)
    row /= np.linalg.norm(row)
    # a table of one row, because the number of rows and the cap cancel
    noise = Noise(cap=1.0, level=level)
    drawn = np.array([wishart_noise(noise, 1, columns, rng) for _ in range(draws)])
    return int((np.linalg.eigvalsh(drawn - np.outer(row, row))[:, 0] < 0).sum())
