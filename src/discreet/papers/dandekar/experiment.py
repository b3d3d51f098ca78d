"""The runs of the report: random splits, the four regressions without noise, as written, corrected, and ours.

Sums of products of the training and the test rows are all that a run needs: errors on test rows are quadratic in the
coefficients too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

import discreet
from discreet.exact.arrays import FloatArray
from discreet.papers.dandekar import histogram, objectives, regressions
from discreet.papers.dandekar.objectives import Quadratic
from discreet.papers.dandekar.regressions import FOLDS, REGRESSIONS, Regression
from discreet.papers.dandekar.tables import LEVELS, TITLES, WINE, Scaled, report_table
from discreet.papers.figure import Row
from discreet.papers.methods import READER, reader_model, reader_predictions
from discreet.testing import summed_table

WINE_EPSILONS: Final = tuple(0.1 * 2**k for k in range(7))
CENSUS_EPSILONS: Final = tuple(float(value) for value in np.logspace(-3, 0, 7))
HELD_OUT: Final = 5  # a fifth of the rows
NOT_PRIVATE: Final = "non-private"
NOT_PRIVATE_PUBLIC: Final = "non-private, public bounds"
WRITTEN: Final = "as written"
CORRECTED: Final = "corrected"
OURS: Final = "discreet"
ZERO: Final = "theta = 0"
VARIANTS: Final = (*objectives.NOISES, "projection", "ridge shift")
# how the library reads its release for each regression: lambda = n/100 in its own units, see docs/how-to/penalty.md
_OURS: Final[dict[Regression, dict[str, object]]] = {
    "linear": {"penalty": "adaptive"},
    "ridge": {"penalty": "ridge", "strength": 0.01},
    "LASSO": {"penalty": "lasso", "strength": 0.005},
    "elastic net": {"penalty": "elastic-net", "strength": 0.0075, "l1_ratio": 1 / 3},
}


def epsilons(table: str) -> tuple[float, ...]:
    """Seven budgets of a table."""
    return WINE_EPSILONS if table == WINE else CENSUS_EPSILONS


@dataclass(frozen=True)
class Split:
    """One random split of a table into training and test rows, as sums of products.

    Attributes
    ----------
    folds
        Sums of (1, X, y, X_public, y_public) over each fifth of the training rows.
    test
        The same over the test rows.
    train, held_out
        Positions of the rows.
    """

    folds: FloatArray
    test: FloatArray
    train: np.ndarray[tuple[int], np.dtype[np.intp]]
    held_out: np.ndarray[tuple[int], np.dtype[np.intp]]


def split_rows(table: Scaled, rng: np.random.Generator) -> Split:
    """Hold out a fifth of the rows and cut the rest into five folds."""
    order = rng.permutation(len(table.y))
    held_out, train = np.split(order, [len(order) // HELD_OUT])
    ones = np.ones((len(order), 1))
    cells = np.column_stack([ones, table.X, table.y, table.X_public, table.y_public])

    def gram(rows: FloatArray) -> FloatArray:
        return rows.T @ rows

    folds = np.stack([gram(cells[part]) for part in np.array_split(train, FOLDS)])
    return Split(folds, gram(cells[held_out]), train, held_out)


class Runs:
    """Several splits of one table, solved together: batch axes are budgets, then splits."""

    def __init__(self, table: Scaled, splits: Sequence[Split]) -> None:
        self.table = table
        self.splits = splits
        d = self.columns = table.X.shape[1]
        self._observed = slice(1, d + 1)
        self._target = d + 1
        self._public = slice(d + 2, 2 * d + 2)
        train = np.stack([split.folds.sum(axis=0) for split in splits])
        self.loss = Quadratic(train[:, self._observed, self._observed], train[:, self._observed, self._target])
        self.public_loss = Quadratic(train[:, self._public, self._public], train[:, self._public, 2 * d + 2])
        self._test = np.stack([split.test for split in splits])
        self.rows = len(splits[0].train)

    def strengths(self, regression: Regression, penalty: str) -> FloatArray:
        """Lambda of each split: by cross-validation as written, NOT PRIVATE, or a hundredth of the rows."""
        if regression == "linear":
            return np.zeros(len(self.splits))
        if penalty == "n/100":
            return np.full(len(self.splits), self.rows / 100)
        inside = slice(1, self.columns + 2)
        return regressions.cross_validated(np.stack([one.folds[:, inside, inside] for one in self.splits]), regression)

    def rmse(self, theta: FloatArray) -> FloatArray:
        """Test error of coefficients of X, shape (..., splits, d), NaN where there are none."""
        weights = np.zeros((*theta.shape[:-1], self._test.shape[-1]))
        weights[..., self._observed] = -theta
        weights[..., self._target] = 1.0
        return self._root(weights)

    def public_rmse(self, theta: FloatArray, intercept: float | FloatArray = 0.0) -> FloatArray:
        """Test error of coefficients of `X_public`, in the units of y as the report scales it."""
        weights = np.zeros((*theta.shape[:-1], self._test.shape[-1]))
        weights[..., 0] = -(self.table.offset + self.table.factor * np.asarray(intercept))
        weights[..., self._public] = -self.table.factor * theta
        weights[..., self._target] = 1.0
        return self._root(weights)

    def _root(self, weights: FloatArray) -> FloatArray:
        squares = np.einsum("...rj,rjk,...rk->...r", weights, self._test, weights)
        roots: FloatArray = np.sqrt(np.maximum(squares, 0.0) / len(self.splits[0].held_out))
        return roots


def as_written(runs: Runs, budgets: FloatArray, rng: np.random.Generator) -> Quadratic:
    """The noisy loss of the report for every budget and split, NOT PRIVATE; `objectives` has the true epsilon."""
    scale = objectives.claimed_sensitivity(runs.columns) / budgets[:, None]
    return objectives.noisy(runs.loss, scale, rng, "non-symmetric")


def corrected(runs: Runs, budgets: FloatArray, rng: np.random.Generator) -> Quadratic:
    """The noisy loss with the exact sensitivity, noise on monomials, public bounds and a ridge shift.

    With noise from the system's generator it would be epsilon-differentially private: here it is NOT PRIVATE.
    """
    scale = objectives.exact_sensitivity(runs.columns) / budgets[:, None]
    return objectives.shifted(objectives.noisy(runs.public_loss, scale, rng, "monomial"), scale, "monomial")


def variant_errors(runs: Runs, budgets: FloatArray, rng: np.random.Generator) -> dict[str, FloatArray]:
    """Test error of linear regression for each way to draw and to repair the noise of section 5.4."""
    scale = objectives.claimed_sensitivity(runs.columns) / budgets[:, None]
    plain = objectives.noisy(runs.loss, scale, rng, "non-symmetric")
    whole = plain.symmetric
    losses = {
        "non-symmetric": plain,
        "symmetrised": whole,
        "ridge shift": objectives.shifted(whole, scale, "symmetrised"),
    }
    losses |= {noise: objectives.noisy(runs.loss, scale, rng, noise) for noise in ("mirrored", "monomial")}
    found = {name: runs.rmse(regressions.closed_form(loss)) for name, loss in losses.items()}
    return found | {"projection": runs.rmse(objectives.projected_minimum(whole))}


def our_errors(
    runs: Runs, budgets: FloatArray, seed: int, wanted: Sequence[Regression]
) -> dict[Regression, FloatArray]:
    """Test error of the library's `functional` mechanism, read by each regression; its design has an intercept."""
    names = [f"x{j}" for j in range(runs.columns)]
    design = discreet.Design("y", {"y": (-1, 1), **dict.fromkeys(names, (-1, 1))})
    theta = {one: np.full((len(budgets), len(runs.splits), runs.columns + 1), np.nan) for one in wanted}
    for r, split in enumerate(runs.splits):
        rows = {name: runs.table.X_public[split.train, j] for j, name in enumerate(names)}
        summed = summed_table({**rows, "y": runs.table.y_public[split.train]}, design)
        for e, epsilon in enumerate(budgets):
            made = summed.release(seed=seed + r, epsilon=float(epsilon), mechanism="functional")
            for one in wanted:
                theta[one][e, r] = discreet.fit(made, **_OURS[one]).coefficients  # type: ignore[call-overload]
    return {one: runs.public_rmse(values[..., 1:], values[..., 0]) for one, values in theta.items()}


