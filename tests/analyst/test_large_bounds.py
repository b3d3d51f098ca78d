"""Bounds near the end of double precision: every reading of a release gives numbers or says why there are none."""

from __future__ import annotations

import json

import numpy as np
import pytest

import discreet
from discreet.pages.page import render
from discreet.pages.view import report_view
from discreet.releases.reference_distribution import known
from discreet.testing import exact_release, seeded_release

LEVELS = ["a", "b", "c"]
MODELS = [["x"], ["x", "g"]]


def released(unit, target, epsilon):
    """The same rows, with the feature and perhaps the target in other units."""
    rng = np.random.default_rng(0)
    x, g = rng.uniform(-1, 1, 500), rng.choice(LEVELS, 500)
    y = np.clip(0.5 * x + rng.normal(0, 0.1, 500), -1, 1)
    design = discreet.Design("y", {"y": (-target, target), "x": (-unit, unit), "g": LEVELS})
    rows = {"x": (x * unit).tolist(), "y": (y * target).tolist(), "g": g.tolist()}
    if epsilon is None:
        return exact_release(rows, design)
    return seeded_release(rows, design, seed=1, epsilon=epsilon, delta=1e-6)


def readings(release, unit):
    """Everything that people and programs read off a release, as JSON or text."""
    fit = discreet.fit(release)
    new = {"x": [0.5 * unit, -unit], "g": ["a", "b"]}
    yield "fit", fit.to_dict()
    yield "summary", fit.summary()
    yield "notebook", fit._repr_html_()
    yield "table", fit.table().written("tex")
    yield "records", [dict(row) for row in (*fit.glance(),)]
    yield "anova", repr(fit.anova())
    yield "pairs", repr(fit.t_test_pairwise("g"))
    yield "tests", [repr(fit.t_test("x = 0", alternative="larger")), repr(fit.f_test("x = 0"))]
    yield "criteria", [repr(value) for value in (fit.llf, fit.aic, fit.bic, fit.vif, fit.cov_params())]
    yield "prediction", repr(fit.get_prediction(new)) + repr(fit.get_prediction(new).conf_int(obs=True))
    yield "standardised", repr(fit.standardised())
    yield "models", discreet.compare_models(release, MODELS).to_dict()
    yield "path", repr(discreet.path(release))
    for penalty in ("bayes", "adaptive"):
        yield penalty, discreet.fit(release, penalty=penalty).to_dict()
    yield "report", report_view(release, fit).to_dict()
    yield "page", render(report_view(release, fit))


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("unit", [1e150, 1e155, 1e200, 1e300])
@pytest.mark.parametrize("large_target", [False, True])
def test_every_reading_of_a_release_with_large_bounds_is_a_number_or_a_reason(unit, large_target):
    for epsilon in (None, 5.0, 0.2):
        release = released(unit, unit if large_target else 1.0, epsilon)
        for what, text in readings(release, unit):
            written = json.dumps(text, allow_nan=False)
            assert "nan" not in written.lower().split(), what


@pytest.mark.parametrize("unit", [1e150, 1e155, 1e200, 1e300])
def test_coefficients_and_residual_sds_move_with_the_units(unit):
    large, small = (discreet.fit(released(one, one, 5.0)) for one in (unit, 1.0))
    assert large.params["x"] == pytest.approx(small.params["x"], rel=1e-9)
    assert large.glance()[0]["sigma"] == pytest.approx(small.glance()[0]["sigma"] * unit, rel=1e-9)
    assert (known(large.s2) is None) == (unit > 1e155)
    assert f"{large.glance()[0]['sigma']:.4g}" in large.summary()
