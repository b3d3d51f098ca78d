"""The minimisers of the report: equal to CVXPY's, refused where CVXPY refuses, and equal to the library's fits."""

from __future__ import annotations

import numpy as np
import pytest

import discreet
from discreet.testing import exact_release
from discreet_papers.dandekar.dandekar_methods import (
    ALPHAS,
    LAMBDAS,
    REGRESSIONS,
    Quadratic,
    Regression,
    by_cvxpy,
    closed_form,
    convex,
    cross_validated,
    minimum,
    penalised,
)


def rows_of(seed: int, rows: int = 200, columns: int = 5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(rows, 2)) @ rng.normal(size=(2, columns)) / 4
    X = np.clip(common + rng.uniform(-0.5, 0.5, (rows, columns)), -1, 1)
    y = np.clip(X[:, 0] - 0.5 * X[:, 1] + 0.1 * rng.normal(size=rows), -1, 1)
    return X, y


@pytest.mark.parametrize("square", [0.0, 2.0])
@pytest.mark.parametrize("absolute", [0.0, 5.0, 60.0])
def test_coordinate_descent_gives_what_cvxpy_gives(square: float, absolute: float) -> None:
    losses = [Quadratic.of(*rows_of(seed)) for seed in range(2)]
    both = Quadratic(np.stack([one.Q for one in losses]), np.stack([one.q for one in losses]))
    found = penalised(both, square, absolute)
    for loss, theta in zip(losses, found, strict=True):
        slow = by_cvxpy(loss.Q, loss.q, square, absolute, solver="CLARABEL")
        assert theta == pytest.approx(slow, abs=1e-6)
    if absolute == 60.0:
        assert (found == 0).any()


def test_the_solver_of_the_report_gives_the_same_to_its_tolerance() -> None:
    loss = Quadratic.of(*rows_of(3))
    assert penalised(loss, 1.0, 1.0) == pytest.approx(by_cvxpy(loss.Q, loss.q, 1.0, 1.0), abs=2e-3)


def test_a_large_penalty_leaves_nothing_and_a_singular_matrix_has_a_minimum() -> None:
    loss = Quadratic.of(*rows_of(4))
    assert np.array_equal(penalised(loss, 0.0, 1e6), np.zeros(5))
    singular = Quadratic(np.ones((2, 2)), np.ones(2))
    assert penalised(singular, 0.0, 0.5).sum() == pytest.approx(0.75, abs=1e-6)


@pytest.mark.parametrize("shift", [-30.0, 30.0])
def test_what_cvxpy_refuses_has_no_result(shift: float) -> None:
    loss = Quadratic.of(*rows_of(5))
    moved = Quadratic(loss.Q + shift * np.eye(5), loss.q)
    refused = by_cvxpy(moved.Q, moved.q, 0.5, 0.5) is None
    assert refused == (shift < 0) == (not convex(moved, 0.5))
    for regression in ("LASSO", "elastic net"):
        assert bool(np.isnan(minimum(moved, regression, 1.0)).all()) == refused
    # the closed forms answer anyway
    assert np.isfinite(minimum(moved, "ridge", 1.0)).all()


def test_a_square_can_make_a_noisy_loss_convex() -> None:
    loss = Quadratic(np.diag([-1.0, 4.0]), np.ones(2))
    assert convex(loss, np.array([0.5, 1.5])).tolist() == [False, True]


@pytest.mark.parametrize("regression", REGRESSIONS)
def test_the_four_regressions_minimise_equation_nine(regression: Regression) -> None:
    loss = Quadratic.of(*rows_of(6))
    strength = 0.0 if regression == "linear" else 4.0
    alpha = ALPHAS[regression]
    slow = by_cvxpy(loss.Q, loss.q, strength * alpha, strength * (1 - alpha), solver="CLARABEL")
    assert minimum(loss, regression, strength) == pytest.approx(slow, abs=1e-6)


def test_a_closed_form_on_a_matrix_that_is_not_symmetric_is_not_stationary() -> None:
    loss = Quadratic(np.array([[2.0, 1.0], [0.0, 1.0]]), np.array([1.0, 1.0]))
    point = closed_form(loss)
    gradient = (loss.Q + loss.Q.T) @ point - 2 * loss.q
    assert np.abs(gradient).max() > 0.1


@pytest.mark.parametrize("regression", ["ridge", "elastic net"])
def test_cross_validation_takes_the_lambda_of_least_error_on_left_out_rows(regression: Regression) -> None:
    # two tables at once; on few noisy rows a penalty helps
    tables = [rows_of(seed, rows=15) for seed in (7, 8)]
    folds, best = [], []
    for X, y in tables:
        y = y + np.random.default_rng(1).normal(size=15)
        rows = np.column_stack([X, y])
        folds.append(np.stack([part.T @ part for part in np.split(rows, 5)]))
        errors = []
        for strength in LAMBDAS:
            total = 0.0
            for out in np.split(np.arange(15), 5):
                kept = np.setdiff1d(np.arange(15), out)
                theta = minimum(Quadratic.of(X[kept], y[kept]), regression, strength)
                total += float(np.sum((y[out] - X[out] @ theta) ** 2))
            errors.append(total)
        best.append(LAMBDAS[int(np.argmin(errors))])
    assert cross_validated(np.stack(folds), regression).tolist() == best


@pytest.mark.parametrize(
    ("regression", "options"),
    [
        ("ridge", lambda lam, n: {"penalty": "ridge", "strength": lam / n}),
        ("LASSO", lambda lam, n: {"penalty": "lasso", "strength": lam / (2 * n)}),
        ("elastic net", lambda lam, n: converted(lam, 0.5, n)),
        ("elastic net 0.2", lambda lam, n: converted(lam, 0.2, n)),
    ],
)
@pytest.mark.parametrize("lam", [0.5, 20.0])
def test_the_converted_penalty_of_the_library_is_the_objective_of_the_report(regression, options, lam) -> None:
    X, y = rows_of(9, rows=400)
    names = [f"x{j}" for j in range(5)]
    design = discreet.Design("y", {"y": (-1, 1), **dict.fromkeys(names, (-1, 1))})
    release = exact_release({**dict(zip(names, X.T, strict=True)), "y": y}, design)
    fit = discreet.fit(release, intercept=False, **options(lam, 400))
    alpha = 0.2 if regression.endswith("0.2") else ALPHAS[regression]
    loss = Quadratic.of(X, y)
    slow = by_cvxpy(loss.Q, loss.q, lam * alpha, lam * (1 - alpha), solver="CLARABEL")
    # cells are rounded to a grid of 2^-16
    assert np.asarray(fit.coefficients) == pytest.approx(slow, abs=1e-4)
    half = discreet.fit(release, intercept=False, **options(lam / 2, 400))
    assert np.abs(np.asarray(half.coefficients) - slow).max() > 5e-4


def converted(lam: float, alpha: float, rows: int) -> dict[str, object]:
    absolute, square = (1 - alpha) / 2, alpha
    return {
        "penalty": "elastic-net",
        "strength": lam * (absolute + square) / rows,
        "l1_ratio": absolute / (absolute + square),
    }