def reader_errors(runs: Runs, budgets: FloatArray, method: str) -> FloatArray:
    """Test error of a reader's own method, which is given the columns within public bounds and delta = 0."""
    table = runs.table
    found = np.empty((len(budgets), len(runs.splits)))
    for r, split in enumerate(runs.splits):
        for e, epsilon in enumerate(budgets):
            rows = table.X_public[split.train], table.y_public[split.train]
            model = reader_model(method, *rows, epsilon=float(epsilon), delta=0.0)
            guess = table.offset + table.factor * reader_predictions(model, table.X_public[split.held_out])
            found[e, r] = np.sqrt(np.mean((table.y[split.held_out] - guess) ** 2))
    return found


def prepared(table: str, folder: str | None, count: int, rng: np.random.Generator, *, four: bool = False) -> Runs:
    """Some random splits of a table."""
    scaled = report_table(table, Path(folder) if folder else None, four=four)
    return Runs(scaled, [split_rows(scaled, rng) for _ in range(count)])


def compared(
    *,
    seed: int,
    table: str,
    folder: str | None,
    first: int,
    count: int,
    wanted: Sequence[Regression] = REGRESSIONS,
    penalties: Sequence[str] = ("cv",),
    variants: bool = False,
    method: str | None = None,
) -> list[Row]:
    """One cell of work: test errors of some runs, and where the convex solver refused.

    Parameters
    ----------
    seed
        Of splits and noise.
    table, folder
        Name of a table and where to find it.
    first, count
        Number of the first run, and how many.
    wanted
        Regressions.
    penalties
        How lambda of the lines without noise and as written is chosen: `cv`, `n/100`.
    variants
        Whether to add the variants of section 5.4.
    method
        A reader's own method.
    """
    rng = np.random.default_rng(seed)
    runs = prepared(table, folder, count, rng)
    budgets = np.array(epsilons(table))
    rows = Rows(TITLES[table], budgets, first)
    noisy_loss, public = as_written(runs, budgets, rng), corrected(runs, budgets, rng)
    ours = our_errors(runs, budgets, seed, wanted)
    zero = runs.rmse(np.zeros((len(runs.splits), runs.columns)))
    readers = reader_errors(runs, budgets, method) if method else None
    for penalty in penalties:
        for one in wanted:
            strength = runs.strengths(one, penalty)
            rows.add(one, NOT_PRIVATE, penalty, runs.rmse(regressions.minimum(runs.loss, one, strength)), strength)
            rows.add(one, WRITTEN, penalty, runs.rmse(regressions.minimum(noisy_loss, one, strength)), strength)
            fixed = runs.strengths(one, "n/100")
            rows.add(one, CORRECTED, penalty, runs.public_rmse(regressions.minimum(public, one, fixed)))
            exact = regressions.minimum(runs.public_loss, one, fixed)
            rows.add(one, NOT_PRIVATE_PUBLIC, penalty, runs.public_rmse(exact))
            rows.add(one, OURS, penalty, ours[one])
            rows.add(one, ZERO, penalty, zero)
            if readers is not None:
                rows.add(one, READER, penalty, readers)
    if variants:
        for name, errors in variant_errors(runs, budgets, rng).items():
            rows.add("variants", name, "none", errors)
        for name in (NOT_PRIVATE, ZERO):
            errors = zero if name == ZERO else runs.rmse(regressions.closed_form(runs.loss))
            rows.add("variants", name, "none", errors)
    return rows.found


