"""The scaled units that a model is solved in, and the way back to original ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.analyst.equations.selection import SubModel
from discreet.design.columns import Column, Numeric
from discreet.design.model import Design
from discreet.errors import SpecError
from discreet.exact.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Units:
    """How the regressors z and the target of a model are scaled.

    Attributes
    ----------
    shift
        What was added to each scaled column of (features, target) to make z.
    half, mid
        Scale and middle of (features, target): one scaled unit is `half`, the scaled 0 is `mid`.
    base
        The target, in its own units, where every coefficient is 0.
    intercept
        Whether z begins with the constant.
    """

    shift: FloatArray
    half: FloatArray
    mid: FloatArray
    base: float
    intercept: bool

    def original_units(self, theta: Sequence[Fraction]) -> FloatArray:
        """Coefficients of the declared columns in their own units, from those of z, shape (k,).

        A slope is theta_j half_y / half_j; the intercept takes up the middles of the columns. Each is rounded once.
        """
        *halves, half_y = map(Fraction, self.half.tolist())
        *mids, mid_y = map(Fraction, self.mid.tolist())
        scaled = theta[1:] if self.intercept else theta
        exact = [value * half_y / half for value, half in zip(scaled, halves, strict=True)]
        if self.intercept:
            moved = sum(slope * mid for slope, mid in zip(exact, mids, strict=True))
            exact.insert(0, mid_y + half_y * theta[0] - moved)
        try:
            return np.array([float(value) for value in exact])
        except OverflowError:
            raise SpecError(
                "a coefficient in original units is too large for double precision; rescale the declared columns"
            ) from None

    def prediction_terms(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Constant and gains of the prediction from scaled features, in the units of the target."""
        half = float(self.half[-1])
        if self.intercept:
            return self.base + half * float(theta[0]), half * theta[1:]
        return self.base + half * float(theta @ self.shift[:-1]), half * theta


def scaled_columns(design: Design, model: SubModel) -> tuple[list[Column], FloatArray, FloatArray]:
    """Declared columns of (features, target), one for each released column, with their half widths and middles."""
    slopes = [design.columns[name] for name in model.features for _ in design.columns[name].released(name)]
    columns: list[Column] = [*slopes, design.columns[model.target]]
    half = np.array([column.half if isinstance(column, Numeric) else 1.0 for column in columns])
    mid = np.array([column.mid if isinstance(column, Numeric) else 0.0 for column in columns])
    return columns, half, mid
