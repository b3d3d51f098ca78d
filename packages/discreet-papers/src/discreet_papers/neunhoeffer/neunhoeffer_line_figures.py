"""Figures 1 to 4 of the notebook: scatter plot, lines and slope densities."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.analyst.plots.style import COLOURS, GREY, PALE
from discreet_papers.drawing import DASHES, legend, nested, panels, style
from discreet_papers.figure import Cell, Criterion, Figure, Outcome, Row, Run
from discreet_papers.neunhoeffer.covariance_ols import CovarianceFit, ols_cov
from discreet_papers.neunhoeffer.neunhoeffer_lines import (
    DATA,
    EPSILONS,
    INTERCEPT,
    NORMAL_95,
    OURS,
    OUTLIER,
    PER_ENTRY_EPSILONS,
    SLOPE,
    Scheme,
    chosen,
    coverage,
    jiang_loss,
    lines,
    notebook_sums,
    notebook_table,
    our_row,
    per_entry_loss,
    scheme_rows,
    slope_set,
    spreads,
    sums_of_products,
    table_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture
    from pandas import DataFrame

    from discreet.exact.arrays import FloatArray

# -- line figures ------------------------------------------------------------------------------------------------------
# Figures: noisy regression lines at eight budgets, for both schemes of the notebook.

LOSS: Final = "loss at epsilon = 1"
_BUDGETS: Final[dict[Scheme, tuple[float, ...]]] = {"jiang": EPSILONS, "per entry": PER_ENTRY_EPSILONS}
_TITLES: Final[dict[Scheme, str]] = {"jiang": "Jiang et al.", "per entry": "per entry"}
# far enough apart to compare spreads over few repetitions
_APART: Final = (0.1, 0.5, 1.0, 5.0)
_SIZE: Final = (16.0, 9.0)  # inches, as the notebook's PDF


def ols_line(*, outlier: bool = False) -> tuple[float, float]:
    """Return intercept and slope of least squares without noise."""
    intercept, slope = ols_cov(sums_of_products(*notebook_table(outlier=outlier))).coefficients.tolist()
    return intercept, slope


def row_losses(*, seed: int, scheme: Scheme) -> list[Row]:
    """Return losses at epsilon = 1: of the outlier and the rows, or of the corners of the observed ranges."""
    x, y = notebook_table()
    if scheme == "jiang":
        spent = jiang_loss(np.column_stack([y, np.ones_like(x), x]), 1.0)
        outlier = float(jiang_loss(np.array([OUTLIER[0], 1.0, OUTLIER[1]]), 1.0))
        found = {"outlier": outlier, "median row": float(np.median(spent)), "largest row": float(spent.max())}
    else:
        low, high = np.array([y.min(), 1.0, x.min()]), np.array([y.max(), 1.0, x.max()])
        unit = np.array([0.0, 1.0, 0.0]), np.array([1.0, 1.0, 1.0])
        found = {"corner": per_entry_loss(low, high, 1.0, len(x)), "unit box": per_entry_loss(*unit, 1.0, len(x))}
    return [
        {"panel": LOSS, "line": line, "data": "", "epsilon": 1.0, "repeat": 0, "value": value}
        for line, value in found.items()
    ]


def _line_cells(scheme: Scheme, run: Run) -> list[Cell]:
    repeats = 40 if run.quick else 100
    drawn = [
        Cell(f"epsilon = {epsilon:g}", lines, {"scheme": scheme, "epsilon": epsilon, "repeats": repeats})
        for epsilon in _BUDGETS[scheme]
    ]
    return [*drawn, Cell("losses", row_losses, {"scheme": scheme})]


def _spent(numbers: DataFrame, line: str) -> float:
    found = numbers[(numbers["panel"] == LOSS) & (numbers["line"] == line)]["value"]
    return float(found.iloc[0])


def _draw_lines(scheme: Scheme, numbers: DataFrame, run: Run) -> Picture:
    from matplotlib.figure import Figure as NewPicture

    spender = "outlier" if scheme == "jiang" else "corner"
    spent = _spent(numbers, spender)
    who = "the outlier spends" if scheme == "jiang" else "a row at the ends of the ranges spends"
    kinds = {
        scheme: f"notebook, {_TITLES[scheme]}: claimed ε, {who} {spent:.3g} ε",
        "ours, pure": "ours, pure: true ε = claimed ε",
        "ours, Gaussian": "ours, Gaussian: true (ε, 1e-6) = claimed",
    }
    picture = NewPicture(figsize=_SIZE, layout="constrained")
    budgets = _BUDGETS[scheme]
    grid = picture.subplots(len(kinds), len(budgets), sharex=True, sharey=True)
    x, y = notebook_table()
    for down, line in enumerate(kinds):
        for across, epsilon in enumerate(budgets):
            axes = grid[down, across]
            axes.plot(x, y, ".", color=PALE, markersize=1.5, rasterized=True)
            _add_lines(axes, chosen(numbers, line, epsilon=epsilon), COLOURS[(1, 0, 2)[down]])
            axes.axline((0, ols_line()[0]), slope=ols_line()[1], color="black", linestyle="--", linewidth=0.9)
            axes.set_title(_panel_title(line, epsilon, chosen(numbers, line, epsilon=epsilon)), fontsize=8)
            axes.set(xlim=(-8, 8), ylim=(-28, 32))
            axes.spines[["top", "right"]].set_visible(False)
        grid[down, 0].set_ylabel("y")
    for axes in grid[-1]:
        axes.set_xlabel("x")
    _add_legend(picture, kinds)
    return picture


def _add_lines(axes: Axes, rows: DataFrame, colour: str) -> None:
    from matplotlib.collections import LineCollection

    known = rows.dropna(subset=["value"])
    ends = [[(at, a + b * at) for at in (-8, 8)] for a, b in zip(known["intercept"], known["value"], strict=True)]
    axes.add_collection(LineCollection(ends, colors=colour, linewidths=0.8, alpha=0.35))


def _panel_title(line: str, epsilon: float, rows: DataFrame) -> str:
    missing = 1 - float(rows["known"].mean())
    word = "unbounded" if line in OURS else "no s.e."
    known = rows["known"].any() or line in OURS
    held = f"covers {coverage(rows):.0%}" if known else "covers –"
    return f"ε = {epsilon:g}\n{held}, {missing:.0%} {word}"


def _add_legend(picture: Picture, kinds: dict[str, str]) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=COLOURS[(1, 0, 2)[row]], label=label) for row, label in enumerate(kinds.values())]
    handles.append(Line2D([], [], color="black", linestyle="--", label="least squares without noise"))
    picture.legend(handles=handles, loc="outside lower center", ncols=2, fontsize=9, frameon=False)


def _narrower(scheme: Scheme, numbers: DataFrame) -> Outcome:
    compared = [epsilon for epsilon in _BUDGETS[scheme] if epsilon in _APART or epsilon == _BUDGETS[scheme][-1]]
    found = spreads(numbers[numbers["epsilon"].isin(compared)], scheme)
    steps = sum(later < earlier for earlier, later in pairwise(found))
    text = ", ".join(f"{one:.2g}" for one in found)
    return Outcome(steps == len(found) - 1, f"middle half of the slopes is {text} wide")


def _on_ols(scheme: Scheme, within: float, numbers: DataFrame) -> Outcome:
    far = float((chosen(numbers, scheme, epsilon=_BUDGETS[scheme][-1])["value"] - ols_line()[1]).abs().max())
    return Outcome(far <= within, f"at most {far:.2g} from the slope of least squares")


def _promised(line: str, numbers: DataFrame) -> Outcome:
    spent = _spent(numbers, line)
    others = numbers[(numbers["panel"] == LOSS) & (numbers["line"] != line)]
    rest = "; ".join(f"{name}: {value:.3g}" for name, value in zip(others["line"], others["value"], strict=True))
    return Outcome(spent <= 1, f"{line}: {spent:.3g} epsilon; {rest}")


_CHOICES: Final = (
    "The notebook sets no seed; the table here has a fixed one.",
    "100 repetitions (quick: 40), with the outlier and without; the picture shows those without.",
    "Our releases declare x in [-10, 10] and y in [-40, 40]; delta = 1e-6 for the Gaussian one.",
    "The title of a panel: how often the 95% interval of the slope holds 3 for this one table.",
)

JIANG: Final = Figure(
    name="neunhoeffer-2",
    document="neunhoeffer",
    title="Lines from noisy sums, scale 2d/(n epsilon)",
    says="With the Laplace noise of Jiang, Xie & Zhang on the matrix of sums of products, 100 private regression lines "
    "scatter widely at epsilon = 0.01 and coincide with least squares at large epsilon.",
    cells=partial(_line_cells, "jiang"),
    criteria=(
        Criterion("narrower", "the middle half of the slopes narrows from epsilon = 0.1 to 0.5, 1, 5 and 100,000",
                  partial(_narrower, "jiang"), "differs", "the lines do not converge"),
        Criterion("least-squares", "at epsilon = 100,000 every slope is within 0.001 of least squares",
                  partial(_on_ols, "jiang", 1e-3), "differs", "the lines do not coincide with least squares"),
        Criterion("promise", "the notebook's outlier spends at most epsilon", partial(_promised, "outlier"), "refuted",
                  "the noise scale is for rows in the unit ball, but the rows are not scaled"),
    ),
    draw=partial(_draw_lines, "jiang"),
    choices=_CHOICES,
)  # fmt: skip

PER_ENTRY: Final = Figure(
    name="neunhoeffer-3",
    document="neunhoeffer",
    title="Lines from noisy sums, a mechanism for each entry",
    says="With a Laplace mechanism for each entry of the matrix, calibrated on the ranges of the columns, the lines "
    "scatter far more, and coincide with least squares at epsilon = 100.",
    cells=partial(_line_cells, "per entry"),
    criteria=(
        Criterion("narrower", "the middle half of the slopes narrows from epsilon = 0.1 to 0.5, 1, 5 and 100",
                  partial(_narrower, "per entry"), "differs", "the lines do not converge"),
        Criterion("least-squares", "at epsilon = 100 every slope is within 0.05 of least squares",
                  partial(_on_ols, "per entry", 0.05), "differs", "the lines do not coincide with least squares"),
        Criterion("promise", "a row at the ends of the observed ranges spends at most epsilon",
                  partial(_promised, "corner"), "refuted",
                  "every entry gets the whole epsilon, and the losses add up; moreover, the ranges come from the data"),
    ),
    draw=partial(_draw_lines, "per entry"),
    choices=_CHOICES,
    pdf=True,
)  # fmt: skip


# -- scatter figure ----------------------------------------------------------------------------------------------------
# Figure: the table of the notebook, and least squares from its sums of products.

EPSILON: Final = 1.0
SLOPES: Final = "Slope with 95% interval"
DIGITS: Final = "relative difference from statsmodels"


def _row(panel: str, line: str, value: float, low: float = np.nan, high: float = np.nan) -> Row:
    return {"panel": panel, "line": line, "epsilon": EPSILON, "repeat": 0, "value": value, "low": low, "high": high}


def against_statsmodels(fit: CovarianceFit, x: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Return the largest relative difference of each number of `ols_cov` from statsmodels' OLS on the rows.

    >>> x, y = notebook_table(rows=200)
    >>> max(against_statsmodels(ols_cov(sums_of_products(x, y)), x, y).values()) < 1e-10
    True
    """
    from statsmodels.api import OLS, add_constant  # type: ignore[import-untyped]  # untyped

    known = OLS(y, add_constant(x)).fit()
    pairs = {
        "coefficients": (fit.coefficients, known.params),
        "standard errors": (fit.standard_errors, known.bse),
        "t values": (fit.t_values, known.tvalues),
        "p-values": (fit.p_values, known.pvalues),
        "sigma": (fit.sigma, known.mse_resid**0.5),
        "R-squared": (fit.r_squared, known.rsquared),
        "adjusted R-squared": (fit.adjusted_r_squared, known.rsquared_adj),
        "F": (fit.f_statistic, known.fvalue),
    }
    # p-values underflow to 0 in both programs, so their difference is 0
    return {
        name: float(np.max(np.abs(np.asarray(ours) - theirs) / np.maximum(np.abs(theirs), 1e-300)))
        for name, (ours, theirs) in pairs.items()
    }


