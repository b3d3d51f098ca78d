"""Likelihood and criteria; that they are statsmodels' without noise is in `inference/test_exact_inference`."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from discreet.analyst.terms.likelihood import NO_SUM, Likelihood

LINE = Likelihood(residual=40.0, followed=10.0, rows=1000.0, coefficients=4, half=2.0)


def test_the_log_likelihood_is_gaussian_at_its_maximum():
    variance = 40.0 * 4 / 1000
    wanted = -500 * (math.log(2 * math.pi * variance) + 1)
    assert LINE.llf == pytest.approx(wanted, rel=1e-12)
    assert LINE.criterion(2.0) == pytest.approx(-2 * wanted + 8)


def test_a_criterion_that_counts_noise_charges_what_the_line_follows_of_it():
    """k + r coefficients, r = tr(H V) / s^2, to first order in the share of the residual sum that noise has."""
    small = replace(LINE, followed=0.01)
    r = 0.01 * (1000 - 4) / 40.01
    for price in (2.0, math.log(1000)):
        wanted = -2 * small.llf + price * (4 + r)
        assert small.noise_criterion(price) == pytest.approx(wanted, abs=0.01 * r)
        assert abs(small.criterion(price) - wanted) > r
        assert replace(LINE, followed=0.0).noise_criterion(price) == LINE.criterion(price)


@pytest.mark.parametrize("residual", [0.0, -3.0])
def test_a_residual_sum_that_is_not_positive_has_no_likelihood(residual):
    line = replace(LINE, residual=residual)
    assert (line.llf, line.criterion(2.0)) == (NO_SUM, NO_SUM)
    assert isinstance(line.noise_criterion(2.0), float)
    assert replace(line, followed=0.0).noise_criterion(2.0) == NO_SUM


def test_units_beyond_double_precision_are_no_hindrance():
    assert math.isfinite(replace(LINE, half=1e200).llf)
