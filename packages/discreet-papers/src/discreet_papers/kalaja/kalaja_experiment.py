"""Run the experiments of the thesis: preprocessing, clipping, sound versions, and the plan of each figure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
import numpy.typing as npt

from discreet.analyst.model import fit
from discreet.design.design import Design
from discreet.privacy import epsilon_from, mu_from
from discreet.testing import summed_table
from discreet_papers.document_tables import has, published_results, regression_table
from discreet_papers.figure import Cell, Row, Run
from discreet_papers.kalaja import kalaja_methods
from discreet_papers.kalaja.kalaja_methods import DELTA, Algorithm, Sums, solved
from discreet_papers.methods import READER, reader_model, reader_predictions

if TYPE_CHECKING:
    from discreet.exact.arrays import FloatArray

# -- preprocessing -----------------------------------------------------------------------------------------------------
# How the thesis scales rows into the unit ball (sections 3.3 and 3.4). Every statistic comes from the data.
#
# NOT PRIVATE: means, standard deviations, largest norm, largest target and clipping points are used and published
# without noise. So no noise added to the sums afterwards can give a finite epsilon.

IntArray = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Recipe:
    """Preprocessing choices that the figures compare.

    `mapping` says how rows are mapped into the unit ball: each by its norm (3.3), by its norm together with its target
    (3.4), or all by the largest norm (3.5). `statistics` says which rows the statistics come from: all rows before the
    split, the training rows or, for test rows, only the test rows. `centred` centres y, and `intercept` adds a column
    of ones. `clip` first clips columns at the mean plus this many standard deviations (3.8), and `clip_test` clips test
    rows at the same points (3.9).
    """

    mapping: Literal["row", "row-y", "max"] = "max"
    statistics: Literal["all", "training", "analyst"] = "training"
    centred: bool = True
    intercept: bool = False
    clip: float | None = None
    clip_test: bool = False


@dataclass(frozen=True, eq=False)
class Prepared:
    """Training rows in the unit ball with targets in [-1, 1], and test rows.

    `test_x @ theta` predicts `test_y`, in units of the largest training target y_max.
    """

    x: FloatArray
    y: FloatArray
    test_x: FloatArray
    test_y: FloatArray

    @property
    def largest_test_norm(self) -> float:
        """Norm of the longest test row. Training rows have norm at most 1."""
        return float(np.linalg.norm(self.test_x, axis=1).max())


@dataclass(frozen=True, eq=False)
class Scale:
    """Means and standard deviations of columns."""

    mean: FloatArray
    sd: FloatArray

    @classmethod
    def of(cls, x: FloatArray) -> Scale:
        """Compute the statistics of rows. A constant column gets standard deviation 1."""
        sd = x.std(axis=0, ddof=1)
        return cls(x.mean(axis=0), np.where(sd > 0, sd, 1.0))

    def applied(self, x: FloatArray) -> FloatArray:
        """Standardise columns."""
        return (x - self.mean) / self.sd


def row_norms(x: FloatArray) -> FloatArray:
    """Return the norms of rows, or 1 for a row of zeros."""
    norms = np.linalg.norm(x, axis=1)
    return np.where(norms > 0, norms, 1.0)


def clipped_above(x: FloatArray, points: FloatArray) -> FloatArray:
    """Clip columns at upper points only, as in (3.8)."""
    return np.minimum(x, points)


def clipped_both(x: FloatArray, scale: Scale, width: float) -> FloatArray:
    """Clip columns at `width` standard deviations on both sides of the mean, as in Honkela et al. (2018)."""
    return np.clip(x, scale.mean - width * scale.sd, scale.mean + width * scale.sd)


def prepared(x: FloatArray, y: FloatArray, train: IntArray, test: IntArray, recipe: Recipe) -> Prepared:
    """Prepare training and test rows by a recipe."""
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
    """Prepare rows as in (3.5) after clipping x and y on both sides at the given widths in standard deviations."""
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
        # predictions of (3.4) are multiplied by the norm of the test row and the second maximum, to undo the scaling
        z, target, test_z = z / norms[:, None], target / norms / second, test_z * second
    if recipe.intercept:
        z, test_z = with_intercept(z), with_intercept(test_z)
    return Prepared(z, target, test_z, test_target)


def _by_analyst(
    z: FloatArray, others: FloatArray, target: FloatArray, test_y: FloatArray, centre: float, y_max: float
) -> Prepared:
    """Scale test rows by their own statistics, the first option of section 3.3."""
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
    """Return the largest absolute value, or 1 if all values are 0."""
    top = float(np.abs(values).max())
    return top if top > 0 else 1.0


def with_intercept(x: FloatArray) -> FloatArray:
    """Add a column of ones to rows in the unit ball, and divide rows by sqrt(2) so that they stay in the ball.

    >>> with_intercept(np.array([[0.6, 0.8]])).round(3).tolist()
    [[0.424, 0.566, 0.707]]
    """
    return np.column_stack([x, np.ones(len(x))]) / math.sqrt(2)


def unstandardised(
    theta: FloatArray, intercept: float, scale: Scale, longest: float, y_max: float
) -> tuple[FloatArray, float]:
    """Convert slopes and intercept for mapped rows to the units of the data, by (3.6) and (3.7).

    They contain the means, standard deviations and maxima of the data without noise: NOT PRIVATE.

    >>> scale = Scale(np.array([10.0]), np.array([2.0]))
    >>> slopes, constant = unstandardised(np.array([0.5]), 0.1, scale, 4.0, 8.0)
    >>> slopes.tolist(), round(constant, 6)
    ([0.5], -4.2)
    """
    slopes = y_max / (longest * scale.sd) * theta
    return slopes, y_max * intercept - float(slopes @ scale.mean)


# -- clipping ----------------------------------------------------------------------------------------------------------
# Clipping points of Honkela et al. (2018), chosen on simulated rows without privacy cost.

WIDTHS: Final = tuple(round(0.1 * step, 1) for step in range(1, 21))
_SETS: Final = 5  # simulated tables, and draws of noise for each; the paper uses 20 of both
_MOST_ROWS: Final = 4_000
_SHARES: Final = (0.35, 0.6)  # shares of epsilon for X'X and X'y


@lru_cache(maxsize=512)
def clipping_widths(rows: int, columns: int, epsilon: float) -> tuple[float, float]:
    """Return the clipping widths for x and y, in standard deviations, that predict best on simulated tables.

    x is normal with rows of norm 1, and y = x b + N(0, 1) with b ~ N(0, I). The noise is Laplace on the clipped sums,
    and the prior precision is 1. We use Pearson's instead of Spearman's correlation between prediction and target. We
    simulate at most 4,000 rows and scale their sums.

    >>> clipping_widths(500, 10, 0.1) in [(x, y) for x in WIDTHS for y in WIDTHS]
    True
    """
    rng = np.random.default_rng(42)
    score = np.zeros((len(WIDTHS), len(WIDTHS)))
    for _ in range(_SETS):
        x, y = _simulated(min(rows, _MOST_ROWS), columns, rng)
        score += _correlations(x, y, rows / len(y), epsilon, rng)
    best = np.unravel_index(score.argmax(), score.shape)
    return WIDTHS[int(best[0])], WIDTHS[int(best[1])]


def _simulated(rows: int, columns: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    x = rng.standard_normal((rows, columns))
    x -= x.mean(axis=0)
    x /= np.linalg.norm(x, axis=1)[:, None]
    y = x @ rng.standard_normal(columns) + rng.standard_normal(rows)
    return x, y - y.mean()


def _correlations(x: FloatArray, y: FloatArray, scale: float, epsilon: float, rng: np.random.Generator) -> FloatArray:
    """Return the mean correlation over noise draws for every pair of widths."""
    columns = x.shape[1]
    at_x, at_y = np.array(WIDTHS) * x.std(ddof=1), np.array(WIDTHS) * y.std(ddof=1)
    targets = np.clip(y[:, None], -at_y, at_y)
    cut = [np.clip(x, -at, at) for at in at_x]
    grams = scale * np.array([one.T @ one for one in cut])
    crosses = scale * np.array([(one.T @ targets).T for one in cut])
    full_gram, full_cross, size = x.T @ x, x.T @ y, float(y @ y)
    found = np.zeros((len(at_x), len(at_y)))
    for _ in range(_SETS):
        gram_noise, cross_noise = _laplace(columns, epsilon, rng)
        noisy = grams + (at_x**2)[:, None, None] * gram_noise + np.eye(columns)
        sides = crosses + (at_x[:, None] * at_y)[:, :, None] * cross_noise
        theta = solved(noisy[:, None], sides)
        length = np.einsum("abi,ij,abj->ab", theta, full_gram, theta, optimize=True)
        found += theta @ full_cross / np.sqrt(np.maximum(length, 1e-300) * size)
    return found


def _laplace(columns: int, epsilon: float, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Draw noise for clipping points of 1: a mirrored upper triangle and a vector."""
    upper = np.triu(rng.laplace(scale=(columns**2 + columns) / (_SHARES[0] * epsilon), size=(columns, columns)))
    return upper + np.triu(upper, 1).T, rng.laplace(scale=2 * columns / (_SHARES[1] * epsilon), size=columns)


