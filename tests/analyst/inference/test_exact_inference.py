"""Without noise the errors, tests, intervals and R^2 are statsmodels', to eight digits and more."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

from discreet.analyst.model import fit
from discreet.design.design import Design
from support.made_releases import made
from support.nist import LONGLEY

DIGITS = 1e-8
COLUMNS = {"y": (0, 10), "x": (2, 6), "g": ["p", "q", "r"], "flag": bool}
SLOPES = ["x", "g[q]", "g[r]", "flag"]


@pytest.fixture(scope="module")
def source():
    random = np.random.default_rng(0)
    x, flag = random.uniform(2, 6, 60), random.random(60) < 0.5
    y = np.clip(1 + x + 0.2 * flag + random.normal(0, 0.3, 60), 0, 10)
    groups = random.choice(["p", "q", "r"], 60).tolist()
    return made(
        Design("y", COLUMNS), {"y": y.tolist(), "x": x.tolist(), "g": groups, "flag": flag.tolist()}, grid_bits=20
    )


def reference(source, intercept):
    return sm.OLS(source.matrix(["y"], intercept=False)[:, 0], source.matrix(SLOPES, intercept=intercept)).fit()


@pytest.mark.parametrize("intercept", [True, False])
def test_errors_tests_and_intervals_are_statsmodels(source, intercept):
    ours, theirs = fit(source.release, intercept=intercept), reference(source, intercept)
    for got, wanted in (
        (np.asarray(ours.params), theirs.params),
        (np.asarray(ours.bse), theirs.bse),
        (np.asarray(ours.tvalues), theirs.tvalues),
        (np.asarray(ours.pvalues), theirs.pvalues),
        (np.asarray(ours.conf_int()), theirs.conf_int()),
        (np.asarray(ours.conf_int(0.8)), theirs.conf_int(0.2)),
        (ours.cov_params(), theirs.cov_params()),
        (ours.s2, theirs.mse_resid),
        (ours.rsquared, theirs.rsquared),
        (ours.rsquared_adj, theirs.rsquared_adj),
        (ours.df_resid, theirs.df_resid),
        (ours.nobs, theirs.nobs),
    ):
        np.testing.assert_allclose(got, wanted, rtol=DIGITS)
    assert all(value == 0 for value in ours.privacy_sd.values())
    assert all(value == 0 for value in ours.privacy_share.values())
    assert "Column 'privacy'" not in ours.summary()


@pytest.mark.parametrize("intercept", [True, False])
def test_hypotheses_are_statsmodels(source, intercept):
    ours, theirs = fit(source.release, intercept=intercept), reference(source, intercept)
    start = int(intercept)
    weights = np.zeros((2, 4 + start))
    weights[0, start], weights[0, start + 3] = 2, -1
    weights[1, start + 1] = 1
    values = np.array([0.5, 0.0])
    one = ours.t_test("2*x - flag = 0.5, g[q] = 0")
    wanted = theirs.t_test((weights, values))
    np.testing.assert_allclose(np.asarray(one.effect), wanted.effect, rtol=DIGITS)
    np.testing.assert_allclose(np.asarray(one.sd), wanted.sd, rtol=DIGITS)
    np.testing.assert_allclose(np.asarray(one.tvalue), wanted.tvalue, rtol=DIGITS)
    np.testing.assert_allclose(np.asarray(one.pvalue), wanted.pvalue, rtol=DIGITS)
    np.testing.assert_allclose(np.asarray(one.conf_int(0.9)), wanted.conf_int(0.1), rtol=DIGITS)
    both, theirs_f = ours.f_test("2*x - flag = 0.5, g[q] = 0"), theirs.f_test((weights, values))
    assert both.statistic == pytest.approx(float(theirs_f.fvalue), rel=DIGITS)
    assert both.pvalue == pytest.approx(float(theirs_f.pvalue), rel=DIGITS)
    assert (both.df_num, both.df_denom) == (2, theirs.df_resid)
    assert ours.wald_test("2*x - flag = 0.5, g[q] = 0") == both
    chi, theirs_chi = ours.wald_test(weights, use_f=False), theirs.wald_test(weights, use_f=False, scalar=True)
    assert chi.statistic == pytest.approx(float(theirs_chi.statistic), rel=DIGITS)
    assert chi.pvalue == pytest.approx(float(theirs_chi.pvalue), rel=DIGITS)
    assert chi.df_denom is None


@pytest.mark.parametrize("intercept", [True, False])
def test_the_whole_model_and_its_criteria_are_statsmodels(source, intercept):
    ours, theirs = fit(source.release, intercept=intercept), reference(source, intercept)
    for name in ("fvalue", "f_pvalue", "llf", "aic", "bic"):
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), rel=DIGITS), name
    X = theirs.model.exog
    explained = [sm.OLS(X[:, j], np.delete(X, j, axis=1)).fit().rsquared for j in range(intercept, X.shape[1])]
    assert list(ours.vif) == SLOPES
    np.testing.assert_allclose(np.asarray(ours.vif), 1 / (1 - np.array(explained)), rtol=DIGITS)
    names = ours.names
    covariance = ours.cov_params()
    assert covariance["x", "flag"] == pytest.approx(theirs.cov_params()[names.index("x"), names.index("flag")])


def frame_of(source):
    rows = {name: [float(value) for value in source.rows[name]] for name in ("y", "x", "flag", "g[q]", "g[r]")}
    rows["g"] = np.where(np.array(rows.pop("g[q]")) > 0, "q", np.where(np.array(rows.pop("g[r]")) > 0, "r", "p"))
    return pd.DataFrame(rows)


def test_terms_and_pairs_are_statsmodels(source):
    ours, theirs = fit(source.release), smf.ols("y ~ x + C(g) + flag", frame_of(source)).fit()
    table, wanted = ours.anova(), sm.stats.anova_lm(theirs, typ=3)
    for name, row in (("x", "x"), ("g", "C(g)"), ("flag", "flag")):
        one = table[name]
        assert one.df == wanted["df"][row]
        assert one.sum_sq == pytest.approx(wanted["sum_sq"][row], rel=DIGITS)
        assert one.statistic == pytest.approx(wanted["F"][row], rel=DIGITS)
        assert one.pvalue == pytest.approx(wanted["PR(>F)"][row], rel=1e-7)
    assert table.ssr == pytest.approx(theirs.ssr, rel=DIGITS)
    assert table.df_resid == theirs.df_resid
    pairs, frame = ours.t_test_pairwise("g"), theirs.t_test_pairwise("C(g)", method="bonferroni").result_frame
    assert list(pairs.effect) == ["g[q] - g[p]", "g[r] - g[p]", "g[r] - g[q]"]
    for values, column in ((pairs.effect, "coef"), (pairs.sd, "std err"), (pairs.pvalue, "P>|t|")):
        np.testing.assert_allclose(np.asarray(values), frame[column], rtol=1e-7)
    shared = ours.t_test_pairwise("g", simultaneous="bonferroni")
    np.testing.assert_allclose(np.asarray(shared.pvalue_adjusted), frame["pvalue-bonferroni"], rtol=1e-7)
    ends = theirs.t_test([[0, 1, 0, 0, 0], [0, 0, 1, 0, 0], [0, -1, 1, 0, 0]]).conf_int(0.05 / 3)
    np.testing.assert_allclose(np.asarray(shared.conf_int()), ends, rtol=1e-7)


def test_one_side_is_the_tail_of_students_distribution(source):
    from scipy import stats

    ours, theirs = fit(source.release), reference(source, True)
    t = float(theirs.t_test([0, 1, 0, 0, 0]).tvalue.item() - 0.98 / theirs.bse[1])
    for side, wanted in (("larger", stats.t.sf(t, 55)), ("smaller", stats.t.cdf(t, 55))):
        got = ours.t_test("x = 0.98", alternative=side)
        assert got.pvalue["x = 0.98"] == pytest.approx(wanted, rel=1e-7)
        assert got.alternative == side
    assert math.isclose(
        sum(ours.t_test("x = 0.98", alternative=s).pvalue["x = 0.98"] for s in ("larger", "smaller")), 1
    )


def test_nested_tests_are_statsmodels(source):
    from discreet.analyst.comparison import compare_models

    frame = frame_of(source)
    compared = compare_models(source.release, ["y ~ x", "y ~ x + g", "y ~ x + g - 1", "y ~ x + g + flag"])
    assert [(one.smaller, one.larger) for one in compared.nested] == [(0, 1), (2, 1), (1, 3)]
    larger = smf.ols("y ~ x + C(g)", frame).fit()
    F, p, df = larger.compare_f_test(smf.ols("y ~ x", frame).fit())
    test = compared.nested[0].test
    assert (test.statistic, test.pvalue) == (pytest.approx(F, rel=1e-7), pytest.approx(p, rel=1e-7))
    assert test.df_num == df
    assert compared.models[1].aic == pytest.approx(larger.aic, rel=DIGITS)
    assert compared.models[1].bic == pytest.approx(larger.bic, rel=DIGITS)


@pytest.mark.parametrize("intercept", [True, False])
def test_predictions_are_statsmodels(source, intercept):
    ours, theirs = fit(source.release, intercept=intercept), reference(source, intercept)
    new = {"x": [2.5, 4.0, 6.0], "g": ["p", "q", "r"], "flag": [True, False, True]}
    rows = np.array([[2.5, 0, 0, 1], [4, 1, 0, 0], [6, 0, 1, 1.0]])
    wanted = theirs.get_prediction(np.column_stack([np.ones(3), rows]) if intercept else rows)
    got = ours.get_prediction(new)
    np.testing.assert_allclose(got.predicted_mean, wanted.predicted_mean, rtol=DIGITS)
    np.testing.assert_allclose(got.predicted_mean, ours.predict(new), rtol=1e-13)
    np.testing.assert_allclose(got.se_mean, wanted.se_mean, rtol=DIGITS)
    np.testing.assert_allclose(got.conf_int(0.9), wanted.conf_int(alpha=0.1), rtol=DIGITS)
    np.testing.assert_allclose(got.conf_int(obs=True), wanted.conf_int(obs=True), rtol=DIGITS)
    frame, theirs_frame = got.summary_frame().to_pydict(), wanted.summary_frame()
    for name in theirs_frame.columns:
        np.testing.assert_allclose(frame[name], theirs_frame[name], rtol=DIGITS)
    assert frame["reason"] == [None] * 3


def test_columns_that_nearly_repeat_keep_eight_digits():
    """Longley's table, whose scaled sums of products still have a condition number of about a million."""
    columns = {name: [float(value) for value in values] for name, values in LONGLEY.columns.items()}
    bounds = {name: (min(v) - (max(v) - min(v)) / 20, max(v) + (max(v) - min(v)) / 20) for name, v in columns.items()}
    source = made(Design(LONGLEY.target, bounds), columns, grid_bits=26)
    X = source.matrix(list(LONGLEY.features))
    # centred and scaled by hand, so that the reference itself has the digits
    centre, scale = X[:, 1:].mean(axis=0), X[:, 1:].std(axis=0)
    Z = np.column_stack([np.ones(len(X)), (X[:, 1:] - centre) / scale])
    theirs = sm.OLS(source.matrix([LONGLEY.target], intercept=False)[:, 0], Z).fit()
    ours = fit(source.release, features=list(LONGLEY.features))
    np.testing.assert_allclose(np.asarray(ours.bse)[1:], theirs.bse[1:] / scale, rtol=DIGITS)
    np.testing.assert_allclose(np.asarray(ours.tvalues)[1:], theirs.tvalues[1:], rtol=DIGITS)
    assert ours.rsquared == pytest.approx(theirs.rsquared, rel=1e-12)
    to_origin = np.append(1.0, -centre / scale)
    np.testing.assert_allclose(ours.bse["Intercept"], np.sqrt(to_origin @ theirs.cov_params() @ to_origin), rtol=DIGITS)
