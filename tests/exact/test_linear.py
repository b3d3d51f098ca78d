"""Elimination in integers: its pivots are leading minors, and its solutions are exact."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.exact.linear import eliminate, exact_solution, factors, solution


def by_fractions(matrix, right) -> list[Fraction]:
    """Gauss and Jordan with fractions and row exchanges: shares nothing with elimination without fractions."""
    rows = [[*map(Fraction, row), Fraction(last)] for row, last in zip(matrix, right, strict=True)]
    for k in range(len(rows)):
        swap = next(i for i in range(k, len(rows)) if rows[i][k])
        rows[k], rows[swap] = rows[swap], rows[k]
        rows[k] = [value / rows[k][k] for value in rows[k]]
        for i in range(len(rows)):
            if i != k:
                rows[i] = [a - rows[i][k] * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [row[-1] for row in rows]


def integers(values):
    return np.array([[int(value) for value in row] for row in values], dtype=object)


@pytest.mark.parametrize("seed", range(20))
def test_a_solution_is_exact(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 7))
    rows = integers(rng.integers(-(2**20), 2**20, (size + 2, size)))
    matrix, right = rows.T @ rows, rows[0] * 3 + 1
    solved = exact_solution(matrix, right)
    assert solved is not None
    assert list(solved) == by_fractions(matrix.tolist(), right.tolist())
    # negative control: one step on one entry is seen
    matrix[0, 0] += 1
    assert exact_solution(matrix, right) != solved


def test_pivots_are_leading_minors_and_what_is_left_of_the_diagonal_is_not_read():
    matrix = [[4, 2, 1], [2, 5, 3], [1, 3, 6]]
    assert eliminate([list(row) for row in matrix]) == [4, 16, 67]
    assert eliminate([[4, 2, 1], [99, 5, 3], [99, 99, 6]]) == [4, 16, 67]


@pytest.mark.parametrize(
    ("matrix", "pivots"),
    [
        ([[0, 0], [0, 3]], [0, 3]),
        ([[1, 1], [1, 1]], [1, 0]),
        ([[0, 1], [1, 5]], None),
        ([[1, 2], [2, 1]], None),
        ([[-1]], None),
    ],
)
def test_a_matrix_that_is_not_definite_has_no_solution(matrix, pivots):
    assert eliminate([list(row) for row in matrix]) == pivots
    assert exact_solution(integers(matrix), np.array([1] * len(matrix), dtype=object)) is None


def test_approximate_factors_solve_to_their_bits():
    bits = 80
    matrix = integers([[4, 2, 1], [2, 5, 3], [1, 3, 6]])
    right = np.array([7, -2, 3], dtype=object)
    found = solution(factors(matrix << bits, bits), right << bits, bits)
    exact = exact_solution(matrix, right)
    assert exact is not None
    assert all(abs(Fraction(int(a), 2**bits) - b) < Fraction(1, 2**70) for a, b in zip(found, exact, strict=True))
