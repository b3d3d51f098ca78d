"""Figure: the notebook's table, and least squares from its sums of products."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.analyst.plots.style import COLOURS, GREY, PALE
from discreet.papers.drawing import legend, panels
from discreet.papers.figure import Cell, Criterion, Figure, Outcome, Row, Run
from discreet.papers.neunhoeffer.lines import DATA, OURS, notebook_sums, slope_set
from discreet.papers.neunhoeffer.ols import CovarianceFit, ols_cov
from discreet.papers.neunhoeffer.schemes import NORMAL_95
from discreet.papers.neunhoeffer.simulated import INTERCEPT, OUTLIER, SLOPE, notebook_table, sums_of_products

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture
    from pandas import DataFrame

EPSILON: Final = 1.0
SLOPES: Final = "Slope with 95% interval"
DIGITS: Final = "relative difference from statsmodels"


def _row(panel: str, line: str, value: float, low: float = np.nan, high: float = np.nan) -> Row:
    return {"panel": panel, "line": line, "epsilon": EPSILON, "repeat": 0, "value": value, "low": low, "high": high}


def against_statsmodels(fit: CovarianceFit, x: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Largest relative difference of every number of `ols_cov` from statsmodels' OLS on the rows.

    >>> x, y = notebook_table(rows=200)
    >>> max(against_statsmodels(ols_cov(sums_of_products(x, y)), x, y).values()) < 1e-10
    True
    """
    from statsmodels.api import OLS, add_constant  # type: ignore[import-untyped]  # it has no types

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
    # p-values underflow to 0 in both: a difference of 0
    return {
        name: float(np.max(np.abs(np.asarray(ours) - theirs) / np.maximum(np.abs(theirs), 1e-300)))
        for name, (ours, theirs) in pairs.items()
    }


def fits(*, seed: int) -> list[Row]:
    """Least squares with and without the outlier, its difference from statsmodels, and our releases at epsilon = 1."""
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


def _draw(numbers: DataFrame, run: Run) -> Picture:
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
    draw=_draw,
    choices=("Our releases at epsilon = 1 declare x in [-10, 10] and y in [-40, 40]; delta = 1e-6 for the Gaussian.",
             "The notebook makes the table with the outlier and never uses it; here it is fitted too."),
)  # fmt: skip