def fits(*, seed: int) -> list[Row]:
    """Fit least squares with and without the outlier, compare with statsmodels, and add our releases at epsilon = 1."""
    from discreet import fit

    rows = []
    for data, outlier in DATA.items():
        x, y = notebook_table(outlier=outlier)
        found = ols_cov(sums_of_products(x, y))
        for name, value, error in zip(("intercept", "slope"), found.coefficients, found.standard_errors, strict=True):
            half = NORMAL_95 * float(error)
            rows.append(_row(f"{name} of least squares", data, float(value), float(value) - half, float(value) + half))
        rows += [_row(DIGITS, f"{name}, {data}", value) for name, value in against_statsmodels(found, x, y).items()]
    for line, delta in OURS.items():
        ours = fit(notebook_sums(outlier=False).release(seed=seed, epsilon=EPSILON, delta=delta))
        held = slope_set(ours)
        rows.append(_row("slope of ours", line, float(ours.coefficients[1]), held.lower, held.upper))
        rows.append(_row("intercept of ours", line, float(ours.coefficients[0])))
    return rows


def _value(numbers: DataFrame, panel: str, line: str, column: str = "value") -> float:
    return float(numbers[(numbers["panel"] == panel) & (numbers["line"] == line)][column].iloc[0])


def _draw_scatter(numbers: DataFrame, run: Run) -> Picture:
    picture, (left, right) = panels(["The table, 10,000 rows", SLOPES], across=2, size=(5.5, 4.4))
    x, y = notebook_table()
    left.plot(x, y, ".", color=PALE, markersize=2, rasterized=True, label="rows")
    left.plot(OUTLIER[1], OUTLIER[0], "X", color=COLOURS[1], markersize=9, label="the outlier (x = -4, y = 10)")
    kinds = {
        "plain": ("of least squares", "least squares, no privacy", "black", "--"),
        "with outlier": ("of least squares", "least squares with the outlier", COLOURS[1], ":"),
        "ours, pure": ("of ours", "ours, pure: true ε = 1", COLOURS[0], "-"),
        "ours, Gaussian": ("of ours", "ours, Gaussian: true (1, 1e-6)", COLOURS[2], "-."),
    }
    for position, (line, (panel, label, colour, dash)) in enumerate(kinds.items()):
        intercept, slope = (_value(numbers, f"{what} {panel}", line) for what in ("intercept", "slope"))
        left.axline((0, intercept), slope=slope, color=colour, linestyle=dash, label=label, linewidth=1.3)
        ends = [[abs(slope - _value(numbers, f"slope {panel}", line, end))] for end in ("low", "high")]
        right.errorbar([slope], [-position], xerr=ends, fmt="o", color=colour, capsize=4)
    left.set(xlabel="x", ylabel="y")
    right.axvline(SLOPE, color=GREY, linewidth=0.8, label="true slope")
    right.set(xlabel="slope", yticks=[-position for position in range(len(kinds))], ylim=(-len(kinds) + 0.4, 0.6))
    right.set_yticklabels(["least squares", "with the outlier", "ours, pure", "ours, Gaussian"])
    legend(picture, [left, right])
    return picture


