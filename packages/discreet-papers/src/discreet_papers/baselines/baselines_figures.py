"""Figures that check each baseline against the claim of its paper, with their experiments."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from discreet.privacy import mu_from
from discreet_papers.baselines.boosted_adassp import BoostedAdaSSP
from discreet_papers.baselines.boxed_rows import BoxedRegressor
from discreet_papers.baselines.gradient_descent import AdaptiveClipping, followed
from discreet_papers.baselines.hessian_mixing import HessianMixing
from discreet_papers.baselines.tukey import TukeyEM
from discreet_papers.document_tables import has, regression_table
from discreet_papers.drawing import legend, lines, panels, plain_scales, style
from discreet_papers.figure import Cell, Criterion, Figure, NumberTable, Outcome, Row, Run
from discreet_papers.kalaja.kalaja_experiment import Recipe, prepared
from discreet_papers.kalaja.kalaja_methods import averaged, mirrored

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture
    from pandas import DataFrame

    from discreet.exact.arrays import FloatArray

# -- experiment --------------------------------------------------------------------------------------------------------
# Run the baselines on the tables of their papers, and on simulated tables.

SINGLE: Final = "AdaSSP (one round), correct noise"
TEN: Final = "boosted, 10 rounds, correct noise"
HUNDRED: Final = "boosted, 100 rounds, correct noise"
SCRIPT: Final = "boosted, 100 rounds, noise of the public script (NOT PRIVATE at this epsilon)"
MIXING: Final = "iterative Hessian mixing, exact accounting"
THIRDS: Final = "AdaSSP, a third of epsilon and delta each, as in the paper"
EXACT: Final = "AdaSSP, exact composition"
LEAST: Final = "least squares, no privacy"
ADAPTIVE: Final = "adaptive clip"
BEST: Final = "best fixed clip in hindsight"
TUKEY: Final = "TukeyEM, correct test"
CLIPS: Final = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
SIGMA_NORMS: Final = 1.0  # standard deviation of the log of the norms that the clip tracks
CLIENTS: Final = 100


# Any: settings of baselines have several types
def _method(kind: type[BoxedRegressor], epsilon: float, delta: float, **settings: Any) -> BoxedRegressor:  # noqa: ANN401
    """Return a baseline for rows that are already in the unit ball."""
    return kind(epsilon=epsilon, delta=delta, bounds=[(-1.0, 1.0)], target_bounds=(-1.0, 1.0), **settings)


def _halves(rows: int, share: float, rng: np.random.Generator) -> tuple[Any, Any]:
    order = rng.permutation(rows)
    held_out = round(rows * share)
    return order[held_out:], order[:held_out]


@lru_cache(maxsize=16)
def steep_table(rows: int = 20_000) -> tuple[FloatArray, FloatArray]:
    """Simulate a table whose rows have norm about 1 and whose target is often far outside [-1, 1]."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((rows, 5)) / math.sqrt(5)
    return x, x @ np.array([6.0, -4.0, 3.0, 2.0, 0.0]) + 0.5 * rng.standard_normal(rows)


def table_of(name: str, folder: str | None) -> tuple[FloatArray, FloatArray]:
    """Return a table by name. The table `steep` is simulated."""
    return steep_table() if name == "steep" else regression_table(name, None if folder is None else Path(folder))


def boosted(seed: int, table: str, folder: str | None, epsilon: float, repeats: int) -> list[Row]:
    """Return test errors with rows and targets clipped at 1, a clip chosen without the data as by Tang et al."""
    rng = np.random.default_rng(seed)
    x, y = table_of(table, folder)
    a = x / np.maximum(np.linalg.norm(x, axis=1), 1.0)[:, None]
    delta, rows = 1e-6, []
    for repeat in range(repeats):
        train, test = _halves(len(y), 0.2, rng)
        fitted = {
            SINGLE: _method(BoostedAdaSSP, epsilon, delta, rounds=1).coefficients(a[train], y[train], rng),
            TEN: _method(BoostedAdaSSP, epsilon, delta, rounds=10).coefficients(a[train], y[train], rng),
            HUNDRED: _method(BoostedAdaSSP, epsilon, delta, rounds=100).coefficients(a[train], y[train], rng),
            SCRIPT: _Script(epsilon=epsilon, delta=delta, bounds=[(-1.0, 1.0)], target_bounds=(-1.0, 1.0), rounds=100)
            .coefficients(a[train], y[train], rng),
        }  # fmt: skip
        rows += [
            _row(table, line, epsilon, repeat, float(np.mean((y[test] - a[test] @ theta) ** 2) / np.var(y[test])))
            for line, theta in fitted.items()
        ]
    return rows


