"""Ridge regression inside a ball: the distance to the exact minimum is what it says, whatever the table."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting.fitted_models import SOLVER_STEPS, RowSensitivity, rounding_sensitivity
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.mechanisms import output as ball_ridge
from discreet.mechanisms.output import normal_equations, ridge_in_ball

UNIT = 2**16


def random_sums(rng, size, rows):
    Z = rng.integers(-UNIT, UNIT + 1, (rows, size)).astype(object)
    y = rng.integers(-UNIT, UNIT + 1, rows).astype(object)
    if rows == 0:
        return np.zeros((size, size), dtype=object), np.zeros(size, dtype=object)
    return Z.T @ Z, Z.T @ y


def minimum_in_doubles(gram, cross, strength, bound):
    """Bisection on the length of the solution as a function of the multiplier."""
    A = gram.astype(float) / UNIT**2 + strength * np.eye(len(cross))
    values, vectors = np.linalg.eigh(A)
    c = vectors.T @ (cross.astype(float) / UNIT**2)
    low, high = 0.0, 0.0 if np.linalg.norm(c / values) <= bound else np.linalg.norm(c) / bound
    for _ in range(200):
        middle = (low + high) / 2
        if np.linalg.norm(c / (values + middle)) > bound:
            low = middle
        else:
            high = middle
    return vectors @ (c / (values + high)), high


@pytest.mark.parametrize("size", [1, 2, 5, 12])
def test_the_minimum_is_that_of_another_solver(size):
    rng = np.random.default_rng(size)
    inside = 0
    for _ in range(60):
        gram, cross = random_sums(rng, size, int(rng.choice([0, 1, 3, 40, 400])))
        # any linear term may come, also one far outside what rows can give
        cross = cross + rng.integers(-10, 11, size).astype(object) * 2**32
        strength, bound = 10 ** rng.uniform(-3, 4), 10 ** rng.uniform(-2, 2)
        expected, multiplier = minimum_in_doubles(gram, cross, strength, bound)
        found = np.array(ridge_in_ball(gram, cross, 16, {"strength": strength, "bound": bound}), float) / UNIT**2
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
        inside += multiplier == 0
    assert 5 < inside < 55, "one of both cases is hardly covered"


def test_in_one_dimension_the_distance_to_the_exact_minimum_is_below_the_claim():
    """Exact rational comparison with the closed form, no tolerance."""
    rng = np.random.default_rng(3)
    claim = Fraction(rounding_sensitivity(1))
    worst = Fraction(0)
    for _ in range(400):
        gram, cross = random_sums(rng, 1, int(rng.integers(0, 30)))
        strength, bound = 10 ** rng.uniform(-3, 4), 10 ** rng.uniform(-2, 1)
        free = Fraction(cross[0], UNIT**2) / (Fraction(gram[0, 0], UNIT**2) + Fraction(strength))
        exact = max(-Fraction(bound), min(Fraction(bound), free))
        (found,) = ridge_in_ball(gram, cross, 16, {"strength": strength, "bound": bound})
        worst = max(worst, abs(found - exact * UNIT**2))
    assert worst <= claim
    # teeth: rounding to the lattice alone comes close to half a step
    assert worst > Fraction(2, 5)


def test_a_point_that_is_certified_lies_within_the_tolerance():
    """One dimension, exact: points moved about the minimum, with good and poor multipliers."""
    rng = np.random.default_rng(4)
    certified = refused = 0
    for _ in range(1500):
        gram, cross = random_sums(rng, 1, 4)
        settings = {"strength": 10 ** rng.uniform(-1, 2), "bound": 10 ** rng.uniform(-2, 0)}
        problem = ball_ridge._Problem.scaled(gram, cross, 16, settings, 192)
        free = Fraction(cross[0], UNIT**2) / (Fraction(gram[0, 0], UNIT**2) + Fraction(settings["strength"]))
        bound = Fraction(settings["bound"])
        exact = max(-bound, min(bound, free))
        moved = exact + problem.tolerance * Fraction(
            float(rng.choice([0, 1e-9, 0.5, 0.99, 1.01, 3]) * rng.choice([-1, 1]))
        )
        needed = abs(free - exact) * (Fraction(gram[0, 0], UNIT**2) + Fraction(settings["strength"])) / bound
        nu = int(needed * Fraction(float(rng.choice([0, 1, 1.0001, 2]))) * 2**192)
        point = np.array([int(moved * 2**192)], dtype=object)
        if problem.certified(point, nu):
            certified += 1
            assert abs(exact - Fraction(int(point[0]), 2**192)) <= problem.tolerance
            assert abs(point[0]) <= problem.bound
        else:
            refused += 1
    assert certified > 100
    assert refused > 100


def test_a_precision_that_does_not_suffice_is_raised_until_it_does(monkeypatch):
    rng = np.random.default_rng(5)
    gram, cross = random_sums(rng, 4, 50)
    settings = {"strength": 0.001953125, "bound": 0.25}
    problem = ball_ridge._Problem.scaled(gram, cross, 16, settings, 40)
    assert problem.solved(40) is None
    usual = ridge_in_ball(gram, cross, 16, settings)
    monkeypatch.setattr(ball_ridge, "_FIRST_BITS", 40)
    again = ridge_in_ball(gram, cross, 16, settings)
    assert max(abs(a - b) for a, b in zip(usual, again, strict=True)) <= 1


def test_sums_that_are_nearly_singular_are_solved_all_the_same():
    """Condition 1e18 and a table of 2^60 equal rows: beyond what doubles could solve."""
    rows = 2**60
    gram = np.full((3, 3), rows * UNIT**2, dtype=object)
    cross = np.full(3, rows * UNIT**2, dtype=object)
    found = ridge_in_ball(gram, cross, 16, {"strength": 1e-3, "bound": 10.0})
    assert found == [round(Fraction(UNIT**2, 3))] * 3
    pushed = ridge_in_ball(gram, cross, 26, {"strength": 1e-3, "bound": 0.01})
    on_the_sphere = 0.01 / math.sqrt(3) * 4**26
    assert max(abs(value - on_the_sphere) for value in pushed) <= 1


def test_the_normal_equations_leave_out_the_constant_without_an_intercept():
    totals = tuple(range(1, 11))
    gram, cross = normal_equations(totals, 4, intercept=True)
    assert gram.tolist() == [[1, 2, 3], [2, 5, 6], [3, 6, 8]]
    assert cross.tolist() == [4, 7, 9]
    gram, cross = normal_equations(totals, 4, intercept=False)
    assert gram.tolist() == [[5, 6], [6, 8]]
    assert cross.tolist() == [7, 9]


def test_the_distance_claimed_is_that_of_rounding_and_a_little_more():
    assert rounding_sensitivity(4) == pytest.approx(1 + float(SOLVER_STEPS), rel=1e-9)


@pytest.mark.parametrize(
    ("unit", "rows"),
    [({}, 1), ({"neighbours": "replace"}, 2), ({"id": "p", "max_rows": 3}, 3),
     ({"id": "p", "max_rows": 3, "neighbours": "replace"}, 6)],
)  # fmt: skip
def test_what_a_row_can_do_is_read_off_the_design(unit, rows):
    design = Design("y", {"x": (0, 1), "b": bool, "y": (0, 1)}, unit=unit)
    sensitivity = RowSensitivity.of(design, RowDomain.of(design), 2.0)
    assert sensitivity.rows == rows
    assert (sensitivity.norm, sensitivity.residual) == pytest.approx((math.sqrt(3), 1 + 2 * math.sqrt(3)), rel=1e-12)
    assert Fraction(sensitivity.norm) ** 2 >= 3