def _same(numbers: DataFrame) -> Outcome:
    worst = float(numbers[numbers["panel"] == DIGITS]["value"].max())
    return Outcome(worst <= 1e-10, f"largest relative difference {worst:.1e}")


def _true(numbers: DataFrame) -> Outcome:
    off = []
    for name, truth in (("intercept", INTERCEPT), ("slope", SLOPE)):
        low, high = (_value(numbers, f"{name} of least squares", "plain", end) for end in ("low", "high"))
        off.append(abs((low + high) / 2 - truth) / ((high - low) / (2 * NORMAL_95)))
    return Outcome(max(off) <= 4, f"{off[0]:.2f} and {off[1]:.2f} standard errors from 2 and 3")


def _unmoved(numbers: DataFrame) -> Outcome:
    plain, moved = (_value(numbers, "slope of least squares", data) for data in DATA)
    low, high = (_value(numbers, "slope of least squares", "plain", end) for end in ("low", "high"))
    share = abs(moved - plain) / ((high - low) / (2 * NORMAL_95))
    return Outcome(share <= 1, f"it moves the slope by {moved - plain:.4f}, {share:.2f} standard errors")


SCATTER: Final = Figure(
    name="neunhoeffer-1",
    document="neunhoeffer",
    title="The table, and least squares from its sums of products",
    says="10,000 rows of y = 2 + 3 x + noise. Coefficients and standard errors of least squares can be had from the "
    "matrix of sums of products alone.",
    cells=lambda run: [Cell("fits", fits)],
    criteria=(
        Criterion("statsmodels", "every number of ols_cov equals statsmodels' to 1e-10, with and without the outlier",
                  _same, "refuted", "sums of products do not give the same numbers"),
        Criterion("truth", "intercept and slope are within 4 standard errors of 2 and 3", _true, "differs",
                  "another table"),
        Criterion("outlier", "the outlier moves the slope by at most one standard error", _unmoved, "differs",
                  "the outlier moves it by more"),
    ),
    draw=_draw_scatter,
    choices=("Our releases at epsilon = 1 declare x in [-10, 10] and y in [-40, 40]; delta = 1e-6 for the Gaussian.",
             "The notebook makes the table with the outlier and never uses it; here it is fitted too."),
)  # fmt: skip


