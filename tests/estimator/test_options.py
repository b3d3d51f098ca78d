"""What is fitted to a release is checked before there is one."""

from __future__ import annotations

import pytest

from discreet.design.design import Design
from discreet.errors import SpecError
from discreet.estimator.inputs import check_fit_options, check_formula, check_kind, fit_options

NOTHING = {"penalty": None, "strength": None, "l1_ratio": None}
DESIGN = Design("y", {"y": (0, 1), "a": (0, 1), "g": ["u", "v", "w"]})


def test_without_a_penalty_it_is_the_best_predictor():
    assert fit_options(NOTHING, "moments")["penalty"] == "bayes"
    assert fit_options({**NOTHING, "penalty": "none"}, "moments")["penalty"] == "none"
    assert fit_options(NOTHING, "coefficients") == {}


@pytest.mark.parametrize("option", [{"strength": 1.0}, {"l1_ratio": 0.5}])
def test_a_strength_needs_a_penalty(option):
    with pytest.raises(SpecError, match="without a penalty"):
        check_fit_options({**NOTHING, **option})


def test_a_penalty_without_its_strength_is_refused():
    with pytest.raises(SpecError, match="strength"):
        check_fit_options({**NOTHING, "penalty": "ridge"})


def test_a_formula_is_tried_on_the_design():
    check_formula(None, NOTHING, DESIGN)
    check_formula("y ~ g + a", NOTHING, DESIGN)
    with pytest.raises(SpecError, match="b"):
        check_formula("y ~ b", NOTHING, DESIGN)
    with pytest.raises(SpecError, match="got the target 'a'"):
        check_formula("a ~ y", NOTHING, DESIGN)


def test_a_model_that_is_fitted_inside_leaves_nothing_to_choose():
    check_kind("y ~ a", "ridge", "moments", "gaussian")
    check_kind(None, "none", "coefficients", "refined")
    with pytest.raises(SpecError, match="one fitted model, which cannot be penalised"):
        check_kind(None, "ridge", "coefficients", "refined")
    with pytest.raises(SpecError, match="one model with all columns"):
        check_kind("y ~ a", None, "coefficients", "refined")