# -- sound -------------------------------------------------------------------------------------------------------------
# Our lines: releases of the library with adaptive ridge, seeded so that the figures are reproducible.
#
# `on_unit_ball` is sound for rows scaled into the unit ball by public constants. The thesis scales them by
# statistics of the data. `with_private_statistics` is sound end to end: declared ranges, a tenth of the budget
# (of mu^2) for the normalising statistics, the rest for the sums.

STATISTICS_SHARE: Final = 0.1  # share of mu^2
TARGET: Final = "y"


@lru_cache(maxsize=32)
def unit_ball_design(columns: int, *, intercept: bool = False) -> Design:
    """Declare rows in the unit ball and a target in [-1, 1], by default without an intercept."""
    bounds = {f"x{index}": (-1, 1) for index in range(columns)}
    return Design(TARGET, {**bounds, TARGET: (-1, 1)}, intercept=intercept, radius=1.0)


def on_unit_ball(
    x: FloatArray,
    y: FloatArray,
    mechanisms: tuple[str, ...],
    epsilons: FloatArray,
    delta: float,
    seed: int,
    *,
    intercept: bool = False,
) -> dict[str, FloatArray]:
    """Fit every mechanism at every epsilon with adaptive ridge, from one pass. An intercept comes first."""
    columns = x.shape[1]
    rows = {**{f"x{index}": x[:, index] for index in range(columns)}, TARGET: y}
    table = summed_table(rows, unit_ball_design(columns, intercept=intercept))
    found = {}
    for offset, mechanism in enumerate(mechanisms):
        made = [
            table.release(seed=seed + 1_000 * offset + place, epsilon=float(epsilon), delta=delta, mechanism=mechanism)
            for place, epsilon in enumerate(epsilons)
        ]
        found[mechanism] = np.array([fit(one, penalty="adaptive").coefficients for one in made])
    return found