# -- density figure ----------------------------------------------------------------------------------------------------
# Figure: densities of the noisy slopes, and coverage of intervals by the standard errors of the notebook.

FRESH: Final = "fresh tables"
SCHEMES: Final = ("jiang", "per entry")
BLOCKS: Final = 4


def covered(*, seed: int, sets: int) -> list[Row]:
    """Fit a line of every kind to each of many new tables, at every epsilon."""
    rng = np.random.default_rng(seed)
    rows = []
    for repeat in range(sets):
        x, y = notebook_table(int(rng.integers(2**62)))
        summed = table_of(x, y)
        for epsilon in PER_ENTRY_EPSILONS:
            for scheme in SCHEMES:
                rows += [one | {"repeat": repeat} for one in scheme_rows(scheme, x, y, epsilon, rng, 1)]
            rows += [our_row(summed, line, epsilon, int(rng.integers(2**62)), repeat) for line in OURS]
    return [one | {"panel": FRESH} for one in rows]


def _density_cells(run: Run) -> list[Cell]:
    repeats, sets = (40, 25) if run.quick else (100, 100)
    drawn = [
        Cell(f"epsilon = {epsilon:g}", lines, {"scheme": "per entry", "epsilon": epsilon, "repeats": repeats})
        for epsilon in PER_ENTRY_EPSILONS
    ]
    return [*drawn, *(Cell(f"fresh tables {block}", covered, {"sets": sets}) for block in range(BLOCKS))]


