"""Reproduce the notebook's objective perturbation and its figure. NOT PRIVATE."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, get_args

import numpy as np

from discreet.analyst.plots.style import COLOURS, GREY, PALE
from discreet_papers.drawing import MARKERS, legend, panels
from discreet_papers.figure import Cell, Criterion, Figure, Outcome, Row, Run
from discreet_papers.neunhoeffer.neunhoeffer_line_figures import ols_line
from discreet_papers.neunhoeffer.neunhoeffer_lines import DATA, OURS, notebook_sums, notebook_table, our_row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture
    from pandas import DataFrame

    from discreet.exact.arrays import FloatArray

# -- objective ---------------------------------------------------------------------------------------------------------
# Objective perturbation of linear regression as in the PSI library (PSIlence), from its published source; NOT PRIVATE.
#
# The library (privacytoolsproject/PSI-Library, `R/mechanism-objective.R` and `R/statistic-glm.R`) divides x by its
# largest size and y by the norm of the *whole vector*, adds an intercept, and minimises over (beta, log s)
#
#     log s + sum (y - X beta)^2 / (2 n s^2) - b'(beta, log s) / n
#
# by the Nelder-Mead method. It claims epsilon, but no epsilon is proved: the gradient of the loss is not bounded, there
# is no penalty, and both divisors come from the data. Because scaled y is so small, the noise hardly moves beta at all.
# Two versions of b have been published; the older one does not depend on epsilon.

EPSILON: Final = 0.03
Version = Literal["older", "newer"]
_MOST_CALLS: Final = 500
_RELATIVE: Final = 1e-8


@dataclass(frozen=True)
class Scaled:
    """The table as the library scales it: sums of products of (1, x/x_size) and y/y_size, and the two divisors."""

    XtX: FloatArray
    Xty: FloatArray
    n: int
    x_size: float
    y_size: float

    @property
    def beta(self) -> FloatArray:
        """Least squares in scaled units."""
        return np.asarray(np.linalg.solve(self.XtX, self.Xty), dtype=np.float64)

    @property
    def rest(self) -> float:
        """Residual sum of squares in scaled units, where y'y is 1."""
        return float(1.0 - self.Xty @ self.beta)

    def original(self, estimates: FloatArray) -> FloatArray:
        """Convert estimates (intercept, slope, log s) back as the library does, which multiplies log s like a slope."""
        return np.asarray(estimates * self.y_size / np.array([1.0, self.x_size, self.x_size]))


def scaled(x: FloatArray, y: FloatArray) -> Scaled:
    """Scale a table as the library does, by numbers from the data. NOT PRIVATE."""
    x_size, y_size = float(np.abs(x).max()), float(np.linalg.norm(y))
    X = np.column_stack([np.ones_like(x), x / x_size])
    return Scaled(X.T @ X, X.T @ (y / y_size), len(x), x_size, y_size)


def perturbation(version: Version, epsilon: float, n: int, rng: np.random.Generator, draws: int) -> FloatArray:
    """Draw noise vectors b. NOT PRIVATE.

    The older version draws a norm from a gamma distribution with scale 2/epsilon and then multiplies it by epsilon. The
    newer version draws an exponential norm with mean 2/epsilon', where epsilon' is slightly below epsilon, and a
    uniform direction.

    >>> perturbation("older", 0.03, 100, np.random.default_rng(1), 4).shape
    (4, 3)
    """
    if version == "older":
        norm = rng.gamma(3.0, 2 / epsilon, draws)
        return rng.laplace(0.0, epsilon * norm[:, None], (draws, 3))
    constant, penalty = 0.25, max(1.0, 0.25 / (n * math.expm1(epsilon / 2)) + 0.001)
    term = constant / n * penalty
    left = epsilon - math.log1p(2 * term + term**2)
    direction = rng.normal(size=(draws, 3))
    norm = rng.exponential(2 / left, draws)
    return np.asarray(direction * (norm / np.linalg.norm(direction, axis=1))[:, None])


