"""Figure: objective perturbation at epsilon = 0.03, a line that lies on least squares because it has no noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, get_args

import numpy as np

from discreet.analyst.plots.style import COLOURS, GREY, PALE
from discreet.papers.drawing import MARKERS, legend, panels
from discreet.papers.figure import Cell, Criterion, Figure, Outcome, Row, Run
from discreet.papers.neunhoeffer.line_figures import ols_line
from discreet.papers.neunhoeffer.lines import DATA, OURS, notebook_sums, our_row
from discreet.papers.neunhoeffer.objective import (
    EPSILON,
    Version,
    certified_loss,
    exact_minimiser,
    nelder_mead,
    perturbation,
    scaled,
)
from discreet.papers.neunhoeffer.simulated import notebook_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture
    from pandas import DataFrame

    from discreet.exact.arrays import FloatArray

VERSIONS: Final[tuple[Version, ...]] = get_args(Version)
LABELS: Final = {
    "exact, older noise": "exact minimiser, older noise",
    "exact, newer noise": "exact minimiser, newer noise",
    "search, older noise": "Nelder-Mead, older noise",
    "search, newer noise": "Nelder-Mead, newer noise",
    "ours, pure": "ours, pure: true ε = 0.03",
    "ours, Gaussian": "ours, Gaussian: true (0.03, 1e-6)",
}


def _row(line: str, data: str, repeat: int, estimates: FloatArray) -> Row:
    intercept, slope, log_s = (float(value) for value in estimates)
    return {
        "panel": "slopes",
        "line": line,
        "data": data,
        "epsilon": EPSILON,
        "repeat": repeat,
        "value": slope,
        "intercept": intercept,
        "variance": log_s,
    }


def perturbed(*, seed: int, version: Version, draws: int, repeats: int) -> list[Row]:
    """Releases by objective perturbation: the exact minimiser many times, the search fewer times."""
    rng = np.random.default_rng(seed)
    rows = []
    for data, outlier in DATA.items():
        table = scaled(*notebook_table(outlier=outlier))
        b = perturbation(version, EPSILON, table.n, rng, draws)
        for repeat, estimates in enumerate(exact_minimiser(table, b)):
            rows.append(_row(f"exact, {version} noise", data, repeat, table.original(estimates)))
        for repeat in range(repeats):
            found = table.original(nelder_mead(table, b[repeat]))
            rows.append(_row(f"search, {version} noise", data, repeat, found))
    return rows


def ours(*, seed: int, repeats: int) -> list[Row]:
    """Our releases at the same epsilon."""
    rng = np.random.default_rng(seed)
    rows = []
    for data, outlier in DATA.items():
        table = notebook_sums(outlier=outlier)
        for line in OURS:
            for repeat in range(repeats):
                found = our_row(table, line, EPSILON, int(rng.integers(2**62)), repeat, data)
                rows.append({**found, "panel": "slopes"})
    return rows


def _cells(run: Run) -> list[Cell]:
    repeats = 20 if run.quick else 100
    arguments = {"draws": 2000, "repeats": repeats}
    return [
        *(Cell(f"{version} noise", perturbed, {"version": version, **arguments}) for version in VERSIONS),
        Cell("ours", ours, {"repeats": repeats}),
    ]


def _of(numbers: DataFrame, line: str, data: str = "plain", column: str = "value") -> FloatArray:
    found = numbers[(numbers["line"] == line) & (numbers["data"] == data)][column]
    return np.asarray(found.dropna().to_numpy(float))


def _draw(numbers: DataFrame, run: Run) -> Picture:
    titles = [
        "Regression lines, N = 10,000",
        "Distance of the slope from least squares",
        "What one row does to the slope",
    ]
    picture, grid = panels(titles, across=3, size=(5.2, 4.2))
    _add_scatter(grid[0], numbers)
    for position, line in enumerate(LABELS):
        _add_distances(grid[1], numbers, line, position)
    _add_histograms(grid[2], numbers)
    width, height = picture.get_size_inches()
    picture.set_size_inches(width, height + 0.9)
    legend(picture, grid)
    return picture


def _add_scatter(axes: Axes, numbers: DataFrame) -> None:
    x, y = notebook_table()
    axes.plot(x, y, ".", color=PALE, markersize=1.5, rasterized=True)
    for line, colour in (("ours, pure", COLOURS[4]), ("ours, Gaussian", COLOURS[5])):
        pairs = zip(_of(numbers, line, column="intercept"), _of(numbers, line), strict=True)
        for intercept, slope in list(pairs)[:20]:
            axes.plot([-8, 8], [intercept - 8 * slope, intercept + 8 * slope], color=colour, alpha=0.5, linewidth=0.8)
    axes.axline((0, ols_line()[0]), slope=ols_line()[1], color=GREY, linewidth=3, label="least squares")
    line = "search, older noise"
    intercept, slope = _of(numbers, line, column="intercept")[0], _of(numbers, line)[0]
    lost = certified_loss(*(_of(numbers, "exact, older noise", data) for data in DATA))
    label = f"objective perturbation: claimed ε = 0.03, true above {lost:.1f}"
    axes.axline((0, intercept), slope=slope, color=COLOURS[1], linewidth=1, label=label)
    axes.set(xlabel="x", ylabel="y", xlim=(-8, 8), ylim=(-28, 32))


def _add_distances(axes: Axes, numbers: DataFrame, line: str, position: int) -> None:
    rng = np.random.default_rng(position)
    for shift, (data, filled) in zip((-0.18, 0.18), (("plain", True), ("with outlier", False)), strict=True):
        far = np.abs(_of(numbers, line, data)[:100] - ols_line()[1])
        at = position + shift + rng.uniform(-0.1, 0.1, len(far))
        axes.plot(at, far, MARKERS[position], color=COLOURS[position], markersize=3, alpha=0.6, linestyle="none",
                  markerfacecolor=COLOURS[position] if filled else "none",
                  label=LABELS[line] if filled else None)  # fmt: skip
    axes.set(yscale="log", ylabel="distance from least squares without outlier")
    axes.set_xticks(range(len(LABELS)), ["exact\nolder", "exact\nnewer", "search\nolder", "search\nnewer",
                                         "ours\npure", "ours\nGaussian"], fontsize=8)  # fmt: skip
    axes.set_xlabel("filled: without the outlier; open: with it")


def _add_histograms(axes: Axes, numbers: DataFrame) -> None:
    for data, colour, hatch in (("plain", COLOURS[0], ""), ("with outlier", COLOURS[1], "//")):
        moved = (_of(numbers, "exact, newer noise", data) - ols_line()[1]) * 1e3
        name = "without the outlier" if data == "plain" else "with the outlier"
        axes.hist(moved, bins=40, color=colour, alpha=0.8, hatch=hatch, label=f"exact minimiser, newer noise, {name}")
    axes.set(xlabel="1000 (slope - slope of least squares)", ylabel="draws")


def _on_ols(numbers: DataFrame) -> Outcome:
    far = np.abs(np.concatenate([_of(numbers, f"search, {version} noise") for version in VERSIONS]) - ols_line()[1])
    return Outcome(bool(far.max() <= 1e-3), f"at most {far.max():.1e} from the slope of least squares")


def _kept(numbers: DataFrame) -> Outcome:
    texts, most = [], 0.0
    for version in VERSIONS:
        samples = [_of(numbers, f"exact, {version} noise", data) for data in DATA]
        lost = certified_loss(*samples)
        moved = abs(np.median(samples[1]) - np.median(samples[0])) / samples[0].std()
        texts.append(
            f"{version} noise: at least {lost:.2f}, the row moves the slope by {moved:.0f} standard deviations"
        )
        most = max(most, lost)
    return Outcome(most <= EPSILON, "; ".join(texts))


def _variance(numbers: DataFrame) -> Outcome:
    said = float(np.median(_of(numbers, "search, older noise", column="variance")))
    return Outcome(0.5 <= said <= 2, f"the released 'variance' is {said:.1f}; the residual variance is 1")


def _noise(numbers: DataFrame) -> Outcome:
    far = float(np.median(np.abs(_of(numbers, "search, older noise") - ols_line()[1])))
    sd = float(_of(numbers, "exact, older noise").std())
    return Outcome(far <= 3 * sd, f"median distance {far:.1e}; the noise has standard deviation {sd:.1e}")


OBJECTIVE: Final = Figure(
    name="neunhoeffer-5",
    document="neunhoeffer",
    title="Objective perturbation at epsilon = 0.03",
    says="A private line by the PSI library's objective perturbation at epsilon = 0.03 cannot be distinguished from "
    "least squares; the library also releases a 'variance' and an accuracy of 0.00999.",
    cells=_cells,
    criteria=(
        Criterion("on-ols", "every slope that the search finds is within 0.001 of least squares", _on_ols, "differs",
                  "the lines scatter"),
        Criterion("kept", "the epsilon certified from outputs with and without the outlier is at most 0.03 (99.9%)",
                  _kept, "refuted", "y is divided by the norm of the whole vector, so there is practically no noise, "
                  "and one row moves the slope by many times the noise"),
        Criterion("noise", "the distance from least squares is that of the noise: at most 3 standard deviations",
                  _noise, "refuted", "the distance that can be seen is the tolerance of the search, not noise"),
        Criterion("variance", "the released 'variance' is between 0.5 and 2", _variance, "refuted",
                  "the number is log s, multiplied like a slope"),
    ),
    draw=_draw,
    choices=("Rewritten from the library's published source; R was not run, and the search is SciPy's with the "
             "settings of R's optim.",
             "2,000 exact minimisers and 100 searches (quick: 20) for each version of the noise, with the outlier and "
             "without."),
)  # fmt: skip