def rivals(
    *, seed: int, table: str, folder: str | None, first: int, count: int, method: str | None = None
) -> list[Row]:
    """One cell of work of Figure 5: four predictors, the functional regressions and the perturbed histogram."""
    rng = np.random.default_rng(seed)
    runs = prepared(table, folder, count, rng, four=True)
    budgets = np.array(epsilons(table))
    rows = Rows(TITLES[table], budgets, first)
    noisy_loss, public = as_written(runs, budgets, rng), corrected(runs, budgets, rng)
    ours = our_errors(runs, budgets, seed, REGRESSIONS)
    for one in REGRESSIONS:
        strength, fixed = runs.strengths(one, "cv"), runs.strengths(one, "n/100")
        rows.add(one, WRITTEN, "cv", runs.rmse(regressions.minimum(noisy_loss, one, strength)))
        rows.add(one, CORRECTED, "n/100", runs.public_rmse(regressions.minimum(public, one, fixed)))
        rows.add(one, OURS, "criterion", ours[one])
    written, fixed_histogram = _histograms(runs, budgets, LEVELS[table], rng)
    rows.add("DPME", WRITTEN, "none", runs.rmse(written))
    rows.add("DPME", CORRECTED, "none", runs.public_rmse(fixed_histogram))
    rows.add("linear", NOT_PRIVATE, "none", runs.rmse(regressions.closed_form(runs.loss)))
    exact = regressions.closed_form(runs.public_loss)
    rows.add("linear", NOT_PRIVATE_PUBLIC, "none", runs.public_rmse(exact))
    rows.add("linear", ZERO, "none", runs.rmse(np.zeros((count, runs.columns))))
    if method:
        rows.add("linear", READER, "none", reader_errors(runs, budgets, method))
    return rows.found


