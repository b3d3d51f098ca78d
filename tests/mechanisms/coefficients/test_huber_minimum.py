"""The minimum of Huber's loss with penalty and linear term: as near to the exact one as it says, whatever the table."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting.fitted_models import rounding_sensitivity
from discreet.curator.sums.gram import Totals
from discreet.curator.sums.huber import digit_bits
from discreet.curator.sums.row_counts import RowCounts
from discreet.design.domain import RowDomain
from discreet.mechanisms.objective import HuberProblem, huber_minimum
from support.iterative_runs import summed

UNIT = 2**16


def rows_of(Z, y):
    """Rows (1, x, y) in grid steps, shape (columns, rows), from scaled values."""
    full = np.column_stack([np.ones(len(y)), Z, y]).T
    return np.rint(full * UNIT)


def problem_of(rows, linear, strength, threshold, *, intercept=True):
    z = rows[0 if intercept else 1 : -1].astype(int).astype(object)
    gram, cross = z @ z.T, z @ rows[-1].astype(int).astype(object)
    linear = np.array([int(value * UNIT**2) for value in linear], dtype=object)
    domain = RowDomain(rows.shape[0] - 2, 0, 0, None, False, 16)
    steps = math.ceil(strength * UNIT**2)
    return HuberProblem(domain, gram, cross - linear, linear, steps, int(threshold * UNIT), intercept)


def solved(problem, rows, digits=None):
    """The lattice point, and how many passes it took."""
    search = huber_minimum(problem, digits)
    sums, passes = next(search), 0
    while True:
        passes += 1
        try:
            sums = search.send(Totals(summed(sums, rows), sums.unit, RowCounts(rows.shape[1])))
        except StopIteration as done:
            return done.value, passes


def gradient_in_one_dimension(problem, rows, point):
    """Derivative of the objective at a rational point, in scaled units."""
    limit = Fraction(problem.threshold, UNIT)
    total = Fraction(int(problem.linear[0]), UNIT**2) + Fraction(problem.strength, UNIT**2) * point
    for x, y in rows[1:].T.astype(int).tolist():
        residual = Fraction(y, UNIT) - Fraction(x, UNIT) * point
        total -= Fraction(x, UNIT) * max(-limit, min(limit, residual))
    return total


def test_the_distance_to_the_exact_minimum_is_what_it_says():
    """One coefficient: the derivative changes its sign within the stated distance of the lattice point, exactly."""
    rng = np.random.default_rng(1)
    sensitivity = Fraction(rounding_sensitivity(1)) / UNIT**2
    clipped = 0
    for _ in range(150):
        count = int(rng.choice([0, 1, 2, 5, 40]))
        rows = rows_of(rng.uniform(-1, 1, (count, 1)), rng.uniform(-1, 1, count))
        threshold = 10 ** rng.uniform(-3, 0.3)
        linear, strength = [rng.normal() * 10 ** rng.uniform(-2, 1)], 10 ** rng.uniform(-3, 2)
        problem = problem_of(rows, linear, strength, threshold, intercept=False)
        (found,), _ = solved(problem, rows)
        point = Fraction(found, UNIT**2)
        below, above = (gradient_in_one_dimension(problem, rows, point + side * sensitivity) for side in (-1, 1))
        assert below <= 0 <= above
        clipped += any(abs(y - x * float(point)) > threshold for x, y in (rows[1:] / UNIT).T)
    assert clipped > 50


def minimum_in_doubles(rows, problem, intercept):
    """Gradient steps in the metric of all products, many of them, then Newton's method: another road to the point."""
    z, y = rows[0 if intercept else 1 : -1] / UNIT, rows[-1] / UNIT
    strength, threshold = problem.strength / UNIT**2, problem.threshold / UNIT
    b = problem.linear.astype(float) / UNIT**2
    identity = np.eye(len(z))
    theta = np.zeros(len(z))
    for step in range(400):
        residual = y - theta @ z
        gradient = -z @ np.clip(residual, -threshold, threshold) + strength * theta + b
        inside = z[:, np.abs(residual) < threshold] if step >= 380 else z
        theta = theta - np.linalg.solve(inside @ inside.T + strength * identity, gradient)
    return theta, np.linalg.norm(gradient)


