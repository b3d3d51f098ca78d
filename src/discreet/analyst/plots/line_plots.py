"""Line plots of paths and plans."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.analyst.plots.coefficient_plots import (
    MOST_LINES,
    Effect,
    Panel,
    around_zero,
    forest,
    layout,
    most,
    wide_shape,
)
from discreet.analyst.plots.style import (
    COLOURS,
    DASHES,
    LIGHT,
    SMALL,
    apart,
    below_head,
    budget_words,
    head,
    heading,
    house_style,
    key_line,
    place,
    quiet_axis,
    release_line,
    shortened,
    text_width,
    words,
)
from discreet.errors import SpecError
from discreet.exact.arrays import FloatArray
from discreet.number_text import axis_number, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from discreet.analyst.path import Path
    from discreet.analyst.planning.expected import Plan, PlannedCoefficient

# -- lines -------------------------------------------------------------------------------------------------------------
# Lines labelled at their right ends.

MOST_NAMES: Final = 24  # lines with a name and a colour; the others are grey
_LETTERS: Final = 30
_WIDTH, _HEIGHT, _STEP = 820.0, 380.0, 17.0
_ROOM: Final = 22.0  # pixels from the end of a line to its name


@dataclass(frozen=True, eq=False)
class Line:
    """A named line, with points in plotting order."""

    name: str
    x: FloatArray
    y: FloatArray


@dataclass(frozen=True, slots=True)
class Words:
    """Title and labels of a line plot."""

    title: str
    lines: tuple[str, ...]
    x: str
    foot: str


def line_figure(
    drawn: Sequence[Line],
    written: Words,
    *,
    falling: bool = False,
    log_y: bool = False,
    mark: tuple[float, str] | None = None,
    markers: bool = False,
) -> Figure:
    """Plot lines over a logarithmic axis, each labelled at its right end.

    If there are many lines, only those with the largest right ends are labelled. With `falling` the axis decreases from
    left to right. Unless `log_y`, the vertical axis is linear and 0 is marked. `mark` is a value on the horizontal axis
    and its label.
    """
    with house_style():
        from discreet.analyst.plots.style import new_figure

        named = _named(drawn, log_y=log_y)
        height = max(_HEIGHT, _STEP * len(named) + 10)
        above = below_head(written.lines) + (28.0 if mark else 12.0)
        figure = new_figure(_WIDTH, above + height + 76)
        head(figure, written.title, written.lines)
        low, high = _ends(drawn, log_y=log_y)
        left = 24 + max(text_width(axis_number(float(f"{end:.3g}")), SMALL) for end in (low, high))
        right = _ROOM + 14 + max(text_width(shortened(line.name, _LETTERS), SMALL) for line in named)
        axes = place(figure, left, above, _WIDTH - left - right, height)
        _frame(axes, drawn, (low, high), falling=falling, log_y=log_y)
        for line in drawn:
            if line not in named:
                axes.plot(line.x, line.y, color=LIGHT.rule, linewidth=1)
        for index, line in enumerate(named):
            _draw(axes, line, index, markers=markers)
        _names(axes, named, height, log_y=log_y)
        if mark is not None:
            axes.axvline(mark[0], color=LIGHT.ink, linewidth=1.2, linestyle=(0, (4, 3)))
            words(axes, mark[0], high, mark[1], colour=LIGHT.ink, size=SMALL, across="center", move=(0, 11))
        words(axes, 0.0, low, written.x, colour=LIGHT.faint, size=SMALL, move=(0, -34), x_of_axes=True)
        heading(figure, above + height + 52, written.foot)
        return figure


def _named(drawn: Sequence[Line], *, log_y: bool) -> list[Line]:
    size = sorted(drawn, key=lambda line: -abs(float(line.y[-1])))
    kept = size[:MOST_NAMES]
    return [line for line in drawn if line in kept]


def _ends(drawn: Sequence[Line], *, log_y: bool) -> tuple[float, float]:
    values = np.concatenate([line.y for line in drawn] + ([] if log_y else [np.zeros(1)]))
    low, high = float(values.min()), float(values.max())
    if log_y:
        return low / 1.25, high * 1.25
    margin = 0.04 * (high - low) or 1.0
    return low - margin, high + margin


def _frame(axes: Axes, drawn: Sequence[Line], ends: tuple[float, float], *, falling: bool, log_y: bool) -> None:
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

    axes.set_xscale("log")
    if log_y:
        axes.set_yscale("log")
    axes.set_ylim(*ends)
    x = np.concatenate([line.x for line in drawn])
    low, high = float(x.min()), float(x.max())
    low, high = (low / 2, high * 2) if low == high else (low, high)
    axes.set_xlim(*((high, low) if falling else (low, high)))
    for axis, (first, last), log in ((axes.xaxis, (low, high), True), (axes.yaxis, ends, log_y)):
        axis.set_minor_locator(NullLocator())
        decades = np.log10(last / first) if log else 0.0
        subs = (1.0,) if decades > 3 else (1.0, 2.0, 5.0) if decades > 0.7 else (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0)
        axis.set_major_locator(LogLocator(subs=subs, numticks=12) if log else MaxNLocator(nbins=7))
        quiet_axis(axis)
    axes.set_axisbelow(True)
    if not log_y:
        axes.axhline(0.0, color=LIGHT.faint, linewidth=1.2)


def _draw(axes: Axes, line: Line, index: int, *, markers: bool) -> None:
    axes.plot(
        line.x, line.y, color=COLOURS[index % len(COLOURS)], linestyle=DASHES[index // len(COLOURS) % len(DASHES)],
        linewidth=1.8, marker="o" if markers else "", markersize=4.5, clip_on=False, label=line.name,
    )  # fmt: skip


def _names(axes: Axes, named: Sequence[Line], height: float, *, log_y: bool) -> None:
    """Write each name next to the end of its line, moved to avoid overlap, with a connecting line."""
    bottom, top = axes.get_ylim()
    scale = np.log if log_y else (lambda value: value)
    pixels = [float((scale(line.y[-1]) - scale(bottom)) / (scale(top) - scale(bottom))) * height for line in named]
    for index, (line, at, middle) in enumerate(zip(named, pixels, apart(pixels, _STEP, 0.0, height), strict=True)):
        # some colours are too light for text, so a coloured line connects each name with its curve
        words(axes, line.x[-1], line.y[-1], shortened(line.name, _LETTERS), colour=LIGHT.ink, size=SMALL,
              move=(_ROOM, middle - at))  # fmt: skip
        leader = {
            "arrowstyle": "-", "color": COLOURS[index % len(COLOURS)], "linewidth": 1.2, "shrinkA": 0, "shrinkB": 0,
        }  # fmt: skip
        axes.annotate(
            "", xy=(line.x[-1], line.y[-1]), xytext=(_ROOM - 4, middle - at), textcoords="offset points",
            annotation_clip=False, arrowprops=leader,
        )  # fmt: skip


# -- paths -------------------------------------------------------------------------------------------------------------
# The figure of a path: slopes against penalty strength.


def path_figure(path: Path, slopes: FloatArray, names: Sequence[str]) -> Figure:
    """Plot scaled slopes, shape (m, number of strengths), from the strongest penalty to the weakest."""
    lines = ["Slopes of columns scaled to [-1, 1]. The penalty becomes weaker to the right."]
    if len(names) > MOST_NAMES:
        lines.append(f"Named: the {MOST_NAMES} largest of {len(names):,} at the weakest penalty")
    chosen = None
    if path.chosen is not None:
        strength = float(path.strengths[path.chosen])
        chosen = (strength, f"chosen: {axis_number(float(f'{strength:.3g}'))}")
    return line_figure(
        [Line(name, path.strengths, values) for name, values in zip(names, slopes, strict=True)],
        Words(path.title, tuple(lines), "strength", release_line(path.release)),
        falling=True,
        mark=chosen,
    )


# -- plans -------------------------------------------------------------------------------------------------------------
# The figures of a plan: the expected intervals, and their widths at several budgets.


def plan_figure(plan: Plan) -> Figure:
    """Plot the expected intervals over the declared range of each column."""
    declared = plan.declared
    _check_widths([plan])
    with house_style("a plot of a plan"):
        from discreet.analyst.plots.style import new_figure

        slopes = plan.coefficients[len(plan.coefficients) - len(declared.ranges) :]
        effects = tuple(
            _effect(coefficient, width or 1.0) for coefficient, width in zip(slopes, declared.ranges, strict=True)
        )
        panels = most([Panel(f"change of {declared.target}", effects, around_zero(declared.width))])
        supposed = any(coefficient.supposed is not None for coefficient in slopes)
        lines = [
            f"Expected {percent(plan.level)} intervals over the declared range of each column, around "
            + ("the assumed coefficients" if supposed else "0"),
            f"About {plan.rows:,.0f} rows, {plan.mechanism}, {budget_words(plan.epsilon, plan.delta)}",
        ]
        if len(effects) > MOST_LINES:
            lines.append(f"The {MOST_LINES} largest of {len(effects):,} are shown")
        shape, above = wide_shape([effect.name for effect in effects]), below_head([*lines, "key"]) + 8.0
        found = layout(panels, shape, above=above, labels=True)
        figure = new_figure(shape.width, found.height + 8)
        head(figure, f"Plan for {declared.target}", lines)
        key_line(figure, below_head(lines), sampling=True)
        forest(figure, panels, shape, found, above=above, labels=True)
        return figure


def _effect(coefficient: PlannedCoefficient, width: float) -> Effect:
    centre = (coefficient.supposed or 0.0) * width
    if coefficient.width is None:
        return Effect(coefficient.name, None, None, None, None, None)
    half = coefficient.width * width / 2
    inner = half * math.sqrt(1 - (coefficient.privacy_share or 0.0))
    return Effect(
        coefficient.name, centre, centre - half, centre + half, centre - inner, centre + inner, kind="interval"
    )


def width_figure(plans: Sequence[Plan]) -> Figure:
    """Plot the expected interval widths of all coefficients against epsilon."""
    _check_widths(plans)
    lines = []
    for index, first in enumerate(plans[0].coefficients):
        points = [(plan.epsilon, width) for plan in plans if (width := plan.coefficients[index].width) is not None]
        if points:
            epsilons, widths = np.array(points).T
            lines.append(Line(first.name, epsilons, widths))
    level, target = plans[0].level, plans[0].declared.target
    about = [f"Expected width of each coefficient's {percent(level)} interval, in the unit of the coefficient"]
    if len(lines) > MOST_NAMES:
        about.append(f"Named: the {MOST_NAMES} widest of {len(lines):,}")
    foot = f"About {plans[0].rows:,.0f} rows, {plans[0].mechanism}"
    return line_figure(lines, Words(f"Plan for {target}", tuple(about), "epsilon", foot), log_y=True, markers=True)


def _check_widths(plans: Sequence[Plan]) -> None:
    if not any(coefficient.width for plan in plans for coefficient in plan.coefficients):
        raise SpecError(
            f"the plan has no interval width to plot: {plans[0].coefficients[0].reason}; leave the plot out"
        )
