"""Figure: a mean by Laplace noise and by the exponential mechanism."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.papers.figure import Cell, Criterion, Figure, Outcome, Row, Run
from discreet.papers.notes import mean
from discreet.papers.notes.panels import Panel, drawn, mean_of, row

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture
    from pandas import DataFrame

SIZES: Final = (30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000)
OUTPUTS: Final = (0.01, 0.1, 0.3, 1.0, 2.0, 5.0, 10.0, 100.0, 1000.0)
MEAN_OF: Final = 0.3
EPSILON: Final = 1.0

SAMPLE, POPULATION, LOST = "Distance from the sample mean", "Distance from the population mean", "Loss, n = 100"
WAYS: Final[Mapping[str, Callable[..., np.ndarray]]] = {
    "laplace": mean.laplace_mean,
    "absolute": mean.absolute_error_mean,
    "squared": mean.squared_error_mean,
    "squared, corrected": mean.squared_error_corrected,
    "ours, absolute": mean.absolute_error_range,
    "ours, squared": mean.squared_error_range,
}


def means(*, seed: int, n: int, repeats: int) -> list[Row]:
    """Squared distances of every way of reporting a mean from the sample mean and from the population mean."""
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
    """Loss of the normal law on the line against the output, of the law cut to [0, 1], and of Laplace noise.

    The law on [0, 1] has no outputs above 1.
    """
    rows = []
    for at in OUTPUTS:
        rows.append(row(LOST, "squared", at, mean.largest_squared_error_loss(100, EPSILON, at)))
        if at <= 1:
            rows.append(row(LOST, "ours, squared", at, mean.truncated_loss(100, EPSILON, at)))
        rows.append(row(LOST, "laplace", at, mean.absolute_error_loss(100, 100 * EPSILON)))
        rows.append(row(LOST, "absolute", at, mean.absolute_error_loss(100, 50 * EPSILON)))
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
        "ours, absolute": "ours: private_mean (law), absolute error on [0, 1]: true 1",
        "ours, squared": "ours: private_mean (law), squared error on [0, 1]: true 1",
        "sample mean": "sample mean, no privacy",
    }
    return drawn(numbers, layout, labels)


def _slope(numbers: DataFrame, panel: str, line: str) -> float:
    found = numbers[(numbers["panel"] == panel) & (numbers["line"] == line) & (numbers["x"] >= 300)]
    return float(np.polyfit(np.log(found["x"]), np.log(found["value"]) / 2, 1)[0])


def _slope_near(panel: str, line: str, expected: float, numbers: DataFrame) -> Outcome:
    slope = _slope(numbers, panel, line)
    return Outcome(abs(slope - expected) <= 0.05, f"slope {slope:.3f}")


def _worse(numbers: DataFrame) -> Outcome:
    pairs = [(mean_of(numbers, SAMPLE, "absolute", n), mean_of(numbers, SAMPLE, "laplace", n)) for n in SIZES]
    ratios = [math.sqrt(one / other) for one, other in pairs if one is not None and other is not None]
    low, high = min(ratios), max(ratios)
    return Outcome(low >= 1.8 and high <= 2.2, f"between {low:.2f} and {high:.2f} times the error of Laplace noise")


def _kept(numbers: DataFrame) -> Outcome:
    found = numbers[(numbers["panel"] == LOST) & (numbers["line"] == "squared")]["value"]
    return Outcome(bool(found.max() <= EPSILON), f"loss {found.max():,.0f} at l = {OUTPUTS[-1]:,.0f}, n = 100")


MEAN: Final = Figure(
    name="notes-mean",
    document="notes",
    title="A mean by Laplace noise and by the exponential mechanism",
    says="Laplace noise on a mean errs by 1/(n epsilon); the exponential mechanism with absolute error by twice that; "
    "with squared error it is a normal law of variance 1/(n epsilon), keeps epsilon, and converges to the population "
    "mean at the rate of the sample mean.",
    cells=_mean_cells,
    criteria=(
        Criterion("laplace", "the error of Laplace noise falls like n^-1 (slope within 0.05)",
                  partial(_slope_near, SAMPLE, "laplace", -1.0), "differs", "another rate"),
        Criterion("absolute", "absolute error errs 1.8 to 2.2 times as much as Laplace noise", _worse, "differs",
                  "another ratio"),
        Criterion("rate", "squared error is at distance n^-1/2 from the population mean (slope within 0.05)",
                  partial(_slope_near, POPULATION, "squared", -0.5), "differs", "another rate"),
        Criterion("kept", "squared error on the line loses at most epsilon at every output", _kept, "refuted",
                  "the sensitivity of squared error on the line is infinite, and the loss grows with the output; cut "
                  "to [0, 1] the same law keeps epsilon"),
    ),
    draw=_draw_mean,
    choices=("Numbers are 0 or 1 with mean 0.3; epsilon = 1; n = 30 to 100,000; 100,000 runs (quick: 10,000).",
             "n is public: with a private n none of the laws keeps any epsilon (erratum 3)."),
)  # fmt: skip
