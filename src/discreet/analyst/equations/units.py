"""The scaled units that a model is solved in, and the way back to original ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.analyst.equations.selection import SubModel
from discreet.design.columns import Numeric
from discreet.design.interactions import Interaction
from discreet.design.model import Design
from discreet.design.scales import released_columns, scales_of
from discreet.errors import SpecError
from discreet.exact.arrays import FloatArray
from discreet.releases import Release


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
    centre, scale
        What z has of the features as their declared bounds scale them: each less its centre, over its scale. 0 and 1
        unless released numbers scaled the rows.
    taken
        Of an interaction: feature j, feature i, and how often i is part of j in original units (`design/scales.py`).
    """

    shift: FloatArray
    half: FloatArray
    mid: FloatArray
    base: float
    intercept: bool
    centre: FloatArray
    scale: FloatArray
    taken: tuple[tuple[int, int, float], ...]

    def original_units(self, theta: Sequence[Fraction]) -> FloatArray:
        """Coefficients of the declared columns in their own units, from those of z, shape (k,).

        A slope is theta_j half_y / half_j; the intercept takes up the middles of the columns, and the indicators of a
        category those of its interactions. Each is rounded once.
        """
        *halves, half_y = map(Fraction, self.half.tolist())
        *mids, mid_y = map(Fraction, self.mid.tolist())
        scaled = theta[1:] if self.intercept else theta
        exact = [value * half_y / half for value, half in zip(scaled, halves, strict=True)]
        moved = sum(slope * mid for slope, mid in zip(exact, mids, strict=True))
        for column, other, times in self.taken:
            exact[other] -= exact[column] * Fraction(times)
        if self.intercept:
            exact.insert(0, mid_y + half_y * theta[0] - moved)
        try:
            return np.array([float(value) for value in exact])
        except OverflowError:
            raise SpecError(
                "a coefficient in original units is too large for double precision; rescale the declared columns"
            ) from None

    def mixture(self) -> FloatArray:
        """What each feature in original units is of the columns of z, in steps of its half, constants aside, (d, d).

        The identity, with what an interaction takes of the indicators of its category.
        """
        out = np.eye(len(self.half) - 1)
        for column, other, times in self.taken:
            out[column, other] += times * self.half[other] / self.half[column]
        return out

    def prediction_terms(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Constant and gains of the prediction from features as declared bounds scale them, in the target's units."""
        half = float(self.half[-1])
        slopes = theta[1:] if self.intercept else theta
        start = float(theta[0]) if self.intercept else float(theta @ self.shift[:-1])
        gains = half * slopes / self.scale
        return self.base + half * start - float(gains @ self.centre), gains

    def regressors(self, scaled: FloatArray) -> FloatArray:
        """Rows of z without the constant, shape (rows, k), from features as declared bounds scale them."""
        out: FloatArray = (scaled.T - self.centre) / self.scale + self.shift[:-1]
        return out


def model_scales(design: Design, model: SubModel) -> tuple[FloatArray, FloatArray, tuple[tuple[int, int, float], ...]]:
    """Half widths and middles of (features, target), and what features take of each other."""
    scales = scales_of(design, (*model.features, model.target))
    return np.array(scales.half), np.array(scales.mid), scales.taken


def released_scaling(release: Release, model: SubModel) -> tuple[FloatArray, FloatArray]:
    """Centres and scales of (features, target) by which rows were scaled beyond their bounds; 0 and 1 if they were not.

    In scaled units of the declared columns.
    """
    positions = [*model.positions, model.target_position]
    if release.scaling is None:
        return np.zeros(len(positions)), np.ones(len(positions))
    by = release.scaling
    centres, scales = (0.0, *by.centres, by.target_centre), (1.0, *by.scales, by.target_bound)
    return np.array([centres[index] for index in positions]), np.array([scales[index] for index in positions])


def declared_widths(design: Design, features: Sequence[str]) -> list[float | None]:
    """Width of the declared range of the column behind each slope; none where it is an indicator or a basis function.

    >>> from discreet.design.model import Design
    >>> declared_widths(Design("y", {"y": (0, 1), "age": (18, 90), "g": ["a", "b", "c"]}), ["age", "g"])
    [72.0, None, None]
    """
    return [
        column.bounds[1] - column.bounds[0]
        if isinstance(column, Numeric | Interaction) and column.bounds is not None
        else None
        for column in released_columns(design, features)
    ]