@dataclass(frozen=True, eq=False)
class Ranges:
    """Declared midpoints and half widths of regressors and target."""

    middle: FloatArray
    half: FloatArray
    target: tuple[float, float]

    def scaled(self, x: FloatArray) -> FloatArray:
        """Return regressors scaled to [-1, 1] and clipped to the declared range."""
        return np.clip((x - self.middle) / self.half, -1.0, 1.0)

    def scaled_target(self, y: FloatArray) -> FloatArray:
        """Return targets scaled to [-1, 1] and clipped to the declared range."""
        return np.clip((y - self.target[0]) / self.target[1], -1.0, 1.0)


def declared_ranges(x: FloatArray, y: FloatArray) -> Ranges:
    """Return ranges as a codebook might state them: smallest and largest values, rounded outwards to one digit.

    >>> declared_ranges(np.array([[0.0], [37.0]]), np.array([-1.2, 8.0])).target
    (3.0, 5.0)
    """
    ends = [(_outwards(column.min(), -1), _outwards(column.max(), 1)) for column in (*x.T, y)]
    middle = np.array([(low + high) / 2 for low, high in ends])
    half = np.array([(high - low) / 2 for low, high in ends])
    return Ranges(middle[:-1], half[:-1], (float(middle[-1]), float(half[-1])))


def _outwards(value: float, side: int) -> float:
    """Round to one significant digit, up for side 1 and down for side -1."""
    if value == 0:
        return 0.0
    digit = 10.0 ** math.floor(math.log10(abs(value)))
    return side * math.ceil(side * value / digit - 1e-12) * digit


