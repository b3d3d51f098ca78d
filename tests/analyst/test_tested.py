"""Tests of terms and of the whole model, and criteria, as a fit gives them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import discreet
from discreet.analyst.model import fit
from discreet.analyst.values.not_estimable import NotEstimable
from support.compared import DESIGN, release


@pytest.fixture(scope="module")
def noisy():
    return fit(release())


def test_the_whole_model_is_tested_by_all_its_slopes(noisy):
    joint = noisy.f_test("a = 0, b = 0, c = 0")
    assert (noisy.fvalue, noisy.f_pvalue) == (joint.statistic, joint.pvalue)
    through = fit(noisy.release, intercept=False, features=["a"])
    assert through.fvalue == through.f_test("a = 0").statistic
    alone = fit(noisy.release, features=[])
    assert "only an intercept" in alone.fvalue.reason
    assert isinstance(alone.f_pvalue, NotEstimable)


def test_criteria_that_count_the_noise_ask_more_of_each_coefficient(noisy):
    small = fit(noisy.release, features=["a", "b"])
    assert noisy.aic_noise > noisy.aic
    assert noisy.bic_noise - small.bic_noise > noisy.bic - small.bic
    assert noisy.aic == pytest.approx(-2 * noisy.llf + 2 * 4)


def test_a_negative_residual_sum_has_no_likelihood(noisy):
    made = noisy.release
    # the last total is the sum of squares of the target
    broken = fit(replace(made, totals=(*made.totals[:-1], made.totals[-1] // 4)))
    for name in ("llf", "aic", "bic"):
        assert "not above 0" in getattr(broken, name).reason


def test_penalised_fits_have_no_likelihood_and_factors_need_sums(noisy):
    ridge = fit(noisy.release, penalty="ridge", strength=0.1)
    assert "penalty" in ridge.aic.reason
    assert dict(ridge.vif) == dict(noisy.vif)
    weak = fit(release(count=30, sigma=200.0, seed=3))
    assert "positive definite" in weak.vif["a"].reason
    assert isinstance(weak.aic_noise, NotEstimable)
    assert weak.f_pvalue == 1.0


def test_a_release_of_one_model_has_none_of_them():
    rows = {name: [0.1 * i - 1 for i in range(20)] for name in "yabc"}
    made = discreet.testing.seeded_release(rows, DESIGN, seed=1, epsilon=5.0, delta=1e-6, mechanism="gradient")
    one = fit(made)
    for value in (one.fvalue, one.llf, one.bic_noise, one.vif["a"], one.anova()["a"].pvalue, one.anova().ssr):
        assert isinstance(value, NotEstimable)


def test_sums_of_weighted_rows_have_no_likelihood_of_rows():
    random = np.random.default_rng(2)
    rows = {name: random.uniform(-1, 1, 400) for name in "yabc"}
    made = discreet.testing.seeded_release(
        rows, DESIGN, seed=1, epsilon=50.0, delta=1e-6, mechanism="gaussian", scaling="private"
    )
    one = fit(made)
    assert "weighted rows" in one.aic.reason
    assert "weighted rows" in one.anova()["a"].sum_sq.reason
