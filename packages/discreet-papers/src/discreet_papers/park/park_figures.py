"""Reproduce the experiment of the note and its figure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.analyst.model import fit
from discreet.design.design import Design
from discreet.exact.arrays import FloatArray
from discreet.testing import seeded_release
from discreet_papers.drawing import legend, nested, panels, style
from discreet_papers.figure import Cell, Criterion, Figure, Outcome, Row, Run
from discreet_papers.methods import READER, reader_model, reader_predictions
from discreet_papers.park.park_algorithm import (
    COLUMNS,
    Noise,
    Simulated,
    advanced_level,
    basic_level,
    cdp_epsilon,
    cdp_level,
    equal_level,
    gaussian_multiplier,
    reweighted,
    ruled_out,
    ruled_out_probability,
    simulated,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture
    from pandas import DataFrame

# -- experiment --------------------------------------------------------------------------------------------------------
# The note's experiment: test log-likelihood per point of every line, on simulated tables of growing size.

EPSILON: Final = 0.9
FAILURE: Final = 1e-6
ITERATIONS: Final = (10, 30)
CAPS: Final = (10.0, 1.0, 100.0)

GAUSSIAN, LAPLACE, BASIC, ADVANCED = "CDP-Gaussian", "CDP-Laplace", "basic", "advanced"
EXACT, LEAST_SQUARES = "non-private IRLS", "least squares"
OURS, PURE = "irls of discreet", "irls of discreet without delta"
# two kinds of panels with the same lines: epsilon as in each theorem of the note, or the same (epsilon, delta) for all
WRITTEN, EQUAL = "as written", "equal (epsilon, delta)"

LEVELS: Final = (0.03, 0.1, 0.3, 1.0, 3.0)


def panel_name(kind: str, iterations: int, cap: float) -> str:
    """Return the name of a panel from its kind, number of iterations and weight cap."""
    return f"{kind}, J = {iterations}, weights up to {cap:g}"


def noises(kind: str, iterations: int, cap: float) -> dict[str, Noise]:
    """Return the noise of every private line of a panel.

    As written, a Gaussian first moment has the noise of (level, delta)-DP. At equal (epsilon, delta) it has the noise
    of level^2/2-zCDP, which is sufficient for concentrated composition.

    >>> round(noises(WRITTEN, 10, 10.0)["CDP-Laplace"].level, 2), round(noises(EQUAL, 10, 10.0)["basic"].level, 3)
    (0.3, 0.045)
    """
    pieces = 2 * iterations
    if kind == WRITTEN:
        concentrated, multiplier = cdp_level(EPSILON, pieces), gaussian_multiplier(FAILURE)
    else:
        concentrated, multiplier = equal_level(EPSILON, FAILURE, pieces), 1.0
    return {
        GAUSSIAN: Noise(cap, concentrated, "gaussian", multiplier),
        LAPLACE: Noise(cap, concentrated),
        BASIC: Noise(cap, basic_level(EPSILON, pieces)),
        ADVANCED: Noise(cap, advanced_level(EPSILON, FAILURE, pieces)),
    }


def likelihoods(seed: int, *, rows: int, sets: int, method: str | None = None) -> list[Row]:
    """Compute every line of every panel on `sets` simulated tables of this size."""
    found: list[Row] = []
    for repeat in range(sets):
        rng = np.random.default_rng([seed, repeat])
        table = simulated(rows, rng)
        values = [
            (panel, line, table.log_likelihood(table.test_x @ theta))
            for panel, line, theta in (*_theirs(table, rng), *_ours(table, int(rng.integers(2**31))))
        ]
        if method is not None:
            value = table.log_likelihood(_readers(table, method))
            values += [(panel, READER, value) for panel in dict.fromkeys(panel for panel, _, _ in values)]
        name = f"{seed}-{repeat}"
        found += [
            {"panel": panel, "line": line, "n": rows, "repeat": name, "value": value} for panel, line, value in values
        ]
    return found


def _readers(table: Simulated, method: str) -> FloatArray:
    """Predict with a user's method at (epsilon, delta), with bounds that contain the unit ball."""
    model = reader_model(method, table.x, table.y, epsilon=EPSILON, delta=FAILURE)
    return reader_predictions(model, table.test_x)