class _Script(BoostedAdaSSP):
    """Boosted AdaSSP with the noise of the public script: standard deviation mu in every round."""

    def noise(self) -> tuple[float, float]:
        """Return the standard deviations of the script."""
        mu = mu_from(self.epsilon, self.delta)
        return mu, mu


def _row(panel: str, line: str, epsilon: float, repeat: int, value: float) -> Row:
    return {"panel": panel, "line": line, "epsilon": epsilon, "repeat": repeat, "value": value}


def mixing(seed: int, table: str, folder: str | None, epsilon: float, repeats: int) -> list[Row]:
    """Return test errors of Lev et al. and of AdaSSP under two accountings, with Wang's rows and delta = 1/n^2."""
    rng = np.random.default_rng(seed)
    x, y = table_of(table, folder)
    found = []
    for repeat in range(repeats):
        train, test = _halves(len(y), 0.2, rng)
        made = prepared(x, y, train, test, Recipe("row", "all"))
        delta = len(train) ** -2.0
        lines = {
            LEAST: np.linalg.lstsq(made.x, made.y, rcond=None)[0],
            MIXING: _method(HessianMixing, epsilon, delta).coefficients(made.x, made.y, rng),
            THIRDS: _adassp(made.x, made.y, 1 / mu_from(epsilon / 3, delta / 3), mirrored, delta, rng),
            EXACT: _adassp(made.x, made.y, math.sqrt(3) / mu_from(epsilon, delta), averaged, delta, rng),
        }
        found += [
            _row(table, line, epsilon, repeat, float(np.mean((made.test_y - made.test_x @ theta) ** 2)))
            for line, theta in lines.items()
        ]
    return found


def _adassp(x: FloatArray, y: FloatArray, sd: float, noise: Any, delta: float, rng: np.random.Generator) -> FloatArray:  # noqa: ANN401
    """Fit AdaSSP with this noise sd on each of its three statistics and failure probability delta / 10."""
    size = x.shape[1]
    gram = x.T @ x
    tail = math.sqrt(2 * math.log(20 / delta))
    at_least = max(0.0, np.linalg.eigvalsh(gram)[0] + sd * (rng.standard_normal() - tail))
    ridge = max(0.0, sd * math.sqrt(size * math.log(20 * size**2 / delta)) - at_least)
    noisy = gram + sd * noise(rng, 1, size)[0] + ridge * np.eye(size)
    return np.asarray(np.linalg.solve(noisy, x.T @ y + sd * rng.standard_normal(size)), dtype=np.float64)


def followed_quantile(seed: int, target: float, rounds: int, repeats: int) -> list[Row]:
    """Track a quantile of lognormal norms with the clip. Count noise is a twentieth of the number of clients."""
    rng = np.random.default_rng(seed)
    found: list[Row] = []
    for repeat in range(repeats):
        clip = 0.1
        for turn in range(rounds):
            norms = rng.lognormal(0.0, SIGMA_NORMS, CLIENTS)
            share = float(np.mean(norms <= clip)) + rng.standard_normal() / 20
            clip = followed(clip, share, target=target)
            found.append({"panel": "clip", "line": f"{target:g}", "round": turn + 1, "repeat": repeat, "value": clip})
    return found


