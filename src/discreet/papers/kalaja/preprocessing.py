"""How the thesis brings rows into the unit ball (sections 3.3 and 3.4): every statistic straight from the data.

NOT PRIVATE: means, standard deviations, largest norm, largest target and clipping points are used and published without
noise, so the whole has no finite epsilon whatever is added to the sums afterwards.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from discreet.exact.arrays import FloatArray

IntArray = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Recipe:
    """The choices that the figures compare.

    Attributes
    ----------
    mapping
        Into the unit ball: by the norm of the row (3.3), with the target divided by it too (3.4), or by the largest
        norm (3.5).
    statistics
        Of all rows before the split, of the training rows, or, for the test rows, of the analyst's own rows.
    centred
        Whether the mean of y is taken out.
    intercept
        Whether there is a column of ones.
    clip
        Columns are cut at their mean plus this many standard deviations before everything else (3.8).
    clip_test
        Whether test rows are cut at the same points (3.9).
    """

    mapping: Literal["row", "row-y", "max"] = "max"
    statistics: Literal["all", "training", "analyst"] = "training"
    centred: bool = True
    intercept: bool = False
    clip: float | None = None
    clip_test: bool = False


@dataclass(frozen=True, eq=False)
class Prepared:
    """Rows to learn from and rows to predict.

    Attributes
    ----------
    x, y
        Training rows in the unit ball and their targets in [-1, 1].
    test_x, test_y
        Test rows; `test_x @ theta` predicts `test_y`, which is in units of the largest training target, y_max.
    """

    x: FloatArray
    y: FloatArray
    test_x: FloatArray
    test_y: FloatArray

    @property
    def largest_test_norm(self) -> float:
        """Norm of the longest test row; training rows have at most 1."""
        return float(np.linalg.norm(self.test_x, axis=1).max())


@dataclass(frozen=True, eq=False)
class Scale:
    """Means and standard deviations of columns."""

    mean: FloatArray
    sd: FloatArray

    @classmethod
    def of(cls, x: FloatArray) -> Scale:
        """Statistics of rows; a constant column gets standard deviation 1."""
        sd = x.std(axis=0, ddof=1)
        return cls(x.mean(axis=0), np.where(sd > 0, sd, 1.0))

    def applied(self, x: FloatArray) -> FloatArray:
        """Standardised columns."""
        return (x - self.mean) / self.sd


def row_norms(x: FloatArray) -> FloatArray:
    """Norms of rows, 1 for a row of zeros."""
    norms = np.linalg.norm(x, axis=1)
    return np.where(norms > 0, norms, 1.0)


def clipped_above(x: FloatArray, points: FloatArray) -> FloatArray:
    """Columns cut at upper points only, as in (3.8)."""
    return np.minimum(x, points)


def clipped_both(x: FloatArray, scale: Scale, width: float) -> FloatArray:
    """Columns cut at `width` standard deviations on both sides of the mean, as in Honkela et al. (2018)."""
    return np.clip(x, scale.mean - width * scale.sd, scale.mean + width * scale.sd)


def prepared(x: FloatArray, y: FloatArray, train: IntArray, test: IntArray, recipe: Recipe) -> Prepared:
    """Training and test rows by a recipe."""
    base = slice(None) if recipe.statistics == "all" else train
    source, rows, others = x[base], x[train], x[test]
    if recipe.clip is not None:
        first = Scale.of(source)
        points = first.mean + recipe.clip * first.sd
        source, rows = clipped_above(source, points), clipped_above(rows, points)
        others = clipped_above(others, points) if recipe.clip_test else others
    return _mapped(source, rows, others, y, train, test, recipe)


def prepared_both_sides(
    x: FloatArray, y: FloatArray, train: IntArray, test: IntArray, widths: tuple[float, float], *, clip_test: bool
) -> Prepared:
    """Training rows cut on both sides, x and y at the given widths in standard deviations, then as (3.5)."""
    scale, target = Scale.of(x[train]), Scale.of(y[train][:, None])
    rows = clipped_both(x[train], scale, widths[0])
    others = clipped_both(x[test], scale, widths[0]) if clip_test else x[test]
    centre = y[train].mean()
    cut = clipped_both(y[train][:, None], target, widths[1])[:, 0] - centre
    made = _mapped(rows, rows, others, y, train, test, Recipe())
    top, y_max = _largest(cut), _largest(y[train] - centre)
    return Prepared(made.x, cut / top, made.test_x * (top / y_max), made.test_y)


def _mapped(
    source: FloatArray,
    rows: FloatArray,
    others: FloatArray,
    y: FloatArray,
    train: IntArray,
    test: IntArray,
    recipe: Recipe,
) -> Prepared:
    scale = Scale.of(source)
    z, test_z = scale.applied(rows), scale.applied(others)
    known = y if recipe.statistics == "all" else y[train]
    centre = float(known.mean()) if recipe.centred else 0.0
    y_max = _largest(known - centre)
    target, test_target = (y[train] - centre) / y_max, (y[test] - centre) / y_max
    if recipe.statistics == "analyst":
        return _by_analyst(z, others, target, y[test], centre, y_max)
    if recipe.mapping == "max":
        longest = _largest(row_norms(scale.applied(source)))
        z, test_z = z / longest, test_z / longest
    elif recipe.mapping == "row":
        z, test_z = z / row_norms(z)[:, None], test_z / row_norms(test_z)[:, None]
    else:
        norms = row_norms(z)
        second = _largest(((known - centre) / y_max) / row_norms(scale.applied(source)))
        # predictions of (3.4) are multiplied by the norm of the test row and the second maximum again
        z, target, test_z = z / norms[:, None], target / norms / second, test_z * second
    if recipe.intercept:
        z, test_z = with_intercept(z), with_intercept(test_z)
    return Prepared(z, target, test_z, test_target)


def _by_analyst(
    z: FloatArray, others: FloatArray, target: FloatArray, test_y: FloatArray, centre: float, y_max: float
) -> Prepared:
    """The first option of section 3.3: the analyst standardises and scales by statistics of the test rows alone."""
    own = Scale.of(others).applied(others)
    own_centre = float(test_y.mean())
    own_max = _largest(test_y - own_centre)
    longest = _largest(row_norms(z))
    return Prepared(
        z / longest,
        target,
        own / _largest(row_norms(own)) * (own_max / y_max),
        (test_y - own_centre) / y_max,
    )


def _largest(values: FloatArray) -> float:
    """Largest size of a value, 1 where all are 0."""
    top = float(np.abs(values).max())
    return top if top > 0 else 1.0


def with_intercept(x: FloatArray) -> FloatArray:
    """A column of ones beside rows in the unit ball, all divided by sqrt(2) so that rows stay in it.

    >>> with_intercept(np.array([[0.6, 0.8]])).round(3).tolist()
    [[0.424, 0.566, 0.707]]
    """
    return np.column_stack([x, np.ones(len(x))]) / math.sqrt(2)


def unstandardised(
    theta: FloatArray, intercept: float, scale: Scale, longest: float, y_max: float
) -> tuple[FloatArray, float]:
    """Slopes and intercept in the units of the data, (3.6) and (3.7), from those of the mapped rows.

    They hold the means, standard deviations and maxima of the data without noise: NOT PRIVATE.

    >>> scale = Scale(np.array([10.0]), np.array([2.0]))
    >>> slopes, constant = unstandardised(np.array([0.5]), 0.1, scale, 4.0, 8.0)
    >>> slopes.tolist(), round(constant, 6)
    ([0.5], -4.2)
    """
    slopes = y_max / (longest * scale.sd) * theta
    return slopes, y_max * intercept - float(slopes @ scale.mean)
