"""The pictures of a plan: the intervals to expect, and their widths at several budgets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from discreet.analyst.pictures.effects import Effect, Panel, around_zero
from discreet.analyst.pictures.forest import MOST_LINES, forest, layout, most, wide_shape
from discreet.analyst.pictures.lines import MOST_NAMES, Line, Words, line_figure
from discreet.analyst.pictures.style import below_head, budget_words, head, house_style, key_line
from discreet.errors import SpecError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from discreet.analyst.planning.values import Plan, PlannedCoefficient


def plan_figure(plan: Plan) -> Figure:
    """Draw the intervals to expect, over the declared range of each column, around the supposed coefficients."""
    declared = plan.declared
    _check_widths([plan])
    with house_style("a picture of a plan"):
        from discreet.analyst.pictures.figure import new_figure

        slopes = plan.coefficients[len(plan.coefficients) - len(declared.ranges) :]
        effects = tuple(_effect(one, width or 1.0) for one, width in zip(slopes, declared.ranges, strict=True))
        panels = most([Panel(f"change of {declared.target}", effects, around_zero(declared.width))])
        supposed = any(one.supposed is not None for one in slopes)
        lines = [
            f"Expected {100 * plan.level:.4g}% intervals over the declared range of each column, around "
            + ("the supposed coefficients" if supposed else "0"),
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


def _effect(one: PlannedCoefficient, width: float) -> Effect:
    centre = (one.supposed or 0.0) * width
    if one.width is None:
        return Effect(one.name, None, None, None, None, None)
    half = one.width * width / 2
    inner = half * math.sqrt(1 - (one.privacy_share or 0.0))
    return Effect(one.name, centre, centre - half, centre + half, centre - inner, centre + inner, kind="interval")


def width_figure(plans: Sequence[Plan]) -> Figure:
    """Draw the expected widths of all coefficients against epsilon."""
    _check_widths(plans)
    lines = []
    for index, first in enumerate(plans[0].coefficients):
        known = [(plan.epsilon, width) for plan in plans if (width := plan.coefficients[index].width) is not None]
        if known:
            epsilons, widths = np.array(known).T
            lines.append(Line(first.name, epsilons, widths))
    level, target = plans[0].level, plans[0].declared.target
    about = [f"Expected width of the {100 * level:.4g}% interval of each coefficient, in its own unit"]
    if len(lines) > MOST_NAMES:
        about.append(f"Named: the {MOST_NAMES} widest of {len(lines):,}")
    foot = f"About {plans[0].rows:,.0f} rows, {plans[0].mechanism}"
    return line_figure(lines, Words(f"Plan for {target}", tuple(about), "epsilon", foot), log_y=True, markers=True)


def _check_widths(plans: Sequence[Plan]) -> None:
    if not any(one.width for plan in plans for one in plan.coefficients):
        raise SpecError(f"there is no width to plot: {plans[0].coefficients[0].reason}; leave the plot out")
