"""Standardised slopes are those of least squares on columns divided by their standard deviations."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm

import discreet
from discreet.testing import exact_release, seeded_release

DESIGN = discreet.Design("y", {"y": (-9, 9), "x": (-5, 5), "g": ["n", "s"]})


def rows(n=300):
    rng = np.random.default_rng(8)
    x, g = rng.standard_normal(n), rng.choice(["n", "s"], n)
    return {"x": x, "g": g, "y": 2 * x - (g == "s") + rng.standard_normal(n)}


def test_without_noise_they_are_those_of_statsmodels():
    data = rows()
    columns = np.column_stack([data["x"], data["g"] == "s", data["y"]]).astype(float)
    scaled = (columns - columns.mean(axis=0)) / columns.std(axis=0, ddof=1)
    known = sm.OLS(scaled[:, 2], scaled[:, :2]).fit().params
    release = exact_release(data, DESIGN)
    found = discreet.fit(release).standardised()
    assert list(found) == ["x", "g[s]"]
    assert np.asarray(found) == pytest.approx(known, rel=1e-3)
    assert list(discreet.fit(release, intercept=False).standardised()) == ["x", "g[s]"]


def test_where_the_release_has_no_spread_there_is_a_reason():
    made = seeded_release(rows(), DESIGN, seed=1, epsilon=1.0, delta=1e-6, mechanism="output")
    assert "which this release does not have" in discreet.fit(made).standardised()["x"].reason
    lost = seeded_release(rows(), DESIGN, seed=1, epsilon=0.01, delta=1e-6)
    assert not any(map(bool, discreet.fit(lost).standardised().values()))
