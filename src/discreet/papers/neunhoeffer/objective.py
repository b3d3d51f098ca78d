"""Objective perturbation of linear regression as in the PSI library (PSIlence), from its published source; NOT PRIVATE.

The library (privacytoolsproject/PSI-Library, `R/mechanism-objective.R` and `R/statistic-glm.R`) divides x by its
largest size and y by the norm of the *whole vector*, adds an intercept, and minimises over (beta, log s)

    log s + sum (y - X beta)^2 / (2 n s^2) - b'(beta, log s) / n

by Nelder and Mead's method. Claimed: epsilon. True: none is proved (the loss has no bounded gradient, there is no
penalty, both divisors come from the data), and with y so small the noise hardly moves beta at all. Two versions of b
have been published; the older one does not depend on epsilon.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

if TYPE_CHECKING:
    from discreet.exact.arrays import FloatArray

EPSILON: Final = 0.03
Version = Literal["older", "newer"]
_MOST_CALLS: Final = 500
_RELATIVE: Final = 1e-8


@dataclass(frozen=True)
class Scaled:
    """The table as the library sees it: sums of products of (1, x/x_size) and y/y_size, and the two divisors."""

    XtX: FloatArray
    Xty: FloatArray
    n: int
    x_size: float
    y_size: float

    @property
    def beta(self) -> FloatArray:
        """Least squares in scaled units."""
        return np.asarray(np.linalg.solve(self.XtX, self.Xty), dtype=np.float64)

    @property
    def rest(self) -> float:
        """Residual sum of squares in scaled units; y'y is 1."""
        return float(1.0 - self.Xty @ self.beta)

    def original(self, estimates: FloatArray) -> FloatArray:
        """Estimates (intercept, slope, log s) put back as the library does: log s is multiplied like a slope."""
        return np.asarray(estimates * self.y_size / np.array([1.0, self.x_size, self.x_size]))


def scaled(x: FloatArray, y: FloatArray) -> Scaled:
    """Scale a table as the library does, by numbers of the data: NOT PRIVATE.

    >>> scaled(np.array([1.0, -2.0, 3.0]), np.array([3.0, 0.0, 4.0])).y_size
    5.0
    """
    x_size, y_size = float(np.abs(x).max()), float(np.linalg.norm(y))
    X = np.column_stack([np.ones_like(x), x / x_size])
    return Scaled(X.T @ X, X.T @ (y / y_size), len(x), x_size, y_size)


def perturbation(version: Version, epsilon: float, n: int, rng: np.random.Generator, draws: int) -> FloatArray:
    """The noise vectors b, one for each draw; NOT PRIVATE.

    The older version draws a norm from a gamma law of scale 2/epsilon and multiplies it by epsilon again. The newer one
    draws an exponential norm of mean 2/epsilon', epsilon' a little below epsilon, and a uniform direction.

    >>> perturbation("older", 0.03, 100, np.random.default_rng(1), 4).shape
    (4, 3)
    """
    if version == "older":
        norm = rng.gamma(3.0, 2 / epsilon, draws)
        return rng.laplace(0.0, epsilon * norm[:, None], (draws, 3))
    constant, penalty = 0.25, max(1.0, 0.25 / (n * math.expm1(epsilon / 2)) + 0.001)
    term = constant / n * penalty
    left = epsilon - math.log1p(2 * term + term**2)
    direction = rng.normal(size=(draws, 3))
    norm = rng.exponential(2 / left, draws)
    return np.asarray(direction * (norm / np.linalg.norm(direction, axis=1))[:, None])


