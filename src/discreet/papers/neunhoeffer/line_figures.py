"""Figures: noisy regression lines at eight budgets, by each of the notebook's two schemes."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.analyst.plots.style import COLOURS, PALE
from discreet.papers.figure import Cell, Criterion, Figure, Outcome, Row, Run
from discreet.papers.neunhoeffer.lines import OURS, Scheme, chosen, coverage, lines, spreads
from discreet.papers.neunhoeffer.ols import ols_cov
from discreet.papers.neunhoeffer.schemes import EPSILONS, PER_ENTRY_EPSILONS, jiang_loss, per_entry_loss
from discreet.papers.neunhoeffer.simulated import OUTLIER, notebook_table, sums_of_products

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture
    from pandas import DataFrame

LOSS: Final = "loss at epsilon = 1"
_BUDGETS: Final[dict[Scheme, tuple[float, ...]]] = {"jiang": EPSILONS, "per entry": PER_ENTRY_EPSILONS}
_TITLES: Final[dict[Scheme, str]] = {"jiang": "Jiang et al.", "per entry": "per entry"}
# far enough apart for spreads of a few repetitions to be compared
_APART: Final = (0.1, 0.5, 1.0, 5.0)
_SIZE: Final = (16.0, 9.0)  # inches, as the notebook's PDF


def ols_line(*, outlier: bool = False) -> tuple[float, float]:
    """Intercept and slope of least squares without noise.

    >>> [round(value, 1) for value in ols_line()]
    [2.0, 3.0]
    """
    intercept, slope = ols_cov(sums_of_products(*notebook_table(outlier=outlier))).coefficients.tolist()
    return intercept, slope


def row_losses(*, seed: int, scheme: Scheme) -> list[Row]:
    """What rows spend at epsilon = 1: the outlier and the rows of the table, or the corners of the observed ranges."""
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


def _cells(scheme: Scheme, run: Run) -> list[Cell]:
    repeats = 40 if run.quick else 100
    drawn = [
        Cell(f"epsilon = {epsilon:g}", lines, {"scheme": scheme, "epsilon": epsilon, "repeats": repeats})
        for epsilon in _BUDGETS[scheme]
    ]
    return [*drawn, Cell("losses", row_losses, {"scheme": scheme})]


def _spent(numbers: DataFrame, line: str) -> float:
    found = numbers[(numbers["panel"] == LOSS) & (numbers["line"] == line)]["value"]
    return float(found.iloc[0])


def _draw(scheme: Scheme, numbers: DataFrame, run: Run) -> Picture:
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
    says="With Laplace noise after Jiang, Xie & Zhang on the matrix of sums of products, 100 private regression lines "
    "scatter at epsilon = 0.01 and lie on least squares at large epsilon.",
    cells=partial(_cells, "jiang"),
    criteria=(
        Criterion("narrower", "the middle half of the slopes narrows from epsilon = 0.1 to 0.5, 1, 5 and 100,000",
                  partial(_narrower, "jiang"), "differs", "the lines do not come together"),
        Criterion("least-squares", "at epsilon = 100,000 every slope is within 0.001 of least squares",
                  partial(_on_ols, "jiang", 1e-3), "differs", "the lines do not lie on least squares"),
        Criterion("promise", "the notebook's outlier spends at most epsilon", partial(_promised, "outlier"), "refuted",
                  "the scale is for rows in the unit ball, and the rows are not scaled"),
    ),
    draw=partial(_draw, "jiang"),
    choices=_CHOICES,
)  # fmt: skip

PER_ENTRY: Final = Figure(
    name="neunhoeffer-3",
    document="neunhoeffer",
    title="Lines from noisy sums, a mechanism for each entry",
    says="With a Laplace mechanism for each entry of the matrix, calibrated on the ranges of the columns, the lines "
    "scatter far more, and lie on least squares at epsilon = 100.",
    cells=partial(_cells, "per entry"),
    criteria=(
        Criterion("narrower", "the middle half of the slopes narrows from epsilon = 0.1 to 0.5, 1, 5 and 100",
                  partial(_narrower, "per entry"), "differs", "the lines do not come together"),
        Criterion("least-squares", "at epsilon = 100 every slope is within 0.05 of least squares",
                  partial(_on_ols, "per entry", 0.05), "differs", "the lines do not lie on least squares"),
        Criterion("promise", "a row at the ends of the observed ranges spends at most epsilon",
                  partial(_promised, "corner"), "refuted",
                  "every entry gets the whole epsilon, and losses add up; the ranges are those of the data besides"),
    ),
    draw=partial(_draw, "per entry"),
    choices=_CHOICES,
    pdf=True,
)  # fmt: skip
