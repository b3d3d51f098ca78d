"""Incorrect claims of the report, with functions that evaluate them."""

from __future__ import annotations

from importlib.metadata import version
from itertools import product
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.exact.arrays import FloatArray
from discreet_papers.dandekar import dandekar_methods
from discreet_papers.dandekar.dandekar_experiment import WINE_EPSILONS
from discreet_papers.dandekar.dandekar_methods import Quadratic
from discreet_papers.figure import Erratum, Outcome

IntegerArray: TypeAlias = npt.NDArray[np.intp]
_DOCUMENT: Final = "dandekar"
_WINE_SHAPE: Final = (4_898, 11)
_TRIES: Final = 60


def enumerated_sensitivity(columns: int, *, exchanged: bool) -> float:
    """Return the largest change of all loss coefficients by one row with cells in {-1, 0, 1}, by enumeration.

    >>> enumerated_sensitivity(1, exchanged=False), enumerated_sensitivity(1, exchanged=True)
    (4.0, 4.0)
    """
    rows = np.array(list(product((-1.0, 0.0, 1.0), repeat=columns + 1)))
    # entries of Q in both orders, -2 x y as the two entries of the last row and column, then y y
    outer = (rows[:, :, None] * rows[:, None, :]).reshape(len(rows), -1)
    # an absent row has the same coefficients as a row of zeros
    others = outer if exchanged else np.zeros((1, outer.shape[1]))
    return max(float(np.abs(outer - other).sum(axis=1).max()) for other in others)


def lemma_two() -> Outcome:
    """Evaluate E16: whether the sensitivity is 2 (d^2 + 2d + 1)."""
    columns = (1, 2, 3)
    found = {d: [enumerated_sensitivity(d, exchanged=both) for both in (False, True)] for d in columns}
    claimed = [dandekar_methods.claimed_sensitivity(d) for d in columns]
    exact = [max(found[d]) for d in columns]
    holds = bool(np.allclose(claimed, exact))
    return Outcome(
        holds,
        f"d = {columns}: claimed {claimed}, largest over all rows of -1, 0, 1 {exact}, the same for a row added and a "
        "row exchanged: (d + 1)^2",
    )


def symmetrised_loss(size: float = 1.0, scale: float = 1.0) -> float:
    """Return the largest privacy loss of the mean of two entries that both move by `size`, under Laplace noise.

    The mean of two Laplace variates of scale b has the density (1 + 2|z|/b) exp(-2|z|/b) / (2b).
    """
    grid = np.linspace(-60, 60, 240_001) * scale

    def log_density(z: FloatArray) -> FloatArray:
        return np.log1p(2 * np.abs(z) / scale) - 2 * np.abs(z) / scale

    return float(np.abs(log_density(grid) - log_density(grid - size)).max())


def symmetrising() -> Outcome:
    """Evaluate E17: whether symmetrising the noisy matrix breaks the mechanism."""
    rng = np.random.default_rng(17)
    noisy = dandekar_methods.noisy(Quadratic(5 * np.eye(4), np.ones(4)), 2.0, rng, "non-symmetric")
    theta = rng.normal(size=(1_000, 4))
    values = [np.einsum("bi,ij,bj->b", theta, one.Q, theta) for one in (noisy, noisy.symmetric)]
    apart = float(np.abs(values[0] - values[1]).max())
    spent, allowed = symmetrised_loss(), 2.0
    sds = {
        noise: float(dandekar_methods.unit_noise((40_000,), 2, rng, noise)[:, 0, 1].std())
        for noise in ("mirrored", "symmetrised", "monomial")
    }
    breaks = apart > 1e-9 or spent > allowed
    return Outcome(
        breaks,
        f"the noisy objective moves by {apart:.0e}, and what minimises it by nothing. The mean of two noisy entries "
        f"spends {spent:.3f} of the {allowed:g} that the two spend (units of size/scale). Standard deviation off the "
        "diagonal in units of the scale: " + ", ".join(f"{name} {sd:.2f}" for name, sd in sds.items()),
    )


