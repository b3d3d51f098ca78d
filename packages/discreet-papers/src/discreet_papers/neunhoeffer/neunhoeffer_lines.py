"""Simulate the notebook's table, add its noise, and fit lines to noisy sums of products. NOT PRIVATE."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from discreet.analyst.confidence_sets import ConfidenceSet
from discreet.testing import SummedTable, summed_table
from discreet_papers.figure import Row

if TYPE_CHECKING:
    from pandas import DataFrame

    from discreet import Fit
    from discreet.exact.arrays import FloatArray

# -- simulated ---------------------------------------------------------------------------------------------------------
# The table of the notebook: 10,000 rows, y = 2 + 3 x + noise, x with standard deviation 2, and one outlier.

ROWS: Final = 10_000
INTERCEPT: Final = 2.0
SLOPE: Final = 3.0
OUTLIER: Final = (10.0, -4.0)  # y, x
SEED: Final = 20190430
# bounds declared for our releases, from public knowledge about the columns
X_BOUNDS: Final = (-10.0, 10.0)
Y_BOUNDS: Final = (-40.0, 40.0)


def notebook_table(seed: int = SEED, *, outlier: bool = False, rows: int = ROWS) -> tuple[FloatArray, FloatArray]:
    """Simulate the columns x and y, optionally with the outlier as last row.

    >>> x, y = notebook_table(outlier=True)
    >>> len(x), x[-1].item(), y[-1].item()
    (10001, -4.0, 10.0)
    """
    rng = np.random.default_rng(seed)
    x = rng.normal(0.0, 2.0, rows)
    y = INTERCEPT + SLOPE * x + rng.normal(0.0, 1.0, rows)
    if outlier:
        y, x = np.append(y, OUTLIER[0]), np.append(x, OUTLIER[1])
    return x, y


def sums_of_products(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return D'D for the table D = (y, 1, x), in the notebook's order.

    >>> sums_of_products(np.array([1.0, 2.0]), np.array([3.0, 4.0])).tolist()
    [[25.0, 7.0, 11.0], [7.0, 2.0, 3.0], [11.0, 3.0, 5.0]]
    """
    table = np.column_stack([y, np.ones_like(x), x])
    return table.T @ table


# -- schemes -----------------------------------------------------------------------------------------------------------
# The notebook's two schemes for adding Laplace noise to sums of products. NOT PRIVATE.
#
# Both claim epsilon. If one row is added, `jiang_noise`, with scale 2d/epsilon on every sum, spends epsilon times (sum
# of absolute products of the row)/(2d). This is sound for rows in the unit ball, but the notebook does not scale its
# rows. `per_entry_noise`, with scale range_i range_j/epsilon on every sum, spends the sum over all entries: 6 epsilon
# for columns in [0, 1]. Its ranges are the smallest and largest values of the data, which is another leak.

EPSILONS: Final = (0.01, 0.1, 0.3, 0.5, 0.7, 1.0, 5.0, 100_000.0)
PER_ENTRY_EPSILONS: Final = (*EPSILONS[:-1], 100.0)
NORMAL_95: Final = 1.959963984540054