@dataclass(frozen=True, eq=False)
class PrivateScale:
    """Normalising statistics released with noise, in scaled units.

    `mean` and `sd` are those of each scaled regressor, and `centre` is the mean of the scaled target.
    """

    ranges: Ranges
    mean: FloatArray
    sd: FloatArray
    centre: float

    def rows(self, x: FloatArray) -> FloatArray:
        """Return standardised rows, shrunk to the ball of radius sqrt(d) and divided by that radius."""
        z = (self.ranges.scaled(x) - self.mean) / self.sd / math.sqrt(len(self.mean))
        norms = np.linalg.norm(z, axis=1)
        shrunk: FloatArray = z / np.maximum(norms, 1.0)[:, None]
        return shrunk

    @property
    def top(self) -> float:
        """Largest possible absolute value of a centred target, in scaled units."""
        return 1.0 + abs(self.centre)

    def target(self, y: FloatArray) -> FloatArray:
        """Return centred targets in [-1, 1]."""
        return (self.ranges.scaled_target(y) - self.centre) / self.top

    def predicted(self, x: FloatArray, theta: FloatArray) -> FloatArray:
        """Predict in the units of y, from an intercept and slopes."""
        middle, half = self.ranges.target
        predictions: FloatArray = middle + half * (self.centre + self.top * (theta[0] + self.rows(x) @ theta[1:]))
        return predictions


def private_scale(x: FloatArray, y: FloatArray, ranges: Ranges, mu: float, rng: np.random.Generator) -> PrivateScale:
    """Release means and standard deviations with Gaussian noise that spends mu: sums of u, u^2 and v, and n.

    One row added or removed moves them jointly by at most sqrt(2d + 2). A variance is kept between twice the noise of
    its estimate and 1, so that the declared range is used if noise hides a statistic.
    """
    u, v = ranges.scaled(x), ranges.scaled_target(y)
    columns = u.shape[1]
    sigma = math.sqrt(2 * columns + 2) / mu
    exact = np.concatenate([u.sum(axis=0), (u**2).sum(axis=0), [v.sum(), len(v)]])
    noisy = exact + sigma * rng.standard_normal(len(exact))
    rows = max(float(noisy[-1]), 1.0)
    mean = np.clip(noisy[:columns] / rows, -1.0, 1.0)
    square = np.clip(noisy[columns : 2 * columns] / rows, 0.0, 1.0)
    floor = min(1.0, max(2 * sigma / rows, 1e-4))
    variance = np.clip(square - mean**2, floor, 1.0)
    return PrivateScale(ranges, mean, np.sqrt(variance), float(np.clip(noisy[-2] / rows, -1.0, 1.0)))


@lru_cache(maxsize=64)
def split_budget(epsilon: float, delta: float) -> tuple[float, float]:
    """Return the mu of the statistics, and the remaining epsilon for the sums at the same delta.

    >>> mu, rest = split_budget(1.0, 1e-6)
    >>> round(mu, 4), round(rest, 4)
    (0.0749, 0.9448)
    """
    mu = mu_from(epsilon, delta)
    return math.sqrt(STATISTICS_SHARE) * mu, epsilon_from(math.sqrt(1 - STATISTICS_SHARE) * mu, delta)


def with_private_statistics(
    x: FloatArray,
    y: FloatArray,
    test_x: FloatArray,
    ranges: Ranges,
    epsilons: FloatArray,
    delta: float,
    rng: np.random.Generator,
) -> FloatArray:
    """Predict test rows in the units of y, shape (k, m), by private statistics and `ssp` with adaptive ridge.

    A noisy mean does not centre y exactly, so there is an intercept.
    """
    found = []
    for epsilon in epsilons:
        mu, rest = split_budget(float(epsilon), delta)
        scale = private_scale(x, y, ranges, mu, rng)
        made = on_unit_ball(
            scale.rows(x),
            scale.target(y),
            ("ssp",),
            np.array([rest]),
            delta,
            int(rng.integers(2**40)),
            intercept=True,
        )
        found.append(scale.predicted(test_x, made["ssp"][0]))
    return np.array(found)


# -- experiment --------------------------------------------------------------------------------------------------------
# Ten-fold cross-validation for all lines of a figure: sums once per fold and recipe, then noise for every budget.

