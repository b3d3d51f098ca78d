"""Figure: densities of the noisy slopes, and how often the notebook's standard errors hold the truth."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.analyst.plots.style import COLOURS, GREY
from discreet.papers.drawing import DASHES, legend, nested, panels, style
from discreet.papers.figure import Cell, Criterion, Figure, Outcome, Row, Run
from discreet.papers.neunhoeffer.line_figures import ols_line
from discreet.papers.neunhoeffer.lines import OURS, chosen, coverage, lines, our_row, scheme_rows, table_of
from discreet.papers.neunhoeffer.schemes import PER_ENTRY_EPSILONS
from discreet.papers.neunhoeffer.simulated import notebook_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture
    from pandas import DataFrame

    from discreet.exact.arrays import FloatArray

FRESH: Final = "fresh tables"
SCHEMES: Final = ("jiang", "per entry")
BLOCKS: Final = 4


def covered(*, seed: int, sets: int) -> list[Row]:
    """A line of every kind from each of many fresh tables, at every epsilon."""
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


def _cells(run: Run) -> list[Cell]:
    repeats, sets = (40, 25) if run.quick else (100, 100)
    drawn = [
        Cell(f"epsilon = {epsilon:g}", lines, {"scheme": "per entry", "epsilon": epsilon, "repeats": repeats})
        for epsilon in PER_ENTRY_EPSILONS
    ]
    return [*drawn, *(Cell(f"fresh tables {block}", covered, {"sets": sets}) for block in range(BLOCKS))]


def kernel_density(values: FloatArray, at: FloatArray) -> FloatArray:
    """A Gaussian kernel density with R's default width, 0.9 min(sd, middle half/1.34) n^(-1/5).

    >>> bool(abs(np.trapezoid(kernel_density(np.arange(9.0), grid := np.linspace(-20, 30, 999)), grid) - 1) < 1e-6)
    True
    """
    half = float(np.subtract(*np.percentile(values, [75, 25]))) / 1.34
    width = max(0.9 * min(float(values.std(ddof=1)), half) * len(values) ** -0.2, 1e-9)
    z = (at[:, None] - values) / width
    return np.asarray(np.exp(-(z**2) / 2).mean(axis=1) / (width * np.sqrt(2 * np.pi)))


def _add_densities(axes: Axes, numbers: DataFrame, line: str, data: str, *, as_drawn: bool) -> None:
    """Densities at every epsilon: on the axes of the notebook, or of log distances, where none hides another."""
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


def _draw(numbers: DataFrame, run: Run) -> Picture:
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
    cells=_cells,
    criteria=(
        Criterion("nearer", "the median distance from least squares falls from epsilon = 0.01 to 0.1, 1, 5, 100, where "
                  "it is at most 0.01", _nearer, "differs", "the densities do not narrow"),
        Criterion("errors", "95% intervals by the notebook's standard errors hold the slope in at least 87% of fresh "
                  "tables at every epsilon and 93% of all", _theirs_cover, "refuted",
                  "the standard errors ignore the noise for privacy, and are no numbers where it makes the residual "
                  "sum negative"),
        Criterion("ours", "95% intervals of our releases hold it in at least 87% at every epsilon and 93% of all",
                  _ours_cover, "differs", "our intervals cover too rarely"),
    ),
    draw=_draw,
    choices=("The first panel has the notebook's axes, on which all but the widest densities lie over each other; the "
             "others show the logarithm of the distance from least squares.",
             "Coverage is of fresh tables: 400 (quick: 100), one draw of each kind from each, at every epsilon.",
             "87% is four standard errors below 95% for 100 tables: eight epsilons are seen at once.",
             "Sets of ours that are unbounded hold every value they do not exclude; their share is shown."),
)  # fmt: skip
