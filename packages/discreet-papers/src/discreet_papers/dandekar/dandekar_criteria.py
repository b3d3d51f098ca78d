"""Criteria for the figures of the report: inequalities fixed before the run.

The numbers have a row for each run: panel (table), regression, line, penalty, epsilon, repeat, strength, refused and
value, the root mean squared error on test rows. If the solver refused a problem, there is no value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from discreet_papers.dandekar.dandekar_experiment import CORRECTED, NOT_PRIVATE, OURS, WRITTEN, ZERO
from discreet_papers.dandekar.dandekar_methods import LAMBDAS, REGRESSIONS
from discreet_papers.figure import Criterion, Outcome

if TYPE_CHECKING:
    from pandas import DataFrame, Series

Check: TypeAlias = "Callable[[DataFrame], Outcome]"
SOLVED: Final = 0.95
OUTLIERS: Final = 0.05
NEAR: Final = 1.10
CONVEX_SOLVED: Final = ("LASSO", "elastic net")
REGULARISED: Final = ("ridge", "LASSO", "elastic net")
_WHISKER: Final = 1.5  # interquartile ranges


def _judged(key: str, claim: str, check: Check, otherwise: Literal["differs", "refuted"], why: str) -> Criterion:
    """Return a criterion whose outcome is open if the figure has no numbers."""

    def checked(numbers: DataFrame) -> Outcome:
        return Outcome(None, "the table is missing") if numbers.empty else check(numbers)

    return Criterion(key, claim, checked, otherwise, why)


def lines_of(numbers: DataFrame, line: str, regressions: Sequence[str], penalty: str | None = None) -> DataFrame:
    """Return the rows of one line and some regressions that have a value."""
    mine = numbers[(numbers["line"] == line) & numbers["regression"].isin(regressions)]
    return (mine if penalty is None else mine[mine["penalty"] == penalty]).dropna(subset="value")


def _by(numbers: DataFrame, how: str) -> Series:
    """Aggregate the values by table, regression and budget."""
    return numbers.groupby(["panel", "regression", "epsilon"])["value"].agg(how)


def _ends(table: Series) -> tuple[Series, Series]:
    """Return the values at the smallest and at the largest budget, by table and regression."""
    first = table.index.get_level_values("epsilon")
    lowest = table[first == table.groupby("panel").transform(_least)]
    highest = table[first == table.groupby("panel").transform(_most)]
    return lowest.droplevel("epsilon"), highest.droplevel("epsilon")


def _least(part: Series) -> float:
    return float(part.index.get_level_values("epsilon").min())


def _most(part: Series) -> float:
    return float(part.index.get_level_values("epsilon").max())


def _where(index: object) -> str:
    return ", ".join(
        f"{one:.3g}" if isinstance(one, float) else str(one) for one in np.atleast_1d(np.asarray(index, object))
    )


def largest_of(ratios: Series, most: float, what: str) -> Outcome:
    """Check that no ratio is above a limit, and report the largest ratio."""
    known = ratios.dropna()
    if known.empty:
        return Outcome(None, f"no {what}")
    return Outcome(bool((known <= most).all()), f"largest {what} {known.max():.3g} ({_where(known.idxmax())})")


def solved(numbers: DataFrame) -> Outcome:
    """Return the smallest fraction of runs in which the convex solver accepts the noisy LASSO and elastic net."""
    mine = numbers[(numbers["line"] == WRITTEN) & numbers["regression"].isin(CONVEX_SOLVED)]
    if mine.empty:
        return Outcome(None, "no runs")
    share = 1 - mine.groupby(["panel", "regression", "epsilon"])["refused"].mean()
    return Outcome(bool((share >= SOLVED).all()), f"least share solved {share.min():.0%} ({_where(share.idxmin())})")


def outliers(numbers: DataFrame) -> Outcome:
    """Return the fraction of solved runs of the functional elastic net that lie beyond the whiskers of its box."""
    grouped = lines_of(numbers, WRITTEN, ["elastic net"]).groupby(["panel", "epsilon"])["value"]
    low, high = grouped.transform("quantile", 0.25), grouped.transform("quantile", 0.75)
    values = grouped.transform(lambda part: part)
    if values.empty:
        return Outcome(None, "no run was solved")
    whisker = _WHISKER * (high - low)
    share = float(((values > high + whisker) | (values < low - whisker)).mean())
    return Outcome(share >= OUTLIERS, f"{share:.1%} of {len(values)} solved runs")


def noise_costs(numbers: DataFrame) -> Outcome:
    """Compare the median error of each regression without noise with the median as written."""
    ratios = _by(lines_of(numbers, NOT_PRIVATE, REGRESSIONS), "median") / _by(
        lines_of(numbers, WRITTEN, REGRESSIONS), "median"
    )
    return largest_of(ratios, 1.005, "ratio of non-private to as written")


def approaches(numbers: DataFrame) -> Outcome:
    """Compare the median error as written with the median without noise, at the largest budget."""
    _, written = _ends(_by(lines_of(numbers, WRITTEN, REGRESSIONS), "median"))
    _, exact = _ends(_by(lines_of(numbers, NOT_PRIVATE, REGRESSIONS), "median"))
    # a regression that the solver refuses at the largest budget has no limit
    return largest_of((written.reindex(exact.index) / exact).fillna(np.inf), NEAR, "ratio at the largest budget")


def falls(numbers: DataFrame) -> Outcome:
    """Compare the median errors of ridge and linear regression as written, at the largest and the smallest budget."""
    low, high = _ends(_by(lines_of(numbers, WRITTEN, ["linear", "ridge"]), "median"))
    return largest_of(high / low, 0.999, "ratio of largest to smallest budget")


def sound_is_safe(numbers: DataFrame) -> Outcome:
    """Compare the median errors of the corrected regressions and of ours with the error of theta = 0."""
    sound = [_by(lines_of(numbers, line, REGRESSIONS), "median") for line in (CORRECTED, OURS)]
    zero = lines_of(numbers, ZERO, REGRESSIONS).groupby(["panel", "epsilon"])["value"].median()
    ratios = [one / zero.reindex(one.index.droplevel("regression")).to_numpy() for one in sound]
    both = [largest_of(one, 1.5, "ratio to theta = 0") for one in ratios]
    if any(one.holds is None for one in both):
        return Outcome(None, "no runs")
    return Outcome(all(one.holds for one in both), "; ".join(one.measured for one in both))


def ours_has_no_outlier(numbers: DataFrame) -> Outcome:
    """Compare the largest error of our elastic net with the median error of theta = 0."""
    ours = _by(lines_of(numbers, OURS, ["elastic net"]), "max")
    zero = _by(lines_of(numbers, ZERO, ["elastic net"]), "median")
    return largest_of(ours / zero, 3.0, "ratio of a single run to theta = 0")


def variance_without_noise(numbers: DataFrame) -> Outcome:
    """Compare the variance of each regression without noise with ridge as written, at the smallest budget."""
    exact = _by(lines_of(numbers, NOT_PRIVATE, REGRESSIONS, "cv"), "var")
    noisy, _ = _ends(_by(lines_of(numbers, WRITTEN, ["ridge"], "cv"), "var"))
    scale = noisy.droplevel("regression")
    return largest_of(exact / scale.reindex(exact.index.get_level_values("panel")).to_numpy(), 0.01, "ratio")


def variance_falls(numbers: DataFrame) -> Outcome:
    """Compare the variances of regularised regressions as written, at the largest and smallest budget that have one."""
    table = _by(lines_of(numbers, WRITTEN, REGULARISED, "cv"), "var").dropna()
    if table.empty:
        return Outcome(None, "no variances")
    pairs = table.groupby(["panel", "regression"]).agg(["first", "last", "size"])
    pairs = pairs[pairs["size"] > 1]
    return largest_of(pairs["last"] / pairs["first"], 0.1, "ratio of largest to smallest budget")


def linear_is_less_stable(numbers: DataFrame, penalty: str) -> Outcome:
    """Return the fraction of tables and budgets at which linear regression as written varies twice as much as ridge."""
    linear, ridge = (
        lines_of(numbers, WRITTEN, [one], penalty).groupby(["panel", "epsilon"])["value"].var()
        for one in ("linear", "ridge")
    )
    more = (linear / ridge).dropna()
    if more.empty:
        return Outcome(None, "no variances")
    share = float((more >= 2).mean())
    return Outcome(share > 0.5, f"at {share:.0%} of tables and budgets, median ratio {more.median():.3g}")


def chosen_inside(numbers: DataFrame) -> Outcome:
    """Return the fraction of runs in which cross-validation chooses a lambda inside the grid."""
    chosen = lines_of(numbers, NOT_PRIVATE, REGULARISED, "cv")["strength"]
    if chosen.empty:
        return Outcome(None, "no runs")
    share = float(chosen.between(1.001 * LAMBDAS[0], 0.999 * LAMBDAS[-1]).mean())
    return Outcome(share >= 0.5, f"{share:.0%} of choices are inside, median lambda {chosen.median():.3g}")


def functional_beats_histogram(numbers: DataFrame, line: str, most: float) -> Outcome:
    """Compare the mean error of each regularised functional regression with the histogram, at every budget."""
    mine = _by(lines_of(numbers, line, REGULARISED), "mean")
    baseline = lines_of(numbers, line, ["DPME"]).groupby(["panel", "epsilon"])["value"].mean()
    if mine.empty or baseline.empty:
        return Outcome(None, "no runs")
    ratios = mine / baseline.reindex(mine.index.droplevel("regression")).to_numpy()
    return largest_of(ratios, most, "ratio of functional to DPME")


def histogram_is_stable(numbers: DataFrame) -> Outcome:
    """Compare the standard deviations of the errors of histogram and functional ridge, at the smallest budget."""
    baseline, _ = _ends(_by(lines_of(numbers, WRITTEN, ["DPME"]), "std"))
    mine, _ = _ends(_by(lines_of(numbers, WRITTEN, ["ridge"]), "std"))
    return largest_of(
        baseline.droplevel("regression") / mine.droplevel("regression"), 0.5, "ratio of standard deviations"
    )


_REFUSED = "The noisy loss is not convex there; CVXPY refuses it, and the report does not say what it solved instead."
SOLVED_EVERYWHERE: Final = _judged(
    "solved",
    f"CVXPY solves the noisy LASSO and elastic net in at least {SOLVED:.0%} of runs at every budget",
    solved,
    "refuted",
    _REFUSED,
)
BOX: Final = (
    _judged(
        "outliers",
        f"at least {OUTLIERS:.0%} of the runs of the functional elastic net lie beyond {_WHISKER} interquartile ranges",
        outliers,
        "differs",
        "Runs that would be outliers are refused by the solver.",
    ),
    SOLVED_EVERYWHERE,
    _judged(
        "ours",
        "no run of our elastic net has more than 3 times the error of theta = 0",
        ours_has_no_outlier,
        "differs",
        "The release of the library has outliers too.",
    ),
)
COMPARISON: Final = (
    _judged(
        "cost",
        "at every budget each functional regression as written has a larger median error than without noise",
        noise_costs,
        "differs",
        "Noise does not cost accuracy there.",
    ),
    _judged(
        "falls",
        "the median error of functional linear and ridge regression is smaller at the largest budget than at the least",
        falls,
        "differs",
        "The error does not fall with the budget.",
    ),
    _judged(
        "approaches",
        f"at the largest budget each functional regression is within {NEAR - 1:.0%} of the one without noise",
        approaches,
        "refuted",
        "The noise is still larger than the smallest eigenvalue of X'X at the largest budget.",
    ),
    SOLVED_EVERYWHERE,
    _judged(
        "corrected",
        "the corrected regressions and ours have at most 1.5 times the median error of theta = 0 at every budget",
        sound_is_safe,
        "differs",
        "The repairs do not keep the error bounded.",
    ),
)
VARIANCE: Final = (
    _judged(
        "non-private",
        "regressions without noise vary less than a hundredth as much as functional ridge at the least budget",
        variance_without_noise,
        "differs",
        "The splits alone vary as much.",
    ),
    _judged(
        "falls",
        "the variance of each regularised functional regression at the largest budget is at most a tenth of that "
        "at the least budget where it has one",
        variance_falls,
        "refuted",
        "A closed form on an indefinite matrix is no minimum: its error has no finite variance to fall.",
    ),
    _judged(
        "linear",
        "functional linear regression varies at least twice as much as functional ridge at most tables and budgets",
        lambda numbers: linear_is_less_stable(numbers, "cv"),
        "refuted",
        "Cross-validation chooses a lambda far below the noise, so functional ridge is functional linear regression.",
    ),
    _judged(
        "linear at n/100",
        "the same at lambda = n/100",
        lambda numbers: linear_is_less_stable(numbers, "n/100"),
        "differs",
        "A penalty of n/100 does not outweigh the noise.",
    ),
    _judged(
        "lambda",
        "cross-validation chooses a lambda inside the 13 values, not on an edge, in at least half of the runs",
        chosen_inside,
        "differs",
        "With thousands of rows and few columns next to no penalty is best; it is the noise that would need one.",
    ),
)
BASELINES: Final = (
    _judged(
        "functional",
        "at every budget each regularised functional regression as written has a smaller mean error than DPME",
        lambda numbers: functional_beats_histogram(numbers, WRITTEN, 1.0),
        "refuted",
        "At small budgets the noisy loss has no minimum, and what is returned is worse than theta = 0.",
    ),
    _judged(
        "corrected",
        "with both corrected, the mean error of each regularised functional regression is at most 1.02 times DPME's",
        lambda numbers: functional_beats_histogram(numbers, CORRECTED, 1.02),
        "differs",
        "The histogram is better there.",
    ),
    _judged(
        "stable",
        "at the least budget the errors of DPME have at most half the standard deviation of functional ridge",
        histogram_is_stable,
        "differs",
        "The histogram varies as much.",
    ),
)