def _theirs(table: Simulated, rng: np.random.Generator) -> Iterable[tuple[str, str, FloatArray]]:
    """Compute the lines of the note. At equal (epsilon, delta), basic and advanced composition coincide."""
    straight = np.asarray(np.linalg.solve(table.x.T @ table.x, table.x.T @ table.y), dtype=float)
    for iterations in ITERATIONS:
        runs: dict[tuple[str, str], Noise] = {}
        for cap in CAPS:
            for kind in (WRITTEN, EQUAL):
                panel = panel_name(kind, iterations, cap)
                runs |= {(panel, line): noise for line, noise in noises(kind, iterations, cap).items()}
                runs[panel, EXACT] = Noise(cap)
        different = list(dict.fromkeys(runs.values()))
        last = reweighted(table.x, table.y, different, iterations, rng)[-1]
        for (panel, line), noise in runs.items():
            yield panel, line, last[different.index(noise)]
        for panel in dict.fromkeys(panel for panel, _ in runs):
            yield panel, LEAST_SQUARES, straight


def _ours(table: Simulated, seed: int) -> Iterable[tuple[str, str, FloatArray]]:
    """Compute our robust regression at (epsilon, delta) and (epsilon, 0), with J iterations and the same threshold."""
    names = [f"x{column}" for column in range(COLUMNS)]
    design = Design("y", {**dict.fromkeys(names, (-1, 1)), "y": (-1, 1)}, radius=1.0, intercept=False)
    data = {**dict(zip(names, table.x.T, strict=True)), "y": table.y}
    for iterations in ITERATIONS:
        for cap in CAPS:
            for line, delta in ((OURS, FAILURE), (PURE, 0.0)):
                release = seeded_release(
                    data,
                    design,
                    seed=seed,
                    epsilon=EPSILON,
                    delta=delta,
                    mechanism="irls",
                    settings={"iterations": iterations, "threshold": 1 / cap},
                )
                theta = np.array(fit(release).coefficients)
                for kind in (WRITTEN, EQUAL):
                    yield panel_name(kind, iterations, cap), line, theta


def levels(seed: int, *, most: int) -> list[Row]:
    """Return the level of a noisy moment by composition rule and number of iterations. Nothing is drawn."""
    del seed
    found: list[Row] = []
    for iterations in range(1, most + 1):
        pieces = 2 * iterations
        rules = {
            BASIC: basic_level(EPSILON, pieces),
            ADVANCED: advanced_level(EPSILON, FAILURE, pieces),
            WRITTEN: cdp_level(EPSILON, pieces),
            EQUAL: equal_level(EPSILON, FAILURE, pieces),
        }
        found += [
            {"panel": "level", "line": rule, "iterations": iterations, "repeat": "0", "value": value}
            for rule, value in rules.items()
        ]
    return found


def wishart(seed: int, *, draws: int) -> list[Row]:
    """Return the fraction of noisy second moments that rule out a neighbouring table, and its probability."""
    rng = np.random.default_rng(seed)
    found: list[Row] = []
    for level in LEVELS:
        share = ruled_out(level, draws, rng) / draws
        for line, value in (("measured", share), ("1 - exp(-level)", ruled_out_probability(level))):
            found.append({"panel": "wishart", "line": line, "level": level, "repeat": "0", "value": value})
    return found


# -- figures -----------------------------------------------------------------------------------------------------------
# The only figure of the note, with additional panels for other caps, equal budgets, noise levels and the Wishart claim.

