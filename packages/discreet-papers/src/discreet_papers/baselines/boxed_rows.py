"""Scale rows by declared bounds, and fit references and the published AdaSSP to them. NOT PRIVATE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Self

import numpy as np

from discreet.errors import SpecError
from discreet_papers.kalaja.kalaja_methods import Sums, adassp_coded

if TYPE_CHECKING:
    from discreet.exact.arrays import FloatArray

# -- rows --------------------------------------------------------------------------------------------------------------
# Common parts of the baselines: declared bounds, and rows scaled into the unit ball by these bounds.

Bounds = Sequence[tuple[float, float]]


@dataclass(frozen=True, eq=False)
class Box:
    """Declared ranges: midpoint and half width of each regressor, shape (d,), and of the target."""

    middle: FloatArray
    half: FloatArray
    target: tuple[float, float]

    @classmethod
    def of(cls, bounds: Bounds, target_bounds: tuple[float, float]) -> Box:
        """Build the box from declared pairs (low, high).

        >>> Box.of([(0.0, 4.0)], (-1.0, 3.0)).target
        (1.0, 2.0)
        """
        ends = np.array([*bounds, target_bounds], dtype=float)
        if ends.shape != (len(bounds) + 1, 2) or not np.isfinite(ends).all() or (ends[:, 0] >= ends[:, 1]).any():
            raise SpecError("bounds: expected pairs (low, high) of finite numbers with low < high, got others")
        middle, half = ends.mean(axis=1), (ends[:, 1] - ends[:, 0]) / 2
        return cls(middle[:-1], half[:-1], (float(middle[-1]), float(half[-1])))

    def rows(self, x: FloatArray) -> FloatArray:
        """Return rows (1, u) / sqrt(d + 1) with u clipped to [-1, 1], so that no norm exceeds 1."""
        u = _cut((np.asarray(x, dtype=float) - self.middle) / self.half)
        rows: FloatArray = np.column_stack([np.ones(len(u)), u]) / np.sqrt(len(self.middle) + 1)  # [P:baseline-rows]
        return rows

    def scaled(self, y: FloatArray) -> FloatArray:
        """Return targets scaled and clipped to [-1, 1]."""
        return _cut((np.asarray(y, dtype=float) - self.target[0]) / self.target[1])  # [P:baseline-targets]

    def unscaled(self, v: FloatArray) -> FloatArray:
        """Convert predictions to the units of the target."""
        return self.target[0] + self.target[1] * v


def _cut(values: FloatArray) -> FloatArray:
    """Clip values to [-1, 1], and replace missing values by 0."""
    return np.clip(np.nan_to_num(values, nan=0.0, posinf=1.0, neginf=-1.0), -1.0, 1.0)


@dataclass(eq=False)
class BoxedRegressor:
    """A linear rule on rows in the unit ball, fitted under a budget. NOT PRIVATE: noise is seeded.

    With unseeded noise, the method satisfies (`epsilon`, `delta`) for one row added or removed. `bounds` and
    `target_bounds` are declared ranges; values outside are clipped.
    """

    _: KW_ONLY
    epsilon: float
    delta: float
    bounds: Bounds
    target_bounds: tuple[float, float]
    seed: int | None = None
    box: Box = field(init=False, repr=False)
    theta: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not (self.epsilon > 0 and 0 < self.delta < 1):
            raise SpecError(
                f"expected epsilon above 0 and delta between 0 and 1, got epsilon {self.epsilon:g} and delta "
                f"{self.delta:g}"
            )
        self.box = Box.of(self.bounds, self.target_bounds)

    def fit(self, X: FloatArray, y: FloatArray) -> Self:
        """Fit coefficients to rows and targets in their original units."""
        a, v = self.box.rows(X), self.box.scaled(y)
        self.theta = self.coefficients(a, v, np.random.default_rng(self.seed))
        return self

    def coefficients(self, a: FloatArray, v: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Compute coefficients from rows of norm at most 1 and targets in [-1, 1]."""
        raise NotImplementedError

    def predict(self, X: FloatArray) -> FloatArray:
        """Predict in the units of the target."""
        return self.box.unscaled(self.box.rows(X) @ self.theta)


# -- references --------------------------------------------------------------------------------------------------------
# References without privacy, always marked as such: least squares, ridge regression and the mean.


class LeastSquares(BoxedRegressor):
    """Ordinary least squares without privacy."""

    def coefficients(self, a: FloatArray, v: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Compute the minimum-norm least-squares solution."""
        return np.asarray(np.linalg.lstsq(a, v, rcond=None)[0], dtype=np.float64)


class Ridge(BoxedRegressor):
    """Ridge regression with penalty 1 on rows in the unit ball, without privacy: the reference of Wang (2018)."""

    def coefficients(self, a: FloatArray, v: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Compute ridge coefficients."""
        return np.asarray(np.linalg.solve(a.T @ a + np.eye(a.shape[1]), a.T @ v), dtype=np.float64)


class Mean(BoxedRegressor):
    """The mean of the target without privacy."""

    def coefficients(self, a: FloatArray, v: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return the mean as an intercept, and zero slopes."""
        return np.array([v.mean() / a[0, 0], *np.zeros(a.shape[1] - 1)])


# -- adassp ------------------------------------------------------------------------------------------------------------
# AdaSSP as in Wang's published code, on rows scaled by declared bounds.


class PublishedAdaSSP(BoxedRegressor):
    """AdaSSP with the constants of its code, which spend less than they claim (Wang 2018).

    >>> import numpy as np
    >>> x = np.linspace(0, 1, 2_000)[:, None]
    >>> options = {"epsilon": 5.0, "delta": 1e-6, "bounds": [(0.0, 1.0)], "target_bounds": (0.0, 2.0)}
    >>> PublishedAdaSSP(**options, seed=1).fit(x, 2 * x[:, 0]).predict(np.array([[0.5]])).round(1).tolist()
    [1.0]
    """

    def coefficients(self, a: FloatArray, v: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw coefficients."""
        theta: FloatArray = adassp_coded(Sums.of(a, v), np.array([self.epsilon]), self.delta, rng)[0]
        return theta
