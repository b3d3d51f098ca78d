"""The mean in the class notes: mechanisms, true losses and the figure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet_papers.figure import Cell, Criterion, Figure, Outcome, Row, Run
from discreet_papers.notes.notes_panels import Panel, drawn, mean_of, row

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture
    from pandas import DataFrame

    from discreet.exact.arrays import FloatArray

# -- mean --------------------------------------------------------------------------------------------------------------
# The mean of numbers in [0, 1] by the methods of the notes, and corrected. NOT PRIVATE: noise is seeded.
#
# Every method claims epsilon. The true guarantees for public n are:
#
# - Laplace noise of scale 1/(n epsilon): epsilon.
# - exponential mechanism with absolute error on the line: epsilon/2.
# - exponential mechanism with squared error on the line (normal): none, the loss is unbounded.
# - the same normal truncated to [0, 1], which is not in the notes: epsilon.
#
# For private n there is no guarantee. Every function takes exact means and n, and returns one draw for each mean.


def laplace_mean(mean: FloatArray, n: int, epsilon: float, rng: np.random.Generator) -> FloatArray:
    """Draw the mean with Laplace noise of scale 1/(n epsilon) on the real line. NOT PRIVATE."""
    return mean + rng.laplace(0.0, 1 / (n * epsilon), len(mean))


def absolute_error_mean(mean: FloatArray, n: int, epsilon: float, rng: np.random.Generator) -> FloatArray:
    """Draw from the exponential mechanism with absolute error: density exp(-(n epsilon/2) |mean - t|). NOT PRIVATE."""
    return mean + rng.laplace(0.0, 2 / (n * epsilon), len(mean))


def squared_error_mean(mean: FloatArray, n: int, epsilon: float, rng: np.random.Generator) -> FloatArray:
    """Draw from N(mean, 1/(n epsilon)), the squared-error method of the notes. It satisfies no epsilon. NOT PRIVATE."""
    return rng.normal(mean, 1 / math.sqrt(n * epsilon))


def squared_sensitivity(n: int, reach: float = 1.0) -> float:
    """Return the largest change of -(mean - l)^2 over l in [0, reach], if one of n numbers in [0, 1] is replaced.

    For l = reach >= 1 the means 0 and 1/n differ most. For l = 0 the means 1 - 1/n and 1 do.

    >>> squared_sensitivity(100), round(squared_sensitivity(100, 1000.0), 3)
    (0.0199, 20.0)
    """
    step = 1 / n
    changes = [
        (high - low) * (high + low - 2 * at) for high, low in ((step, 0.0), (1.0, 1 - step)) for at in (0.0, reach)
    ]
    return round(max(abs(change) for change in changes), 12)


def squared_error_corrected(mean: FloatArray, n: int, epsilon: float, rng: np.random.Generator) -> FloatArray:
    """Draw with squared error on [0, 1], by the general theorem with the true sensitivity (2 - 1/n)/n. NOT PRIVATE."""
    return _truncated_normal(mean, math.sqrt(squared_sensitivity(n) / epsilon), rng)


def squared_error_range(mean: FloatArray, n: int, epsilon: float, rng: np.random.Generator) -> FloatArray:
    """Draw from the normal of the notes truncated to [0, 1], as `private_mean(method="squared-error")` does.

    NOT PRIVATE: noise is seeded.
    """
    return _truncated_normal(mean, 1 / math.sqrt(n * epsilon), rng)


def absolute_error_range(mean: FloatArray, n: int, epsilon: float, rng: np.random.Generator) -> FloatArray:
    """Draw with absolute error on [0, 1] at the exact rate, as `private_mean(method="absolute-error")` does.

    NOT PRIVATE: noise is seeded.
    """
    rate = n * math.log((1 + math.exp(epsilon)) / 2)
    below, above = -np.expm1(-rate * mean), -np.expm1(-rate * (1 - mean))  # mass on either side, times 2
    u = rng.uniform(-below, above)
    return mean - np.sign(u) * np.log1p(-np.abs(u)) / rate


def _truncated_normal(mean: FloatArray, sd: float, rng: np.random.Generator) -> FloatArray:
    """Draw normal variates in [0, 1] by rejection. The means must lie in [0, 1]."""
    drawn = rng.normal(mean, sd)
    while (outside := (drawn < 0) | (drawn > 1)).any():
        drawn[outside] = rng.normal(mean[outside], sd)
    return drawn


def squared_error_loss(n: int, epsilon: float, at: float) -> float:
    """Return the loss of N(mean, 1/(n epsilon)) at output `at`, for means 1 and 1 - 1/n.

    >>> round(abs(squared_error_loss(100, 1.0, 10.0)), 3)
    9.005
    """
    high, low = 1.0, 1 - 1 / n
    return n * epsilon / 2 * ((low - at) ** 2 - (high - at) ** 2)


def largest_squared_error_loss(n: int, epsilon: float, at: float) -> float:
    """Return the largest loss of N(mean, 1/(n epsilon)) at output `at`, over all pairs of means k/n and (k + 1)/n.

    The loss is linear in k, so the largest loss is at one of the two ends.
    """
    ends = ((1 / n, 0.0), (1.0, 1 - 1 / n))
    return max(abs(n * epsilon / 2 * ((low - at) ** 2 - (high - at) ** 2)) for high, low in ends)


def truncated_loss(n: int, epsilon: float, at: float | None = None) -> float:
    """Return the largest loss of the normal truncated to [0, 1], at one output or over all outputs.

    Neighbours are all pairs of means k/n and (k + 1)/n.

    >>> truncated_loss(100, 1.0, 0.5) < truncated_loss(100, 1.0) <= 1.0
    True
    """
    from scipy.special import log_ndtr

    t = np.linspace(0.0, 1.0, 2001) if at is None else np.array([at])
    root = math.sqrt(n * epsilon)
    mean = np.arange(n + 1)[:, None] / n
    inside = np.exp(log_ndtr((1 - mean) * root)) - np.exp(log_ndtr(-mean * root))
    log_density = -(n * epsilon / 2) * (mean - t) ** 2 - np.log(inside)
    return float(np.abs(np.diff(log_density, axis=0)).max())


def private_size_loss(n: int, epsilon: float, at: float) -> float:
    """Return the loss of Laplace noise of scale 1/(n epsilon) on a mean of 0, at output `at`, if a row is added.

    >>> round(private_size_loss(100, 1.0, 5.0), 2)
    4.99
    """
    return abs(math.log(n / (n + 1)) + epsilon * abs(at))


def absolute_error_loss(n: int, rate: float) -> float:
    """Return the largest loss of the density exp(-rate |mean - t|) on the line, if one number is replaced.

    The normaliser is the same for every mean, so the loss is rate/n, computed here over a grid of outputs.

    >>> absolute_error_loss(100, 50.0)
    0.5
    """
    t = np.linspace(-2.0, 3.0, 5001)
    return round(float(np.abs(rate * (np.abs(t - 1 / n) - np.abs(t))).max()), 12)


# -- mean figure -------------------------------------------------------------------------------------------------------
# Figure: a mean by Laplace noise and by the exponential mechanism.

SIZES: Final = (30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000)
OUTPUTS: Final = (0.01, 0.1, 0.3, 1.0, 2.0, 5.0, 10.0, 100.0, 1000.0)
MEAN_OF: Final = 0.3
EPSILON: Final = 1.0

SAMPLE, POPULATION, LOST = "Distance from the sample mean", "Distance from the population mean", "Loss, n = 100"
WAYS: Final[Mapping[str, Callable[..., np.ndarray]]] = {
    "laplace": laplace_mean,
    "absolute": absolute_error_mean,
    "squared": squared_error_mean,
    "squared, corrected": squared_error_corrected,
    "ours, absolute": absolute_error_range,
    "ours, squared": squared_error_range,
}


def means(*, seed: int, n: int, repeats: int) -> list[Row]:
    """Return squared distances of each reported mean from the sample mean and from the population mean."""
    rng = np.random.default_rng(seed)
    sample = rng.binomial(n, MEAN_OF, repeats) / n
    rows = []
    for line, way in WAYS.items():
        reported_means = way(sample, n, EPSILON, rng)
        rows.append(row(SAMPLE, line, n, float(np.mean((reported_means - sample) ** 2))))
        rows.append(row(POPULATION, line, n, float(np.mean((reported_means - MEAN_OF) ** 2))))
    rows.append(row(POPULATION, "sample mean", n, float(np.mean((sample - MEAN_OF) ** 2))))
    return rows


def mean_losses(*, seed: int) -> list[Row]:
    """Return the loss by output of the normal, of its truncation to [0, 1], and of Laplace noise.

    The truncated normal has no outputs above 1.
    """
    rows = []
    for at in OUTPUTS:
        rows.append(row(LOST, "squared", at, largest_squared_error_loss(100, EPSILON, at)))
        if at <= 1:
            rows.append(row(LOST, "ours, squared", at, truncated_loss(100, EPSILON, at)))
        rows.append(row(LOST, "laplace", at, absolute_error_loss(100, 100 * EPSILON)))
        rows.append(row(LOST, "absolute", at, absolute_error_loss(100, 50 * EPSILON)))
    return rows


def _mean_cells(run: Run) -> list[Cell]:
    repeats = 10_000 if run.quick else 100_000
    return [*(Cell(f"n = {n}", means, {"n": n, "repeats": repeats}) for n in SIZES), Cell("losses", mean_losses)]


def _draw_mean(numbers: DataFrame, run: Run) -> Picture:
    layout = [
        Panel(SAMPLE, "numbers n", "root mean squared distance", "xy", squares=True),
        Panel(POPULATION, "numbers n", "root mean squared distance", "xy", squares=True),
        Panel(LOST, "output l", "privacy loss", "xy"),
    ]
    labels = {
        "laplace": "Laplace, scale 1/(nε): true ε = 1",
        "absolute": "absolute error on the line, as written: claimed 1, true 0.5",
        "squared": "squared error on the line, as written: claimed 1, true ∞",
        "squared, corrected": "squared error on [0, 1], sensitivity (2 − 1/n)/n: true at most 1",
        "ours, absolute": "ours: private_mean (distribution), absolute error on [0, 1]: true 1",
        "ours, squared": "ours: private_mean (distribution), squared error on [0, 1]: true 1",
        "sample mean": "sample mean, no privacy",
    }
    return drawn(numbers, layout, labels)


def _slope(numbers: DataFrame, panel: str, line: str) -> float:
    points = numbers[(numbers["panel"] == panel) & (numbers["line"] == line) & (numbers["x"] >= 300)]
    return float(np.polyfit(np.log(points["x"]), np.log(points["value"]) / 2, 1)[0])


def _slope_near(panel: str, line: str, expected: float, numbers: DataFrame) -> Outcome:
    slope = _slope(numbers, panel, line)
    return Outcome(abs(slope - expected) <= 0.05, f"slope {slope:.3f}")


def _worse(numbers: DataFrame) -> Outcome:
    pairs = [(mean_of(numbers, SAMPLE, "absolute", n), mean_of(numbers, SAMPLE, "laplace", n)) for n in SIZES]
    ratios = [math.sqrt(ours / theirs) for ours, theirs in pairs if ours is not None and theirs is not None]
    low, high = min(ratios), max(ratios)
    return Outcome(low >= 1.8 and high <= 2.2, f"between {low:.2f} and {high:.2f} times the error of Laplace noise")


def _kept(numbers: DataFrame) -> Outcome:
    losses = numbers[(numbers["panel"] == LOST) & (numbers["line"] == "squared")]["value"]
    return Outcome(bool(losses.max() <= EPSILON), f"loss {losses.max():,.0f} at l = {OUTPUTS[-1]:,.0f}, n = 100")


MEAN: Final = Figure(
    name="notes-mean",
    document="notes",
    title="A mean by Laplace noise and by the exponential mechanism",
    says="Laplace noise on a mean has error 1/(n epsilon), and the exponential mechanism with absolute error has twice "
    "that error. With squared error the mechanism is a normal distribution with variance 1/(n epsilon), satisfies "
    "epsilon, and converges to the population mean at the rate of the sample mean.",
    cells=_mean_cells,
    criteria=(
        Criterion("laplace", "the error of Laplace noise falls like n^-1 (slope within 0.05)",
                  partial(_slope_near, SAMPLE, "laplace", -1.0), "differs", "the rate is different"),
        Criterion("absolute", "absolute error errs 1.8 to 2.2 times as much as Laplace noise", _worse, "differs",
                  "the ratio is different"),
        Criterion("rate", "squared error is at distance n^-1/2 from the population mean (slope within 0.05)",
                  partial(_slope_near, POPULATION, "squared", -0.5), "differs", "the rate is different"),
        Criterion("kept", "squared error on the line loses at most epsilon at every output", _kept, "refuted",
                  "the sensitivity of squared error on the line is infinite, and the loss grows with the output; "
                  "truncated to [0, 1] the same distribution satisfies epsilon"),
    ),
    draw=_draw_mean,
    choices=("Numbers are 0 or 1 with mean 0.3; epsilon is 1; n is 30 to 100,000; 100,000 runs (quick: 10,000).",
             "n is public: for private n, none of the distributions satisfies any epsilon (erratum 3)."),
)  # fmt: skip
