"""Who takes part: mechanisms by the registry, baselines, references and a reader's own."""

import numpy as np
import pytest

from discreet.errors import SpecError
from discreet.mechanisms.registry import HOMES, mechanism_named
from discreet_papers.baselines.baseline_registry import BASELINES
from discreet_papers.comparison.method_scores import all_methods, check_methods, default_methods, kind_of, trained
from discreet_papers.methods import reader_predictions


def test_every_mechanism_and_baseline_has_a_name_here():
    names = [one["name"] for one in all_methods()]
    assert names == [*BASELINES, "auto", *HOMES]
    assert all(one["about"] for one in all_methods())


def test_what_uses_delta_takes_part_by_itself():
    ours = {name for name in default_methods() if kind_of(name) == "mechanism"}
    assert ours == {name for name in HOMES if mechanism_named(name).info.notion != "pure"} - {"dpme"}


@pytest.mark.parametrize("method", ["ols", "gaussian", "gaussian/ridge", "auto", "laplace", f"{__name__}:factory"])
def test_a_method_is_trained_by_name(method):
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 2, (400, 2))
    model = trained(
        method, x, x[:, 0], epsilon=2.0, delta=1e-3, bounds=[(0.0, 2.0)] * 2, target_bounds=(0.0, 2.0), seed=3
    )
    assert reader_predictions(model, x).shape == (400,)


def factory(*, epsilon, delta, bounds, target_bounds):
    assert (epsilon, delta, bounds, target_bounds) == (2.0, 1e-3, [(0.0, 2.0)] * 2, (0.0, 2.0))
    return BASELINES["mean"].load()(epsilon=epsilon, delta=delta, bounds=bounds, target_bounds=target_bounds)


def test_names_that_nobody_has_are_refused():
    with pytest.raises(SpecError, match=r"unknown method 'gausian'; allowed: ols, .*Did you mean 'gaussian'"):
        check_methods(["gausian"])
    with pytest.raises(SpecError, match="unknown method 'ols/ridge'"):
        check_methods(["ols/ridge"])
    with pytest.raises(SpecError, match="cannot import the module"):
        check_methods(["no_such_module:make"])
    with pytest.raises(SpecError, match="expected names of methods, got one of type int"):
        check_methods([1])
    check_methods(["ols", "auto", "gaussian/ridge", f"{__name__}:factory"])