FOLDS: Final = 10
SATURATING: Final = "saturating"
WRITTEN: Final[dict[str, Algorithm]] = {
    "trivial": kalaja_methods.trivial,
    "ridge": kalaja_methods.ridge,
    "ssp_paper": kalaja_methods.ssp_paper,
    "ssp_coded": kalaja_methods.ssp_coded,
    "ssp_symmetric": kalaja_methods.ssp_symmetric,
    "adassp_printed": kalaja_methods.adassp_printed,
    "adassp_coded": kalaja_methods.adassp_coded,
    "adassp_fixed": kalaja_methods.adassp_fixed,
    "ops": kalaja_methods.ops,
    "adaops": kalaja_methods.adaops,
    "objective": kalaja_methods.objective,
}
OURS: Final = ("ssp", "adassp", "gaussian")  # mechanisms of the library, adaptive ridge
PRIVATE: Final = "private statistics"
HONKELA: Final = "honkela"
DEFAULT: Final = Recipe()


@dataclass(frozen=True)
class Line:
    """One line of a figure.

    `name` appears in the legend and the table. `method` is a key of `WRITTEN`, one of `OURS`, `PRIVATE`, or `HONKELA`.
    `recipe` preprocesses the rows. `panel` is a suffix of the panel name after the table, such as ", y not centred".
    """

    name: str
    method: str
    recipe: Recipe = DEFAULT
    panel: str = ""


@dataclass(frozen=True)
class Plan:
    """Contents of a figure: its lines, the claimed budgets, and the preprocessing for a user's method (`reader`)."""

    lines: tuple[Line, ...]
    epsilons: tuple[float, ...]
    reader: Recipe = DEFAULT


@dataclass(frozen=True, eq=False)
class Score:
    """Squared error and R^2 of stacked predictions on the test rows of a fold."""

    error: FloatArray
    r2: FloatArray

    @classmethod
    def of_coefficients(cls, made: Prepared, theta: FloatArray) -> Score:
        """Score coefficients, shape (k, d), from sums over the test rows."""
        x, y = made.test_x, made.test_y
        gram, cross = x.T @ x, x.T @ y
        error = (y @ y - 2 * theta @ cross + np.einsum("ki,ij,kj->k", theta, gram, theta)) / len(y)
        return cls._of(error, y)

    @classmethod
    def of_predictions(cls, predicted: FloatArray, y: FloatArray) -> Score:
        """Score predictions, shape (k, m)."""
        return cls._of(((predicted - y) ** 2).mean(axis=1), y)

    @classmethod
    def _of(cls, error: FloatArray, y: FloatArray) -> Score:
        return cls(error, 1 - error / float(np.var(y)))


@lru_cache(maxsize=2)
def saturating_table(rows: int = 100_000) -> tuple[FloatArray, FloatArray]:
    """Simulate rows with long tails, and a target that grows ever more slowly.

    x is lognormal, with sd 1.2 of the log, and y = sum log(1 + x) + N(0, 0.09). A slope that is learned below a
    clipping point is far too steep above it.
    """
    rng = np.random.default_rng(2020)
    x = rng.lognormal(sigma=1.2, size=(rows, 5))
    return x, np.log1p(x).sum(axis=1) + 0.3 * rng.standard_normal(rows)


def table_of(name: str, folder: str | None) -> tuple[FloatArray, FloatArray]:
    """Return regressors and target of a table."""
    if name == SATURATING:
        return saturating_table()
    return regression_table(name, None if folder is None else Path(folder))


def folds(rows: int, rng: np.random.Generator) -> Iterator[tuple[IntArray, IntArray]]:
    """Return training and test rows of each of ten folds, after a random permutation."""
    order = rng.permutation(rows)
    parts = np.array_split(order, FOLDS)
    for place, test in enumerate(parts):
        yield np.concatenate([part for other, part in enumerate(parts) if other != place]), test


