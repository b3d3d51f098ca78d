"""What errors can be computed from, or why there is nothing."""

from __future__ import annotations

import json

import numpy as np
import pytest

from discreet.analyst.equations.normal import NO_SQUARE, normal_equations
from discreet.analyst.model import fit
from discreet.design.model_columns import model_of
from support.other_releases import without_square


@pytest.mark.parametrize("penalty", [("lasso", None), ("elastic-net", 0.5)])
def test_a_penalty_on_absolute_values_has_no_intervals(noisy, penalty):
    name, ratio = penalty
    result = fit(noisy, penalty=name, l1_ratio=ratio, strength=0.01)
    assert result.interval_target == "none"
    assert all("an L1 penalty has no intervals" in value.reason for value in result.conf_int().values())
    assert "L1 penalty" in result.to_dict()["rsquared_reason"]
    assert "Not estimable (Intercept, x, w, flag)" in " ".join(result.summary().split())


@pytest.mark.parametrize("spec", [{}, {"penalty": "adaptive"}, {"penalty": "ridge", "strength": 0.1}], ids=str)
def test_errors_are_not_estimable_and_no_nan_leaks(spec):
    part = without_square()[1]
    result = fit(part, **spec)
    for value in (result.s2, result.rsquared, result.cov_params(), *result.bse.values(), *result.conf_int().values()):
        assert value == NO_SQUARE
    assert result.interval_target == "none"
    json.dumps(result.to_dict(), allow_nan=False)
    assert "no sum of squares of the target" in " ".join(result.summary().split())
    predicted = result.get_prediction({"a": [0.5], "g": ["q"], "b": [True]})
    np.testing.assert_allclose(predicted.predicted_mean, result.predict({"a": [0.5], "g": ["q"], "b": [True]}))
    assert list(predicted.conf_int(obs=True)) == [None]
    assert predicted.reasons() == [NO_SQUARE.reason]
    equations = normal_equations(part, model_of(part.design))
    assert np.isfinite(equations.A).all()
    assert np.isfinite(equations.b).all()
    assert np.isfinite(equations.block_sd).all()
    assert not equations.has_square
