"""The solver: exact where the sums are exact, and honest where there is nothing to solve."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.analyst.confidence_sets import NotEstimableError
from discreet.analyst.solvers import least_squares as solve
from discreet.analyst.solvers.least_squares import solve_ols, solve_ridge
from discreet.cli.flags import FLAGS
from discreet.errors import DiscreetError
from discreet.exact.linear import exact_solution
from support.made_releases import digits

FULL_DIGITS = 15.0  # one rounding of a double


def whole_system(size, seed=0, rows=None, largest=2**16):
    random = np.random.default_rng(seed)
    X = random.integers(-largest, largest, (rows or 2 * size + 5, size)).astype(object)
    theta = random.integers(-9, 10, size).astype(object)
    return X.T @ X, X.T @ X @ theta, theta


def hilbert(size):
    """Int multiples of the Hilbert matrix, which double precision cannot factor from size 13 on."""
    factor = np.lcm.reduce(np.arange(1, 2 * size).astype(object))
    return np.array([[int(factor) // (i + j + 1) for j in range(size)] for i in range(size)], dtype=object)


@given(size=st.integers(1, 12), seed=st.integers(0, 10**6))
def test_whole_solutions_come_back_exactly(size, seed):
    A, b, theta = whole_system(size, seed)
    solution = solve_ols(A, b)
    assert solution.coefficients.tolist() == [float(value) for value in theta]


def test_a_large_system_is_refined_to_full_precision():
    A, b, theta = whole_system(70)
    assert digits(solve_ols(A, b).coefficients.tolist(), theta.tolist()) > FULL_DIGITS


def test_columns_of_very_different_size_do_no_harm():
    A, b, theta = whole_system(8)
    scale = np.array([1, 10**9, 3, 10**12, 1, 7, 10**4, 1], dtype=object)
    solution = solve_ols(A * np.outer(scale, scale), b * scale)
    assert digits(solution.coefficients.tolist(), [Fraction(t, s) for t, s in zip(theta, scale, strict=True)]) > 14


@pytest.mark.parametrize("size", [6, 10, 11, 12, 14, 20])
def test_what_double_precision_cannot_factor_is_eliminated_in_whole_numbers(size):
    A = hilbert(size)
    theta = np.arange(1, size + 1).astype(object)
    assert solve_ols(A, A @ theta).coefficients.tolist() == theta.tolist()


def test_elimination_and_refinement_agree():
    A, b, _ = whole_system(10)
    b = b + 1
    refined, eliminated = solve._refined(A, b), exact_solution(A, b)
    assert refined is not None
    assert eliminated is not None
    assert max(abs(float(x - y)) for x, y in zip(refined, eliminated, strict=True)) < 2.0**-80


def test_a_zero_right_side_gives_zeros():
    A, b, _ = whole_system(5)
    assert solve_ols(A, b * 0).coefficients.tolist() == [0.0] * 5


def test_floats_are_taken_at_their_exact_value():
    A = np.array([[2.0, 0.1], [0.1, 1e-3 + 0.1]])
    theta = np.array([0.3, -0.7])
    b = np.array([float(sum(Fraction(a) * Fraction(t) for a, t in zip(row, theta, strict=True))) for row in A])
    np.testing.assert_allclose(solve_ols(A, b).coefficients, theta, rtol=1e-14)


NOT_POSITIVE_DEFINITE = {
    "negative diagonal": np.array([[-1.0, 0.0], [0.0, 1.0]]),
    "indefinite": np.array([[1.0, 2.0], [2.0, 1.0]]),
    "singular": np.array([[1.0, 1.0], [1.0, 1.0]]),
    "zero": np.zeros((2, 2)),
}


@pytest.mark.parametrize("A", NOT_POSITIVE_DEFINITE.values(), ids=NOT_POSITIVE_DEFINITE)
def test_least_squares_without_a_minimum_is_refused(A):
    with pytest.raises(NotEstimableError, match=r"noise outweighs .*For predictions, pass penalty='bayes'") as caught:
        solve_ols(A, np.ones(2))
    assert "pass --penalty bayes" in caught.value.message(FLAGS)
    assert isinstance(caught.value, DiscreetError)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("size", [10, 60])
def test_a_repeated_column_is_refused_in_small_and_large_systems(size):
    A, b, _ = whole_system(size)
    twice = [*range(size), 3]
    with pytest.raises(NotEstimableError, match="a combination of others"):
        solve_ols(A[np.ix_(twice, twice)], b[twice])


def test_refinement_that_does_not_converge_gives_up(monkeypatch):
    # a factor that belongs to another matrix: corrections then do not shrink
    monkeypatch.setattr(np.linalg, "cholesky", lambda A: np.eye(len(A)))
    A = hilbert(5)
    assert solve._refined(A, A @ np.arange(5).astype(object)) is None


@given(
    size=st.integers(1, 8), seed=st.integers(0, 10**6), ridge=st.floats(1e-12, 1e12), unit=st.sampled_from([1, 4**16])
)
def test_ridge_solves_its_own_normal_equations(size, seed, ridge, unit):
    A, b, _ = whole_system(size, seed)
    solution = solve_ridge(A, b, np.where(np.arange(size) > 0, ridge, 0.0), unit=unit)
    left = [[Fraction(A[i, j], unit) for j in range(size)] for i in range(size)]
    for i in range(1, size):
        left[i][i] += Fraction(ridge)
    residual = [
        sum(a * x for a, x in zip(left[i], solution.exact, strict=True)) - Fraction(b[i], unit) for i in range(size)
    ]
    scale = max(abs(Fraction(value, unit)) for value in b) or 1
    assert max(map(abs, residual)) < scale * Fraction(1, 2**55)


def test_ridge_on_floats_is_the_closed_form():
    random = np.random.default_rng(3)
    X, y = random.standard_normal((30, 4)), random.standard_normal(30)
    A, b = X.T @ X, X.T @ y
    np.testing.assert_allclose(
        solve_ridge(A, b, np.full(4, 0.7)).coefficients, np.linalg.solve(A + 0.7 * np.eye(4), b), rtol=1e-12
    )


def test_a_ridge_that_is_too_small_is_named():
    with pytest.raises(NotEstimableError, match=r"with the ridge 0\.5 .* larger strength"):
        solve_ridge(np.diag([1.0, -1.0]), np.ones(2), np.array([0.0, 0.5]))
    assert solve_ridge(np.diag([1.0, -1.0]), np.ones(2), np.array([0.0, 1.5])).coefficients.tolist() == [1, 2]
