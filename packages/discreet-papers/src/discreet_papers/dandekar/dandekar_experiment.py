"""Load the tables of the report and repeat its runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

import discreet
from discreet.datasets import load
from discreet.design.columns import Numeric
from discreet.errors import OptionError, SpecError
from discreet.exact.arrays import FloatArray
from discreet.testing import summed_table
from discreet.wording import SetOption
from discreet_papers.dandekar import dandekar_methods
from discreet_papers.dandekar.dandekar_methods import FOLDS, REGRESSIONS, Quadratic, Regression
from discreet_papers.document_tables import has, regression_table
from discreet_papers.figure import Row
from discreet_papers.methods import READER, reader_model, reader_predictions

if TYPE_CHECKING:
    from pandas import DataFrame

# -- tables ------------------------------------------------------------------------------------------------------------
# The tables of the report: white wine and a census, with freely available stand-ins for the census.

WINE: Final = "wine_white"
EXTRACT: Final = "ipums"
STAND_INS: Final = ("cpssw8", "simulated-ipums")
TITLES: Final = {
    WINE: "white wine",
    EXTRACT: "census extract (IPUMS)",
    "cpssw8": "CPSSW8, stand-in for the census",
    "simulated-ipums": "simulated-ipums, stand-in for the census",
}
# public bounds that we chose: round numbers around the possible values; quality is on a scale of 0 to 10
WINE_BOUNDS: Final = (
    (3, 15), (0, 1.2), (0, 1.8), (0, 70), (0, 0.4), (0, 300), (0, 450), (0.98, 1.04), (2.5, 4), (0.2, 1.2), (8, 15),
    (0, 10),
)  # fmt: skip
# age, sex, race, marital status, family size, education, employment, type of household, income; codes as numbers
EXTRACT_BOUNDS: Final = {
    "age": (0, 100),
    "sex": (1, 2),
    "race": (10, 99),
    "marst": (0, 9),
    "famsize": (1, 30),
    "edattain": (0, 9),
    "empstat": (0, 9),
    "hhtype": (0, 99),
    "inctot": (-20_000, 1_000_000),
}
_NO_INCOME: Final = 9_999_998  # this and larger codes mean that income is unknown
FOUR: Final = {
    "cpssw8": ("age", "education", "gender", "region"),
    "simulated-ipums": ("age", "female", "nonwhite", "educ"),
    EXTRACT: ("age", "sex", "race", "edattain"),
}
# number of levels of the four predictors and of the target; 0 means a number
LEVELS: Final = {
    "cpssw8": (0, 0, 2, 4, 0),
    "simulated-ipums": (0, 2, 2, 0, 0),
    EXTRACT: (0, 2, 0, 0, 0),
}


@dataclass(frozen=True)
class Scaled:
    """A table in [-1, 1], scaled as in the report and by public bounds.

    `X` and `y` are scaled by the smallest and largest values in the rows, as written: NOT PRIVATE. `X_public` and
    `y_public` are clipped to public bounds and scaled by them. A prediction p of `y_public` is offset + factor p in the
    units of `y`.
    """

    X: FloatArray
    y: FloatArray
    X_public: FloatArray
    y_public: FloatArray
    offset: float
    factor: float


def scaled(columns: FloatArray, bounds: FloatArray) -> Scaled:
    """Scale columns, target last, by their ranges and by public bounds.

    >>> both = scaled(np.array([[0.0, 1.0], [4.0, 3.0]]), np.array([[0.0, 8.0], [1.0, 5.0]]))
    >>> both.X.ravel().tolist(), both.X_public.ravel().tolist(), both.offset, both.factor
    ([-1.0, 1.0], [-1.0, 0.0], 1.0, 2.0)
    """
    low, high = columns.min(axis=0), columns.max(axis=0)
    middle, half = (low + high) / 2, (high - low) / 2
    observed = (columns - middle) / half
    centre, width = bounds.mean(axis=1), np.diff(bounds, axis=1)[:, 0] / 2
    public = (np.clip(columns, *bounds.T) - centre) / width
    return Scaled(
        observed[:, :-1],
        observed[:, -1],
        public[:, :-1],
        public[:, -1],
        float((centre[-1] - middle[-1]) / half[-1]),
        float(width[-1] / half[-1]),
    )


def census_tables(folder: Path | None) -> tuple[str, ...]:
    """Return the census tables of a run: the stand-ins, and the extract if it is in the folder."""
    return (*STAND_INS, *((EXTRACT,) if extract_path(folder) else ()))


def wine_tables(folder: Path | None) -> tuple[str, ...]:
    """Return the white wine table if it is in the folder."""
    return (WINE,) if has(WINE, folder) else ()


def extract_path(folder: Path | None) -> Path | None:
    """Return the path of a user's census extract: `ipums.parquet` or `ipums.csv` in the folder."""
    ends = ("parquet", "csv") if folder is not None else ()
    return next((path for end in ends if (path := Path(folder or ".") / f"{EXTRACT}.{end}").is_file()), None)


