"""The four regressions of the report on a loss theta'Q theta - 2 q'theta, exact or noisy, and its choice of lambda.

All minimise the loss plus lambda (alpha |theta|_2^2 + (1 - alpha) |theta|_1), the report's equation 9: alpha multiplies
the square, unlike `l1_ratio`. Where the report calls CVXPY, coordinate descent gives the same numbers in a hundredth of
the time; tests compare the two. Arrays may have batch axes in front.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.exact.arrays import FloatArray
from discreet.papers.dandekar.objectives import Quadratic

BoolArray: TypeAlias = npt.NDArray[np.bool_]
Regression = Literal["linear", "ridge", "LASSO", "elastic net"]
REGRESSIONS: Final[tuple[Regression, ...]] = ("linear", "ridge", "LASSO", "elastic net")
ALPHAS: Final[dict[Regression, float]] = {"linear": 1.0, "ridge": 1.0, "LASSO": 0.0, "elastic net": 0.5}
LAMBDAS: Final = tuple(float(value) for value in np.logspace(-3, 3, 13))
FOLDS: Final = 5
_ROUNDS = 2_000
_SWEEPS = 20  # in a round
_TINY = 1e-14  # of the trace: a singular matrix has a solution too


def closed_form(loss: Quadratic, ridge: float | FloatArray = 0.0) -> FloatArray:
    """Equations 3 and 5 of the report, (Q + lambda I)^-1 q, on whatever matrix they are given.

    On a noisy matrix that is not positive definite the result is no minimum, and there is none. A matrix that is not
    symmetric gives another point than the stationary one of its own objective.
    """
    lifted = loss.Q + np.asarray(ridge, dtype=float)[..., None, None] * np.eye(loss.columns)
    q = np.broadcast_to(loss.q, lifted.shape[:-1])
    return np.asarray(np.linalg.solve(lifted, q[..., None])[..., 0], dtype=np.float64)


def convex(loss: Quadratic, square: float | FloatArray) -> BoolArray:
    """Whether the loss plus `square` |theta|^2 is convex, as CVXPY asks before it calls a solver."""
    allowed: BoolArray = loss.smallest + np.asarray(square, dtype=float) >= 0
    return allowed


def penalised(loss: Quadratic, square: float | FloatArray, absolute: float | FloatArray) -> FloatArray:
    """Minimum of the loss plus `square` |theta|_2^2 plus `absolute` |theta|_1 by coordinate descent.

    After each round of sweeps the equations of the coefficients that are not 0 are solved exactly; a problem is done
    when that solution meets the conditions of a minimum.

    Parameters
    ----------
    loss
        Convex together with the square; the symmetric part of the matrix counts.
    square, absolute
        Weights of the penalties, broadcast against the batch axes.
    """
    batch = np.broadcast_shapes(loss.q.shape[:-1], np.shape(square), np.shape(absolute))
    d = loss.columns
    matrices = np.broadcast_to(loss.symmetric.Q, (*batch, d, d)).reshape(-1, d, d).copy()
    q = np.broadcast_to(loss.q, (*batch, d)).reshape(-1, d)
    lift = np.broadcast_to(np.asarray(square, dtype=float), batch).reshape(-1)
    limit = np.broadcast_to(np.asarray(absolute, dtype=float), batch).reshape(-1) / 2
    matrices[:, np.arange(d), np.arange(d)] += lift[:, None]
    # the signs without the absolute penalty are nearly right where it is small
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
    """Some sweeps of coordinate descent on problems that all have positive diagonals."""
    theta = start.copy()
    for _ in range(_SWEEPS):
        for j in range(q.shape[1]):
            rest = q[:, j] - np.einsum("bk,bk->b", matrices[:, j], theta) + matrices[:, j, j] * theta[:, j]
            theta[:, j] = np.sign(rest) * np.maximum(np.abs(rest) - limit, 0.0) / matrices[:, j, j]
    return theta


def _polished(
    matrices: FloatArray, q: FloatArray, limit: FloatArray, theta: FloatArray
) -> tuple[FloatArray, BoolArray]:
    """Exact solution for the signs of theta, and whether it satisfies the conditions of a minimum."""
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
    """The same minimum by CVXPY, with the solver of the report; none where CVXPY refuses the problem as not convex."""
    # Any: CVXPY has types for a part of what it exports
    cvxpy: Any = import_module("cvxpy")
    theta = cvxpy.Variable(len(q))
    # CVXPY refuses a matrix that is not symmetric before it looks at its eigenvalues
    symmetric = (matrix + matrix.T) / 2 + square * np.eye(len(q))
    loss = cvxpy.quad_form(theta, symmetric) - 2 * (q @ theta)
    problem = cvxpy.Problem(cvxpy.Minimize(loss + absolute * cvxpy.norm1(theta)))
    if not problem.is_dcp():
        return None
    problem.solve(solver=solver)
    return np.asarray(theta.value, dtype=float)


def minimum(loss: Quadratic, regression: Regression, strength: float | FloatArray) -> FloatArray:
    """One of the four regressions; NaN where the report's solver has nothing to give.

    Linear and ridge regression use the closed form on the matrix as it is, LASSO and elastic net the convex solver,
    which refuses objectives that are not convex.
    """
    alpha = ALPHAS[regression]
    value = np.asarray(strength, dtype=float)
    if regression == "linear":
        return closed_form(loss)
    if regression == "ridge":
        return closed_form(loss, value)
    square, absolute = value * alpha, value * (1 - alpha)
    allowed = convex(loss, square)
    # a problem that is refused gets a matrix that can be solved, and no result
    safe = np.where(allowed[..., None, None], loss.symmetric.Q, np.eye(loss.columns))
    found = penalised(Quadratic(safe, loss.q), square, absolute)
    return np.where(allowed[..., None], found, np.nan)


def cross_validated(folds: FloatArray, regression: Regression) -> FloatArray:
    """Lambda of least error over the folds, as the report chooses it: NOT PRIVATE, it reads the rows.

    The report uses this lambda for its private regressions too and charges nothing for it.

    Parameters
    ----------
    folds
        For each fold the sums of products of (x, y) over its rows, target last: shape (..., folds, d + 1, d + 1).
    regression
        Ridge, LASSO or elastic net.
    """
    train = folds.sum(axis=-3, keepdims=True) - folds
    strengths = np.array(LAMBDAS).reshape(-1, *[1] * (folds.ndim - 2))
    theta = minimum(Quadratic(train[..., :-1, :-1], train[..., :-1, -1]), regression, strengths)
    ends = np.concatenate([theta, -np.ones((*theta.shape[:-1], 1))], axis=-1)
    errors = np.einsum("l...fj,...fjk,l...fk->l...", ends, folds, ends)
    best: FloatArray = np.array(LAMBDAS)[np.argmin(errors, axis=0)]
    return best
