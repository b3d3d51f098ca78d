"""Coordinate descent from a Gram: against CVXPY, against its own optimality conditions, at its edges."""

from __future__ import annotations

import cvxpy
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from discreet.analyst.equations.normal import normal_equations
from discreet.analyst.solvers import penalised as coordinate_descent
from discreet.analyst.solvers.adaptive import slope_equations
from discreet.analyst.solvers.penalised import largest_useful_strength, minimise, penalised_slopes
from discreet.design.design import Design
from discreet.design.model_columns import model_of
from support.made_releases import made

OBJECTIVE_GAP = 1e-8  # relative; the rival is asked for 1e-11
CONDITIONS = 1e-11  # of the largest term: ten times what the solver promises, for the sums made here


def objective(A, b, weights, theta):
    return theta @ A @ theta / 2 - b @ theta + weights @ np.abs(theta)


def violation(A, b, weights, theta):
    """How far the worst optimality condition is from holding."""
    g = b - A @ theta
    beyond = np.where(theta == 0, np.maximum(np.abs(g) - weights, 0), np.abs(g - weights * np.sign(theta)))
    return beyond.max()


def by_cvxpy(A, b, weights):
    theta = cvxpy.Variable(len(b))
    # the rival sees a sum of squares: noise may leave the smallest eigenvalue where its own check would fail
    root = np.linalg.cholesky(A).T
    goal = cvxpy.sum_squares(root @ theta) / 2 - b @ theta + weights @ cvxpy.abs(theta)
    tight = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-11)
    cvxpy.Problem(cvxpy.Minimize(goal)).solve(solver=cvxpy.CLARABEL, **tight)
    return theta.value


def repaired_problem(seed):
    """A release of random size and noise, a random penalty, and the repaired Gram that its slopes are solved with."""
    random = np.random.default_rng(seed)
    size, rows = int(random.integers(1, 13)), int(random.integers(10, 60))
    names = [f"x{j}" for j in range(size)]
    table = {name: random.uniform(-1, 1, rows).tolist() for name in names}
    signal = np.column_stack(list(table.values())) @ random.normal(0, 0.3, size)
    table["y"] = np.clip(signal + random.normal(0, 0.2, rows), -2, 2).tolist()
    design = Design("y", {"y": (-2, 2), **dict.fromkeys(names, (-1, 1))}, intercept=bool(random.integers(2)))
    release = made(design, table, grid_bits=12, sigma=float(random.uniform(1, 40)), seed=seed).release
    problem = slope_equations(normal_equations(release, model_of(release.design)), release.digest)
    share = float(random.choice([1.0, random.uniform(0.05, 1)]))
    strength = largest_useful_strength(problem, share) * float(10 ** random.uniform(-3, -0.05))
    return problem, share, strength


def largest_gap(seeds):
    gaps, repaired = [], 0
    for seed in seeds:
        problem, share, strength = repaired_problem(seed)
        (slopes,) = penalised_slopes(problem, [strength], share)
        repaired += slopes.repair > 0
        A, b = problem.repaired(slopes.ridge), problem.right
        weights = np.full(len(b), problem.rows * strength * share)
        ours, rival = (objective(A, b, weights, theta) for theta in (slopes.values, by_cvxpy(A, b, weights)))
        gaps.append(abs(ours - rival) / abs(rival))
    assert repaired >= 0.5 * len(gaps)
    return max(gaps)


@pytest.mark.full
@pytest.mark.no_cover
def test_two_hundred_repaired_problems_have_the_objective_that_cvxpy_finds():
    assert largest_gap(range(200)) < OBJECTIVE_GAP


def gram_problem(size, seed, correlation=0.5):
    random = np.random.default_rng(seed)
    X = random.normal(size=(3 * size, size)) + correlation * random.normal(size=(3 * size, 1))
    return X.T @ X, X.T @ random.normal(size=3 * size)


