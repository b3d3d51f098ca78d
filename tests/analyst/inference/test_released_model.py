"""A release of coefficients: one model, read as it is, and nothing said that it cannot say."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.analyst.bound_costs import bound_costs
from discreet.analyst.comparison import compare_models
from discreet.analyst.diagnostics import findings
from discreet.analyst.model import fit
from discreet.analyst.path import path
from discreet.design.design import Design
from discreet.design.model_columns import model_of
from discreet.errors import SpecError
from discreet.privacy.budget import PrivacyUnit
from discreet.privacy.guarantee import Guarantee
from discreet.releases.reference_distribution import NotEstimable
from support.other_releases import CENTRED, DESIGN, fitted_inside, rows

REASON = "the mechanism 'steps' publishes coefficients but no sums"


def test_coefficients_come_back_in_original_units_and_predict():
    release = fitted_inside()
    result = fit(release)
    scaled = release.coefficients.values
    assert result.names == ("Intercept", "a", "g[q]", "g[r]", "b")
    np.testing.assert_array_equal(result.scaled_coefficients, scaled)
    half, mid, half_a, mid_a = 5, 5, 2, 1
    slopes = [Fraction(scaled[1]) * half / half_a, *(Fraction(value) * half for value in scaled[2:])]
    constant = mid + half * Fraction(scaled[0]) - slopes[0] * mid_a
    assert list(result.params.values()) == [float(value) for value in (constant, *slopes)]
    table = {"a": [0.5, -1.0], "g": ["q", "p"], "b": [True, False]}
    by_hand = [float(constant + slopes[0] * Fraction(1, 2) + slopes[1] + slopes[3]), float(constant - slopes[0])]
    np.testing.assert_allclose(result.predict(table), by_hand, rtol=1e-14)
    np.testing.assert_allclose(result.get_prediction(table).predicted_mean, by_hand, rtol=1e-14)


def test_features_may_stand_in_another_order():
    release = fitted_inside()
    turned = fit(release, features=["b", "g", "a"])
    assert turned.names == ("Intercept", "b", "g[q]", "g[r]", "a")
    assert dict(turned.params) == dict(fit(release).params)
    assert fit(release, "y ~ b + a + g").params["a"] == turned.params["a"]


def test_a_model_without_intercept_goes_through_the_origin():
    centred = fit(fitted_inside(CENTRED))
    np.testing.assert_allclose(centred.predict({"a": [0.0], "b": [0.0]}), [0.0], atol=1e-15)
    np.testing.assert_allclose(centred.get_prediction({"a": [0.0], "b": [0.0]}).predicted_mean, [0.0], atol=1e-15)


WRONG = {
    "target": {"target": "a", "features": ["g", "b"]},
    "features": {"features": ["a"]},
    "intercept": {"intercept": False},
    "penalty": {"penalty": "ridge", "strength": 0.1},
    "adaptive": {"penalty": "adaptive"},
    "formula": {"formula": "y ~ a"},
    "formula for another target": {"formula": "a ~ y + b + g"},
}


@pytest.mark.parametrize("name", WRONG)
def test_every_other_model_is_refused_with_what_to_do(name):
    with pytest.raises(
        SpecError,
        match=r"only the coefficients of the declared model, .* leave .* out, or make a release with .gaussian.",
    ):
        fit(fitted_inside(), **WRONG[name])


def test_nothing_is_said_of_errors_but_why():
    result = fit(fitted_inside())
    for values in (
        result.bse, result.tvalues, result.score_z, result.pvalues, result.conf_int(), result.sampling_sd,
        result.privacy_sd, result.privacy_share, result.conf_int(simultaneous="max-t"),
    ):  # fmt: skip
        assert all(isinstance(value, NotEstimable) and value.reason.startswith(REASON) for value in values.values())
    for value in (
        result.s2, result.rsquared, result.rsquared_adj, result.rsquared_conf_int(), result.cov_params(),
        result.wald_test("a = 0, b = 0").pvalue, result.t_test("a = b").pvalue["a = b"],
    ):  # fmt: skip
        assert isinstance(value, NotEstimable)
        assert value.reason.startswith(REASON)
    assert result.interval_target == "none"
    predicted = result.get_prediction({"a": [0.5], "g": ["q"], "b": [True]})
    assert list(predicted.conf_int()) == [None]
    assert np.ma.getmaskarray(predicted.conf_int().lower).all()
    assert predicted.reasons()[0].startswith(REASON)
    assert predicted.summary_frame()["mean"].null_count == 0


def test_what_needs_sums_is_refused():
    release = fitted_inside()
    for call in (
        lambda: path(release),
        lambda: compare_models(release, [["a"], ["a", "b"]]),
    ):
        with pytest.raises(SpecError, match="needs sums of products, but the mechanism 'steps' published"):
            call()
    with pytest.raises(SpecError, match="robust standard errors need sums of residuals"):
        fit(release).robust()
    with pytest.raises(SpecError, match="no moments"):
        bound_costs(release, model_of(release.design))


def test_diagnostics_look_at_the_promise_and_the_arithmetic():
    release = fitted_inside()
    assert [finding.number for finding in findings(release, fit(release))] == ["D001", "D012", "D013"]
    weak = replace(release, guarantee=Guarantee(9.0, 0.01, PrivacyUnit(), ()), numerics="exact")
    found = {finding.number: finding.text for finding in findings(weak)}
    assert set(found) == {"D010", "D011", "D013"}
    assert "about" not in found["D011"]
    assert found["D013"].startswith("The mechanism 'steps' publishes coefficients")
    public = Design("y", DESIGN.columns, unit={"neighbours": "replace"})
    small = replace(
        fitted_inside(public, rows_public=True), guarantee=Guarantee(1.0, 5e-4, public.unit, ()), numerics="exact"
    )
    assert "D011" not in {finding.number for finding in findings(small)}


def test_the_same_table_gives_the_same_prediction_by_arrays():
    result = fit(fitted_inside())
    table = rows(DESIGN, 5)
    del table["y"]
    assert result.predict(table).shape == (5,)
