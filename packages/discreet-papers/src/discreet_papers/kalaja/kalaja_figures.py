"""Figures 4.1 to 4.8 of the thesis."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from discreet.analyst.plots.style import COLOURS
from discreet_papers.drawing import legend, panels, style
from discreet_papers.figure import Cell, Figure, NumberTable, Run
from discreet_papers.kalaja.kalaja_criteria import CRITERIA
from discreet_papers.kalaja.kalaja_experiment import (
    HONKELA,
    NOT_CENTRED,
    OURS,
    PLANS,
    PRIVATE,
    PUBLISHED,
    SATURATING,
    cells_of,
    not_run,
    published_line,
)
from discreet_papers.kalaja.kalaja_methods import true_epsilon
from discreet_papers.methods import READER

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture
    from pandas import DataFrame

_GREY, _BLACK = COLOURS[7], COLOURS[6]
_UNKNOWN: Final = ("ops", "adaops", "objective")
_HIGHEST: Final = 8  # upper end of the axis, in multiples of the trivial error
_NOTE: Final = (
    "true ε: what the noise spends at a claimed ε = 1, δ = 1e-6; the scaling of rows by statistics of the data is not "
    "counted (NOT PRIVATE).\nErrors above 8 times that of the trivial solution are outside the panels."
)


def label_of(figure: str, line: str) -> str:
    """Return the legend label of a line, with the epsilon that its noise truly spends at a claimed 1.

    >>> label_of("kalaja-4.1", "SSP, as coded")
    'SSP, as coded (claimed ε = 1, true 1.587)'
    >>> label_of("kalaja-4.3", "adassp_row"), label_of("kalaja-4.3", "trivial_row")
    ('adassp_row (claimed ε = 1, true 0.418)', 'trivial_row')
    """
    methods = {one.name: one.method for one in PLANS[figure].lines}
    method = methods.get(line, "")
    if method in ("", "trivial"):
        return line
    if method == "ridge":
        return f"{line} (λ = 1, no privacy)"
    if method == PRIVATE:
        return f"{line} (claimed ε = true ε)"
    if method in OURS:
        return f"{line}, adaptive ridge (claimed ε = true ε)"
    if method in _UNKNOWN:
        return f"{line} (true ε not known)"
    return f"{line} (claimed ε = 1, true {true_epsilon('adassp_fixed' if method == HONKELA else method, 1.0):.3f})"


# Any: plot keywords have many types
def styles_of(figure: str) -> dict[str, dict[str, Any]]:
    """Return the style of each line. In every figure, trivial lines are grey, non-private black, and ours blue.

    >>> styles_of("kalaja-4.1")["discreet ssp"]["color"] == COLOURS[0]
    True
    """
    methods = {line.name: line.method for line in PLANS[figure].lines} | {READER: READER}
    found: dict[str, dict[str, Any]] = {}
    for method, colour in (("trivial", _GREY), ("ridge", _BLACK)):
        names = [name for name, one in methods.items() if one == method]
        # the first of a coinciding pair is wide and pale, so that both are visible
        looks = (
            {"linestyle": "-", "linewidth": 3.6 if len(names) > 1 else 1.4, "alpha": 0.45 if len(names) > 1 else 1.0},
            {"linestyle": "--", "linewidth": 1.4, "alpha": 1.0},
        )
        found |= {name: {"color": colour, **look} for name, look in zip(names, looks, strict=False)}
    sound = [name for name, one in methods.items() if one in (*OURS, PRIVATE)]
    others = [name for name in methods if name not in found and name not in sound]
    for position, name in enumerate((*sound, *others)):
        # when the six other colours are used up, dashes and markers differ; only our lines are blue
        found[name] = style(position + 3 * (position // 6))
    return {name: found[name] for name in methods}


def draw(numbers: DataFrame, run: Run, *, figure: str, title: str) -> Picture:
    """Draw error by epsilon on log scales, with a panel for each table. Crosses are published values."""
    styles = styles_of(figure)
    crosses = {published_line(method): line for method, line in PUBLISHED.get(figure, {}).items()}
    names = list(dict.fromkeys(numbers["panel"]))
    titles = [_title(numbers, name) for name in names]
    picture, grid = panels(titles, across=4 if len(names) > 6 else 3)
    for axes, name in zip(grid, names, strict=True):
        inside = numbers[numbers["panel"] == name]
        for line, look in styles.items():
            mine = inside[inside["line"] == line].groupby("epsilon")["value"].mean()
            if len(mine):
                axes.plot(mine.index, mine.to_numpy(), label=label_of(figure, line), **look)
        for cross, line in crosses.items():
            theirs = inside[inside["line"] == cross]
            if len(theirs):
                colour = styles[line]["color"]
                axes.scatter(theirs["epsilon"], theirs["value"], marker="x", s=36, color=colour, label=cross, zorder=3)
        _axes(axes, inside)
    legend(picture, grid, columns=3)
    picture.suptitle(f"{title}\n{_NOTE}", fontsize=10)
    return picture


def _axes(axes: Axes, inside: DataFrame) -> None:
    from matplotlib.ticker import LogLocator

    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_locator(LogLocator(subs=(2.0, 5.0)))
    axes.yaxis.set_minor_formatter("{x:g}")
    axes.tick_params(which="both", labelsize=8)
    axes.set_xlabel("claimed ε")
    axes.set_ylabel("MSE of y / y_max")
    trivial = inside[inside["line"].str.startswith("trivial")]["value"].mean()
    low = 0.8 * float(inside["value"].min())
    axes.set_ylim(low, min(1.25 * float(inside["value"].max()), _HIGHEST * float(trivial)))


def _title(numbers: DataFrame, panel: str) -> str:
    columns = numbers[numbers["panel"] == panel]["columns"].max()
    kind = "simulated, " if panel == SATURATING else "not a table of the thesis, " if panel == "concrete" else ""
    name = panel.removesuffix(NOT_CENTRED)
    return f"{name} ({kind}{int(columns)} columns){panel.removeprefix(name)}"


def tables(numbers: DataFrame) -> list[NumberTable]:
    """Tabulate errors and R^2: means over the rounds, with a row for each table and line."""
    found = []
    for title, column in (("Mean squared error of y / y_max", "value"), ("R^2 on the test folds", "r2")):
        known = numbers.dropna(subset=column)
        means = known.pivot_table(index=["panel", "line"], columns="epsilon", values=column, aggfunc="mean", sort=False)
        means = means[sorted(means.columns)]
        rows = tuple(
            (str(panel), str(line), *(f"{value:.3g}" for value in row))
            for (panel, line), row in zip(means.index, means.to_numpy(), strict=True)
        )
        headers = ("table", "line", *(f"epsilon {epsilon:g}" for epsilon in means.columns))
        found.append(NumberTable(title, headers, rows))
    return found


_COMMON: Final = (
    "Delta 1e-6; ten-fold cross-validation on a new random split in each of ten rounds.",
    "Error is the mean squared error of y / y_max on the test fold, averaged over folds; R^2 is in a second table.",
    "Six tables instead of the thesis's four: airfoil, elevators, energy, housing, protein, bike.",
    "y is centred: by all rows where statistics are taken before the split, by the training rows after it.",
)
_PRIVATE_CHOICE: Final = (
    "Our line is private from end to end: declared ranges (here the extremes rounded outwards to one digit, in place "
    "of a codebook), 10% of mu^2 for noisy means and standard deviations, rows shrunk to the ball of radius sqrt(d), "
    "the rest for ssp with an intercept and adaptive ridge.",
)
_TEXTS: Final[dict[str, tuple[str, str, tuple[str, ...]]]] = {
    "kalaja-4.1": (
        "SSP is unstable",
        "SSP as coded by Wang and with symmetric noise often fails to match the error of the trivial solution.",
        (
            "Row norms, statistics of all rows. Epsilon up to 2, and 5 and 10 in addition to the published values.",
            "OPS, AdaOPS and objective perturbation are the methods that AdaSSP was published against, as coded.",
            "The symmetric version takes Algorithm 1's variance at half of epsilon and delta, without X'X + I.",
        ),
    ),
    "kalaja-4.2": (
        "AdaSSP under three noise levels",
        "Both versions of AdaSSP give very similar errors; the larger noise of Algorithm 3 costs little.",
        ("Row norms, statistics of all rows. rho = 0.05 as in Wang's code. Epsilon 3 in addition to Wang's values.",),
    ),
    "kalaja-4.3": (
        "Row norms or the maximum norm",
        "The better mapping for the non-private solution depends on the table; AdaSSP gains from row norms, the more "
        "the more columns there are.",
        ("Statistics of all rows before the split.", *_PRIVATE_CHOICE),
    ),
    "kalaja-4.4": (
        "Row norms with y divided too",
        "Dividing y by the row norm too has mixed effects; AdaSSP converges to the non-private solution either way.",
        (
            "Statistics of all rows before the split.",
            "Predictions of (3.4) are multiplied by the row norm again, so that all errors have one unit; the trivial "
            "lines coincide.",
            *_PRIVATE_CHOICE,
        ),
    ),
    "kalaja-4.5": (
        "Normalising before or after the split",
        "With unperturbed statistics of the training rows the errors are almost those of statistics of all rows.",
        (
            "Maximum norm. The three options of section 3.3: the analyst's own statistics (adassp_analyst), "
            "unperturbed ones of the training rows (adassp_after_cv), perturbed ones (our line).",
            *_PRIVATE_CHOICE,
        ),
    ),
    "kalaja-4.6": (
        "With and without an intercept column",
        "The intercept is missing from Wang's code most likely by accident; its effect falls as columns are added.",
        (
            "Maximum norm, statistics of the training rows.",
            "Rows with the column of ones are divided by sqrt(2), which keeps them in the unit ball.",
            "A second panel for each table without centring y.",
            *_PRIVATE_CHOICE,
        ),
    ),
    "kalaja-4.7": (
        "Clipping the training rows",
        "Clipping helps on half of the tables, best between 1.3 and 1.6; on one table the error grows with epsilon, "
        "which the author could not explain.",
        (
            "Maximum norm, statistics of the training rows after clipping; upper clipping only, as in (3.8).",
            "clip_both_sides: x and y cut on both sides at widths chosen on simulated tables, as Honkela et al. do. "
            "They choose by rank correlation, which does not see that a slope is far too steep; squared error does.",
            "`saturating` is simulated: 100,000 rows, x lognormal with log sd 1.2, y = sum log(1 + x) + N(0, 0.09).",
            "On `saturating` the error falls before it grows: from 0.01 to 0.1 noise and ridge fall together, and a "
            "slope that the ridge still shrinks is nearly right for the long rows; from 0.1 on there is no ridge.",
            *_PRIVATE_CHOICE,
        ),
    ),
    "kalaja-4.8": (
        "Clipping training and test rows",
        "Clipping the test rows at the same points has much worse utility.",
        (
            "As 4.7, with the test rows clipped at the points of the training rows.",
            "One line of 4.7, clipped at 1.3 in training only, to compare with.",
            *_PRIVATE_CHOICE,
        ),
    ),
}


def _cells(run: Run, *, figure: str) -> Sequence[Cell]:
    return cells_of(figure, run)


def _not_run(run: Run, *, figure: str) -> Sequence[str]:
    return not_run(figure, run)


FIGURES: Final = tuple(
    Figure(
        name=name,
        document="kalaja",
        title=title,
        says=says,
        cells=partial(_cells, figure=name),
        criteria=CRITERIA[name],
        draw=partial(draw, figure=name, title=title),
        choices=(*choices, *_COMMON),
        not_run=partial(_not_run, figure=name),
        tables=tables,
        predictions=True,
    )
    for name, (title, says, choices) in _TEXTS.items()
)