SIZES: Final = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
LINES: Final = (GAUSSIAN, LAPLACE, BASIC, ADVANCED, EXACT, LEAST_SQUARES, OURS, PURE, READER)
# number of tables of each size: in a full run, in a quick run, and in one cell
SETS: Final = dict.fromkeys(SIZES, 20) | {1_000_000: 5}
QUICK_SETS: Final = {1_000: 20, 3_000: 20, 10_000: 20, 30_000: 6, 100_000: 4, 300_000: 2, 1_000_000: 2}
SETS_PER_CELL: Final = {1_000: 20, 3_000: 20, 10_000: 10, 30_000: 4, 100_000: 2, 300_000: 1, 1_000_000: 1}
MOST_ITERATIONS: Final = 60
DRAWS: Final = 5_000
LARGEST_ORDERED: Final = 100_000


def _cells(run: Run) -> Sequence[Cell]:
    sets = QUICK_SETS if run.quick else SETS
    cells = [Cell("levels", levels, {"most": MOST_ITERATIONS}), Cell("wishart", wishart, {"draws": DRAWS})]
    for rows in SIZES:
        for first in range(0, sets[rows], SETS_PER_CELL[rows]):
            count = min(SETS_PER_CELL[rows], sets[rows] - first)
            given = {"rows": rows, "sets": count, "method": run.method}
            cells.append(Cell(f"{rows}-rows-{first}", likelihoods, given))
    return cells


def medians(numbers: DataFrame, kind: str, iterations: int, cap: float = CAPS[0]) -> DataFrame:
    """Tabulate the median log-likelihood over tables: a row per compared size, a column per line."""
    inside = numbers[(numbers["panel"] == panel_name(kind, iterations, cap)) & (numbers["n"] <= LARGEST_ORDERED)]
    return inside.pivot_table(index="n", columns="line", values="value", aggfunc="median")


def _above(
    numbers: DataFrame, kind: str, higher: Sequence[str], lower: Sequence[str], iterations: Sequence[int] = ITERATIONS
) -> Outcome:
    """Check whether all higher lines are above all lower lines at every size and number of iterations."""
    held, cases, least = 0, 0, math.inf
    for count in iterations:
        table = medians(numbers, kind, count)
        if table.empty or not {*higher, *lower} <= set(table.columns):
            return Outcome(None, "lines are missing")
        gaps = table[list(higher)].min(axis=1) - table[list(lower)].max(axis=1)
        held, cases, least = held + int((gaps > 0).sum()), cases + len(gaps), min(least, float(gaps.min()))
    return Outcome(held == cases, f"{held} of {cases} sizes, smallest distance {least:.3g}")


def _cdp_above(numbers: DataFrame) -> Outcome:
    return _above(numbers, WRITTEN, (GAUSSIAN, LAPLACE), (BASIC, ADVANCED))


def _ours_above(numbers: DataFrame) -> Outcome:
    return _above(numbers, WRITTEN, (OURS,), (GAUSSIAN, LAPLACE, BASIC, ADVANCED))


def _level_table(numbers: DataFrame) -> DataFrame | None:
    inside = numbers[numbers["panel"] == "level"]
    table = inside.pivot_table(index="iterations", columns="line", values="value")
    known = {BASIC, ADVANCED, WRITTEN, EQUAL} <= set(table.columns) and set(ITERATIONS) <= set(table.index)
    return table if known else None


def _advanced_level(numbers: DataFrame) -> Outcome:
    table = _level_table(numbers)
    if table is None:
        return Outcome(None, "levels are missing")
    better = table.index[table[ADVANCED] > table[BASIC]]
    few, many = (table.loc[count] for count in ITERATIONS)
    measured = (
        f"advanced and basic {few[ADVANCED]:.4f} and {few[BASIC]:.4f} at J = {ITERATIONS[0]}, {many[ADVANCED]:.4f} and "
        f"{many[BASIC]:.4f} at J = {ITERATIONS[1]}; advanced above from J = {min(better, default=math.inf):g} on"
    )
    return Outcome(bool(ITERATIONS[1] in better and min(better) > math.log(1 / FAILURE)), measured)


