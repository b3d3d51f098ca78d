"""Likelihood and criteria; that they are statsmodels' without noise is in `inference/test_exact_inference`."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from discreet.analyst.inference.terms import NO_SUM, Likelihood

LINE = Likelihood(residual=40.0, followed=10.0, rows=1000.0, coefficients=4, half=2.0)


def test_the_log_likelihood_is_gaussian_at_the_corrected_residual_sum():
    variance = 50.0 * 4 / 1000
    wanted = -500 * (math.log(2 * math.pi * variance) + 1)
    assert LINE.llf == pytest.approx(wanted, rel=1e-12)
    without = replace(LINE, followed=0.0)
    assert without.llf == pytest.approx(-500 * (math.log(2 * math.pi * 40.0 * 4 / 1000) + 1), rel=1e-12)
    assert without.criterion(2.0) == pytest.approx(-2 * without.llf + 8)


def test_a_criterion_charges_for_what_the_line_follows_of_the_noise():
    """k + r coefficients, r = tr(H V) / s^2, to first order in the share of the residual sum that noise has."""
    small, plain = replace(LINE, followed=0.01), replace(LINE, followed=0.0)
    r = 0.01 * (1000 - 4) / 40.01
    for price in (2.0, math.log(1000)):
        wanted = -2 * plain.llf + price * (4 + r)
        assert small.criterion(price) == pytest.approx(wanted, abs=0.01 * r)
        assert abs(plain.criterion(price) - wanted) > r


@pytest.mark.parametrize("residual", [0.0, -3.0])
def test_a_residual_sum_that_is_not_positive_has_no_likelihood(residual):
    line = replace(LINE, residual=residual)
    assert isinstance(line.llf, float)
    assert isinstance(line.criterion(2.0), float)
    for none in (replace(line, followed=0.0), replace(LINE, residual=-10.0)):
        assert (none.llf, none.criterion(2.0)) == (NO_SUM, NO_SUM)


def test_units_beyond_double_precision_are_no_hindrance():
    assert math.isfinite(replace(LINE, half=1e200).llf)