def jiang_noise(sums: FloatArray, epsilon: float, rng: np.random.Generator, draws: int) -> FloatArray:
    """Add the notebook's noise after Jiang, Xie & Zhang (2015): (sums/n + Lap(2d/(n epsilon))) n. NOT PRIVATE."""
    d, n = len(sums), float(sums[1, 1])
    noise = _mirrored(rng.laplace(0.0, 2 * d / (n * epsilon), (draws, d * (d + 1) // 2)), d)
    return (sums / n + noise) * n


def column_ranges(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return the ranges of y, of the ones (taken as 1) and of x. They come from the data: NOT PRIVATE."""
    return np.array([np.ptp(y), 1.0, np.ptp(x)])


def per_entry_sensitivity(n: float, ranges: FloatArray) -> FloatArray:
    """Return the notebook's matrix of sensitivities, (n - 1)/n range_i range_j."""
    return np.asarray((n - 1) / n * np.outer(ranges, ranges))


def per_entry_noise(
    sums: FloatArray, ranges: FloatArray, epsilon: float, rng: np.random.Generator, draws: int
) -> FloatArray:
    """Add noise by a separate Laplace mechanism for every entry, each with the whole epsilon. NOT PRIVATE."""
    d = len(sums)
    scale = per_entry_sensitivity(float(sums[1, 1]), ranges)[np.triu_indices(d)] / epsilon
    return sums + _mirrored(rng.laplace(0.0, scale, (draws, len(scale))), d)


def _mirrored(triangle: FloatArray, d: int) -> FloatArray:
    """Build symmetric matrices from their upper triangles, row by row."""
    full = np.zeros((len(triangle), d, d))
    rows, columns = np.triu_indices(d)
    full[:, rows, columns] = triangle
    full[:, columns, rows] = triangle
    return full


def many_lines(noisy: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the notebook's coefficients and standard errors for many noisy matrices. NaN marks negative variances.

    >>> table = np.array([[1.0, 1, 0], [3.0, 1, 1], [4.0, 1, 2], [6.0, 1, 3]])
    >>> many_lines((table.T @ table)[None])[0].round(3).tolist()
    [[1.1, 1.6]]
    """
    inverse = np.linalg.inv(noisy[:, 1:, 1:])
    products = noisy[:, 1:, 0]
    beta = np.einsum("kij,kj->ki", inverse, products)
    rest = noisy[:, 0, 0] - np.einsum("ki,ki->k", products, beta)
    variance = rest / (noisy[:, 1, 1] - 2)
    with np.errstate(invalid="ignore"):
        return beta, np.sqrt(variance[:, None] * np.diagonal(inverse, axis1=1, axis2=2))


def jiang_loss(row: FloatArray, epsilon: float) -> FloatArray:
    """Return the exact loss of the first scheme if a row (y, 1, x) is added: sum over entries of |product|/scale.

    >>> jiang_loss(np.array([10.0, 1.0, -4.0]), 1.0).item()
    28.5
    """
    d = row.shape[-1]
    rows, columns = np.triu_indices(d)
    return np.asarray(epsilon * np.abs(row[..., rows] * row[..., columns]).sum(axis=-1) / (2 * d))


def per_entry_loss(low: FloatArray, high: FloatArray, epsilon: float, n: float, *, exchanged: bool = False) -> float:
    """Return the largest loss of the second scheme over rows at the corners of a box, if a row is added or replaced.

    A column with equal ends is the column of ones. A convex function on a box is largest at a corner.

    >>> round(per_entry_loss(np.array([0.0, 1, 0]), np.array([1.0, 1, 1]), 1.0, 1e9), 6)
    6.0
    """
    ranges = np.where(high == low, 1.0, high - low)
    rows, columns = np.triu_indices(len(low))
    scale = per_entry_sensitivity(n, ranges)[rows, columns] / epsilon
    corners = np.array(list(product(*zip(low, high, strict=True))))
    products = corners[:, rows] * corners[:, columns]
    moved = products[:, None] - products[None] if exchanged else products[:, None]
    return float((np.abs(moved) / scale).sum(axis=-1).max())


# -- lines -------------------------------------------------------------------------------------------------------------
# Regression lines from noisy sums: the notebook's two schemes, and our pure and Gaussian releases. NOT PRIVATE.

Scheme = Literal["jiang", "per entry"]
DELTA: Final = 1e-6
# our lines, each with its delta
OURS: Final = {"ours, pure": 0.0, "ours, Gaussian": DELTA}
DATA: Final = {"plain": False, "with outlier": True}


def table_of(x: FloatArray, y: FloatArray) -> SummedTable:
    """Compute the sums of a table under our declared bounds, for seeded releases. NOT PRIVATE."""
    from discreet import Design

    return summed_table({"x": x, "y": y}, Design("y", {"y": Y_BOUNDS, "x": X_BOUNDS}))


@lru_cache(maxsize=2)
def notebook_sums(*, outlier: bool) -> SummedTable:
    """Compute the sums of the notebook's table, cached within a process."""
    return table_of(*notebook_table(outlier=outlier))


def scheme_sums(
    scheme: Scheme, x: FloatArray, y: FloatArray, epsilon: float, rng: np.random.Generator, draws: int
) -> FloatArray:
    """Return noisy sums of products by one of the notebook's schemes. NOT PRIVATE."""
    sums = sums_of_products(x, y)
    if scheme == "jiang":
        return jiang_noise(sums, epsilon, rng, draws)
    return per_entry_noise(sums, column_ranges(x, y), epsilon, rng, draws)


def scheme_rows(
    scheme: Scheme, x: FloatArray, y: FloatArray, epsilon: float, rng: np.random.Generator, draws: int, data: str = ""
) -> list[Row]:
    """Return a row for each noisy line: slope, intercept, and whether slope ± 1.96 standard errors contains 3."""
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
    """Return the line of one of our releases, and whether its 95% set of the slope contains the truth. NOT PRIVATE."""
    from discreet import fit

    fitted = fit(table.release(seed=seed, epsilon=epsilon, delta=OURS[line]))
    intercept, slope = fitted.coefficients.tolist() if fitted.estimable else (math.nan, math.nan)
    found = slope_set(fitted)
    known, covers = found.bounded, found.contains(truth)
    width = found.upper - found.lower if known else math.inf
    return line_row(line, data, epsilon, repeat, slope, intercept, known=known, covers=covers, width=width)


def slope_set(fitted: Fit) -> ConfidenceSet:
    """Return the 95% set of the slope of x, which is the real line if the release does not determine the slope."""
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
    """Return one line of a figure as a row."""
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
    """Return lines of a scheme and of our releases at one epsilon, with and without the outlier."""
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
    """Return the rows of one kind of line."""
    mine = numbers[(numbers["panel"] == "lines") & (numbers["line"] == line) & (numbers["data"] == data)]
    return mine if epsilon is None else mine[mine["epsilon"] == epsilon]


def spreads(numbers: DataFrame, line: str, data: str = "plain") -> list[float]:
    """Return the interquartile range of the known slopes at every epsilon, in order."""
    grouped = chosen(numbers, line, data).groupby("epsilon")["value"]
    return [float(width) for width in grouped.quantile(0.75) - grouped.quantile(0.25)]


def coverage(rows: DataFrame) -> float:
    """Return the fraction of intervals that contain the true slope. Lines without standard errors are left out."""
    counted = rows if str(rows["line"].iloc[0]) in OURS else rows[rows["known"] == 1]
    return float(counted["covers"].mean())