def _histograms(
    runs: Runs, budgets: FloatArray, levels: Sequence[int], rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Coefficients by the perturbed histogram as written and corrected, for every budget and split."""
    cells = histogram.Cells(histogram.bins_by_rate(runs.rows, len(levels)), levels)
    table = runs.table
    observed, public = (np.column_stack(pair) for pair in ((table.X, table.y), (table.X_public, table.y_public)))
    rows = [split.train for split in runs.splits]
    counts, public_counts = (np.stack([cells.counts(one[train]) for train in rows]) for one in (observed, public))
    return (
        np.stack([histogram.as_written(counts, cells, float(epsilon), rng) for epsilon in budgets]),
        np.stack([histogram.corrected(public_counts, cells, float(epsilon), rng) for epsilon in budgets]),
    )


def nothing(*, seed: int) -> list[Row]:
    """The cell of a figure whose only table is not there: no numbers."""
    return []


class Rows:
    """Collects errors of shape (budgets, splits) as rows of numbers; a refused problem has no error."""

    def __init__(self, panel: str, budgets: FloatArray, first: int) -> None:
        self._panel = panel
        self._budgets = budgets
        self._first = first
        self.found: list[Row] = []

    def add(
        self, regression: str, line: str, penalty: str, errors: FloatArray, strengths: FloatArray | None = None
    ) -> None:
        """Add the errors of one line; without a budget axis they are the same at every budget."""
        chosen = np.full(errors.shape[-1], np.nan) if strengths is None else strengths
        whole = np.broadcast_to(errors, (len(self._budgets), errors.shape[-1]))
        for epsilon, at_epsilon in zip(self._budgets, whole, strict=True):
            for run, value in enumerate(at_epsilon):
                self.found.append(
                    {
                        "panel": self._panel,
                        "regression": regression,
                        "line": line,
                        "penalty": penalty,
                        "epsilon": float(epsilon),
                        "repeat": self._first + run,
                        "strength": float(chosen[run]),
                        "refused": int(np.isnan(value)),
                        "value": float(value),
                    }
                )
