"""What a picture of coefficients shows is what the fit says."""

from __future__ import annotations

import math

import pytest

import discreet
from discreet.analyst.plots.coefficient_plots import checked_scale, panels, range_effects, target_width
from discreet.errors import SpecError
from support.picture_cases import nothing, release, weak


def test_over_a_range_a_slope_is_multiplied_by_its_width_and_an_indicator_by_1():
    fit = discreet.fit(release())
    (panel,) = panels(fit, 0.9, "range")
    assert [effect.name for effect in panel.effects] == list(fit.names[1:])
    for effect in panel.effects:
        width = 10.0 if effect.name in ("age", "hours") else 1.0
        ends = fit.conf_int(0.9)[effect.name]
        assert effect.estimate == pytest.approx(width * fit.params[effect.name])
        assert (effect.low, effect.high) == pytest.approx((width * ends.lower, width * ends.upper))
        part = (effect.inner_high - effect.inner_low) / (effect.high - effect.low)
        assert part == pytest.approx(fit.sampling_sd[effect.name] / fit.bse[effect.name])
    assert panel.window == pytest.approx((-66.0, 66.0))
    assert target_width(fit) == 60


def test_each_unit_has_its_panel_and_indicators_share_one():
    fit = discreet.fit(release())
    found = panels(fit, 0.95, "unit")
    assert [[effect.name for effect in panel.effects] for panel in found] == [
        ["Intercept"], ["age"], ["hours"], ["member", "region[south]", "region[west]"],
    ]  # fmt: skip
    assert [effect.estimate for panel in found for effect in panel.effects] == list(fit.params.values())
    assert found[1].label == "change of income for each unit of age"
    assert found[1].window == pytest.approx((-6.6, 6.6))
    assert found[0].window == (-math.inf, math.inf)
    without = panels(discreet.fit(release(), features=["age"], intercept=False), 0.95, "unit")
    assert [panel.effects[0].name for panel in without] == ["age"]


def test_sets_of_every_kind_are_passed_on_and_a_set_of_any_value_has_no_estimate():
    fit = weak()
    for effect in range_effects(fit, 0.95):
        ends = fit.conf_int()[effect.name]
        assert effect.kind == ends.kind
        assert (effect.estimate is None) == (ends.kind == "everything")
        assert (effect.inner_low is None) == (ends.kind != "interval")
    assert {(effect.estimate, effect.kind) for effect in range_effects(nothing(), 0.95)} == {(None, "everything")}


@pytest.mark.parametrize("penalty", ["lasso", "bayes"])
def test_without_errors_there_are_estimates_alone(penalty):
    strength = 0.01 if penalty == "lasso" else None
    fit = discreet.fit(release(), penalty=penalty, strength=strength)
    for effect in range_effects(fit, 0.95):
        assert effect.estimate is not None
        assert effect.low is effect.high is effect.kind is effect.table_low is None


def test_a_release_of_coefficients_has_intervals_for_its_table_where_they_are_known():
    effects = range_effects(discreet.fit(release(mechanism="output")), 0.95)
    assert all(effect.table_low < effect.estimate < effect.table_high for effect in effects)
    effects = range_effects(discreet.fit(release(mechanism="irls")), 0.95)
    assert all(effect.table_low is None and effect.estimate is not None for effect in effects)


@pytest.mark.parametrize("given", ["ranges", "", None, 1, ["range"]])
def test_what_is_no_scale_is_refused(given):
    with pytest.raises(SpecError, match="unknown scale"):
        checked_scale(given)


def test_a_model_without_slopes_has_an_intercept_alone():
    fit = discreet.fit(release(), features=[])
    assert panels(fit, 0.95, "range") == ()
    assert [panel.effects[0].name for panel in panels(fit, 0.95, "unit")] == ["Intercept"]
