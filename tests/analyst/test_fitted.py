"""A fit as a value: its names, its coefficients and its plain values."""

from __future__ import annotations

import dataclasses
import json

import pytest

from discreet.analyst.fitted import Fit
from discreet.analyst.model import fit


def test_coefficients_come_by_name_and_in_order(source):
    result = fit(source.release)
    assert isinstance(result, Fit)
    assert result.names == ("Intercept", "x", "g[q]", "g[r]", "flag")
    assert tuple(result.params) == result.names
    assert list(result.params.values()) == result.coefficients.tolist()
    assert (result.target, result.features, result.penalty) == ("y", ("x", "g", "flag"), "none")
    assert (result.ridge, result.strength, result.nobs) == (0.0, None, 60.0)
    assert result.release is source.release


def test_a_fit_cannot_be_changed(source):
    result = fit(source.release)
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.ridge = 1.0
    for array in (result.coefficients, result.scaled_coefficients):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_plain_values_go_through_json(private, source):
    result = fit(private, features=["flag", "x"], penalty="ridge", strength=0.1)
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert plain["params"] == dict(result.params)
    assert plain["features"] == ["flag", "x"]
    assert (plain["target"], plain["penalty"], plain["strength"], plain["intercept"]) == ("y", "ridge", 0.1, True)
    assert (plain["private"], plain["epsilon"], plain["delta"], plain["neighbours"]) == (True, 1.0, 1e-6, "add-remove")
    assert plain["nobs_public"] is False
    assert "clipped" in plain["notes"][0]
    open_values = fit(source.release).to_dict()
    assert (open_values["private"], open_values["epsilon"], open_values["neighbours"]) == (False, None, None)
