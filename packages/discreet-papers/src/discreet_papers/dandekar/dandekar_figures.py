"""Figures 1 to 5 of the report."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import log10
from typing import TYPE_CHECKING, Final

from discreet.analyst.plots.style import COLOURS
from discreet_papers.dandekar import dandekar_criteria
from discreet_papers.dandekar.dandekar_criteria import CONVEX_SOLVED
from discreet_papers.dandekar.dandekar_experiment import (
    CORRECTED,
    NOT_PRIVATE,
    NOT_PRIVATE_PUBLIC,
    OURS,
    TITLES,
    VARIANTS,
    WINE,
    WRITTEN,
    ZERO,
    baselines,
    census_tables,
    compared,
    nothing,
    wine_tables,
)  # fmt: skip
from discreet_papers.dandekar.dandekar_methods import REGRESSIONS
from discreet_papers.drawing import DASHES, MARKERS, legend, nested, panels, style
from discreet_papers.figure import Cell, Figure, Row, Run
from discreet_papers.methods import READER

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure as Picture
    from pandas import DataFrame

# -- plots -------------------------------------------------------------------------------------------------------------
# Plots of the report: colour by regression or method, titles that name stand-ins.

METHODS: Final = (WRITTEN, CORRECTED, OURS, NOT_PRIVATE, ZERO, NOT_PRIVATE_PUBLIC, READER)
_BUDGET = "claimed ε"
_ERROR = "RMSE / half range of target"
LABELS: Final = {
    WRITTEN: "functional as written: claims ε, true ε none (ε/2 if ranges and λ were public)",
    CORRECTED: "functional corrected: true ε = claimed ε",
    OURS: "discreet, functional with intercept: true ε = claimed ε",
    NOT_PRIVATE: "without noise, observed ranges: no ε",
    NOT_PRIVATE_PUBLIC: "without noise, public bounds: no ε",
    ZERO: "θ = 0",
    READER: READER,
}
_COINCIDE: Final = "Where lines coincide, the wider ones show behind the others."
_TRUE_EPSILON: Final = (
    "As written: claims ε, true ε none (functional ε/2{baseline} if ranges and λ were public). "
    f"Corrected and discreet: true ε = claimed ε. {_COINCIDE}"
)
_VARIANT_LABELS: Final = {name: f"5.4, linear: {name} noise" for name in VARIANTS} | {
    "projection": "5.4, linear: symmetrised, projection",
    "ridge shift": "5.4, linear: symmetrised, ridge shift",
}


def _line(
    axes: Axes, part: DataFrame, how: str, position: int, label: str, layer: tuple[int, int], *, band: bool = False
) -> None:
    """Draw the centre of the runs by budget, and the band between the 20% and 80% quantiles.

    `layer` is the index of the line in its panel. Lines behind others are wider.
    """
    known = part.dropna(subset="value")
    if known.empty:
        return
    grouped = known.groupby("epsilon")["value"]
    middle = grouped.agg(how)
    look = nested(style(position), *layer)
    axes.plot(middle.index, middle.to_numpy(), label=label, **look)
    if band:
        axes.fill_between(
            middle.index, grouped.quantile(0.2), grouped.quantile(0.8), color=look["color"], alpha=0.15, linewidth=0
        )


def _finish(axes: Axes, y_label: str, *, log_y: bool = True) -> None:
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    _plain(axes.xaxis, subs=(1.0,) if log10(high / low) > 2.5 else (1.0, 2.0, 5.0))
    if log_y:
        _log_errors(axes)
    axes.set_xlabel(_BUDGET)
    axes.set_ylabel(y_label)


def _log_errors(axes: Axes) -> None:
    """Use a logarithmic error axis. If it spans few decades, also label 2 and 5 between the powers of ten."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    decades = log10(high / low)
    subs = (
        (1.0,) if decades > 3 else (1.0, 2.0, 5.0) if decades > 0.8 else (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
    )
    _plain(axes.yaxis, subs=subs)


def _plain(axis: Axis, subs: tuple[float, ...]) -> None:
    """Label the ticks of an axis with numbers such as 0.02 instead of powers, without minor ticks."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=subs, numticks=9))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _not_run() -> Picture:
    """Draw a notice that the table of the figure is missing."""
    picture, (axes,) = panels([f"{TITLES[WINE]}: not run"])
    axes.text(0.5, 0.5, "needs wine_white.parquet\nin the data folder", ha="center", va="center")
    axes.set_axis_off()
    return picture


def _tables(numbers: DataFrame) -> list[str]:
    return list(dict.fromkeys(numbers["panel"]))


def comparison(numbers: DataFrame, run: Run) -> Picture:
    """Draw figures 2 and 3: a panel for each regression, one for refusals, and one for the variants of section 5.4."""
    kinds = (*REGRESSIONS, "refused by CVXPY, as written", "variants of section 5.4, linear")
    if numbers.empty:
        return _not_run()
    tables = _tables(numbers)
    picture, grid = panels([f"{table}\n{kind}" for table in tables for kind in kinds])
    for row, table in enumerate(tables):
        inside = numbers[numbers["panel"] == table]
        mine = grid[row * len(kinds) : (row + 1) * len(kinds)]
        for axes, one in zip(mine, REGRESSIONS, strict=False):
            here = inside[inside["regression"] == one]
            for position, method in enumerate(METHODS):
                layer = (position, len(METHODS))
                _line(axes, here[here["line"] == method], "median", position, LABELS[method], layer, band=True)
            _finish(axes, _ERROR)
        _refusals(mine[-2], inside)
        here = inside[inside["regression"] == "variants"]
        looks = {name: (position, _VARIANT_LABELS[name]) for position, name in enumerate(VARIANTS, start=len(METHODS))}
        looks |= {name: (METHODS.index(name), LABELS[name]) for name in (NOT_PRIVATE, ZERO)}
        for depth, (name, (position, label)) in enumerate(looks.items()):
            _line(mine[-1], here[here["line"] == name], "median", position, label, (depth, len(looks)))
        _finish(mine[-1], _ERROR)
    picture.suptitle(f"Median of runs, band from 20% to 80%. {_COINCIDE}", fontsize=9)
    legend(picture, grid, columns=2)
    return picture


def _refusals(axes: Axes, numbers: DataFrame) -> None:
    """Draw the fraction of runs in which the convex solver refuses the noisy objective."""
    for layer, one in enumerate(CONVEX_SOLVED):
        mine = numbers[(numbers["regression"] == one) & (numbers["line"] == WRITTEN)]
        if mine.empty:
            continue
        share = mine.groupby("epsilon")["refused"].mean()
        look = nested(style(len(METHODS) + len(VARIANTS) + layer), layer, len(CONVEX_SOLVED))
        axes.plot(share.index, 100 * share.to_numpy(), label=f"{one}: refused", **look)
    axes.set_ylim(-4, 104)
    _finish(axes, "runs refused (%)", log_y=False)


def boxes(numbers: DataFrame, run: Run) -> Picture:
    """Draw figure 1: a box for each budget and method, and the fraction of runs without a result."""
    tables = _tables(numbers)
    titles = [f"{table}\n{kind}" for table in tables for kind in ("elastic net", "refused by CVXPY, as written")]
    picture, grid = panels(titles, across=2, size=(6.2, 3.4))
    shown = [name for name in METHODS if name in (WRITTEN, CORRECTED, OURS, READER)]
    for row, table in enumerate(tables):
        inside = numbers[(numbers["panel"] == table) & (numbers["regression"] == "elastic net")]
        axes, share = grid[2 * row], grid[2 * row + 1]
        budgets = sorted(inside["epsilon"].unique())
        for position, method in enumerate(shown):
            _boxes_of(axes, inside[inside["line"] == method], budgets, position, len(shown), METHODS.index(method))
        zero = inside[inside["line"] == ZERO]["value"].median()
        axes.axhline(zero, label=LABELS[ZERO], **{**style(METHODS.index(ZERO)), "marker": "None"})
        _log_errors(axes)
        axes.set_xticks(range(len(budgets)), [f"{budget:.3g}" for budget in budgets])
        axes.set_xlabel(_BUDGET)
        axes.set_ylabel(_ERROR)
        _refusals(share, inside)
    legend(picture, grid, columns=2)
    return picture


def _boxes_of(axes: Axes, part: DataFrame, budgets: Sequence[float], slot: int, slots: int, colour: int) -> None:
    """Draw the boxes of one method next to the boxes of the others."""
    values = [part.loc[part["epsilon"] == budget, "value"].dropna().to_numpy() for budget in budgets]
    if not any(len(one) for one in values):
        return
    width = 0.8 / slots
    drawn = axes.boxplot(
        values,
        positions=[k - 0.4 + width * (slot + 0.5) for k in range(len(budgets))],
        widths=0.8 * width,
        patch_artist=True,
        manage_ticks=False,
        flierprops={"marker": MARKERS[colour], "markersize": 3, "markeredgecolor": COLOURS[colour]},
        medianprops={"color": "black"},
    )
    for box in drawn["boxes"]:
        box.set(facecolor=COLOURS[colour], alpha=0.7)
    axes.plot([], [], color=COLOURS[colour], linewidth=6, alpha=0.7, label=LABELS[METHODS[colour]])


def variances(numbers: DataFrame, run: Run) -> Picture:
    """Draw figure 4: the variance of the error for each table, with lambda by cross-validation and fixed."""
    tables = _tables(numbers)
    choices = {"cv": "λ by cross-validation", "n/100": "λ = n/100"}
    kinds = [(penalty, table) for penalty in choices for table in tables]
    picture, grid = panels([f"{table}\n{choices[penalty]}" for penalty, table in kinds], across=len(tables))
    for axes, (penalty, table) in zip(grid, kinds, strict=True):
        inside = numbers[(numbers["panel"] == table) & (numbers["penalty"] == penalty)]
        for colour, one in enumerate(REGRESSIONS):
            for dash, method in enumerate((WRITTEN, CORRECTED, OURS, NOT_PRIVATE)):
                _variance_line(axes, inside, one, method, colour, dash)
        reader = inside[(inside["line"] == READER) & (inside["regression"] == "linear")]
        _line(axes, reader, "var", METHODS.index(READER), LABELS[READER], (0, 1))
        _finish(axes, "variance of RMSE over runs")
    picture.suptitle(_TRUE_EPSILON.format(baseline=""), fontsize=9)
    legend(picture, grid, columns=4)
    return picture


def _variance_line(axes: Axes, numbers: DataFrame, one: str, method: str, colour: int, dash: int) -> None:
    """Draw the variance over the runs with a result, if there are at least two."""
    mine = numbers[(numbers["regression"] == one) & (numbers["line"] == method)]
    spread = mine.groupby("epsilon")["value"].var().dropna()
    label = {WRITTEN: "functional as written", CORRECTED: "corrected", OURS: "discreet", NOT_PRIVATE: "without noise"}
    look = {"color": COLOURS[colour], "linestyle": DASHES[dash], "marker": MARKERS[dash]}
    axes.plot(
        spread.index,
        spread.to_numpy(),
        label=f"{one}, {label[method]}",
        **nested(look, colour, len(REGRESSIONS)),
    )


_DEPTH: Final = len(REGRESSIONS) + 4  # lines of a panel: the regressions, DPME, and three to compare with


def baseline_errors(numbers: DataFrame, run: Run) -> Picture:
    """Draw figure 5: mean errors of the functional regressions and of the histogram, as written and corrected."""
    tables = _tables(numbers)
    kinds = [(table, method) for table in tables for method in (WRITTEN, CORRECTED, OURS)]
    looks = {NOT_PRIVATE: 5, ZERO: 6, NOT_PRIVATE_PUBLIC: 7, READER: 8}
    names = {WRITTEN: "as written", CORRECTED: "corrected", OURS: "discreet (intercept)"}
    picture, grid = panels([f"{table}\n{names[method]}" for table, method in kinds])
    for axes, (table, method) in zip(grid, kinds, strict=True):
        inside = numbers[numbers["panel"] == table]
        for position, one in enumerate((*REGRESSIONS, "DPME")):
            part = inside[(inside["line"] == method) & (inside["regression"] == one)]
            label = one if one == "DPME" else f"functional {one}"
            _line(axes, part, "mean", position, label, (position, _DEPTH))
        exact = {WRITTEN: [NOT_PRIVATE], CORRECTED: [NOT_PRIVATE_PUBLIC], OURS: []}[method]
        for layer, name in enumerate((*exact, ZERO, READER), start=len(REGRESSIONS) + 1):
            _line(axes, inside[inside["line"] == name], "mean", looks[name], LABELS[name], (layer, _DEPTH))
        _finish(axes, _ERROR)
    picture.suptitle(_TRUE_EPSILON.format(baseline=", DPME ε"), fontsize=9)
    legend(picture, grid)
    return picture


# -- figures -----------------------------------------------------------------------------------------------------------
# Figures 1 to 5 of the report: cells, plots and our choices.

DOCUMENT: Final = "dandekar"
RUNS, QUICK_RUNS, AT_ONCE = 50, 10, 5
_WINE_MISSING = "white wine: needs wine_white.parquet in the data folder"
_CENSUS_MISSING = (
    "the census extract of the report: needs ipums.parquet or ipums.csv in the data folder, with the columns age, "
    "sex, race, marst, famsize, edattain, empstat, hhtype, inctot; stand-ins are drawn"
)
_SCALING = (
    "As written, predictors and target are scaled to [-1, 1] by the smallest and largest value in the rows (NOT "
    "PRIVATE); corrected lines and ours use public bounds. Errors are in units of half the "
    "observed range of the target."
)
_MODEL = (
    "The report's model has no intercept, so theta = 0 predicts the middle of the range; the library's release has an "
    "intercept, which is most of its advantage where the target is skewed."
)
_CENSUS = (
    "Stand-ins for the census: CPSSW8 (61,395 rows, four predictors, levels as numbers 0, 1, ...) and simulated-ipums "
    "(316,276 rows, eight predictors)."
)
_LAMBDA = (
    "Lambda of the lines without noise and as written is the best of 13 values from 0.001 to 1,000 by 5-fold "
    "cross-validation on the training rows (NOT PRIVATE); corrected lines and ours use lambda = n/100, a public "
    "number; our linear line is the adaptive ridge, chosen from the release and so paid for by its epsilon. The report "
    "names neither values nor folds."
)
_ELASTIC = "Alpha of the elastic net is 0.5; the report names none."
_BUDGETS = (
    "Epsilon is 0.1 to 6.4 on wine and 0.001 to 1 on census-sized tables, seven values each: above 0.03 nothing "
    "happens on the latter."
)
_SOLVER = (
    "LASSO and elastic net as written are solved where the noisy objective is convex, by coordinate descent, which "
    "tests compare with CVXPY; elsewhere CVXPY refuses, and those runs have no error. Their share has its own panel."
)
_HISTOGRAM = (
    "The histogram has as many intervals along a number as Lei's rate says and a cell for each level; negative counts "
    "become 0. The corrected one keeps negative counts and shifts the diagonal. The report names no cells."
)
COMMON: Final = (_SCALING, _MODEL, _LAMBDA, _ELASTIC, _BUDGETS, _SOLVER)


def cells_of(tables: Sequence[str], run: Run, work: Callable[..., list[Row]], **arguments: object) -> list[Cell]:
    """Return cells of several runs each, for every table."""
    if not tables:
        return [Cell("nothing", nothing)]
    runs = QUICK_RUNS if run.quick else RUNS
    folder = str(run.data) if run.data else None
    return [
        Cell(
            f"{table} {first}",
            work,
            {"table": table, "folder": folder, "first": first, "count": AT_ONCE, "method": run.method, **arguments},
        )
        for table in tables
        for first in range(0, runs, AT_ONCE)
    ]


def _census_cells(run: Run, **arguments: object) -> list[Cell]:
    return cells_of(census_tables(run.data), run, compared, **arguments)


def _wine_cells(run: Run) -> list[Cell]:
    return cells_of(wine_tables(run.data), run, compared, variants=True)


def _both_cells(run: Run) -> list[Cell]:
    tables = (*wine_tables(run.data), *census_tables(run.data))
    return cells_of(tables, run, compared, penalties=("cv", "n/100"))


def _baseline_cells(run: Run) -> list[Cell]:
    return cells_of(census_tables(run.data), run, baselines)


def _without_wine(run: Run) -> list[str]:
    return [] if wine_tables(run.data) else [_WINE_MISSING]


def _without_extract(run: Run) -> list[str]:
    return [] if len(census_tables(run.data)) > len(census_tables(None)) else [_CENSUS_MISSING]


FIGURES: Final = (
    Figure(
        "dandekar-1",
        DOCUMENT,
        "functional elastic net on the census: box plot of errors",
        "The functional elastic net has many outliers at every epsilon, so medians are reported.",
        partial(_census_cells, wanted=("elastic net",)),
        dandekar_criteria.BOX,
        boxes,
        (*COMMON, _CENSUS),
        _without_extract,
        predictions=True,
    ),
    Figure(
        "dandekar-2",
        DOCUMENT,
        "the eight regressions on white wine: median error and 20-80% band",
        "Functional regressions approach those without noise as epsilon grows, and the regularised ones are alike.",
        _wine_cells,
        dandekar_criteria.COMPARISON,
        comparison,
        COMMON,
        _without_wine,
        predictions=True,
    ),
    Figure(
        "dandekar-3",
        DOCUMENT,
        "the eight regressions on the census: median error and 20-80% band",
        "Functional regressions approach those without noise as epsilon grows, and the regularised ones are alike.",
        partial(_census_cells, variants=True),
        dandekar_criteria.COMPARISON,
        comparison,
        (*COMMON, _CENSUS),
        _without_extract,
        predictions=True,
    ),
    Figure(
        "dandekar-4",
        DOCUMENT,
        "variance of the error over runs",
        "Variance falls with epsilon for regularised functional regressions; functional linear regression stays "
        "unstable, because nothing regularises it.",
        _both_cells,
        dandekar_criteria.VARIANCE,
        variances,
        (
            *COMMON,
            _CENSUS,
            "A second row of panels has lambda = n/100, because cross-validation chooses values far below the noise.",
        ),
        lambda run: [*_without_wine(run), *_without_extract(run)],
        predictions=True,
    ),
    Figure(
        "dandekar-5",
        DOCUMENT,
        "functional mechanism against a perturbed histogram (DPME), four predictors, mean error",
        "At every epsilon the functional regularised regressions have a lower mean error than DPME, which is stable "
        "because M-estimators are robust.",
        _baseline_cells,
        dandekar_criteria.BASELINES,
        baseline_errors,
        (*COMMON, _CENSUS, _HISTOGRAM),
        _without_extract,
        predictions=True,
    ),
)
