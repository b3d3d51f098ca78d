"""The algorithm of the note, its noise levels, its simulated rows, and the leak of its Wishart noise. NOT PRIVATE."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from discreet.exact.arrays import FloatArray
from discreet.privacy import advanced_composition, epsilon_from_rho, rho_from

# -- levels ------------------------------------------------------------------------------------------------------------
# The epsilon of each of the 2J pieces: basic, advanced and concentrated composition, and their true guarantees.
#
# The level of concentrated composition in the note makes the *expected* loss epsilon. As (epsilon, delta), pieces of
# level e that were truly e-DP would be e^2/2-zCDP each, so 2J of them at sqrt(epsilon/J) are epsilon-zCDP: about (7.3,
# 1e-6) at epsilon = 0.9, not 0.9.

_HALVINGS: Final = 60


def basic_level(epsilon: float, pieces: int) -> float:
    """Return the epsilon of each piece if their sum is epsilon.

    >>> basic_level(0.9, 20)
    0.045
    """
    return epsilon / pieces


def advanced_level(epsilon: float, delta: float, pieces: int) -> float:
    """Return the epsilon of each piece by the theorem that the note quotes, with all of delta spent on it.

    >>> round(advanced_level(0.9, 1e-6, 20), 4), round(advanced_level(0.9, 1e-6, 60), 4)
    (0.0371, 0.0214)
    """
    low, high = 0.0, epsilon
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if advanced_composition(middle, 0.0, pieces, delta)[0] <= epsilon:
            low = middle
        else:
            high = middle
    return low


def cdp_level(epsilon: float, pieces: int) -> float:
    """Return the epsilon of each piece by the note: pieces e^2 / 2 = epsilon.

    >>> round(cdp_level(0.9, 20), 3)
    0.3
    """
    return math.sqrt(2 * epsilon / pieces)


def expected_loss(level: float, pieces: int) -> float:
    """Return the bound on the expected loss of all pieces from which the note starts.

    >>> round(expected_loss(0.3, 20), 2)
    1.05
    """
    return pieces * level * math.expm1(level) / 2


def cdp_epsilon(epsilon: float, delta: float) -> float:
    """Convert epsilon-CDP to (epsilon, delta), as if every piece were as private as the note claims.

    >>> round(cdp_epsilon(0.9, 1e-6), 1)
    7.3
    """
    return epsilon_from_rho(epsilon, delta)


def equal_level(epsilon: float, delta: float, pieces: int) -> float:
    """Return the epsilon of each piece if all are (epsilon, delta)-DP together under concentrated composition.

    >>> round(equal_level(0.9, 1e-6, 20), 4), round(equal_level(0.9, 1e-6, 60), 4)
    (0.0447, 0.0258)
    """
    return math.sqrt(2 * rho_from(epsilon, delta) / pieces)


def gaussian_multiplier(failure: float) -> float:
    """Return c of the note: noise sd over (sensitivity / level) at which one Gaussian piece is (level, failure)-DP.

    >>> round(gaussian_multiplier(1e-6), 2)
    5.3
    """
    return math.sqrt(2 * math.log(1.25 / failure))


# -- simulation --------------------------------------------------------------------------------------------------------
# Simulated tables of the note: normal regressors, a linear target, both divided by their largest norm.

COLUMNS: Final = 10
VARIANCE: Final = 0.01
TEST_SHARE: Final = 0.1


@dataclass(frozen=True)
class Simulated:
    """Training and test rows in the unit ball, with targets of at most 1 in absolute value.

    Attributes
    ----------
    variance
        Variance of the target given the regressors, in the units of the scaled target.
    """

    x: FloatArray
    y: FloatArray
    test_x: FloatArray
    test_y: FloatArray
    variance: float

    def log_likelihood(self, predicted: FloatArray) -> float:
        """Return the mean normal log density of the test targets around predictions, at the true variance."""
        square = float(np.mean((self.test_y - predicted) ** 2))
        return -0.5 * float(np.log(2 * np.pi * self.variance)) - square / (2 * self.variance)


def simulated(rows: int, rng: np.random.Generator, *, columns: int = COLUMNS) -> Simulated:
    """Simulate training rows and a tenth as many test rows, divided by the largest norms over both.

    NOT PRIVATE, because the divisors come from the rows. The guarantee of the note treats the unit ball as declared.

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
# Algorithm 1 of the note with explicit loop and weights, for many noise settings at once.
#
# NOT PRIVATE. Claimed: every noisy moment is level-DP, so that 2J of them compose as in the section "levels". True: the
# first moment with Laplace noise satisfies its claim from the second pass on, and with Gaussian noise it is
# (level, delta)-DP. The second moment with Wishart noise satisfies no epsilon at all (section "wishart claim").