def cross_validated(
    *, seed: int, plan: Plan, table: str, folder: str | None, repeat: int, method: str | None = None
) -> list[Row]:
    """Run one round of ten-fold cross-validation: a row for each line and epsilon, with mean and sd over the folds."""
    x, y = table_of(table, folder)
    rng = np.random.default_rng(seed)
    found: dict[Line, list[Score]] = {}
    longest: dict[Line, float] = {}
    for train, test in folds(len(y), rng):
        for line, score, norm in _fold(x, y, train, test, plan, rng, method):
            found.setdefault(line, []).append(score)
            longest[line] = max(longest.get(line, 0.0), norm)
    return [
        {
            "panel": table + line.panel,
            "line": line.name,
            "epsilon": epsilon,
            "repeat": repeat,
            "value": float(np.mean([score.error[place] for score in scores])),
            "sd": float(np.std([score.error[place] for score in scores], ddof=1)),
            "r2": float(np.mean([score.r2[place] for score in scores])),
            "test_norm": longest[line],
            "columns": x.shape[1],
        }
        for line, scores in found.items()
        for place, epsilon in enumerate(plan.epsilons)
    ]


def _fold(
    x: FloatArray,
    y: FloatArray,
    train: IntArray,
    test: IntArray,
    plan: Plan,
    rng: np.random.Generator,
    method: str | None,
) -> Iterator[tuple[Line, Score, float]]:
    epsilons = np.array(plan.epsilons)
    for recipe in dict.fromkeys(line.recipe for line in plan.lines if line.method not in (PRIVATE, HONKELA)):
        made = prepared(x, y, train, test, recipe)
        norm = made.largest_test_norm
        lines = [line for line in plan.lines if line.recipe == recipe and line.method not in (PRIVATE, HONKELA)]
        for line, theta in _coefficients(made, lines, epsilons, rng):
            yield line, Score.of_coefficients(made, theta), norm
        if method is not None and recipe == plan.reader:
            yield Line(READER, READER, recipe), _reader(made, epsilons, method), norm
    for line in plan.lines:
        if line.method == PRIVATE:
            yield line, _private(x, y, train, test, epsilons, rng, centred=line.recipe.centred), 1.0
        elif line.method == HONKELA:
            yield line, *_honkela(x, y, train, test, epsilons, rng, clip_test=line.recipe.clip_test)


def _coefficients(
    made: Prepared, lines: Sequence[Line], epsilons: FloatArray, rng: np.random.Generator
) -> Iterator[tuple[Line, FloatArray]]:
    sums = Sums.of(made.x, made.y)
    ours = tuple(line.method for line in lines if line.method in OURS)
    seed = int(rng.integers(2**40))
    released = on_unit_ball(made.x, made.y, ours, epsilons, DELTA, seed) if ours else {}
    for line in lines:
        if line.method in released:
            yield line, released[line.method]
        else:
            yield line, WRITTEN[line.method](sums, epsilons, DELTA, rng)


def _private(
    x: FloatArray,
    y: FloatArray,
    train: IntArray,
    test: IntArray,
    epsilons: FloatArray,
    rng: np.random.Generator,
    *,
    centred: bool,
) -> Score:
    """Score our line with an end-to-end guarantee, with errors in units of y_max of the training rows."""
    predicted = with_private_statistics(x[train], y[train], x[test], declared_ranges(x, y), epsilons, DELTA, rng)
    y_max = float(np.abs(y[train] - (y[train].mean() if centred else 0.0)).max())
    return Score.of_predictions(predicted / y_max, y[test] / y_max)


def _honkela(
    x: FloatArray,
    y: FloatArray,
    train: IntArray,
    test: IntArray,
    epsilons: FloatArray,
    rng: np.random.Generator,
    *,
    clip_test: bool,
) -> tuple[Score, float]:
    """Score Algorithm 3 on rows clipped on both sides, at widths that depend on epsilon and the size of the table."""
    rows = round(len(y) * (1 - 1 / FOLDS))
    scores, norm = [], 0.0
    for epsilon in epsilons:
        widths = clipping_widths(rows, x.shape[1], float(epsilon))
        made = prepared_both_sides(x, y, train, test, widths, clip_test=clip_test)
        norm = max(norm, made.largest_test_norm)
        theta = kalaja_methods.adassp_fixed(Sums.of(made.x, made.y), np.array([epsilon]), DELTA, rng)
        scores.append(Score.of_coefficients(made, theta))
    return Score(np.concatenate([s.error for s in scores]), np.concatenate([s.r2 for s in scores])), norm