def output_loss(epsilon: float, *, repaired: bool) -> float:
    """Return the largest privacy loss of the repaired or approximate model in one dimension, over output bins.

    Two tables differ in a row (x, y) = (1, 1), and so in (Q, -2q) by (1, -2), for which scale 3/epsilon is sufficient.
    Both noisy coefficients are put on a fine grid with known probabilities, and every pair is mapped to the output: by
    projection (theta = q/Q if Q > 0, else 0), or by five gradient descent steps of random length.
    """
    scale = 3 / epsilon
    step = scale / 40
    axis = np.arange(-12 * scale, 12 * scale, step)

    def cells(centre: float) -> FloatArray:
        # not normalised, because the normaliser cancels in the ratio for two centres
        return np.exp(-np.abs(axis - centre) / scale) * step / (2 * scale)

    first, second = np.meshgrid(axis, axis, indexing="ij")
    outputs = [np.divide(-second / 2, first, out=np.zeros_like(first), where=first > 0)]
    if not repaired:
        outputs = [_descended(first, second, rate) for rate in (0.01, 0.05)]
    masses = []
    for square, linear in ((4.0, -3.0), (5.0, -5.0)):
        weights = np.outer(cells(square), cells(linear)).ravel()
        # each of the two step lengths has half of the mass
        parts = [np.bincount(_binned(output), weights=weights / len(outputs), minlength=_BINS) for output in outputs]
        masses.append(np.sum(parts, axis=0))
    known = (masses[0] > 0) & (masses[1] > 0)
    return float(np.abs(np.log(masses[0][known] / masses[1][known])).max())


_BINS: Final = 41


def _descended(square: FloatArray, linear: FloatArray, rate: float) -> FloatArray:
    theta = np.zeros_like(square)
    for _ in range(5):
        theta = theta - rate * (2 * square * theta + linear)
    return theta


