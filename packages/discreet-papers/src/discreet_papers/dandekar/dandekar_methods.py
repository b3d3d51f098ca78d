"""Implement the methods of the report: noisy objectives, their minimisers, and the perturbed histogram. NOT PRIVATE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from math import log, prod, sqrt
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.exact.arrays import FloatArray

# -- objectives --------------------------------------------------------------------------------------------------------
# The functional mechanism of the report: Laplace noise on the coefficients of the squared loss, and its repairs.
#
# The loss of rows (x, y) is theta'Q theta - 2 q'theta + c with Q = X'X, q = X'y, c = y'y; features and target lie in
# [-1, 1]. Arrays may have leading batch axes, so that a call covers many runs and budgets. The noise comes from NumPy:
# nothing in this module is private.

Noise = Literal["non-symmetric", "symmetrised", "mirrored", "monomial"]
NOISES: Final[tuple[Noise, ...]] = ("non-symmetric", "symmetrised", "mirrored", "monomial")
_DRAWS = 2_000  # draws of unit noise for the quantile of its norm


@dataclass(frozen=True)
class Quadratic:
    """The loss theta'Q theta - 2 q'theta without its constant, which does not affect the minimum.

    `Q` has shape (..., d, d) and may be asymmetric. `q` has shape (..., d).
    """

    Q: FloatArray
    q: FloatArray

    @classmethod
    def of(cls, X: FloatArray, y: FloatArray) -> Quadratic:
        """Compute the exact loss of rows."""
        return cls(X.T @ X, X.T @ y)

    @property
    def columns(self) -> int:
        """Number of predictors d."""
        return int(self.q.shape[-1])

    @property
    def symmetric(self) -> Quadratic:
        """Return the same function of theta with a symmetric matrix."""
        return Quadratic((self.Q + self.Q.swapaxes(-1, -2)) / 2, self.q)

    @property
    def smallest(self) -> FloatArray:
        """Return the smallest eigenvalue of the symmetric matrix. If it is below 0, the function has no minimum."""
        return np.asarray(np.linalg.eigvalsh(self.symmetric.Q)[..., 0], dtype=np.float64)


def claimed_sensitivity(columns: int) -> float:
    """Return the sensitivity by Lemma 2 of the report, for d predictors."""
    return 2.0 * (columns**2 + 2 * columns + 1)


def exact_sensitivity(columns: int) -> float:
    """Return the largest joint change of all coefficients if one row is added, removed or replaced: half of Lemma 2."""
    return float((columns + 1) ** 2)


def true_epsilon(claimed: float, columns: int, noise: Noise) -> float:
    """Return the true epsilon of a release as written under add-remove, if ranges and lambda were public.

    The report claims `claimed`. If ranges come from the rows or lambda is chosen on the rows, there is no guarantee.

    >>> true_epsilon(1.0, 11, "non-symmetric"), true_epsilon(1.0, 11, "mirrored")
    (0.5, 0.3090277777777778)
    """
    d = columns
    # a mirrored triangle is released only once
    released = d * (d + 1) / 2 + 2 * d + 1 if noise == "mirrored" else exact_sensitivity(d)
    return claimed * released / claimed_sensitivity(d)


def noisy(exact: Quadratic, scale: float | FloatArray, rng: np.random.Generator, noise: Noise) -> Quadratic:
    """Apply Algorithm 1 to the coefficients of the loss. NOT PRIVATE: the noise comes from NumPy.

    The report claims epsilon at scale 2 (d + 1)^2 / epsilon, with d x d entries of Q as coefficients (`non-symmetric`).
    With public ranges and a public lambda, the truth is half of epsilon; see `true_epsilon`. Algorithm 1 also adds
    noise to y'y. It is not drawn here, because no minimum depends on it, but it is included in the privacy loss.

    `scale` is the Laplace scale of a coefficient; its batch axes are broadcast against those of the loss. `noise` is
    one of: `non-symmetric`, every entry of Q separately; `symmetrised`, the same, then (A + A')/2; `mirrored`, the
    upper triangle, copied below; `monomial`, the coefficient of theta_j theta_k, which is twice Q_jk.
    """
    d = exact.columns
    width = np.asarray(scale, dtype=float)
    shape = np.broadcast_shapes(width.shape, exact.q.shape[:-1])
    # the coefficient of theta_j is -2 q_j, so q_j has half of its noise
    linear = rng.laplace(size=(*shape, d)) * width[..., None] / 2
    return Quadratic(exact.Q + unit_noise(shape, d, rng, noise) * width[..., None, None], exact.q + linear)


def unit_noise(shape: tuple[int, ...], columns: int, rng: np.random.Generator, noise: Noise) -> FloatArray:
    """Draw the noise of the matrix Q, if the coefficients of the loss have Laplace noise of scale 1."""
    entries = rng.laplace(size=(*shape, columns, columns))
    if noise == "non-symmetric":
        return entries
    if noise == "symmetrised":
        return (entries + entries.swapaxes(-1, -2)) / 2
    above = np.triu(entries, 1)
    whole = above + above.swapaxes(-1, -2)
    if noise == "monomial":
        whole = whole / 2
    diagonal = np.arange(columns)
    whole[..., diagonal, diagonal] = entries[..., diagonal, diagonal]
    return whole


@cache
def noise_norm(columns: int, noise: Noise, level: float = 0.95) -> float:
    """Return a quantile of the spectral norm of the symmetric part of unit noise, simulated from a fixed seed."""
    drawn = unit_noise((_DRAWS,), columns, np.random.default_rng(1), noise)
    norms = np.abs(np.linalg.eigvalsh((drawn + drawn.swapaxes(-1, -2)) / 2)).max(axis=-1)
    return float(np.quantile(norms, level))


def shifted(loss: Quadratic, scale: float | FloatArray, noise: Noise) -> Quadratic:
    """Apply the ridge shift: raise the smallest eigenvalue to the size of the noise if it is below.

    The shift depends only on the noisy loss and public numbers, so it costs no privacy.
    """
    symmetric = loss.symmetric
    floor = np.asarray(scale, dtype=float) * noise_norm(loss.columns, noise)
    lift = np.maximum(0.0, floor - symmetric.smallest)
    return Quadratic(symmetric.Q + lift[..., None, None] * np.eye(loss.columns), loss.q)


def projected_minimum(loss: Quadratic) -> FloatArray:
    """Minimise over the span of eigenvectors with positive eigenvalues, the repair of Zhang et al. (2012).

    The result depends only on the noisy loss, so it costs no privacy.

    >>> loss = Quadratic(np.diag([2.0, -1.0]), np.array([1.0, 1.0]))
    >>> projected_minimum(loss).tolist()
    [0.5, 0.0]
    """
    values, vectors = np.linalg.eigh(loss.symmetric.Q)
    along = np.einsum("...ji,...j->...i", vectors, loss.q)
    kept = np.divide(along, values, out=np.zeros_like(along), where=values > 0)
    point: FloatArray = np.einsum("...ij,...j->...i", vectors, kept)
    return point


# -- regressions -------------------------------------------------------------------------------------------------------
# The four regressions of the report on a loss theta'Q theta - 2 q'theta, exact or noisy, and its choice of lambda.
#
# All minimise the loss plus lambda (alpha |theta|_2^2 + (1 - alpha) |theta|_1), the report's equation 9: alpha
# multiplies the square, unlike `l1_ratio`. Instead of CVXPY, which the report calls, we use coordinate descent. It
# gives the same numbers in a hundredth of the time, and tests compare the two. Arrays may have leading batch axes.

BoolArray: TypeAlias = npt.NDArray[np.bool_]
Regression = Literal["linear", "ridge", "LASSO", "elastic net"]
REGRESSIONS: Final[tuple[Regression, ...]] = ("linear", "ridge", "LASSO", "elastic net")
ALPHAS: Final[dict[Regression, float]] = {"linear": 1.0, "ridge": 1.0, "LASSO": 0.0, "elastic net": 0.5}
LAMBDAS: Final = tuple(float(value) for value in np.logspace(-3, 3, 13))
FOLDS: Final = 5
_ROUNDS = 2_000
_SWEEPS = 20  # sweeps in a round
_TINY = 1e-14  # share of the trace to add, so that a singular matrix has a solution


def closed_form(loss: Quadratic, ridge: float | FloatArray = 0.0) -> FloatArray:
    """Compute equations 3 and 5 of the report, (Q + lambda I)^-1 q, for any matrix.

    If a noisy matrix is not positive definite, no minimum exists, and the result is not a minimum. If the matrix is
    asymmetric, the result differs from the stationary point of the objective.
    """
    lifted = loss.Q + np.asarray(ridge, dtype=float)[..., None, None] * np.eye(loss.columns)
    q = np.broadcast_to(loss.q, lifted.shape[:-1])
    return np.asarray(np.linalg.solve(lifted, q[..., None])[..., 0], dtype=np.float64)


def convex(loss: Quadratic, square: float | FloatArray) -> BoolArray:
    """Return whether the loss plus `square` |theta|^2 is convex, as CVXPY requires before it calls a solver."""
    allowed: BoolArray = loss.smallest + np.asarray(square, dtype=float) >= 0
    return allowed


def penalised(loss: Quadratic, square: float | FloatArray, absolute: float | FloatArray) -> FloatArray:
    """Minimise the loss plus `square` |theta|_2^2 plus `absolute` |theta|_1 by coordinate descent.

    After each round of sweeps, the equations of the non-zero coefficients are solved exactly. A problem is done when
    this solution satisfies the conditions of a minimum. The loss plus the square must be convex, and only the symmetric
    part of the matrix matters. The weights are broadcast against the batch axes.
    """
    batch = np.broadcast_shapes(loss.q.shape[:-1], np.shape(square), np.shape(absolute))
    d = loss.columns
    matrices = np.broadcast_to(loss.symmetric.Q, (*batch, d, d)).reshape(-1, d, d).copy()
    q = np.broadcast_to(loss.q, (*batch, d)).reshape(-1, d)
    lift = np.broadcast_to(np.asarray(square, dtype=float), batch).reshape(-1)
    limit = np.broadcast_to(np.asarray(absolute, dtype=float), batch).reshape(-1) / 2
    matrices[:, np.arange(d), np.arange(d)] += lift[:, None]
    # if the absolute penalty is small, the signs without it are nearly right
    matrices += _TINY * np.trace(matrices, axis1=1, axis2=2)[:, None, None] * np.eye(d)
    theta = closed_form(Quadratic(matrices, q))
    moving = np.arange(len(q))
    for _ in range(_ROUNDS):
        polished, done = _polished(matrices[moving], q[moving], limit[moving], theta[moving])
        theta[moving[done]] = polished[done]
        moving = moving[~done]
        if not len(moving):
            break
        theta[moving] = _swept(matrices[moving], q[moving], limit[moving], theta[moving])
    return theta.reshape(*batch, d)


def _swept(matrices: FloatArray, q: FloatArray, limit: FloatArray, start: FloatArray) -> FloatArray:
    """Run sweeps of coordinate descent on problems with positive diagonals."""
    theta = start.copy()
    for _ in range(_SWEEPS):
        for j in range(q.shape[1]):
            rest = q[:, j] - np.einsum("bk,bk->b", matrices[:, j], theta) + matrices[:, j, j] * theta[:, j]
            theta[:, j] = np.sign(rest) * np.maximum(np.abs(rest) - limit, 0.0) / matrices[:, j, j]
    return theta


def _polished(
    matrices: FloatArray, q: FloatArray, limit: FloatArray, theta: FloatArray
) -> tuple[FloatArray, BoolArray]:
    """Solve exactly for the signs of theta, and check the conditions of a minimum."""
    signs = np.sign(theta)
    used = signs != 0
    both = used[:, :, None] & used[:, None, :]
    system = np.where(both, matrices, 0.0) + np.eye(q.shape[1]) * ~used[:, None, :]
    solved = np.linalg.solve(system, np.where(used, q - limit[:, None] * signs, 0.0)[..., None])[..., 0]
    slack = np.abs(q - np.einsum("bjk,bk->bj", matrices, solved)) - limit[:, None]
    unit = 1e-9 * (np.abs(q).max(axis=1, keepdims=True) + 1e-300)
    optimal = np.where(used, np.sign(solved) == signs, slack <= unit).all(axis=1)
    return solved, optimal


def by_cvxpy(
    matrix: FloatArray, q: FloatArray, square: float, absolute: float, *, solver: str = "SCS"
) -> FloatArray | None:
    """Find the same minimum with CVXPY and the report's solver, or return None if CVXPY refuses it as not convex."""
    # Any: CVXPY is only partly typed
    cvxpy: Any = import_module("cvxpy")
    theta = cvxpy.Variable(len(q))
    # CVXPY refuses an asymmetric matrix before it checks the eigenvalues
    symmetric = (matrix + matrix.T) / 2 + square * np.eye(len(q))
    loss = cvxpy.quad_form(theta, symmetric) - 2 * (q @ theta)
    problem = cvxpy.Problem(cvxpy.Minimize(loss + absolute * cvxpy.norm1(theta)))
    if not problem.is_dcp():
        return None
    problem.solve(solver=solver)
    return np.asarray(theta.value, dtype=float)


def minimum(loss: Quadratic, regression: Regression, strength: float | FloatArray) -> FloatArray:
    """Fit one of the four regressions. The result is NaN if the report's solver has no solution.

    Linear and ridge regression use the closed form on the unchanged matrix. LASSO and elastic net use the convex
    solver, which refuses objectives that are not convex.
    """
    alpha = ALPHAS[regression]
    value = np.asarray(strength, dtype=float)
    if regression == "linear":
        return closed_form(loss)
    if regression == "ridge":
        return closed_form(loss, value)
    square, absolute = value * alpha, value * (1 - alpha)
    allowed = convex(loss, square)
    # a problem that is refused gets a solvable matrix, and its result is discarded
    safe = np.where(allowed[..., None, None], loss.symmetric.Q, np.eye(loss.columns))
    found = penalised(Quadratic(safe, loss.q), square, absolute)
    return np.where(allowed[..., None], found, np.nan)


def cross_validated(folds: FloatArray, regression: Regression) -> FloatArray:
    """Choose the lambda with the smallest error over the folds, as in the report. NOT PRIVATE: it depends on the rows.

    The report uses this lambda for its private regressions too, and spends nothing on it. `folds` contains the sums of
    products of (x, y) over the rows of each fold, target last: shape (..., folds, d + 1, d + 1).
    """
    train = folds.sum(axis=-3, keepdims=True) - folds
    strengths = np.array(LAMBDAS).reshape(-1, *[1] * (folds.ndim - 2))
    theta = minimum(Quadratic(train[..., :-1, :-1], train[..., :-1, -1]), regression, strengths)
    ends = np.concatenate([theta, -np.ones((*theta.shape[:-1], 1))], axis=-1)
    errors = np.einsum("l...fj,...fjk,l...fk->l...", ends, folds, ends)
    best: FloatArray = np.array(LAMBDAS)[np.argmin(errors, axis=0)]
    return best


# -- histogram ---------------------------------------------------------------------------------------------------------
# The baseline of the report's Figure 5: a perturbed histogram (Lei 2011), and least squares on its cells.
#
# The report calls it DPME, differentially private M-estimators. It divides the box of predictors and target into cells,
# adds Laplace noise to every count and fits the centres of the cells, weighted by their noisy counts.

EXCHANGED = 2.0  # number of counts that change by one if a row is replaced
_HISTOGRAM_DRAWS = 200  # draws of unit noise for the quantile of its norm


def bins_by_rate(rows: int, dimension: int) -> int:
    """Return the number of intervals by Lei's rate, with width (sqrt(log n) / n)^(2 / (2 + dimension)).

    >>> bins_by_rate(253_020, 5), bins_by_rate(49_116, 5)
    (24, 15)
    """
    return int((rows / sqrt(log(rows))) ** (2 / (2 + dimension)))


class Cells:
    """A grid over [-1, 1]^p, target last: the cell of each row, and products of the cell centres."""

    def __init__(self, bins: int, levels: Sequence[int]) -> None:
        """Divide each column into `bins` intervals, or into its levels. 0 levels mean a number."""
        self.levels = tuple(levels)
        self.sizes = tuple(own or bins for own in self.levels)
        axes = [
            np.linspace(-1, 1, size) if own else -1 + (2 * np.arange(size) + 1) / size
            for own, size in zip(self.levels, self.sizes, strict=True)
        ]
        self.centres = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
        self._first, self._second = np.triu_indices(len(axes))
        self._products = self.centres[:, self._first] * self.centres[:, self._second]

    def __len__(self) -> int:
        return prod(self.sizes)

    def counts(self, columns: FloatArray) -> FloatArray:
        """Count the rows in each cell."""
        position = (columns + 1) / 2
        steps = [
            np.rint(position[:, j] * (size - 1)) if own else np.floor(position[:, j] * size)
            for j, (own, size) in enumerate(zip(self.levels, self.sizes, strict=True))
        ]
        inside = [np.clip(step, 0, size - 1).astype(np.intp) for step, size in zip(steps, self.sizes, strict=True)]
        return np.bincount(np.ravel_multi_index(inside, self.sizes), minlength=len(self)).astype(float)

    def loss(self, weights: FloatArray) -> Quadratic:
        """Return the squared loss over the cell centres, with weights of shape (..., cells)."""
        sums = weights @ self._products
        p = len(self.sizes)
        gram = np.zeros((*sums.shape[:-1], p, p))
        gram[..., self._first, self._second] = sums
        gram[..., self._second, self._first] = sums
        return Quadratic(gram[..., :-1, :-1], gram[..., :-1, -1])

    @cached_property
    def noise_norm(self) -> float:
        """Return the 95% quantile of the spectral norm of the matrix noise, if counts have noise of scale 1."""
        drawn = self.loss(np.random.default_rng(1).laplace(size=(_HISTOGRAM_DRAWS, len(self)))).Q
        return float(np.quantile(np.abs(np.linalg.eigvalsh(drawn)).max(axis=-1), 0.95))


def as_written(counts: FloatArray, cells: Cells, epsilon: float, rng: np.random.Generator) -> FloatArray:
    """Fit a histogram whose negative counts are set to 0. NOT PRIVATE: the noise comes from NumPy.

    The claimed epsilon is true if the ranges of the columns are public, but the report takes them from the rows.
    Non-negative counts make the loss convex, but every empty cell gains mass, and slopes shrink towards 0.
    """
    noisy = counts + rng.laplace(scale=EXCHANGED / epsilon, size=counts.shape)
    return closed_form(cells.loss(np.maximum(noisy, 0.0)))


def corrected(counts: FloatArray, cells: Cells, epsilon: float, rng: np.random.Generator) -> FloatArray:
    """Fit a histogram whose negative counts are kept, with a ridge shift of the size of the noise.

    With noise from the operating system and public bounds it would be epsilon-differentially private under replace.
    Here it is NOT PRIVATE.
    """
    noisy = counts + rng.laplace(scale=EXCHANGED / epsilon, size=counts.shape)
    loss = cells.loss(noisy)
    lift = np.maximum(0.0, EXCHANGED / epsilon * cells.noise_norm - loss.smallest)
    return closed_form(loss, lift)