def clipped_descent(seed: int, table: str, folder: str | None, epsilon: float, repeats: int) -> list[Row]:
    """Return test errors of gradient descent with the adaptive clip and with each fixed clip."""
    rng = np.random.default_rng(seed)
    x, y = table_of(table, folder)
    bounds = list(zip(x.min(axis=0).tolist(), x.max(axis=0).tolist(), strict=True))
    limits = (float(y.min()), float(y.max()))
    found = []
    for repeat in range(repeats):
        train, test = _halves(len(y), 0.1, rng)
        for clip in (None, *CLIPS):
            model = AdaptiveClipping(
                epsilon=epsilon, delta=1e-6, bounds=bounds, target_bounds=limits, fixed_clip=clip,
                seed=int(rng.integers(2**62)),
            )  # fmt: skip
            predicted = model.fit(x[train], y[train]).predict(x[test])
            value = float(np.mean((y[test] - predicted) ** 2) / np.var(y[test]))
            found.append(_row(table, ADAPTIVE if clip is None else f"clip {clip:g}", epsilon, repeat, value))
    return found


def tukey(seed: int, models: int, rows: int, repeats: int) -> list[Row]:
    """Return R2 of TukeyEM and least squares on the simulated table of Amin et al., epsilon = log 3, delta = 1e-5."""
    from sklearn.datasets import make_regression

    found: list[Row] = []
    for repeat in range(repeats):
        x, y = make_regression(rows, n_features=10, n_informative=10, noise=10, random_state=(seed + repeat) % 2**32)
        a = np.column_stack([x, np.ones(rows)])
        rng = np.random.default_rng([seed, repeat])
        method = _method(TukeyEM, math.log(3), 1e-5, models=models)
        theta = method.coefficients(a, y, rng)
        plain = np.linalg.lstsq(a, y, rcond=None)[0]
        for line, rule in ((TUKEY, theta), (LEAST, plain)):
            r2 = 1 - float(np.mean((y - a @ rule) ** 2) / np.var(y))
            found.append({"panel": f"{rows:,} rows", "line": line, "models": models, "repeat": repeat, "value": r2,
                          "failed": int(not theta.any())})  # fmt: skip
    return found


# -- figures -----------------------------------------------------------------------------------------------------------
# Figures that check each baseline against the claim of its paper.

TABLES: Final = ("airfoil", "bike", "elevators", "energy", "housing", "protein", "wine_red", "wine_white")
EPSILONS: Final = (0.3, 1.0, 3.0)
MIXING_EPSILONS: Final = (0.1, 0.25, 0.63, 1.6, 4.0, 10.0)
QUANTILES: Final = (0.1, 0.3, 0.5, 0.7, 0.9)
ROUNDS: Final = 300
SETTLED: Final = 100
SIZES: Final = (11_000, 22_000, 44_000)
MODELS: Final = (500, 1_000, 1_250, 1_500, 1_750, 2_000)
PAPER_SIZE: Final = 22_000


def _present(run: Run, names: Sequence[str] = TABLES) -> list[str]:
    return [name for name in names if has(name, run.data)]


def _missing(run: Run) -> Sequence[str]:
    absent = [name for name in TABLES if not has(name, run.data)]
    sentences = [f"the table {name!r}, because {name}.parquet is not in the data folder" for name in absent]
    return [*sentences, "other tables of the paper, which are not available here, such as those on OpenML"]


def _table_cells(
    work: Callable[..., list[Row]], simulated: Sequence[str], epsilons: Sequence[float]
) -> Callable[[Run], Sequence[Cell]]:
    def cells(run: Run) -> Sequence[Cell]:
        folder = None if run.data is None else str(run.data)
        return [
            Cell(
                f"{table}-{epsilon:g}",
                work,
                {"table": table, "folder": folder, "epsilon": epsilon, "repeats": 5 if run.quick else 20},
            )
            for table in (*simulated, *_present(run))
            for epsilon in epsilons
        ]

    return cells


def _medians(numbers: DataFrame) -> DataFrame:
    """Tabulate medians: a row for each panel and epsilon, a column for each line."""
    return numbers.pivot_table(index=["panel", "epsilon"], columns="line", values="value", aggfunc="median", sort=False)


