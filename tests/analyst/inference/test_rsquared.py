"""R^2 and its interval as functions of the two variances and the covariance of their errors."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.analyst.confidence_sets import ConfidenceSet
from discreet.analyst.equations.noise import square_covariance
from discreet.analyst.inference.rsquared import OUTSIDE, VarianceRatio, rsquared, rsquared_interval
from discreet.analyst.model import fit
from discreet.design.design import Design
from discreet.releases.reference_distribution import NotEstimable
from support.made_releases import made


def ratio(residual, total, covariance, privacy=None):
    made_of = np.asarray(covariance, dtype=float)
    return VarianceRatio(residual, total, 90.0, 99.0, made_of, made_of if privacy is None else np.asarray(privacy))


def inside(one, z, rho):
    (rr, rt), (_, tt) = one.covariance
    return (one.residual - rho * one.total) ** 2 <= z**2 * (rr - 2 * rho * rt + rho**2 * tt)


CASES = [
    (0.4, 1.0, [[0.001, 0.0005], [0.0005, 0.004]]),
    (0.4, 1.0, [[0.02, 0.01], [0.01, 0.04]]),
    (0.95, 1.0, [[0.01, 0.0], [0.0, 0.01]]),
    (0.02, 1.0, [[0.01, 0.0], [0.0, 0.01]]),
    (0.4, 0.5, [[0.001, 0.0], [0.0, 0.09]]),
    (0.1, 0.01, [[0.001, 0.0], [0.0, 0.09]]),
    (0.5, -0.1, [[0.0401, 0.0], [0.0, 0.09]]),
    (0.4, 0.2, [[0.05, 0.0], [0.0, 0.09]]),
]


@pytest.mark.parametrize(("residual", "total", "covariance"), CASES)
def test_the_interval_is_the_hull_of_what_the_test_does_not_reject(residual, total, covariance):
    one = ratio(residual, total, covariance)
    grid = np.linspace(0, 1, 20_001)
    kept = grid[[inside(one, 1.96, 1 - value) for value in grid]]
    low, high = rsquared_interval(one, 1.96)
    assert low == pytest.approx(kept.min(), abs=1e-4)
    assert high == pytest.approx(kept.max(), abs=1e-4)


@pytest.mark.parametrize(
    "one",
    [
        ratio(2.0, 1.0, [[0.001, 0.0], [0.0, 0.001]]),
        ratio(-1.0, 1.0, [[0.001, 0.0], [0.0, 0.001]]),
        # a set of two pieces that leaves out all of 0 to 1
        ratio(0.5, 0.001, [[0.0001, 0.0], [0.0, 0.0001]]),
    ],
)
def test_a_set_beyond_0_and_1_excludes_nothing_and_says_why(one):
    found = rsquared_interval(one, 1.96)
    assert tuple(found) == (0.0, 1.0)
    assert found.reason == OUTSIDE


def test_a_set_that_is_no_quadratic_says_nothing():
    assert rsquared_interval(ratio(0.5, 2.0, [[0.0, 0.0], [0.0, 1.0]]), 2.0) == ConfidenceSet("interval", 0.0, 1.0)


def test_the_number_itself_is_refused_where_noise_outweighs_it():
    small = np.diag([0.01, 0.01])
    one = ratio(0.4, 1.0, small)
    assert rsquared(one, 1.96, adjusted=True) == pytest.approx(0.6)
    assert rsquared(one, 1.96, adjusted=False) == pytest.approx(1 - 0.4 * 90 / 99)
    assert "outweighs the variance" in rsquared(ratio(0.4, 0.1, small), 1.96, adjusted=True).reason
    assert "outweighs the variance" in rsquared(ratio(0.4, -1.0, small), 1.96, adjusted=True).reason
    assert "no residual variance" in rsquared(ratio(-0.1, 1.0, small), 1.96, adjusted=True).reason
    assert rsquared(ratio(0.0, 1.0, small, np.zeros((2, 2))), 1.96, adjusted=True) == 1.0


def test_few_rows_without_noise_have_the_number_but_a_wide_interval():
    random = np.random.default_rng(3)
    x = random.uniform(0, 1, 5)
    design = Design("y", {"y": (-3, 3), "x": (0, 1)})
    result = fit(made(design, {"x": x.tolist(), "y": (x + random.normal(0, 0.2, 5)).tolist()}).release)
    assert not isinstance(result.rsquared, NotEstimable)
    low, high = result.rsquared_conf_int()
    assert low <= result.rsquared <= high


@pytest.mark.parametrize("intercept", [True, False])
def test_the_noise_of_both_sums_is_that_of_the_released_ones(intercept):
    """Both are contrasts of the released sums; the noise is small, so that what is of second order is nothing."""
    random = np.random.default_rng(1)
    x = random.uniform(1, 3, 300)
    design = Design("y", {"y": (-1, 9), "x": (1, 3)})
    source = made(design, {"x": x.tolist(), "y": (x + random.normal(0, 0.3, 300)).tolist()}, sigma=1e-3).release
    result = fit(source, intercept=intercept)
    score, equations = result._score, result._inputs.basis.equations
    t = score.contrast
    M = source.moments[np.ix_([0, 2, 1], [0, 2, 1])] if source.columns[1] == "y" else source.moments
    around = np.zeros(3)
    around[-1] = 1.0
    around[0] = -M[0, 2] / M[0, 0] if intercept else equations.shift[-1]
    wanted = [
        [square_covariance(score.entry_noise, a, b) / (p * q) for b, q in ((t, score.df), (around, 300 - intercept))]
        for a, p in ((t, score.df), (around, 300 - intercept))
    ]
    np.testing.assert_allclose(result._ratio.privacy, wanted, rtol=1e-3)
