"""From scaled units to original ones: one rounding, no cancellation, and a refusal beyond double precision."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.analyst.equations.normal import normal_equations
from discreet.analyst.equations.selection import choose
from discreet.analyst.equations.units import scaled_columns
from discreet.analyst.model import fit
from discreet.design.model import Design
from discreet.errors import SpecError
from support.made_releases import digits, exact_least_squares, made


def test_coefficients_beyond_double_precision_are_refused():
    design = Design("y", {"y": (0, 1e300), "x": (0, 1e-200)})
    release = made(design, {"y": [0, 5e299, 1e300], "x": [0, 5e-201, 1e-200]}).release
    with pytest.raises(SpecError, match="too large for double precision"):
        fit(release)


def test_the_intercept_survives_the_cancellation_of_large_middles():
    design = Design("y", {"y": (1e7, 1e7 + 1), "x": (-1e7 - 1, -1e7)})
    rows = {
        "y": [Fraction(10**7) + Fraction(k, 4) for k in (0, 1, 3)],
        "x": [-(10**7) - Fraction(k, 4) for k in (4, 2, 1)],
    }
    source = made(design, rows)
    exact = exact_least_squares(source.rows["y"], [source.rows["1"], source.rows["x"]])
    assert digits(fit(source.release).coefficients.tolist(), exact) > 15


def test_scaled_and_original_coefficients_say_the_same(source):
    result = fit(source.release)
    slopes = result.scaled_coefficients[1:] * 5 / [2, 1, 1, 1]
    np.testing.assert_allclose(result.coefficients[1:], slopes, rtol=1e-14)
    assert result.params["Intercept"] == pytest.approx(5 + 5 * result.scaled_coefficients[0] - 4 * slopes[0])


def test_a_prediction_is_the_same_in_scaled_and_in_original_units(source):
    """With and without an intercept, at one row of each column's scaled values."""
    for intercept in (True, False):
        model = choose(source.release, intercept=intercept)
        units = normal_equations(source.release, model)
        columns, half, mid = scaled_columns(source.release.design, model)
        assert [len(columns), *half, *mid] == [5, 2, 1, 1, 1, 5, 4, 0, 0, 0, 5]
        theta = [Fraction(k, 8) for k in range(1, 5 + intercept)]
        constant, gains = units.prediction_terms(np.array([float(value) for value in theta]))
        scaled = np.array([0.5, 1.0, 0.0, 1.0])
        original = units.original_units(theta)
        row = mid[:-1] + half[:-1] * scaled
        expected = original @ (np.array([1.0, *row]) if intercept else row)
        assert constant + gains @ scaled == pytest.approx(expected, rel=1e-12)
        assert constant + gains @ scaled != pytest.approx(expected + 0.01, rel=1e-12)