def kernel_density(values: FloatArray, at: FloatArray) -> FloatArray:
    """Estimate a Gaussian kernel density with R's default bandwidth, 0.9 min(sd, IQR/1.34) n^(-1/5).

    >>> bool(abs(np.trapezoid(kernel_density(np.arange(9.0), grid := np.linspace(-20, 30, 999)), grid) - 1) < 1e-6)
    True
    """
    half = float(np.subtract(*np.percentile(values, [75, 25]))) / 1.34
    width = max(0.9 * min(float(values.std(ddof=1)), half) * len(values) ** -0.2, 1e-9)
    z = (at[:, None] - values) / width
    return np.asarray(np.exp(-(z**2) / 2).mean(axis=1) / (width * np.sqrt(2 * np.pi)))


def _add_densities(axes: Axes, numbers: DataFrame, line: str, data: str, *, as_drawn: bool) -> None:
    """Draw densities at every epsilon, on the notebook's axes or by log distance, where none hides another."""
    middle = ols_line(outlier=data != "plain")[1]
    grid = np.union1d(np.linspace(-10, 10, 2001), np.linspace(2.9, 3.1, 2001)) if as_drawn else np.linspace(-5, 3, 801)
    for position, epsilon in enumerate(PER_ENTRY_EPSILONS):
        slopes = chosen(numbers, line, data, epsilon)["value"].dropna().to_numpy()
        values = slopes if as_drawn else np.log10(np.abs(slopes - middle))
        axes.plot(grid if as_drawn else 10**grid, kernel_density(values, grid), color=COLOURS[position],
                  linestyle=DASHES[position], linewidth=1.4, label=f"density at ε = {epsilon:g}")  # fmt: skip
    if as_drawn:
        axes.axvline(middle, color="black", linewidth=0.7, label="slope of least squares")
        axes.set(xlim=(-10, 10), ylim=(0, 2), xlabel="slope", ylabel="density")
    else:
        axes.set(xscale="log", ylim=(0, None), xlabel="distance of the slope from least squares")
        axes.set_ylabel("density of the log distance")


LABELS: Final = {
    "jiang": "notebook, Jiang et al.: the outlier spends 28.5 ε",
    "per entry": "notebook, per entry: true 3 ε or more",
    "ours, pure": "ours, pure: true ε = claimed",
    "ours, Gaussian": "ours, Gaussian: true (ε, 1e-6) = claimed",
}


