"""B-spline bases: partition of one, a reference, exact values."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.design import formula as splines
from discreet.design.formula import parse

CURVES = [
    ([25.0, 40.0, 60.0], 3, (18.0, 90.0)),
    ([0.0], 1, (-1.0, 1.0)),
    ([0.1, 0.2, 0.3, 0.31], 2, (0.0, 1.0)),
    ([1e5, 1e5 + 1e-6], 5, (99_999.0, 100_001.0)),
    ([-3e-9, 2e-9], 4, (-1e-8, 1e-8)),
]


@pytest.mark.parametrize(("knots", "degree", "bounds"), CURVES)
def test_a_basis_is_not_negative_sums_to_one_and_has_short_supports(knots, degree, bounds):
    low, high = bounds
    rng = np.random.default_rng(8)
    near = [math.nextafter(x, side) for x in (low, *knots, high) for side in (low, high)]
    x = np.concatenate([np.linspace(low, high, 500), rng.uniform(low, high, 3000), knots, near, [low, high]])
    found = splines.basis(x, knots, degree, bounds)
    assert found.shape == (len(knots) + degree + 1, len(x))
    assert found.min() >= 0
    assert found.max() <= 1
    # multiples of 2**-40, so that these sums are exact
    steps = found * 2.0**40
    assert np.array_equal(steps, np.rint(steps))
    totals = steps.astype(np.int64).sum(axis=0)
    assert totals.max() <= 2**40
    # each of degree + 1 functions is rounded down by less than one step, next to a rounding error far below a step
    assert totals.min() >= 2**40 - degree - 1
    squares = [sum(int(value) ** 2 for value in row) for row in steps.T]
    assert max(squares) <= 2**80
    every = [low] * (degree + 1) + list(knots) + [high] * (degree + 1)
    for index, values in enumerate(found):
        outside = (x < every[index]) | (x > every[index + degree + 1])
        assert not values[outside].any()
    assert found[0, -2] == found[-1, -1] == 1


@pytest.mark.parametrize(("knots", "degree", "bounds"), CURVES)
def test_a_basis_agrees_with_a_reference_and_is_continuous(knots, degree, bounds):
    from scipy.interpolate import BSpline

    low, high = bounds
    every = np.array([low] * (degree + 1) + knots + [high] * (degree + 1))
    x = np.random.default_rng(9).uniform(low, high, 400)
    expected = BSpline.design_matrix(x, every, degree).toarray().T
    # rounding down to 2**-40
    np.testing.assert_allclose(splines.basis(x, knots, degree, bounds), expected, rtol=0, atol=1e-11)
    beside = np.array([[math.nextafter(knot, low), knot] for knot in knots])
    left, right = (splines.basis(side, knots, degree, bounds) for side in beside.T)
    gap = min(np.diff([low, *knots, high]))
    np.testing.assert_allclose(left, right, rtol=0, atol=1e-11 + 10 * degree * np.spacing(max(map(abs, bounds))) / gap)


def test_a_basis_value_does_not_depend_on_its_place():
    rng = np.random.default_rng(6)
    ages = rng.uniform(18, 90, 9000)
    formula, bounds = parse("spline(log(age), 3.2, 4, 4.2)"), {"age": (18.0, 90.0)}
    whole = formula.basis({"age": ages}, bounds)
    for length in range(1, 68):
        start = int(rng.integers(0, len(ages) - length))
        part = formula.basis({"age": ages[start : start + length]}, bounds)
        assert part.tobytes() == whole[:, start : start + length].tobytes()
