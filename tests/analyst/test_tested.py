"""Tests of terms and of the whole model, and criteria, as a fit gives them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import discreet
from discreet.analyst.model import fit
from discreet.releases.reference_distribution import NotEstimable
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


def test_aic_and_bic_charge_for_the_noise_that_the_coefficients_follow(noisy):
    """The textbook formulas on the noisy sums are smaller, and reward a further coefficient more."""
    small = fit(noisy.release, features=["a", "b"])
    rows, textbook = noisy.nobs, {}
    for one in (noisy, small):
        plain = -rows / 2 * (np.log(2 * np.pi * one.anova().ssr / rows) + 1)
        textbook[one] = -2 * plain + len(one.names) * np.log(rows)
        r = one.aic + 2 * one.llf - 2 * len(one.names)
        assert r > 0.1
        assert one.bic == pytest.approx(-2 * one.llf + len(one.names) * np.log(rows) + r * (np.log(rows) - 1))
        assert one.bic > textbook[one]
        # the residual variance has the same corrected residual sum
        sum_of_squares = one.s2 * one.df_resid
        assert one.llf == pytest.approx(-rows / 2 * (np.log(2 * np.pi * sum_of_squares / rows) + 1))
    assert noisy.bic - small.bic > textbook[noisy] - textbook[small]


@pytest.mark.full
@pytest.mark.no_cover
def test_aic_and_bic_choose_the_true_model_where_textbook_formulas_choose_the_largest():
    """Sixty seeded releases and three nested models, of which the second is true; nothing here varies between runs."""
    chosen = {"aic": [], "bic": [], "textbook aic": [], "textbook bic": []}
    for seed in range(60):
        source = release(count=2000, sigma=12.0, seed=seed)
        fits = [fit(source, features=list(names)) for names in ("a", "ab", "abc")]
        sums = [one.anova().ssr for one in fits]
        if not all(isinstance(value, float) and value > 0 for value in sums):
            continue
        for name, price in (("aic", 2.0), ("bic", np.log(fits[0].nobs))):
            textbook = [one.nobs * np.log(ssr) + price * len(one.names) for one, ssr in zip(fits, sums, strict=True)]
            chosen[name].append(int(np.argmin([getattr(one, name) for one in fits])))
            chosen[f"textbook {name}"].append(int(np.argmin(textbook)))
    true = {name: np.mean(np.array(places) == 1) for name, places in chosen.items()}
    assert len(chosen["aic"]) > 40
    assert true["aic"] > 0.7
    assert true["bic"] > 0.9
    # the textbook formulas fail the same test
    assert true["textbook aic"] < 0.4
    assert true["textbook bic"] < 0.4


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
    assert isinstance(weak.aic, NotEstimable)
    assert weak.f_pvalue == 1.0


def test_a_release_of_one_model_has_none_of_them():
    rows = {name: [0.1 * i - 1 for i in range(20)] for name in "yabc"}
    made = discreet.testing.seeded_release(rows, DESIGN, seed=1, epsilon=5.0, delta=1e-6, mechanism="gradient")
    one = fit(made)
    for value in (one.fvalue, one.llf, one.bic, one.vif["a"], one.anova()["a"].pvalue, one.anova().ssr):
        assert isinstance(value, NotEstimable)
