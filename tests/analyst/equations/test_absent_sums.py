"""Sums that were not released: models that do without them are the same as ever, others are refused by name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.analyst.bound_costs import bound_costs
from discreet.analyst.comparison import compare_models
from discreet.analyst.diagnostics import findings
from discreet.analyst.equations.normal import NO_SQUARE
from discreet.analyst.model import fit
from discreet.analyst.path import path
from discreet.design.model_columns import model_of
from discreet.errors import SpecError
from discreet.releases import ResidualPart
from support.made_releases import made
from support.other_releases import CENTRED, rows, without, without_square

WISHES = [
    {},
    {"penalty": "ridge", "strength": 0.01},
    {"penalty": "lasso", "strength": 0.01},
    {"penalty": "elastic-net", "strength": 0.01, "l1_ratio": 0.5},
    {"features": ["a"]},
    {"intercept": False},
    {"target": "a", "features": ["b"]},
]


@pytest.mark.parametrize("spec", WISHES, ids=str)
def test_coefficients_do_not_need_the_square_of_the_target(spec):
    whole, part = without_square()
    np.testing.assert_array_equal(fit(part, **spec).coefficients, fit(whole, **spec).coefficients)


def test_the_adaptive_ridge_does_not_need_it_either():
    whole, part = without_square(60, sigma=20.0)
    # the quantile of the noise is seeded by the fingerprint, so the ridges differ a little
    assert fit(part, penalty="adaptive").ridge == pytest.approx(fit(whole, penalty="adaptive").ridge, rel=0.25)
    assert np.isfinite(fit(part, penalty="adaptive").coefficients).all()


def test_another_target_whose_square_is_there_has_errors():
    whole, part = without_square(design=CENTRED)
    spec = {"target": "a", "features": ["b"], "intercept": True}
    assert dict(fit(part, **spec).bse) == dict(fit(whole, **spec).bse)


def test_a_strength_by_the_criterion_is_refused_and_a_path_has_none():
    whole, part = without_square()
    with pytest.raises(SpecError, match=r"needs the sum of squares of the target.*pass the strength as a number"):
        fit(part, penalty="lasso", strength="criterion")
    found = path(part, strengths=[1.0, 0.1, 0.01])
    assert found.criterion == NO_SQUARE
    np.testing.assert_array_equal(found.coefficients, path(whole, strengths=[1.0, 0.1, 0.01]).coefficients)
    assert len(path(part).strengths) == 100
    assert found.edge is None
    assert "3 strengths, none chosen" in repr(found)
    for refused in (lambda: found.best, found.fit):
        with pytest.raises(SpecError, match=r"criterion .* is not estimable: .*; pass the index of a strength"):
            refused()
    assert found.fit(1).strength == 0.1
    assert found.plot() is not None


def test_models_are_compared_without_their_errors():
    compared = compare_models(without_square()[1], [["a"], ["a", "b"]])
    assert all(one.error == NO_SQUARE for one in compared.models)
    assert compared.to_frame()["error"].null_count == 2


def test_diagnostics_and_costs_of_bounds_do_without():
    whole, part = without_square(sigma=5.0)
    model = model_of(part.design)
    costs = {cost.name: cost for cost in bound_costs(part, model)}
    for cost in bound_costs(whole, model):
        assert costs[cost.name].saved == pytest.approx(cost.saved)
    assert costs["y"].spread is None
    assert costs["a"].spread is not None
    assert bound_costs(without(whole, "sum_x"), model) == ()
    assert {finding.number for finding in findings(part)} == {finding.number for finding in findings(whole)}
    assert not any("nan" in finding.text for finding in findings(part))
    bare = without(made(CENTRED, rows(CENTRED, 300), sigma=1.0).release, "target_square", "sum_x", "sum_y")
    assert not any("nan" in finding.text for finding in findings(bare, fit(bare)))


def test_robust_errors_do_not_come_from_residuals_alone():
    part = without_square()[1]
    size = len(part.columns) - 1
    residuals = ResidualPart((0.0,) * size, 0.5, (1,) * (size * (size + 1) // 2))
    message = "robust standard errors are not available for this fit: the release has no sum of squares"
    with pytest.raises(SpecError, match=message):
        fit(replace(part, residuals=residuals)).robust()
