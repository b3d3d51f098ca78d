"""What the rivals have in common: declared boxes, and rows that a public box brings into the unit ball."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Self

import numpy as np

from discreet.errors import SpecError

if TYPE_CHECKING:
    from discreet.exact.arrays import FloatArray

Bounds = Sequence[tuple[float, float]]


@dataclass(frozen=True, eq=False)
class Box:
    """Declared ranges of the regressors and of the target.

    Attributes
    ----------
    middle, half
        Of each regressor: shape (d,).
    target
        Midpoint and half width of the target.
    """

    middle: FloatArray
    half: FloatArray
    target: tuple[float, float]

    @classmethod
    def of(cls, bounds: Bounds, target_bounds: tuple[float, float]) -> Box:
        """The box of declared pairs (low, high).

        >>> Box.of([(0.0, 4.0)], (-1.0, 3.0)).target
        (1.0, 2.0)
        """
        ends = np.array([*bounds, target_bounds], dtype=float)
        if ends.shape != (len(bounds) + 1, 2) or not np.isfinite(ends).all() or (ends[:, 0] >= ends[:, 1]).any():
            raise SpecError("bounds: expected pairs (low, high) of finite numbers with low < high")
        middle, half = ends.mean(axis=1), (ends[:, 1] - ends[:, 0]) / 2
        return cls(middle[:-1], half[:-1], (float(middle[-1]), float(half[-1])))

    def rows(self, x: FloatArray) -> FloatArray:
        """Rows (1, u) / sqrt(d + 1) with u in [-1, 1], whatever the cells hold, so that no norm exceeds 1."""
        u = _cut((np.asarray(x, dtype=float) - self.middle) / self.half)
        rows: FloatArray = np.column_stack([np.ones(len(u)), u]) / np.sqrt(len(self.middle) + 1)  # [P:rival-rows]
        return rows

    def scaled(self, y: FloatArray) -> FloatArray:
        """Targets in [-1, 1], whatever the cells hold."""
        return _cut((np.asarray(y, dtype=float) - self.target[0]) / self.target[1])  # [P:rival-targets]

    def unscaled(self, v: FloatArray) -> FloatArray:
        """Predictions in the units of the target."""
        return self.target[0] + self.target[1] * v


def _cut(values: FloatArray) -> FloatArray:
    """Values in [-1, 1]; a missing one becomes 0."""
    return np.clip(np.nan_to_num(values, nan=0.0, posinf=1.0, neginf=-1.0), -1.0, 1.0)


@dataclass(eq=False)
class BoxedRegressor:
    """A linear rule on rows in the unit ball, learned under a budget; noise from a seed, NOT PRIVATE.

    Parameters
    ----------
    epsilon, delta
        What the method would promise with noise nobody can repeat, one row added or removed.
    bounds, target_bounds
        Declared ranges; values outside are cut.
    seed
        Of the noise.
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
            raise SpecError(f"expected epsilon above 0 and delta in (0, 1), got {self.epsilon:g} and {self.delta:g}")
        self.box = Box.of(self.bounds, self.target_bounds)

    def fit(self, X: FloatArray, y: FloatArray) -> Self:
        """Learn coefficients of the rows of the box."""
        a, v = self.box.rows(X), self.box.scaled(y)
        self.theta = self.coefficients(a, v, np.random.default_rng(self.seed))
        return self

    def coefficients(self, a: FloatArray, v: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Coefficients from rows of norm at most 1 and targets in [-1, 1]."""
        raise NotImplementedError

    def predict(self, X: FloatArray) -> FloatArray:
        """Predict in the units of the target."""
        return self.box.unscaled(self.box.rows(X) @ self.theta)
