"""The view: plain values, the same as the fit and the release say."""

from __future__ import annotations

import json

import pytest

from discreet.analyst.model import fit
from discreet.design.design import Design
from discreet.errors import SpecError
from discreet.pages.view import report_view
from discreet.testing.not_private import exact_release, seeded_release
from support.report_cases import example, promised, table


def test_the_view_says_what_the_fit_says() -> None:
    release = example()
    model = fit(release)
    view = report_view(release, model, level=0.9)
    assert [row.name for row in view.coefficients] == list(model.names)
    for row in view.coefficients:
        assert row.estimate == model.params[row.name]
        assert row.std_error == model.bse[row.name]
        assert (row.low, row.high) == tuple(model.conf_int(0.9)[row.name])
        assert row.kind == "interval"
        assert not row.unbounded
        assert row.p == model.pvalues[row.name]
        assert row.sampling_sd**2 + row.privacy_sd**2 == pytest.approx(row.std_error**2)
    assert view.model.rsquared == model.rsquared_adj
    assert view.promise.sentence == release.guarantee.sentence()
    json.dumps(view.to_dict(), allow_nan=False)


def test_effects_are_slopes_times_the_declared_width_and_their_inner_part_is_the_sampling_share() -> None:
    names = ("y", "a")
    design = Design("y", {"y": (0, 1), "a": (0, 4)})
    release = promised(
        seeded_release(table(names, 4000), design, seed=1, epsilon=4.0, delta=1e-6, mechanism="gaussian")
    )
    view = report_view(release, fit(release))
    slope, effect = view.coefficients[1], view.effects[0]
    assert effect.estimate == pytest.approx(4 * slope.estimate)
    assert (effect.low, effect.high) == pytest.approx((4 * slope.low, 4 * slope.high))
    share = slope.sampling_sd / slope.std_error
    assert (effect.inner_high - effect.inner_low) / (effect.high - effect.low) == pytest.approx(share)
    assert effect.low < effect.inner_low < effect.estimate < effect.inner_high < effect.high


def test_a_model_without_intercept_has_an_effect_for_every_coefficient() -> None:
    release = example()
    view = report_view(release, fit(release, intercept=False))
    assert [effect.name for effect in view.effects] == ["a", "b", "c"]


def test_an_unbounded_set_is_shown_with_its_reason() -> None:
    release = example(350, epsilon=0.5)
    model = fit(release)
    view = report_view(release, model)
    weak = [row for row in view.coefficients if row.unbounded]
    assert weak
    for row in weak:
        ends = model.conf_int()[row.name]
        assert (row.kind, row.std_error, row.p) == (ends.kind, None, model.pvalues[row.name])
        assert (row.sampling_sd, row.privacy_sd) == (None, None)
        assert {"kind": row.kind, "lower": row.low, "upper": row.high} == ends.to_dict()
        assert "the release is too noisy to rule out any value" in row.reason
    assert view.refusal is None
    shown = {effect.name: effect for effect in view.effects}
    for row in weak:
        if row.name in shown:
            assert shown[row.name].kind == row.kind
            assert (shown[row.name].estimate is None) == (row.kind == "everything")
    assert any("Estimates in brackets" in note for note in view.model.notes)
    mixed = len(weak) < len(view.coefficients)
    assert any("The bounded sets cover" in note for note in view.model.notes) == mixed
    json.dumps(view.to_dict(), allow_nan=False)


def test_a_model_without_coefficients_has_any_value_and_says_what_predicts() -> None:
    release = next(
        one
        for rows in range(20, 60)
        for one in [example(rows, epsilon=0.3)]
        if not fit(one, features=["a", "c"]).estimable
    )
    view = report_view(release, fit(release, features=["a", "c"]))
    assert {(row.estimate, row.kind, row.p) for row in view.coefficients} == {(None, "everything", 1.0)}
    assert {(effect.estimate, effect.kind) for effect in view.effects} == {(None, "everything")}
    assert "not positive definite" in view.refusal
    assert (view.model.rsquared_low, view.model.rsquared_high) == (0.0, 1.0)
    assert not [note for note in view.model.notes if "No value" in note or "Estimates in brackets" in note]
    assert view.usage.commands[0] == "discreet fit R.json --features a,c"
    assert view.usage.commands[1] == (
        "discreet predict R.json new.csv --features a,c --penalty bayes -o predictions.csv"
    )
    assert view.usage.python[-1] == "discreet.fit(release, features=['a', 'c'], penalty='bayes').predict(new_rows)"
    json.dumps(view.to_dict(), allow_nan=False)


def test_a_lasso_has_estimates_without_intervals() -> None:
    release = example()
    view = report_view(release, fit(release, penalty="lasso", strength=0.001))
    assert view.model.interval_target == "none"
    assert all(effect.low is None and effect.estimate is not None for effect in view.effects)


def test_an_effect_too_large_for_a_double_is_left_out() -> None:
    design = Design("y", {"y": (-8e307, 8e307), "a": (-1, 1)})
    rows = {"y": [8e307 * (-1) ** k for k in range(20)], "a": [0.66 * (-1) ** k for k in range(20)]}
    release = exact_release(rows, design)
    view = report_view(release, fit(release, penalty="lasso", strength=1e-12))
    assert [effect.estimate for effect in view.effects] == [None]
    json.dumps(view.to_dict(), allow_nan=False)


def test_a_fit_of_another_release_and_a_level_that_is_none_are_refused() -> None:
    with pytest.raises(SpecError, match="another release"):
        report_view(example(), fit(example(300, epsilon=20.0)))
    with pytest.raises(SpecError, match="level"):
        report_view(example(), level=1.5)


def test_a_view_without_a_fit_has_everything_else() -> None:
    view = report_view(example())
    assert (view.model, view.coefficients, view.effects, view.refusal) == (None, (), (), None)
    assert view.usage.commands[0] == "discreet fit R.json"