@lru_cache(maxsize=4)
def report_table(name: str, folder: Path | None, *, four: bool = False) -> Scaled:
    """Return a table of the report by name. With `four`, only the four predictors of its Figure 5."""
    if name == WINE:
        x, y = regression_table(WINE, folder)
        return scaled(np.column_stack([x, y]), np.array(WINE_BOUNDS, dtype=float))
    names, columns, bounds = _extract(folder) if name == EXTRACT else _stand_in(name)
    kept = [names.index(one) for one in (FOUR[name] if four else names[:-1])] + [-1]
    return scaled(columns[:, kept], bounds[kept])


def _stand_in(name: str) -> tuple[list[str], FloatArray, FloatArray]:
    """Return names, columns and bounds of a data set, target last, with levels numbered from 0 as in the report."""
    dataset = load(name)
    order = [*dataset.design.regressors, dataset.design.target]
    columns, bounds = [], []
    for one in order:
        declared = dataset.design.columns[one]
        cells = dataset.table[one]
        if isinstance(declared, Numeric):
            columns.append(cells.to_numpy())
            bounds.append(declared.bounds)
        else:
            levels = getattr(declared, "levels", (False, True))
            codes = {level: code for code, level in enumerate(levels)}
            columns.append(np.array([codes[cell] for cell in cells.to_pylist()], dtype=float))
            bounds.append((0.0, len(levels) - 1.0))
    return order, np.column_stack(columns), np.array(bounds, dtype=float)


def _extract(folder: Path | None) -> tuple[list[str], FloatArray, FloatArray]:
    path = extract_path(folder)
    if path is None:
        raise OptionError(
            f"expected {EXTRACT}.parquet or {EXTRACT}.csv in the data folder, got neither",
            option="data",
            remedy=SetOption("data"),
        )
    import pandas

    frame: DataFrame = pandas.read_parquet(path) if path.suffix == ".parquet" else pandas.read_csv(path)
    frame.columns = frame.columns.str.lower()
    missing = sorted(set(EXTRACT_BOUNDS) - set(frame.columns))
    if missing:
        raise SpecError(
            f"{path.name}: expected the columns {', '.join(EXTRACT_BOUNDS)}, but these are missing: "
            f"{', '.join(missing)}"
        )
    kept = frame[list(EXTRACT_BOUNDS)].dropna()
    kept = kept[kept["inctot"] < _NO_INCOME]
    return list(EXTRACT_BOUNDS), kept.to_numpy(float), np.array(list(EXTRACT_BOUNDS.values()), dtype=float)


# -- experiment --------------------------------------------------------------------------------------------------------
# The runs of the report: random splits, and the four regressions without noise, as written, corrected, and ours.
#
# A run needs only sums of products of the training and test rows, because errors on test rows are quadratic in the
# coefficients.

WINE_EPSILONS: Final = tuple(0.1 * 2**k for k in range(7))
CENSUS_EPSILONS: Final = tuple(float(value) for value in np.logspace(-3, 0, 7))
HELD_OUT: Final = 5  # a fifth of the rows
NOT_PRIVATE: Final = "non-private"
NOT_PRIVATE_PUBLIC: Final = "non-private, public bounds"
WRITTEN: Final = "as written"
CORRECTED: Final = "corrected"
OURS: Final = "discreet"
ZERO: Final = "theta = 0"
VARIANTS: Final = (*dandekar_methods.NOISES, "projection", "ridge shift")
# fit options of the library for each regression: lambda = n/100 in its units, see docs/how-to/penalty.md
_OURS: Final[dict[Regression, dict[str, object]]] = {
    "linear": {"penalty": "adaptive"},
    "ridge": {"penalty": "ridge", "strength": 0.01},
    "LASSO": {"penalty": "lasso", "strength": 0.005},
    "elastic net": {"penalty": "elastic-net", "strength": 0.0075, "l1_ratio": 1 / 3},
}


def epsilons(table: str) -> tuple[float, ...]:
    """Return the seven budgets of a table."""
    return WINE_EPSILONS if table == WINE else CENSUS_EPSILONS