@given(
    size=st.integers(1, 12), seed=st.integers(0, 10**6), share=st.floats(1e-6, 1.2), correlation=st.floats(0, 30),
    warm=st.booleans(),
)  # fmt: skip
# columns so close to each other that rounding hides the last descent
@example(size=12, seed=184434, share=1e-06, correlation=25.625, warm=False)
def test_the_optimality_conditions_hold(size, seed, share, correlation, warm):
    A, b = gram_problem(size, seed, correlation)
    weights = share * np.abs(b).max() * np.random.default_rng(seed).uniform(0.5, 1.5, size)
    start = np.random.default_rng(seed + 1).normal(size=size) if warm else np.zeros(size)
    theta = minimise(A, b, weights, start)
    scale = np.abs(b).max() + np.abs(A).max() * np.abs(theta).sum()
    assert violation(A, b, weights, theta) <= CONDITIONS * scale


@given(size=st.integers(1, 8), seed=st.integers(0, 10**6))
def test_no_neighbour_lies_lower(size, seed):
    A, b = gram_problem(size, seed)
    weights = np.full(size, 0.2 * np.abs(b).max())
    theta = minimise(A, b, weights, np.zeros(size))
    best = objective(A, b, weights, theta)
    for direction in np.vstack([np.eye(size), -np.eye(size)]):
        assert objective(A, b, weights, theta + 1e-4 * direction) > best


@given(size=st.integers(2, 12), seed=st.integers(0, 10**6), share=st.floats(0.01, 0.9))
def test_sweeps_alone_come_to_the_same_end(size, seed, share):
    A, b = gram_problem(size, seed)
    weights = np.full(size, share * np.abs(b).max())
    with pytest.MonkeyPatch.context() as patch:
        # a guess that is never lower
        patch.setattr(coordinate_descent, "_guessed", lambda A, b, *rest: np.full(len(b), 1e6))
        swept = minimise(A, b, weights, np.zeros(size))
    ours = objective(A, b, weights, minimise(A, b, weights, np.zeros(size)))
    assert objective(A, b, weights, swept) == pytest.approx(ours, rel=1e-9)


def test_columns_that_are_combinations_of_each_other_have_a_minimum_too():
    random = np.random.default_rng(4)
    X = random.normal(size=(60, 6))
    X = np.column_stack([X, X[:, 0] + X[:, 1], X[:, 2] - X[:, 3], X[:, 4], np.zeros(60)])
    y = X @ random.normal(size=10) + random.normal(size=60)
    A, b = X.T @ X, X.T @ y
    weights = np.full(10, 0.05 * np.abs(b).max())
    theta = minimise(A, b, weights, np.zeros(10))
    rival = by_cvxpy(A + 1e-9 * np.eye(10), b, weights)
    assert objective(A, b, weights, theta) <= objective(A, b, weights, rival) * (1 - OBJECTIVE_GAP)
    assert theta[9] == 0


def test_the_rounds_are_limited(monkeypatch):
    monkeypatch.setattr(coordinate_descent, "_ROUNDS", 0)
    assert minimise(np.eye(2), np.ones(2), np.zeros(2), np.zeros(2)).tolist() == [0, 0]


def test_a_start_that_double_precision_cannot_improve_on_is_kept(monkeypatch):
    monkeypatch.setattr(coordinate_descent, "_TOLERANCE", 0.0)
    A, b = gram_problem(6, 1)
    weights = np.full(6, 0.01 * np.abs(b).max())
    theta = minimise(A, b, weights, np.zeros(6))
    assert violation(A, b, weights, theta) < 1e-12 * np.abs(b).max()


def test_sums_without_a_diagonal_end_in_finite_numbers():
    # no table has such sums; a file that was made by hand may
    assert np.isfinite(minimise(np.zeros((2, 2)), np.ones(2), np.full(2, 0.1), np.zeros(2))).all()


def test_nothing_to_solve_gives_nothing():
    assert minimise(np.zeros((0, 0)), np.zeros(0), np.zeros(0), np.zeros(0)).shape == (0,)


def test_the_start_is_left_alone():
    start = np.ones(3)
    A, b = gram_problem(3, 0)
    minimise(A, b, np.ones(3), start)
    assert start.tolist() == [1, 1, 1]