def _binned(output: FloatArray) -> IntegerArray:
    bins: IntegerArray = np.clip(np.rint(output.ravel() * 10) + _BINS // 2, 0, _BINS - 1).astype(np.intp)
    return bins


def lambda_by_rows() -> tuple[float, float]:
    """Choose lambda by cross-validation on two tables that differ in one row. The choice reveals the row."""
    x = np.tile([-1.0, 1.0], 10)[:, None]
    y = np.where(np.arange(20) % 2 == 1, 0.1, -0.1)
    chosen = []
    for last in (0.1, -1.0):
        rows = np.column_stack([x, np.append(y[:-1], last)])
        folds = np.stack([part.T @ part for part in np.split(rows, dandekar_methods.FOLDS)])
        chosen.append(float(dandekar_methods.cross_validated(folds, "ridge")))
    return chosen[0], chosen[1]


def post_processing() -> Outcome:
    """Evaluate E18: whether pruning or an approximate solver spends more than the noisy loss."""
    epsilon = 1.0
    losses = [output_loss(epsilon, repaired=repaired) for repaired in (True, False)]
    one, other = lambda_by_rows()
    return Outcome(
        max(losses) > epsilon + 1e-9,
        f"at epsilon {epsilon:g} the pruned minimum spends {losses[0]:.3f} and a solver that stops after five random "
        f"steps {losses[1]:.3f}: both read the noisy loss only. What does leak is lambda by cross-validation: one "
        f"exchanged row moves it from {one:g} to {other:g} with certainty",
    )


def rank_deficient() -> Outcome:
    """Evaluate E19: whether a rank-deficient X'X makes the problem non-convex."""
    rng = np.random.default_rng(19)
    x = rng.uniform(-1, 1, (200, 3))
    X = np.column_stack([x, x[:, 0] + x[:, 1]])
    loss = Quadratic.of(X, rng.uniform(-1, 1, 200))
    one, two = rng.normal(size=(2, 1_000, 4))

    def values(theta: FloatArray) -> FloatArray:
        found: FloatArray = np.einsum("bi,ij,bj->b", theta, loss.Q, theta) - 2 * theta @ loss.q
        return found

    gap = float((values((one + two) / 2) - (values(one) + values(two)) / 2).max())
    rank = int(np.linalg.matrix_rank(X))
    return Outcome(
        gap > 1e-9,
        f"rank {rank} of {X.shape[1]}, smallest eigenvalue {float(loss.smallest):.0e}; over 1,000 pairs the loss at "
        f"the middle is never above the mean of the ends (largest excess {gap:.2g}): convex, with many minima",
    )


def refusals(tries: int = _TRIES) -> tuple[int, str]:
    """Count how often CVXPY refuses the noisy elastic net on a simulated table of the size of white wine."""
    rng = np.random.default_rng(26)
    rows, d = _WINE_SHAPE
    # as in the wine table, predictors are correlated and fill a small part of their range
    factors = rng.normal(size=(rows, 3)) @ rng.normal(size=(3, d))
    x = np.clip(0.15 * (factors / np.sqrt(3) + 0.7 * rng.normal(size=(rows, d))), -1, 1)
    y = np.clip(x @ rng.normal(size=d) / 4 + 0.25 * rng.normal(size=rows), -1, 1)
    loss = Quadratic.of(x, y)
    refused = 0
    for k in range(tries):
        scale = dandekar_methods.claimed_sensitivity(d) / WINE_EPSILONS[k % len(WINE_EPSILONS)]
        noisy = dandekar_methods.noisy(loss, scale, rng, "non-symmetric")
        refused += dandekar_methods.by_cvxpy(noisy.Q, noisy.q, 0.5, 0.5) is None
    return refused, f"CVXPY {version('cvxpy')}, SCS {version('scs')}"


def convex_solver() -> Outcome:
    """Evaluate E26: whether CVXPY solves the noisy elastic net at the budgets of the wine figures."""
    refused, versions = refusals()
    return Outcome(
        refused < _TRIES / 2,
        f"a simulated table of 4,898 rows and 11 predictors, epsilon 0.1 to 6.4: {versions} refuses in {refused} of "
        f"{_TRIES} tries, because the noisy objective is not convex",
    )


def least_squares_slope(x: FloatArray, y: FloatArray) -> float:
    """Return the slope of a line through the origin, as DPME fits it to the cells of its histogram."""
    return float(x @ y / (x @ x))


def robust_by_name() -> Outcome:
    """Evaluate E28: whether every M-estimator is robust. Least squares, which DPME fits, is an M-estimator."""
    rng = np.random.default_rng(28)
    x = rng.uniform(-1, 1, 1_000)
    y = x + 0.1 * rng.normal(size=1_000)

    before = least_squares_slope(x, y)
    moved = [abs(least_squares_slope(x, np.append(y[:-1], last)) - before) for last in (1e3, 1e6)]
    return Outcome(
        moved[1] < 2 * moved[0],
        f"one outlier of 1,000 in 1,000 rows moves the least-squares slope by {moved[0]:.2f}, one of a million by "
        f"{moved[1]:.0f}: no bound, and least squares is an M-estimator. The histogram is stable because its box "
        "bounds the rows and its counts cannot be negative",
    )


ERRATA: Final = (
    Erratum(
        16,
        _DOCUMENT,
        "Lemma 2",
        "For features in [-1, 1] the L1 sensitivity of the squared loss is 2(d² + 2d + 1).",
        lemma_two,
    ),
    Erratum(
        17,
        _DOCUMENT,
        "section 5.4, Symmetric noise",
        "The noisy X'X cannot be made symmetric by (A + A')/2 without harm to the mechanism.",
        symmetrising,
    ),
    Erratum(
        18,
        _DOCUMENT,
        "section 5.4, Convexity and Optimisation",
        "Pruning negative eigenvalues lacks a privacy proof, and an approximate solver does not preserve privacy.",
        post_processing,
    ),
    Erratum(
        19,
        _DOCUMENT,
        "section 3.3",
        "If X'X does not have full rank the optimisation problem is not convex.",
        rank_deficient,
    ),
    Erratum(
        26,
        _DOCUMENT,
        "section 5.2",
        "The noisy LASSO and elastic net are solved with CVXPY and SCS.",
        convex_solver,
    ),
    Erratum(
        28,
        _DOCUMENT,
        "section 5.3",
        "DPME is stable because M-estimators are robust.",
        robust_by_name,
    ),
)
