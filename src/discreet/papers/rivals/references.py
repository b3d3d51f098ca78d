"""References without any privacy: least squares, ridge regression and the mean, marked as such wherever they appear."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.papers.rivals.rows import BoxedRegressor

if TYPE_CHECKING:
    from discreet.exact.arrays import FloatArray


class LeastSquares(BoxedRegressor):
    """Ordinary least squares, no privacy."""

    def coefficients(self, a: FloatArray, v: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Least squares of least norm."""
        return np.asarray(np.linalg.lstsq(a, v, rcond=None)[0], dtype=np.float64)


class Ridge(BoxedRegressor):
    """Ridge regression with penalty 1 on rows in the unit ball, the reference of Wang (2018); no privacy."""

    def coefficients(self, a: FloatArray, v: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Ridge coefficients."""
        return np.asarray(np.linalg.solve(a.T @ a + np.eye(a.shape[1]), a.T @ v), dtype=np.float64)


class Mean(BoxedRegressor):
    """The mean of the target, no privacy."""

    def coefficients(self, a: FloatArray, v: FloatArray, rng: np.random.Generator) -> FloatArray:
        """An intercept alone."""
        return np.array([v.mean() / a[0, 0], *np.zeros(a.shape[1] - 1)])
