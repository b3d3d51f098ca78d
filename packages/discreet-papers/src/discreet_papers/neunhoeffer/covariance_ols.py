"""Least squares from a matrix of sums of products, with all output of R's `summary(lm)` except the residuals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from discreet.errors import SpecError

if TYPE_CHECKING:
    from discreet.exact.arrays import FloatArray

IMPOSSIBLE: Final = (
    "residual minimum, quartiles and maximum: sums of products do not determine them",
    "leverages and influence: they belong to single rows",
)


@dataclass(frozen=True, eq=False)
class CovarianceFit:
    """A least-squares fit to sums of products, with the numbers of `summary(lm)`.

    Attributes
    ----------
    names
        Names of the coefficients.
    coefficients, standard_errors, t_values, p_values
        Numbers in the order of `names`. Standard errors include only sampling error, so they are too small if the
        matrix is noisy.
    covariance
        Covariance matrix of the coefficients.
    rows, residual_df
        Number of rows, and rows minus coefficients. They are not integers if the matrix is noisy.
    residual_sum_of_squares, sigma
        Residual sum of squares, and residual standard error.
    r_squared, adjusted_r_squared
        R squared, relative to the mean with an intercept and relative to 0 without one, as in R.
    f_statistic, f_df, f_p_value
        F test of all coefficients except the intercept. NaN if there are no others.
    problem
        Reason why standard errors are NaN: the residual sum of squares is not positive. For sums over real rows this
        happens only if the fit is perfect. None if there is no problem.
    impossible
        Output of `summary(lm)` that cannot be computed from sums of products.
    """

    names: tuple[str, ...]
    coefficients: FloatArray
    standard_errors: FloatArray
    t_values: FloatArray
    p_values: FloatArray
    covariance: FloatArray = field(repr=False)
    rows: float
    residual_df: float
    residual_sum_of_squares: float
    sigma: float
    r_squared: float
    adjusted_r_squared: float
    f_statistic: float
    f_df: tuple[float, float]
    f_p_value: float
    problem: str | None = None
    impossible: tuple[str, ...] = IMPOSSIBLE

    def summary(self) -> str:
        """Return the table that `summary(lm)` prints, without residuals."""
        width = max(len(name) for name in self.names)
        lines = [f"{'':{width}}  Estimate  Std. Error  t value  Pr(>|t|)"]
        for name, *numbers in zip(
            self.names, self.coefficients, self.standard_errors, self.t_values, self.p_values, strict=True
        ):
            lines.append("{:{}}  {:8.6g}  {:10.6g}  {:7.4g}  {:8.3g}".format(name, width, *numbers))
        lines += [
            f"Residual standard error: {self.sigma:.4g} on {self.residual_df:.6g} degrees of freedom",
            f"Multiple R-squared: {self.r_squared:.4f}, adjusted R-squared: {self.adjusted_r_squared:.4f}",
            f"F-statistic: {self.f_statistic:.4g} on {self.f_df[0]:g} and {self.f_df[1]:.6g} DF, "
            f"p-value: {self.f_p_value:.3g}",
            *(f"Not from sums of products: {one}" for one in self.impossible),
        ]
        return "\n".join([*lines, *([f"Problem: {self.problem}"] if self.problem else [])])


def ols_cov(
    cross_products: Sequence[Sequence[float]] | npt.NDArray[Any],
    *,
    target: int = 0,
    intercept: int | None = 1,
    rows: float | None = None,
    names: Sequence[str] | None = None,
) -> CovarianceFit:
    """Fit least squares to a matrix of sums of products, D'D for a table D, exact or noisy.

    The notebook calls D'D the covariance matrix. The matrix is used without changes, and nothing is made private.

    Parameters
    ----------
    cross_products
        Symmetric, with one row and column for each column of the table, including a column of ones for an intercept.
    target
        Index of the column to explain.
    intercept
        Index of the column of ones, or None for a model without intercept.
    rows
        Number of rows. By default, the entry of the column of ones. Required without such a column.
    names
        Names of the columns of the table. By default, `x0`, `x1`, ... with `(Intercept)` for the column of ones.

    Returns
    -------
    CovarianceFit

    Examples
    --------
    >>> table = np.array([[1.0, 1, 0], [3.0, 1, 1], [4.0, 1, 2], [6.0, 1, 3]])
    >>> fit = ols_cov(table.T @ table)
    >>> fit.coefficients.round(3).tolist(), round(fit.r_squared, 4)
    ([1.1, 1.6], 0.9846)
    """
    matrix = _checked(cross_products, target, intercept)
    chosen = [index for index in range(len(matrix)) if index != target]
    n = _rows(matrix, intercept, rows)
    XtX, Xty, yty = matrix[np.ix_(chosen, chosen)], matrix[chosen, target], float(matrix[target, target])
    inverse = _inverse(XtX)
    beta = inverse @ Xty
    # refine the solution; its error enters the quadratic form only to second order
    beta = beta + inverse @ (Xty - XtX @ beta)
    rest = _quadratic(matrix[np.ix_([target, *chosen], [target, *chosen])], np.concatenate([[1.0], -beta]))
    df = n - len(chosen)
    if df <= 0:
        raise SpecError(f"expected more rows than coefficients, got {n:g} rows and {len(chosen)} coefficients")
    around = yty if intercept is None else yty - float(matrix[target, intercept]) ** 2 / n
    labels = _labels(names, len(matrix), intercept)
    return _fitted(
        tuple(labels[index] for index in chosen),
        beta,
        inverse,
        rest,
        n,
        df,
        around,
        with_intercept=intercept is not None,
    )


def _fitted(
    names: tuple[str, ...],
    beta: FloatArray,
    inverse: FloatArray,
    rest: float,
    n: float,
    df: float,
    around: float,
    *,
    with_intercept: bool,
) -> CovarianceFit:
    from scipy import stats

    problem = None if rest > 0 else f"the residual sum of squares is {rest:.6g}, and expected is a number above 0"
    variance = rest / df if rest > 0 else math.nan
    covariance = variance * inverse
    with np.errstate(invalid="ignore", divide="ignore"):
        errors = np.sqrt(np.diag(covariance))
        t = beta / errors
    slopes = len(names) - with_intercept
    r_squared = 1 - rest / around
    f = (around - rest) / slopes / variance if slopes else math.nan
    return CovarianceFit(
        names=names,
        coefficients=beta,
        standard_errors=errors,
        t_values=t,
        p_values=2 * stats.t.sf(np.abs(t), df),
        covariance=covariance,
        rows=n,
        residual_df=df,
        residual_sum_of_squares=rest,
        sigma=math.sqrt(variance) if rest > 0 else math.nan,
        r_squared=r_squared,
        adjusted_r_squared=1 - (1 - r_squared) * (n - with_intercept) / df,
        f_statistic=f,
        f_df=(slopes, df),
        f_p_value=float(stats.f.sf(f, slopes, df)) if slopes else math.nan,
        problem=problem,
    )


def _checked(
    cross_products: Sequence[Sequence[float]] | npt.NDArray[Any], target: int, intercept: int | None
) -> FloatArray:
    matrix = np.asarray(cross_products, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
        raise SpecError(f"expected a square matrix of at least 2 columns, got shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise SpecError("expected finite sums of products, got missing or infinite numbers")
    if not np.allclose(matrix, matrix.T, rtol=1e-9, atol=1e-9 * float(np.abs(matrix).max())):
        raise SpecError("expected a symmetric matrix, got an asymmetric one")
    for what, index in (("target", target), ("intercept", intercept)):
        if index is not None and not 0 <= index < len(matrix):
            raise SpecError(f"{what}: expected an index from 0 to {len(matrix) - 1}, got {index}")
    if target == intercept:
        raise SpecError(f"expected different columns for target and intercept, got {target} for both")
    return matrix


def _rows(matrix: FloatArray, intercept: int | None, rows: float | None) -> float:
    if rows is not None:
        return float(rows)
    if intercept is None:
        raise SpecError("rows: expected the number of rows, because the model has no column of ones")
    return float(matrix[intercept, intercept])


def _inverse(XtX: FloatArray) -> FloatArray:
    """Invert a matrix after scaling its columns to similar size."""
    size = np.sqrt(np.abs(np.diag(XtX)))
    size[size == 0] = 1.0
    scaled = XtX / np.outer(size, size)
    if not np.linalg.cond(scaled) < 1e15:
        raise SpecError("the sums of products of the regressors are singular; leave out columns that repeat others")
    return np.asarray(np.linalg.inv(scaled) / np.outer(size, size))


def _quadratic(matrix: FloatArray, weights: FloatArray) -> float:
    """Return the quadratic form of a matrix, summed in extended precision if available."""
    extended = weights.astype(np.longdouble)
    return float(extended @ matrix.astype(np.longdouble) @ extended)


def _labels(names: Sequence[str] | None, columns: int, intercept: int | None) -> list[str]:
    if names is None:
        return ["(Intercept)" if index == intercept else f"x{index}" for index in range(columns)]
    if len(names) != columns:
        raise SpecError(f"names: expected {columns} names, one for each column, got {len(names)}")
    return list(names)