def _share_below(lower: str, upper: str, least: float, factor: float = 1.0) -> Callable[[DataFrame], Outcome]:
    """Check whether one line is at most a multiple of another, in at least a fraction of the panels and budgets."""

    def check(numbers: DataFrame) -> Outcome:
        table = _medians(numbers)
        ratio = table[lower] / table[upper]
        held = int((ratio <= factor).sum())
        worst = ratio.idxmax()
        measured = f"{held} of {len(ratio)} cells; largest ratio {ratio.max():.3g} ({worst[0]}, epsilon {worst[1]:g})"
        return Outcome(held >= least * len(ratio), measured)

    return check


def _follows(numbers: DataFrame) -> Outcome:
    from scipy.stats import norm

    late = numbers[(numbers["panel"] == "clip") & (numbers["round"] > SETTLED)]
    means = late.groupby("line")["value"].mean()
    found = {float(line): value / math.exp(SIGMA_NORMS * norm.ppf(float(line))) for line, value in means.items()}
    measured = ", ".join(f"{line:g}: {ratio:.3f}" for line, ratio in sorted(found.items()))
    return Outcome(all(abs(ratio - 1) <= 0.05 for ratio in found.values()), f"mean clip to true quantile {measured}")


def _with_best(numbers: DataFrame) -> DataFrame:
    """Return medians of the adaptive clip and of the best fixed clip, chosen for each table and budget."""
    table = _medians(numbers[numbers["panel"] != "clip"])
    return table.assign(**{BEST: table[[f"clip {clip:g}" for clip in CLIPS]].min(axis=1)})[[ADAPTIVE, BEST]]


def _near_best(numbers: DataFrame) -> Outcome:
    table = _with_best(numbers)
    gaps = (table[ADAPTIVE] - table[BEST])[table.index.get_level_values("epsilon") >= 1]
    worst = gaps.idxmax()
    return Outcome(bool((gaps <= 0.05).all()), f"largest gap {gaps.max():.3f} ({worst[0]}, epsilon {worst[1]:g})")


def _as_good(numbers: DataFrame) -> Outcome:
    inside = numbers[(numbers["panel"] == f"{PAPER_SIZE:,} rows") & (numbers["models"] == 1_000)]
    medians = inside.groupby("line")["value"].median()
    measured = f"R2 {medians[TUKEY]:.4f}, least squares {medians[LEAST]:.4f}"
    return Outcome(bool(medians[LEAST] - medians[TUKEY] <= 0.002), measured)


def _passes(numbers: DataFrame) -> Outcome:
    inside = numbers[(numbers["models"] >= 1_000) & (numbers["line"] == TUKEY)]
    failed, total = int(inside["failed"].sum()), len(inside)
    few = numbers[(numbers["models"] == MODELS[0]) & (numbers["line"] == TUKEY)]["failed"].mean()
    return Outcome(failed == 0, f"fails in {failed} of {total} draws; with {MODELS[0]} models in {few:.0%}")


def _draw_lines(numbers: DataFrame, order: Sequence[str], epsilons: Sequence[float], y_label: str) -> Picture:
    picture = lines(numbers, order=order, x_label="epsilon", y_label=y_label, centre="median", band=(0.1, 0.9))
    for axes in picture.axes[: numbers["panel"].nunique()]:
        plain_scales(axes, epsilons)
    return picture


def _draw_boosted(numbers: DataFrame, run: Run) -> Picture:
    del run
    return _draw_lines(numbers, (SINGLE, TEN, HUNDRED, SCRIPT), EPSILONS, "test error / variance")


def _draw_mixing(numbers: DataFrame, run: Run) -> Picture:
    del run
    return _draw_lines(numbers, (MIXING, THIRDS, EXACT), MIXING_EPSILONS, "test error")


