"""Which sums a model needs, which a release holds, and how many rows are behind them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import discreet.analyst
from discreet.analyst.model import fit
from discreet.design.design import Design
from discreet.errors import SpecError
from discreet.releases import NoiseDistribution, Release
from discreet.releases.fields import centred
from discreet.releases.reference_distribution import NotEstimable
from support.made_releases import made
from support.other_releases import CENTRED, COLUMNS, DESIGN, fitted_inside, rows, without


def test_a_sum_that_is_missing_is_named():
    whole = made(DESIGN, rows(DESIGN, 300), sigma=1.0).release
    bare = without(whole, "target_square", "sum_x", "sum_y")
    cases = [
        (without(whole, "target_square"), {"target": "a"}, r"target_square.*'y' among its features"),
        (bare, {}, r"sums of the regressors \(sum_x\), because .* and a model with an intercept needs them"),
        (bare, {"features": []}, r"sum of the target \(sum_y\)"),
        (bare, {"intercept": False}, r"sum_x.*bounds are not symmetric around 0"),
        (without(whole, "gram_off_diagonal"), {}, r"products of two regressors \(gram_off_diagonal\)"),
    ]
    for release, spec, message in cases:
        with pytest.raises(SpecError, match=message):
            fit(release, **spec)


def test_a_line_through_a_symmetric_origin_needs_no_sums():
    whole = made(CENTRED, rows(CENTRED, 300), sigma=1.0).release
    bare = without(whole, "target_square", "sum_x", "sum_y")
    np.testing.assert_array_equal(fit(bare).coefficients, fit(whole).coefficients)
    adaptive = fit(bare, penalty="adaptive")
    assert np.isfinite(adaptive.coefficients).all()
    with pytest.raises(SpecError, match="sum_x"):
        fit(bare, intercept=True)
    only_square = without(whole, "sum_x", "sum_y")
    assert dict(fit(only_square).bse) == pytest.approx(dict(fit(whole).bse))
    assert fit(only_square).rsquared == pytest.approx(fit(whole).rsquared)


def test_a_known_mean_of_the_noise_is_taken_away():
    """Wishart noise that was published with its mean: degrees times scale on the diagonal."""
    design = Design("y", {"y": (-1, 1), "x": (-1, 1)})
    exact = made(design, {"y": [0.5, -0.5, 0.25] * 40, "x": [1.0, -1.0, 0.25] * 40}).release
    distribution = NoiseDistribution(16, dict.fromkeys(exact.noise.sigma, 2**32), "none", "wishart", {"degrees": 7})
    biased = tuple(
        total + 7 * 2**32 * (index in (0, 3, 5)) for index, total in enumerate(exact.totals)
    )  # places of the diagonal of three columns
    release = replace(exact, noise=distribution, totals=biased, settings={"debiased": False})
    assert centred(release).totals == exact.totals
    assert fit(release).nobs == 120.0
    np.testing.assert_array_equal(fit(release).coefficients, fit(replace(exact, noise=distribution)).coefficients)
    assert centred(replace(release, settings={"debiased": True})).totals == biased
    assert isinstance(centred(exact), Release)
    part = without(release, "target_square")
    assert centred(part).totals[-1] is None
    assert isinstance(fit(part).s2, NotEstimable)


def test_rows_are_told_only_where_they_are_public_and_all_of_them_count():
    replaced = {"unit": {"neighbours": "replace"}}
    design = Design("y", DESIGN.columns, **replaced)
    result = fit(fitted_inside(design, rows_public=True))
    assert (result.nobs, result.nobs_sd, result.df_resid) == (500.0, 0.0, 495.0)
    assert result.to_dict()["nobs_public"]
    dropping = Design("y", {**COLUMNS, "a": {"bounds": [-1, 1], "missing": "drop"}}, **replaced)
    assert isinstance(fit(fitted_inside(dropping, rows_public=True)).nobs, NotEstimable)


def test_a_count_of_kept_rows_stays_noisy_even_where_the_rows_read_are_public():
    design = Design("y", {"x": {"bounds": [0, 1], "missing": "drop"}, "y": (0, 1)}, unit={"neighbours": "replace"})
    rows = [0.5, None, 0.25, 0.75] * 500
    release = discreet.release({"x": rows, "y": [0.5] * 2000}, design, epsilon=1.0, delta=1e-6, mechanism="gaussian")
    result = fit(release, penalty="adaptive")
    assert release.units_public == 2000
    assert "noisy count" in result.summary()
    assert result.to_dict()["nobs_public"] is False
    # 1500 of 2000 rows are kept, and ten standard deviations of the noise are fewer than the 500 between them
    assert abs(result.nobs - 1500) < 10 * result.nobs_sd < 500
