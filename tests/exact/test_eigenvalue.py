"""The smallest eigenvalue of a whole matrix, rounded down: exact, whatever doubles make of it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from discreet.exact.linear import smallest_eigenvalue


def determinant(matrix) -> int:
    """Leibniz's sum: shares nothing with elimination."""
    size = len(matrix)
    total = 0
    for order in itertools.permutations(range(size)):
        swaps = sum(order[i] > order[j] for i in range(size) for j in range(i + 1, size))
        total += (-1) ** swaps * math.prod(matrix[i][order[i]] for i in range(size))
    return total


def semidefinite(matrix, shift) -> bool:
    """Every principal minor of matrix - shift I is at least 0."""
    size = len(matrix)
    moved = [[matrix[i][j] - (shift if i == j else 0) for j in range(size)] for i in range(size)]
    return all(
        determinant([[moved[i][j] for j in chosen] for i in chosen]) >= 0
        for count in range(1, size + 1)
        for chosen in itertools.combinations(range(size), count)
    )


def gram_of(rows) -> list[list[int]]:
    rows = np.asarray(rows).astype(object)
    return [[int(value) for value in row] for row in rows.T @ rows]


def test_the_eigenvalue_is_the_one_that_all_principal_minors_say():
    """Small whole matrices, many of them singular or with a whole eigenvalue, against exact minors; no tolerance."""
    rng = np.random.default_rng(4)
    values = []
    for _ in range(500):
        size = int(rng.integers(1, 5))
        high = int(rng.choice([2, 4, 1000, 2**16]))
        gram = gram_of(rng.integers(-high, high + 1, (int(rng.integers(1, 7)), size)))
        value = smallest_eigenvalue(gram)
        assert semidefinite(gram, value)
        assert not semidefinite(gram, value + 1)
        values.append(value)
    assert 50 < sum(value == 0 for value in values) < 450


@pytest.mark.parametrize("size", [2, 10, 22, 60])
@pytest.mark.parametrize("bits", [8, 16])
def test_the_eigenvalue_is_numpys_where_numpy_can_tell(size, bits):
    gram = gram_of(np.random.default_rng(size).integers(-(2**bits), 2**bits + 1, (200, size)))
    near = np.linalg.eigvalsh(np.array(gram, dtype=float))
    doubt = 2**-44 * near[-1]
    assert near[0] - doubt - 1 <= smallest_eigenvalue(gram) <= near[0] + doubt


def test_a_matrix_without_full_rank_gives_zero():
    rng = np.random.default_rng(2)
    rows = rng.integers(-(2**16), 2**16, (300, 12))
    repeated = np.column_stack([rows, rows[:, 3]])
    summed = np.column_stack([rows, rows[:, 3] + rows[:, 5]])
    for singular in (repeated, summed, rows[:11], np.zeros((1, 1), dtype=int), np.zeros((4, 5), dtype=int)):
        assert smallest_eigenvalue(gram_of(singular)) == 0


def test_a_first_guess_that_doubles_cannot_make_is_mended_by_exact_tests():
    """2**80 I plus a small matrix: in doubles only the first part is there, so that the guess is off by the second."""
    rng = np.random.default_rng(9)
    for size in (2, 5, 8):
        small = gram_of(rng.integers(-60, 61, (20, size)))
        large = [[value + (2**80 if i == j else 0) for j, value in enumerate(row)] for i, row in enumerate(small)]
        assert smallest_eigenvalue(large) == 2**80 + smallest_eigenvalue(small)


def test_a_solver_that_gives_up_changes_nothing(monkeypatch):
    rng = np.random.default_rng(10)
    grams = [gram_of(rng.integers(-50, 51, (rows, 4))) for rows in (3, 4, 8, 100)]
    before = [smallest_eigenvalue(gram) for gram in grams]

    def fails(matrix):
        raise np.linalg.LinAlgError

    monkeypatch.setattr(np.linalg, "eigh", fails)
    assert [smallest_eigenvalue(gram) for gram in grams] == before
    assert before[0] == 0 < before[-1]


def test_the_eigenvalue_does_not_depend_on_the_order_of_columns():
    rng = np.random.default_rng(6)
    rows = rng.integers(-(2**16), 2**16, (40, 9))
    assert len({smallest_eigenvalue(gram_of(rows[:, rng.permutation(9)])) for _ in range(20)}) == 1