def _draw_descent(numbers: DataFrame, run: Run) -> Picture:
    del run
    from scipy.stats import norm

    tables = [str(name) for name in dict.fromkeys(numbers["panel"]) if name != "clip"]
    picture, grid = panels(["Clip that follows a quantile", *tables])
    for position, quantile in enumerate(QUANTILES):
        of_line = numbers[(numbers["panel"] == "clip") & (numbers["line"] == f"{quantile:g}")]
        middle = of_line.groupby("round")["value"].median()
        look = {**style(position), "marker": ""}
        grid[0].plot(middle.index, middle.to_numpy(), **look)
        grid[0].axhline(math.exp(SIGMA_NORMS * norm.ppf(quantile)), color=look["color"], linewidth=0.6)
        grid[0].annotate(f"{quantile:g}", (ROUNDS, float(middle.iloc[-1])), fontsize=7.5)
    grid[0].set_yscale("log")
    grid[0].set_xlabel("round")
    grid[0].set_ylabel("clip; thin lines: true quantiles")
    for axes, name in zip(grid[1:], tables, strict=True):
        inside = numbers[numbers["panel"] == name]
        for position, line in enumerate((ADAPTIVE, *(f"clip {clip:g}" for clip in CLIPS))):
            middle = inside[inside["line"] == line].groupby("epsilon")["value"].median()
            axes.plot(middle.index, middle.to_numpy(), label=line, **style(position))
        plain_scales(axes, EPSILONS)
        axes.set_xlabel("epsilon")
        axes.set_ylabel("1 - R2 on test rows")
    legend(picture, grid[1:], columns=7)
    return picture


def _draw_tukey(numbers: DataFrame, run: Run) -> Picture:
    del run
    return lines(
        numbers, x="models", order=(TUKEY, LEAST), x_label="models", y_label="R2", log_x=False, centre="median",
        band=(0.1, 0.9),
    )  # fmt: skip


def _descent_cells(run: Run) -> Sequence[Cell]:
    repeats = 5 if run.quick else 20
    clips = [
        Cell(f"quantile-{target:g}", followed_quantile, {"target": target, "rounds": ROUNDS, "repeats": repeats})
        for target in QUANTILES
    ]
    return [*clips, *_table_cells(clipped_descent, ("steep",), EPSILONS)(run)]


def _tukey_cells(run: Run) -> Sequence[Cell]:
    repeats = 5 if run.quick else 20
    return [
        Cell(f"{rows}-{models}", tukey, {"models": models, "rows": rows, "repeats": repeats})
        for rows in SIZES
        for models in MODELS
    ]


def _median_table(title: str, chosen: Sequence[str]) -> Callable[[DataFrame], Sequence[NumberTable]]:
    def tables(numbers: DataFrame) -> Sequence[NumberTable]:
        medians = _medians(numbers)[list(chosen)]
        rows = tuple(
            (str(panel), f"{epsilon:g}", *(f"{value:.4g}" for value in row))
            for (panel, epsilon), *row in medians.itertuples()
        )
        return (NumberTable(title, ("table", "epsilon", *chosen), rows),)

    return tables