def _reader(made: Prepared, epsilons: FloatArray, method: str) -> Score:
    predicted = []
    for epsilon in epsilons:
        model = reader_model(method, made.x, made.y, epsilon=float(epsilon), delta=DELTA)
        predicted.append(reader_predictions(model, made.test_x))
    return Score.of_predictions(np.array(predicted), made.test_y)


# -- plans -------------------------------------------------------------------------------------------------------------
# The lines of each figure of the thesis, and the cells of its runs.

TABLES: Final = ("airfoil", "elevators", "energy", "housing", "protein", "bike")
PACKED: Final = ("housing", "concrete")  # tables of installed packages, available without a folder
REPEATS: Final = 10
# rounds of a quick run; our lines, two-sided clipping and a user's method run only in the first round
QUICK: Final = {"kalaja-4.1": 10, "kalaja-4.2": 10}
QUICK_ELSE: Final = 3
PRIVATE_LINE: Final = "discreet ssp, private statistics"
CLIPS: Final = (1.0, 1.3, 1.6, 2.0)
TRAINING_ONLY: Final = "adassp_clip_1.3, training only"
NOT_CENTRED: Final = ", y not centred"

_GRID = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
_ADAPTIVE = (*_GRID, 3.0)
_ROW = Recipe("row", "all")
_ROW_Y = Recipe("row-y", "all")
_MAX_ALL = Recipe("max", "all")
_MAX = Recipe("max", "training")
_OURS = Line(PRIVATE_LINE, PRIVATE)


def _three(suffix: str, recipe: Recipe, panel: str = "") -> tuple[Line, ...]:
    """Return the trivial, non-private and Algorithm 3 lines of one recipe, named as in the thesis."""
    return tuple(
        Line(f"{name}{suffix}", method, recipe, panel)
        for name, method in (("trivial", "trivial"), ("nonprivate", "ridge"), ("adassp", "adassp_fixed"))
    )


def _intercepts(panel: str, *, centred: bool) -> tuple[Line, ...]:
    plain = replace(_MAX, centred=centred)
    with_ones = _three("_intercept", replace(plain, intercept=True), panel)[1:]
    return *_three("", plain, panel), *with_ones, replace(_OURS, panel=panel, recipe=plain)


def _clips(*, clip_test: bool) -> tuple[Line, ...]:
    cut = replace(_MAX, clip_test=clip_test)
    by_points = tuple(Line(f"adassp_clip_{clip}", "adassp_fixed", replace(cut, clip=clip)) for clip in CLIPS)
    # 4.8 repeats one line of 4.7 for comparison
    beside = (Line(TRAINING_ONLY, "adassp_fixed", replace(_MAX, clip=1.3)),) if clip_test else ()
    return *_three("", _MAX), *by_points, *beside, Line("adassp_clip_both_sides", HONKELA, cut), _OURS


PLANS: Final = {
    "kalaja-4.1": Plan(
        (
            Line("trivial", "trivial", _ROW),
            Line("ridge", "ridge", _ROW),
            Line("SSP, paper", "ssp_paper", _ROW),
            Line("SSP, as coded", "ssp_coded", _ROW),
            Line("SSP, symmetric", "ssp_symmetric", _ROW),
            Line("OPS", "ops", _ROW),
            Line("AdaOPS", "adaops", _ROW),
            Line("objective perturbation", "objective", _ROW),
            Line("discreet ssp", "ssp", _ROW),
        ),
        (*_GRID, 5.0, 10.0),
        _ROW,
    ),
    "kalaja-4.2": Plan(
        (
            Line("trivial", "trivial", _ROW),
            Line("ridge", "ridge", _ROW),
            Line("AdaSSP, Algorithm 2", "adassp_printed", _ROW),
            Line("AdaSSP, as coded", "adassp_coded", _ROW),
            Line("AdaSSP, Algorithm 3", "adassp_fixed", _ROW),
            Line("discreet ssp", "ssp", _ROW),
            Line("discreet adassp", "adassp", _ROW),
            Line("discreet gaussian", "gaussian", _ROW),
        ),
        (*_ADAPTIVE, 5.0, 10.0),
        _ROW,
    ),
    "kalaja-4.3": Plan((*_three("_row", _ROW), *_three("_max", _MAX_ALL), _OURS), _ADAPTIVE, _ROW),
    "kalaja-4.4": Plan((*_three("", _ROW), *_three("_y_included", _ROW_Y), _OURS), _ADAPTIVE, _ROW),
    "kalaja-4.5": Plan(
        (
            *_three("_before", _MAX_ALL),
            *_three("_after_cv", _MAX),
            Line("adassp_analyst", "adassp_fixed", replace(_MAX, statistics="analyst")),
            _OURS,
        ),
        _ADAPTIVE,
        _MAX,
    ),
    "kalaja-4.6": Plan((*_intercepts("", centred=True), *_intercepts(NOT_CENTRED, centred=False)), _ADAPTIVE, _MAX),
    "kalaja-4.7": Plan(_clips(clip_test=False), _ADAPTIVE, _MAX),
    "kalaja-4.8": Plan(_clips(clip_test=True), _ADAPTIVE, _MAX),
}
# published results: name of the method in the file, and the line that reproduces it
PUBLISHED: Final = {
    "kalaja-4.1": {
        "SSP": "SSP, as coded",
        "OPS": "OPS",
        "AdaOPS": "AdaOPS",
        "ObjPert": "objective perturbation",
    },
    "kalaja-4.2": {"AdaSSP": "AdaSSP, Algorithm 2"},
}