def _like_for_like(numbers: DataFrame) -> Outcome:
    table = _level_table(numbers)
    if table is None:
        return Outcome(None, "levels are missing")
    ratios = [float(table.loc[count, EQUAL] / table.loc[count, BASIC]) for count in ITERATIONS]
    claimed = [float(table.loc[count, WRITTEN] / table.loc[count, BASIC]) for count in ITERATIONS]
    measured = ", ".join(
        f"J = {count}: {ratio:.2f} times basic (as written {much:.1f})"
        for count, ratio, much in zip(ITERATIONS, ratios, claimed, strict=True)
    )
    return Outcome(min(ratios) >= 2, measured)


def _wishart_kept(numbers: DataFrame) -> Outcome:
    inside = numbers[(numbers["panel"] == "wishart") & (numbers["line"] == "measured")]
    if inside.empty:
        return Outcome(None, "draws are missing")
    shares = ", ".join(f"{row.value:.3f} at {row.level:g}" for row in inside.sort_values("level").itertuples())
    return Outcome(bool((inside["value"] == 0).all()), f"a neighbour is ruled out in a share of {shares}")


CRITERIA: Final = (
    Criterion(
        "cdp-above",
        "Both CDP lines are above basic and advanced composition at every N up to 100,000, for J = 10 and 30, in the "
        "median over tables.",
        _cdp_above,
        "differs",
        "The simulated tables scatter, and these two lines crossed.",
    ),
    Criterion(
        "advanced-level",
        "The level of advanced composition is above that of basic composition at J = 30, and nowhere up to "
        "log(1/delta) = 13.8.",
        _advanced_level,
        "differs",
        "The levels follow from the theorems alone, so another budget was used.",
    ),
    Criterion(
        "like-for-like",
        "At the same (0.9, 1e-6) CDP allows at least twice the level of basic composition.",
        _like_for_like,
        "refuted",
        f"0.9-CDP is ({cdp_epsilon(EPSILON, FAILURE):.1f}, 1e-6)-DP and was compared with 0.9-DP; at equal "
        "(epsilon, delta) its levels are those of basic composition at J = 10.",
    ),
    Criterion(
        "wishart",
        "Wishart noise with d + 1 degrees of freedom keeps its level, so that no draw rules out a neighbouring table.",
        _wishart_kept,
        "refuted",
        "A noisy matrix minus that of a table with one row more is indefinite with probability 1 - exp(-level), and "
        "then that table is ruled out: no epsilon holds.",
    ),
    Criterion(
        "sound",
        "Our irls at a true (0.9, 1e-6) is above every private line of the note at every N up to 100,000.",
        _ours_above,
        "differs",
        "The corrected mechanism did not win everywhere.",
    ),
)


def _labels() -> dict[str, str]:
    pair = f"({EPSILON:g}, {FAILURE:g})"
    broken = "true epsilon infinite (Wishart)"
    cdp = f"claimed {EPSILON:g}-CDP = ({cdp_epsilon(EPSILON, FAILURE):.1f}, {FAILURE:g}), right half {pair}; {broken}"
    return {
        GAUSSIAN: f"{GAUSSIAN}: {cdp}",
        LAPLACE: f"{LAPLACE}: {cdp}",
        BASIC: f"basic composition, Laplace: claimed ({EPSILON:g}, 0); {broken}",
        ADVANCED: f"advanced composition, Laplace: claimed {pair}; {broken}",
        EXACT: EXACT,
        LEAST_SQUARES: LEAST_SQUARES,
        OURS: f"{OURS}: true {pair}",
        PURE: f"{PURE}: true ({EPSILON:g}, 0)",
        READER: f"{READER}: {pair}",
    }


