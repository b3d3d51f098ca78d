"""Variance inflation; that it is statsmodels' without noise is in `inference/test_exact_inference`."""

from __future__ import annotations

import numpy as np
from statsmodels.stats.outliers_influence import variance_inflation_factor

from discreet.analyst.equations.normal import normal_equations
from discreet.analyst.inference.terms import inflation_factors
from discreet.analyst.model import fit
from support.compared import release, with_interactions


def test_columns_that_go_together_are_inflated_and_no_factor_is_below_1():
    apart, together = (fit(release(together=share, sigma=0.05)) for share in (0.0, 0.9))
    factors = inflation_factors(normal_equations(together.release, together.model))
    assert (factors >= 1).all()
    assert (factors[:2] > 5 * np.asarray(apart.vif)[:2]).all()
    np.testing.assert_array_equal(factors, np.asarray(together.vif))


def test_one_column_alone_has_the_factor_1():
    alone = fit(release(), features=["a"])
    np.testing.assert_allclose(np.asarray(alone.vif), [1.0], rtol=1e-12)


def test_factors_of_interactions_are_those_of_the_columns_in_original_units():
    fitted, frame = with_interactions()
    X = np.column_stack([np.ones(len(frame)), *(frame[name] for name in fitted.vif)])
    factors = [variance_inflation_factor(X, place) for place in range(1, X.shape[1])]
    np.testing.assert_allclose(np.asarray(fitted.vif), factors, rtol=1e-4)