@pytest.mark.no_cover
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("size", [1, 3, 8])
def test_the_minimum_is_that_of_another_solver(size, intercept):
    rng = np.random.default_rng(10 * size + intercept)
    compared = 0
    for _ in range(25):
        count = int(rng.choice([1, 3, 50, 400]))
        Z = rng.uniform(-1, 1, (count, size))
        y = np.clip(Z @ rng.normal(size=size) * 0.3 + rng.standard_t(2, count) * 0.2, -1, 1)
        rows = rows_of(Z, y)
        problem = problem_of(
            rows, rng.normal(size=size + intercept) * 0.3, 10 ** rng.uniform(0, 2), 10 ** rng.uniform(-2, 0),
            intercept=intercept,
        )  # fmt: skip
        found, passes = solved(problem, rows)
        expected, left = minimum_in_doubles(rows, problem, intercept)
        if left < 1e-9:
            np.testing.assert_allclose(np.array(found, dtype=float) / UNIT**2, expected, atol=1e-8)
            compared += 1
        assert passes < 60
    assert compared > 15


def test_columns_that_repeat_each_other_and_a_small_penalty_are_no_obstacle():
    """Sums of condition 10^9, and rows whose targets pull in opposite directions."""
    rng = np.random.default_rng(5)
    x = rng.uniform(-1, 1, 2000)
    rows = rows_of(np.column_stack([x, x, x + 1 / UNIT]), np.where(rng.random(2000) < 0.5, 1.0, -1.0))
    problem = problem_of(rows, [3.0, -2.0, 1.0, 0.5], 1e-3, 0.01)
    found, _ = solved(problem, rows)
    again, _ = solved(problem, rows, digits=2 * problem.digits())
    assert max(abs(a - b) for a, b in zip(found, again, strict=True)) <= 1


def test_precision_is_raised_until_the_certificate_holds():
    """With the fewest digits a table of many rows and little penalty is not certified; the answer is the same."""
    rng = np.random.default_rng(6)
    rows = rows_of(rng.uniform(-1, 1, (500, 2)), rng.uniform(-1, 1, 500))
    problem = problem_of(rows, [1.0, -1.0, 0.3], 1e-3, 0.2)
    fewest = -(-(2 * 16 + 5) // digit_bits(3, 16))
    assert fewest < problem.digits()
    few, more_passes = solved(problem, rows, digits=fewest)
    enough, passes = solved(problem, rows)
    assert more_passes > passes
    assert max(abs(a - b) for a, b in zip(few, enough, strict=True)) <= 1


@pytest.mark.no_cover
@pytest.mark.parametrize("strength", [1e-3, 3e-3, 0.1])
@pytest.mark.parametrize(
    "counts",
    [
        pytest.param((1100, 1100, 1000, 800), marks=pytest.mark.slow),
        (10, 10, 11, 9),
        pytest.param((800, 800, 800, 800), marks=pytest.mark.slow),
    ],
)
def test_targets_at_their_bounds_in_balanced_groups_take_some_hundred_passes_at_most(counts, strength):
    """Hardly any row is inside the threshold on the way, so that full steps go far astray; 16 linear terms."""
    rng = np.random.default_rng(counts[0])
    x = np.repeat([-1.0, -1.0, 1.0, 1.0], counts)
    rows = rows_of(x[:, None], np.repeat([-1.0, 1.0, -1.0, 1.0], counts))
    passes = [solved(problem_of(rows, rng.normal(size=2) * 0.2, strength, 0.1), rows)[1] for _ in range(16)]
    assert max(passes) < 300


def test_a_table_without_rows_gives_minus_the_linear_term_over_the_penalty():
    rows = np.empty((3, 0))
    (constant, slope), passes = solved(problem_of(rows, [2.0, -4.0], 8.0, 0.1), rows)
    assert (constant, slope, passes) == (-(2**30), 2**31, 1)