def exact_minimiser(table: Scaled, b: FloatArray) -> FloatArray:
    """Return the minimiser (intercept, slope, log s) in scaled units, in closed form, for each noise vector.

    For given v = s^2, beta = beta_ols + v (X'X)^-1 b_beta. The profile over v is stationary where c v^2 - (n - b_s) v +
    rest = 0, with c = b_beta'(X'X)^-1 b_beta. The smaller root is the minimum near least squares. (The objective falls
    without bound as s grows beyond the larger root.) The result is NaN if there is no such root.

    >>> table = scaled(np.array([1.0, -2.0, 3.0, 0.5]), np.array([3.0, 0.0, 4.0, 1.0]))
    >>> bool(np.allclose(exact_minimiser(table, np.zeros((1, 3)))[0, :2], table.beta))
    True
    """
    step = np.linalg.solve(table.XtX, b[:, :2].T).T
    curve = (b[:, :2] * step).sum(axis=1)
    left = table.n - b[:, 2]
    with np.errstate(invalid="ignore"):
        v = 2 * table.rest / (left + np.sqrt(left**2 - 4 * curve * table.rest))
        return np.column_stack([table.beta + v[:, None] * step, np.log(v) / 2])


def perturbed_objective(estimates: FloatArray, table: Scaled, b: FloatArray) -> float:
    """Return the library's objective at (intercept, slope, log s), in scaled units."""
    beta, log_s = estimates[:2], float(estimates[2])
    squares = 1.0 - 2 * float(beta @ table.Xty) + float(beta @ table.XtX @ beta)
    likelihood = math.log(2 * math.pi) / 2 + log_s + squares / (2 * table.n) * math.exp(min(700.0, -2 * log_s))
    return float(likelihood - b @ estimates / table.n)


def nelder_mead(table: Scaled, b: FloatArray) -> FloatArray:
    """Run a simplex search from 0 with the settings of R's `optim`: steps of 0.1, tolerance 1e-8, 500 calls."""
    from scipy.optimize import minimize

    start = np.zeros(3)
    simplex = np.vstack([start, 0.1 * np.eye(3)])
    tolerance = _RELATIVE * (abs(perturbed_objective(start, table, b)) + _RELATIVE)
    found = minimize(
        perturbed_objective,
        start,
        args=(table, b),
        method="Nelder-Mead",
        options={"initial_simplex": simplex, "fatol": tolerance, "xatol": np.inf, "maxfev": _MOST_CALLS},
    )
    return np.asarray(found.x)


def claimed_accuracy(n: int, epsilon: float) -> float:
    """Return the accuracy that the library prints, log(20)/(n epsilon), which ignores data and scale."""
    return math.log(20) / (n * epsilon)


def certified_loss(without: FloatArray, with_row: FloatArray, *, failure: float = 1e-3) -> float:
    """Return a lower bound on epsilon from outputs for a table and outputs for the table with an added row.

    The threshold is halfway between the medians of the first halves. On the second halves, the fractions beyond it are
    bounded by Clopper & Pearson with a total failure probability of `failure`.

    >>> certified_loss(np.zeros(1000), np.ones(1000)) > 4
    True
    """
    from scipy.stats import beta

    half = len(without) // 2
    threshold = (np.median(without[:half]) + np.median(with_row[:half])) / 2
    sign = 1.0 if np.median(with_row[:half]) > threshold else -1.0
    tested = len(without) - half
    yes = int((sign * (with_row[half:] - threshold) > 0).sum())
    false = int((sign * (without[half:] - threshold) > 0).sum())
    low = float(beta.ppf(failure / 2, yes, tested - yes + 1)) if yes else 0.0
    high = float(beta.isf(failure / 2, false + 1, tested - false)) if false < tested else 1.0
    return math.log(low / high) if low > high else 0.0


# -- objective figure --------------------------------------------------------------------------------------------------
# Figure: objective perturbation at epsilon = 0.03, whose line coincides with least squares because it has no noise.

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
    """Return results of objective perturbation: many by the exact minimiser, fewer by the search."""
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
    """Return our releases at the same epsilon."""
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
