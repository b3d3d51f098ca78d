"""Parameters by name."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.analyst.values import Parameters


def test_parameters_are_a_read_only_mapping():
    params = Parameters(["Intercept", "age"], [1.5, -0.25])
    assert len(params) == 2
    assert params["age"] == -0.25
    assert params == {"Intercept": 1.5, "age": -0.25}
    assert "height" not in params
    np.testing.assert_array_equal(np.asarray(params), [1.5, -0.25])
    assert np.asarray(params, dtype=np.float32).dtype == np.float32
    with pytest.raises(KeyError, match="Did you mean 'age'"):
        params["aeg"]
    with pytest.raises(TypeError):
        params["age"] = 1.0