@dataclass(frozen=True)
class Split:
    """One random split of a table into training and test rows, as sums of products.

    `folds` are sums of (1, X, y, X_public, y_public) over each fifth of the training rows, and `test` over the test
    rows. `train` and `held_out` are the indices of the rows.
    """

    folds: FloatArray
    test: FloatArray
    train: np.ndarray[tuple[int], np.dtype[np.intp]]
    held_out: np.ndarray[tuple[int], np.dtype[np.intp]]


def split_rows(table: Scaled, rng: np.random.Generator) -> Split:
    """Hold out a fifth of the rows and divide the rest into five folds."""
    order = rng.permutation(len(table.y))
    held_out, train = np.split(order, [len(order) // HELD_OUT])
    ones = np.ones((len(order), 1))
    cells = np.column_stack([ones, table.X, table.y, table.X_public, table.y_public])

    def gram(rows: FloatArray) -> FloatArray:
        return rows.T @ rows

    folds = np.stack([gram(cells[part]) for part in np.array_split(train, FOLDS)])
    return Split(folds, gram(cells[held_out]), train, held_out)


class Runs:
    """Several splits of one table, solved together. The batch axes are budgets, then splits."""

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
        """Return lambda for each split: by cross-validation as written, NOT PRIVATE, or a hundredth of the rows."""
        if regression == "linear":
            return np.zeros(len(self.splits))
        if penalty == "n/100":
            return np.full(len(self.splits), self.rows / 100)
        inside = slice(1, self.columns + 2)
        return dandekar_methods.cross_validated(
            np.stack([one.folds[:, inside, inside] for one in self.splits]), regression
        )

    def rmse(self, theta: FloatArray) -> FloatArray:
        """Return the test error of coefficients of X, shape (..., splits, d), or NaN if there are none."""
        weights = np.zeros((*theta.shape[:-1], self._test.shape[-1]))
        weights[..., self._observed] = -theta
        weights[..., self._target] = 1.0
        return self._root(weights)

    def public_rmse(self, theta: FloatArray, intercept: float | FloatArray = 0.0) -> FloatArray:
        """Return the test error of coefficients of `X_public`, in units of y as scaled in the report."""
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
    """Return the report's noisy loss for every budget and split. NOT PRIVATE: see `true_epsilon`."""
    scale = dandekar_methods.claimed_sensitivity(runs.columns) / budgets[:, None]
    return dandekar_methods.noisy(runs.loss, scale, rng, "non-symmetric")


def corrected(runs: Runs, budgets: FloatArray, rng: np.random.Generator) -> Quadratic:
    """Return the noisy loss with exact sensitivity, noise on monomials, public bounds and a ridge shift.

    With noise from the operating system it would be epsilon-differentially private. Here it is NOT PRIVATE.
    """
    scale = dandekar_methods.exact_sensitivity(runs.columns) / budgets[:, None]
    return dandekar_methods.shifted(dandekar_methods.noisy(runs.public_loss, scale, rng, "monomial"), scale, "monomial")


def variant_errors(runs: Runs, budgets: FloatArray, rng: np.random.Generator) -> dict[str, FloatArray]:
    """Return test errors of linear regression for each way to draw and repair the noise in section 5.4."""
    scale = dandekar_methods.claimed_sensitivity(runs.columns) / budgets[:, None]
    plain = dandekar_methods.noisy(runs.loss, scale, rng, "non-symmetric")
    whole = plain.symmetric
    losses = {
        "non-symmetric": plain,
        "symmetrised": whole,
        "ridge shift": dandekar_methods.shifted(whole, scale, "symmetrised"),
    }
    losses |= {noise: dandekar_methods.noisy(runs.loss, scale, rng, noise) for noise in ("mirrored", "monomial")}
    found = {name: runs.rmse(dandekar_methods.closed_form(loss)) for name, loss in losses.items()}
    return found | {"projection": runs.rmse(dandekar_methods.projected_minimum(whole))}


def our_errors(
    runs: Runs, budgets: FloatArray, seed: int, wanted: Sequence[Regression]
) -> dict[Regression, FloatArray]:
    """Return test errors of our `functional` mechanism, fitted by each regression. The design has an intercept."""
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
    """Return test errors of a user's method, which gets the columns within public bounds and delta = 0."""
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
    """Return random splits of a table."""
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
    """Run one cell: test errors of some runs, and in which runs the convex solver refused.

    `first` is the index of the first run. `wanted` are the regressions. `penalties` are the choices of lambda, `cv` or
    `n/100`, for the lines without noise and as written. With `variants`, the variants of section 5.4 are added.
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
            rows.add(one, NOT_PRIVATE, penalty, runs.rmse(dandekar_methods.minimum(runs.loss, one, strength)), strength)
            rows.add(one, WRITTEN, penalty, runs.rmse(dandekar_methods.minimum(noisy_loss, one, strength)), strength)
            fixed = runs.strengths(one, "n/100")
            rows.add(one, CORRECTED, penalty, runs.public_rmse(dandekar_methods.minimum(public, one, fixed)))
            exact = dandekar_methods.minimum(runs.public_loss, one, fixed)
            rows.add(one, NOT_PRIVATE_PUBLIC, penalty, runs.public_rmse(exact))
            rows.add(one, OURS, penalty, ours[one])
            rows.add(one, ZERO, penalty, zero)
            if readers is not None:
                rows.add(one, READER, penalty, readers)
    if variants:
        for name, errors in variant_errors(runs, budgets, rng).items():
            rows.add("variants", name, "none", errors)
        for name in (NOT_PRIVATE, ZERO):
            errors = zero if name == ZERO else runs.rmse(dandekar_methods.closed_form(runs.loss))
            rows.add("variants", name, "none", errors)
    return rows.found


def baselines(
    *, seed: int, table: str, folder: str | None, first: int, count: int, method: str | None = None
) -> list[Row]:
    """Run one cell of Figure 5: four predictors, the functional regressions and the perturbed histogram."""
    rng = np.random.default_rng(seed)
    runs = prepared(table, folder, count, rng, four=True)
    budgets = np.array(epsilons(table))
    rows = Rows(TITLES[table], budgets, first)
    noisy_loss, public = as_written(runs, budgets, rng), corrected(runs, budgets, rng)
    ours = our_errors(runs, budgets, seed, REGRESSIONS)
    for one in REGRESSIONS:
        strength, fixed = runs.strengths(one, "cv"), runs.strengths(one, "n/100")
        rows.add(one, WRITTEN, "cv", runs.rmse(dandekar_methods.minimum(noisy_loss, one, strength)))
        rows.add(one, CORRECTED, "n/100", runs.public_rmse(dandekar_methods.minimum(public, one, fixed)))
        rows.add(one, OURS, "criterion", ours[one])
    written, fixed_histogram = _histograms(runs, budgets, LEVELS[table], rng)
    rows.add("DPME", WRITTEN, "none", runs.rmse(written))
    rows.add("DPME", CORRECTED, "none", runs.public_rmse(fixed_histogram))
    rows.add("linear", NOT_PRIVATE, "none", runs.rmse(dandekar_methods.closed_form(runs.loss)))
    exact = dandekar_methods.closed_form(runs.public_loss)
    rows.add("linear", NOT_PRIVATE_PUBLIC, "none", runs.public_rmse(exact))
    rows.add("linear", ZERO, "none", runs.rmse(np.zeros((count, runs.columns))))
    if method:
        rows.add("linear", READER, "none", reader_errors(runs, budgets, method))
    return rows.found


def _histograms(
    runs: Runs, budgets: FloatArray, levels: Sequence[int], rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Fit the perturbed histogram, as written and corrected, for every budget and split."""
    cells = dandekar_methods.Cells(dandekar_methods.bins_by_rate(runs.rows, len(levels)), levels)
    table = runs.table
    observed, public = (np.column_stack(pair) for pair in ((table.X, table.y), (table.X_public, table.y_public)))
    rows = [split.train for split in runs.splits]
    counts, public_counts = (np.stack([cells.counts(one[train]) for train in rows]) for one in (observed, public))
    return (
        np.stack([dandekar_methods.as_written(counts, cells, float(epsilon), rng) for epsilon in budgets]),
        np.stack([dandekar_methods.corrected(public_counts, cells, float(epsilon), rng) for epsilon in budgets]),
    )


def nothing(*, seed: int) -> list[Row]:
    """Return no numbers, for a figure whose only table is missing."""
    return []


class Rows:
    """Errors of shape (budgets, splits), collected as rows. A problem that the solver refused has no error."""

    def __init__(self, panel: str, budgets: FloatArray, first: int) -> None:
        self._panel = panel
        self._budgets = budgets
        self._first = first
        self.found: list[Row] = []

    def add(
        self, regression: str, line: str, penalty: str, errors: FloatArray, strengths: FloatArray | None = None
    ) -> None:
        """Add the errors of one line. Without a budget axis, they are the same at every budget."""
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
