"""`ols_cov`: the numbers of statsmodels from sums of products alone, and what it refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest
from statsmodels.api import OLS

from discreet.errors import SpecError
from discreet_papers import ols_cov


def rows(n: int = 300, k: int = 3, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(5, [1.0, 30.0, 0.2, 2.0][:k], (n, k))
    return X, X @ np.array([1.0, -0.1, 4.0, 0.0])[:k] + 2 + rng.normal(0, 1.5, n)


def compared(fit, known) -> float:
    """Largest relative difference over every number that both have."""
    pairs = [
        (fit.coefficients, known.params),
        (fit.standard_errors, known.bse),
        (fit.t_values, known.tvalues),
        (fit.p_values, known.pvalues),
        (fit.covariance, known.cov_params()),
        (fit.sigma, math.sqrt(known.mse_resid)),
        (fit.residual_sum_of_squares, known.ssr),
        (fit.residual_df, known.df_resid),
        (fit.r_squared, known.rsquared),
        (fit.adjusted_r_squared, known.rsquared_adj),
        (fit.f_statistic, known.fvalue),
        (fit.f_p_value, known.f_pvalue),
    ]
    return max(
        float(np.max(np.abs(np.asarray(one) - other) / np.maximum(np.abs(other), 1e-300))) for one, other in pairs
    )


@pytest.mark.parametrize("k", [1, 3, 4])
def test_every_number_equals_statsmodels_to_ten_digits(k):
    X, y = rows(k=k)
    table = np.column_stack([y, np.ones(len(y)), X])
    fit = ols_cov(table.T @ table)
    assert compared(fit, OLS(y, table[:, 1:]).fit()) < 1e-10
    assert fit.rows == 300
    assert fit.f_df == (k, 300 - k - 1)
    assert fit.problem is None


def test_any_order_of_columns_and_any_target():
    X, y = rows()
    table = np.column_stack([X[:, 0], np.ones(len(y)), y, X[:, 1]])
    fit = ols_cov(table.T @ table, target=2, intercept=1, names=["a", "one", "y", "b"])
    assert fit.names == ("a", "one", "b")
    assert compared(fit, OLS(y, table[:, [0, 1, 3]]).fit()) < 1e-10


def test_a_model_without_intercept_has_r_squared_about_zero():
    X, y = rows()
    table = np.column_stack([y, X])
    fit = ols_cov(table.T @ table, intercept=None, rows=len(y))
    assert compared(fit, OLS(y, X).fit()) < 1e-10
    with pytest.raises(SpecError, match="expected the number of rows"):
        ols_cov(table.T @ table, intercept=None)


def test_an_intercept_alone_has_no_f():
    y = np.array([1.0, 2.0, 4.0])
    table = np.column_stack([y, np.ones(3)])
    fit = ols_cov(table.T @ table)
    assert fit.coefficients.tolist() == pytest.approx([7 / 3])
    assert fit.sigma == pytest.approx(y.std(ddof=1))
    assert math.isnan(fit.f_statistic)
    assert math.isnan(fit.f_p_value)


def test_a_noisy_matrix_with_a_negative_residual_sum_is_named():
    X, y = rows(k=1)
    table = np.column_stack([y, np.ones(len(y)), X])
    noisy = table.T @ table
    noisy[0, 0] -= 2 * ols_cov(noisy).residual_sum_of_squares
    fit = ols_cov(noisy)
    assert "residual sum of squares" in fit.problem
    assert np.isnan(fit.standard_errors).all()
    assert math.isnan(fit.sigma)
    assert "Problem" in fit.summary()


def test_the_summary_names_what_is_impossible():
    X, y = rows(k=1)
    table = np.column_stack([y, np.ones(len(y)), X])
    text = ols_cov(table.T @ table, names=["y", "(Intercept)", "x"]).summary()
    for words in ("Estimate", "(Intercept)", "Multiple R-squared", "F-statistic", "quartiles", "degrees of freedom"):
        assert words in text
    # two tables with the same sums and other residuals: no function of the sums can know their quantiles
    one, other = np.array([1.0, 1.0, -1.0, -1.0]), np.array([math.sqrt(2), -math.sqrt(2), 0.0, 0.0])
    assert one @ one == pytest.approx(other @ other)
    assert one.sum() == other.sum() == 0
    assert np.quantile(one, 0.75) != np.quantile(other, 0.75)


@pytest.mark.parametrize(
    ("matrix", "settings", "words"),
    [
        (np.ones((2, 3)), {}, "square"),
        ([[1.0]], {}, "at least 2"),
        ([[1.0, math.nan], [math.nan, 1.0]], {}, "finite"),
        ([[1.0, 2.0], [3.0, 4.0]], {}, "symmetric"),
        (np.eye(3), {"target": 3}, "target: expected an index from 0 to 2, got 3"),
        (np.eye(3), {"intercept": -1}, "intercept: expected an index from 0 to 2, got -1"),
        (np.eye(3), {"target": 1}, "target and intercept, got 1 for both"),
        (np.eye(3), {}, "more rows than"),
        (np.eye(3), {"rows": 10, "names": ["a"]}, "3 names"),
        (np.ones((3, 3)), {"rows": 10}, "singular"),
        (np.diag([1.0, 1.0, 0.0]), {"rows": 10}, "singular"),
    ],
)
def test_what_is_no_matrix_of_sums_is_refused(matrix, settings, words):
    with pytest.raises(SpecError, match=words):
        ols_cov(matrix, **settings)
