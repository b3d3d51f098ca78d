"""The work of an analyst with a release, and the same work by baselines."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

import discreet
from benchmarks.jobs import tables
from benchmarks.jobs.timing import Seconds, timed
from discreet.testing import seeded_release

ROWS = 20_000
PROBLEM_ROWS = 5_000
IN_A_ROW = 3
PATH = {"columns": 50, "strengths": 100}


def table_of(columns: int) -> dict[str, np.ndarray]:
    """Simulate uniform columns, of which every tenth has a non-zero coefficient."""
    random = np.random.default_rng(columns)
    X = random.uniform(-1, 1, (ROWS, columns))
    y = X[:, ::10].sum(axis=1) / np.sqrt(max(1.0, columns / 10)) + 0.5 * random.standard_normal(ROWS)
    return {**{f"x{j}": X[:, j] for j in range(columns)}, "y": np.clip(y, -4, 4)}


def release_of(columns: int) -> discreet.Release:
    """Make a release with so little noise that every coefficient is estimable. NOT PRIVATE."""
    design = discreet.Design("y", {**tables.declared(columns), "y": (-4, 4)})
    return seeded_release(table_of(columns), design, seed=1, epsilon=1e4, delta=1e-6, mechanism="gaussian")


def how_often(columns: int) -> dict[str, int]:
    """Return the number of consecutive fits: several if a fit is short, one if it is long."""
    return {"times": IN_A_ROW, "warm": True} if columns <= 100 else {"times": 1}


def fit(columns: int) -> dict[str, Seconds]:
    """Time coefficients, standard errors, intervals and p-values from a release without cached results."""
    release = release_of(columns)

    def work() -> None:
        found = discreet.fit(replace(release))
        assert len(np.asarray(found.conf_int())) == len(np.asarray(found.pvalues)) == columns + 1

    return {"fit": timed(work, **how_often(columns))}


def statsmodels_fit(columns: int) -> dict[str, Seconds]:
    """Time the same fit from rows by statsmodels."""
    import statsmodels.api as sm

    table = table_of(columns)
    X = sm.add_constant(np.column_stack([values for name, values in table.items() if name != "y"]))

    def work() -> None:
        found = sm.OLS(table["y"], X).fit()
        assert len(np.asarray(found.conf_int())) == len(np.asarray(found.pvalues)) == columns + 1

    return {"fit": timed(work, **how_often(columns))}


def path(columns: int) -> dict[str, Seconds]:
    """Time a lasso path from a release."""
    release = release_of(columns)
    return {"path": timed(lambda: discreet.path(replace(release)), IN_A_ROW, warm=True)}


def report(columns: int) -> dict[str, Seconds]:
    """Time the HTML report of a release with a model."""
    release = release_of(columns)
    return {"report": timed(lambda: discreet.report(replace(release)).html, warm=True)}


def plan(columns: int) -> dict[str, Seconds]:
    """Time the expected errors before a release."""
    design = discreet.Design("y", tables.declared(columns))
    return {"plan": timed(lambda: discreet.plan(design, rows=1e6, epsilon=1.0, delta=1e-6, rsquared=0.5), warm=True)}


def exact_problem(columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Simulate centred correlated columns, of which half have a non-zero coefficient, and a target."""
    random = np.random.default_rng(columns)
    size = PROBLEM_ROWS
    X = 0.25 * (0.8 * random.standard_normal((size, columns)) + 0.6 * random.standard_normal((size, 1)))
    y = X @ (random.standard_normal(columns) * (random.random(columns) < 0.5)) + 0.5 * random.standard_normal(size)
    return X - X.mean(axis=0), y - y.mean()


def noisy_gram(columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return sums of products with noise in every entry, shifted as in the repair."""
    X, y = exact_problem(columns)
    random = np.random.default_rng(1)
    noise = np.triu(random.standard_normal((columns, columns))) * 15
    A = X.T @ X + noise + np.triu(noise, 1).T
    sensitivity = 2 * 15 * np.sqrt(columns)
    A += max(0.0, sensitivity - np.linalg.eigvalsh(A)[0]) * np.eye(columns)
    return A, X.T @ y + 15 * random.standard_normal(columns)


def path_solver(baseline: float | None = None) -> dict[str, Seconds]:
    """Time a lasso path on exact sums, by our solver or by scikit-learn with the given tolerance."""
    from sklearn.linear_model import lasso_path

    from discreet.analyst.solvers.penalised import minimise

    X, y = exact_problem(PATH["columns"])
    A, b = X.T @ X, X.T @ y
    strengths = np.abs(b).max() / PROBLEM_ROWS * np.geomspace(1, 1e-3, PATH["strengths"])

    def ours() -> np.ndarray:
        theta, out = np.zeros(len(b)), []
        for strength in strengths:
            theta = minimise(A, b, np.full(len(b), PROBLEM_ROWS * strength), theta)
            out.append(theta)
        return np.column_stack(out)

    def theirs(tolerance: float) -> np.ndarray:
        return lasso_path(X, y, alphas=strengths, precompute=A, Xy=b, tol=tolerance, max_iter=100_000)[1]

    assert np.abs(ours() - theirs(1e-10)).max() < 1e-4
    return {"path": timed(ours if baseline is None else lambda: theirs(baseline), IN_A_ROW)}


def one_problem(columns: int, share: float, baseline: str | None = None) -> dict[str, Seconds]:
    """Time one repaired problem at a share of the largest useful penalty, by our solver or by CVXPY."""
    import cvxpy

    from discreet.analyst.solvers.penalised import minimise

    warnings.simplefilter("ignore")
    A, b = noisy_gram(columns)
    limit = share * float(np.abs(b).max())

    def ours() -> np.ndarray:
        return minimise(A, b, np.full(columns, limit), np.zeros(columns))

    def theirs() -> np.ndarray:
        theta = cvxpy.Variable(columns)
        # psd_wrap skips the check of the eigenvalues
        goal = cvxpy.quad_form(theta, cvxpy.psd_wrap(A)) / 2 - b @ theta + limit * cvxpy.norm1(theta)
        cvxpy.Problem(cvxpy.Minimize(goal)).solve(solver=baseline)
        return theta.value

    def objective(theta: np.ndarray) -> float:
        return float(theta @ A @ theta / 2 - b @ theta + limit * np.abs(theta).sum())

    if baseline is not None:
        best = objective(ours())
        assert objective(theirs()) - best > -1e-9 * abs(best), "the baseline found a better minimum"
    return {"problem": timed(ours if baseline is None else theirs, IN_A_ROW, warm=True)}