def _draw(numbers: DataFrame, run: Run) -> Picture:
    del run
    grid = [(kind, count, cap) for cap in CAPS for kind in (WRITTEN, EQUAL) for count in ITERATIONS]
    titles = [panel_name(*one) for one in grid] + ["Level of a piece", "Wishart noise: a neighbour is ruled out"]
    picture, axes = panels(titles, across=4)
    labels = _labels()
    for panel, title in zip(axes, titles[: len(grid)], strict=False):
        inside = numbers[numbers["panel"] == title]
        for position, line in enumerate(LINES):
            mine = inside[inside["line"] == line]
            if mine.empty:
                continue
            grouped = mine.groupby("n")["value"]
            middle = grouped.median()
            look = nested(style(position), position, len(LINES))
            panel.plot(middle.index, middle.to_numpy(), label=labels[line], **look)
            low, high = grouped.quantile(0.2), grouped.quantile(0.8)
            panel.fill_between(middle.index, low, high, color=look["color"], alpha=0.12, linewidth=0)
        panel.set_xscale("log")
        _likelihood_scale(panel)
        panel.set_xlabel("training rows N")
        panel.set_ylabel("test log-likelihood per point")
    _draw_levels(axes[-2], numbers)
    _draw_wishart(axes[-1], numbers)
    legend(picture, axes[: len(grid)], columns=2)
    return picture


def _likelihood_scale(axes: Axes) -> None:
    """Use a scale that is linear around the noiseless fit and logarithmic below it."""
    axes.set_yscale("symlog", linthresh=3)
    lowest = min(axes.get_ylim()[0], -10.0)
    powers = range(1, math.ceil(math.log10(-lowest)) + 1)
    ticks = [2.0, -2.0, *(-(10.0**power) for power in powers)]
    axes.set_yticks(ticks, [f"{tick:g}" if abs(tick) < 1e3 else f"-1e{math.log10(-tick):.0f}" for tick in ticks])
    axes.minorticks_off()
    axes.set_ylim(lowest, 4.0)


def _legend_below(axes: Axes) -> None:
    """Place the legend of one panel outside its data."""
    axes.legend(fontsize=7.5, frameon=False, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.22))


def _draw_levels(axes: Axes, numbers: DataFrame) -> None:
    inside = numbers[numbers["panel"] == "level"].sort_values("iterations")
    for position, (rule, name) in enumerate(
        ((WRITTEN, "CDP as written"), (EQUAL, "CDP at (0.9, 1e-6)"), (BASIC, "basic"), (ADVANCED, "advanced"))
    ):
        mine = inside[inside["line"] == rule]
        axes.plot(mine["iterations"], mine["value"], label=name, **{**style(position), "marker": ""})
    axes.axvline(math.log(1 / FAILURE), color="0.5", linewidth=0.8)
    axes.set_yscale("log")
    axes.set_xlabel("iterations J (2J pieces); grey line: log(1/delta)")
    axes.set_ylabel("epsilon of a piece")
    _legend_below(axes)


def _draw_wishart(axes: Axes, numbers: DataFrame) -> None:
    inside = numbers[numbers["panel"] == "wishart"].sort_values("level")
    for position, line in enumerate(("measured", "1 - exp(-level)")):
        mine = inside[inside["line"] == line]
        look = {**style(position), "linestyle": "none"} if line == "measured" else {**style(position), "marker": ""}
        axes.plot(mine["level"], mine["value"], label=line, **look)
    axes.set_xscale("log")
    axes.set_xlabel("claimed epsilon of the noisy second moment")
    axes.set_ylabel("probability")
    _legend_below(axes)


FIGURES: Final = (
    Figure(
        name="park-1",
        document="park",
        title="Test log-likelihood of private reweighted least squares against the number of rows",
        says="Reweighted least squares under concentrated differential privacy needs far fewer rows than under basic "
        "or advanced composition, for the same expected privacy loss of 0.9.",
        cells=_cells,
        criteria=CRITERIA,
        draw=_draw,
        predictions=True,
        choices=(
            "The weight cap, which the note calls delta, is 10; additional panels show 1 and 100.",
            "The failure probability, also called delta, is 1e-6; J is 10 and 30.",
            "There are N/10 test rows in addition to the training rows; norms are taken over both.",
            "The first pass has equal weights, as in Algorithm 1; the loop and equation (2) follow from the second on.",
            "Basic and advanced composition add Laplace noise to the first moment.",
            "The likelihood is normal with the true variance; lines are medians over tables, bands their 20% to 80%.",
            "There are 20 tables of each size and five of 1,000,000 rows.",
            "irls of discreet runs in its score form with J iterations and threshold 1/cap.",
        ),
    ),
)