# rows per block of products, which fits into a cache
_CHUNK: Final = 2048


@dataclass(frozen=True)
class Noise:
    """The noise of one run.

    Attributes
    ----------
    cap
        Largest weight of a row, called delta in the note.
    level
        The epsilon claimed for each noisy moment. Infinite without noise.
    first
        Noise distribution of the first moment.
    multiplier
        Gaussian noise sd over sensitivity / level.
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
    """Return X'SX / N and X'Sy / N of every run. Weights follow from its coefficients and are 1 without them."""
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
    """Compute equation (2) of the note: one over the absolute residual, at most the cap.

    >>> weights(np.array([0.01, -0.5]), 10.0).tolist()
    [10.0, 2.0]
    """
    return np.asarray(1 / np.maximum(1 / cap, np.abs(residuals)))


def first_noise(noise: Noise, rows: int, columns: int, rng: np.random.Generator) -> FloatArray:
    """Draw noise of X'Sy / N by equation (4) or (5): L1 sensitivity 2 cap sqrt(d) / N, L2 sensitivity 2 cap / N.

    The sensitivities hold for weights of at most the cap. The first pass has weights 1.
    """
    if math.isinf(noise.level):
        return np.zeros(columns)
    scale = 2 * noise.cap / (rows * noise.level)
    if noise.first == "laplace":
        return rng.laplace(0.0, scale * math.sqrt(columns), columns)
    return rng.normal(0.0, scale * noise.multiplier, columns)


def wishart_noise(noise: Noise, rows: int, columns: int, rng: np.random.Generator) -> FloatArray:
    """Draw noise of X'SX / N by equations (6) and (7): d + 1 degrees of freedom, scale cap / (2 level N)."""
    if math.isinf(noise.level):
        return np.zeros((columns, columns))
    z = rng.normal(0.0, math.sqrt(noise.cap / (2 * noise.level * rows)), (columns, columns + 1))
    return np.asarray(z @ z.T)


# -- wishart claim -----------------------------------------------------------------------------------------------------
# Whether Wishart noise with d + 1 degrees of freedom satisfies the claimed pure epsilon (equations 6 to 10).
#
# Claimed: level-DP. True: no epsilon at all. The noisy matrix minus that of a neighbouring table with one row more has
# a negative eigenvalue with probability 1 - exp(-level), whatever the number of columns, and that table could never
# have produced it. So the release is not (epsilon, delta)-DP for any epsilon unless delta is at least that large.


def ruled_out_probability(level: float) -> float:
    """Return the probability that a neighbouring table is ruled out, which is the least delta at any epsilon.

    >>> round(ruled_out_probability(0.1), 3), round(ruled_out_probability(1.0), 2)
    (0.095, 0.63)
    """
    return -math.expm1(-level)


def true_epsilon(level: float, delta: float) -> float:
    """Return the epsilon of one noisy second moment at delta for one row more or less: infinite unless delta is huge.

    If the row is present, the loss is `level` in every draw. If it is absent, the loss is infinite with
    `ruled_out_probability` and -`level` otherwise. From that delta on epsilon is 0, because 1 - exp(-level) covers the
    other direction too.

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
    # a table of one row: the number of rows and the cap cancel
    noise = Noise(cap=1.0, level=level)
    drawn = np.array([wishart_noise(noise, 1, columns, rng) for _ in range(draws)])
    return int((np.linalg.eigvalsh(drawn - np.outer(row, row))[:, 0] < 0).sum())
