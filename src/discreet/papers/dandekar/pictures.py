"""How the figures of the report are drawn: colour for the regression or the method, titles that name stand-ins."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10
from typing import TYPE_CHECKING, Final

from discreet.analyst.plots.style import COLOURS
from discreet.papers.dandekar.criteria import CONVEX_SOLVED
from discreet.papers.dandekar.experiment import (
    CORRECTED,
    NOT_PRIVATE,
    NOT_PRIVATE_PUBLIC,
    OURS,
    VARIANTS,
    WRITTEN,
    ZERO,
)  # fmt: skip
from discreet.papers.dandekar.regressions import REGRESSIONS
from discreet.papers.dandekar.tables import TITLES, WINE
from discreet.papers.drawing import DASHES, MARKERS, legend, nested, panels, style
from discreet.papers.figure import Run
from discreet.papers.methods import READER

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure as Picture
    from pandas import DataFrame

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
    "As written: claims ε, true ε none (functional ε/2{rival} if ranges and λ were public). "
    f"Corrected and discreet: true ε = claimed ε. {_COINCIDE}"
)
_VARIANT_LABELS: Final = {name: f"5.4, linear: {name} noise" for name in VARIANTS} | {
    "projection": "5.4, linear: symmetrised, projection",
    "ridge shift": "5.4, linear: symmetrised, ridge shift",
}


def _line(
    axes: Axes, part: DataFrame, how: str, position: int, label: str, layer: tuple[int, int], *, band: bool = False
) -> None:
    """The centre of the runs against the budget, and the band between the 20% and 80% quantiles.

    The layer is the place of the line among all of its panel: those behind are wider.
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
    """A logarithmic axis of errors; with few decades, 2 and 5 between the powers of ten are named too."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    decades = log10(high / low)
    subs = (
        (1.0,) if decades > 3 else (1.0, 2.0, 5.0) if decades > 0.8 else (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
    )
    _plain(axes.yaxis, subs=subs)


def _plain(axis: Axis, subs: tuple[float, ...]) -> None:
    """Numbers such as 0.02 in place of powers, and none between them."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=subs, numticks=9))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _not_run() -> Picture:
    """A picture that says that the table of the figure is missing."""
    picture, (axes,) = panels([f"{TITLES[WINE]}: not run"])
    axes.text(0.5, 0.5, "needs wine_white.parquet\nin the folder of --data", ha="center", va="center")
    axes.set_axis_off()
    return picture


def _tables(numbers: DataFrame) -> list[str]:
    return list(dict.fromkeys(numbers["panel"]))


def comparison(numbers: DataFrame, run: Run) -> Picture:
    """Figures 2 and 3: a panel for each regression, one for what was refused, one for the variants of section 5.4."""
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
    """Share of runs in which the convex solver refuses the noisy objective."""
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
    """Figure 1: a box for each budget and method, and the share of runs without a result."""
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
    """Boxes of one method, beside those of the others."""
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
    """Figure 4: variance of the error for each table, with lambda by cross-validation and fixed."""
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
    picture.suptitle(_TRUE_EPSILON.format(rival=""), fontsize=9)
    legend(picture, grid, columns=4)
    return picture


def _variance_line(axes: Axes, numbers: DataFrame, one: str, method: str, colour: int, dash: int) -> None:
    """Variance over the runs that have a result, where there are two or more."""
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


def rivalry(numbers: DataFrame, run: Run) -> Picture:
    """Figure 5: mean errors of the functional regressions and of the histogram, as written and corrected."""
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
    picture.suptitle(_TRUE_EPSILON.format(rival=", DPME ε"), fontsize=9)
    legend(picture, grid)
    return picture