def exact_minimiser(table: Scaled, b: FloatArray) -> FloatArray:
    """The minimiser (intercept, slope, log s) in scaled units, in closed form, for each noise vector.

    For given v = s^2 it is beta = beta_ols + v (X'X)^-1 b_beta, and the profile over v is stationary where
    c v^2 - (n - b_s) v + rest = 0, c = b_beta'(X'X)^-1 b_beta; the smaller root is the minimum near least squares (the
    objective falls without bound as s grows beyond the larger one). Not a number where there is no such root.

    >>> table = scaled(np.array([1.0, -2.0, 3.0, 0.5]), np.array([3.0, 0.0, 4.0, 1.0]))
    >>> bool(np.allclose(exact_minimiser(table, np.zeros((1, 3)))[0, :2], table.beta))
    True
    """
    step = np.linalg.solve(table.XtX, b[:, :2].T).T
    curve = (b[:, :2] * step).sum(axis=1)
    left = table.n - b[:, 2]
    with np.errstate(invalid="ignore"):
        v = 2 * table.rest / (left + np.sqrt(left**2 - 4 * curve * table.rest))
        return np.column_stack([table.beta + v[:, None] * step, np.log(v) / 2])


def perturbed_objective(estimates: FloatArray, table: Scaled, b: FloatArray) -> float:
    """The library's objective at (intercept, slope, log s), in scaled units.

    >>> table = scaled(np.array([1.0, -1.0]), np.array([3.0, 4.0]))
    >>> round(perturbed_objective(np.zeros(3), table, np.zeros(3)), 4)
    1.1689
    """
    beta, log_s = estimates[:2], float(estimates[2])
    squares = 1.0 - 2 * float(beta @ table.Xty) + float(beta @ table.XtX @ beta)
    likelihood = math.log(2 * math.pi) / 2 + log_s + squares / (2 * table.n) * math.exp(min(700.0, -2 * log_s))
    return float(likelihood - b @ estimates / table.n)


def nelder_mead(table: Scaled, b: FloatArray) -> FloatArray:
    """What a simplex search from 0 gives, with the settings of R's `optim`: steps of 0.1, tolerance 1e-8, 500 calls.

    >>> table = scaled(np.array([1.0, -2.0, 3.0, 0.5]), np.array([3.0, 0.0, 4.0, 1.0]))
    >>> bool(abs(nelder_mead(table, np.zeros(3)) - exact_minimiser(table, np.zeros((1, 3)))[0]).max() < 0.01)
    True
    """
    from scipy.optimize import minimize

    start = np.zeros(3)
    simplex = np.vstack([start, 0.1 * np.eye(3)])
    tolerance = _RELATIVE * (abs(perturbed_objective(start, table, b)) + _RELATIVE)
    found = minimize(
        perturbed_objective,
        start,
        args=(table, b),
        method="Nelder-Mead",
        options={"initial_simplex": simplex, "fatol": tolerance, "xatol": np.inf, "maxfev": _MOST_CALLS},
    )
    return np.asarray(found.x)


def claimed_accuracy(n: int, epsilon: float) -> float:
    """The accuracy that the library prints, log(20)/(n epsilon), which knows neither data nor scale.

    >>> round(claimed_accuracy(10_000, 0.03), 9)
    0.009985774
    """
    return math.log(20) / (n * epsilon)


def certified_loss(without: FloatArray, with_row: FloatArray, *, failure: float = 1e-3) -> float:
    """A lower bound on epsilon from two samples of outputs, one for a table and one for it with a row more.

    The threshold is half way between the medians of the first halves; on the second halves the shares beyond it are
    bounded by Clopper & Pearson at a total failure probability of `failure`.

    >>> certified_loss(np.zeros(1000), np.ones(1000)) > 4
    True
    """
    from scipy.stats import beta

    half = len(without) // 2
    threshold = (np.median(without[:half]) + np.median(with_row[:half])) / 2
    sign = 1.0 if np.median(with_row[:half]) > threshold else -1.0
    tested = len(without) - half
    yes = int((sign * (with_row[half:] - threshold) > 0).sum())
    false = int((sign * (without[half:] - threshold) > 0).sum())
    low = float(beta.ppf(failure / 2, yes, tested - yes + 1)) if yes else 0.0
    high = float(beta.isf(failure / 2, false + 1, tested - false)) if false < tested else 1.0
    return math.log(low / high) if low > high else 0.0
