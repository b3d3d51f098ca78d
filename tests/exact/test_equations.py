"""Equations in units of 2**-bits: solved to the unit, by doubles where these suffice, by integers elsewhere."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.exact import linear as equations
from discreet.exact.linear import Equations, exact_solution, factors, solution


@pytest.fixture(autouse=True)
def doubles(monkeypatch):
    """Small ones are tried in doubles, too."""
    monkeypatch.setattr(equations, "_SMALL", 0)


def test_few_unknowns_are_solved_in_integers(monkeypatch):
    monkeypatch.undo()
    rng = np.random.default_rng(1)
    for size, integers in ((equations._SMALL - 1, True), (equations._SMALL, False)):
        matrix, right = random_equations(rng, size, 104)
        solved = Equations(matrix, 104)
        solved.solution(right)
        assert (solved._factors is not None) is integers


def random_equations(rng, size, bits, penalty=1 << 20):
    """A Gram of random rows with a penalty, and a right side, as integers of which `bits` are after the point."""
    rows = rng.integers(-(2**16), 2**16, (size, size + 3)).astype(object)
    gram = rows @ rows.T + penalty * np.identity(size, dtype=object)
    return gram << bits - 32, rng.integers(-(2**40), 2**40, size).astype(object) << bits - 32


def off_by(found, matrix, right):
    """How many units the worst coordinate is from the exact solution."""
    exact = exact_solution(matrix, right)
    assert exact is not None
    return exact, max(abs(value - one) for value, one in zip(found, exact, strict=True))


@pytest.mark.parametrize("bits", [40, 104, 192, 1500])
@pytest.mark.parametrize("size", [1, 2, 7, 12])
def test_doubles_with_exact_residuals_solve_to_the_unit(size, bits):
    rng = np.random.default_rng(size + bits)
    for scale in (0, 1):
        matrix, right = random_equations(rng, size, bits)
        # columns on very different scales
        by = np.array([1 << 9 * (k % 4) * scale for k in range(size)], dtype=object)
        matrix = matrix * np.multiply.outer(by, by)
        solved = Equations(matrix, bits)
        found = solved.solution(right)
        assert solved._factors is None
        exact, apart = off_by([Fraction(int(value), 2**bits) for value in found], matrix, right)
        assert apart <= Fraction(2, 2**bits)
        # negative control: a unit more is seen
        found[0] += 3
        assert off_by([Fraction(int(value), 2**bits) for value in found], matrix, right)[1] > Fraction(2, 2**bits)
        assert any(exact)


def test_a_right_side_of_zeros_has_the_solution_zero():
    matrix, _ = random_equations(np.random.default_rng(1), 3, 64)
    assert Equations(matrix, 64).solution(np.zeros(3, dtype=object)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("bits", [1, 30, 61, 62, 63, 64, 200, 500])
@pytest.mark.parametrize("size", [2, 9, 40])
def test_products_through_doubles_are_those_of_integers(size, bits):
    """Entries of any number of bits, at their largest, and steps at their largest."""
    rng = np.random.default_rng(size * bits)
    entries = [[int.from_bytes(rng.bytes(70)) % (1 << bits) for _ in range(size)] for _ in range(size)]
    matrix = np.array(entries, dtype=object)
    matrix = np.where(rng.random((size, size)) < 0.3, np.full_like(matrix, (1 << bits) - 1), matrix)
    matrix = np.where(rng.random((size, size)) < 0.5, -matrix, matrix)
    matrix = np.triu(matrix) + np.triu(matrix, 1).T
    doubles = equations._Doubles(matrix, np.identity(size), np.ones(size), 0)
    numbers = rng.integers(-(1 << 2 * doubles._width), (1 << 2 * doubles._width) + 1, size).astype(np.float64)
    numbers[0] = 1 << 2 * doubles._width
    step = numbers.astype(np.int64).astype(object) << 5
    assert (doubles.product(numbers, 5, step) == matrix @ step).all()
    assert all(np.abs(limb).max() < 1 << doubles._width for limb in doubles._limbs)


def nearly_repeated(bits, size=6, penalty=1):
    """Columns that differ in their last digit: doubles cannot tell the Gram from a singular matrix."""
    rng = np.random.default_rng(5)
    rows = np.repeat(rng.integers(-(2**30), 2**30, (1, 40)), size, axis=0).astype(object)
    rows += rng.integers(-1, 2, rows.shape).astype(object)
    gram = rows @ rows.T + penalty * np.identity(size, dtype=object)
    return gram << bits, rng.integers(1, 99, size).astype(object) << bits


@pytest.mark.parametrize("spoiled", ["nothing", "factor", "step", "small step"])
def test_where_doubles_do_not_suffice_integers_do(spoiled, monkeypatch):
    """An ill-conditioned matrix, and proposals that are wrong: the solution is that of factors in integers."""
    bits = 128
    matrix, right = nearly_repeated(bits)
    if spoiled != "nothing":
        matrix, right = random_equations(np.random.default_rng(2), 6, bits)
    if spoiled == "factor":
        monkeypatch.setattr(equations._Doubles, "of", lambda _: None)
    if spoiled == "step":
        # corrections that do not become smaller
        monkeypatch.setattr(equations._Doubles, "correction", lambda self, _: (np.full(6, 1e6), 40))
    if spoiled == "small step":
        # corrections that seem to be small, with a residual that is not
        monkeypatch.setattr(equations._Doubles, "correction", lambda self, _: (np.zeros(6), 0))
    solved = Equations(matrix, bits)
    for _ in range(2):
        assert solved.solution(right).tolist() == solution(factors(matrix, bits), right, bits).tolist()
    assert solved._factors is not None


@pytest.mark.parametrize("penalty", [1 << 10, 1 << 20, 1 << 40])
def test_whatever_the_condition_the_solution_is_near(penalty):
    bits = 200
    matrix, right = nearly_repeated(bits, penalty=penalty)
    found = Equations(matrix, bits).solution(right)
    _, apart = off_by([Fraction(int(value), 2**bits) for value in found], matrix, right)
    assert apart < Fraction(1, 2**150)


@pytest.mark.parametrize("diagonal", [[0, 1], [-1, 1], [1, 1 << 900]])
def test_a_matrix_that_doubles_cannot_show_to_be_definite_is_left_to_integers(diagonal):
    assert equations._Doubles.of(np.diag(np.array(diagonal, dtype=object))) is None
