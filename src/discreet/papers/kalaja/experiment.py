"""Ten-fold cross-validation for all lines of a figure: sums once per fold and recipe, then noise for every budget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.papers.figure import Row
from discreet.papers.kalaja import algorithms, rivals
from discreet.papers.kalaja.algorithms import DELTA, Algorithm, Sums
from discreet.papers.kalaja.clipping import clipping_widths
from discreet.papers.kalaja.preprocessing import IntArray, Prepared, Recipe, prepared, prepared_both_sides
from discreet.papers.kalaja.sound import declared_ranges, on_unit_ball, with_private_statistics
from discreet.papers.methods import READER, reader_model, reader_predictions
from discreet.papers.tables import regression_table

if TYPE_CHECKING:
    from discreet.exact.arrays import FloatArray

FOLDS: Final = 10
SATURATING: Final = "saturating"
WRITTEN: Final[dict[str, Algorithm]] = {
    "trivial": algorithms.trivial,
    "ridge": algorithms.ridge,
    "ssp_paper": algorithms.ssp_paper,
    "ssp_coded": algorithms.ssp_coded,
    "ssp_symmetric": algorithms.ssp_symmetric,
    "adassp_printed": algorithms.adassp_printed,
    "adassp_coded": algorithms.adassp_coded,
    "adassp_fixed": algorithms.adassp_fixed,
    "ops": rivals.ops,
    "adaops": rivals.adaops,
    "objective": rivals.objective,
}
OURS: Final = ("ssp", "adassp", "gaussian")  # mechanisms of the library, adaptive ridge
PRIVATE: Final = "private statistics"
HONKELA: Final = "honkela"
DEFAULT: Final = Recipe()


@dataclass(frozen=True)
class Line:
    """One line of a figure.

    Attributes
    ----------
    name
        In the legend and the table.
    method
        A key of `WRITTEN`, one of `OURS`, `PRIVATE`, or `HONKELA`.
    recipe
        How its rows are prepared.
    panel
        What its panel has after the name of the table, such as ", y not centred".
    """

    name: str
    method: str
    recipe: Recipe = DEFAULT
    panel: str = ""


@dataclass(frozen=True)
class Plan:
    """What a figure compares.

    Attributes
    ----------
    lines
        All of them.
    epsilons
        Claimed budgets.
    reader
        Recipe of the rows that a reader's own method gets.
    """

    lines: tuple[Line, ...]
    epsilons: tuple[float, ...]
    reader: Recipe = DEFAULT


@dataclass(frozen=True, eq=False)
class Score:
    """Squared error and R^2 of stacks of predictions on the test rows of a fold."""

    error: FloatArray
    r2: FloatArray

    @classmethod
    def of_coefficients(cls, made: Prepared, theta: FloatArray) -> Score:
        """From coefficients, shape (k, d), by sums over the test rows."""
        x, y = made.test_x, made.test_y
        gram, cross = x.T @ x, x.T @ y
        error = (y @ y - 2 * theta @ cross + np.einsum("ki,ij,kj->k", theta, gram, theta)) / len(y)
        return cls._of(error, y)

    @classmethod
    def of_predictions(cls, predicted: FloatArray, y: FloatArray) -> Score:
        """From predictions, shape (k, m)."""
        return cls._of(((predicted - y) ** 2).mean(axis=1), y)

    @classmethod
    def _of(cls, error: FloatArray, y: FloatArray) -> Score:
        return cls(error, 1 - error / float(np.var(y)))


@lru_cache(maxsize=2)
def saturating_table(rows: int = 100_000) -> tuple[FloatArray, FloatArray]:
    """Simulated rows with long tails, and a target that grows ever more slowly.

    x is lognormal with sd 1.2 of the log, y = sum log(1 + x) + N(0, 0.09). A slope that is learned below a clipping
    point is far too steep above it.
    """
    rng = np.random.default_rng(2020)
    x = rng.lognormal(sigma=1.2, size=(rows, 5))
    return x, np.log1p(x).sum(axis=1) + 0.3 * rng.standard_normal(rows)


def table_of(name: str, folder: str | None) -> tuple[FloatArray, FloatArray]:
    """Regressors and target of a table."""
    if name == SATURATING:
        return saturating_table()
    return regression_table(name, None if folder is None else Path(folder))


def folds(rows: int, rng: np.random.Generator) -> Iterator[tuple[IntArray, IntArray]]:
    """Training and test rows of each of ten folds, after a random permutation."""
    order = rng.permutation(rows)
    parts = np.array_split(order, FOLDS)
    for place, test in enumerate(parts):
        yield np.concatenate([part for other, part in enumerate(parts) if other != place]), test


def cross_validated(
    *, seed: int, plan: Plan, table: str, folder: str | None, repeat: int, method: str | None = None
) -> list[Row]:
    """One round of ten-fold cross-validation: a row for each line and epsilon, with mean and sd over the folds."""
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
    """Our line that is sound from end to end, its error in the units of the others: y_max of the training rows."""
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
    """Algorithm 3 on rows that are cut on both sides, at widths that depend on epsilon and the size of the table."""
    rows = round(len(y) * (1 - 1 / FOLDS))
    scores, norm = [], 0.0
    for epsilon in epsilons:
        widths = clipping_widths(rows, x.shape[1], float(epsilon))
        made = prepared_both_sides(x, y, train, test, widths, clip_test=clip_test)
        norm = max(norm, made.largest_test_norm)
        theta = algorithms.adassp_fixed(Sums.of(made.x, made.y), np.array([epsilon]), DELTA, rng)
        scores.append(Score.of_coefficients(made, theta))
    return Score(np.concatenate([s.error for s in scores]), np.concatenate([s.r2 for s in scores])), norm


def _reader(made: Prepared, epsilons: FloatArray, method: str) -> Score:
    predicted = []
    for epsilon in epsilons:
        model = reader_model(method, made.x, made.y, epsilon=float(epsilon), delta=DELTA)
        predicted.append(reader_predictions(model, made.test_x))
    return Score.of_predictions(np.array(predicted), made.test_y)
