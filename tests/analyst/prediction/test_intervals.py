"""Predictions with intervals: shapes, masks, reasons, and many rows at once."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.analyst.inference.contrasts import unit_map
from discreet.analyst.inference.score import contrast_terms, fieller_sets
from discreet.analyst.model import fit
from discreet.design.design import Design
from discreet.errors import DataError, SpecError
from discreet.releases.reference_distribution import critical_value
from support.made_releases import made


@pytest.fixture(scope="module")
def release():
    random = np.random.default_rng(0)
    x, w = random.uniform(2, 6, 400), random.uniform(0, 1, 400)
    y = np.clip(x + w + random.normal(0, 0.3, 400), 0, 10)
    columns = {"y": (0, 10), "x": {"bounds": [2, 6], "missing": "drop"}, "w": (0, 1)}
    return made(Design("y", columns), {"y": y.tolist(), "x": x.tolist(), "w": w.tolist()}, sigma=1.0, seed=1).release


def test_the_interval_of_a_mean_is_that_of_the_same_combination_of_coefficients(release):
    for intercept in (True, False):
        result = fit(release, intercept=intercept)
        got = result.get_prediction({"x": [3.0], "w": [0.25]})
        weights = [1.0, 3.0, 0.25] if intercept else [3.0, 0.25]
        test = result.t_test(weights)
        (ends,) = test.conf_int(0.9).values()
        (effect,), (sd,) = test.effect.values(), test.sd.values()
        terms = contrast_terms(result._score, np.array([weights]) @ unit_map(result._inputs.units))
        plain = fieller_sets(terms, critical_value(0.9, "gaussian", result.df_resid)).moved(np.array([effect]), 1.0)
        np.testing.assert_allclose(got.conf_int(0.9), [tuple(plain.at(0, ""))], rtol=1e-9)
        # what is open about the other coefficients is counted for combinations, not for the rows of a table
        np.testing.assert_allclose(got.conf_int(0.9), [tuple(ends)], rtol=0.02)
        np.testing.assert_allclose(got.se_mean, [sd], rtol=1e-9)
        assert unit_map(result._inputs.units).shape == (len(weights), len(weights))


def test_dropped_rows_are_masked_and_say_why(release):
    result = fit(release)
    got = result.get_prediction({"x": [3.0, float("nan"), 5.0], "w": [0.5, 0.5, 0.5]})
    assert np.ma.getmaskarray(got.predicted_mean).tolist() == [False, True, False]
    assert np.ma.getmaskarray(got.se_mean).tolist() == [False, True, False]
    for ends in (got.conf_int().lower, got.conf_int().upper):
        assert np.ma.getmaskarray(ends).tolist() == [False, True, False]
    assert got.conf_int()[1] is None
    dropped = "the row was dropped, because a cell is missing and the declared rule of its column is drop"
    assert got.reasons() == [None, dropped, None]
    frame = got.summary_frame(0.9).to_pydict()
    assert frame["mean"][1] is None
    assert frame["mean_ci_lower"][0] < frame["mean"][0] < frame["mean_ci_upper"][0]
    assert frame["obs_ci_lower"][0] < frame["mean_ci_lower"][0]
    assert frame["reason"][1]


def test_more_rows_than_fit_in_one_pass_are_the_same_rows(release):
    result = fit(release)
    count = 2**13 + 70_000
    many = result.get_prediction({"x": np.linspace(2, 6, count), "w": np.linspace(0, 1, count)})
    few = result.get_prediction({"x": [2.0, 6.0], "w": [0.0, 1.0]})
    np.testing.assert_allclose(np.asarray(many.conf_int())[[0, -1]], few.conf_int(), rtol=1e-12)
    assert np.asarray(many.conf_int(obs=True)).shape == (count, 2)


def test_a_model_without_features_predicts_its_mean(release):
    result = fit(release, features=[])
    got = result.get_prediction({"x": [3.0, 4.0]})
    (ends,) = result.conf_int().values()
    np.testing.assert_allclose(got.conf_int(), [tuple(ends)] * 2, rtol=1e-12)
    assert np.asarray(result.get_prediction({"x": []}).conf_int()).shape == (0, 2)


def test_rows_in_a_direction_that_noise_fills_have_unbounded_sets(release):
    random = np.random.default_rng(2)
    x = random.uniform(-1, 1, 300)
    flag = random.random(300) < 0.05
    rows = {"y": np.clip(x + random.normal(0, 0.1, 300), -2, 2).tolist(), "x": x.tolist(), "flag": flag.tolist()}
    weak = made(Design("y", {"y": (-2, 2), "x": (-1, 1), "flag": bool}), rows, sigma=7.5, seed=3).release
    got = fit(weak).get_prediction({"x": [0.1, 0.1], "flag": [False, True]})
    assert [one.bounded for one in got.conf_int()] == [True, False]
    assert got.reasons()[0] is None
    assert "the release is too noisy to rule out any value" in got.reasons()[1] == got.conf_int()[1].reason


def test_tables_that_do_not_fit_are_refused(release):
    result = fit(release)
    with pytest.raises(DataError, match="'w'"):
        result.get_prediction({"x": [1.0]})
    with pytest.raises(SpecError, match="expected a table in memory"):
        result.get_prediction("rows.csv")
    with pytest.raises(SpecError, match=r"expected a number from 0\.5 to below 1 for level, got 2"):
        result.get_prediction({"x": [3.0], "w": [0.5]}).conf_int(2)
