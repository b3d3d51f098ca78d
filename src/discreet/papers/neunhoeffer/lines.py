"""Regression lines from noisy sums: the notebook's two schemes, and our pure and Gaussian releases; NOT PRIVATE."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from discreet.analyst.confidence_sets import ConfidenceSet
from discreet.papers.figure import Row
from discreet.papers.neunhoeffer.schemes import NORMAL_95, column_ranges, jiang_noise, many_lines, per_entry_noise
from discreet.papers.neunhoeffer.simulated import SLOPE, X_BOUNDS, Y_BOUNDS, notebook_table, sums_of_products
from discreet.testing import SummedTable, summed_table

if TYPE_CHECKING:
    from pandas import DataFrame

    from discreet import Fit
    from discreet.exact.arrays import FloatArray

Scheme = Literal["jiang", "per entry"]
DELTA: Final = 1e-6
# our lines, and the delta of each
OURS: Final = {"ours, pure": 0.0, "ours, Gaussian": DELTA}
DATA: Final = {"plain": False, "with outlier": True}


def table_of(x: FloatArray, y: FloatArray) -> SummedTable:
    """The sums of a table under our declared bounds, for seeded releases, NOT PRIVATE."""
    from discreet import Design

    return summed_table({"x": x, "y": y}, Design("y", {"y": Y_BOUNDS, "x": X_BOUNDS}))


@lru_cache(maxsize=2)
def notebook_sums(*, outlier: bool) -> SummedTable:
    """The same for the notebook's table, kept for the next cell of a process."""
    return table_of(*notebook_table(outlier=outlier))


def scheme_sums(
    scheme: Scheme, x: FloatArray, y: FloatArray, epsilon: float, rng: np.random.Generator, draws: int
) -> FloatArray:
    """Noisy sums of products by one of the notebook's schemes; NOT PRIVATE."""
    sums = sums_of_products(x, y)
    if scheme == "jiang":
        return jiang_noise(sums, epsilon, rng, draws)
    return per_entry_noise(sums, column_ranges(x, y), epsilon, rng, draws)


def scheme_rows(
    scheme: Scheme, x: FloatArray, y: FloatArray, epsilon: float, rng: np.random.Generator, draws: int, data: str = ""
) -> list[Row]:
    """A row for each noisy line of a scheme: slope, intercept, and whether slope ± 1.96 standard errors holds 3."""
    beta, errors = many_lines(scheme_sums(scheme, x, y, epsilon, rng, draws))
    rows = []
    for repeat, ((intercept, slope), error) in enumerate(zip(beta.tolist(), errors[:, 1].tolist(), strict=True)):
        known = math.isfinite(error)
        covers = known and abs(slope - SLOPE) <= NORMAL_95 * error
        width = 2 * NORMAL_95 * error
        rows.append(line_row(scheme, data, epsilon, repeat, slope, intercept, known=known, covers=covers, width=width))
    return rows


def our_row(
    table: SummedTable, line: str, epsilon: float, seed: int, repeat: int, data: str = "", truth: float = SLOPE
) -> Row:
    """The line of one of our releases, and whether the 95% set of the slope holds the truth; NOT PRIVATE."""
    from discreet import fit

    fitted = fit(table.release(seed=seed, epsilon=epsilon, delta=OURS[line]))
    intercept, slope = fitted.coefficients.tolist() if fitted.estimable else (math.nan, math.nan)
    found = slope_set(fitted)
    known, covers = found.bounded, found.contains(truth)
    width = found.upper - found.lower if known else math.inf
    return line_row(line, data, epsilon, repeat, slope, intercept, known=known, covers=covers, width=width)


def slope_set(fitted: Fit) -> ConfidenceSet:
    """The 95% set of the slope of x; every value where the release determines none."""
    found = fitted.conf_int()["x"]
    return found if isinstance(found, ConfidenceSet) else ConfidenceSet("everything")


def line_row(
    line: str,
    data: str,
    epsilon: float,
    repeat: int,
    slope: float,
    intercept: float,
    *,
    known: bool,
    covers: bool,
    width: float,
) -> Row:
    """One line of a figure.

    >>> line_row("jiang", "plain", 1.0, 0, 3.0, 2.0, known=True, covers=True, width=0.1)["value"]
    3.0
    """
    return {
        "panel": "lines",
        "line": line,
        "data": data,
        "epsilon": epsilon,
        "repeat": repeat,
        "value": slope,
        "intercept": intercept,
        "known": int(known),
        "covers": int(covers),
        "width": width,
    }


def lines(*, seed: int, scheme: Scheme, epsilon: float, repeats: int) -> list[Row]:
    """Lines of a scheme and of our releases at one epsilon, with and without the outlier."""
    rng = np.random.default_rng(seed)
    rows = []
    for data, outlier in DATA.items():
        x, y = notebook_table(outlier=outlier)
        rows += scheme_rows(scheme, x, y, epsilon, rng, repeats, data)
        table = notebook_sums(outlier=outlier)
        rows += [
            our_row(table, line, epsilon, int(rng.integers(2**62)), repeat, data)
            for line in OURS
            for repeat in range(repeats)
        ]
    return rows


def chosen(numbers: DataFrame, line: str, data: str = "plain", epsilon: float | None = None) -> DataFrame:
    """The rows of one kind of line."""
    mine = numbers[(numbers["panel"] == "lines") & (numbers["line"] == line) & (numbers["data"] == data)]
    return mine if epsilon is None else mine[mine["epsilon"] == epsilon]


def spreads(numbers: DataFrame, line: str, data: str = "plain") -> list[float]:
    """Width of the middle half of the slopes at every epsilon, in order; unknown slopes left out."""
    grouped = chosen(numbers, line, data).groupby("epsilon")["value"]
    return [float(width) for width in grouped.quantile(0.75) - grouped.quantile(0.25)]


def coverage(rows: DataFrame) -> float:
    """Share of the intervals that hold the true slope; for the notebook's lines among those that have errors."""
    counted = rows if str(rows["line"].iloc[0]) in OURS else rows[rows["known"] == 1]
    return float(counted["covers"].mean())