def _draw_densities(numbers: DataFrame, run: Run) -> Picture:
    titles = {
        "Per entry, claimed ε: the notebook's axes": ("per entry", "plain"),
        "Per entry, claimed ε": ("per entry", "plain"),
        "Per entry, with the outlier": ("per entry", "with outlier"),
        "Ours, pure": ("ours, pure", "plain"),
        "Ours, Gaussian (delta = 1e-6)": ("ours, Gaussian", "plain"),
    }
    rates = ["Share of 95% intervals that hold the slope", "Share of draws without an interval"]
    picture, grid = panels([*titles, *rates], across=4)
    for place, (axes, (line, data)) in enumerate(zip(grid, titles.values(), strict=False)):
        _add_densities(axes, numbers, line, data, as_drawn=place == 0)
    fresh = numbers[numbers["panel"] == FRESH]
    for position, (line, label) in enumerate(LABELS.items()):
        mine = fresh[fresh["line"] == line]
        held = {epsilon: coverage(rows) for epsilon, rows in mine.groupby("epsilon")}
        look = nested(style(position), position, len(LABELS))
        grid[-2].plot(list(held), list(held.values()), label=label, **look)
        missing = 1 - mine.groupby("epsilon")["known"].mean()
        grid[-1].plot(missing.index, missing.to_numpy(), label=label, **look)
    grid[-2].axhline(0.95, color=GREY, linewidth=0.8)
    for axes in grid[-2:]:
        axes.set(xscale="log", xlabel="ε (claimed)", ylim=(-0.03, 1.03))
    grid[-2].set_ylabel("share, fresh tables")
    grid[-1].set_ylabel("share of draws")
    width, height = picture.get_size_inches()
    picture.set_size_inches(width, height + 1.0)
    legend(picture, grid)
    return picture


def _distances(numbers: DataFrame, epsilon: float) -> float:
    return float((chosen(numbers, "per entry", epsilon=epsilon)["value"] - ols_line()[1]).abs().median())


def _nearer(numbers: DataFrame) -> Outcome:
    found = [_distances(numbers, epsilon) for epsilon in (0.01, 0.1, 1.0, 5.0, 100.0)]
    text = ", ".join(f"{one:.2g}" for one in found)
    ordered = all(later < earlier for earlier, later in pairwise(found))
    return Outcome(ordered and found[-1] <= 0.01, f"median distance from least squares {text}")


def _covers(lines_of: tuple[str, ...], least: float, pooled: float, numbers: DataFrame) -> Outcome:
    fresh = numbers[numbers["panel"] == FRESH]
    if fresh.empty:
        return Outcome(None, "no fresh tables")
    worst, texts, together = 1.0, [], 1.0
    for line in lines_of:
        mine = fresh[fresh["line"] == line]
        shares = {
            epsilon: coverage(rows) for epsilon, rows in mine.groupby("epsilon") if rows["known"].any() or line in OURS
        }
        worst, together = min(worst, *shares.values()), min(together, coverage(mine))
        texts.append(f"{line}: " + ", ".join(f"{share:.0%}" for share in shares.values()))
    return Outcome(worst >= least and together >= pooled, "; ".join(texts))


def _theirs_cover(numbers: DataFrame) -> Outcome:
    return _covers(SCHEMES, 0.87, 0.93, numbers)


def _ours_cover(numbers: DataFrame) -> Outcome:
    return _covers(tuple(OURS), 0.87, 0.93, numbers)


DENSITY: Final = Figure(
    name="neunhoeffer-4",
    document="neunhoeffer",
    title="Densities of noisy slopes, and coverage of the standard errors",
    says="The densities of 100 private slopes (a mechanism for each entry) narrow around least squares as epsilon "
    "grows. The notebook reads standard errors off the noisy matrix, too.",
    cells=_density_cells,
    criteria=(
        Criterion("nearer", "the median distance from least squares falls from epsilon = 0.01 to 0.1, 1, 5, 100, where "
                  "it is at most 0.01", _nearer, "differs", "the densities do not narrow"),
        Criterion("errors", "95% intervals by the notebook's standard errors hold the slope in at least 87% of fresh "
                  "tables at every epsilon and 93% of all", _theirs_cover, "refuted",
                  "the standard errors ignore the noise for privacy, and are no numbers where it makes the residual "
                  "sum negative"),
        Criterion("ours", "95% intervals of our releases hold it in at least 87% at every epsilon and 93% of all",
                  _ours_cover, "differs", "our intervals cover the slope too rarely"),
    ),
    draw=_draw_densities,
    choices=("The first panel has the notebook's axes, on which all but the widest densities lie over each other; the "
             "others show the logarithm of the distance from least squares.",
             "Coverage is of fresh tables: 400 (quick: 100), one draw of each kind from each, at every epsilon.",
             "87% is four standard errors below 95% for 100 tables: eight epsilons are seen at once.",
             "Sets of ours that are unbounded hold every value they do not exclude; their share is shown."),
)  # fmt: skip
