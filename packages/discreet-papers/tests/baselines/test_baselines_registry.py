"""Every baseline and reference is there, has the plug of a reader's method, and shares no name with a mechanism."""

import numpy as np
import pytest

from discreet.mechanisms.registry import HOMES
from discreet_papers.baselines.baseline_registry import BASELINES
from discreet_papers.methods import reader_model, reader_predictions


@pytest.mark.parametrize("name", BASELINES)
def test_a_baseline_has_the_plug_of_a_readers_method(name):
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, (300, 2))
    model = reader_model(BASELINES[name].load(), x, x[:, 0], epsilon=1.0, delta=1e-5)
    assert reader_predictions(model, x).shape == (300,)
    assert "NOT PRIVATE" in BASELINES[name].load().__mro__[-2].__doc__


def test_no_baseline_has_the_name_of_a_mechanism():
    assert not set(BASELINES) & set(HOMES)
    assert [name for name, one in BASELINES.items() if one.kind == "reference"] == ["ols", "ridge", "mean"]