def published_line(method: str) -> str:
    """Return the name of the crosses that show a method of Wang (2018)."""
    return f"published {method}"


def tables_of(figure: str, run: Run) -> tuple[str, ...]:
    """Return the tables that a figure uses in this run."""
    found = tuple(name for name in TABLES if has(name, run.data)) if run.data is not None else PACKED
    return (*found, SATURATING) if figure in ("kalaja-4.7", "kalaja-4.8") else found


def cells_of(figure: str, run: Run) -> list[Cell]:
    """Return a cell for each table and repetition, and one for the published values."""
    folder = None if run.data is None else str(run.data)
    rounds = QUICK.get(figure, QUICK_ELSE) if run.quick else REPEATS
    cells = []
    for repeat in range(rounds):
        whole = repeat == 0 or not run.quick
        shared = {"figure": figure, "folder": folder, "repeat": repeat, "whole": whole, "method": run.method}
        cells += [
            Cell(f"{table} {repeat}{'' if whole else ', as written'}", one_round, {**shared, "table": table})
            for table in tables_of(figure, run)
        ]
    if figure in PUBLISHED and published_results(run.data) is not None:
        cells.append(Cell("published", published_rows, {"figure": figure, "folder": folder}))
    return cells


def one_round(
    *, seed: int, figure: str, table: str, folder: str | None, repeat: int, whole: bool, method: str | None
) -> list[Row]:
    """Run one round of ten-fold cross-validation on one table, for all lines or only the cheap ones as written."""
    plan = PLANS[figure] if whole else as_written(PLANS[figure])
    return cross_validated(
        seed=seed, plan=plan, table=table, folder=folder, repeat=repeat, method=method if whole else None
    )


def as_written(plan: Plan) -> Plan:
    """Return the plan with only the lines that are computed from sums."""
    return replace(plan, lines=tuple(line for line in plan.lines if line.method in WRITTEN))


def published_rows(*, seed: int, figure: str, folder: str) -> list[Row]:
    """Return the errors that Wang (2018) published for the methods of a figure. `sd` is over the folds."""
    found = published_results(Path(folder))
    if found is None:
        return []
    wanted = found[found["method"].isin(PUBLISHED[figure]) & found["dataset"].isin(TABLES)]
    return [
        {
            "panel": str(row.dataset),
            "line": published_line(str(row.method)),
            "epsilon": float(row.epsilon),
            "repeat": 0,
            "value": float(row.error),
            "sd": float(row.std),
        }
        for row in wanted.itertuples()
    ]


def not_run(figure: str, run: Run) -> list[str]:
    """Describe what a run of a figure omits."""
    missing = [f"{name}: no {name}.parquet in the data folder" for name in TABLES if not has(name, run.data)]
    if run.data is None:
        missing.append("concrete takes the place of no table of the thesis; it is here because a package holds it")
    if figure in PUBLISHED and published_results(run.data) is None:
        missing.append("crosses: no wang2018_results.csv in the data folder")
    return [*missing, "buzz (583,250 x 77), the fourth table of the thesis, is not run"]