FIGURES: Final = (
    Figure(
        name="baselines-boosted",
        document="baselines",
        title="Boosted AdaSSP with clips fixed without the data",
        says="With clips chosen without the data, boosted AdaSSP is consistently better than AdaSSP (Tang et al. "
        "2023).",
        cells=_table_cells(boosted, ("steep",), EPSILONS),
        criteria=(
            Criterion(
                "fixed-clips",
                "With clips of 1 for rows and target, 100 rounds with correct noise have a smaller median test error "
                "than one round on every table, at epsilon 0.3, 1 and 3.",
                _share_below(HUNDRED, SINGLE, 1.0),
                "differs",
                "Dividing the noise budget over 100 rounds can cost more than the rounds gain.",
            ),
            Criterion(
                "script",
                "Correct noise costs 100 rounds at most 10% of the error that the public script has, on every table, "
                "at epsilon 0.3, 1 and 3.",
                _share_below(HUNDRED, SCRIPT, 1.0, 1.1),
                "differs",
                "The script uses mu as noise multiplier instead of 1/mu, and gives every round the whole budget (E29). "
                "So its errors are those of a far larger epsilon.",
            ),
        ),
        draw=_draw_boosted,
        not_run=_missing,
        tables=_median_table("Median test error over variance", (SINGLE, TEN, HUNDRED, SCRIPT)),
        choices=(
            "Rows are clipped to norm 1 and targets to [-1, 1] in the units of the table, as the script does by "
            "default. Delta is 1e-6, and a fifth of the rows is held out.",
            "mu^2 is divided equally between the Gram matrix, its smallest eigenvalue and all rounds together.",
            "The table `steep` is simulated: five normal columns, and a target with standard deviation 3.6.",
        ),
    ),
    Figure(
        name="baselines-descent",
        document="baselines",
        title="Gradient descent with a clip that tracks the median norm",
        says="A clip that tracks the median norm follows it closely, and is about as good as the best fixed clip "
        "chosen in hindsight (Andrew et al. 2021).",
        cells=_descent_cells,
        criteria=(
            Criterion(
                "quantile",
                f"After round {SETTLED} the mean clip is within 5% of the true quantile, for each of five quantiles.",
                _follows,
                "differs",
                "The fixed point of the update is not the quantile.",
            ),
            Criterion(
                "hindsight",
                "1 - R2 with the adaptive clip is at most 0.05 above that of the best fixed clip in hindsight, on "
                "every table at epsilon 1 and 3.",
                _near_best,
                "differs",
                "On this table the median norm is too small or too large a clip for linear regression.",
            ),
        ),
        draw=_draw_descent,
        not_run=lambda run: [*_missing(run)[:-1], "the federated tasks of the paper, which are not regressions"],
        choices=(
            "Norms are lognormal, 100 in a round. Count noise 1/20, rate 0.2 and first clip 0.1 are from the paper. A "
            "momentum of 0.9 is customary.",
            "Full batches, 100 steps of size 1. Bounds are the range of the table, and delta is 1e-6.",
        ),
    ),
    Figure(
        name="baselines-mixing",
        document="baselines",
        title="Iterative Hessian mixing against AdaSSP",
        says="Iterative Hessian mixing predicts better than AdaSSP on standard tables, at every epsilon (Lev et al. "
        "2026).",
        cells=_table_cells(mixing, (), MIXING_EPSILONS),
        criteria=(
            Criterion(
                "adassp",
                "Its median test error is at most that of AdaSSP with a third of epsilon and delta for each statistic, "
                "in three quarters of the tables and budgets.",
                _share_below(MIXING, THIRDS, 0.75),
                "differs",
                "On these tables AdaSSP is as good.",
            ),
            Criterion(
                "exact",
                "It is also at most that of AdaSSP under exact composition in three quarters of the tables and "
                "budgets.",
                _share_below(MIXING, EXACT, 0.75),
                "differs",
                "Part of the gain over AdaSSP comes from the accounting, not from the method.",
            ),
        ),
        draw=_draw_mixing,
        not_run=_missing,
        tables=_median_table("Median test error", (MIXING, THIRDS, EXACT, LEAST)),
        choices=(
            "Rows are prepared as by Wang: columns are standardised and rows divided by their norm, with statistics of "
            "all rows, NOT PRIVATE. Delta is 1/n^2, and there are three rounds. A sketch has six times max(d, "
            "log(120/delta)) rows.",
            "To first order, half of the budget goes to the sums of residuals. Delta is exact, by an integral.",
        ),
    ),
    Figure(
        name="baselines-tukey",
        document="baselines",
        title="TukeyEM with a correct test on the simulated table of its authors",
        says="With many rows and 1,000 models, TukeyEM is as good as least squares without privacy and needs no bounds "
        "(Amin et al. 2023).",
        cells=_tukey_cells,
        criteria=(
            Criterion(
                "as-good",
                "With 22,000 rows and 1,000 models the median R2 is within 0.002 of that of least squares.",
                _as_good,
                "differs",
                "Correct noise in the test, or the random division of rows, costs accuracy.",
            ),
            Criterion(
                "passes",
                "The test with noise of scale 2/epsilon passes in every draw with 1,000 models or more.",
                _passes,
                "differs",
                "With this noise the test fails where the test in the authors' code passes.",
            ),
        ),
        draw=_draw_tukey,
        not_run=lambda run: ["the seven public tables of the paper, which are not available here"],
        choices=(
            "epsilon = log 3, delta = 1e-5, ten columns and a constant, and noise with standard deviation 10, as in "
            "the authors' script. There are also tables with 11,000 and 44,000 rows, besides the paper's 22,000.",
            "R2 is computed on the training rows, as by the authors. Rows are assigned to parts independently.",
        ),
    ),
)
