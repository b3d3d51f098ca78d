"""Errors, tests and sets of a fit: one vocabulary, and a reason wherever there is no number."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from discreet.analyst.confidence_sets import NotEstimableError
from discreet.analyst.model import fit
from discreet.design.design import Design
from discreet.errors import SpecError
from discreet.releases import BLOCKS
from discreet.releases.reference_distribution import NotEstimable
from support.made_releases import made
from support.scored_tables import COLUMNS, table


def test_no_residual_variance_above_0_still_gives_intervals():
    """Noise on the square of the target alone: s^2 may fall below 0 while the coefficients stay as they were."""
    quiet = dict.fromkeys(BLOCKS, 0.01)
    for seed in range(50):
        release = made(Design("y", COLUMNS), table(), sigma={**quiet, "target_square": 30.0}, seed=seed).release
        result = fit(release)
        if result._score.s2 <= 0:
            break
    assert isinstance(result.s2, NotEstimable)
    assert isinstance(result.rsquared, NotEstimable)
    assert all(share == 1.0 for share in result.privacy_share.values())
    assert all(low < high for low, high in result.conf_int().values())
    assert result.to_dict()["s2"] is None
    assert "the noise exceeds the residual variance" in result.to_dict()["s2_reason"]
    assert "Residual standard deviation: not estimable" in " ".join(result.summary().split())
    prediction = result.get_prediction({"x": [3.0], "w": [0.0], "flag": [True]})
    (low, high), (mean_low, mean_high) = prediction.conf_int(obs=True)[0], prediction.conf_int()[0]
    assert low < mean_low < mean_high < high


def test_as_many_coefficients_as_rows_exclude_no_value():
    result = fit(made(Design("y", COLUMNS), table(4), seed=1).release)
    assert result.estimable
    for values in (result.bse, result.tvalues, result.score_z, result.sampling_sd, result.privacy_sd):
        assert all("not more rows than coefficients" in value.reason for value in values.values())
    assert not any(result.privacy_share.values())
    assert {ends.kind for ends in result.conf_int().values()} == {"everything"}
    assert set(result.pvalues.values()) == {1.0}
    assert isinstance(result.s2, NotEstimable)
    assert isinstance(result.rsquared_adj, NotEstimable)
    assert tuple(result.rsquared_conf_int()) == (0.0, 1.0)
    assert isinstance(result.cov_params(), NotEstimable)
    test = result.t_test("x = 0")
    assert test.pvalue["x = 0"] == 1.0
    assert next(iter(test.conf_int().values())).kind == "everything"
    assert "not estimable: there are not more rows than coefficients; p = 1" in repr(test)
    joint = result.f_test("x = 0")
    assert isinstance(joint.statistic, NotEstimable)
    assert joint.pvalue == 1.0
    prediction = result.get_prediction({"x": [3.0], "w": [0.0], "flag": [True]})
    assert np.ma.getmaskarray(prediction.se_mean).all()
    assert prediction.conf_int()[0].kind == "everything"
    assert "not more rows" in prediction.conf_int().reasons[0]


def test_a_line_through_every_row_has_nothing_that_varies():
    x = [2.0, 3.0, 4.0, 5.0, 6.0]
    release = made(Design("y", {"y": (0, 16), "x": (2, 6)}), {"x": x, "y": [2 * value - 3 for value in x]}).release
    result = fit(release)
    assert all("nothing varies" in value.reason for value in result.bse.values())
    assert result.s2 == 0.0
    assert result.rsquared == 1.0


def test_units_too_wide_for_double_precision_are_refused():
    x = [0.0, 1.0, 2.0, 3.0]
    release = made(
        Design("y", {"y": (0, 1e200), "x": (0, 3)}), {"x": x, "y": [1e199, 3e199, 2e199, 7e199]}, sigma=1e-4
    ).release
    result = fit(release)
    assert result.bse["x"] > 1e198
    for value in (result.cov_params(), result.s2):
        assert "too large for double precision" in value.reason
    json.dumps(result.to_dict(), allow_nan=False)
    rows = {"x": [0.0, 1e-200, 2e-200, 3e-200], "y": [1e149, 3e149, 2e149, 7e149]}
    steep = made(Design("y", {"y": (0, 1e150), "x": (0, 3e-200)}), rows).release
    with pytest.raises(SpecError, match="too large for double precision"):
        fit(steep)
    flat = dataclasses.replace(steep, totals=tuple(0 if index in (4, 2) else t for index, t in enumerate(steep.totals)))
    assert "too large for double precision" in fit(flat).bse["x"].reason


def test_what_works_where_nothing_is_estimable_is_said_once():
    release = made(Design("y", COLUMNS), table(), sigma=1e4, seed=2).release
    with pytest.raises(NotEstimableError) as caught:
        _ = fit(release).coefficients
    assert str(caught.value).count("For predictions") == 1


def test_what_is_about_single_rows_is_not_there_and_says_why():
    fitted = fit(made(Design("y", COLUMNS), table(), sigma=0.1).release)
    assert not hasattr(fitted, "resid")
    with pytest.raises(AttributeError, match="'fittedvalues': it needs single rows, and a release contains only sums"):
        _ = fitted.fittedvalues
    with pytest.raises(AttributeError, match=r"'Fit' object has no attribute 'slope'$"):
        _ = fitted.slope
