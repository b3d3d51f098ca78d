"""Time of the penalised solver against scikit-learn's lasso path and against CVXPY, on the same Gram.

All run in one process on one thread and are interleaved; the figures to quote are the ratios of medians.
Run: python benchmarks/penalised_against_peers.py [--repeat K]
"""

from __future__ import annotations

import os

# before NumPy is loaded: threads would time the machine, not the method
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import statistics
import time
import warnings
from collections.abc import Callable

import cvxpy
import numpy as np
from sklearn.linear_model import lasso_path

from discreet.analyst.solvers.lasso import minimise

ROWS = 5_000
PATH_COLUMNS, PATH_STRENGTHS = 50, 100
ONE_COLUMNS = 100
IN_A_ROW = 5
SHARES = (0.5, 0.1, 0.01)  # of the strength where the last slope becomes 0


def exact_problem(columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Centred correlated columns of which half matter, and a target."""
    random = np.random.default_rng(columns)
    X = 0.25 * (0.8 * random.standard_normal((ROWS, columns)) + 0.6 * random.standard_normal((ROWS, 1)))
    y = X @ (random.standard_normal(columns) * (random.random(columns) < 0.5)) + 0.5 * random.standard_normal(ROWS)
    return X - X.mean(axis=0), y - y.mean()


def noisy_gram(columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Sums of products with noise in every entry, shifted as the repair shifts them."""
    X, y = exact_problem(columns)
    random = np.random.default_rng(1)
    noise = np.triu(random.standard_normal((columns, columns))) * 15
    A = X.T @ X + noise + np.triu(noise, 1).T
    sensitivity = 2 * 15 * np.sqrt(columns)
    A += max(0.0, sensitivity - np.linalg.eigvalsh(A)[0]) * np.eye(columns)
    return A, X.T @ y + 15 * random.standard_normal(columns)


def our_path(A: np.ndarray, b: np.ndarray, strengths: np.ndarray) -> np.ndarray:
    """Slopes along the path, each the start of the next."""
    theta, out = np.zeros(len(b)), []
    for strength in strengths:
        theta = minimise(A, b, np.full(len(b), ROWS * strength), theta)
        out.append(theta)
    return np.column_stack(out)


def by_cvxpy(A: np.ndarray, b: np.ndarray, limit: float, solver: str | None) -> np.ndarray:
    """One problem as its documentation writes it; `psd_wrap` spares it the check of the eigenvalues."""
    theta = cvxpy.Variable(len(b))
    goal = cvxpy.quad_form(theta, cvxpy.psd_wrap(A)) / 2 - b @ theta + limit * cvxpy.norm1(theta)
    cvxpy.Problem(cvxpy.Minimize(goal)).solve(solver=solver)
    return theta.value


def medians(repeat: int, *runs: Callable[[], object]) -> list[float]:
    """Median seconds of each: the mean of some runs in a row, taken in turns; the first turn is not counted."""
    times: list[list[float]] = [[] for _ in runs]
    for turn in range(repeat + 1):
        for run, taken in zip(runs, times, strict=True):
            start = time.perf_counter()
            for _ in range(IN_A_ROW):
                run()
            if turn:
                taken.append((time.perf_counter() - start) / IN_A_ROW)
    return [statistics.median(taken) for taken in times]


def main() -> None:
    """Print times and ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=9)
    repeat = parser.parse_args().repeat

    X, y = exact_problem(PATH_COLUMNS)
    A, b = X.T @ X, X.T @ y
    strengths = np.abs(b).max() / ROWS * np.geomspace(1, 1e-3, PATH_STRENGTHS)
    print(f"path of {PATH_STRENGTHS} strengths, {PATH_COLUMNS} columns, medians of {repeat}")
    for tolerance in (1e-4, 1e-10):

        def rival(tolerance: float = tolerance) -> np.ndarray:
            options = {"precompute": A, "Xy": b, "tol": tolerance, "max_iter": 100_000}
            return lasso_path(X, y, alphas=strengths, **options)[1]

        ours, theirs = medians(repeat, lambda: our_path(A, b, strengths), rival)
        apart = np.abs(our_path(A, b, strengths) - rival()).max()
        print(
            f"  discreet {ours * 1e3:7.2f} ms   scikit-learn (tol {tolerance:g}) {theirs * 1e3:7.2f} ms   "
            f"discreet / scikit-learn {ours / theirs:.2f}   largest difference {apart:.1e}"
        )

    A, b = noisy_gram(ONE_COLUMNS)
    print(f"one repaired problem, {ONE_COLUMNS} columns, medians of {repeat}")
    warnings.filterwarnings("ignore", module="cvxpy")
    for share in SHARES:
        limit = share * float(np.abs(b).max())
        weights, start = np.full(ONE_COLUMNS, limit), np.zeros(ONE_COLUMNS)

        def objective(theta: np.ndarray, limit: float = limit) -> float:
            return float(theta @ A @ theta / 2 - b @ theta + limit * np.abs(theta).sum())

        for solver in (None, "CLARABEL"):
            ours, theirs = medians(
                repeat,
                lambda weights=weights, start=start: minimise(A, b, weights, start),
                lambda limit=limit, solver=solver: by_cvxpy(A, b, limit, solver),
            )
            best = objective(minimise(A, b, weights, start))
            gap = (objective(by_cvxpy(A, b, limit, solver)) - best) / abs(best)
            print(
                f"  L1 {share:<5g} discreet {ours * 1e3:6.2f} ms   CVXPY ({solver or 'default'}) {theirs * 1e3:6.2f} ms"
                f"   CVXPY / discreet {theirs / ours:5.1f}   its objective is higher by {gap:.1e}"
            )


if __name__ == "__main__":
    main()
